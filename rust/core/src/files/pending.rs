//! The list of our own files that are to be looked at again; the lock file holds it.
//!
//! Before a change, the holder of the lock writes down what the change may leave: the staged text,
//! and the name in the history that the displaced file gets. So whoever comes next need not search
//! the root for it. A staged text that is still there is of a writer that died. A displaced file
//! may be open in an editor, which saves into it without knowing.
//!
//! The list is not synced. Its first line names the boot in which it was written. A list of
//! another boot, or none, means that the whole root is searched once; a line that makes no sense
//! names no file of ours and is dropped.

use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::time::Instant;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};
use crate::files::lock::Guard;
use crate::files::names::OWN;
use crate::files::root::{Root, Stat};

/// The most files that are listed; of more the oldest are given up.
const MOST: usize = 1000;
/// The longest list that is read.
const LONGEST: u64 = 4 << 20;

/// A file to look at again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A staged text: it is there only if its writer died.
    Staged(String),
    /// A file that a change moved to the history.
    Displaced(Displaced),
    /// A rename between two visible names, made of a link and an unlink.
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
            let text = String::from_utf8_lossy(&bytes);
            let mut lines = text.lines();
            self.complete = lines.next().is_some_and(|first| first == boot());
            self.entries = lines.filter_map(Entry::parse).collect();
            self.written = bytes;
        }
        Ok(())
    }

    /// Writes the list, if it has changed.
    pub(crate) fn store(&mut self, guard: &Guard<'_>) -> Result<()> {
        let surplus = self.entries.len().saturating_sub(MOST);
        self.entries.drain(..surplus);
        let first = if self.complete { boot() } else { "" };
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

    /// Says whether the lock file, read without the lock, has anything to look at.
    pub(crate) fn is_due(root: &Root) -> bool {
        use std::io::Read;
        let Ok(mut file) = root.open_own(&format!("{OWN}/lock")) else {
            // the folder is copied without it, or another system has removed it
            return root.open_dir(OWN).is_ok();
        };
        let mut bytes = Vec::new();
        let expected = boot().len() + 1;
        let read = file.by_ref().take(expected as u64 + 1).read_to_end(&mut bytes);
        read.is_err()
            || bytes.len() != expected
            || bytes.strip_suffix(b"\n") != Some(boot().as_bytes())
    }
}

impl Entry {
    /// A file that is to be displaced to `kept`.
    pub(crate) fn displaced(kept: &str) -> Self {
        Self::Displaced(Displaced { kept: kept.to_owned(), mark: None, trusted: false })
    }

    fn parse(line: &str) -> Option<Self> {
        let (path, rest) = line.split_once('\t').unwrap_or((line, ""));
        if path.starts_with(&format!("{OWN}/history/")) {
            let mark = u64::from_str_radix(rest, 16).ok();
            return Some(Self::Displaced(Displaced {
                kept: path.to_owned(),
                mark,
                trusted: mark.is_some(),
            }));
        }
        match path.ends_with(".swap") {
            true => Some(Self::Staged(path.to_owned())),
            false if rest.is_empty() => None,
            false => Some(Self::Moved(path.to_owned(), rest.to_owned())),
        }
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
fn boot() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        if id.trim().is_empty() { "unknown".to_owned() } else { id.trim().to_owned() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written_and_others_dropped() {
        let kept = format!("{OWN}/history/a.md/20260105T120000.000000000Z-00.md");
        let marked = Displaced { kept: kept.clone(), mark: Some(7), trusted: true };
        for entry in [
            Entry::Staged("facts/.a.md.00.swap".into()),
            Entry::displaced(&kept),
            Entry::Displaced(marked),
            Entry::Moved("a.md".into(), "b/c.md".into()),
        ] {
            assert_eq!(Entry::parse(entry.line().trim_end_matches('\n')), Some(entry));
        }
        for torn in ["", "\0\0\0", "a.md", "999999", "\t"] {
            assert_eq!(Entry::parse(torn).filter(|e| !matches!(e, Entry::Moved(..))), None);
        }
    }
}
