//! Test helper: `Files` over a temporary root without an index, and listings of a folder.

#![allow(dead_code, missing_docs)]

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use commonplace_core::files::Files;
use commonplace_core::files::root::Root;
use commonplace_core::files::write_rules::WriteRules;

pub fn open(dir: &Path) -> Files {
    Files::new(Root::open(dir, false).unwrap(), WriteRules::default())
}

/// Every file below, hidden ones included.
pub fn all_files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(all_files(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

pub fn contents(dir: &Path) -> HashSet<Vec<u8>> {
    all_files(dir).into_iter().map(|path| fs::read(path).unwrap()).collect()
}

pub fn leftovers(dir: &Path) -> usize {
    all_files(dir).iter().filter(|path| path.extension().is_some_and(|e| e == "swap")).count()
}
