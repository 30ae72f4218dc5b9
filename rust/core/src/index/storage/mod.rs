//! Storage of the index: packed arrays, pages of a snapshot, and partial indexes that are merged.

pub mod packed_index;
pub mod paged_array;
pub mod partial_index;
