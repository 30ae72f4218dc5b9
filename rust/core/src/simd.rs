//! Portable SIMD: byte comparison of 64 bytes as a bit mask, and steps of 256 bytes.

/// Bytes looked at together, a bit each.
pub(crate) const BLOCK: usize = u64::BITS as usize;

pub(crate) type ByteBlock = [u8; BLOCK];

/// The places of a block that hold `byte`: the first is the lowest bit.
pub(crate) fn equal(block: &ByteBlock, byte: u8) -> u64 {
    let (eights, _) = block.as_chunks::<8>();
    eights.iter().rev().fold(0, |bits, &eight| bits << 8 | u64::from(equal_eight(eight, byte)))
}

fn equal_eight(bytes: [u8; 8], byte: u8) -> u8 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let unlike = u64::from_le_bytes(bytes) ^ u64::from_le_bytes([byte; 8]);
    // The highest bit of each byte that is zero; no addition carries into the next byte.
    let zero = !(((unlike & LOW) + LOW) | unlike | LOW);
    // Bit 8i of the factor on the left meets bit 56 - 7i of the other in bit 56 + i, and no two
    // products meet elsewhere above it.
    ((zero >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

/// Places tested together where most are passed over. Shorter, and bounds are checked too often;
/// longer, and whatever is found costs more to place.
pub(crate) const STEP: usize = 4 * BLOCK;

/// Whether `misfit` is zero at any place of a step.
///
/// One closure and plain loops: the compiler makes of them one load and a few operations a
/// byte looked at, for as many places as a register holds.
#[inline(always)]
pub(crate) fn any_match(misfit: impl Fn(usize) -> u8) -> bool {
    let mut least = [u8::MAX; BLOCK];
    for row in 0..STEP / BLOCK {
        for (lane, least) in least.iter_mut().enumerate() {
            *least = (*least).min(misfit(row * BLOCK + lane));
        }
    }
    least.iter().fold(false, |any, &least| any | (least == 0))
}

/// The places of one block of a step at which `misfit` is zero: the first is the lowest bit.
///
/// Not of all blocks: the search goes on far behind the first match, and one word stays in a
/// register.
#[inline(always)]
pub(crate) fn match_mask(
    row: usize,
    misfit: impl Fn(usize) -> u8,
    equal: impl Fn(&ByteBlock, u8) -> u64,
) -> u64 {
    let mut misfits = [0; BLOCK];
    for (lane, byte) in misfits.iter_mut().enumerate() {
        *byte = misfit(row * BLOCK + lane);
    }
    equal(&misfits, 0)
}

/// The same by one AVX-512 comparison.
#[cfg(target_arch = "x86_64")]
pub(crate) mod wide {
    use std::arch::x86_64::{_mm512_cmpeq_epi8_mask, _mm512_loadu_si512, _mm512_set1_epi8};

    use super::ByteBlock;

    pub fn has_avx512() -> bool {
        is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl")
    }

    #[inline]
    #[target_feature(enable = "avx512bw,avx512vl")]
    pub fn equal(block: &ByteBlock, byte: u8) -> u64 {
        // SAFETY: a block is 64 bytes that may be read, and the load needs no alignment.
        #[expect(unsafe_code, reason = "there is no safe load")]
        let block = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
        _mm512_cmpeq_epi8_mask(block, _mm512_set1_epi8(byte.cast_signed()))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every comparison that this processor can run.
    pub(crate) fn compiled() -> Vec<fn(&ByteBlock, u8) -> u64> {
        #[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut, reason = "one compilation"))]
        let mut all: Vec<fn(&ByteBlock, u8) -> u64> = vec![equal];
        #[cfg(target_arch = "x86_64")]
        if wide::has_avx512() {
            // SAFETY: the processor has what the function was compiled for.
            #[expect(unsafe_code, reason = "a wider compilation of safe code")]
            all.push(|block, byte| unsafe { wide::equal(block, byte) });
        }
        all
    }

    proptest! {
        #[test]
        fn masks_equal_those_of_the_plain_reference(bytes: [[u8; 32]; 2], few: bool) {
            let byte = |byte: &u8| if few { b'!' + byte % 3 } else { *byte };
            let block: Vec<u8> = bytes.concat().iter().map(byte).collect();
            let block: ByteBlock = block.try_into().unwrap();
            for byte in [b'"', b'!', block[7], block[63], 0, 0x80] {
                let expected = (0..BLOCK).fold(0, |bits, at| bits | u64::from(block[at] == byte) << at);
                for equal in compiled() {
                    prop_assert_eq!(equal(&block, byte), expected);
                }
            }
        }

        #[test]
        fn matches_of_a_step_equal_those_of_the_plain_reference(
            places in prop::collection::btree_set(0..STEP, 0..20),
        ) {
            let misfit = |at| u8::from(!places.contains(&at));
            prop_assert_eq!(any_match(misfit), !places.is_empty());
            for equal in compiled() {
                for row in 0..STEP / BLOCK {
                    let there = |at: &usize| places.contains(&(row * BLOCK + at));
                    let expected = (0..BLOCK).filter(there).fold(0, |bits, at| bits | 1 << at);
                    prop_assert_eq!(match_mask(row, misfit, equal), expected);
                }
            }
        }
    }
}
