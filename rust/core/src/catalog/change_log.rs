//! Log of changed files: which files have changed since a revision, as far as it reaches back.

use std::collections::{BTreeSet, VecDeque};

use crate::catalog::update::next_revision;

/// Changes that are kept; whoever has seen fewer lists all files.
const MAX_CHANGES: usize = 4096;

/// The last changes of files, in order.
#[derive(Debug)]
pub struct ChangeLog {
    /// The revision before the first change that is kept.
    from: u64,
    /// The revision of the last change.
    last: u64,
    changes: VecDeque<(u64, String)>,
}

impl ChangeLog {
    pub(super) fn new() -> Self {
        let from = next_revision();
        Self { from, last: from, changes: VecDeque::new() }
    }

    /// Notes that a file was added, has changed, or was removed.
    pub fn push(&mut self, path: &str) {
        if self.changes.len() == MAX_CHANGES
            && let Some((revision, _)) = self.changes.pop_front()
        {
            self.from = revision;
        }
        self.last = next_revision();
        self.changes.push_back((self.last, path.to_owned()));
    }

    /// Returns the revision of the last change.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Returns the files that have changed since a revision; `None` when the log does not reach back
    /// so far, as all were read anew.
    pub fn since(&self, revision: u64) -> Option<BTreeSet<&str>> {
        let newer = self.changes.iter().rev().take_while(|(at, _)| *at > revision);
        let known = (self.from..=self.last).contains(&revision);
        known.then(|| newer.map(|(_, path)| path.as_str()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_is_named_once_and_old_revisions_are_unknown() {
        let mut log = ChangeLog::new();
        let start = log.last();
        assert_eq!(log.since(start), Some(BTreeSet::new()));
        ["a", "b", "a"].iter().for_each(|path| log.push(path));
        let middle = log.last();
        log.push("c");
        assert_eq!(log.since(start), Some(BTreeSet::from(["a", "b", "c"])));
        assert_eq!(log.since(middle), Some(BTreeSet::from(["c"])));
        assert_eq!(log.since(start - 1), None);
        assert_eq!(log.since(log.last() + 1), None);
        for _ in 0..MAX_CHANGES - 3 {
            log.push("d");
        }
        // the first is no longer kept, so its revision is the oldest that is known
        assert_eq!(log.since(start), None);
        assert_eq!(log.since(middle), Some(BTreeSet::from(["c", "d"])));
    }
}
