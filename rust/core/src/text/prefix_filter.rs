//! Prefix filter of query terms: skips words of a text that cannot match, before tokenizing.
//!
//! A word can match a term only if it begins as the term or one of its forms does.

use std::ops::Range;

use once_cell::race::OnceBox;
use rustc_hash::FxHashMap;

use crate::text::language::han_variants::simplified;
use crate::text::language::readings::{bare, sure_letters};
use crate::text::language::{irregular_stems, is_apostrophe, is_unspaced};
use crate::text::segmentation::{is_word, isolated_span};

/// Bytes of a prefix that are compared.
const PREFIX: usize = 8;

/// For each stem, the forms that do not begin as it does: went is a form of go.
/// Made without a lock, as the words are.
static IRREGULAR: OnceBox<FxHashMap<String, Vec<&str>>> = OnceBox::new();

fn irregular_forms() -> Box<FxHashMap<String, Vec<&'static str>>> {
    let mut forms: FxHashMap<String, Vec<&str>> = FxHashMap::default();
    for (form, stem) in irregular_stems() {
        let mut filter = PrefixFilter::default();
        filter.add(&stem);
        if !filter.may_match(form.as_bytes()) {
            forms.entry(stem).or_default().push(form);
        }
    }
    Box::new(forms)
}

/// Prefixes of a set of words and of their irregular forms. It may pass what is no match, but never
/// rules one out.
#[derive(Debug, Clone)]
pub struct PrefixFilter {
    /// For each byte that a word may begin with, one bit for the lower five of each second one.
    second_bytes: [u32; 256],
    /// The first letters, small, under the mask that says how many of them are sure.
    prefixes: Vec<(u64, u64)>,
    /// Whether a byte is a word alone.
    single: [bool; 256],
    /// One bit for the lower ten of each character of an unspaced script that begins a term.
    characters: [u64; 16],
}

impl Default for PrefixFilter {
    fn default() -> Self {
        Self {
            second_bytes: SECOND_BYTES,
            prefixes: Vec::new(),
            single: [false; 256],
            characters: [0; 16],
        }
    }
}

/// What begins with another character than an ASCII one is always looked at.
const SECOND_BYTES: [u32; 256] = {
    let mut second_bytes = [0; 256];
    let mut byte = 0xc2;
    while byte < 256 {
        second_bytes[byte] = u32::MAX;
        byte += 1;
    }
    second_bytes
};

impl PrefixFilter {
    /// Makes the filter of these words and stems.
    pub fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut filter = Self::default();
        for text in texts {
            filter.add(text);
            // bought begins as buy does, but went not as go
            IRREGULAR
                .get_or_init(irregular_forms)
                .get(text)
                .into_iter()
                .flatten()
                .for_each(|form| filter.add(form));
        }
        filter
    }

    fn add(&mut self, text: &str) {
        let read_as = sure_letters(text);
        if let Some((_, Some(prefix))) = read_as {
            self.add(prefix);
        }
        let bytes = bare(text).as_bytes();
        let Some(&first) = bytes.first().filter(|first| first.is_ascii()) else {
            if let Some(c) = text.chars().next() {
                self.characters[c as usize / 64 % 16] |= 1 << (c as u32 % 64);
            }
            return;
        };
        if bytes.len() == 1 && read_as.is_none() {
            self.second_bytes[usize::from(first)] = u32::MAX;
            self.second_bytes[usize::from(first.to_ascii_uppercase())] = u32::MAX;
            self.single[usize::from(first)] = true;
            self.single[usize::from(first.to_ascii_uppercase())] = true;
            return;
        }
        let letters = bytes.iter().all(u8::is_ascii_lowercase);
        // what the stemmer puts in the place of an ending has all but its last letter from there:
        // the stem of using is use, and that of happy happi
        let sure = match bytes {
            // dying, of which die is the stem
            [_, b'i', b'e'] => 1,
            _ if letters => 2.max(bytes.len() - 1),
            _ => bytes.len(),
        };
        let sure = read_as.map_or(sure, |(letters, _)| letters);
        let ascii = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or(sure);
        let sure = sure.min(ascii).min(PREFIX);
        let second = match bytes.get(1) {
            // an apostrophe may stand before it
            Some(second) if sure > 1 => (1 << (second & 31)) | (1 << (b'\'' & 31)),
            _ => u32::MAX,
        };
        self.second_bytes[usize::from(first)] |= second;
        self.second_bytes[usize::from(first.to_ascii_uppercase())] |= second;
        let mask = u64::MAX >> (64 - 8 * sure);
        let prefix = (prefix(bytes) & mask, mask);
        if !self.prefixes.contains(&prefix) {
            self.prefixes.push(prefix);
        }
    }

    /// Returns the first place from `at` on where a matching word may begin, or where a
    /// character stands that may change how a word is folded.
    pub fn next(&self, text: &str, at: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let mut at = at;
        loop {
            let pairs = bytes.get(at..)?.windows(2);
            let may_begin = |pair: &[u8]| {
                // most places of a text end here
                (self.second_bytes[usize::from(pair[0])] >> (pair[1] & 31)) & 1 == 1
            };
            at = match pairs.map(may_begin).position(|may_begin| may_begin) {
                Some(offset) => at + offset,
                None => bytes.len().checked_sub(1).filter(|last| *last >= at)?,
            };
            if self.may_match_at(text, at) {
                return Some(at);
            }
            at += 1;
        }
    }

    /// Returns the spans of a text in which a matching word may begin, in order. Each falls into the
    /// same chunks alone as it does within all of the text.
    pub fn spans<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        let mut done = 0;
        std::iter::from_fn(move || {
            let span = isolated_span(text, done, self.next(text, done)?);
            done = span.end;
            Some(span)
        })
    }

    fn may_match_at(&self, text: &str, at: usize) -> bool {
        let bytes = text.as_bytes();
        let joined = at > 0 && bytes[at - 1].is_ascii_alphanumeric();
        if bytes[at].is_ascii() {
            // also a word: the N of userName
            return (!joined || bytes[at].is_ascii_uppercase()) && self.may_match(&bytes[at..]);
        }
        text.get(at..).and_then(|rest| rest.chars().next()).is_some_and(|c| match c {
            c if is_unspaced(c) => self.may_match_char(c),
            c => is_word(c) || joined && is_apostrophe(c),
        })
    }

    /// Says whether a word may be one of the set.
    #[inline]
    pub fn may_match(&self, word: &[u8]) -> bool {
        const LOW: u64 = u64::MAX / 255;
        const HIGH: u64 = LOW << 7;
        let prefix = prefix(word);
        let apart = prefix ^ (LOW * u64::from(b'\''));
        // what is not ASCII is folded, and apostrophes are left out
        let unsure = prefix & HIGH != 0 || apart.wrapping_sub(LOW) & !apart & HIGH != 0;
        let is_single = || {
            let alone = |second: &u8| !second.is_ascii_lowercase();
            // aed and aing have a for their stem
            let vowel = || b"aeiou".contains(&(prefix as u8)) && matches!(word[1], b'e' | b'i');
            let is_single = |first: &u8| self.single[usize::from(*first)];
            word.first().is_some_and(is_single) && (word.get(1).is_none_or(alone) || vowel())
        };
        unsure || is_single() || self.prefixes.iter().any(|(known, mask)| prefix & mask == *known)
    }

    /// Says whether a character of an unspaced script may begin a term of the set.
    #[inline]
    pub fn may_match_char(&self, c: char) -> bool {
        // what stands behind them is folded
        let c = if c as u32 >= 0xF900 { return true } else { simplified(c) };
        (self.characters[c as usize / 64 % 16] >> (c as u32 % 64)) & 1 == 1
    }
}

/// Returns the first letters, small ones in the place of capitals.
#[inline]
fn prefix(word: &[u8]) -> u64 {
    let prefix = match word.first_chunk::<PREFIX>() {
        Some(prefix) => *prefix,
        None => {
            let mut prefix = [0; PREFIX];
            prefix[..word.len()].copy_from_slice(word);
            prefix
        }
    };
    u64::from_le_bytes(prefix) | 0x2020_2020_2020_2020
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::language::readings::LanguageId;
    use crate::text::language::stems::stem;

    #[test]
    fn a_word_begins_as_its_stem_does() {
        // every form that an irregular verb or an English ending can give
        let endings = "s es ed ing ies ied y ly edly ingly eed eedly ation ational ator ability \
            ibility ality ivity icity ization izing izer ating ated bling bled ously fully lessly \
            ently ency ancy ably bly ally ogy alism iveness fulness ousness icate ative alize ical \
            ness ement ance ion e ee ss sses us ying yed ys ie";
        let short = ('a'..='z').flat_map(|a| ('a'..='z').map(move |b| format!("{a}{b}")));
        let listed = include_str!("language/words/irregular_en.txt").split_whitespace();
        let prefixes: Vec<String> = short.chain(listed.map(str::to_owned)).collect();
        let tried = prefixes.iter().flat_map(|prefix| {
            let prefixes = (1..=prefix.len()).map(|end| &prefix[..end]);
            let endings = endings.split(' ').chain([""]);
            prefixes
                .flat_map(move |prefix| endings.clone().map(move |end| format!("{prefix}{end}")))
        });
        for word in tried {
            if let Some(stem) = stem(&word) {
                let filter = PrefixFilter::of(std::iter::once(&*stem));
                assert!(filter.may_match(word.as_bytes()), "{word} {stem}");
            }
        }
    }

    #[test]
    fn a_word_begins_as_its_stem_in_another_language_does() {
        // every short word: French js has j for its stem; and longer ones with frequent endings
        let letters = || (b'a'..=b'z').map(char::from);
        let pairs = || letters().flat_map(move |a| letters().map(move |b| format!("{a}{b}")));
        let triples = pairs().flat_map(move |pair| letters().map(move |c| format!("{pair}{c}")));
        let endings = "s es en er ern ent ons ions ions ment ements ait aient issait issant euse \
            euses eux aux ando endo amente mente ción ado idos ia ità zione heit keit ung ungen \
            isch lich st est ade oes ns ores adas";
        let long = pairs().flat_map(|pair| endings.split(' ').map(move |end| pair.clone() + end));
        let words: Vec<String> = pairs().chain(triples).chain(long).collect();
        for language in LanguageId::all() {
            let read = |word: &String| Some((word.clone(), language.read(word)?));
            for (word, reading) in words.iter().filter_map(read) {
                let stem = reading.stem();
                let filter = PrefixFilter::of(std::iter::once(stem));
                let code = language.code();
                assert!(filter.may_match(word.as_bytes()), "{word} {stem} in {code}");
                assert!(filter.next(&word, 0) == Some(0), "{word} {stem} in {code}");
            }
        }
    }
}
