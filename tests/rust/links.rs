//! Race tests of hard links: a file outside the root that is linked into it for a moment is neither
//! read nor written.
//!
//! The second name is gone again when the open file is looked at, so that its link count says
//! nothing. Each test lets one thread change names as fast as it can while another uses them.
//!
//! Links and exchanges are made by calls of Unix.

#![cfg(unix)]
#![allow(missing_docs, clippy::print_stdout)]

mod fixture;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use commonplace_core::files::Expected;
use commonplace_core::filter::SearchFilter;
use commonplace_core::grep;
use commonplace_core::store::grep::GrepFiles;
use commonplace_core::store::search::SearchRequest;
use commonplace_core::store::{Store, StoreOptions};
use fixture::TestRoot;
use rustix::fs::{CWD, RenameFlags, renameat_with};

const SECRET: &str = "# Canary\n\n{\"role\":\"user\",\"content\":\"canary\"}\n";
const OURS: &str = "# Ours\n\n{\"role\":\"user\",\"content\":\"robin\"}\n";
/// The two files that change, one of them in a folder that changes as well.
const NAMES: [&str; 2] = ["x.jsonl", "sub/x.md"];

/// For how long each use is tried.
fn time() -> Duration {
    let seconds = std::env::var("LINK_RACE_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs_f64(seconds.unwrap_or(0.5))
}

struct Race {
    memory: TestRoot,
    secret: PathBuf,
    store: Store,
}

impl Race {
    fn new() -> Self {
        // in memory, where there is such a place: it is fast enough for many rounds
        let fast = Some(PathBuf::from("/dev/shm")).filter(|place| place.is_dir());
        let asked = std::env::var_os("TMPDIR").map(PathBuf::from);
        let memory = TestRoot::new_in(asked.or(fast).unwrap_or_else(std::env::temp_dir));
        let secret = memory.outside().join("secret");
        fs::write(&secret, SECRET).unwrap();
        NAMES.iter().for_each(|name| memory.put(name, OURS));
        fs::create_dir(memory.at("other")).unwrap();
        let root = memory.root();
        let store = Store::open(root.to_str().unwrap(), StoreOptions::default()).unwrap();
        Self { memory, secret, store }
    }

    /// Gives the secret a name in the memory and takes it away again, in each of the ways there
    /// are.
    fn swap(&self, round: usize) {
        let at = |name: &str| self.memory.at(name);
        let link = |name: &str| drop(fs::hard_link(&self.secret, at(name)));
        let remove = |name: &str| drop(fs::remove_file(at(name)));
        let exchange = |one: &Path, other: &Path| {
            let _ = renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE);
        };
        let name = NAMES[round / 64 % 2];
        match round % 64 {
            0..24 => {
                link(name);
                remove(name);
            }
            24..44 => {
                link(".new");
                drop(fs::rename(at(".new"), at(name)));
                self.replace(name);
            }
            44..60 => {
                link(".new");
                exchange(&at(".new"), &at(name));
                exchange(&at(".new"), &at(name));
                remove(".new");
            }
            _ => {
                link("other/x.md");
                exchange(&at("other"), &at("sub"));
                remove("sub/x.md");
                exchange(&at("other"), &at("sub"));
            }
        }
    }

    /// Saves a text of ours as an editor does.
    fn replace(&self, name: &str) {
        let new = self.memory.at(".plain");
        drop(fs::write(&new, OURS));
        drop(fs::rename(new, self.memory.at(name)));
    }

    /// Calls `look` while names change; returns how often the secret showed.
    ///
    /// `look` says whether it showed, and nothing when the file could not be had.
    fn run(&self, look: impl Fn(usize) -> Option<bool>) -> usize {
        let (mut tries, mut had, mut shown) = (0, 0, 0);
        self.beside(
            |round| self.swap(round),
            || {
                let looked = look(tries);
                tries += 1;
                had += usize::from(looked.is_some());
                shown += usize::from(looked == Some(true));
                had > 0
            },
        );
        println!("{shown} of {tries}, {had} answered");
        assert!(had > 0);
        shown
    }

    /// Calls `other` again and again in a thread, and `look` until the time is over; a little
    /// longer, where it has not seen enough.
    fn beside(&self, other: impl Fn(usize) + Sync, mut look: impl FnMut() -> bool) {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0.. {
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                    other(round);
                }
            });
            // also when what is looked at is not as it should be
            let _over = Over(&over);
            let begun = Instant::now();
            let mut enough = false;
            while begun.elapsed() < time() || !enough && begun.elapsed() < 20 * time() {
                enough = look();
            }
        });
    }
}

struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn tells(bytes: &[u8]) -> bool {
    bytes.to_ascii_lowercase().windows(6).any(|six| six == b"canary")
}

fn never() -> bool {
    false
}

#[test]
fn a_read_reveals_nothing_of_it() {
    let race = Race::new();
    for name in NAMES {
        let shown =
            race.run(|_| race.store.files().read(name).ok().map(|(bytes, _)| tells(&bytes)));
        assert_eq!(shown, 0);
    }
}

#[test]
fn a_grep_reveals_nothing_of_it() {
    let race = Race::new();
    let shown = race.run(|_| {
        let filter =
            SearchFilter { prefixes: NAMES.map(str::to_owned).into(), ..Default::default() };
        let options =
            grep::GrepOptions { pattern: "canary|robin".into(), filter, ..Default::default() };
        let mut across = GrepFiles::new(&race.store, options, &never).ok()?;
        let mut shown = None;
        while let Some((_, found)) = across.next_batch(&race.store, &never).unwrap() {
            let canary = found.iter().any(|found| tells(found.snippet.as_bytes()));
            shown = Some(canary || shown == Some(true));
        }
        shown
    });
    assert_eq!(shown, 0);
}

#[test]
fn a_search_reveals_nothing_of_it() {
    let race = Race::new();
    let request =
        SearchRequest { query: "canary robin".into(), limit: 9, ..SearchRequest::default() };
    let shown = race.run(|_| {
        let found = race.store.search(&request, &never).unwrap();
        let canary = found.hits.iter().any(|hit| tells(hit.text.as_bytes()));
        (!found.hits.is_empty()).then_some(canary)
    });
    assert_eq!(shown, 0);
}

#[test]
fn messages_reveal_nothing_of_it() {
    let race = Race::new();
    let shown = race.run(|_| {
        let found = race.store.messages("x.jsonl", 1, 9, &never).ok()?;
        Some(found.iter().any(|placed| tells(placed.message.text.as_bytes())))
    });
    assert_eq!(shown, 0);
}

#[test]
fn an_append_does_not_reach_it() {
    let race = Race::new();
    for name in NAMES {
        let changed = race.run(|_| {
            let done = race.store.files().append(name, b"more", Expected::Any);
            let changed = fs::read(&race.secret).unwrap() != SECRET.as_bytes();
            if changed {
                fs::write(&race.secret, SECRET).unwrap();
            }
            (done.is_ok() || changed).then_some(changed)
        });
        assert_eq!(changed, 0);
    }
}

#[test]
fn readers_see_one_version_while_others_save() {
    let race = Race::new();
    let files = race.store.files();
    let texts = [OURS.to_owned(), "new\n".repeat(10_000)];
    for name in [NAMES[1], "note.md"] {
        race.replace(name);
        let save = |_| {
            race.replace(name);
            // a save in between is a conflict, and none of ours
            texts.iter().for_each(|text| drop(files.write(name, text.as_bytes(), Expected::Any)));
        };
        let mut reads = 0;
        race.beside(save, || {
            let (bytes, _) = files.read(name).unwrap();
            assert!(texts.iter().any(|text| text.as_bytes() == bytes));
            reads += 1;
            true
        });
        println!("{reads} reads");
    }
}
