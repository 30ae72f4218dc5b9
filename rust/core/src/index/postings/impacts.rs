//! Impacts of postings: upper bounds of their saturated term frequency, cached for the commonest.

use crate::index::bm25f::{Bm25f, Counts, FIELDS, Field, Lengths};
use crate::index::postings::codec::{Impact, Posting, encode};

/// Returns the impact of one posting.
pub(crate) fn impact_of(formula: &Bm25f, counts: &Counts, lengths: &Lengths) -> Impact {
    let speaker = counts[Field::Speaker as usize] > 0;
    // a field of stop words alone has no length, and before others have it no average either:
    // its saturation may grow by more than the growth of the averages
    if (0..FIELDS).any(|field| counts[field] > 0 && lengths[field] == 0) {
        return Impact { speaker, ..Impact::MAX };
    }
    let saturation = formula.score(1.0, formula.frequency(counts, lengths));
    // divisions are most of the cost, and few postings are of headings
    let heading = match counts[Field::Heading as usize] | counts[Field::Title as usize] {
        0 => 0.0,
        _ => formula.score(1.0, formula.heading_frequency(counts, lengths)),
    };
    Impact::new(saturation, heading, speaker)
}

/// The impacts of many postings, from a table for the commonest: a word that is in the body alone,
/// a few times, in a document that is not too long.
pub(crate) struct Impacts<'f> {
    formula: &'f Bm25f,
    /// By term frequency, less one, and by the length of the body; empty for few postings.
    of_body: Vec<Impact>,
}

impl<'f> Impacts<'f> {
    const MAX_FREQUENCY: u16 = 8;
    const LENGTHS: u16 = 1024;
    const TABLE: usize = Self::MAX_FREQUENCY as usize * Self::LENGTHS as usize;

    pub fn new(formula: &'f Bm25f) -> Self {
        let only = |value| {
            let mut all = [0; FIELDS];
            all[Field::Body as usize] = value;
            all
        };
        let of_frequency = |frequency| {
            (0..Self::LENGTHS)
                .map(move |length| impact_of(formula, &only(frequency), &only(length)))
        };
        Self { formula, of_body: (1..=Self::MAX_FREQUENCY).flat_map(of_frequency).collect() }
    }

    /// As [`Self::new`]; the table is made only where it pays for so many postings.
    pub fn for_some(formula: &'f Bm25f, postings: usize) -> Self {
        match postings > Self::TABLE {
            true => Self::new(formula),
            false => Self { formula, of_body: Vec::new() },
        }
    }

    pub fn of(&self, counts: &Counts, lengths: &Lengths) -> Impact {
        const _: () =
            assert!(Field::Body as usize == 0, "the first of the counts is that of the body");
        let (&[frequency, ref others @ ..], length) = (counts, lengths[0]);
        let common = (1..=Self::MAX_FREQUENCY).contains(&frequency) && length < Self::LENGTHS;
        if common && *others == [0; FIELDS - 1] {
            let at = usize::from(frequency - 1) * usize::from(Self::LENGTHS) + usize::from(length);
            if let Some(&impact) = self.of_body.get(at) {
                return impact;
            }
        }
        impact_of(self.formula, counts, lengths)
    }
}

/// Encodes a list with its impacts; `counts` gives the counts of a profile.
pub(crate) fn encode_with_impacts<'c>(
    list: &[Posting],
    formula: &Bm25f,
    lengths: &[Lengths],
    counts: impl Fn(u32) -> &'c Counts,
) -> Vec<u8> {
    let impacts = Impacts::for_some(formula, list.len());
    let mut bytes = Vec::with_capacity(list.len() * 4);
    let impact = |posting: &Posting| {
        impacts.of(counts(posting.profile), &lengths[posting.document as usize])
    };
    encode(list, impact, &mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use proptest::array::uniform9;
    use proptest::prelude::*;

    use super::*;
    use crate::index::bm25f::{Totals, Weights};

    proptest! {
        #[test]
        fn the_table_equals_the_formula(
            frequency in 0..12u16,
            others in uniform9(prop_oneof![20 => Just(0u16), 1 => 1..4u16]),
            length in prop_oneof![0..40u16, 1000..1050u16, any::<u16>()],
            lengths in uniform9(0..300u16),
        ) {
            let counts = std::array::from_fn(|field| if field == 0 { frequency } else { others[field] });
            let lengths = std::array::from_fn(|field| if field == 0 { length } else { lengths[field] });
            let mut totals = Totals::default();
            totals.add(&lengths);
            totals.add(&[40; FIELDS]);
            let formula = Bm25f::new(&Weights::default(), &totals);
            let looked_up = Impacts::new(&formula).of(&counts, &lengths);
            prop_assert_eq!(looked_up, impact_of(&formula, &counts, &lengths));
        }
    }
}
