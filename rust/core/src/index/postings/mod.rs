//! Posting lists: encoding, reading, decoding, term-frequency profiles, impacts and validation.

pub mod codec;
pub mod decoding;
pub(super) mod impacts;
pub mod reader;
pub mod tf_profiles;
pub(super) mod validation;
