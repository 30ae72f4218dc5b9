//! Pending documents of one file: read, and not yet applied to the index.

use crate::catalog::extract::Corpus;
use crate::catalog::file_reader::{DocContent, DocSink};
use crate::catalog::{Catalog, DocMeta};
use crate::index::memory_bounds::{delta_bytes, packing_bytes};
use crate::memory_limit::MemoryLimit;

/// Documents that are read before they replace the indexed ones.
pub(super) struct PendingDocs {
    pub docs: Vec<(DocMeta, DocContent)>,
    /// Documents and postings, of the index and in `docs`.
    documents: usize,
    postings: usize,
    /// Of these those that are not packed.
    loose: usize,
    limit: MemoryLimit,
    corpus: Corpus,
}

impl DocSink for PendingDocs {
    fn take(&mut self, doc: DocMeta, content: DocContent) {
        if let DocContent::New(document) = &content {
            self.documents += 1;
            self.postings += document.concepts.len();
            self.loose += document.concepts.len();
        }
        self.docs.push((doc, content));
    }

    fn allows(&self, dictionaries: usize, more: u64) -> bool {
        let packing =
            packing_bytes(self.documents as u64, self.postings as u64, dictionaries as u64);
        let pending = self.docs.len() * size_of::<(DocMeta, DocContent)>();
        let loose = delta_bytes(self.loose as u64, dictionaries as u64);
        self.limit
            .allows(self.corpus as usize, (packing + loose + pending as u64).saturating_add(more))
    }
}

impl Catalog {
    /// Begins to read documents that are to be put in the place of others.
    pub(super) fn pending_docs(&self, room: usize) -> PendingDocs {
        PendingDocs {
            docs: Vec::with_capacity(room),
            documents: self.index.max_doc() as usize,
            postings: self.index.postings(),
            loose: self.index.delta_postings(),
            limit: self.limit.clone(),
            corpus: self.corpus,
        }
    }
}
