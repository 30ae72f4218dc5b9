//! Grep tests over hostile bytes, against a reference that decodes every line.

mod grep_helpers;

use commonplace_core::filter::SearchFilter;
use commonplace_core::grep::{Case, GrepOptions, Match, Scan};
use commonplace_core::messages::message::{ParsedLine, parse};
use grep_helpers::{all, at_rest, file, never, spell};
use proptest::prelude::*;
use proptest::sample::select;
use regex_automata::meta::Regex;
use regex_automata::util::syntax;

/// The numbers of the lines that hold a pattern.
fn reference(content: &[u8], json: bool, options: &GrepOptions) -> Vec<u64> {
    let caseless = match options.case {
        Case::Smart => !options.pattern.chars().any(char::is_uppercase),
        case => case == Case::Ignore,
    };
    let syntax = syntax::Config::new().case_insensitive(caseless);
    let pattern = regex_syntax::escape(&options.pattern);
    let regex = Regex::builder().syntax(syntax).build(&pattern).unwrap();
    let holds = |line: &[u8]| {
        if !json {
            return regex.is_match(String::from_utf8_lossy(line).as_bytes());
        }
        let ParsedLine::Message(message) = parse(line) else {
            return false;
        };
        regex.is_match(&message.text) || options.filter.tools && regex.is_match(&message.tools)
    };
    let lines = (1..).zip(content.split(|&byte| byte == b'\n'));
    lines.filter(|(_, line)| holds(line)).map(|(number, _)| number).collect()
}

/// Up to 19 characters, often few different ones, of which some differ by the case bit alone.
fn any_pattern() -> impl Strategy<Value = String> {
    let letters = "[{@`\\|]}^~_\u{7f}aAkKsSzZuU\"04\u{c}-*.!é中😀ÿ".chars().collect::<Vec<_>>();
    let alphabet = prop::collection::vec(select(letters), 1..5);
    alphabet.prop_flat_map(|alphabet| {
        prop::collection::vec(select(alphabet), 1..20).prop_map(|all| all.into_iter().collect())
    })
}

/// What is like the pattern, and what may hide it.
fn any_bytes(pattern: &str) -> impl Strategy<Value = Vec<u8>> + use<> {
    let own = pattern.as_bytes().to_vec();
    let [whole, like, begun, one] = [(); 4].map(|()| own.clone());
    let size = own.len();
    let escaped = pattern.to_owned();
    let many = select(vec![1, 2, 3, 4, 13, 16, 17, 61, 64, 65, 191, 254, 255, 256, 257, 511]);
    let piece = prop_oneof![
        4 => Just(whole),
        4 => any::<u32>().prop_map(move |mask| {
            let flip = |(at, byte): (usize, &u8)| byte ^ ((mask >> (at % 32) & 1) as u8 * 0x20);
            like.iter().enumerate().map(flip).collect()
        }),
        2 => (0..size).prop_map(move |end| begun[..end].to_vec()),
        3 => prop::collection::vec(any::<u8>(), 1..8).prop_map(move |spelling| {
            let quoted = spell(&escaped, &spelling);
            quoted.as_bytes()[1..quoted.len() - 1].to_vec()
        }),
        3 => (select(vec![r"\", r"\", r#"\""#, r#"\\""#, "\"", r"\u", r"\u00"]), many.clone())
            .prop_map(|(piece, many)| piece.repeat(many).into_bytes()),
        2 => (select(vec![0xff, 0, b' ', 0x80, b'x']), many.clone())
            .prop_map(|(byte, many)| vec![byte; many]),
        2 => (0..size, many, any::<bool>()).prop_map(move |(at, many, flip)| {
            vec![one[at] ^ (u8::from(flip) * 0x20); many]
        }),
        2 => prop::collection::vec(any::<u8>(), 0..6),
        1 => select(vec![b"\n".to_vec(), b"\r\n".to_vec(), b"\r".to_vec()]),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// A line of a transcript in which the bytes stand as they are, or so that they can be read.
fn any_line(pattern: &str) -> impl Strategy<Value = Vec<u8>> + use<> {
    let spelling = prop::collection::vec(any::<u8>(), 1..6);
    let shapes = select(vec![
        (r#"{"role":"user","content":"#, "}"),
        (r#"{"x":"\\","message":{"content":[{"type":"text","text":"#, r#"}],"role":"user"}}"#),
        (r#"{"role":"tool","content":"#, "}"),
        (
            r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"#,
            "}]}}",
        ),
        (r#"{"file":{"content":"#, r#"},"role":"user","content":"a"}"#),
    ]);
    (any_bytes(pattern), spelling, shapes, any::<bool>()).prop_map(
        |(bytes, spelling, (before, after), raw)| match raw {
            true => [before.as_bytes(), b"\"", &bytes, b"\"", after.as_bytes()].concat(),
            false => {
                let text = String::from_utf8_lossy(&bytes);
                [before, &spell(&text, &spelling), after].concat().into_bytes()
            }
        },
    )
}

/// A pattern, whether it is sought in a transcript, and the text.
fn any_case() -> impl Strategy<Value = (String, bool, Vec<u8>)> {
    (any_pattern(), any::<bool>()).prop_flat_map(|(pattern, json)| {
        let line = match json {
            true => any_line(&pattern).boxed(),
            false => any_bytes(&pattern).boxed(),
        };
        let text = prop::collection::vec(line, 0..6).prop_map(|lines| lines.join(&b'\n'));
        (Just(pattern), Just(json), text)
    })
}

fn lines_of(found: &[Match]) -> Vec<u64> {
    found.iter().map(|found| found.line).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn hostile_bytes_equal_the_plain_reference(
        (pattern, json, mut content) in any_case(),
        case in select(vec![Case::Smart, Case::Sensitive, Case::Ignore]),
        tools: bool,
        ends: bool,
        chunk in select(vec![13usize, 64, 300, 1 << 18]),
        newest_first: bool,
        threads in 1..3usize,
        mapped: bool,
    ) {
        if ends { content.push(b'\n') }
        let worth_mapping = if mapped { 0 } else { u64::MAX };
        let options = GrepOptions {
            pattern, case, chunk, newest_first, threads, worth_mapping,
            filter: SearchFilter { tools, ..SearchFilter::default() },
            fixed: true, ..GrepOptions::default()
        };
        let expected = reference(&content, json, &options);
        let scan = || {
            let file = if mapped { at_rest(&content) } else { file(&content) };
            let options = options.clone();
            if json { Scan::transcript(file, "m", options) } else { Scan::note(file, "m", options) }
        };
        let mut finds = scan().unwrap();
        let mut found = lines_of(&all(&mut finds));
        if newest_first { found.reverse() }
        prop_assert_eq!(found, &expected[..]);
        prop_assert_eq!(finds.report().bytes, content.len() as u64);
        let mut counts = scan().unwrap();
        prop_assert_eq!(counts.count(&never).unwrap(), expected.len() as u64);
        prop_assert_eq!(counts.report(), finds.report());
    }
}
