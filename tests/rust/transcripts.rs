//! Transcript tests: messages in every known format, and their import.

use std::sync::atomic::{AtomicUsize, Ordering};

use commonplace_core::error::Error;
use commonplace_core::memory_limit::MemoryLimit;
use commonplace_core::messages::formats::import;
use commonplace_core::messages::line_reader::lines;
use commonplace_core::messages::message::{Message, ParsedLine, parse};
use proptest::prelude::*;
use serde_json::Value;

fn message(line: &str) -> Message {
    match parse(line.as_bytes()) {
        ParsedLine::Message(message) => message,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn every_shape() {
    for (line, role, text, tools) in [
        (
            r#"{"type":"user","sessionId":"s","message":{"role":"user","content":"hi"},"toolUseResult":{"stdout":"x"}}"#,
            "user",
            "hi",
            "",
        ),
        (
            r#"{"type":"assistant","session_id":"s","message":{"id":"m","role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"},{"type":"tool_use","name":"Bash","input":{"command":"ls","n":3}},{"type":"text","text":"b"}]}}"#,
            "assistant",
            "a\nb",
            "hm\nBash\nls\n3",
        ),
        (
            r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t","type":"tool_result","content":[{"type":"text","text":"out"}]}]}}"#,
            "user",
            "",
            "out",
        ),
        (
            r#"{"type":"user","isMeta":true,"message":{"role":"user","content":"injected"}}"#,
            "user",
            "",
            "injected",
        ),
        (
            r#"{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"q"}]}}"#,
            "user",
            "q",
            "",
        ),
        (
            r#"{"type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"a\":1}"}}"#,
            "assistant",
            "",
            "shell\n{\"a\":1}",
        ),
        (
            r#"{"type":"response_item","payload":{"type":"function_call_output","output":"done"}}"#,
            "tool",
            "",
            "done",
        ),
        (
            r#"{"type":"message","id":"1","parentId":null,"message":{"role":"toolResult","content":[{"type":"text","text":"r"}]}}"#,
            "toolResult",
            "",
            "r",
        ),
        (
            r#"{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}"#,
            "assistant",
            "",
            "f\n{}",
        ),
        (r#"{"role":"tool","tool_call_id":"c","content":"42"}"#, "tool", "", "42"),
        (r#"{"content":"no role"}"#, "", "no role", ""),
        (r#"{"role":"user","role":"system","content":"x","content":"y"}"#, "system", "y", ""),
        (r#"{"content":"\ud800"}"#, "", "\u{fffd}", ""),
    ] {
        let found = message(line);
        assert_eq!((&*found.role, &*found.text, &*found.tools), (role, text, tools), "{line}");
    }
    let found = message(
        r#"{"speaker":"Ann","time":"1:56 pm on 8 May, 2023","session":7,"id":"x","content":"c"}"#,
    );
    assert_eq!(found.name.as_deref(), Some("Ann"));
    assert_eq!(found.timestamp_ms, Some(1_683_554_160_000));
    assert_eq!((found.session.as_deref(), found.id.as_deref()), (Some("7"), Some("x")));
}

#[test]
fn lines_that_are_no_message() {
    for line in [
        r#"{"type":"progress","data":{"message":{"role":"user","content":"x"}}}"#,
        r#"{"type":"queue-operation","content":"x"}"#,
        r#"{"type":"summary","summary":"x"}"#,
        r#"{"type":"event_msg","payload":{"role":"user","content":"x"}}"#,
        r#"{"role":"user","content":5}"#,
        r#"{"role":1}"#,
        "[]",
        "null",
        r#""s""#,
    ] {
        assert_eq!(parse(line.as_bytes()), ParsedLine::Other, "{line}");
    }
    for line in ["{", "x", r#"{"role":"user","content":"x""#, "\u{28}\u{b5}"] {
        assert_eq!(parse(line.as_bytes()), ParsedLine::Bad, "{line}");
    }
    assert_eq!(parse(b" \0\0\r\n"), ParsedLine::Blank);
}

fn imported(text: &str) -> (commonplace_core::messages::formats::Imported, Vec<Value>) {
    let mut lines = Vec::new();
    let outcome = import(
        text.as_bytes(),
        "m",
        &MemoryLimit::default(),
        &mut |line| {
            assert_eq!(line.iter().filter(|&&b| b == b'\n').count(), 1);
            lines.push(serde_json::from_slice(line).unwrap());
            Ok(())
        },
        &mut |_| {},
        &|| false,
    )
    .unwrap();
    (outcome, lines)
}

#[test]
fn imports() {
    let claude = concat!(
        r#"{"type":"summary","summary":"x"}"#,
        "\n",
        r#"{"type":"user","uuid":"u","sessionId":"s","timestamp":"2026-01-22T05:17:14.894Z","message":{"role":"user","content":[{"type":"text","text":"a"}]}}"#,
        "\nnot json\n",
    );
    let (outcome, lines) = imported(claude);
    assert_eq!((outcome.format, outcome.messages, outcome.bad_lines), ("claude-code", 1, 1));
    assert_eq!((outcome.skipped["summary"], &outcome.first_bad_lines[..]), (1, &[3][..]));
    assert_eq!(
        lines[0].to_string(),
        r#"{"role":"user","content":[{"type":"text","text":"a"}],"timestamp":"2026-01-22T05:17:14.894Z","session":"s","id":"u"}"#
    );
    let codex = concat!(
        r#"{"type":"session_meta","payload":{"id":"S"}}"#,
        "\n",
        r#"{"timestamp":"t","type":"response_item","payload":{"type":"function_call","name":"f","arguments":"{}"}}"#,
    );
    let (outcome, lines) = imported(codex);
    assert_eq!(outcome.format, "codex");
    assert_eq!(lines[0]["session"], "S");
    assert_eq!(message(&lines[0].to_string()).tools, "f\n{}");
    let export = r#"[
 {"uuid":"c","chat_messages":[{"uuid":"1","sender":"human","text":"hi","created_at":"2026-01-01"},
   {"uuid":"2","sender":"assistant","text":"yo"}]}]"#;
    let (outcome, lines) = imported(export);
    assert_eq!((outcome.format, outcome.messages), ("claude-ai", 2));
    assert_eq!(
        (&lines[0]["role"], &lines[1]["content"]),
        (&Value::from("user"), &Value::from("yo"))
    );
    let (outcome, lines) = imported("{\"role\":\"user\",\"content\":\"tab\there \\x\"}\n");
    assert_eq!(
        (outcome.format, &lines[0]["content"]),
        ("plain", &Value::from("tab\there \u{fffd}x"))
    );
}

proptest! {
    #[test]
    fn import_keeps_text_and_name(text in "\\PC{0,30}", name in "[a-z]{1,8}", id: u32, shape in 0..3) {
        let text_json = Value::from(&*text);
        let line = match shape {
            0 => format!(r#"{{"role":"user","content":{text_json},"name":"{name}","id":{id}}}"#),
            1 => format!(r#"{{"type":"user","uuid":"{id}","name":"{name}","message":{{"role":"user","content":{text_json}}}}}"#),
            _ => format!(r#"{{"type":"message","id":"{id}","name":"{name}","message":{{"role":"user","content":[{{"type":"text","text":{text_json}}}]}}}}"#),
        };
        let (_, lines) = imported(&line);
        prop_assert_eq!(message(&lines[0].to_string()), message(&line));
    }

    #[test]
    fn any_bytes_are_harmless(text: Vec<u8>) {
        let _ = parse(&text);
        let _ = import(&text[..], "m", &MemoryLimit::default(), &mut |_| Ok(()), &mut |_| {}, &|| false);
    }
}

#[test]
fn the_lines_of_a_file_are_read_no_further_once_somebody_asks_to_stop() {
    let path = std::env::temp_dir().join(format!("commonplace-lines-{}", std::process::id()));
    std::fs::write(&path, "a line\n".repeat(200_000)).unwrap();
    let file = std::fs::File::open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let (seen, size) = (AtomicUsize::new(0), file.metadata().unwrap().len());
    let stop = || seen.load(Ordering::Relaxed) > 0;
    let mut each = |_: u64, _: &[u8], _: bool| {
        let _ = seen.fetch_add(1, Ordering::Relaxed);
    };
    let done = lines(&file, "a", 0..size, 1 << 20, &stop, &mut each);
    assert!(matches!(done, Err(Error::Interrupted)));
    assert!(seen.into_inner() < 100_000);
}

#[test]
fn a_line_is_whole_up_to_the_limit_wherever_it_begins() {
    let path = std::env::temp_dir().join(format!("commonplace-limit-{}", std::process::id()));
    for length in [99, 100, 101, 600_000] {
        for before in [0, 1, (1 << 18) - 1, 1 << 18] {
            let text = [vec![b'\n'; before], vec![b'x'; length - 1], b"\n".to_vec()].concat();
            std::fs::write(&path, &text).unwrap();
            let file = std::fs::File::open(&path).unwrap();
            let mut last = (0, false);
            let mut each = |start: u64, line: &[u8], whole: bool| {
                last = (start as usize + line.len(), whole);
            };
            lines(&file, "a", 0..text.len() as u64, 100, &|| false, &mut each).unwrap();
            assert_eq!(last, (text.len(), length <= 100), "{before} {length}");
        }
    }
    std::fs::remove_file(&path).unwrap();
}
