//! What the documents of each stretch of a collection can score at most.
//!
//! Neighbours are alike, so what a query seeks is in few stretches, and bounds of stretches cost
//! one step a block instead of one a posting (after Chakrabarti et al. 2011, "Interval-based
//! pruning"). The most promising stretches are looked at first: they hold most of the best, so
//! that of the others hardly any is opened at all.

use std::cmp::Reverse;

use super::clause::{Clause, Reach};

/// Documents of a stretch: their sums stay in the nearest cache.
pub(super) const STRETCH: usize = 2048;
/// Blocks of a list that is read posting by posting: a block of it lies over so many stretches
/// that it would promise something everywhere.
const SHORT: usize = 16;
/// Stretches that are looked at before all others.
const FIRST: usize = 8;

/// The bounds of one clause.
pub(super) struct Bounds {
    of: Vec<Reach>,
    /// The most of any stretch.
    pub most: Reach,
}

impl Bounds {
    /// Looks through a clause in a collection of so many stretches.
    pub fn new(clause: &mut Clause<'_>, stretches: usize) -> Self {
        let mut of = vec![0; stretches];
        let Clause { cursor, reaches } = clause;
        let mut raise = |stretch: usize, most: Reach| {
            if let Some(bound) = of.get_mut(stretch) {
                *bound = most.max(*bound);
            }
        };
        if cursor.blocks() > SHORT {
            cursor.each_block(|first, last, impact| {
                let most = reaches.most(impact);
                for stretch in first as usize / STRETCH..=last as usize / STRETCH {
                    raise(stretch, most);
                }
            });
        }
        // neighbours in the list are often of one stretch: their most waits in a register
        let (mut here, mut most) = (0, 0);
        cursor.walk_on(|document, saturation, heading, code| {
            let (stretch, reach) =
                (document as usize / STRETCH, reaches.of(saturation, heading, code));
            if stretch != here {
                raise(here, most);
                (here, most) = (stretch, 0);
            }
            most = reach.max(most);
        });
        raise(here, most);
        let most = of.iter().copied().max().unwrap_or(0);
        Self { of, most }
    }

    /// Returns the bound of a stretch.
    pub fn of(&self, stretch: usize) -> Reach {
        self.of[stretch]
    }
}

/// What all clauses together can add, by stretch; 0 where there is nothing, or nothing is left.
pub(super) struct Outlook(Vec<Reach>);

impl Outlook {
    /// Adds up the bounds of all clauses.
    pub fn new<'b>(stretches: usize, all: impl Iterator<Item = &'b Bounds>) -> Self {
        let mut sums = vec![0; stretches];
        for bounds in all {
            sums.iter_mut().zip(&bounds.of).for_each(|(sum, bound)| *sum += bound);
        }
        Self(sums)
    }

    /// Returns the most of any stretch.
    pub fn most(&self) -> Reach {
        self.0.iter().copied().max().unwrap_or(0)
    }

    /// Returns how many stretches there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns what a stretch promises.
    pub fn of(&self, stretch: usize) -> Reach {
        self.0[stretch]
    }

    /// Returns the most promising stretches, best first.
    pub fn first(&self) -> Vec<usize> {
        let key = |(at, &sum): (usize, &Reach)| Reverse(u64::from(sum) << 32 | !(at as u32) as u64);
        let mut first: Vec<Reverse<u64>> = self.0.iter().enumerate().map(key).collect();
        if first.len() > FIRST {
            first.select_nth_unstable(FIRST);
            first.truncate(FIRST);
        }
        first.sort_unstable();
        first.into_iter().map(|Reverse(key)| !(key as u32) as usize).collect()
    }

    /// Takes out stretches that were looked at.
    pub fn remove(&mut self, stretches: &[usize]) {
        stretches.iter().for_each(|&stretch| self.0[stretch] = 0);
    }
}
