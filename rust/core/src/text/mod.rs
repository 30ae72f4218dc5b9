//! What a text says: its sections, its marks, its words, its times.

mod blocks;
pub mod chunks;
pub mod marks;
pub mod outline;
pub mod sections;
pub mod snippet;
pub mod sought;
pub mod starts;
pub mod stems;
pub mod time;
pub mod tokens;
