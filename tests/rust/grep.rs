//! Grep tests against a reference that decodes every line with `serde_json` and runs `regex` on it.

mod grep_helpers;

use std::io::Write;

use commonplace_core::error::Error;
use commonplace_core::filter::SearchFilter;
use commonplace_core::grep::{Case, GrepOptions, Match, Report, Scan};
use commonplace_core::store::grep::GrepFiles;
use commonplace_core::store::{self, Store};
use grep_helpers::{all, at_rest, file, never, spell};
use proptest::prelude::*;
use regex_automata::meta::Regex;
use regex_automata::util::syntax;
use serde_json::Value;

fn options(pattern: &str) -> GrepOptions {
    GrepOptions { pattern: pattern.into(), ..GrepOptions::default() }
}

fn grep(content: &[u8], options: GrepOptions) -> (Vec<Match>, Report) {
    let mut scan = Scan::transcript(at_rest(content), "messages.jsonl", options).unwrap();
    let found = all(&mut scan);
    (found, scan.report().clone())
}

fn lines_of(found: &[Match]) -> Vec<u64> {
    found.iter().map(|found| found.line).collect()
}

/// The text of a plain or Claude Code message, the slow way.
fn conversation_text(value: &Value) -> Option<String> {
    let object = value.as_object()?;
    let inner = match object.get("message").and_then(Value::as_object) {
        Some(inner) => inner,
        None => object,
    };
    if inner.get("role").and_then(Value::as_str) == Some("tool") {
        return Some(String::new());
    }
    Some(match inner.get("content")? {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts =
                blocks.iter().filter(|b| b["type"] == "text").filter_map(|b| b["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => return None,
    })
}

fn reference(content: &[u8], pattern: &str, fixed: bool, ignore_case: bool) -> Vec<u64> {
    let pattern = if fixed { regex_syntax::escape(pattern) } else { pattern.to_owned() };
    let syntax = syntax::Config::new().case_insensitive(ignore_case).multi_line(true);
    let regex = Regex::builder().syntax(syntax).build(&pattern).unwrap();
    let lines = content.split(|&b| b == b'\n').enumerate();
    let matching = lines.filter(|(_, line)| {
        let line = String::from_utf8_lossy(line);
        let value = serde_json::from_str(line.trim_matches('\0')).ok();
        value
            .as_ref()
            .and_then(conversation_text)
            .is_some_and(|text| regex.is_match(text.as_bytes()))
    });
    matching.map(|(index, _)| index as u64 + 1).collect()
}

fn any_text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => "[abkKsSABzZ]{1,6}",
        2 => "(needle|Needle|KEY|task|foo bar|中文|é|ſ|\u{212a}|😀|foo-12|a/b)",
        1 => "[\"\\\\/\n\t ]{1,2}",
    ];
    prop::collection::vec(word, 0..6).prop_map(|words| words.concat())
}

fn any_line() -> impl Strategy<Value = String> {
    let spelling = prop::collection::vec(any::<u8>(), 1..8);
    // Now and then more than the raw search takes in one step.
    let far = prop_oneof![3 => Just(0), 1 => 0..700usize];
    (any_text(), any_text(), spelling, 0..12u8, far).prop_map(|(text, other, spelling, shape, far)| {
        let (text, other) = (format!("{}{text}", "-".repeat(far)), format!("{other}{}", "_".repeat(far)));
        let (a, b) = (spell(&text, &spelling), spell(&other, &spelling));
        match shape {
            0..3 => format!(r#"{{"role":"user","content":{a}}}"#),
            3 => format!(r#" {{ "content" : {a} , "role" : "assistant", "x": {b} }} "#),
            4..6 => format!(r#"{{"type":"user","cwd":{b},"message":{{"role":"user","content":[{{"type":"text","text":{a}}},{{"type":"text","text":{b}}}]}}}}"#),
            6 => format!(r#"{{"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","content":{a}}}]}},"toolUseResult":{b}}}"#),
            7 => format!(r#"{{"role":"tool","content":{a}}}"#),
            8 => format!(r#"{{"role":"user","con\u0074ent":{a},"content":{b}}}"#),
            9 => format!("\0\0{{\"role\":\"user\",\"content\":{a}}}\0"),
            10 => format!(r#"{{"role":"user","content":{a}"#),
            _ => String::new(),
        }
    })
}

fn any_pattern() -> impl Strategy<Value = (String, bool)> {
    prop_oneof![
        any_text().prop_filter("empty", |text| !text.is_empty()).prop_map(|text| (text, true)),
        prop::sample::select(vec![
            "needle",
            "n.*e",
            "foo|task|key",
            r"\bfoo\w*",
            "^k",
            "s$",
            "[abk]{3}",
            "(?:ab|ba)+z?",
            "中.?",
            "a/b",
            r"foo\s+bar",
            "é",
            "\u{212a}",
            "(needle){2}",
            r"fo{2}-\d",
            "x*",
            "$",
            r"\n",
            "(?s)a.b",
            "ab.*zz",
            "KEY",
            "(?i:f)oo",
            "(foo|needle|zab|bza|kas|sak) ?",
            r#"""#,
            r"\\",
            "😀",
        ])
        .prop_map(|pattern| (pattern.to_owned(), false)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn grep_equals_the_plain_reference(
        lines in prop::collection::vec(any_line(), 0..12),
        (pattern, fixed) in any_pattern(),
        ignore_case: bool,
        ends: bool,
        chunk in prop::sample::select(vec![1usize, 7, 64, 300, 1 << 18]),
        newest_first: bool,
        mapped: bool,
    ) {
        let mut content = lines.join("\n");
        if ends { content.push('\n') }
        let content = content.as_bytes();
        let case = if ignore_case { Case::Ignore } else { Case::Sensitive };
        let expected = reference(content, &pattern, fixed, ignore_case);
        let worth_mapping = if mapped { 0 } else { u64::MAX };
        let options =
            GrepOptions { fixed, case, chunk, newest_first, worth_mapping, ..options(&pattern) };
        let (found, report) = grep(content, options.clone());
        let mut numbers = lines_of(&found);
        if newest_first { numbers.reverse() }
        prop_assert_eq!(&numbers, &expected);
        prop_assert_eq!(report.messages_matched, expected.len() as u64);
        prop_assert_eq!(report.bytes, content.len() as u64);
        let starts: Vec<usize> = std::iter::once(0).chain(memchr::memchr_iter(b'\n', content).map(|at| at + 1)).collect();
        for found in &found {
            prop_assert_eq!(found.offset, starts[found.line as usize - 1] as u64);
            prop_assert!(found.snippet.chars().count() <= 300);
            for &(from, to) in &found.highlights {
                prop_assert!(from < to && to <= found.snippet.chars().count());
            }
        }
        let mut scan = Scan::transcript(at_rest(content), "m", options).unwrap();
        prop_assert_eq!(scan.count(&never).unwrap(), expected.len() as u64);
        prop_assert_eq!(&scan.report().resume, &report.resume);
    }

    #[test]
    fn growing_files_are_resumed(
        lines in prop::collection::vec(any_line(), 1..12),
        cut in any::<prop::sample::Index>(),
        pattern in "[abks]|needle",
        chunk in prop::sample::select(vec![5usize, 64, 1 << 18]),
    ) {
        // Both parts end with a line end: what grows is appended by whole lines.
        let cut = cut.index(lines.len());
        let whole = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let first = lines[..cut].iter().map(|line| format!("{line}\n")).collect::<String>();
        let options = GrepOptions { chunk, case: Case::Ignore, ..options(&pattern) };
        let (mut found, report) = grep(first.as_bytes(), options.clone());
        let mut scan = Scan::transcript(file(whole.as_bytes()), "m", options).unwrap();
        prop_assert!(scan.resume(&report.resume).unwrap());
        found.extend(all(&mut scan));
        prop_assert_eq!(lines_of(&found), reference(whole.as_bytes(), &pattern, false, true));
    }
}

fn plain(text: &str) -> String {
    format!("{{\"role\":\"user\",\"content\":{}}}\n", Value::from(text))
}

#[test]
fn smart_case() {
    let content = ["Foo", "foo", "\u{212a}elvin", "kelvin", "ſong"].map(plain).concat();
    for (pattern, lines) in [
        ("foo", vec![1, 2]),
        ("Foo", vec![1]),
        (r"\Wfoo|foo\b", vec![1, 2]),
        ("kelvin", vec![3, 4]),
        ("song", vec![5]),
        ("Kelvin", vec![]),
    ] {
        assert_eq!(lines_of(&grep(content.as_bytes(), options(pattern)).0), lines, "{pattern}");
    }
}

#[test]
fn filters_and_limits() {
    let line = |i: usize| {
        let role = if i.is_multiple_of(2) { "user" } else { "assistant" };
        format!(
            r#"{{"role":"{role}","content":"word {i}","timestamp":"2026-01-{i:02}T00:00:00Z","session":"s"}}"#
        ) + "\n"
    };
    let content: String = (1..=20).map(line).collect();
    let of = |options: GrepOptions| lines_of(&grep(content.as_bytes(), options).0);
    let base = options("word");
    let user = SearchFilter { role: Some("user".into()), ..SearchFilter::default() };
    assert_eq!(of(GrepOptions { filter: user, limit: Some(2), ..base.clone() }), [2, 4]);
    assert_eq!(
        of(GrepOptions { newest_first: true, limit: Some(3), chunk: 50, ..base.clone() }),
        [20, 19, 18]
    );
    let day = |d: i64| Some(1_767_225_600_000 + (d - 1) * 86_400_000);
    let days = SearchFilter { since: day(5), until: day(7), ..SearchFilter::default() };
    assert_eq!(of(GrepOptions { filter: days, ..base.clone() }), [5, 6]);
    let (found, report) = grep(content.as_bytes(), GrepOptions { limit: Some(2), ..base });
    assert_eq!((found.len(), report.messages_matched, report.resume.line), (2, 2, 2));
    assert_eq!(found[1].session.as_deref(), Some("s"));
    let (found, _) = grep(
        content.as_bytes(),
        GrepOptions { before: 2, after: 3, chunk: 9, ..options(r"word 10$") },
    );
    assert_eq!(found.len(), 1);
    let view = |list: &[commonplace_core::grep::Context]| {
        list.iter().map(|c| (c.line, c.text.clone())).collect::<Vec<_>>()
    };
    assert_eq!(view(&found[0].before), [(8, "word 8".to_owned()), (9, "word 9".to_owned())]);
    assert_eq!(view(&found[0].after), [11, 12, 13].map(|i| (i, format!("word {i}"))));
    let (found, _) = grep(content.as_bytes(), GrepOptions { before: 2, ..options(r"word 1$") });
    assert_eq!((found[0].line, found[0].before.len()), (1, 0), "nothing is before the first line");
}

#[test]
fn snippets_are_cut_at_characters() {
    let text = format!("{}needle{}", "中".repeat(500), "é".repeat(500));
    let (found, _) =
        grep(plain(&text).as_bytes(), GrepOptions { max_snippet: 40, ..options("needle") });
    let found = &found[0];
    assert_eq!(found.snippet.chars().count(), 40);
    assert!(found.snippet.starts_with("…中") && found.snippet.ends_with("é…"), "{}", found.snippet);
    let &[(from, to)] = &found.highlights[..] else { panic!("{:?}", found.highlights) };
    let shown: String = found.snippet.chars().skip(from).take(to - from).collect();
    assert_eq!(shown, "needle");
}

#[test]
fn bad_lines_are_counted() {
    let content = b"{\"a\":1,}x\n\n// c\n{\"role\":\"user\",\"content\":\"needle\"}\n[]\n\0\0\0{\"role\":\"user\",\"content\":\"needle\"}\n{\"role\":\"user\",\"con";
    let (found, report) = grep(content, options("needle"));
    assert_eq!(lines_of(&found), [4, 6]);
    assert_eq!((report.bad_lines, &report.first_bad_lines[..]), (2, &[1, 3][..]));
    assert!(report.torn_tail);
    assert_eq!((report.resume.line, report.resume.offset as usize), (6, content.len() - 19));
}

#[test]
fn last_line_without_an_end() {
    let (found, report) = grep(b"{\"role\":\"user\",\"content\":\"a\"}", options("a"));
    assert_eq!((lines_of(&found), report.torn_tail, report.bad_lines), (vec![1], false, 0));
}

#[test]
fn long_lines_are_searched_in_windows() {
    let size = 9 << 19;
    for unit in ["x", "\\u4e2d", "\\\\", "中"] {
        let body = unit.repeat(size / unit.len());
        for (head, tail) in [("needle", ""), ("", "needle"), ("", "nee\\u0064le")] {
            let content = format!(
                "{}{{\"cwd\":\"needle\",\"content\":\"{head}{body}{tail}\",\"role\":\"user\"}}\n{}",
                plain("first"),
                plain("needle")
            );
            let (found, report) = grep(content.as_bytes(), options("needle"));
            assert_eq!(lines_of(&found), [2, 3], "{unit} {head} {tail}");
            assert_eq!(report.bad_lines, 0);
            assert_eq!(found[0].role, "user");
            assert_eq!(report.resume.offset, content.len() as u64);
        }
        let content = format!("{{\"content\":\"{body}\",\"x\":\"needle\"}}\n");
        assert_eq!(grep(content.as_bytes(), options("needle")).0, []);
    }
}

// holes are read on Windows: it would take minutes
#[cfg(unix)]
#[test]
fn a_sparse_file_beyond_4_gib() {
    let mut file = tempfile::tempfile().unwrap();
    file.set_len(5 << 30).unwrap();
    std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0)).unwrap();
    file.write_all(b"\n{\"content\":\"needle\"}\n").unwrap();
    for newest_first in [false, true] {
        let options = GrepOptions { newest_first, ..options("needle") };
        let mut scan = Scan::transcript(file.try_clone().unwrap(), "m", options).unwrap();
        let found = all(&mut scan);
        assert_eq!((found[0].line, found[0].offset), (2, (5 << 30) + 1));
    }
}

#[test]
fn a_file_that_shrinks() {
    let content = (0..2000).map(|i| plain(&format!("word {i}"))).collect::<String>();
    let file = file(content.as_bytes());
    let mut scan = Scan::transcript(
        file.try_clone().unwrap(),
        "m",
        GrepOptions { chunk: 1000, ..options("word") },
    )
    .unwrap();
    let first = scan.next_batch(&never).unwrap();
    file.set_len(10).unwrap();
    assert!(!first.is_empty());
    assert!(all(&mut scan).len() < 2000);
}

#[test]
fn a_mapped_file_that_shrinks() {
    let content = (0..2000).map(|i| plain(&format!("word {i}"))).collect::<String>();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), content).unwrap();
    let path = file.into_temp_path();
    let options = GrepOptions { chunk: 1000, worth_mapping: 0, ..options("word") };
    let mut scan = Scan::transcript(std::fs::File::open(&path).unwrap(), "m", options).unwrap();
    let first = scan.next_batch(&never).unwrap();
    // Nothing is leased while the caller looks at what was found: this would wait for ever.
    let writer = std::fs::File::options().write(true).open(&path).unwrap();
    writer.set_len(10).unwrap();
    drop(writer);
    assert!(!first.is_empty());
    assert!(all(&mut scan).len() < 2000);
}

#[test]
fn a_mapped_file_that_others_write_and_truncate() {
    let content = (0..20_000).map(|i| plain(&format!("word {i}"))).collect::<String>();
    let half = content.len() as u64 / 2;
    let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    std::fs::write(&path, content).unwrap();
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                let mut writer = std::fs::File::options().append(true).open(&path).unwrap();
                writer.write_all(plain("word").repeat(10_000).as_bytes()).unwrap();
                writer.set_len(half).unwrap();
            }
        });
        for _ in 0..100 {
            let options = GrepOptions { chunk: 10_000, worth_mapping: 0, ..options("word") };
            let open = std::fs::File::open(&path).unwrap();
            assert!(Scan::transcript(open, "m", options).unwrap().count(&never).unwrap() > 5000);
        }
        over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn notes_are_searched_by_line() {
    let content = "# Title\r\nA needle here\n\n\\u006eeedle\nlast Needle";
    let mut scan = Scan::note(
        file(content.as_bytes()),
        "a.md",
        GrepOptions { before: 1, after: 1, ..options("needle$|here$") },
    )
    .unwrap();
    let found = all(&mut scan);
    assert_eq!(lines_of(&found), [2, 5]);
    assert_eq!(
        (found[0].before[0].text.as_str(), found[0].after[0].text.as_str()),
        ("# Title", "")
    );
    assert_eq!(found[1].offset as usize, content.len() - 11);
}

#[test]
fn quotes_and_backslashes_are_found_in_every_spelling() {
    let texts = [r#"in "C:\users", twice"#, r#"in \"C:\\users\", twice"#, "in C:/users, twice"];
    let message_line = |text: &str, spelling| {
        format!("{{\"role\":\"user\",\"content\":{}}}\n", spell(text, &[spelling]))
    };
    for pattern in [r#""C:\users""#, r#""C:\"#, r"\users", r#"users\", t"#, "\"", "\\", "\", t"] {
        let options = GrepOptions { fixed: true, case: Case::Sensitive, ..options(pattern) };
        let holding = texts.iter().enumerate().filter(|(_, text)| text.contains(pattern));
        let expected: Vec<u64> = holding.map(|(at, _)| at as u64 + 1).collect();
        for spelling in [0, 6, 7] {
            let lines = texts.map(|text| message_line(text, spelling)).concat();
            assert_eq!(lines_of(&grep(lines.as_bytes(), options.clone()).0), expected, "{pattern}");
        }
        let mut scan = Scan::note(file(texts.join("\n").as_bytes()), "a.md", options).unwrap();
        assert_eq!(lines_of(&all(&mut scan)), expected, "{pattern}");
    }
}

#[test]
fn lines_of_a_byte_or_two_are_built_a_few_at_a_time() {
    let text = "a\n\nb\n".repeat(30_000);
    let expected: Vec<u64> = (0..30_000).map(|at| 3 * at + 1).collect();
    for newest_first in [false, true] {
        let options = GrepOptions { newest_first, ..options("a") };
        let mut scan = Scan::note(file(text.as_bytes()), "note.md", options).unwrap();
        let mut lines = lines_of(&all(&mut scan));
        if newest_first {
            lines.reverse();
        }
        assert!(lines == expected, "newest first: {newest_first}");
        let report = scan.report();
        let seen = (report.messages_matched, report.lines, report.bytes);
        assert_eq!(seen, (30_000, 90_000, text.len() as u64));
    }
}

#[test]
fn many_files_are_searched_in_the_order_of_their_paths() {
    let folder = tempfile::tempdir().unwrap();
    let store =
        Store::open(folder.path().to_str().unwrap(), store::StoreOptions::default()).unwrap();
    let mut expected = Vec::new();
    for number in 0..700 {
        // Some files are large enough to be searched by themselves.
        let repeats = if number % 97 == 0 { 20_000 } else { number % 5 };
        let (name, line) = match number % 3 {
            0 => (format!("{number:03}.jsonl"), plain("a needle")),
            _ => (format!("{number:03}.md"), "needle\nhay\n".to_owned()),
        };
        std::fs::write(folder.path().join(&name), line.repeat(repeats)).unwrap();
        let step = if number % 3 == 0 { 1 } else { 2 };
        expected.extend((0..repeats).map(|index| (name.clone(), (index * step) as u64 + 1)));
    }
    for limit in [None, Some(1), Some(300), Some(25_000)] {
        let options = GrepOptions { limit, ..options("needle") };
        let new = || GrepFiles::new(&store, options.clone(), &never).unwrap();
        let mut files = new();
        let mut found = Vec::new();
        while let Some((path, batch)) = files.next_batch(&store, &never).unwrap() {
            found.extend(batch.iter().map(|found| (path.clone(), found.line)));
        }
        let expected = &expected[..limit.unwrap_or(expected.len())];
        assert!(found == expected, "{limit:?}");
        assert_eq!(files.summary.matched, expected.len() as u64);
        let mut counting = new();
        assert_eq!(counting.count(&store, &never).unwrap(), expected.len() as u64);
        if limit.is_none() {
            assert_eq!(counting.summary, files.summary);
        }
        // What a caller has not yet been given is still counted.
        let mut begun = new();
        let (_, batch) = begun.next_batch(&store, &never).unwrap().unwrap();
        let first = batch.len();
        assert_eq!(begun.count(&store, &never).unwrap() as usize + first, expected.len());
    }
}

#[test]
fn refused_patterns() {
    let long = (0..1000).map(|i| format!("w{i:06}|")).collect::<String>();
    for (pattern, wanted) in [
        ("", "empty"),
        ("(", "regex"),
        (r"(a)\1", "regex"),
        ("(?P<n>", "regex"),
        ("(?:){4294967295}", "regex"),
        (r"\p{L}{500}\p{N}{500}", "regex"),
        (&long, "regex"),
    ] {
        match Scan::transcript(file(b""), "m", options(pattern)) {
            Err(Error::Query { code, .. }) => assert_eq!(code, wanted, "{pattern}"),
            other => panic!("{pattern}: {other:?}"),
        }
    }
}

#[test]
fn interrupted() {
    let mut scan = Scan::transcript(file(b"{}\n"), "m", options("x")).unwrap();
    assert!(matches!(scan.next_batch(&|| true), Err(Error::Interrupted)));
    assert!(scan.next_batch(&never).unwrap().is_empty());
}
