//! Text: sections of Markdown, metadata, tokens, languages, snippets, times.

mod ascii;
pub mod block_entries;
mod blocks;
pub mod citation;
pub mod code_names;
pub mod encoding;
mod folded_text;
pub mod folding;
pub mod language;
pub mod merge_markers;
pub mod metadata;
pub mod parser;
pub mod prefix_filter;
pub mod query_terms;
pub mod question;
mod run_terms;
pub mod section;
pub mod segmentation;
pub mod snippet;
pub mod snippet_terms;
mod term;
pub mod time;
pub mod tokens;
pub mod validity;
