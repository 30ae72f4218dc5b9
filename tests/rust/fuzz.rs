//! Fuzz tests: sections, queries, transcript lines, snapshots and patches of any bytes.
//!
//! `cargo test` gives each a fraction of a second, `make fuzz SECONDS=300` as long as is wanted.

#![allow(missing_docs, clippy::print_stdout)]

mod fixture;
mod fuzzing;

use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};

use commonplace_core::catalog::snapshot;
use commonplace_core::files::patch::apply;
use commonplace_core::index::bm25f::Weights;
use commonplace_core::messages::message::{ParsedLine, parse as parse_line};
use commonplace_core::search::query::{MAX_PATTERNS, MAX_QUERY_BYTES, Query};
use commonplace_core::store::search::SearchRequest;
use commonplace_core::text::encoding::as_text;
use commonplace_core::text::parser::parse;
use fixture::{TestRoot, sample};
use fuzzing::{Features, class, fuzz, is_long};
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

fn law(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}

/// Twice the text takes about twice the time.
fn is_linear(unit: &str, run: impl Fn(&str)) -> Result<(), String> {
    // more than the caches hold, so that both wait for memory alike
    let text = unit.repeat((512 << 10) / unit.len().max(1));
    let time = |text: &str| {
        let begun = Instant::now();
        run(text);
        begun.elapsed()
    };
    let (mut once, mut twice) = (Duration::MAX, Duration::MAX);
    let double = text.repeat(2);
    // another program may have had the processor: the least of several times tells
    for _ in 0..12 {
        once = once.min(time(&text));
        twice = twice.min(time(&double));
        if twice.as_secs_f64() < 2.5 * once.as_secs_f64().max(0.000_2) {
            return Ok(());
        }
    }
    Err(format!("{} bytes take {once:?}, twice as many {twice:?}", text.len()))
}

#[test]
fn sections() {
    let pieces = [
        "# ",
        "## a\n",
        "\n",
        "\r\n",
        "\n\n",
        "===\n",
        "---\n",
        "```\n",
        "~~~\n",
        "> ",
        "- ",
        "1. ",
        "    ",
        "\t",
        "<!--",
        "-->",
        "<div>\n",
        "</div>",
        "META:\n",
        "Summary: x\n",
        "tags: [a, b]\n",
        "[a]: /u\n",
        "[a](b)",
        "| a |\n|--|\n",
        "*",
        "_",
        "`",
        "\\",
        "\u{feff}",
        "é",
        "日本",
        "\0",
        "&amp;",
        "title: t\n",
        "<script>",
        "<?",
        "![",
        "](",
        "**a",
        "$$",
    ];
    let pieces: Vec<&[u8]> = pieces.iter().map(|piece| piece.as_bytes()).collect();
    let timed = std::cell::Cell::new(0);
    fuzz("sections", &pieces, |input| {
        let text = as_text(input);
        let note = parse(&text);
        let mut end = 0;
        let mut features: Features = vec![("sections", class(note.sections.len()))];
        for (at, section) in note.sections.iter().enumerate() {
            law(section.span.start == end, || format!("section {at} begins not at {end}"))?;
            law(section.span.contains(&section.body) || section.body == section.span.end, || {
                format!("the body of section {at} is outside of it")
            })?;
            law(section.parent.is_none_or(|parent| parent < at), || format!("parent of {at}"))?;
            end = section.span.end;
            let marks = &section.metadata;
            features.push(("level", u64::from(section.level)));
            features.push(("depth", class(note.trail(at).len())));
            features.push(("marks", xxh3_64(format!("{marks:?}").as_bytes()) % 16));
        }
        law(end == text.len(), || format!("{end} of {} bytes are in a section", text.len()))?;
        law(note.sections.iter().all(|s| text.get(s.span.clone()).is_some()), || {
            "a section begins inside of a character".to_owned()
        })?;
        for (name, found) in [("breaks", &note.breaks), ("items", &note.items)] {
            law(found.is_sorted() && found.iter().all(|&at| text.is_char_boundary(at)), || {
                format!("{name}: {found:?}")
            })?;
            features.push((name, class(found.len())));
        }
        features.push(("code", class(note.code.len())));
        features.push(("front", xxh3_64(format!("{:?}", note.front).as_bytes()) % 16));
        timed.set(timed.get() + 1);
        if is_long() && !cfg!(debug_assertions) && timed.get() % 500 == 0 && !text.is_empty() {
            is_linear(&text, |text| drop(parse(text)))?;
        }
        Ok(features)
    });
}

#[test]
fn query() {
    let memory = TestRoot::new();
    sample(&memory);
    let store = memory.open(false);
    let pieces = [
        "tea",
        "rotat*",
        "statelss~1",
        "\"",
        "-",
        "heading:",
        "title:",
        "said:",
        " ",
        "*",
        "~2",
        "~",
        "标准输出",
        "管道",
        "C++",
        "-rf",
        "a/b",
        "NOT",
        "OR",
        "(",
        ")",
        ":",
        "what is ",
        "number7",
        "\u{301}",
        "\u{200d}",
        "\0",
        "\n",
        "🙂",
        "'",
        "’s",
        ".",
        "_",
        "the",
        "ﬁ",
        "İ",
        "a*",
        "\"tea ",
        "-\"tea\"",
    ];
    let pieces: Vec<&[u8]> = pieces.iter().map(|piece| piece.as_bytes()).collect();
    fuzz("query", &pieces, |input| {
        let text = String::from_utf8_lossy(input).into_owned();
        let query = match Query::parse(&text) {
            Ok(query) => query,
            Err(_) => {
                law(text.trim().is_empty(), || "it is refused".to_owned())?;
                return Ok(vec![("empty", 1)]);
            }
        };
        law(Query::parse(&text).is_ok_and(|again| again == query), || "read twice".to_owned())?;
        let lists = [&query.phrases, &query.excluded];
        let again = [&query.question_words, &query.code_words];
        law(lists.iter().all(|list| list.len() <= MAX_PATTERNS), || "too many".to_owned())?;
        let length: usize = again.into_iter().chain(lists).flatten().map(String::len).sum();
        law(length <= 8 * MAX_QUERY_BYTES, || format!("{length} bytes of words"))?;
        let begun = Instant::now();
        let request = SearchRequest { query: text, limit: 20, ..SearchRequest::default() };
        let found = store.search(&request, &|| false).map_err(|error| error.to_string())?;
        law(begun.elapsed() < Duration::from_secs(5), || format!("{:?}", begun.elapsed()))?;
        let descending = found.hits.is_sorted_by(|a, b| a.score >= b.score);
        law(descending && found.hits.iter().all(|hit| hit.score.is_finite()), || {
            format!("{:?}", found.hits.iter().map(|hit| hit.score).collect::<Vec<_>>())
        })?;
        for hit in &found.hits {
            let passage = hit.passage();
            let characters = passage.snippet.chars().count();
            law(
                passage.highlights.iter().all(|&(from, to)| from < to && to <= characters),
                || format!("{:?} of {characters} characters", passage.highlights),
            )?;
        }
        Ok(vec![
            ("sought", class(query.atoms.len())),
            (
                "atoms",
                query
                    .atoms
                    .iter()
                    .map(|atom| {
                        1 << (xxh3_64(
                            format!("{atom:?}").split('(').next().unwrap_or("").as_bytes(),
                        ) % 8)
                    })
                    .fold(0, |a, b| a | b),
            ),
            ("asked", class(query.question_words.len())),
            ("code", class(query.code_words.len())),
            ("phrases", class(query.phrases.len())),
            ("excluded", class(query.excluded.len())),
            ("notes", class(query.notes.len())),
            ("hits", class(found.hits.len())),
        ])
    });
}

/// How deeply a line is nested, at most.
fn depth(line: &[u8]) -> usize {
    let opened = line.iter().scan(0_usize, |deep, byte| {
        match byte {
            b'[' | b'{' => *deep += 1,
            b']' | b'}' => *deep = deep.saturating_sub(1),
            _ => {}
        }
        Some(*deep)
    });
    opened.max().unwrap_or(0)
}

#[test]
fn jsonl() {
    let pieces: [&[u8]; 44] = [
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b",",
        b"\"",
        b"\\",
        b"\\u00e9",
        b"\\ud83d\\ude00",
        b"\\ud800",
        b"\"role\":\"user\"",
        b"\"role\":\"assistant\"",
        b"\"role\":\"tool\"",
        b"\"content\":",
        b"\"text\"",
        b"\"hello\"",
        b"\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]",
        b"\"type\":",
        b"\"message\":{",
        b"\"payload\":{",
        b"\"type\":\"response_item\",",
        b"\"type\":\"user\",",
        b"\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]",
        b"null",
        b"true",
        b"false",
        b"-1.5e+3",
        b"0",
        b"1e999",
        b" ",
        b"\t",
        b"\0",
        b"\r",
        b"\xEF\xBB\xBF",
        b"\xff",
        b"\xc3\xa9",
        b"\"isMeta\":true,",
        b"\"timestamp\":\"2026-01-05T10:00:00Z\",",
        b"\"session\":7,",
        b"{\"role\":\"user\",\"content\":\"hello\"}",
        b"{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}",
        b"\"name\":\"Ann\",",
        b"\"id\":\"1\",",
    ];
    fuzz("jsonl", &pieces, |input| {
        // one line, as a reader of lines gives it
        let line = input.split(|&b| b == b'\n').next().unwrap_or_default();
        let found = parse_line(line);
        let bare =
            line.iter().position(|b| !b"\0 \t\r".contains(b)).map_or(&[][..], |at| &line[at..]);
        let end = bare.iter().rposition(|b| !b"\0 \t\r".contains(b)).map_or(0, |at| at + 1);
        let bare = &bare[..end];
        let bare = bare.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bare);
        let good = serde_json::from_slice::<Value>(bare);
        let blank = matches!(found, ParsedLine::Blank);
        law(blank == bare.is_empty(), || format!("blank: {found:?}"))?;
        law(good.is_err() || found != ParsedLine::Bad, || "a good line is called bad".to_owned())?;
        // numbers, escapes and control characters are read as leniently as can be, but an object
        // that has no end is none
        let open = bare.first() == Some(&b'{') && bare.last() != Some(&b'}');
        law(found == ParsedLine::Bad || !open, || format!("a torn line is read: {found:?}"))?;
        let mut features: Features =
            vec![("length", class(line.len())), ("depth", class(depth(bare)))];
        features.push((
            "kind",
            match &found {
                ParsedLine::Message(_) => 0,
                ParsedLine::Other => 1,
                ParsedLine::Blank => 2,
                ParsedLine::Bad => 3,
            },
        ));
        if let (Ok(Value::Object(fields)), ParsedLine::Message(message)) = (&good, &found) {
            features.push(("role", xxh3_64(message.role.as_bytes()) % 8));
            let parts = [&message.name, &message.time, &message.session, &message.id];
            let given = parts.iter().enumerate().map(|(at, part)| u64::from(part.is_some()) << at);
            features.push(("fields", given.sum()));
            features.push(("text", class(message.text.len())));
            features.push(("tools", class(message.tools.len())));
            if let (false, Some(content)) = (
                fields.contains_key("message") || fields.contains_key("payload"),
                fields.get("content").and_then(Value::as_str),
            ) {
                let holds = message.text.contains(content) || message.tools.contains(content);
                law(holds, || format!("{content:?} is not in {message:?}"))?;
            }
        }
        if let Ok(Value::Object(fields)) = &good {
            let only = fields.keys().all(|key| key == "role" || key == "content");
            let plain = only && fields.len() == 2 && fields.values().all(Value::is_string);
            law(!plain || matches!(found, ParsedLine::Message(_)), || {
                format!("no message: {found:?}")
            })?;
        }
        Ok(features)
    });
}

/// Where numbers and checksums lie in a snapshot that is whole.
struct Layout {
    bytes: Vec<u8>,
    /// Extents (start, length, sum), those of pages before those of what names them.
    extents: Vec<usize>,
}

const HEAD: usize = 40;
const EXTENT: usize = 24;

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).map_or(0, |word| u64::from_le_bytes(word.try_into().unwrap()))
}

/// The bytes that an extent names, if they lie in the file.
fn named(bytes: &[u8], extent: usize) -> Option<&[u8]> {
    let start = usize::try_from(word(bytes, extent)).ok()?;
    bytes.get(start..start.checked_add(usize::try_from(word(bytes, extent + 8)).ok()?)?)
}

impl Layout {
    fn of(bytes: Vec<u8>) -> Self {
        let sound =
            |at: usize| named(&bytes, at).is_some_and(|b| xxh3_64(b) == word(&bytes, at + 16));
        let arrays: Vec<usize> = (HEAD..).step_by(EXTENT).take_while(|&at| sound(at)).collect();
        assert!(arrays.len() > 20, "the layout has changed: {} arrays", arrays.len());
        let mut extents = Vec::new();
        for &array in &arrays {
            let (start, length) = (word(&bytes, array) as usize, word(&bytes, array + 8) as usize);
            let pages: Vec<usize> = (start..start + length).step_by(EXTENT).collect();
            if length > 0 && length % EXTENT == 0 && pages.iter().all(|&page| sound(page)) {
                extents.extend(pages);
            }
        }
        extents.extend(&arrays);
        Self { bytes, extents }
    }

    /// Makes every checksum hold again, as far as what it is of lies in the file.
    fn seal(&self, bytes: &mut [u8]) {
        let length = bytes.len() as u64;
        bytes[24..32].copy_from_slice(&length.to_le_bytes());
        for &extent in &self.extents {
            if let Some(sum) = named(bytes, extent).map(xxh3_64) {
                bytes[extent + 16..extent + 24].copy_from_slice(&sum.to_le_bytes());
            }
        }
        let end = self.extents.iter().max().map_or(HEAD, |last| last + EXTENT);
        let directory =
            HEAD..self.extents.iter().filter(|&&at| at < 4096).max().map_or(end, |at| at + EXTENT);
        let sum = xxh3_64(&bytes[directory]);
        bytes[32..40].copy_from_slice(&sum.to_le_bytes());
    }

    /// What an input says is to be changed: eight bytes a change, the first byte of all for seals.
    fn changed(&self, input: &[u8]) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let (sealed, changes) =
            input.split_first().map_or((false, input), |(b, rest)| (b % 4 > 0, rest));
        for change in changes.chunks_exact(8) {
            let place = u32::from_le_bytes([change[0], change[1], change[2], 0]) as usize;
            // most of what leads astray is in what names places
            let at = match change[3] % 4 {
                0 => place % bytes.len(),
                1 => self.extents[place % self.extents.len()] + 8 * (place / 7 % 2),
                _ => {
                    let extent = self.extents[place % self.extents.len()];
                    let length = word(&self.bytes, extent + 8).max(1) as usize;
                    (word(&self.bytes, extent) as usize + place / 7 % length).min(bytes.len() - 1)
                }
            };
            match change[4] % 4 {
                0 => bytes[at] ^= change[5],
                1 => bytes[at] = change[5],
                2 => bytes[at] = bytes[at].wrapping_add(change[5] % 3).wrapping_sub(1),
                _ => bytes[at..].iter_mut().take(4).for_each(|byte| *byte = change[5] | 0xF0),
            }
        }
        if sealed {
            self.seal(&mut bytes);
        }
        bytes
    }
}

/// The snapshot of the sample memory.
fn sample_layout() -> Layout {
    let memory = TestRoot::new();
    sample(&memory);
    let store = memory.open(false);
    store.save().unwrap();
    drop(store);
    Layout::of(fs::read(memory.at(".commonplace/index")).unwrap())
}

#[test]
fn snapshot() {
    let layout = sample_layout();
    let (root, weights) = (word(&layout.bytes, 16), Weights::default());
    let read = |bytes: &[u8]| {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let mut catalog = snapshot::read(file, root, &weights)?;
        // writing needs the lists, packing the rows
        let _ = snapshot::write(&catalog, root);
        catalog.repack();
        if catalog.is_damaged() { Err("a page is lost") } else { Ok(()) }
    };
    let mut sealed = layout.bytes.clone();
    layout.seal(&mut sealed);
    assert!(sealed == layout.bytes && read(&sealed).is_ok(), "seals are not those of the core");
    let pieces: [&[u8]; 6] = [
        &[1],
        &[0; 8],
        &[9, 9, 9, 1, 0, 1, 0, 0],
        &[7, 1, 0, 2, 2, 1, 0, 0],
        &[0xFF; 8],
        &[3, 0, 0, 2, 3, 0, 0, 0],
    ];
    fuzz("snapshot", &pieces, |input| {
        let bytes = layout.changed(input);
        let told = read(&bytes);
        let whole = bytes == layout.bytes || input.first().is_some_and(|b| b % 4 > 0);
        // between arrays there are up to seven bytes of nothing
        let gaps = bytes.iter().zip(&layout.bytes).filter(|(a, b)| a != b).count() <= 4;
        law(whole || gaps || told.is_err(), || "damage is not seen".to_owned())?;
        Ok(vec![("told", told.err().map_or(0, |why| xxh3_64(why.as_bytes()) % 64))])
    });
}

#[test]
fn a_snapshot_with_files_out_of_order_is_refused() {
    let layout = sample_layout();
    let first = b"detail/auth.mdfacts/";
    let places = layout.bytes.windows(first.len());
    let at = places.into_iter().position(|bytes| bytes == first).unwrap();
    let mut bytes = layout.bytes.clone();
    bytes[at] = b'z';
    layout.seal(&mut bytes);
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&bytes).unwrap();
    // a file is found by halving, so it would not be found
    assert!(snapshot::read(file, word(&bytes, 16), &Weights::default()).is_err());
}

/// What `apply` does, in plain words: each old text is there once, and none overlaps another.
fn patched(text: &str, edits: &[(String, String)]) -> Option<String> {
    let mut places = Vec::new();
    for (old, new) in edits {
        let found: Vec<usize> = (0..text.len())
            .filter(|&at| text.is_char_boundary(at) && text[at..].starts_with(&**old))
            .collect();
        let [at] = found[..] else { return None };
        places.push((at, at + old.len(), new));
    }
    places.sort_unstable();
    let apart = places.windows(2).all(|pair| pair[0].1 <= pair[1].0);
    if !apart || edits.is_empty() || edits.iter().any(|(old, _)| old.is_empty()) {
        return None;
    }
    let mut result = text.to_owned();
    for (start, end, new) in places.into_iter().rev() {
        result.replace_range(start..end, new);
    }
    Some(result)
}

#[test]
fn patch() {
    let pieces: [&[u8]; 14] = [
        b"\x1e",
        b"\x1f",
        b"a",
        b"b",
        b"ab",
        b"\n",
        b"\r\n",
        b"line\n",
        b"\xc3\xa9",
        b"aa",
        b"\x1eab\x1fx",
        b"\x1eline\x1f\n\n",
        b" ",
        b"\r",
    ];
    fuzz("patch", &pieces, |input| {
        let input = String::from_utf8_lossy(input);
        let mut parts = input.split('\x1e');
        let text = parts.next().unwrap_or_default();
        let edits: Vec<(String, String)> = parts
            .map(|edit| edit.split_once('\x1f').unwrap_or((edit, "")))
            .map(|(old, new)| (old.to_owned(), new.to_owned()))
            .collect();
        let done = apply("a.md", text, &edits).ok();
        let fold = |text: &str| text.replace("\r\n", "\n");
        let alone = |text: &str| fold(text).contains('\r');
        let odd = alone(text) || edits.iter().any(|(old, new)| alone(old) || alone(new));
        let folded: Vec<_> = edits.iter().map(|(old, new)| (fold(old), fold(new))).collect();
        let plain = patched(&fold(text), &folded);
        // a lone "\r" may come to stand before a "\n", which makes a line end of both
        law(odd || done.as_deref().map(fold) == plain, || format!("{done:?}, not {plain:?}"))?;
        let windows = text.contains("\r\n")
            && !fold(text).contains('\r')
            && !text.replace("\r\n", "").contains('\n');
        let kept = done.as_deref().is_none_or(|done| !done.replace("\r\n", "").contains('\n'));
        law(odd || !windows || kept, || format!("mixed line ends: {done:?}"))?;
        Ok(vec![
            ("edits", class(edits.len())),
            ("done", u64::from(done.is_some()) + 2 * u64::from(windows) + 4 * u64::from(odd)),
            ("longer", done.map_or(9, |done| class(done.len().abs_diff(text.len())))),
        ])
    });
}
