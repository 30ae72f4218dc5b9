//! 4-grams of a text: every four bytes in a row that a required literal can hold.
//!
//! They are taken from the decoded text, so that JSON's spellings of it are all one, and with ASCII
//! in lower case. Quotes, slashes and control characters, which few patterns hold, break a gram.

use memchr::memmem;

use crate::messages::json_string::decode;

/// Bytes of a gram. Of 3, 4, 5 and 6, and of pairs of them, 4 left the fewest blocks for the same
/// space, over words of real transcripts.
pub const GRAM: usize = 4;

/// Bytes as they count in a gram; zero for those that are in none.
const FOLDED: [u8; 256] = {
    let mut folded = [0; 256];
    let mut byte = b' ' as usize;
    while byte < 256 {
        folded[byte] = match byte as u8 {
            b'"' | b'\\' | b'/' => 0,
            byte => byte.to_ascii_lowercase(),
        };
        byte += 1;
    }
    folded
};

/// Visits the grams of the body of a JSON string, as it would be decoded.
pub fn of_json(body: &[u8], visit: impl FnMut(u32)) {
    // Only these spell what a gram may hold; every other escape spells what breaks it.
    if memmem::find(body, b"\\u").is_some() {
        return of_text(decode(body).as_bytes(), visit);
    }
    grams(body, true, visit);
}

/// Visits the grams of decoded text.
pub fn of_text(text: &[u8], visit: impl FnMut(u32)) {
    grams(text, false, visit);
}

fn grams(text: &[u8], escaped: bool, mut visit: impl FnMut(u32)) {
    let (mut gram, mut held, mut at) = (0u32, 0, 0);
    while let Some(&byte) = text.get(at) {
        at += 1;
        let folded = FOLDED[usize::from(byte)];
        if folded == 0 {
            held = 0;
            let spelled = b"\"\\/bfnrt";
            if escaped && byte == b'\\' && text.get(at).is_some_and(|next| spelled.contains(next)) {
                at += 1;
            }
            continue;
        }
        gram = gram << 8 | u32::from(folded);
        held += 1;
        if held >= GRAM {
            visit(gram);
        }
    }
}

/// The bucket of a gram, below `buckets`.
pub fn bucket(gram: u32, buckets: u32) -> u32 {
    let spread = gram.wrapping_mul(0x9E37_79B1);
    ((u64::from(spread) * u64::from(buckets)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The same, read off the definition.
    fn reference(body: &[u8]) -> BTreeSet<u32> {
        let text = decode(body).to_ascii_lowercase();
        // No literal of a pattern holds what stands for something unreadable.
        let breaks = |c: char| c < ' ' || matches!(c, '"' | '\\' | '/' | '\u{fffd}');
        let runs = text.split(breaks).flat_map(|run| run.as_bytes().windows(GRAM));
        runs.map(|gram| u32::from_be_bytes(gram.try_into().unwrap())).collect()
    }

    proptest! {
        #[test]
        fn grams_are_those_of_the_decoded_text(
            parts in prop::collection::vec("[aAbB \"/é中n]{1,9}|\\\\[nu\"\\\\/xt]|\\\\u00[46][1-3]", 0..24),
        ) {
            let body = parts.concat();
            let mut found = BTreeSet::new();
            of_json(body.as_bytes(), |gram| found.extend([gram]));
            let expected = reference(body.as_bytes());
            prop_assert!(found.is_superset(&expected));
            if !decode(body.as_bytes()).contains('\u{fffd}') {
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn buckets_are_in_range() {
        for gram in [0, 1, u32::MAX, 0x6161_6161] {
            assert!(bucket(gram, 128) < 128 && bucket(gram, 61_440) < 61_440);
        }
    }
}
