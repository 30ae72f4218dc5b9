//! What a text says: its sections, its marks, its words, its times.

mod blocks;
pub mod metadata;
pub mod parser;
pub mod prefix_filter;
pub mod query_terms;
pub mod section;
pub mod segmentation;
pub mod snippet;
pub mod stems;
pub mod time;
pub mod tokens;
