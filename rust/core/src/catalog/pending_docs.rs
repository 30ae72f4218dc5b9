//! Pending documents of one file: read, and not yet applied to the index.

use crate::catalog::extract::Corpus;
use crate::catalog::file_reader::{DocContent, DocSink};
use crate::catalog::indexed_docs::IndexedDocs;
use crate::catalog::{Catalog, DocMeta};
use crate::index::memory_bounds::{delta_bytes, packing_bytes};
use crate::memory_limit::{ALWAYS_THERE, MemoryLimit};

/// Documents in a chunk: 2 MB. One large array might find no room among others.
const DOCS_PER_CHUNK: usize = 1 << 14;
/// Bytes of a document that is read before it replaces the indexed one, besides its postings.
const PENDING: u64 = size_of::<(DocMeta, DocContent)>() as u64;

/// Documents that are read before they replace the indexed ones.
pub(super) struct PendingDocs {
    pub docs: Vec<Vec<(DocMeta, DocContent)>>,
    count: usize,
    /// Bytes that are taken to find the documents that stay.
    indexed: u64,
    /// Documents and postings, of the index and in `docs`.
    documents: usize,
    postings: usize,
    /// Of these those that are not packed.
    delta_postings: usize,
    limit: MemoryLimit,
    corpus: Corpus,
}

impl DocSink for PendingDocs {
    fn take(&mut self, doc: DocMeta, content: DocContent) {
        if let DocContent::New(document) = &content {
            self.documents += 1;
            self.postings += document.concepts.len();
            self.delta_postings += document.concepts.len();
        }
        self.count += 1;
        match self.docs.last_mut().filter(|chunk| chunk.len() < DOCS_PER_CHUNK) {
            Some(chunk) => chunk.push((doc, content)),
            None => self.docs.push(vec![(doc, content)]),
        }
    }

    fn allows(&self, dictionaries: usize, more: u64) -> bool {
        let packing =
            packing_bytes(self.documents as u64, self.postings as u64, dictionaries as u64);
        let pending = self.count as u64 * PENDING + self.indexed;
        let delta = delta_bytes(self.delta_postings as u64, dictionaries as u64);
        self.limit.allows(self.corpus as usize, (packing + delta + pending).saturating_add(more))
    }
}

impl Catalog {
    /// Begins to read documents that are to be put in the place of others.
    pub(super) fn pending_docs(&self) -> PendingDocs {
        PendingDocs {
            docs: Vec::new(),
            count: 0,
            indexed: 0,
            documents: self.index.max_doc() as usize,
            postings: self.index.postings(),
            delta_postings: self.index.delta_postings(),
            limit: self.limit.clone(),
            corpus: self.corpus,
        }
    }

    /// Begins to compare so many documents of the index with a file; `keys` gives the hash and the
    /// number of each, from the last to the first.
    ///
    /// # Errors
    /// How many bytes that needs, where there is no memory for it.
    pub(super) fn begin_comparison<K: ExactSizeIterator<Item = (u64, u32)>>(
        &self,
        count: usize,
        keys: impl FnOnce() -> K,
    ) -> Result<(IndexedDocs, PendingDocs), u64> {
        let mut pending = self.pending_docs();
        let indexed = IndexedDocs::bytes(count);
        let needed = indexed + count as u64 * PENDING;
        let dictionaries = self.index.lexicon().bytes() + self.labels.bytes();
        if needed > ALWAYS_THERE && !pending.allows(dictionaries, needed) {
            return Err(needed);
        }
        pending.indexed = indexed;
        // the system may have less than the limit
        Ok((IndexedDocs::from_last(keys()).ok_or(needed)?, pending))
    }
}
