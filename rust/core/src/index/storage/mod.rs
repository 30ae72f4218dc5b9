//! Storage of the index: packed arrays, pages of a snapshot file, and partial indexes.

pub mod lazy_array;
pub mod packed_index;
pub(super) mod packing;
pub mod paged_array;
pub mod partial_index;
