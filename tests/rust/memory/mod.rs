//! A scratch memory for tests: files written behind its back, and what a search says of them.

#![allow(dead_code, missing_docs)]

use std::collections::BTreeSet;
use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use commonplace_core::store::hit::{Hits, Request};
use commonplace_core::store::{Options, Store};
use rustix::fs::inotify::{self, CreateFlags};

pub struct Memory {
    scratch: tempfile::TempDir,
}

impl Memory {
    pub fn new() -> Self {
        Self::new_in(std::env::temp_dir())
    }

    pub fn new_in(folder: impl AsRef<Path>) -> Self {
        let memory = Self { scratch: tempfile::tempdir_in(folder).unwrap() };
        fs::create_dir(memory.root()).unwrap();
        memory
    }

    /// The folder around the root, for what is to be outside.
    pub fn outside(&self) -> &Path {
        self.scratch.path()
    }

    pub fn root(&self) -> PathBuf {
        self.scratch.path().join("root")
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// Writes a file in place, as an editor would, and makes its folders.
    pub fn put(&self, path: &str, text: impl AsRef<[u8]>) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    pub fn open(&self, watch: bool) -> Store {
        self.open_with(Options { watch, ..Options::default() })
    }

    pub fn open_with(&self, options: Options) -> Store {
        let store = Store::open(self.root().to_str().unwrap(), options).unwrap();
        drop(store.fresh(&|| false).unwrap());
        store
    }
}

pub fn ask(store: &Store, query: &str) -> Hits {
    let request = Request { query: query.to_owned(), limit: 1000, ..Request::default() };
    store.search(&request, &|| false).unwrap()
}

/// The files in which a word is found.
pub fn files_with(store: &Store, word: &str) -> BTreeSet<String> {
    ask(store, word).hits.into_iter().map(|hit| hit.path).collect()
}

/// For each query the hits: citation, score and span.
pub type Answers = Vec<Vec<(String, String, u64, u64)>>;

/// Everything that two stores of one text must agree on.
pub fn answers(store: &Store, queries: &[&str]) -> Answers {
    let hit = |hit: commonplace_core::store::hit::Hit| {
        (hit.passage().citation.clone(), format!("{:.4}", hit.score), hit.start, hit.end)
    };
    queries.iter().map(|query| ask(store, query).hits.into_iter().map(hit).collect()).collect()
}

/// A small memory with a bit of everything.
pub fn sample(memory: &Memory) {
    memory.put(
        "facts/user.md",
        "---\ntitle: User\ntags: [person, tea]\n---\n# User\n\n> Summary: who it is\n\n- Name: Zhang San\n- Likes: oolong tea\n",
    );
    memory.put("detail/auth.md", "# Auth\n\nWe use JWT with rotation.\n\n## Why\n\nStateless servers.\n\n```rust\nfn rotate_token() {}\n```\n");
    memory.put("zh/笔记.md", "# 日志\n\n管道导致标准输出泄漏，改用自定义传输。\n");
    let lines: String = (0..40)
        .map(|n| format!("{{\"role\":\"{}\",\"content\":\"message number{n} about {}\",\"session\":\"s{}\"}}\n", ["user", "assistant"][n % 2], ["pipelines", "tokens", "tea"][n % 3], n / 10))
        .collect();
    memory.put("sessions/s1/messages.jsonl", lines);
}

/// Queries that touch every part of [`sample`].
pub const QUERIES: [&str; 9] = [
    "tea",
    "rotation token",
    "标准输出",
    "number7",
    "pipelines",
    "who it is",
    "heading:auth",
    "rotat*",
    "statelss~1",
];

pub fn set_modified(path: &Path, to: SystemTime) {
    let file = File::open(path).unwrap();
    file.set_times(FileTimes::new().set_modified(to)).unwrap();
}

pub fn overwrite(path: &Path, offset: u64, bytes: &[u8]) {
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(offset)).unwrap();
    file.write_all(bytes).unwrap();
}

/// Whether the system has a watch to give; where not (`tests/refuse.py`), stamps are compared.
pub fn has_watch() -> bool {
    inotify::init(CreateFlags::CLOEXEC).is_ok()
}

/// Runs a story with the system's reports and without.
pub fn both_ways(story: impl Fn(&Memory, &Store)) {
    for watch in [true, false] {
        let memory = Memory::new();
        memory.put("facts/user.md", "# User\nolder words\n");
        memory.put("deep/a/b/c.md", "# Deep\nsubmarine\n");
        memory.put("log.jsonl", "{\"role\":\"user\",\"content\":\"hello\"}\n");
        let store = memory.open(watch);
        assert_eq!(store.is_watching(), watch && has_watch());
        assert_eq!(files_with(&store, "older").len(), 1);
        story(&memory, &store);
    }
}

pub fn paths(store: &Store, word: &str) -> Vec<String> {
    files_with(store, word).into_iter().collect()
}
