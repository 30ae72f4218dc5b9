//! Asking for memory before it is read.
//!
//! What a query reads lies in a hundred places of a hundred megabytes, and to wait for one after the
//! other takes longer than all else that a query does.

/// Asks for an element of an array, without waiting for it; it need not be one.
#[inline]
#[allow(unsafe_code)]
pub(crate) fn prefetch<T>(array: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint to the processor, which changes nothing and never faults, whatever the
        // address; and the address is made without a claim that anything is there
        unsafe { _mm_prefetch::<_MM_HINT_T0>(array.as_ptr().wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (array, at);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_asked_for_nothing_happens() {
        let array = [1u64, 2, 3];
        [0, 2, 3, usize::MAX / 8, usize::MAX].into_iter().for_each(|at| prefetch(&array, at));
        prefetch::<u8>(&[], 0);
        assert_eq!(array, [1, 2, 3]);
    }
}
