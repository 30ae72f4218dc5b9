//! One term of a query: its postings, and upper bounds of what they add to a score.
//!
//! Bounds and scores are whole numbers, so that neither depends on the order of adding.

use std::iter::zip;

use super::list::{PostingList, Rows};
use super::postings::{Impact, Posting, ROW, ROWS, STRETCH, code};

/// One term of a query.
pub struct Clause<'a> {
    /// Its postings.
    pub list: PostingList<'a>,
    /// What they can add.
    pub reaches: Box<Reaches>,
}

/// What the postings of a clause add, at most, by the code of their pattern; 255 is for the rest.
pub struct Reaches {
    /// For one 255th of saturation.
    pub shares: [Reach; 256],
    /// For a speaker's name, if it may be one.
    pub speakers: Option<Box<[Reach; 256]>>,
    /// For one 255th of saturation in headings.
    pub heading: Reach,
}

impl Clause<'_> {
    /// Adds to the bounds of all stretches what it adds there.
    pub(super) fn raise_stretches(&self, stretches: &mut [Reach]) {
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

    /// Asks for what [`Self::raise_rows`] reads.
    pub(super) fn prefetch(&self, stretch: usize) {
        if let Some(part) = self.list.parts().get(stretch) {
            part.prefetch();
        }
    }

    /// Asks for what [`Self::raise`] reads.
    pub(super) fn prefetch_row(&self, row: usize) {
        if let Some(part) = self.list.parts().get(row / ROWS) {
            part.prefetch_row(row % ROWS);
        }
    }

    /// Adds to the bounds of the rows of a stretch what it adds there.
    pub(super) fn raise_rows(&self, stretch: usize, rows: &mut [Reach; ROWS]) {
        let Self { list, reaches } = self;
        if let Some(part) = list.parts().get(stretch) {
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
                    let reach = |(saturation, heading, code)| reaches.of(saturation, heading, code);
                    let reaches = zip(of, part.said().map(reach));
                    let reaches = reaches.map(|(&row, reach)| (row.into(), reach));
                    most_of_each(reaches, |row: usize, most| rows[row % ROWS] += most);
                }
            }
        }
        if !list.is_loose() {
            return;
        }
        let first = (stretch * STRETCH) as u32;
        let loose = list.loose_in(first..first.saturating_add(STRETCH as u32));
        let row = |posting: &Posting| posting.document as usize / ROW % ROWS;
        most_of_each(
            loose.map(|(posting, impact)| (row(&posting), reaches.of_loose(posting, impact))),
            |row, most| rows[row] += most,
        );
    }

    /// Adds to the bounds of the documents of a row what it adds to each.
    pub(super) fn raise(&self, row: usize, documents: &mut [Reach; ROW]) {
        let Self { list, reaches } = self;
        if let Some(part) = list.parts().get(row / ROWS) {
            // asked once: a question a posting costs a tenth of the walk
            match reaches.speakers {
                None => part.each_in(row % ROWS, |at, saturation, heading, code| {
                    documents[at % ROW] += reaches.said(saturation, heading, code);
                }),
                Some(_) => part.each_in(row % ROWS, |at, saturation, heading, code| {
                    documents[at % ROW] += reaches.of(saturation, heading, code);
                }),
            }
        }
        if !list.is_loose() {
            return;
        }
        let first = (row * ROW) as u32;
        for (posting, impact) in list.loose_in(first..first.saturating_add(ROW as u32)) {
            documents[posting.document as usize % ROW] += reaches.of_loose(posting, impact);
        }
    }
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
        Self(f64::from(1u32 << 30) / f64::from(total.max(1.0)))
    }

    /// Rounds a bound up, with room for how `f32` rounds.
    pub fn reach(self, bound: f32) -> Reach {
        (f64::from(bound) * self.0 * 1.000_01) as Reach + 1
    }

    /// Rounds a score down, as bounds are rounded up.
    pub(super) fn threshold(self, points: Points) -> Reach {
        (points as f64 / POINT * self.0) as Reach
    }
}

/// A score as a whole number of 2⁻³² points.
pub(super) type Points = i64;
pub(super) const POINT: f64 = 4_294_967_296.0;

#[inline]
pub(super) fn points(score: f32) -> Points {
    (f64::from(score) * POINT) as Points
}
