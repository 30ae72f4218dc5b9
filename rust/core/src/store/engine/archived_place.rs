//! Places of archived documents, and what is read around them.

use crate::catalog::TranscriptPosition;
use crate::index::bm25f::Field;
use crate::store::engine::document::EngineDocument;

/// Bits of the number of a file that are mixed with the hash.
const FILE_BITS: u32 = 24;

/// Where an archived document is, as its row says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArchivedPlace {
    /// First byte, below 2^48.
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

/// The numbers of a file and a place as columns of the archive keep them: of few columns, since to
/// open one takes as long as to read many rows of it.
///
/// tantivy opens a column at once where it has no blocks: if there is one value only, as where no file
/// is of 4 GB or has 65,536 terms, or if the values are random. So what differs from row to row is
/// mixed with the hash.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlaceColumns {
    /// The upper 16 bits of the first byte, of the terms and messages before it, and of its turn.
    pub upper: u64,
    /// Its line, less the messages before it.
    pub other_lines: u32,
    /// Its run of a session, and the number of its file without the lower 24 bits.
    pub run: u64,
    /// The lower 16 bits of the terms and messages before it and of its turn, and the length of its
    /// context.
    pub lower: u64,
    /// The lower 24 bits of the number of its file.
    pub file: u32,
    /// The lower 32 bits of the first byte, and the hash.
    pub hash: u64,
}

impl PlaceColumns {
    /// Returns the columns of a place in the file with this number.
    #[must_use]
    pub fn new(file: u64, archived: &ArchivedPlace) -> Self {
        let &ArchivedPlace { start, line, position, hash, context_length } = archived;
        let TranscriptPosition { place, turn, session_run, terms_before } = position;
        let lower = |number: u32| (number ^ hash) as u16;
        let upper = |number: u32| (number >> 16) as u16;
        Self {
            upper: joined([(start >> 32) as u16, upper(terms_before), upper(place), upper(turn)]),
            other_lines: line.wrapping_sub(place),
            run: file >> FILE_BITS << 32 | u64::from(session_run),
            lower: joined([lower(terms_before), lower(place), lower(turn), context_length]),
            file: (file as u32 ^ hash) & ((1 << FILE_BITS) - 1),
            hash: u64::from(start as u32 ^ hash) << 32 | u64::from(hash),
        }
    }

    /// Returns the number of the file, and the place there.
    #[must_use]
    pub fn file_and_place(self) -> (u64, ArchivedPlace) {
        let hash = self.hash as u32;
        let low_start = (self.hash >> 32) as u32 ^ hash;
        let file = (self.file ^ hash) & ((1 << FILE_BITS) - 1);
        let ([high_start, upper @ ..], [lower @ .., context_length]) =
            (split(self.upper), split(self.lower));
        let whole = |at: usize| u32::from(upper[at]) << 16 | u32::from(lower[at] ^ hash as u16);
        let [terms_before, place, turn] = [0, 1, 2].map(whole);
        let position =
            TranscriptPosition { place, turn, session_run: self.run as u32, terms_before };
        let archived = ArchivedPlace {
            start: u64::from(high_start) << 32 | u64::from(low_start),
            line: place.wrapping_add(self.other_lines),
            position,
            hash,
            context_length,
        };
        (self.run >> 32 << FILE_BITS | u64::from(file), archived)
    }
}

/// Returns four numbers as one, the first one above the others.
fn joined(numbers: [u16; 4]) -> u64 {
    numbers.into_iter().fold(0, |joined, number| joined << 16 | u64::from(number))
}

fn split(joined: u64) -> [u16; 4] {
    [48, 32, 16, 0].map(|bits| (joined >> bits) as u16)
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
            file in 0u64..1 << 48, start in 0u64..1 << 48, line: u32, place: u32, turn: u32,
            session_run: u32, terms_before: u32, hash: u32, context_length: u16,
        ) {
            let position = TranscriptPosition { place, turn, session_run, terms_before };
            let archived = ArchivedPlace { start, line, position, hash, context_length };
            let columns = PlaceColumns::new(file, &archived);
            prop_assert_eq!(columns.file_and_place(), (file, archived));
        }
    }
}
