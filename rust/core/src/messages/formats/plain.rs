//! Plain messages `{role?, content, timestamp?, name?, session?}`: the format that imports write.

use super::{Record, TranscriptFormat};

/// Bare messages, and any other object that no format knows.
#[derive(Debug)]
pub(super) struct Plain;

impl TranscriptFormat for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    fn detect(&self, record: &Record<'_>) -> bool {
        record.fields().is_some()
    }
}
