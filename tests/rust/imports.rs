//! An import that is repeated, that was cut off, and one of another source.

#![allow(missing_docs)]

mod memory;

use std::fs;

use commonplace_core::error::Error;
use memory::Memory;

fn line(n: usize) -> String {
    format!("{{\"role\":\"user\",\"content\":\"message {n}\"}}\n")
}

fn lines(numbers: std::ops::Range<usize>) -> String {
    numbers.map(line).collect()
}

/// Imports a source of so many messages; returns how many were added.
fn import(memory: &Memory, messages: usize) -> Result<u64, Error> {
    let source = memory.outside().join("source.jsonl");
    fs::write(&source, lines(0..messages)).unwrap();
    let store = memory.open(false);
    let done = store.import_transcript(&source, "in/messages.jsonl", &mut |_| {}, &|| false);
    done.map(|(_, imported)| imported.messages)
}

/// Where each message stands in the file, by its number.
fn standing(memory: &Memory, messages: usize) -> Vec<usize> {
    let text = fs::read_to_string(memory.at("in/messages.jsonl")).unwrap();
    let count = |n: usize| text.matches(&format!("message {n}\"")).count();
    (0..messages).map(count).collect()
}

#[test]
fn nothing_comes_in_twice() {
    let memory = Memory::new();
    assert_eq!(import(&memory, 5).unwrap(), 5);
    assert_eq!(import(&memory, 5).unwrap(), 0);
    assert_eq!(import(&memory, 8).unwrap(), 3);
    assert_eq!(standing(&memory, 8), [1; 8]);
}

#[test]
fn an_import_that_was_cut_off_goes_on() {
    let whole = Memory::new();
    import(&whole, 4).unwrap();
    let bytes = fs::read(whole.at("in/messages.jsonl")).unwrap();
    let ends: Vec<usize> =
        bytes.iter().enumerate().filter(|b| *b.1 == b'\n').map(|b| b.0).collect();
    for cut in [0, 7, ends[0], ends[0] + 1, ends[1] + 9, ends[2], bytes.len() - 2] {
        let memory = Memory::new();
        memory.put("in/messages.jsonl", &bytes[..cut]);
        import(&memory, 4).unwrap();
        import(&memory, 4).unwrap();
        let text = fs::read(memory.at("in/messages.jsonl")).unwrap();
        let good = text.split(|&b| b == b'\n').filter(|line| {
            serde_json::from_slice::<serde_json::Value>(line).is_ok_and(|line| line.is_object())
        });
        assert_eq!(good.count(), 4, "cut at {cut}: {}", String::from_utf8_lossy(&text));
    }
}

#[test]
fn another_source_is_refused() {
    let memory = Memory::new();
    memory.put("in/messages.jsonl", line(7));
    assert!(matches!(import(&memory, 3), Err(Error::Diverged { line: 1, .. })));
    assert_eq!(standing(&memory, 8), [0, 0, 0, 0, 0, 0, 0, 1]);
}
