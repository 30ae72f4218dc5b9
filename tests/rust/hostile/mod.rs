//! Test helper: hostile test cases, from `hostile.json` beside the repository.

#![allow(dead_code, missing_docs, clippy::print_stdout)]

use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value;

const SHARED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/hostile.json");

pub struct Case {
    pub kind: String,
    /// `None`: not a string, or not UTF-8; such a value cannot reach us.
    pub value: Option<String>,
    /// The value as bytes: of a string, or of Python's `bytes`.
    pub bytes: Option<Vec<u8>>,
    pub setup: String,
    pub expect: String,
}

/// Returns the cases of some kinds; `own` stands in when there is no `hostile.json`.
pub fn cases(kinds: &[&str], own: &str) -> Vec<Case> {
    let text = fs::read_to_string(SHARED).unwrap_or_else(|_| own.to_owned());
    let entries: Vec<Value> = serde_json::from_str(&text).unwrap();
    let field = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    let entries = entries.into_iter().filter(|e| kinds.contains(&field(e, "kind").as_str()));
    let mut cases: Vec<Case> = entries
        .map(|e| Case {
            kind: field(&e, "kind"),
            value: Some(field(&e, "value")),
            bytes: Some(field(&e, "value").into_bytes()),
            setup: field(&e, "setup").replace(".memory", ".commonplace"),
            expect: field(&e, "expect").split(" | ").next().unwrap().to_owned(),
        })
        .collect();
    evaluate(&mut cases);
    cases
}

/// Evaluates all `py:` values in one Python process; without Python they are dropped, aloud.
fn evaluate(cases: &mut Vec<Case>) {
    let is_python = |case: &Case| case.value.as_ref().is_some_and(|v| v.starts_with("py:"));
    let sources: Vec<&str> = cases
        .iter()
        .filter(|case| is_python(case))
        .map(|case| &case.value.as_deref().unwrap()[3..])
        .collect();
    // hex after a letter: a string, bytes, or neither
    let script = "import json, sys\n\
        for source in json.load(sys.stdin):\n\
        \x20   value = eval(source)\n\
        \x20   text = isinstance(value, str)\n\
        \x20   value = value.encode('utf-8', 'surrogatepass') if text else value\n\
        \x20   print(('s' if text else 'b') + value.hex() if isinstance(value, bytes) else '-')";
    let child = Command::new("python3")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        println!("no python3: {} cases left out", sources.len());
        return cases.retain(|case| !is_python(case));
    };
    serde_json::to_writer(child.stdin.take().unwrap(), &sources).unwrap();
    let output = child.wait_with_output().unwrap();
    let mut values = std::str::from_utf8(&output.stdout).unwrap().lines();
    for case in cases.iter_mut().filter(|case| is_python(case)) {
        let hex = values.next().unwrap().as_bytes();
        let digit = |b: u8| u8::try_from(char::from(b).to_digit(16).unwrap()).unwrap();
        case.bytes = (hex[0] != b'-').then(|| {
            hex[1..].chunks(2).map(|pair| (digit(pair[0]) << 4) | digit(pair[1])).collect()
        });
        let text = case.bytes.clone().filter(|_| hex[0] == b's');
        case.value = text.and_then(|bytes| String::from_utf8(bytes).ok());
    }
}
