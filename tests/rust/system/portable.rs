//! Stand-in for systems other than Linux: none of the optional calls is there.

pub fn has_watch() -> bool {
    false
}

pub fn has_openat2() -> bool {
    false
}

pub fn has_exchange() -> bool {
    false
}

pub fn has_rename_new() -> bool {
    false
}

/// Fails: only on Linux has a thread a user of its own.
pub fn become_nobody() {
    panic!("run this as a user other than root");
}
