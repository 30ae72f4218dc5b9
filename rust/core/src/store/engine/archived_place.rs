//! Places of archived documents, and what is read around them.

use crate::catalog::TranscriptPosition;
use crate::index::bm25f::Field;
use crate::store::engine::document::EngineDocument;

/// Where an archived document is, as its row says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArchivedPlace {
    /// First byte.
    pub start: u64,
    /// Line of the first byte, from 1.
    pub line: u32,
    /// Its position in its transcript.
    pub position: TranscriptPosition,
    /// The lower half of the hash of its bytes.
    pub hash: u32,
    /// Terms of the messages beside it, which it has for its context.
    pub context_length: u16,
}

impl From<&EngineDocument> for ArchivedPlace {
    fn from(document: &EngineDocument) -> Self {
        let EngineDocument { start, line, position, hash, lengths, .. } = *document;
        let context_length = lengths[Field::Context as usize];
        Self { start, line, position, hash: hash as u32, context_length }
    }
}

/// Which messages are returned beside the one at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// None.
    Itself,
    /// The one before it and the one behind it.
    Neighbours,
    /// Those of its turn.
    Turn,
}

impl Reach {
    /// Says whether the next message of a direction is returned, behind so many.
    pub(super) fn holds(self, returned: usize, is_same_turn: bool) -> bool {
        match self {
            Self::Itself => false,
            Self::Neighbours => returned == 0,
            Self::Turn => is_same_turn,
        }
    }
}
