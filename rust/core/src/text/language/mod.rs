//! Languages: stop words and stems.

pub mod stems;
