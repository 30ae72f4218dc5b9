//! Plain messages `{role?, content, …}`: our own format, and JSON that no other format claims.

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
