//! A file outside that gets a second name in the memory for a moment: nothing of it is told, and
//! nothing is written to it.
//!
//! The second name is gone again when the open file is looked at, so that its link count says
//! nothing. Each test lets one thread change names as fast as it can while another uses them.

#![allow(missing_docs, clippy::print_stdout)]

mod memory;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use commonplace_core::files::Expected;
use commonplace_core::grep;
use commonplace_core::store::across::Across;
use commonplace_core::store::hits::Request;
use commonplace_core::store::{Options, Store};
use memory::Memory;
use rustix::fs::{CWD, RenameFlags, renameat_with};

const SECRET: &str = "# Canary\n\n{\"role\":\"user\",\"content\":\"canary\"}\n";
const OURS: &str = "# Ours\n\n{\"role\":\"user\",\"content\":\"robin\"}\n";
/// The two files that change, one of them in a folder that changes as well.
const NAMES: [&str; 2] = ["x.jsonl", "sub/x.md"];

/// For how long each use is tried.
fn time() -> Duration {
    let seconds = std::env::var("LINK_RACE_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs_f64(seconds.unwrap_or(0.7))
}

struct Race {
    memory: Memory,
    secret: PathBuf,
    store: Store,
}

impl Race {
    fn new() -> Self {
        // in memory, where there is such a place: it is fast enough for many rounds
        let memory = Memory::new_in(
            ["/dev/shm", "/tmp"].into_iter().find(|place| Path::new(place).is_dir()).unwrap(),
        );
        let secret = memory.outside().join("secret");
        fs::write(&secret, SECRET).unwrap();
        NAMES.iter().for_each(|name| memory.put(name, OURS));
        fs::create_dir(memory.at("other")).unwrap();
        let root = memory.root();
        let store = Store::open(root.to_str().unwrap(), Options::default()).unwrap();
        Self { memory, secret, store }
    }

    /// Gives the secret a name in the memory and takes it away again, in each of the ways there are.
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

    /// Calls `look` while names change; returns how often that was, and how often the secret showed.
    fn run(&self, look: impl Fn(usize) -> bool) -> (usize, usize) {
        let over = AtomicBool::new(false);
        let (mut tries, mut shown) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0.. {
                    self.swap(round);
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
            let begun = Instant::now();
            while begun.elapsed() < time() {
                shown += usize::from(look(tries));
                tries += 1;
            }
            over.store(true, Ordering::Relaxed);
        });
        println!("{shown} of {tries}");
        (tries, shown)
    }
}

fn tells(bytes: &[u8]) -> bool {
    bytes.to_ascii_lowercase().windows(6).any(|six| six == b"canary")
}

fn never() -> bool {
    false
}

#[test]
fn a_read_tells_nothing_of_it() {
    let race = Race::new();
    let (_, shown) =
        race.run(|n| race.store.files().read(NAMES[n % 2]).is_ok_and(|(bytes, _)| tells(&bytes)));
    assert_eq!(shown, 0);
}

#[test]
fn a_grep_tells_nothing_of_it() {
    let race = Race::new();
    let (_, shown) = race.run(|_| {
        let options = grep::Options { pattern: "canary".into(), ..Default::default() };
        let Ok(mut across) = Across::new(&race.store, &NAMES, options, &never) else {
            return false;
        };
        across.next_batch(&race.store, &never).unwrap().is_some()
    });
    assert_eq!(shown, 0);
}

#[test]
fn a_search_tells_nothing_of_it() {
    let race = Race::new();
    let request = Request { query: "canary".into(), limit: 9, ..Request::default() };
    let (_, shown) = race.run(|_| {
        let found = race.store.search(&request, &never).unwrap();
        found.hits.iter().any(|hit| tells(hit.text.as_bytes()))
    });
    assert_eq!(shown, 0);
}

#[test]
fn messages_tell_nothing_of_it() {
    let race = Race::new();
    let (_, shown) = race.run(|_| {
        let found = race.store.messages("x.jsonl", 1, 9, &never).unwrap_or_default();
        found.iter().any(|placed| tells(placed.message.said.as_bytes()))
    });
    assert_eq!(shown, 0);
}

#[test]
fn readers_see_one_version_while_others_save() {
    let race = Race::new();
    let files = race.store.files();
    let over = AtomicBool::new(false);
    let texts = [OURS.to_owned(), "new\n".repeat(10_000)];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                race.replace(NAMES[1]);
                // a save in between is a conflict, and none of ours
                for text in &texts {
                    drop(files.write(NAMES[1], text.as_bytes(), Expected::Any));
                }
            }
        });
        let begun = Instant::now();
        let mut tries = 0;
        while begun.elapsed() < time() {
            let (bytes, _) = files.read(NAMES[1]).unwrap();
            assert!(texts.iter().any(|text| text.as_bytes() == bytes));
            tries += 1;
        }
        over.store(true, Ordering::Relaxed);
        println!("{tries} reads");
    });
}

#[test]
fn an_append_does_not_reach_it() {
    let race = Race::new();
    let (_, changed) = race.run(|n| {
        drop(race.store.files().append(NAMES[n % 2], b"more", Expected::Any));
        let changed = fs::read(&race.secret).unwrap() != SECRET.as_bytes();
        if changed {
            fs::write(&race.secret, SECRET).unwrap();
        }
        changed
    });
    assert_eq!(changed, 0);
}
