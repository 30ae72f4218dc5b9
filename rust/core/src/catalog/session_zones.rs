//! Zone map of sessions: the least and the greatest session label in each block of documents.
//!
//! Labels are numbered as they come, and so are documents: a session is in few blocks, and a block
//! has few sessions. A search in one session passes over all others. A document that moves in its
//! file keeps its session, as that is part of the key by which it is known.

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
    /// Takes the sessions of the documents of a table, in order of number.
    pub(super) fn of(sessions: impl Iterator<Item = u32>) -> Self {
        let mut zones = Self::default();
        (0..).zip(sessions).for_each(|(document, session)| zones.add(document, session));
        zones
    }

    /// Adds a document.
    pub(super) fn add(&mut self, document: usize, session: u32) {
        let block = document / ZONE_DOCS;
        if self.zones.len() <= block {
            self.zones.resize(block + 1, (u32::MAX, NO_SESSION));
        }
        if session != NO_SESSION {
            let (least, greatest) = &mut self.zones[block];
            *least = session.min(*least);
            *greatest = session.max(*greatest);
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
