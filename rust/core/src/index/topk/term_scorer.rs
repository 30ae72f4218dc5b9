//! One term of a query: its postings, and upper bounds of what they add to a score.
//!
//! Bounds and scores are whole numbers, so that neither depends on the order of adding.

use std::iter::zip;
use std::ops::Range;

use crate::index::postings::codec::{Impact, Posting, ROW, ROWS, STRETCH, code};
use crate::index::postings::reader::{Part, PostingList, Rows};

/// One term of a query.
pub struct Clause<'a> {
    /// Its postings.
    pub list: PostingList<'a>,
    /// What they can add.
    pub reaches: Box<Reaches>,
}

/// What the postings of a clause add, at most, by the code of their pattern; 255 is for the rest,
/// and no less than any other.
pub struct Reaches {
    /// For one 255th of saturation.
    pub shares: [Reach; 256],
    /// For a speaker's name, if it may be one.
    pub speakers: Option<Box<[Reach; 256]>>,
    /// For one 255th of saturation in headings.
    pub heading: Reach,
}

impl<'a> Clause<'a> {
    /// Adds to the bounds of all stretches what it adds there.
    pub(crate) fn raise_stretches(&self, stretches: &mut [Reach]) {
        let Self { list, reaches } = self;
        let parts = list.parts();
        let said = zip(parts.saturations, parts.headings);
        let most = said.map(|(&saturation, &heading)| {
            Reach::from(saturation) * reaches.shares[255] + Reach::from(heading) * reaches.heading
        });
        if parts.is_full() {
            zip(&mut *stretches, most).for_each(|(bound, most)| *bound += most);
        } else {
            zip(parts.stretches(), most).for_each(|(stretch, most)| stretches[stretch] += most);
        }
        if let Some(speakers) = &reaches.speakers {
            parts.of_speakers().for_each(|stretch| stretches[stretch] += speakers[255]);
        }
        let stretch = |posting: &Posting| posting.document as usize / STRETCH;
        let loose = list.loose();
        most_of_each(
            loose.map(|(posting, impact)| (stretch(&posting), reaches.of_loose(posting, impact))),
            |stretch, most| stretches[stretch] += most,
        );
    }

    /// Adds to the bounds of the rows of a stretch what it adds there.
    pub(crate) fn raise_rows(&self, stretch: usize, rows: &mut [Reach; ROWS]) {
        if let Some(list) = self.in_stretch(stretch) {
            list.raise_rows(rows);
        }
    }

    /// Adds to the bounds of the documents of a row what it adds to each.
    pub(crate) fn raise(&self, row: usize, documents: &mut [Reach; ROW]) {
        if let Some(list) = self.in_stretch(row / ROWS) {
            list.each_in(row % ROWS, |place, reach| documents[place] += reach);
        }
    }

    /// Asks for what [`Self::raise_rows`] reads.
    pub(crate) fn prefetch(&self, stretch: usize) {
        if let Some(part) = self.list.parts().get(stretch) {
            part.prefetch();
        }
    }

    /// Asks for what [`Self::raise`] reads.
    pub(crate) fn prefetch_row(&self, row: usize) {
        if let Some(part) = self.list.parts().get(row / ROWS) {
            part.prefetch_row(row % ROWS);
        }
    }

    /// Turns to a stretch, unless nothing is there.
    #[inline]
    pub(crate) fn in_stretch(&self, stretch: usize) -> Option<InStretch<'_, 'a>> {
        let part = self.list.parts().get(stretch);
        let somewhere = part.is_some() || self.list.is_loose();
        somewhere.then_some(InStretch { clause: self, stretch, part })
    }
}

/// What a clause has in one stretch.
pub(crate) struct InStretch<'c, 'a> {
    clause: &'c Clause<'a>,
    stretch: usize,
    part: Option<Part<'a>>,
}

impl InStretch<'_, '_> {
    /// Adds to the bounds of the rows what it adds there.
    pub fn raise_rows(&self, rows: &mut [Reach; ROWS]) {
        let Clause { list, reaches } = self.clause;
        if let Some(part) = &self.part {
            let speaker = if part.speaker { reaches.speaker(255) } else { 0 };
            match part.rows() {
                Rows::All([saturations, headings, _]) => {
                    for row in 0..ROWS {
                        rows[row] += Reach::from(saturations[row]) * reaches.shares[255]
                            + Reach::from(headings[row]) * reaches.heading
                            + speaker;
                    }
                }
                Rows::Each(of) => {
                    let reach = |(saturation, heading, code)| match part.speaker {
                        true => reaches.of(saturation, heading, code),
                        false => reaches.said(saturation, heading, code),
                    };
                    let reaches = zip(of, part.said().map(reach));
                    let reaches = reaches.map(|(&row, reach)| (row.into(), reach));
                    most_of_each(reaches, |row: usize, most| rows[row % ROWS] += most);
                }
            }
        }
        if !list.is_loose() {
            return;
        }
        let row = |posting: &Posting| posting.document as usize / ROW % ROWS;
        let loose = list.loose_in(documents(self.stretch, STRETCH));
        most_of_each(
            loose.map(|(posting, impact)| (row(&posting), reaches.of_loose(posting, impact))),
            |row, most| rows[row] += most,
        );
    }

    /// Asks for what is there of a row.
    #[inline]
    pub fn prefetch_row(&self, row: usize) {
        if let Some(part) = &self.part {
            part.prefetch_row(row);
        }
    }

    /// Hands out the documents of a row: the place of each, and what it adds there at most.
    #[inline]
    pub fn each_in(&self, row: usize, mut each: impl FnMut(usize, Reach)) {
        let Clause { list, reaches } = self.clause;
        if let Some(part) = &self.part {
            // asked once: a question a posting costs a tenth of the walk
            match part.speaker && reaches.speakers.is_some() {
                false => part.each_in(row, |at, saturation, heading, code| {
                    each(at % ROW, reaches.said(saturation, heading, code));
                }),
                true => part.each_in(row, |at, saturation, heading, code| {
                    each(at % ROW, reaches.of(saturation, heading, code));
                }),
            }
        }
        if !list.is_loose() {
            return;
        }
        for (posting, impact) in list.loose_in(documents(self.stretch * ROWS + row, ROW)) {
            each(posting.document as usize % ROW, reaches.of_loose(posting, impact));
        }
    }

    /// Returns what it adds to one document of a row, at most.
    #[inline]
    pub fn reach_of(&self, row: usize, place: usize) -> Reach {
        let Clause { list, reaches } = self.clause;
        let packed = self.part.as_ref().and_then(|part| {
            let (saturation, heading, code) = part.said_of(row, place)?;
            Some(match part.speaker {
                false => reaches.said(saturation, heading, code),
                true => reaches.of(saturation, heading, code),
            })
        });
        let loose = || {
            let document = (self.stretch * ROWS + row) * ROW + place;
            let found = list.loose_in(documents(document, 1)).next();
            found.map_or(0, |(posting, impact)| reaches.of_loose(posting, impact))
        };
        packed.unwrap_or_else(|| if list.is_loose() { loose() } else { 0 })
    }
}

/// Returns the documents of a place, of which each holds so many.
fn documents(place: usize, each: usize) -> Range<u32> {
    let first = (place * each) as u32;
    first..first.saturating_add(each as u32)
}

/// Hands out the most of neighbours with the same key.
fn most_of_each(all: impl Iterator<Item = (usize, Reach)>, mut each: impl FnMut(usize, Reach)) {
    let (mut here, mut most) = (0, 0);
    for (key, reach) in all {
        if key != here {
            each(here, most);
            (here, most) = (key, 0);
        }
        most = reach.max(most);
    }
    if most > 0 {
        each(here, most);
    }
}

impl Reaches {
    /// Returns what any posting adds, at most.
    pub(crate) fn most(&self) -> Reach {
        255 * (self.shares[255] + self.heading) + self.speaker(255)
    }

    /// Returns what one posting adds, at most.
    #[inline]
    fn of(&self, saturation: u8, heading: u8, code: u8) -> Reach {
        self.said(saturation, heading, code) + self.speaker(code.into())
    }

    /// As [`Self::of`], where it is no speaker's name.
    #[inline]
    fn said(&self, saturation: u8, heading: u8, code: u8) -> Reach {
        Reach::from(saturation) * self.shares[usize::from(code)]
            + Reach::from(heading) * self.heading
    }

    #[inline]
    fn of_loose(&self, posting: Posting, impact: Impact) -> Reach {
        self.of(impact.saturation, impact.heading, code(posting.pattern))
    }

    #[inline]
    fn speaker(&self, code: usize) -> Reach {
        self.speakers.as_ref().map_or(0, |speakers| speakers[code])
    }
}

/// An upper bound of a score, rounded up; in what unit, the [`Scale`] says.
pub type Reach = u32;

/// How many reaches a point is worth in one query: so many that no sum ever overflows.
#[derive(Debug, Clone, Copy)]
pub struct Scale(f64);

impl Scale {
    /// Makes the scale of clauses that together add `total` at most.
    pub fn new(total: f32) -> Self {
        // a bound has 31 bits, and in one stretch what is packed and what came since may add it all
        Self(f64::from(1u32 << 29) / f64::from(total.max(1.0)))
    }

    /// Rounds a bound up, with room for how `f32` rounds.
    pub fn reach(self, bound: f32) -> Reach {
        (f64::from(bound) * self.0 * 1.000_01) as Reach + 1
    }

    /// Rounds a score down, as bounds are rounded up.
    pub(crate) fn threshold(self, points: Points) -> Reach {
        (points as f64 / POINT * self.0) as Reach
    }
}

/// A score as a whole number of 2⁻³² points.
pub(crate) type Points = i64;
pub(crate) const POINT: f64 = 4_294_967_296.0;

#[inline]
pub(crate) fn points(score: f32) -> Points {
    (f64::from(score) * POINT) as Points
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::index::postings::codec::{encode, spaced};

    /// Names in few stretches, patterns that need more than a byte, headings here and there.
    fn impact(posting: &Posting) -> Impact {
        let Posting { document, pattern } = *posting;
        let here = document as usize / STRETCH;
        Impact {
            saturation: (document % 251) as u8 + 1,
            heading: if here % 3 == 1 { (document % 7) as u8 } else { 0 },
            speaker: here.is_multiple_of(4) && pattern.is_multiple_of(5),
        }
    }

    fn list() -> impl Strategy<Value = Vec<Posting>> {
        let pattern = prop_oneof![9 => 0u32..20, 1 => 200u32..300];
        let postings = prop::collection::vec((0u32..1000, pattern), 0..2000);
        (prop_oneof![1u32..4, 2u32..60, 100u32..400], postings)
            .prop_map(|(gap, steps)| spaced(gap, steps))
    }

    proptest! {
        /// What promises more than the place that it is in would be taken for what was handed on.
        #[test]
        fn nothing_promises_more_than_the_place_that_it_is_in(
            list in list(),
            cut in 0usize..2000,
            shares in prop::collection::vec(1u32..1000, 256),
            (heading, names) in (0u32..1000, any::<bool>()),
        ) {
            let (packed, tail) = list.split_at(cut.min(list.len()));
            let mut bytes = Vec::new();
            encode(packed, impact, &mut bytes);
            let most = |mut all: [Reach; 256]| {
                all[255] = all.into_iter().fold(0, Reach::max);
                all
            };
            // where nobody is called so a reach is 1, for it is rounded up
            let reach = |code| if (code as u32).is_multiple_of(5) { 9000 } else { 1 };
            let reaches = Box::new(Reaches {
                shares: most(std::array::from_fn(|code| shares[code])),
                speakers: names.then(|| Box::new(most(std::array::from_fn(reach)))),
                heading,
            });
            let list = PostingList::new(&bytes, packed.len() as u32, tail, Impact::MOST);
            let count = (list.end() as usize).div_ceil(STRETCH);
            let clause = Clause { list, reaches };
            let mut stretches = vec![0; count];
            clause.raise_stretches(&mut stretches);
            for (stretch, promised) in stretches.into_iter().enumerate() {
                let mut rows = [0; ROWS];
                clause.raise_rows(stretch, &mut rows);
                prop_assert!(rows.iter().all(|&bound| bound <= promised), "{rows:?} {promised}");
                for (row, promised) in rows.into_iter().enumerate() {
                    let mut documents = [0; ROW];
                    clause.raise(stretch * ROWS + row, &mut documents);
                    prop_assert!(documents.iter().all(|&bound| bound <= promised));
                }
            }
        }
    }
}
