//! Core of `commonplace`: index, ranked search, grep and safe writes over Markdown and JSON Lines.
//!
//! It knows no Python. Every file is reached through [`files::root::Root`], every failure is an
//! [`error::Error`]. Each module uses only those above it in this list.

pub mod error;
pub mod hamming;
pub mod memory_limit;
pub(crate) mod parallel;
pub(crate) mod simd;
pub(crate) mod sync;
pub mod text;

pub mod files;
pub mod filter;
pub mod messages;

pub mod grep;
pub mod index;

pub mod catalog;
pub mod search;
pub mod store;
