//! Exact nearest neighbours among bit codes, by Hamming distance.
//!
//! A code has one bit for each number of a vector, so a million codes of 384 bits are 48 MB: one
//! core reads them from the first to the last in a few milliseconds. The caller scores what is
//! found by the vectors themselves.

/// Bytes compared by one instruction.
pub const WORD: usize = size_of::<u64>();
/// Bytes of the longest code whose distances fit their counter.
pub const LONGEST: usize = u16::MAX as usize / 8 / WORD * WORD;

/// The positions of the `k` codes nearest to `query`, nearest first, then by position.
///
/// Codes follow one another in blocks, `query.len()` bytes each, a multiple of [`WORD`]; positions
/// count through all blocks.
pub fn nearest(blocks: &[&[u8]], query: &[u8], k: usize) -> Vec<u32> {
    let distances = all_distances(blocks, query);
    let mut counts = vec![0_usize; query.len() * 8 + 1];
    for &distance in &distances {
        counts[usize::from(distance)] += 1;
    }
    let k = k.min(distances.len());
    // The greatest distance that is taken, and how many of those that have it.
    let mut left = k;
    let mut last = 0;
    while last + 1 < counts.len() && counts[last] < left {
        left -= counts[last];
        last += 1;
    }
    let mut found = Vec::with_capacity(k);
    for (position, &distance) in (0_u32..).zip(&distances) {
        let distance = usize::from(distance);
        let taken = distance < last || distance == last && left > 0;
        if taken {
            left -= usize::from(distance == last);
            found.push((distance, position));
        }
    }
    found.sort_unstable();
    found.into_iter().map(|(_, position)| position).collect()
}

fn all_distances(blocks: &[&[u8]], query: &[u8]) -> Vec<u16> {
    let (query_words, rest) = query.as_chunks::<WORD>();
    debug_assert!(rest.is_empty() && (1..=LONGEST).contains(&query.len()));
    let query_words: Vec<u64> = query_words.iter().map(|&word| u64::from_ne_bytes(word)).collect();
    let mut distances =
        Vec::with_capacity(blocks.iter().map(|block| block.len() / query.len()).sum());
    for block in blocks {
        block_distances(block, &query_words, &mut distances);
    }
    distances
}

fn block_distances(block: &[u8], query: &[u64], distances: &mut Vec<u16>) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor has what the function was compiled for.
        #[expect(unsafe_code, reason = "another compilation of safe code")]
        return unsafe { block_distances_popcnt(block, query, distances) };
    }
    extend_distances(block, query, distances);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn block_distances_popcnt(block: &[u8], query: &[u64], distances: &mut Vec<u16>) {
    // 384 bits are the most frequent width: the compiler unrolls them.
    if let Ok(query) = <&[u64; 6]>::try_from(query) {
        return extend_distances(block, query, distances);
    }
    extend_distances(block, query, distances);
}

#[inline(always)]
fn extend_distances(block: &[u8], query: &[u64], distances: &mut Vec<u16>) {
    distances.extend(block.chunks_exact(query.len() * WORD).map(|code| {
        let (words, _) = code.as_chunks::<WORD>();
        let bits =
            |(&word, &own): (&[u8; WORD], &u64)| (u64::from_ne_bytes(word) ^ own).count_ones();
        words.iter().zip(query).map(bits).sum::<u32>() as u16
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(codes: &[Vec<u8>], query: &[u8], k: usize) -> Vec<u32> {
        let distance = |code: &[u8]| -> u32 {
            code.iter().zip(query).map(|(a, b)| (a ^ b).count_ones()).sum()
        };
        let mut all: Vec<(u32, u32)> =
            (0..).zip(codes).map(|(position, code)| (distance(code), position)).collect();
        all.sort_unstable();
        all.into_iter().take(k).map(|(_, position)| position).collect()
    }

    proptest! {
        #[test]
        fn nearest_codes_equal_those_of_the_plain_reference(
            width in prop_oneof![Just(8_usize), Just(16), Just(48)],
            seed in proptest::collection::vec(0_u8..4, 0..1500),
            query in proptest::collection::vec(0_u8..4, 48),
            cut in 0_usize..40,
            k in 0_usize..40,
        ) {
            let codes: Vec<Vec<u8>> = seed.chunks_exact(width).map(<[u8]>::to_vec).collect();
            let query = &query[..width];
            let (head, tail) = codes.split_at(cut.min(codes.len()));
            let (head, tail) = (head.concat(), tail.concat());
            prop_assert_eq!(nearest(&[&head, &tail], query, k), plain(&codes, query, k));
        }
    }
}
