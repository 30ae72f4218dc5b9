//! Report of an import: what each source brought, and what was left out and why.

use crate::messages::formats::Imported;
use crate::messages::redaction::Redactions;

/// What became of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its sessions are stored for the first time.
    New,
    /// A known source that has more messages now.
    Grown,
    /// It was read, and nothing in it was new.
    Unchanged,
    /// Nothing of it was taken, for this reason.
    Skipped(String),
}

impl Outcome {
    /// The word that callers see.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Grown => "grown",
            Self::Unchanged => "unchanged",
            Self::Skipped(_) => "skipped",
        }
    }

    /// Why nothing was taken.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Skipped(why) => Some(why),
            _ => None,
        }
    }
}

/// What an import took from one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceReport {
    /// The path of the source.
    pub source: String,
    /// What became of it.
    pub outcome: Outcome,
    /// The transcripts that hold its sessions.
    pub paths: Vec<String>,
    /// Messages that were added.
    pub messages: u64,
    /// Messages that another transcript holds already.
    pub copies: u64,
    /// Whether its last line is half-written, and left to the next import.
    pub is_cut_off: bool,
    /// Rows of a database that were passed over, each with its table, id and reason: the first of them.
    pub bad_rows: Vec<String>,
    /// How many there were.
    pub bad_row_count: u64,
    /// What the conversion left out; of a source that has grown, what was new in it.
    pub imported: Imported,
}

impl SourceReport {
    /// A source that nothing was taken from yet.
    pub(super) fn new(source: String) -> Self {
        Self {
            source,
            outcome: Outcome::Unchanged,
            paths: Vec::new(),
            messages: 0,
            copies: 0,
            is_cut_off: false,
            bad_rows: Vec::new(),
            bad_row_count: 0,
            imported: Imported::default(),
        }
    }
}

/// What an import did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// The folders in which sources were looked for.
    pub places: Vec<String>,
    /// Sources whose size and time were as they were the last time.
    pub unread: u64,
    /// Sources of which nothing was taken the last time, and that are as they were; but for those
    /// that the caller named.
    pub unread_skipped: u64,
    /// Transcripts of unread sources that are no longer in the memory, as somebody has removed them.
    pub removed: u64,
    /// All other sources, in the order in which they were imported.
    pub sources: Vec<SourceReport>,
}

impl ImportReport {
    pub(super) fn skip(&mut self, source: &str, why: &str) {
        let outcome = Outcome::Skipped(why.to_owned());
        self.sources.push(SourceReport { outcome, ..SourceReport::new(source.to_owned()) });
    }

    /// How many sources came to this.
    #[must_use]
    pub fn count(&self, outcome: &str) -> u64 {
        let read = self.sources.iter().filter(|source| source.outcome.name() == outcome).count();
        let unread = match outcome {
            "unchanged" => self.unread,
            "skipped" => self.unread_skipped,
            _ => 0,
        };
        read as u64 + unread
    }

    /// Messages that were added.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.sources.iter().map(|source| source.messages).sum()
    }

    /// Secrets that were replaced in what was added, by kind.
    #[must_use]
    pub fn redacted(&self) -> Redactions {
        let mut sum = Redactions::new();
        for (kind, count) in self.sources.iter().flat_map(|source| &source.imported.redacted) {
            *sum.entry(kind.clone()).or_default() += count;
        }
        sum
    }

    /// Messages that were pointed to where they are stored already.
    #[must_use]
    pub fn copies(&self) -> u64 {
        self.sources.iter().map(|source| source.copies).sum()
    }
}
