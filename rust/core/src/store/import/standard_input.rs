//! Standard input as a source: read as a whole, and known again by what it begins with.
//!
//! It has no name and no time. What begins with all that was imported before is the same source, which
//! has grown; what a source was when it was first imported is known, and everything else is another.
//! So two conversations with one first prompt stay two.

use std::io::{ErrorKind, Read};

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Interrupt, Result};
use crate::memory_limit::MemoryLimit;
use crate::store::import::ledger::{Entry, Ledger, Stamp};

/// The name that callers see, with which its names in the ledger begin.
pub(super) const NAME: &str = "standard input";
/// How much is read at once.
const STEP: usize = 1 << 18;

/// What came in.
#[derive(Debug, Default)]
pub(super) struct StandardInput {
    pub bytes: Vec<u8>,
    /// Its name in the ledger.
    pub key: String,
    /// Whether all of it was imported before.
    pub is_known: bool,
}

impl StandardInput {
    /// Reads all of it, and looks for it in the ledger.
    pub fn read(ledger: &Ledger, limit: &MemoryLimit, interrupt: Interrupt<'_>) -> Result<Self> {
        Ok(Self::of(read_all(&mut std::io::stdin().lock(), limit, interrupt)?, ledger))
    }

    fn of(bytes: Vec<u8>, ledger: &Ledger) -> Self {
        let begins_so = |entry: &Entry| {
            let before = usize::try_from(entry.stamp.size).ok().and_then(|size| bytes.get(..size));
            before.is_some_and(|before| xxh3_64(before) == entry.tail)
        };
        // what held no message, as an empty input, is no beginning of a conversation
        let imported = ledger.of_names(NAME).filter(|(_, entry)| entry.skipped.is_none());
        let known = imported.filter(|(_, entry)| begins_so(entry));
        let known = known.max_by_key(|(_, entry)| entry.stamp.size);
        let (key, is_known) = match known {
            Some((key, entry)) => (key.to_owned(), entry.stamp.size == bytes.len() as u64),
            None => {
                let key = format!("{NAME} {:016x}", xxh3_64(&bytes));
                // a source that began as this, and has grown since, has all of it
                let has_grown = ledger.get(&key).is_some_and(|entry| entry.skipped.is_none());
                (key, has_grown)
            }
        };
        Self { bytes, key, is_known }
    }

    /// The id of a session that has none of its own.
    pub fn session_id(&self) -> &str {
        self.key.rsplit(' ').next().unwrap_or_default()
    }

    pub fn stamp(&self) -> Stamp {
        Stamp { size: self.bytes.len() as u64, ..Stamp::default() }
    }

    /// Notes by what it is known again.
    pub fn note(&self, entry: &mut Entry) {
        (entry.state, entry.tail) = (None, xxh3_64(&self.bytes));
    }
}

fn read_all(
    input: &mut dyn Read,
    limit: &MemoryLimit,
    interrupt: Interrupt<'_>,
) -> Result<Vec<u8>> {
    let (mut bytes, mut end) = (Vec::new(), 0);
    loop {
        if interrupt() {
            return Err(Error::Interrupted);
        }
        if end == bytes.len() {
            let needed = 2 * (end + STEP) as u64;
            limit.check("importing standard input, which is read as a whole,", needed)?;
            bytes.resize(end + STEP.max(end), 0);
        }
        match input.read(&mut bytes[end..]) {
            Ok(0) => break,
            Ok(read) => end += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::io("read", NAME, error)),
        }
    }
    bytes.truncate(end);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes an input as an import does, and returns its name in the ledger and whether it is known.
    fn take(ledger: &mut Ledger, text: &str) -> (String, bool) {
        let input = StandardInput::of(text.into(), ledger);
        if !input.is_known {
            let skipped = text.trim().is_empty().then(|| "it holds no message".to_owned());
            let mut entry = Entry { stamp: input.stamp(), skipped, ..Entry::default() };
            input.note(&mut entry);
            ledger.set(&input.key, entry);
        }
        (input.key, input.is_known)
    }

    #[test]
    fn what_grows_is_one_source() {
        let ledger = &mut Ledger::default();
        let (first, _) = take(ledger, "a\n");
        assert_eq!(take(ledger, "a\nb\n"), (first.clone(), false));
        assert_eq!(take(ledger, "a\nb\n"), (first.clone(), true));
        // and stays so when its beginning comes again
        assert_eq!(take(ledger, "a\n"), (first.clone(), true));
        assert_ne!(take(ledger, "a\nc\n").0, first);
        assert_eq!(take(ledger, "a\nb\nc\n"), (first, false));
    }

    #[test]
    fn what_holds_no_message_is_no_beginning() {
        for nothing in ["", "\n"] {
            let ledger = &mut Ledger::default();
            let mut names = Vec::new();
            for text in ["a\n", "b\n"].map(|text| format!("{nothing}{text}")) {
                assert!(!take(ledger, nothing).1);
                names.push(take(ledger, &text).0);
            }
            assert_ne!(names[0], names[1], "{nothing:?}");
        }
    }
}
