//! Runs of ASCII letters and digits in a text, of which eight bytes are looked at together.

/// The highest bit of each of eight bytes.
pub(super) const HIGH: u64 = eight_of(0x80);

const fn eight_of(byte: u8) -> u64 {
    byte as u64 * 0x0101_0101_0101_0101
}

/// Returns the highest bit of those of eight bytes of which [`is_word_byte`] says yes.
#[inline]
pub(super) const fn word_bytes(eight: u64) -> u64 {
    let underscores = !from(eight & !HIGH ^ eight_of(b'_'), 1);
    (alphanumeric_bytes(eight) | underscores) & !eight & HIGH
}

/// Returns the highest bit of those of eight bytes that are ASCII letters or digits.
#[inline]
const fn alphanumeric_bytes(eight: u64) -> u64 {
    let ascii = eight & !HIGH;
    let small = ascii | eight_of(0x20);
    let letters = from(small, b'a') & !from(small, b'z' + 1);
    let digits = from(ascii, b'0') & !from(ascii, b'9' + 1);
    (letters | digits) & !eight & HIGH
}

/// Returns the highest bit of those of eight bytes below 0x80 that are `least` or more: they reach it
/// by the sum, and none carries.
const fn from(seven_bits: u64, least: u8) -> u64 {
    seven_bits + eight_of(0x80 - least)
}

/// Returns the runs of ASCII letters and digits of a text, with where each begins.
#[inline]
pub(super) fn alphanumeric_runs(text: &str) -> impl Iterator<Item = (usize, &[u8])> {
    let (bytes, mut at) = (text.as_bytes(), 0);
    std::iter::from_fn(move || {
        let start = first(bytes, at, alphanumeric_bytes);
        at = first(bytes, start, |eight| !alphanumeric_bytes(eight) & HIGH);
        (start < at).then(|| (start, &bytes[start..at]))
    })
}

/// Returns the first place from `at` on whose highest bit `marked` sets.
///
/// Eight at a time, for how long a word is no processor can foretell.
#[inline]
pub(super) fn first(bytes: &[u8], mut at: usize, marked: impl Fn(u64) -> u64) -> usize {
    while let Some((eight, _)) = bytes.get(at..).and_then(<[u8]>::split_first_chunk) {
        match marked(u64::from_le_bytes(*eight)) {
            0 => at += 8,
            found => return at + found.trailing_zeros() as usize / 8,
        }
    }
    let is_marked = |byte: &u8| marked(u64::from(*byte)) & 0x80 > 0;
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(is_marked).unwrap_or(rest.len())
}

/// Says whether a byte is an ASCII character that words have.
#[inline]
pub(super) const fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn runs_equal_those_of_a_plain_split(text in "[aZ09_: é数\\PC]{0,40}") {
            let plain = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|run| !run.is_empty());
            let places = plain.map(|run| (run.as_ptr() as usize - text.as_ptr() as usize, run.as_bytes()));
            prop_assert_eq!(alphanumeric_runs(&text).collect::<Vec<_>>(), places.collect::<Vec<_>>());
        }
    }

    #[test]
    fn eight_bytes_at_once_equal_the_plain_reference() {
        for byte in 0..=u8::MAX {
            for place in 0..8 {
                let mut eight = [b' ', 0xff, 0, b'a'].repeat(2);
                eight[place] = byte;
                let told = word_bytes(u64::from_le_bytes(eight.clone().try_into().unwrap()));
                for (place, &byte) in eight.iter().enumerate() {
                    let is_word = told >> (8 * place) & 0xff == 0x80;
                    assert_eq!(is_word, is_word_byte(byte), "{byte}");
                    assert_eq!(told & 0x7f << (8 * place), 0);
                }
                for from in 0..=eight.len() {
                    let expected = eight[from..].iter().position(|&byte| is_word_byte(byte));
                    let expected = expected.map_or(eight.len(), |at| from + at);
                    assert_eq!(first(&eight, from, word_bytes), expected);
                }
            }
        }
    }
}
