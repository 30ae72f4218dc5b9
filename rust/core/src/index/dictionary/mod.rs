//! The term dictionary: tokens to concepts and spellings, and query expansion over them.

pub mod expansion;
pub mod interner;
pub mod lexicon;
mod token_cache;
