//! The list of our own files that are to be looked at again; the lock file holds it.
//!
//! Before a change, the holder of the lock writes down what the change may leave: the staged text,
//! and the name in the history that the displaced file gets. So whoever comes next need not search
//! the root for it. A staged text that is still there is of a writer that died. A displaced file
//! may be open in an editor, which saves into it without knowing.
//!
//! The list is synced only for a rename between two visible names: of these nothing else says which
//! one a power cut has left over. Its first line names the boot in which it was written. A list of
//! another boot, or of another host that has the same folder, means that the whole root is searched
//! once by each process; so does a system that does not name its boot.
//!
//! The file may come with a folder that somebody else made, so that a line is believed only if it
//! has the shape of a name that we give.

use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::time::Instant;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};
use crate::files::lock::Guard;
use crate::files::paths::{OWN, check_read};
use crate::files::recover::{copy_of, kept_of};
use crate::files::root::{Root, Stat};
use crate::files::temp_file::is_staged;

/// The most files that are listed; of more the oldest are given up.
const MOST: usize = 1000;
/// The longest list that is read.
const LONGEST: u64 = 4 << 20;
/// The length of what names a boot.
const ID: usize = 36;
/// Stands for it where the system has no name for it.
const UNKNOWN: &str = "unknown";

/// A file to look at again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A staged text, beside its file or in the history: it is there only if its writer died.
    Staged(String),
    /// A file that a change moved to the history.
    Displaced(Displaced),
    /// A rename between two visible names: both may be there if it was cut off.
    Moved(String, String),
}

/// A file in the history into which an editor may still write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Displaced {
    /// Where it is, relative to the root.
    pub(crate) kept: String,
    /// Stamps that it had when it was read last; see [`mark`].
    pub(crate) mark: Option<u64>,
    /// Whether any change since then shows in the stamps.
    pub(crate) trusted: bool,
}

/// What of this root is to be looked at again.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    pub(crate) entries: Vec<Entry>,
    /// What the lock file holds, as far as we know.
    written: Vec<u8>,
    /// Whether the list tells of everything that was left since the system was started.
    pub(crate) complete: bool,
    /// Whether the whole root was searched since this was made.
    pub(crate) searched: bool,
    /// Whether a reader saw something that was left, which the list may not name.
    pub(crate) seen: bool,
    /// When all displaced files were last looked at.
    pub(crate) looked: Option<Instant>,
    /// When a reader last asked whether there is something to look at.
    pub(crate) asked: Option<Instant>,
    /// Conflict copies that were made, until somebody asks for them.
    pub(crate) surfaced: Vec<String>,
}

impl Pending {
    /// Reads the list, if it has changed since it was last read or written.
    pub(crate) fn load(&mut self, guard: &Guard<'_>) -> Result<()> {
        let mut bytes = Vec::with_capacity(self.written.len() + 1);
        let read =
            std::io::Read::read_to_end(&mut std::io::Read::take(&guard.file, LONGEST), &mut bytes);
        read.map_err(|e| Error::io("read", format!("{OWN}/lock"), e))?;
        if bytes != self.written {
            let mut lines = bytes.split(|&byte| byte == b'\n').map(std::str::from_utf8);
            self.complete = matches!(lines.next(), Some(Ok(id)) if self.is_ours(id));
            // behind the last line is an empty one
            self.entries = lines.rev().take(MOST + 1).flatten().filter_map(Entry::parse).collect();
            self.entries.reverse();
            self.written = bytes;
        }
        Ok(())
    }

    /// Writes the list, if it has changed.
    pub(crate) fn store(&mut self, guard: &Guard<'_>) -> Result<()> {
        let surplus = self.entries.len().saturating_sub(MOST);
        self.entries.drain(..surplus);
        let first = if self.complete { boot().unwrap_or(UNKNOWN) } else { "" };
        let lines = self.entries.iter().map(Entry::line);
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

    /// Says whether a list with this first line has all that was left behind: it is of this boot,
    /// or what it took over is ours, for we have searched the root.
    fn is_ours(&self, first: &str) -> bool {
        let is_id = first == UNKNOWN
            || first.len() == ID && first.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit());
        Some(first) == boot() || self.searched && is_id
    }

    /// Says whether the lock file, read without the lock, has anything to look at.
    pub(crate) fn is_due(&self, root: &Root) -> bool {
        use std::io::Read;
        let Ok(file) = root.open_own(&format!("{OWN}/lock")) else {
            // the folder is copied without it, or another system has removed it
            return root.open_dir(OWN).is_ok();
        };
        let mut bytes = Vec::new();
        let read = file.take(ID as u64 + 2).read_to_end(&mut bytes);
        let first = bytes.strip_suffix(b"\n").and_then(|first| std::str::from_utf8(first).ok());
        read.is_err() || !first.is_some_and(|first| self.is_ours(first))
    }
}

impl Entry {
    /// A file that is to be displaced to `kept`.
    pub(crate) fn displaced(kept: &str) -> Self {
        Self::Displaced(Displaced { kept: kept.to_owned(), mark: None, trusted: false })
    }

    fn parse(line: &str) -> Option<Self> {
        let (path, rest) = line.split_once('\t').unwrap_or((line, ""));
        let is_name = |name: &str| check_read(name).is_ok();
        if let Some(kept) = path.strip_prefix(OWN).and_then(|path| path.strip_prefix("/history/")) {
            if rest.is_empty() && copy_of(path).is_some_and(|(path, _)| is_name(path)) {
                return Some(Self::Staged(path.to_owned()));
            }
            kept_of(path).filter(|_| is_name(kept))?;
            let mark = u64::from_str_radix(rest, 16).ok();
            return Some(Self::Displaced(Displaced {
                kept: path.to_owned(),
                mark,
                trusted: mark.is_some(),
            }));
        }
        if rest.is_empty() {
            return is_staged(path).then(|| Self::Staged(path.to_owned()));
        }
        (is_name(path) && is_name(rest)).then(|| Self::Moved(path.to_owned(), rest.to_owned()))
    }

    fn line(&self) -> String {
        match self {
            Self::Staged(path) => format!("{path}\n"),
            Self::Displaced(Displaced { kept, mark: Some(mark), trusted: true }) => {
                format!("{kept}\t{mark:016x}\n")
            }
            Self::Displaced(one) => format!("{}\n", one.kept),
            Self::Moved(from, to) => format!("{from}\t{to}\n"),
        }
    }
}

/// The stamps of a file in one number.
pub(crate) fn mark(stat: &Stat) -> u64 {
    xxh3_64(bytemuck::bytes_of(stat))
}

/// What names this start of the system, where it says so.
fn boot() -> Option<&'static str> {
    static BOOT: OnceLock<Option<String>> = OnceLock::new();
    let read = || {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(id.trim().to_owned()).filter(|id| id.len() == ID)
    };
    BOOT.get_or_init(read).as_deref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written_and_others_dropped() {
        let kept = format!("{OWN}/history/a.md/20260105T120000.000000000Z-{:032x}.md", 7);
        let marked = Displaced { kept: kept.clone(), mark: Some(7), trusted: true };
        for entry in [
            Entry::Staged(format!("facts/.a.md.{:032x}.swap", 7)),
            Entry::Staged(format!(".a.md.{:032x}-{:016x}.swap", 7, 7)),
            Entry::Staged(format!("{OWN}/history/facts/a.md/.{:032x}.swap", 7)),
            Entry::displaced(&kept),
            Entry::Displaced(marked),
            Entry::Moved("a.md".into(), "b/c.md".into()),
        ] {
            assert_eq!(Entry::parse(entry.line().trim_end_matches('\n')), Some(entry));
        }
        for torn in ["", "\0\0\0", "a.md", "999999", "\t"] {
            assert_eq!(Entry::parse(torn), None);
        }
    }
}
