//! Zone map of sessions: the least and the greatest session label in each block of documents.
//!
//! Labels are numbered as they come, and so are documents: a session is in few blocks, and a block
//! has few sessions. A search in one session passes over all others. A document that moves in its
//! file keeps its session, as that is part of the key by which it is known.

use crate::catalog::DocMeta;

/// Documents of a block.
pub const ZONE_DOCS: usize = 128;

/// The label of what has no session.
const NO_SESSION: u32 = 0;

/// The least and the greatest label of each block.
#[derive(Debug, Default)]
pub(super) struct SessionZones {
    zones: Vec<(u32, u32)>,
}

impl SessionZones {
    /// Takes the documents of a table, in order of number.
    pub(super) fn of<'a>(docs: impl Iterator<Item = &'a DocMeta>) -> Self {
        let mut zones = Self::default();
        (0..).zip(docs).for_each(|(document, doc)| zones.add(document, doc));
        zones
    }

    /// Adds a document.
    pub(super) fn add(&mut self, document: usize, doc: &DocMeta) {
        let block = document / ZONE_DOCS;
        if self.zones.len() <= block {
            self.zones.resize(block + 1, (u32::MAX, NO_SESSION));
        }
        if doc.session != NO_SESSION {
            let (least, greatest) = &mut self.zones[block];
            *least = doc.session.min(*least);
            *greatest = doc.session.max(*greatest);
        }
    }

    /// Returns the blocks that may hold messages of a session.
    pub(super) fn blocks(&self, session: u32) -> impl Iterator<Item = usize> + '_ {
        let zones = self.zones.iter().enumerate();
        zones
            .filter(move |(_, (least, greatest))| (*least..=*greatest).contains(&session))
            .map(|(block, _)| block)
    }

    pub(super) fn bytes(&self) -> usize {
        self.zones.capacity() * size_of::<(u32, u32)>()
    }
}
