//! Upper bounds and scores as whole numbers, so that neither depends on the order of adding.

/// An upper bound of a score, rounded up; its unit is that of the query's [`BoundScale`].
pub type UpperBound = u32;

/// How many units of [`UpperBound`] a point is worth in one query: so many that no sum overflows.
#[derive(Debug, Clone, Copy)]
pub struct BoundScale(f64);

impl BoundScale {
    /// Makes the scale of terms that together add `total` points at most.
    pub fn new(total: f32) -> Self {
        // a bound has 31 bits, and in one superblock packed postings and the tail may each add
        // the full total
        Self(f64::from(1u32 << 29) / f64::from(total.max(1.0)))
    }

    /// Rounds a bound up, with room for the rounding of `f32`.
    pub fn upper_bound(self, points: f32) -> UpperBound {
        (f64::from(points) * self.0 * 1.000_01) as UpperBound + 1
    }

    /// Rounds a score down, as bounds are rounded up.
    pub(crate) fn threshold(self, score: FixedScore) -> UpperBound {
        (score as f64 / FIXED_ONE * self.0) as UpperBound
    }
}

/// A score as a fixed-point number, in units of 2⁻³² points.
pub(crate) type FixedScore = i64;

/// One point as a [`FixedScore`].
pub(crate) const FIXED_ONE: f64 = 4_294_967_296.0;

/// Converts a score from fixed point.
#[inline]
pub(crate) fn from_fixed(score: FixedScore) -> f32 {
    (score as f64 / FIXED_ONE) as f32
}

/// Converts a score to fixed point.
#[inline]
pub(crate) fn to_fixed(score: f32) -> FixedScore {
    (f64::from(score) * FIXED_ONE) as FixedScore
}
