//! The engine of `commonplace`: plain Markdown and `messages.jsonl` in, ranked sections out.
//!
//! It knows no Python. Every file is reached through [`root::Root`], every
//! failure is an [`error::Error`].

pub mod append;
pub mod error;
pub mod files;
mod history;
pub mod lock;
pub mod names;
mod open;
pub mod patch;
pub mod recover;
mod replace;
pub mod root;
pub mod rules;
pub mod version;
pub mod walk;
