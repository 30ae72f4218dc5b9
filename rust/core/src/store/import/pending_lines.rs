//! Pending lines: what is to be added to a transcript, with the keys of its messages.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::messages::message::{ParsedLine, parse_lazy};
use crate::messages::redaction::{Redactions, add_counts};
use crate::store::import::message_index::Entry;

#[derive(Debug, Default)]
pub(super) struct PendingLines {
    lines: Vec<PendingLine>,
    bytes: usize,
    hashes: FxHashSet<u128>,
    /// Lines of messages by id, where hosts write a message again when it has grown.
    versions: FxHashMap<String, usize>,
}

#[derive(Debug, Default)]
struct PendingLine {
    text: Vec<u8>,
    /// By what the message is known; none for a record.
    hash: Option<u128>,
    /// Secrets that were replaced in it.
    redacted: Redactions,
}

/// What was added to a transcript.
#[derive(Debug)]
pub(super) struct Added {
    pub lines: u64,
    pub entries: Vec<Entry>,
    /// Secrets that were replaced in it.
    pub redacted: Redactions,
}

impl PendingLines {
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Secrets that were replaced in what is pending.
    pub fn redacted(&self) -> Redactions {
        let mut sum = Redactions::new();
        self.lines.iter().for_each(|line| add_counts(&mut sum, line.redacted.clone()));
        sum
    }

    pub fn holds(&self, hash: u128) -> bool {
        self.hashes.contains(&hash)
    }

    /// Adds the line of a record, with its end.
    pub fn push_record(&mut self, line: &[u8]) {
        self.push_message(line, None, Redactions::new());
    }

    /// Adds the line of a message, with its end, in which so many secrets were replaced.
    pub fn push_message(&mut self, line: &[u8], hash: Option<u128>, redacted: Redactions) {
        self.bytes += line.len();
        self.hashes.extend(hash);
        self.lines.push(PendingLine { text: line.to_vec(), hash, redacted });
    }

    /// Puts a message in the place of its earlier version, if that is pending; it has the same id.
    pub fn replace_version(
        &mut self,
        line: &[u8],
        hash: Option<u128>,
        redacted: &Redactions,
    ) -> bool {
        let ParsedLine::Message(message) = parse_lazy(line) else { return false };
        let Some(id) = message.id() else { return false };
        let Some(&at) = self.versions.get(&id) else {
            self.versions.insert(id, self.lines.len());
            return false;
        };
        let earlier = &mut self.lines[at];
        self.bytes = self.bytes + line.len() - earlier.text.len();
        // the hash of the earlier version stays known: the source has it still
        self.hashes.extend(hash);
        *earlier = PendingLine { text: line.to_vec(), hash, redacted: redacted.clone() };
        true
    }

    /// Drops the earlier version of a message that is stored; returns whether one was pending.
    pub fn drop_version(&mut self, line: &[u8]) -> bool {
        let ParsedLine::Message(message) = parse_lazy(line) else { return false };
        let Some(at) = message.id().and_then(|id| self.versions.remove(&id)) else { return false };
        self.bytes -= self.lines[at].text.len();
        // its place stays, so that those of the others do
        self.lines[at] = PendingLine::default();
        true
    }

    /// Keeps the lines that `keep` says.
    pub fn retain(&mut self, mut keep: impl FnMut(&[u8]) -> bool) {
        self.lines.retain(|line| keep(&line.text));
        self.bytes = self.lines.iter().map(|line| line.text.len()).sum();
        self.hashes = self.lines.iter().filter_map(|line| line.hash).collect();
        self.versions.clear();
    }

    /// The text of all lines, behind a record.
    pub fn text(&self, record: &str) -> Vec<u8> {
        let mut text = Vec::with_capacity(record.len() + self.bytes);
        text.extend_from_slice(record.as_bytes());
        self.lines.iter().for_each(|line| text.extend_from_slice(&line.text));
        text
    }

    /// Takes all lines out: they stand behind a record at byte `start`, and so many lines.
    pub fn take(&mut self, record: &str, start: u64, before: u64) -> Added {
        let (mut offset, mut number) = (start + record.len() as u64, before);
        number += u64::from(!record.is_empty());
        let mut entries = Vec::new();
        for line in self.lines.iter().filter(|line| !line.text.is_empty()) {
            number += 1;
            let place = u32::try_from(number).unwrap_or(u32::MAX);
            entries.extend(line.hash.map(|hash| (hash, offset, place)));
            offset += line.text.len() as u64;
        }
        let redacted = std::mem::take(self).redacted();
        Added { lines: number - before, entries, redacted }
    }
}
