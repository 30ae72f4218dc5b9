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

/// The numbers of a place as columns of the archive keep them: of few columns, since to open one takes
/// as long as to read many rows of it.
///
/// tantivy opens a column at once where it has no blocks: if there is one value only, as where no file
/// is of 4 GB, or if the values are random. So what differs from row to row is mixed with the hash.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlaceColumns {
    /// The upper half of the first byte.
    pub start: u32,
    /// Its line, less the messages before it.
    pub other_lines: u32,
    /// Messages before it.
    pub place: u32,
    /// Its turn.
    pub turn: u32,
    /// Its run of a session.
    pub session_run: u32,
    /// The terms before it, and the length of its context.
    pub terms: u64,
    /// The lower half of the first byte, and the hash.
    pub hash: u64,
}

impl From<&ArchivedPlace> for PlaceColumns {
    fn from(archived: &ArchivedPlace) -> Self {
        let &ArchivedPlace { start, line, position, hash, context_length } = archived;
        let TranscriptPosition { place, turn, session_run, terms_before } = position;
        let mixed = |number: u32| u64::from(number ^ hash);
        Self {
            start: (start >> 32) as u32,
            other_lines: line.wrapping_sub(place),
            place,
            turn,
            session_run,
            terms: mixed(terms_before) << 16 | u64::from(context_length),
            hash: mixed(start as u32) << 32 | u64::from(hash),
        }
    }
}

impl From<PlaceColumns> for ArchivedPlace {
    fn from(columns: PlaceColumns) -> Self {
        let PlaceColumns { start, other_lines, place, turn, session_run, terms, hash } = columns;
        let (start, low) = (u64::from(start) << 32, (hash >> 32) as u32);
        let hash = hash as u32;
        let terms_before = (terms >> 16) as u32 ^ hash;
        Self {
            start: start | u64::from(low ^ hash),
            line: place.wrapping_add(other_lines),
            position: TranscriptPosition { place, turn, session_run, terms_before },
            hash,
            context_length: terms as u16,
        }
    }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_place_comes_back_from_its_columns(
            start: u64, line: u32, place: u32, turn: u32, session_run: u32,
            terms_before: u32, hash: u32, context_length: u16,
        ) {
            let position = TranscriptPosition { place, turn, session_run, terms_before };
            let archived = ArchivedPlace { start, line, position, hash, context_length };
            prop_assert_eq!(ArchivedPlace::from(PlaceColumns::from(&archived)), archived);
        }
    }
}
