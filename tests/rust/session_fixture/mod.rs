//! Fixture of imports of sessions: a root, sources outside of it, and lines of Claude Code.

#![allow(dead_code, missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};

use commonplace_core::error::Result;
use commonplace_core::store::Store;
use commonplace_core::store::import::{ImportFrom, ImportOptions, ImportReport};
use serde_json::{Value, json};

use crate::fixture::TestRoot;

/// A root, and a folder of sessions outside of it.
pub struct Sessions {
    // closed before its folder is removed
    pub store: Store,
    pub memory: TestRoot,
}

impl Sessions {
    pub fn new() -> Self {
        let memory = TestRoot::new();
        let store = memory.open(false);
        fs::create_dir(memory.outside().join("source")).unwrap();
        Self { memory, store }
    }

    pub fn source(&self, name: &str) -> PathBuf {
        self.memory.outside().join("source").join(name)
    }

    pub fn put(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.source(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub fn try_import(&self) -> Result<ImportReport> {
        let places = [ImportFrom::Path(self.memory.outside().join("source"))];
        self.store.import_sessions(
            &places,
            ImportOptions::default(),
            &|_| None,
            &mut |_, _| {},
            &|| false,
        )
    }

    pub fn import(&self) -> ImportReport {
        self.try_import().unwrap()
    }

    pub fn paths(&self) -> Vec<String> {
        let walk = self.store.root().walk("", &|| false).unwrap();
        let mut paths: Vec<String> = walk.files.into_iter().map(|file| file.0).collect();
        paths.sort();
        paths
    }

    pub fn lines(&self, path: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.memory.at(path)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The texts of all messages in all transcripts, sorted.
    pub fn texts(&self) -> Vec<String> {
        let mut texts = Vec::new();
        for path in self.paths() {
            for line in self.lines(&path).iter().filter(|line| line["role"].is_string()) {
                texts.push(line["content"].as_str().unwrap().to_owned());
            }
        }
        texts.sort();
        texts
    }

    pub fn forget(&self, file: &str) {
        // it is not made again where nothing has changed
        let _ = fs::remove_file(self.memory.root().join(".commonplace/imports").join(file));
    }
}

/// The UUID of the message with a text, as hosts give it one.
pub fn uuid(text: &str) -> String {
    let number = text.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31) + u64::from(byte));
    format!("0198c1d2-7aaa-7bbb-8ccc-{:012x}", number & 0xFFFF_FFFF_FFFF)
}

/// A line of Claude Code.
pub fn claude(session: &str, n: usize, text: &str) -> String {
    let line = json!({
        "type": "user", "uuid": uuid(text), "sessionId": session, "cwd": "/home/me/tea",
        "gitBranch": "main", "timestamp": format!("2026-01-22T05:17:{n:02}Z"),
        "message": { "role": "user", "content": text },
    });
    format!("{line}\n")
}

pub fn claude_lines(session: &str, texts: &[&str]) -> String {
    texts.iter().enumerate().map(|(n, text)| claude(session, n, text)).collect()
}

pub fn append(path: &Path, text: &str) {
    use std::io::Write as _;
    fs::OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

pub fn counts(report: &ImportReport) -> [u64; 4] {
    ["new", "grown", "unchanged", "skipped"].map(|outcome| report.count(outcome))
}
