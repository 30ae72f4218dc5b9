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

/// The impacts of many postings, from tables for the commonest: a word that is in the body alone, or
/// in the context alone, a few times, where the field is not too long.
pub(crate) struct Impacts<'f> {
    formula: &'f Bm25f,
    /// By term frequency, less one, and by the length of the field; empty for few postings.
    of_body: Vec<Impact>,
    of_context: Vec<Impact>,
}

const BODY: usize = Field::Body as usize;
const CONTEXT: usize = Field::Context as usize;

impl<'f> Impacts<'f> {
    const MAX_FREQUENCY: u16 = 8;
    const LENGTHS: u16 = 1024;
    const TABLE: usize = Self::MAX_FREQUENCY as usize * Self::LENGTHS as usize;

    pub fn new(formula: &'f Bm25f) -> Self {
        let of = |field: usize| {
            let only = move |value| {
                let mut all = [0; FIELDS];
                all[field] = value;
                all
            };
            let of_frequency = |frequency| {
                (0..Self::LENGTHS)
                    .map(move |length| impact_of(formula, &only(frequency), &only(length)))
            };
            (1..=Self::MAX_FREQUENCY).flat_map(of_frequency).collect()
        };
        Self { formula, of_body: of(BODY), of_context: of(CONTEXT) }
    }

    /// As [`Self::new`]; the tables are made only where they pay for so many postings.
    pub fn for_some(formula: &'f Bm25f, postings: usize) -> Self {
        match postings > Self::TABLE {
            true => Self::new(formula),
            false => Self { formula, of_body: Vec::new(), of_context: Vec::new() },
        }
    }

    #[inline]
    pub fn of(&self, counts: &Counts, lengths: &Lengths) -> Impact {
        const _: () = assert!(BODY == 0 && CONTEXT + 1 == FIELDS, "others lie between the two");
        let &[in_body, ref others @ .., in_context] = counts;
        if *others != [0; FIELDS - 2] {
            return impact_of(self.formula, counts, lengths);
        }
        let found = match (in_body, in_context) {
            (_, 0) => Self::look_up(&self.of_body, in_body, lengths[BODY]),
            (0, _) => Self::look_up(&self.of_context, in_context, lengths[CONTEXT]),
            _ => None,
        };
        found.unwrap_or_else(|| impact_of_text(self.formula, counts, lengths))
    }

    #[inline]
    fn look_up(table: &[Impact], frequency: u16, length: u16) -> Option<Impact> {
        let is_common = (1..=Self::MAX_FREQUENCY).contains(&frequency) && length < Self::LENGTHS;
        let at = usize::from(frequency.wrapping_sub(1)) * usize::from(Self::LENGTHS);
        table.get(at + usize::from(length)).copied().filter(|_| is_common)
    }
}

/// As [`impact_of`], of a posting that is in the body or the context or both, and in no other field.
#[inline]
fn impact_of_text(formula: &Bm25f, counts: &Counts, lengths: &Lengths) -> Impact {
    let (mut frequency, mut is_certain) = (0.0, true);
    for field in [BODY, CONTEXT] {
        is_certain &= counts[field] == 0 || lengths[field] > 0;
        // what is not there adds 0
        frequency += formula.part(field, counts[field], lengths[field]);
    }
    match is_certain {
        true => Impact::new(formula.score(1.0, frequency), 0.0, false),
        false => Impact { speaker: false, ..Impact::MAX },
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
            context in prop_oneof![Just(0u16), 0..12u16],
            others in uniform9(prop_oneof![20 => Just(0u16), 1 => 1..4u16]),
            length in prop_oneof![0..40u16, 1000..1050u16, any::<u16>()],
            context_length in prop_oneof![0..40u16, 1000..1050u16, any::<u16>()],
            lengths in uniform9(0..300u16),
        ) {
            let (mut counts, mut lengths): (Counts, Lengths) = (others, lengths);
            (counts[BODY], counts[CONTEXT]) = (frequency, others[CONTEXT].max(context));
            (lengths[BODY], lengths[CONTEXT]) = (length, context_length);
            let mut totals = Totals::default();
            totals.add(&lengths);
            totals.add(&[40; FIELDS]);
            let formula = Bm25f::new(&Weights::default(), &totals);
            let looked_up = Impacts::new(&formula).of(&counts, &lengths);
            prop_assert_eq!(looked_up, impact_of(&formula, &counts, &lengths));
        }
    }
}
