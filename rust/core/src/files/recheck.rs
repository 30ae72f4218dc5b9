//! Second looks at the files that the list of the lock file names: those that a crash may have
//! left, and displaced files into which an editor may still save.

use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::error::{Error, Interrupt, Result};
use crate::files::Files;
use crate::files::history::surface;
use crate::files::lock::Guard;
use crate::files::paths::OWN;
use crate::files::platform::{Lease, ReadLease as _};
use crate::files::racy_stat::{Clock, now_ns};
use crate::files::recover::{Recovered, kept_of};
use crate::files::recovery_list::{Displaced, Entry, Pending, mark};
use crate::files::revisions::named;
use crate::files::root::Stat;
use crate::files::version::Version;
use crate::sync::MutexGuard;

/// How long after it was displaced a file that nobody has open for writing is looked at once more:
/// an editor may just have been opening it.
const SETTLED_NS: i64 = 1_000_000_000;
/// How many displaced files wait for that; of more the oldest are looked at now.
const WATCHED: usize = 64;
/// How long a displaced file is looked at where somebody has it open, or nobody can tell.
const LINGER_NS: i64 = 7 * 86_400 * 1_000_000_000;
/// How often a reader looks.
const PAUSE: Duration = Duration::from_secs(1);
/// How often a writer looks at all of them.
const BRIEF: Duration = Duration::from_millis(10);

impl Files {
    /// Looks at what the list of the lock file names; returns the conflict copies that were made
    /// since this was last called.
    ///
    /// To be called at opening, and now and then by a reader: it costs a few microseconds when
    /// there is nothing to do, whatever the size of the history. Where another process holds the
    /// lock, or the root cannot be written, nothing is done.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn catch_up(&self) -> Result<Vec<String>> {
        let due = |pending: &mut Pending| {
            let due = pending.asked.is_none_or(|last| last.elapsed() > PAUSE);
            pending.asked = if due { Some(Instant::now()) } else { pending.asked };
            due
        };
        let is_due = |mut pending: MutexGuard<'_, Pending>| {
            due(&mut pending) && (pending.seen || pending.is_due(&self.root))
        };
        if self.pending.try_lock().is_some_and(is_due) {
            self.look_now()?;
        }
        let pending = self.pending.try_lock();
        Ok(pending.map(|mut pending| std::mem::take(&mut pending.surfaced)).unwrap_or_default())
    }

    /// Lets the next [`Self::catch_up`] search the root: it holds what a dead writer left, or what
    /// another process is writing now.
    pub(crate) fn search_soon(&self) {
        let mut pending = self.pending.lock();
        (pending.seen, pending.asked) = (true, None);
    }

    /// Looks at what the list names, if nobody has the lock; what fails is tried again by the next
    /// change.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub(crate) fn look_now(&self) -> Result<()> {
        // a root may have been copied without our folder, but with what was left
        let seen = self.pending.try_lock().is_some_and(|pending| pending.seen);
        if (seen || self.root.open_dir(OWN).is_ok())
            && let Ok(Some(guard)) = self.lock.try_acquire(&self.root)
        {
            let looked = self.look_again(&guard);
            let _ = self.pending.lock().store(&guard);
            if let Err(Error::Interrupted) = looked {
                return looked;
            }
        }
        Ok(())
    }

    /// Looks at what the list names, and at the whole root if there is no list of this boot.
    pub(crate) fn look_again(&self, guard: &Guard<'_>) -> Result<()> {
        let mut pending = self.pending.lock();
        pending.load(guard)?;
        let all = pending.looked.is_none_or(|last| last.elapsed() > BRIEF);
        let interrupt = self.asking();
        if !pending.complete || pending.seen {
            match self.search_root(&mut pending, &interrupt) {
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                // what cannot be searched now is searched by the next change
                searched => pending.complete = searched.is_ok(),
            }
            pending.searched |= pending.complete;
            pending.seen = !pending.complete;
            // the list only saves time: a disk that is full may keep the old one
            let _ = pending.store(guard);
        }
        self.look(&mut pending, all, &interrupt)?;
        if all {
            pending.looked = Some(Instant::now());
        }
        Ok(())
    }

    /// Looks at what the list names; unless `all`, only at what was never looked at.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub(crate) fn look(
        &self,
        pending: &mut Pending,
        all: bool,
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        let is_displaced = |entry: &&Entry| matches!(entry, Entry::Displaced(_));
        let mut later = pending.entries.iter().filter(is_displaced).count();
        let mut kept = Vec::with_capacity(pending.entries.len());
        let mut looked = Ok(());
        let mut entries = std::mem::take(&mut pending.entries).into_iter();
        while looked.is_ok()
            && let Some(mut entry) = entries.next()
        {
            let again = match &mut entry {
                Entry::Displaced(one) if !all && one.mark.is_some() => {
                    later -= 1;
                    Ok((true, None))
                }
                Entry::Staged(path) => match self.recover_staged(path, interrupt) {
                    Ok(Recovered::Kept(kept)) => {
                        entry = Entry::displaced(&kept);
                        Ok((true, None))
                    }
                    Ok(Recovered::Shown(shown)) => Ok((false, Some(shown))),
                    Ok(Recovered::Nothing) => Ok((false, None)),
                    Err(e) => Err(e),
                },
                Entry::Moved(from, to) => self.undo_move(from, to).map(|()| (false, None)),
                Entry::Displaced(one) => {
                    later -= 1;
                    self.look_at_displaced(one, later >= WATCHED, interrupt)
                }
            };
            match again {
                Ok((again, shown)) => {
                    pending.surfaced.extend(shown);
                    if again {
                        kept.push(entry);
                    }
                }
                // what could not be told now may be told next time
                Err(e) => {
                    kept.push(entry);
                    looked = if let Error::Interrupted = e { Err(e) } else { Ok(()) };
                }
            }
        }
        kept.extend(entries);
        pending.entries = kept;
        looked
    }

    /// Looks at a displaced file; says whether it must be looked at again, and where it is shown.
    fn look_at_displaced(
        &self,
        one: &mut Displaced,
        at_once: bool,
        interrupt: Interrupt<'_>,
    ) -> Result<(bool, Option<String>)> {
        let Some((path, version)) = kept_of(&one.kept) else { return Ok((false, None)) };
        let place = match self.root.place(&one.kept) {
            Err(Error::NotFound { .. }) => return Ok((false, None)),
            place => place?,
        };
        let raw = match place.look() {
            // it was never displaced, or is visible by now
            Err(Errno::NOENT) => return Ok((false, None)),
            raw => raw.map_err(|e| Error::io("recover", &*one.kept, e))?,
        };
        if raw.st_nlink > 1 && self.drop_second_name(&place, path)? {
            return Ok((false, None));
        }
        let (stat, now) = (Stat::from_raw(&raw), now_ns());
        let age = now - time_ns(&one.kept).unwrap_or(0);
        let settled = at_once || !(0..SETTLED_NS).contains(&age);
        if one.mark == Some(mark(&stat)) && (one.trusted || !settled) {
            return Ok((age < LINGER_NS, None));
        }
        let file = match self.root.open_own(&one.kept) {
            // a copy of the folder that is made of links: it may go again
            Err(Error::Refused { code: "hardlink", .. }) => return Ok((age < LINGER_NS, None)),
            Err(Error::NotFound { .. } | Error::Refused { .. }) => return Ok((false, None)),
            file => file?,
        };
        // asked first: who is not writing now cannot begin to
        let written = Lease::is_open_for_writing(&file);
        let found = Version::of_whole(&file, &one.kept, interrupt)?;
        if found != version && found != Version::of(b"") {
            let shown = surface(&self.root, &one.kept, path, found)?;
            return Ok((false, Some(shown)));
        }
        one.mark = Some(mark(&stat));
        one.trusted = Clock::default().trusted(&stat, now) == stat;
        Ok((!(settled && written == Some(false)) && age < LINGER_NS, None))
    }
}

/// When a file was displaced, in ns since 1970.
fn time_ns(kept: &str) -> Option<i64> {
    let (_, name) = kept.rsplit_once('/')?;
    named(name)?.0.checked_mul(1_000_000)
}
