//! Documents, names and statistics for an engine outside of this process, and the ranking of what it
//! returns.
//!
//! An engine stores documents and finds candidates. It cuts no text into terms, and its own scores
//! only choose the candidates:
//!
//! ```text
//! extraction    the documents of a file, each with its terms (document)
//! query_names   the names that a query asks for, and the weight of each
//! candidates    the exact ranking of candidates, by the code that ranks the index of a store
//! archive_rows  a message as a row of the archive
//! archived_documents  the messages of rows, read back from their files (transcript_lines), in the
//!               order of context_order
//! archived_check  the messages of files compared with their rows
//! ```

pub mod archive_rows;
pub mod archived_check;
pub mod archived_documents;
pub mod archived_place;
pub mod asked_words;
pub mod candidates;
pub mod context_order;
pub mod document;
pub mod extraction;
pub mod query_names;
mod record;
mod transcript_lines;
