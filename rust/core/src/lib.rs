//! The engine of `commonplace`: plain Markdown and `messages.jsonl` in, ranked sections out.
//!
//! It knows no Python. Every file is reached through [`root::Root`], every
//! failure is an [`error::Error`].

pub mod error;
pub mod formats;
pub mod grep;
pub mod json;
pub mod message;
