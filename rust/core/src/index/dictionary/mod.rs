//! The term dictionary: words, their concepts and variants, and query expansion over them.

pub mod document_analysis;
pub mod expansion;
pub mod interner;
pub mod lexicon;
mod token_cache;
pub mod word_counts;
