//! Recovery list in the lock file: temporary, renamed and displaced files, to be checked again.
//!
//! Before a change, the holder of the lock writes down what the change may leave: the temporary
//! file, and the name in the history that the displaced file gets. So whoever comes next need not
//! search the root for it. A temporary file that is still there is left by a crashed writer. A
//! displaced file may be open in an editor, which saves into it without knowing.
//!
//! The list is synced only for a rename between two visible names: of these nothing else says which
//! one a power cut has left over. Its first line names the boot in which it was written. A list of
//! another boot, or of another host that has the same folder, means that the whole root is searched
//! once by each process; so does a system that does not name its boot.
//!
//! The file may come with a folder that somebody else made, so that a line is trusted only if it
//! has the shape of a name that we give.

use std::time::Instant;

use once_cell::race::OnceBox;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};
use crate::files::history::{parse_copy_path, parse_history_path};
use crate::files::lock::LockGuard;
use crate::files::paths::{OWN, check_read};
use crate::files::platform::FileExt as _;
use crate::files::root::{Root, Stat};
use crate::files::temp_file::is_temp_name;

/// Most entries; of more the oldest are dropped.
const MAX_ENTRIES: usize = 1000;
/// The longest list that is read.
const MAX_BYTES: u64 = 4 << 20;
/// The length of a boot id.
const BOOT_ID_LENGTH: usize = 36;
/// Stands for the boot id where the system has none.
const UNKNOWN_BOOT: &str = "unknown";

/// A file to check again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RecoveryEntry {
    /// A temporary file, beside its file or in the history: it is there only if its writer crashed.
    TempFile(String),
    /// A file that a change moved to the history.
    Displaced(DisplacedFile),
    /// A rename between two visible names: both may be there if it was cut off.
    Moved(String, String),
}

/// A file in the history into which an editor may still write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DisplacedFile {
    /// Where it is, relative to the root.
    pub(crate) kept: String,
    /// Hash of its stat data when it was read last; see [`stat_hash`].
    pub(crate) stat_hash: Option<u64>,
    /// Whether any change since then shows in the stamps.
    pub(crate) trusted: bool,
}

/// The files of a root that are to be checked again.
#[derive(Debug, Default)]
pub(crate) struct RecoveryList {
    pub(crate) entries: Vec<RecoveryEntry>,
    /// What the lock file holds, as far as we know.
    written: Vec<u8>,
    /// Whether the list covers everything that was left since the system was started.
    pub(crate) complete: bool,
    /// Whether the whole root was searched since this was made.
    pub(crate) root_searched: bool,
    /// Whether a reader saw something that was left, which the list may not name.
    pub(crate) leftover_seen: bool,
    /// When all displaced files were last checked.
    pub(crate) last_check: Option<Instant>,
    /// When a reader last asked whether there is something to check.
    pub(crate) last_poll: Option<Instant>,
    /// Conflict copies that were made, until somebody asks for them.
    pub(crate) conflict_copies: Vec<String>,
}

impl RecoveryList {
    /// Reads the list, if it has changed since it was last read or written.
    pub(crate) fn load(&mut self, guard: &LockGuard<'_>) -> Result<()> {
        let mut bytes = Vec::with_capacity(self.written.len() + 1);
        let read = std::io::Read::read_to_end(
            &mut std::io::Read::take(&guard.file, MAX_BYTES),
            &mut bytes,
        );
        read.map_err(|e| Error::io("read", format!("{OWN}/lock"), e))?;
        if bytes != self.written {
            let mut lines = bytes.split(|&byte| byte == b'\n').map(std::str::from_utf8);
            self.complete = matches!(lines.next(), Some(Ok(id)) if self.covers_this_boot(id));
            // behind the last line is an empty one
            self.entries = lines
                .rev()
                .take(MAX_ENTRIES + 1)
                .flatten()
                .filter_map(RecoveryEntry::parse)
                .collect();
            self.entries.reverse();
            self.written = bytes;
        }
        Ok(())
    }

    /// Writes the list, if it has changed.
    pub(crate) fn store(&mut self, guard: &LockGuard<'_>) -> Result<()> {
        let surplus = self.entries.len().saturating_sub(MAX_ENTRIES);
        self.entries.drain(..surplus);
        let first = if self.complete { boot_id().unwrap_or(UNKNOWN_BOOT) } else { "" };
        let lines = self.entries.iter().map(RecoveryEntry::line);
        let text: String = std::iter::once(format!("{first}\n")).chain(lines).collect();
        let same = text.bytes().zip(&self.written).take_while(|(a, b)| a == *b).count();
        let fail = |e| Error::io("write", format!("{OWN}/lock"), e);
        if same < text.len() {
            guard.file.write_all_at(&text.as_bytes()[same..], same as u64).map_err(fail)?;
        }
        if text.len() < self.written.len() {
            guard.file.set_len(text.len() as u64).map_err(fail)?;
        }
        self.written = text.into_bytes();
        Ok(())
    }

    /// Returns whether a list with this first line has all that was left behind: it is of this
    /// boot, or what it took over is ours, for we have searched the root.
    fn covers_this_boot(&self, first: &str) -> bool {
        let is_id = first == UNKNOWN_BOOT
            || first.len() == BOOT_ID_LENGTH
                && first.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit());
        Some(first) == boot_id() || self.root_searched && is_id
    }

    /// Returns whether the lock file, read without the lock, has anything to check.
    pub(crate) fn is_due(&self, root: &Root) -> bool {
        use std::io::Read;
        let Ok(file) = root.open_own(&format!("{OWN}/lock")) else {
            // the folder is copied without it, or another system has removed it
            return root.open_dir(OWN).is_ok();
        };
        let mut bytes = Vec::new();
        let read = file.take(BOOT_ID_LENGTH as u64 + 2).read_to_end(&mut bytes);
        let first = bytes.strip_suffix(b"\n").and_then(|first| std::str::from_utf8(first).ok());
        read.is_err() || !first.is_some_and(|first| self.covers_this_boot(first))
    }
}

impl RecoveryEntry {
    /// A file that is to be displaced to `kept`.
    pub(crate) fn displaced(kept: &str) -> Self {
        Self::Displaced(DisplacedFile { kept: kept.to_owned(), stat_hash: None, trusted: false })
    }

    fn parse(line: &str) -> Option<Self> {
        let (path, rest) = line.split_once('\t').unwrap_or((line, ""));
        let is_name = |name: &str| check_read(name).is_ok();
        if let Some(kept) = path.strip_prefix(OWN).and_then(|path| path.strip_prefix("/history/")) {
            if rest.is_empty() && parse_copy_path(path).is_some_and(|(path, _)| is_name(path)) {
                return Some(Self::TempFile(path.to_owned()));
            }
            parse_history_path(path).filter(|_| is_name(kept))?;
            let stat_hash = u64::from_str_radix(rest, 16).ok();
            return Some(Self::Displaced(DisplacedFile {
                kept: path.to_owned(),
                stat_hash,
                trusted: stat_hash.is_some(),
            }));
        }
        if rest.is_empty() {
            return is_temp_name(path).then(|| Self::TempFile(path.to_owned()));
        }
        (is_name(path) && is_name(rest)).then(|| Self::Moved(path.to_owned(), rest.to_owned()))
    }

    fn line(&self) -> String {
        match self {
            Self::TempFile(path) => format!("{path}\n"),
            Self::Displaced(DisplacedFile { kept, stat_hash: Some(stat_hash), trusted: true }) => {
                format!("{kept}\t{stat_hash:016x}\n")
            }
            Self::Displaced(one) => format!("{}\n", one.kept),
            Self::Moved(from, to) => format!("{from}\t{to}\n"),
        }
    }
}

/// Returns the stat data of a file as one hash.
pub(crate) fn stat_hash(stat: &Stat) -> u64 {
    xxh3_64(bytemuck::bytes_of(stat))
}

/// Returns the boot id of the system, where it has one.
fn boot_id() -> Option<&'static str> {
    // without a lock: the child of a fork would wait for the thread that reads it
    static BOOT_ID: OnceBox<Option<String>> = OnceBox::new();
    let read = || {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(id.trim().to_owned()).filter(|id| id.len() == BOOT_ID_LENGTH)
    };
    BOOT_ID.get_or_init(|| Box::new(read())).as_deref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written_and_others_dropped() {
        let kept = format!("{OWN}/history/a.md/20260105T120000.000000000Z-{:032x}.md", 7);
        let marked = DisplacedFile { kept: kept.clone(), stat_hash: Some(7), trusted: true };
        for entry in [
            RecoveryEntry::TempFile(format!("facts/.a.md.{:032x}.swap", 7)),
            RecoveryEntry::TempFile(format!(".a.md.{:032x}-{:016x}.swap", 7, 7)),
            RecoveryEntry::TempFile(format!("{OWN}/history/facts/a.md/.{:032x}.swap", 7)),
            RecoveryEntry::displaced(&kept),
            RecoveryEntry::Displaced(marked),
            RecoveryEntry::Moved("a.md".into(), "b/c.md".into()),
        ] {
            assert_eq!(RecoveryEntry::parse(entry.line().trim_end_matches('\n')), Some(entry));
        }
        for torn in ["", "\0\0\0", "a.md", "999999", "\t"] {
            assert_eq!(RecoveryEntry::parse(torn), None);
        }
    }
}
