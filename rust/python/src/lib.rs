//! Python bindings of `commonplace-core`: convert, release the GIL, map errors. They hold no logic.

mod allocator;
mod archive;
mod descriptor;
mod detached;
mod engine;
mod engine_query;
mod explanation;
mod filter;
mod forget;
mod from_python;
mod grep;
mod hamming;
mod hit;
mod import;
mod markdown;
mod redaction;
mod results;
mod sessions;
mod store;
mod write_results;

use allocator::SplitAllocator;
use pyo3::prelude::*;

#[global_allocator]
static ALLOCATOR: SplitAllocator = SplitAllocator;

/// The native module.
#[pymodule(gil_used = false)]
mod _core {
    use super::{Bound, PyModule, PyModuleMethods, PyResult, SplitAllocator};

    #[pymodule_export]
    use super::archive::{
        ArchiveRows, ArchivedFiles, archive_label, archive_row_names, by_context, language_names,
        memory_left,
    };
    #[pymodule_export]
    use super::engine::{CollectionStats, EngineDocument, document_hits, engine_documents};
    #[pymodule_export]
    use super::engine_query::{QueryNames, best_first, rank_candidates};
    #[pymodule_export]
    use super::explanation::{Explanation, WordScore};
    #[pymodule_export]
    use super::filter::SearchFilter;
    #[pymodule_export]
    use super::forget::{Forgotten, Passage, Retained};
    #[pymodule_export]
    use super::from_python::Weights;
    #[pymodule_export]
    use super::grep::{Grep, Match};
    #[pymodule_export]
    use super::hamming::nearest_codes;
    #[pymodule_export]
    use super::hit::{Hit, Hits};
    #[pymodule_export]
    use super::markdown::{
        FrontMatter, MarkdownBlock, MetaComment, blocks, front_matter, meta_comment, sections,
    };
    #[pymodule_export]
    use super::redaction::redact;
    #[pymodule_export]
    use super::results::{Entry, FileChanges, Message, Section, Status, Verified};
    #[pymodule_export]
    use super::sessions::Session;
    #[pymodule_export]
    use super::store::Store;
    #[pymodule_export]
    use super::write_results::{
        ImportReport, Imported, ImportedSource, Revision, SessionHeader, Written,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        SplitAllocator::follow_forks();
        module.add("ENDED", commonplace_core::store::hit::ENDED)?;
        module.add("NO_MESSAGE", commonplace_core::store::import::NO_MESSAGE)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
