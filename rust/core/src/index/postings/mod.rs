//! Posting lists: their encoding, reading, term-frequency profiles and validation.

pub mod codec;
pub(super) mod impacts;
pub mod reader;
pub mod tf_profiles;
pub(super) mod validation;
