//! Racy timestamps (git's "racily clean" rule): when equal stat data proves an unchanged file.
//!
//! A file may change twice within one tick of its clock and look the same both times. So stamps
//! younger than the coarsest clock's tick prove nothing, and the file is read again.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::files::root::Stat;

/// The coarsest clock that a file system has, FAT's, and what the kernel's own clock lags behind.
const RACY_NS: i64 = 2_100_000_000;
/// A change time that no file has.
const NO_CTIME: i64 = i64::MIN;

/// The timestamp granularity of a file system.
///
/// Linux has had stamps so fine since 6.13 that no two writes look alike; a test of the racy rule
/// then passes whatever the code does. Tests therefore look through a coarser clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FsClock {
    /// Nanoseconds from one stamp to the next.
    pub tick_ns: i64,
    /// Whether the change time is unusable, as on some network and FUSE file systems.
    pub no_ctime: bool,
    /// Age below which stamps prove nothing (racy).
    pub racy_ns: i64,
}

impl Default for FsClock {
    fn default() -> Self {
        Self { tick_ns: 1, no_ctime: false, racy_ns: RACY_NS }
    }
}

impl FsClock {
    /// Returns the stamps as this clock would have kept them.
    pub fn truncate(self, stat: Stat) -> Stat {
        let coarse = |ns: i64| ns - ns.rem_euclid(self.tick_ns.max(1));
        let ctime_ns = if self.no_ctime { 0 } else { coarse(stat.ctime_ns) };
        Stat { mtime_ns: coarse(stat.mtime_ns), ctime_ns, ..stat }
    }

    /// Returns stamps that equal those of the file only if it has not changed since `now_ns`, the
    /// moment before it was read.
    pub fn trusted(self, stat: &Stat, now_ns: i64) -> Stat {
        match stat.mtime_ns.max(stat.ctime_ns).saturating_add(self.racy_ns) < now_ns {
            true => *stat,
            false => untrusted(stat),
        }
    }
}

/// Returns stamps that no file has; inode, size and time of the text stay to be shown.
pub fn untrusted(stat: &Stat) -> Stat {
    Stat { ctime_ns: NO_CTIME, ..*stat }
}

/// Returns whether these stamps may be those of a file.
pub fn is_trusted(stat: &Stat) -> bool {
    stat.ctime_ns != NO_CTIME
}

/// Returns the time in nanoseconds since 1970.
pub fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_timestamps_prove_nothing() {
        let stat =
            Stat { size: 3, mtime_ns: 10_000_000_000, ctime_ns: 9_999_999_999, ..Stat::default() };
        let clock = FsClock::default();
        assert_ne!(clock.trusted(&stat, 12_000_000_000), stat);
        assert_eq!(clock.trusted(&stat, 12_200_000_000), stat);
        let future = Stat { mtime_ns: i64::MAX, ..stat };
        assert_ne!(clock.trusted(&future, i64::MAX - 1), future);
        let coarse = FsClock { tick_ns: 4_000_000_000, no_ctime: true, ..clock }.truncate(stat);
        assert_eq!((coarse.mtime_ns, coarse.ctime_ns), (8_000_000_000, 0));
        assert_eq!(FsClock::default().truncate(stat), stat);
    }
}
