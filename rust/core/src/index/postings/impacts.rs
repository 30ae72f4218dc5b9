//! How much a posting can say, worked out once for the commonest.

use crate::index::bm25f::{Bm25f, Counts, FIELDS, Field, Lengths};
use crate::index::postings::codec::Impact;

/// Returns how much one posting can say.
pub(crate) fn impact_of(formula: &Bm25f, counts: &Counts, lengths: &Lengths) -> Impact {
    let speaker = counts[Field::Speaker as usize] > 0;
    // a field of stop words alone has no length, and before others have it no average either:
    // how much it says may grow by more than the drift of averages tells
    if (0..FIELDS).any(|field| counts[field] > 0 && lengths[field] == 0) {
        return Impact { speaker, ..Impact::MOST };
    }
    let saturation = formula.score(1.0, formula.frequency(counts, lengths));
    // divisions are most of the cost, and few postings are of headings
    let heading = match counts[Field::Heading as usize] | counts[Field::Title as usize] {
        0 => 0.0,
        _ => formula.score(1.0, formula.heading_frequency(counts, lengths)),
    };
    Impact::new(saturation, heading, speaker)
}

/// The same for many: most postings are of the text alone, a few times in a text not too long.
pub(crate) struct Impacts<'f> {
    formula: &'f Bm25f,
    /// By how often it stands there, less one, and by the length of the text; empty for few.
    of_body: Vec<Impact>,
}

impl<'f> Impacts<'f> {
    const TIMES: u16 = 8;
    const LENGTHS: u16 = 1024;
    const ALL: usize = Self::TIMES as usize * Self::LENGTHS as usize;

    pub fn new(formula: &'f Bm25f) -> Self {
        let only = |value| {
            let mut all = [0; FIELDS];
            all[Field::Body as usize] = value;
            all
        };
        let row = |times| {
            (0..Self::LENGTHS).map(move |length| impact_of(formula, &only(times), &only(length)))
        };
        Self { formula, of_body: (1..=Self::TIMES).flat_map(row).collect() }
    }

    /// As [`Self::new`], for so many postings.
    pub fn for_some(formula: &'f Bm25f, postings: usize) -> Self {
        match postings > Self::ALL {
            true => Self::new(formula),
            false => Self { formula, of_body: Vec::new() },
        }
    }

    pub fn of(&self, counts: &Counts, lengths: &Lengths) -> Impact {
        const _: () = assert!(Field::Body as usize == 0, "the first of the counts is the text's");
        let (&[times, ref others @ ..], length) = (counts, lengths[0]);
        let common = (1..=Self::TIMES).contains(&times) && length < Self::LENGTHS;
        if common && *others == [0; FIELDS - 1] {
            let at = usize::from(times - 1) * usize::from(Self::LENGTHS) + usize::from(length);
            if let Some(&impact) = self.of_body.get(at) {
                return impact;
            }
        }
        impact_of(self.formula, counts, lengths)
    }
}

#[cfg(test)]
mod tests {
    use proptest::array::uniform9;
    use proptest::prelude::*;

    use super::*;
    use crate::index::bm25f::{Totals, Weights};

    proptest! {
        #[test]
        fn what_is_looked_up_is_what_is_worked_out(
            times in 0..12u16,
            others in uniform9(prop_oneof![20 => Just(0u16), 1 => 1..4u16]),
            length in prop_oneof![0..40u16, 1000..1050u16, any::<u16>()],
            lengths in uniform9(0..300u16),
        ) {
            let counts = std::array::from_fn(|field| if field == 0 { times } else { others[field] });
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
