//! Test helper: which optional system calls (openat2, inotify, leases) this system has.

#![allow(dead_code, missing_docs, unused_imports)]

#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "portable.rs")]
mod calls;

pub use calls::{become_nobody, has_exchange, has_openat2, has_rename_new, has_watch};
