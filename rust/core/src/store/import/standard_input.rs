//! Standard input as a source: read as a whole, and known again by what it begins with.
//!
//! It has no name and no time. What begins with all that was imported before is the same source, which
//! has grown; everything else is another. So two conversations with one first prompt stay two.

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
        let bytes = read_all(&mut std::io::stdin().lock(), limit, interrupt)?;
        let begins_so = |entry: &Entry| {
            let before = usize::try_from(entry.stamp.size).ok().and_then(|size| bytes.get(..size));
            before.is_some_and(|before| xxh3_64(before) == entry.tail)
        };
        let known = ledger.of_names(NAME).filter(|(_, entry)| begins_so(entry));
        let known = known.max_by_key(|(_, entry)| entry.stamp.size);
        let (key, is_known) = match known {
            Some((key, entry)) => (key.to_owned(), entry.stamp.size == bytes.len() as u64),
            None => (format!("{NAME} {:016x}", xxh3_64(&bytes)), false),
        };
        Ok(Self { bytes, key, is_known })
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
