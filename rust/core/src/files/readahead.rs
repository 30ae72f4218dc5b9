//! Software prefetch of the pages of a mapped file ahead of a scan.

/// Asks for a share of what a mapped file holds some pages further on, as a step that begins at
/// `address` passes over 256 bytes; all steps together ask for everything once.
///
/// On Intel waiting for memory was most of a search. The processor reads ahead by itself, but only
/// within pages that somebody has begun to read, and one page at a time does not fill the way to
/// memory. So each step asks for one line in each of the next four pages, which are then under way
/// together: the first quarter of the farthest, the last quarter of the nearest. On AMD it is left
/// out: the processor is as fast by itself, and asking took a sixth of a search.
#[inline(always)]
pub(crate) fn prefetch_ahead(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // Only processors of AMD have these instructions.
        if is_x86_feature_detected!("sse4a") {
            return;
        }
        let step = (address.addr() >> 8) % 16;
        // As many lines into its quarter as there were steps in this page.
        let begin = address.wrapping_sub(step * (256 - 64));
        for page in 1..=4 {
            let ahead = begin.wrapping_add(page * 4096 + (4 - page) * 1024);
            // SAFETY: a hint, which no address makes fail.
            #[expect(unsafe_code, reason = "a hint to the processor")]
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(ahead.cast());
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
