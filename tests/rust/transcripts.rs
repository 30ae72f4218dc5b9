//! Messages in every shape we read.
