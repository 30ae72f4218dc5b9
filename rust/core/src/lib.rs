//! The engine of `commonplace`: plain Markdown and `messages.jsonl` in, ranked sections out.
//!
//! It knows no Python. Every file is reached through [`root::Root`], every failure is an
//! [`error::Error`].

pub mod append;
pub mod bm25f;
mod bulk;
mod cache;
pub mod catalog;
pub mod draft;
pub mod error;
pub mod files;
mod follow;
pub mod formats;
pub mod grep;
mod history;
pub mod hits;
mod import;
pub mod index;
pub mod json;
pub mod lock;
pub mod marks;
pub mod message;
pub mod names;
mod open;
pub mod patch;
pub mod query;
pub mod ranking;
mod reading;
pub mod recover;
mod replace;
pub mod root;
pub mod rules;
pub mod search;
pub mod sections;
pub mod snapshot;
pub mod snippet;
pub mod stamps;
pub mod store;
pub mod tokens;
pub mod transcript;
pub mod upkeep;
pub mod version;
pub mod walk;
pub mod watch;
