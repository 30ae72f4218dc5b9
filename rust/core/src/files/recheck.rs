//! Replay of the recovery list: crash leftovers are undone, replaced files are compared again.

use std::time::{Duration, Instant};

use crate::error::{Error, Interrupt, Result};
use crate::files::Files;
use crate::files::history::{make_conflict_copy, parse_history_path, parse_revision_name};
use crate::files::lock::LockGuard;
use crate::files::paths::OWN;
use crate::files::platform::{Errno, Lease, ReadLease as _};
use crate::files::racy_stat::{FsClock, now_ns};
use crate::files::recover::Recovered;
use crate::files::recovery_list::{DisplacedFile, RecoveryEntry, RecoveryList, stat_hash};
use crate::files::version::Version;
use crate::sync::MutexGuard;

/// Age after which a displaced file that nobody has open for writing is checked a last time:
/// an editor may just have been opening it.
const RECHECK_AFTER_NS: i64 = 1_000_000_000;
/// Most displaced files that wait for that; of more the oldest are checked now.
const MAX_WAITING: usize = 64;
/// Age up to which a displaced file is checked while it is open for writing, or that is unknown.
const RECHECK_FOR_NS: i64 = 7 * 86_400 * 1_000_000_000;
/// Time between two checks by readers.
const READER_INTERVAL: Duration = Duration::from_secs(1);
/// Time between two checks of all entries by writers.
const WRITER_INTERVAL: Duration = Duration::from_millis(10);

impl Files {
    /// Checks the files on the recovery list; returns the conflict copies that were made
    /// since this was last called.
    ///
    /// To be called at opening, and now and then by a reader: it costs a few microseconds when
    /// there is nothing to do, whatever the size of the history. Where another process holds the
    /// lock, or the root cannot be written, nothing is done.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn recheck_if_due(&self) -> Result<Vec<String>> {
        let due = |list: &mut RecoveryList| {
            let due = list.last_poll.is_none_or(|last| last.elapsed() > READER_INTERVAL);
            list.last_poll = if due { Some(Instant::now()) } else { list.last_poll };
            due
        };
        let is_due = |mut list: MutexGuard<'_, RecoveryList>| {
            due(&mut list) && (list.leftover_seen || list.is_due(&self.root))
        };
        if self.recovery_list.try_lock().is_some_and(is_due) {
            self.recheck_now()?;
        }
        let list = self.recovery_list.try_lock();
        Ok(list.map(|mut list| std::mem::take(&mut list.conflict_copies)).unwrap_or_default())
    }

    /// Lets the next [`Self::recheck_if_due`] search the root: it holds what a crashed writer left,
    /// or what another process is writing now.
    pub(crate) fn schedule_search(&self) {
        let mut list = self.recovery_list.lock();
        (list.leftover_seen, list.last_poll) = (true, None);
    }

    /// Checks the files on the list, if nobody has the lock; what fails is tried again by the next
    /// change.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub(crate) fn recheck_now(&self) -> Result<()> {
        // a root may have been copied without our folder, but with what was left
        let seen = self.recovery_list.try_lock().is_some_and(|list| list.leftover_seen);
        if (seen || self.root.open_dir(OWN).is_ok())
            && let Ok(Some(guard)) = self.lock.try_acquire(&self.root)
        {
            let looked = self.recheck(&guard);
            let _ = self.recovery_list.lock().store(&guard);
            if let Err(Error::Interrupted) = looked {
                return looked;
            }
        }
        Ok(())
    }

    /// Checks the files on the list, and searches the whole root if there is no list of this boot.
    pub(crate) fn recheck(&self, guard: &LockGuard<'_>) -> Result<()> {
        let mut list = self.recovery_list.lock();
        list.load(guard)?;
        let all = list.last_check.is_none_or(|last| last.elapsed() > WRITER_INTERVAL);
        let interrupt = self.interrupt();
        if !list.complete || list.leftover_seen {
            match self.search_root(&mut list, &interrupt) {
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                // what cannot be searched now is searched by the next change
                searched => list.complete = searched.is_ok(),
            }
            list.root_searched |= list.complete;
            list.leftover_seen = !list.complete;
            // the list only saves time: a disk that is full may keep the old one
            let _ = list.store(guard);
        }
        self.check_entries(&mut list, all, &interrupt)?;
        if all {
            list.last_check = Some(Instant::now());
        }
        Ok(())
    }

    /// Checks the files on the list; unless `all`, only those that were never checked.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub(crate) fn check_entries(
        &self,
        list: &mut RecoveryList,
        all: bool,
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        let is_displaced = |entry: &&RecoveryEntry| matches!(entry, RecoveryEntry::Displaced(_));
        let mut later = list.entries.iter().filter(is_displaced).count();
        let mut kept = Vec::with_capacity(list.entries.len());
        let mut looked = Ok(());
        let mut entries = std::mem::take(&mut list.entries).into_iter();
        while looked.is_ok()
            && let Some(mut entry) = entries.next()
        {
            let again = match &mut entry {
                RecoveryEntry::Displaced(one) if !all && one.stat_hash.is_some() => {
                    later -= 1;
                    Ok((true, None))
                }
                RecoveryEntry::TempFile(path) => match self.recover_temp_file(path, interrupt) {
                    Ok(Recovered::InHistory(kept)) => {
                        entry = RecoveryEntry::displaced(&kept);
                        Ok((true, None))
                    }
                    Ok(Recovered::ConflictCopy(shown)) => Ok((false, Some(shown))),
                    Ok(Recovered::Nothing) => Ok((false, None)),
                    Err(e) => Err(e),
                },
                RecoveryEntry::Moved(from, to) => {
                    self.undo_half_rename(from, to).map(|()| (false, None))
                }
                RecoveryEntry::Displaced(one) => {
                    later -= 1;
                    self.check_displaced(one, later >= MAX_WAITING, interrupt)
                }
            };
            match again {
                Ok((again, shown)) => {
                    list.conflict_copies.extend(shown);
                    if again {
                        kept.push(entry);
                    }
                }
                // tried again the next time
                Err(e) => {
                    kept.push(entry);
                    looked = if let Error::Interrupted = e { Err(e) } else { Ok(()) };
                }
            }
        }
        kept.extend(entries);
        list.entries = kept;
        looked
    }

    /// Checks a displaced file; returns whether it must be checked again, and the path of the
    /// conflict copy that was made of it.
    fn check_displaced(
        &self,
        one: &mut DisplacedFile,
        at_once: bool,
        interrupt: Interrupt<'_>,
    ) -> Result<(bool, Option<String>)> {
        let Some((path, version)) = parse_history_path(&one.kept) else { return Ok((false, None)) };
        let target = match self.root.path_handle(&one.kept) {
            Err(Error::NotFound { .. }) => return Ok((false, None)),
            target => target?,
        };
        let info = match target.stat() {
            // it was never displaced, or is visible by now
            Err(Errno::NOENT) => return Ok((false, None)),
            info => info.map_err(|e| Error::io("recover", &*one.kept, e))?,
        };
        if info.links > 1 && self.remove_extra_link(&target, path)? {
            return Ok((false, None));
        }
        let (stat, now) = (info.stat, now_ns());
        let age = now - time_ns(&one.kept).unwrap_or(0);
        let settled = at_once || !(0..RECHECK_AFTER_NS).contains(&age);
        if one.stat_hash == Some(stat_hash(&stat)) && (one.trusted || !settled) {
            return Ok((age < RECHECK_FOR_NS, None));
        }
        let file = match self.root.open_own(&one.kept) {
            // a copy of the folder that is made of links: it may go again
            Err(Error::Refused { code: "hardlink", .. }) => {
                return Ok((age < RECHECK_FOR_NS, None));
            }
            Err(Error::NotFound { .. } | Error::Refused { .. }) => return Ok((false, None)),
            file => file?,
        };
        // asked first: who is not writing now cannot begin to
        let written = Lease::is_open_for_writing(&file);
        let found = Version::of_whole(&file, &one.kept, interrupt)?;
        if found != version && found != Version::of(b"") {
            let shown = make_conflict_copy(&self.root, &one.kept, path, found)?;
            return Ok((false, Some(shown)));
        }
        one.stat_hash = Some(stat_hash(&stat));
        one.trusted = FsClock::default().trusted(&stat, now) == stat;
        Ok((!(settled && written == Some(false)) && age < RECHECK_FOR_NS, None))
    }
}

/// When a file was displaced, in ns since 1970.
fn time_ns(kept: &str) -> Option<i64> {
    let (_, name) = kept.rsplit_once('/')?;
    parse_revision_name(name)?.0.checked_mul(1_000_000)
}
