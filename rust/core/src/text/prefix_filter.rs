//! How the words that are sought begin: it spares most of a text a closer look.

use once_cell::race::OnceBox;
use rustc_hash::FxHashMap;

use crate::text::segmentation::{is_unspaced, is_word};
use crate::text::stems::irregular;
use crate::text::tokens::is_apostrophe;

/// So many first letters are compared.
const FRONT: usize = 8;

/// For each stem, the forms that do not begin as it does: went is a form of go.
/// Made without a lock, as the words are.
static UNLIKE: OnceBox<FxHashMap<String, Vec<&str>>> = OnceBox::new();

fn unlike() -> Box<FxHashMap<String, Vec<&'static str>>> {
    let mut unlike_of: FxHashMap<String, Vec<&str>> = FxHashMap::default();
    for (form, stem) in irregular() {
        let mut starts = Starts::default();
        starts.note(&stem);
        if !starts.may_begin(form.as_bytes()) {
            unlike_of.entry(stem).or_default().push(form);
        }
    }
    Box::new(unlike_of)
}

/// How the words that are sought begin, and their other forms.
#[derive(Debug, Clone)]
pub struct Starts {
    /// For each byte that a word may begin with, one bit for the lower five of each second one.
    seconds: [u32; 256],
    /// The first letters, small, under the mask that says how many of them are sure.
    fronts: Vec<(u64, u64)>,
    /// Whether a byte is a word alone.
    single: [bool; 256],
    /// One bit for the lower ten of each character of an unspaced script that begins a term.
    characters: [u64; 16],
}

impl Default for Starts {
    fn default() -> Self {
        Self { seconds: SECONDS, fronts: Vec::new(), single: [false; 256], characters: [0; 16] }
    }
}

/// What begins with another character than an ASCII one is always looked at.
const SECONDS: [u32; 256] = {
    let mut seconds = [0; 256];
    let mut byte = 0xc2;
    while byte < 256 {
        seconds[byte] = u32::MAX;
        byte += 1;
    }
    seconds
};

impl Starts {
    /// Notes how these words and stems begin.
    pub fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut starts = Self::default();
        for text in texts {
            starts.note(text);
            // bought begins as buy does, but went not as go
            UNLIKE
                .get_or_init(unlike)
                .get(text)
                .into_iter()
                .flatten()
                .for_each(|form| starts.note(form));
        }
        starts
    }

    fn note(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let Some(&first) = bytes.first().filter(|first| first.is_ascii()) else {
            if let Some(c) = text.chars().next() {
                self.characters[c as usize / 64 % 16] |= 1 << (c as u32 % 64);
            }
            return;
        };
        if bytes.len() == 1 {
            self.seconds[usize::from(first)] = u32::MAX;
            self.seconds[usize::from(first.to_ascii_uppercase())] = u32::MAX;
            self.single[usize::from(first)] = true;
            self.single[usize::from(first.to_ascii_uppercase())] = true;
            return;
        }
        let letters = bytes.iter().all(u8::is_ascii_lowercase);
        // what the stemmer puts in the place of an ending has all but its last letter from there:
        // the stem of using is use, and that of happy happi
        let sure = if letters { 2.max(bytes.len() - 1) } else { bytes.len() };
        let ascii = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or(sure);
        let sure = sure.min(ascii).min(FRONT);
        let second = match bytes[1] {
            // an apostrophe may stand before it
            second if sure > 1 => (1 << (second & 31)) | (1 << (b'\'' & 31)),
            _ => u32::MAX,
        };
        self.seconds[usize::from(first)] |= second;
        self.seconds[usize::from(first.to_ascii_uppercase())] |= second;
        let mask = u64::MAX >> (64 - 8 * sure);
        let front = (front(bytes) & mask, mask);
        if !self.fronts.contains(&front) {
            self.fronts.push(front);
        }
    }

    /// Returns the first place from `at` on where a word that is sought may begin, or where a
    /// character stands that may change how a word is folded.
    pub fn next(&self, text: &str, at: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let mut at = at;
        loop {
            let pairs = bytes.get(at..)?.windows(2);
            let is_sought = |pair: &[u8]| {
                // most places of a text end here
                (self.seconds[usize::from(pair[0])] >> (pair[1] & 31)) & 1 == 1
            };
            at = match pairs.map(is_sought).position(|is_sought| is_sought) {
                Some(offset) => at + offset,
                None => bytes.len().checked_sub(1).filter(|last| *last >= at)?,
            };
            if self.may_begin_at(text, at) {
                return Some(at);
            }
            at += 1;
        }
    }

    fn may_begin_at(&self, text: &str, at: usize) -> bool {
        let bytes = text.as_bytes();
        let joined = at > 0 && bytes[at - 1].is_ascii_alphanumeric();
        if bytes[at].is_ascii() {
            // also a word: the N of userName
            return (!joined || bytes[at].is_ascii_uppercase()) && self.may_begin(&bytes[at..]);
        }
        text.get(at..).and_then(|rest| rest.chars().next()).is_some_and(|c| match c {
            c if is_unspaced(c) => self.may_begin_run(c),
            c => is_word(c) || joined && is_apostrophe(c),
        })
    }

    /// Says whether a word may be one of those sought.
    #[inline]
    pub fn may_begin(&self, word: &[u8]) -> bool {
        const LOW: u64 = u64::MAX / 255;
        const HIGH: u64 = LOW << 7;
        let front = front(word);
        let apart = front ^ (LOW * u64::from(b'\''));
        // what is not ASCII is folded, and apostrophes are left out
        let unsure = front & HIGH != 0 || apart.wrapping_sub(LOW) & !apart & HIGH != 0;
        let is_single = || {
            let alone = |second: &u8| !second.is_ascii_lowercase();
            // aed and aing have a for their stem
            let vowel = || b"aeiou".contains(&(front as u8)) && matches!(word[1], b'e' | b'i');
            let is_single = |first: &u8| self.single[usize::from(*first)];
            word.first().is_some_and(is_single) && (word.get(1).is_none_or(alone) || vowel())
        };
        unsure || is_single() || self.fronts.iter().any(|(sought, mask)| front & mask == *sought)
    }

    /// Says whether a character of an unspaced script may begin a term that is sought.
    #[inline]
    pub fn may_begin_run(&self, c: char) -> bool {
        // what stands behind them is folded
        c as u32 >= 0xF900 || (self.characters[c as usize / 64 % 16] >> (c as u32 % 64)) & 1 == 1
    }
}

/// Returns the first letters, small ones in the place of capitals.
#[inline]
fn front(word: &[u8]) -> u64 {
    let front = match word.first_chunk::<FRONT>() {
        Some(front) => *front,
        None => {
            let mut front = [0; FRONT];
            front[..word.len()].copy_from_slice(word);
            front
        }
    };
    u64::from_le_bytes(front) | 0x2020_2020_2020_2020
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::stems::stem;

    #[test]
    fn a_word_begins_as_its_stem_does() {
        // every form that an irregular verb or an English ending can give
        let endings = "s es ed ing ies ied y ly edly ingly eed eedly ation ational ator ability \
            ibility ality ivity icity ization izing izer ating ated bling bled ously fully lessly \
            ently ency ancy ably bly ally ogy alism iveness fulness ousness icate ative alize ical \
            ness ement ance ion e ee ss sses us ying yed ys ie";
        let short = ('a'..='z').flat_map(|a| ('a'..='z').map(move |b| format!("{a}{b}")));
        let listed = include_str!("words/irregular_en.txt").split_whitespace();
        let fronts: Vec<String> = short.chain(listed.map(str::to_owned)).collect();
        let tried = fronts.iter().flat_map(|front| {
            let fronts = (1..=front.len()).map(|end| &front[..end]);
            let endings = endings.split(' ').chain([""]);
            fronts.flat_map(move |front| endings.clone().map(move |end| format!("{front}{end}")))
        });
        for word in tried {
            if let Some(stem) = stem(&word) {
                let starts = Starts::of(std::iter::once(&*stem));
                assert!(starts.may_begin(word.as_bytes()), "{word} {stem}");
            }
        }
    }
}
