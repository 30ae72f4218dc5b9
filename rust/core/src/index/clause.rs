//! One term of a query: its postings, and upper bounds of what they add to a score.
//!
//! Bounds and scores are whole numbers, so that neither depends on the order of adding.

use super::cursor::Cursor;
use super::postings::Impact;

/// One term of a query.
pub struct Clause<'a> {
    /// Its postings.
    pub cursor: Cursor<'a>,
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

impl Reaches {
    /// Returns what one posting adds, at most.
    #[inline]
    pub(super) fn of(&self, saturation: u8, heading: u8, code: u8) -> Reach {
        self.said(saturation, heading, code) + self.speaker(code.into())
    }

    /// As [`Self::of`], where it is no speaker's name.
    #[inline]
    pub(super) fn said(&self, saturation: u8, heading: u8, code: u8) -> Reach {
        Reach::from(saturation) * self.shares[usize::from(code)]
            + Reach::from(heading) * self.heading
    }

    #[inline]
    fn speaker(&self, code: usize) -> Reach {
        self.speakers.as_ref().map_or(0, |speakers| speakers[code])
    }

    /// Returns what a stretch of postings adds, at most.
    #[inline]
    pub(super) fn most(&self, impact: Impact) -> Reach {
        let speaker = if impact.speaker { self.speaker(255) } else { 0 };
        Reach::from(impact.saturation) * self.shares[255]
            + Reach::from(impact.heading) * self.heading
            + speaker
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
