//! The distinct ways in which a concept stands in the fields of a document.
//!
//! "Once in the body, in its first spelling" or "twice in the body and once in the heading" come
//! back millions of times, so a posting holds the number of its pattern instead of all counts:
//! one byte for the commonest. A spelling is told by its number within its concept, not by the
//! word, so that all concepts share the same few thousand patterns.

use hashbrown::HashTable;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;

use crate::index::bm25f::{Counts, FIELDS};
use crate::index::postings::codec::ESCAPE;

/// Patterns that a posting tells by one byte.
const COMMON: usize = ESCAPE as usize;

/// How often one spelling stands in each field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Spelling {
    /// Its number within the concept.
    pub number: u16,
    /// How often it stands in each field.
    pub counts: Counts,
}

/// Patterns by number.
#[derive(Debug, Default)]
pub struct Patterns {
    /// The spellings of every pattern, one pattern after the other.
    spellings: Vec<Spelling>,
    /// Where each pattern ends in `spellings`.
    ends: Vec<u32>,
    /// The counts of each pattern, over its spellings.
    sums: Vec<Counts>,
    briefs: Vec<Brief>,
    /// The spellings of the first [`COMMON`] of `briefs`, alone: each query compares all of them.
    spelled: Vec<u16>,
    /// Those that came since the snapshot: to hash all the others would cost the first change
    /// after an opening milliseconds, and a pattern that is there twice costs a few bytes until
    /// the next packing.
    by_spellings: HashTable<u32>,
    /// As `by_spellings`, for those that are a number themselves.
    by_code: FxHashMap<u128, u32>,
    /// The number, plus one, of patterns that are [`Plain`].
    plain: Vec<u32>,
}

/// One of the first spellings, a few times in one field: so are most postings of a build, and
/// their patterns need not be hashed.
struct Plain;

impl Plain {
    const SPELLINGS: usize = 8;
    const TIMES: usize = 16;
    const ALL: usize = Self::SPELLINGS * FIELDS * Self::TIMES;

    /// Returns the place of such a pattern among all of them.
    fn place(pattern: &[Spelling]) -> Option<usize> {
        let [Spelling { number, counts: [counts @ .., last] }] = pattern else { return None };
        // as one number, in which the only count that is not 0 is found without a look at each
        let all = counts.iter().rev().fold(0, |all, &count| all << 16 | u128::from(count));
        let (field, times) = match (all, *last) {
            (0, last) => (FIELDS - 1, last),
            (all, 0) => {
                let field = all.trailing_zeros() as usize / 16;
                (field, u16::try_from(all >> (16 * field)).ok()?)
            }
            _ => return None,
        };
        let (number, times) = (usize::from(*number), usize::from(times));
        (number < Self::SPELLINGS && (1..Self::TIMES).contains(&times))
            .then_some((number * FIELDS + field) * Self::TIMES + times)
    }
}

/// What scoring needs of the commonest patterns: one spelling in one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Brief {
    /// The spelling; of several, [`Brief::MANY`].
    pub spelling: u16,
    /// The field; of several, [`Brief::MANY`].
    pub field: u16,
    /// How often it stands there.
    pub count: u16,
}

impl Brief {
    /// Stands for several.
    pub const MANY: u16 = u16::MAX;

    fn of(pattern: &[Spelling], sum: &Counts) -> Self {
        let mut fields = (0..FIELDS).filter(|&field| sum[field] > 0);
        let (field, more) = (fields.next().unwrap_or(0), fields.next());
        Self {
            spelling: if let [one] = pattern { one.number } else { Self::MANY },
            field: if more.is_none() { field as u16 } else { Self::MANY },
            count: sum[field],
        }
    }
}

/// Returns the number that a pattern is if it has up to three spellings with small counts.
///
/// It is found without a look at the patterns themselves, which lie in far memory.
fn code(pattern: &[Spelling]) -> Option<u128> {
    if pattern.len() > 3 {
        return None;
    }
    let mut code = 0u128;
    for Spelling { number, counts } in pattern {
        // four bits each; a spelling that stands nowhere would look like none
        let all = counts.iter().fold(*number, |all, count| all | count);
        if all >= 16 || counts == &[0; FIELDS] {
            return None;
        }
        let digits =
            counts.iter().fold(u64::from(*number), |sum, &count| sum << 4 | u64::from(count));
        code = code << 40 | u128::from(digits);
    }
    Some(code)
}

fn hash(spellings: &[Spelling]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(bytemuck::cast_slice(spellings));
    hasher.finish()
}

impl Patterns {
    /// Makes the table from the arrays that a snapshot keeps; `None` if they disagree.
    pub fn from_parts(spellings: Vec<Spelling>, ends: Vec<u32>) -> Option<Self> {
        let ordered = ends.windows(2).all(|pair| pair[0] <= pair[1]);
        if !ordered || ends.last().copied().unwrap_or(0) as usize != spellings.len() {
            return None;
        }
        let mut patterns = Self::default();
        let mut start = 0;
        for &end in &ends {
            let pattern = &spellings[start..end as usize];
            let counted = pattern.iter().all(|spelling| spelling.counts != [0; FIELDS]);
            let ascending = pattern.windows(2).all(|pair| pair[0].number < pair[1].number);
            if pattern.is_empty() || !counted || !ascending {
                return None;
            }
            patterns.add(pattern);
            start = end as usize;
        }
        Some(patterns)
    }

    /// Returns the arrays that [`Self::from_parts`] takes.
    pub fn parts(&self) -> (&[Spelling], &[u32]) {
        (&self.spellings, &self.ends)
    }

    /// Returns the number of a pattern that came since the snapshot.
    #[inline]
    pub fn get(&self, pattern: &[Spelling]) -> Option<u32> {
        match Plain::place(pattern) {
            Some(place) => self.plain.get(place)?.checked_sub(1),
            None => self.get_other(pattern),
        }
    }

    fn get_other(&self, pattern: &[Spelling]) -> Option<u32> {
        match code(pattern) {
            Some(code) => self.by_code.get(&code).copied(),
            None => {
                let same = |&id: &u32| self.spellings(id) == pattern;
                self.by_spellings.find(hash(pattern), same).copied()
            }
        }
    }

    /// Returns the number of a pattern, giving it one if it is new.
    #[inline]
    pub fn intern(&mut self, pattern: &[Spelling]) -> u32 {
        self.get(pattern).unwrap_or_else(|| self.intern_new(pattern))
    }

    #[cold]
    fn intern_new(&mut self, pattern: &[Spelling]) -> u32 {
        let id = self.add(pattern);
        if let Some(place) = Plain::place(pattern) {
            self.plain.resize(Plain::ALL, 0);
            self.plain[place] = id + 1;
        } else if let Some(code) = code(pattern) {
            self.by_code.insert(code, id);
        } else {
            let Self { spellings, ends, by_spellings, .. } = self;
            let hash_of = |&id: &u32| hash(slice(spellings, ends, id));
            by_spellings.insert_unique(hash_of(&id), id, hash_of);
        }
        id
    }

    fn add(&mut self, pattern: &[Spelling]) -> u32 {
        let id = self.ends.len() as u32;
        let mut sum = [0u16; FIELDS];
        for spelling in pattern {
            for (sum, count) in sum.iter_mut().zip(spelling.counts) {
                *sum = sum.saturating_add(count);
            }
        }
        let brief = Brief::of(pattern, &sum);
        if self.spelled.len() < COMMON {
            self.spelled.push(brief.spelling);
        }
        self.briefs.push(brief);
        self.spellings.extend_from_slice(pattern);
        self.ends.push(self.spellings.len() as u32);
        self.sums.push(sum);
        id
    }

    /// Returns the spellings of a pattern, by ascending number.
    pub fn spellings(&self, id: u32) -> &[Spelling] {
        slice(&self.spellings, &self.ends, id)
    }

    /// Returns the counts of a pattern over all its spellings.
    #[inline]
    pub fn sum(&self, id: u32) -> &Counts {
        &self.sums[id as usize]
    }

    /// Returns a pattern in brief.
    #[inline]
    pub fn brief(&self, id: u32) -> Brief {
        self.briefs[id as usize]
    }

    /// Returns the [`Brief::spelling`] of the patterns that a posting tells by one byte.
    pub fn spelled(&self) -> &[u16] {
        &self.spelled
    }

    /// Returns the number of patterns.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

fn slice<'a>(spellings: &'a [Spelling], ends: &[u32], id: u32) -> &'a [Spelling] {
    let id = id as usize;
    let start = if id == 0 { 0 } else { ends[id - 1] as usize };
    &spellings[start..ends[id] as usize]
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn pattern() -> impl Strategy<Value = Vec<Spelling>> {
        let count = prop_oneof![6 => Just(0u16), 3 => 1u16..3, 1 => 14u16..18];
        let spelling = (prop_oneof![0u16..3, 14u16..18], proptest::array::uniform9(count));
        vec(spelling.prop_map(|(number, counts)| Spelling { number, counts }), 1..5)
    }

    proptest! {
        /// The plain twin is a list that is searched from the beginning.
        #[test]
        fn each_pattern_has_one_number(all in vec(pattern(), 1..60)) {
            let (mut patterns, mut twin) = (Patterns::default(), Vec::new());
            for pattern in all.iter().chain(&all) {
                let place = twin.iter().position(|known| known == pattern).unwrap_or(twin.len());
                if place == twin.len() {
                    twin.push(pattern.clone());
                }
                let id = patterns.intern(pattern);
                prop_assert_eq!(id as usize, place);
                prop_assert_eq!(patterns.spellings(id), &pattern[..]);
            }
        }
    }
}
