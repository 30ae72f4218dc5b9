//! Search after random edits of the files, compared with a full scan of the disk.

#![allow(missing_docs)]

mod fixture;
mod system;

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

use commonplace_core::files::Expected;
use commonplace_core::files::racy_stat::FsClock;
use commonplace_core::store::{Freshness, Store, StoreOptions};
use fixture::{TestRoot, ask, overwrite, set_modified};
use proptest::prelude::*;
use system::has_watch;

/// Returns what a search must find: every regular file below the folder, and its text.
fn scan(folder: &Path, prefix: &str, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with('.') {
            continue;
        }
        let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            scan(&entry.path(), &path, found);
        } else if kind.is_file() {
            found.push((path, fs::read_to_string(entry.path()).unwrap()));
        }
    }
}

const WORDS: [&str; 12] = [
    "zq01", "zq02", "zq03", "zq04", "zq05", "zq06", "zq07", "zq08", "zq09", "zq10", "zq11", "zq12",
];
const FOLDERS: [&str; 5] = ["", "a/", "a/b/", "c/", "c/d/e/"];
const NAMES: [&str; 5] = ["x.md", "y.md", "z.markdown", "m.jsonl", "n.jsonl"];

/// Edits the files without the store; some edits have no effect.
fn edit(memory: &TestRoot, store: &Store, (edit, which, word): (u8, u8, u8), lie: bool) {
    let (which, word) = (usize::from(which), usize::from(word));
    let name = format!("{}{}", FOLDERS[which % 5], NAMES[which / 5 % 5]);
    let other = format!("{}{}", FOLDERS[word % 5], NAMES[which / 5 % 5]);
    let path = memory.at(&name);
    let word = WORDS[word % 12];
    let line = match name.ends_with("jsonl") {
        true => format!("{{\"role\":\"user\",\"content\":\"says {word}\"}}\n"),
        false => format!("# Heading\n\nsays {word}\n"),
    };
    let stamps = fs::metadata(&path).and_then(|m| m.modified());
    match edit % 16 {
        0..3 => memory.put(&name, line),
        3..5 => {
            if let Ok(mut file) = OpenOptions::new().append(true).open(&path) {
                file.write_all(line.as_bytes()).unwrap();
            }
        }
        5..7 => {
            // the same size, and sometimes the same time
            if let Ok(text) = fs::read_to_string(&path)
                && let Some(at) = text.find("zq")
            {
                overwrite(&path, at as u64, word.as_bytes());
                if lie && edit % 2 == 1 {
                    set_modified(&path, stamps.unwrap());
                }
            }
        }
        7 => {
            let temp = memory.outside().join("temp");
            fs::write(&temp, line).unwrap();
            if which % 2 == 1 && lie {
                set_modified(&temp, SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000));
            }
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::rename(&temp, &path).unwrap();
        }
        8 => drop(fs::remove_file(&path)),
        9 => drop(fs::rename(&path, memory.at(&other))),
        10 => drop(fs::rename(memory.at("a"), memory.at("c/moved"))),
        11 => drop(fs::rename(memory.at("c/moved"), memory.at("a"))),
        12 => drop(fs::remove_dir_all(memory.at(["a/b", "c"][which % 2]))),
        13 => {
            if let Ok(file) = OpenOptions::new().write(true).open(&path) {
                let size = file.metadata().unwrap().len();
                file.set_len(size * 2 / 3).unwrap();
            }
        }
        14 => drop(fs::rename(&path, memory.at(".kept")).and_then(|()| {
            fs::create_dir_all(memory.at("c"))?;
            fs::rename(memory.at(".kept"), memory.at("c").join(NAMES[which / 5 % 5]))
        })),
        _ => {
            // a write through the store itself
            let _ = store.files().write(&name, line.as_bytes(), Expected::Any);
        }
    }
}

fn is_json(line: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(line).is_ok()
}

/// Compares the answers for every word with what is on disk.
fn agrees(memory: &TestRoot, store: &Store, words: &[&str]) -> Result<(), TestCaseError> {
    let mut files = Vec::new();
    scan(&memory.root(), "", &mut files);
    for word in words {
        // a torn line is no message, nor is what was written behind it
        let holds = |(path, text): &&(String, String)| match path.ends_with("jsonl") {
            true => text.lines().any(|l| l.contains(word) && is_json(l)),
            false => text.contains(word),
        };
        let on_disk: BTreeSet<String> = files.iter().filter(holds).map(|f| f.0.clone()).collect();
        let answer = ask(store, word);
        prop_assert_eq!(answer.freshness, Freshness::Fresh, "{:?}", answer.notes);
        let found: BTreeSet<String> = answer.hits.iter().map(|hit| hit.path.clone()).collect();
        prop_assert_eq!(found, on_disk, "{}", word);
        for hit in answer.hits {
            let bytes = fs::read(memory.at(&hit.path)).unwrap();
            let span = &bytes[hit.start as usize..hit.end as usize];
            prop_assert!(
                String::from_utf8_lossy(span).contains(hit.text.trim()),
                "{}",
                hit.passage().citation
            );
            let line =
                bytes[..hit.start as usize].iter().filter(|&&b| b == b'\n').count() as u64 + 1;
            prop_assert!((line..=hit.end_line).contains(&hit.passage().line));
        }
    }
    Ok(())
}

/// Coarse clocks as file systems have them; and the clock of this one, if it is fine.
fn clocks() -> Vec<FsClock> {
    let mut clocks = Vec::new();
    for tick_ns in [1, 4_000_000, 1_000_000_000, 2_000_000_000] {
        for no_ctime in [true, false] {
            clocks.push(FsClock { tick_ns, no_ctime, ..FsClock::default() });
        }
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    let stamp = || {
        file.as_file().write_all(b"x").unwrap();
        file.as_file().metadata().unwrap().modified().unwrap()
    };
    let stamps: BTreeSet<SystemTime> = (0..200).map(|_| stamp()).collect();
    if stamps.len() == 200 {
        clocks.push(FsClock { racy_ns: 0, ..FsClock::default() });
        clocks.push(FsClock { racy_ns: 0, ..FsClock::default() });
    }
    clocks
}

fn edits() -> impl Strategy<Value = Vec<(u8, u8, u8)>> {
    prop::collection::vec(any::<(u8, u8, u8)>(), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(80)
    })]

    #[test]
    fn after_random_edits_a_search_finds_what_is_on_disk(
        edits in edits(),
        watch in any::<bool>(),
        clock in prop::sample::select(clocks()),
        reopen in 1usize..60,
    ) {
        let memory = TestRoot::new();
        let options = StoreOptions { watch, clock, ..StoreOptions::default() };
        let mut store = memory.open_with(options.clone());
        // a false modification time shows only in the change time, or by a watch
        let lie = watch && has_watch() || !clock.no_ctime;
        for (at, random_edit) in edits.into_iter().enumerate() {
            edit(&memory, &store, random_edit, lie);
            let asked = usize::from(random_edit.1);
            let some = [WORDS[usize::from(random_edit.2) % 12], WORDS[asked % 12], WORDS[asked / 12 % 12]];
            agrees(&memory, &store, &some[..asked % 4])?;
            if at == reopen {
                drop(store);
                // an edit while the store is closed must be visible in the stamps
                edit(&memory, &memory.open_with(options.clone()), random_edit, lie && !clock.no_ctime);
                store = memory.open_with(options.clone());
            }
        }
        agrees(&memory, &store, &WORDS)?;
        let differences = store.verify(&|| false).unwrap().differences;
        prop_assert!(differences.is_empty(), "{:?}", differences);
    }
}
