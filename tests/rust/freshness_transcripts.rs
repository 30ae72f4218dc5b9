//! Refresh tests of transcripts: grown, torn, rewritten, and in another encoding.

#![allow(missing_docs)]

mod fixture;
mod hostile;
mod system;

use std::fs::{self, File, OpenOptions};
use std::io::Write;

use commonplace_core::error::Error;
use commonplace_core::filter::SearchFilter;
use commonplace_core::store::Freshness;
use commonplace_core::store::search::SearchRequest;
use fixture::{TestRoot, ask, both_ways, files_with, overwrite, paths};
use system::has_watch;

#[test]
fn transcripts_grow_tear_and_are_rewritten() {
    let line = |text: &str| format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n");
    both_ways(|memory, store| {
        let log = memory.at("log.jsonl");
        let append = |text: &str| {
            OpenOptions::new().append(true).open(&log).unwrap().write_all(text.as_bytes()).unwrap();
        };
        append(&line("second"));
        let hits = ask(store, "second").hits;
        assert_eq!((hits[0].passage().line, hits[0].text.as_str()), (2, "second"));
        // a line that is torn, then whole, then with its end
        let torn = line("third");
        append(&torn[..20]);
        assert!(paths(store, "third").is_empty());
        assert_eq!(
            store.append_message("log.jsonl", b"{\"content\":\"fourth\"}", &|| false).unwrap(),
            Some(4)
        );
        assert_eq!(ask(store, "fourth").hits[0].passage().citation, "log.jsonl#L4");
        append(line("fifth").trim_end());
        assert_eq!(ask(store, "fifth").hits[0].passage().line, 5);
        append("\n");
        append("not json\n");
        append(&line("sixth"));
        assert_eq!(ask(store, "sixth").hits[0].passage().line, 7);
        let state = store.refresh(&|| false).unwrap();
        let seen = state.main.file("log.jsonl").unwrap().progress;
        assert_eq!((seen.lines, seen.bad_lines), (7, 2));
        drop(state);
        // an edit far before the end, of the same length, alone and with a line more
        for (offset, word, more) in [(26, "hullo", ""), (26, "howdy", "seventh")] {
            overwrite(&log, offset, word.as_bytes());
            if !more.is_empty() {
                append(&line(more));
            }
            assert_eq!(ask(store, word).hits[0].passage().citation, "log.jsonl#L1", "{word}");
        }
        // rewritten longer, and shorter
        fs::write(&log, line("other").repeat(50) + &line("last")).unwrap();
        assert_eq!(ask(store, "last").hits[0].passage().line, 51);
        assert!(paths(store, "seventh").is_empty());
        fs::write(&log, line("tiny")).unwrap();
        assert_eq!(ask(store, "tiny").hits[0].passage().line, 1);
        assert!(paths(store, "other").is_empty());
        File::create(&log).unwrap();
        assert!(paths(store, "tiny").is_empty());
        append(&line("again"));
        assert_eq!(ask(store, "again").hits[0].passage().line, 1);
    });
}

#[test]
fn a_grown_transcript_reads_only_what_is_new() {
    let memory = TestRoot::new();
    let text = "{\"content\":\"tool\",\"role\":\"tool\",\"tool_call_id\":\"1\"}\n".repeat(200_000);
    memory.put("log.jsonl", &text);
    let store = memory.open(true);
    let reread_bytes = || store.refresh(&|| false).unwrap().main.reread_bytes;
    let before = reread_bytes();
    for n in 0..20 {
        let record = format!("{{\"content\":\"m{n}\",\"role\":\"tool\",\"tool_call_id\":\"1\"}}");
        store.append_message("log.jsonl", record.as_bytes(), &|| false).unwrap();
    }
    // Without a watch a file is read again that looks as it was, but is so young that its stamps
    // prove nothing: before the first append and after the last one.
    let again = if has_watch() { 0 } else { 2 * text.len() as u64 };
    assert!(reread_bytes() - before < again + 4000, "{}", reread_bytes() - before);
}

/// Of a long transcript only the end is compared when it has grown; else all of it is read.
#[test]
fn an_edit_far_from_the_end_of_a_long_transcript() {
    let line = format!(
        "{{\"content\":\"tool\",\"role\":\"tool\",\"tool_call_id\":\"1\",\"x\":\"{}\"}}\n",
        "x".repeat(900)
    );
    both_ways(|memory, store| {
        let text = "{\"content\":\"alpha\"}\n".to_owned()
            + &line.repeat(1500)
            + &"{\"content\":\"omega\"}\n".repeat(3);
        memory.put("log.jsonl", text);
        assert_eq!(paths(store, "alpha"), ["log.jsonl"]);
        overwrite(&memory.at("log.jsonl"), 12, b"gamma");
        assert_eq!(paths(store, "gamma"), ["log.jsonl"]);
    });
}

#[test]
fn the_index_of_tools_is_refreshed_too() {
    both_ways(|memory, store| {
        let tools = |word: &str| {
            let request = SearchRequest {
                query: word.into(),
                limit: 9,
                filter: SearchFilter { tools: true, ..SearchFilter::default() },
                ..SearchRequest::default()
            };
            store.search(&request, &|| false).unwrap().hits.len()
        };
        let line = "{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"stdout\"}\n";
        memory.put("log.jsonl", line);
        assert_eq!(tools("stdout"), 1);
        memory.put("log.jsonl", line.replace("stdout", "stderr"));
        assert_eq!((tools("stdout"), tools("stderr"), tools("std*")), (0, 1, 1));
        for n in 0..400 {
            memory.put(&format!("many/f{n}.md"), "filler filler filler filler\n");
        }
        assert_eq!(tools("stderr"), 1, "a rebuild lost the tools");
        assert!(files_with(store, "stderr").is_empty());
    });
}

#[test]
fn a_first_line_that_only_begins_as_utf16_hides_no_other() {
    both_ways(|memory, store| {
        let starts: [&[u8]; 10] = [
            b"\xff\xfegarbage\n",
            b"\xfe\xffgarbage\n",
            b"{\0\n",
            b"[\0\0\0\n",
            b"\0",
            b"\0{\n",
            b"{\0\"\0r\0\n",
            b"\xff\xfe",
            b"\xff\xfe{\0\"\0r\0o\0l\0e\0\"\0:\0\"\0u\0\"\0}\0\n\0",
            b"\xff\xfe\r\n { \"role\": \"user\", \"content\": \"e\"}\r\n\xff\xfe\r\n  ",
        ];
        for start in starts {
            let line = b"{\"role\":\"user\",\"content\":\"platypus\"}\n";
            memory.put("s.jsonl", [start, &line.repeat(3)].concat());
            let found = ask(store, "platypus").hits.len();
            assert!(found >= 2, "{start:?}: {found}");
            let appended = store.append_message("s.jsonl", line.trim_ascii(), &|| false);
            assert!(appended.is_ok(), "{start:?}");
        }
        // torn behind its first byte, with one of the zeros that a crash leaves
        memory.put("torn.jsonl", b"{\0");
        assert!(store.append_message("torn.jsonl", b"{\"content\":\"x\"}", &|| false).is_ok());
    });
}

#[test]
fn a_transcript_in_another_encoding_is_named_by_every_call() {
    both_ways(|memory, store| {
        let never = &|| false;
        let line = "{\"role\":\"user\",\"content\":\"platypus\"}\n";
        let units = |line: &str| line.encode_utf16().collect::<Vec<_>>();
        let marked: Vec<u8> =
            units(&format!("\u{feff}{line}")).into_iter().flat_map(u16::to_le_bytes).collect();
        let plain: Vec<u8> = units(line).into_iter().flat_map(u16::to_be_bytes).collect();
        let says = |why: &str, path: &str| assert!(why.contains(path) && why.contains("UTF-16"));
        for text in [marked, plain] {
            memory.put("wide.jsonl", &text);
            memory.put("in.jsonl", line);
            let answer = ask(store, "platypus");
            assert_eq!(answer.hits.iter().map(|hit| &*hit.path).collect::<Vec<_>>(), ["in.jsonl"]);
            assert_eq!(answer.freshness, Freshness::Partial);
            assert_eq!(answer.notes.len(), 1);
            says(&answer.notes[0], "wide.jsonl");
            let skipped = store.status(never).unwrap().skipped;
            assert_eq!(skipped, [("wide.jsonl".to_owned(), "encoding".to_owned())]);
            // told as left out, once, and no damage of the index
            let verified = store.verify(never).unwrap();
            assert_eq!((verified.files, &verified.notes), (5, &answer.notes));
            assert_eq!((verified.differences, verified.unread), (Vec::new(), Vec::new()));
            assert_eq!(verified.notes[0].matches("wide.jsonl").count(), 1);
            for refused in [
                store.messages("wide.jsonl", 1, 9, never).map(|_| ()),
                store.message("wide.jsonl", 1, never).map(|_| ()),
                store.append_message("wide.jsonl", line.trim().as_bytes(), never).map(|_| ()),
                store
                    .import_transcript(
                        &memory.at("in.jsonl"),
                        "wide.jsonl",
                        Default::default(),
                        &mut |_| {},
                        never,
                    )
                    .map(|_| ()),
                store
                    .import_transcript(
                        &memory.at("wide.jsonl"),
                        "new.jsonl",
                        Default::default(),
                        &mut |_| {},
                        never,
                    )
                    .map(|_| ()),
            ] {
                assert!(matches!(refused, Err(Error::Format { .. })));
                says(&refused.unwrap_err().to_string(), "wide.jsonl");
            }
            assert_eq!(fs::read(memory.at("wide.jsonl")).unwrap(), text);
            assert!(!memory.at("new.jsonl").exists());
            memory.put("wide.jsonl", line);
            let answer = ask(store, "platypus");
            assert_eq!((answer.hits.len(), answer.freshness), (2, Freshness::Fresh));
            // and a transcript that becomes such a one is forgotten
            memory.put("in.jsonl", &text);
            assert_eq!(paths(store, "platypus"), ["wide.jsonl"]);
        }
    });
}
