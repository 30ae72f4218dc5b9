//! Test helper for grep: temporary files, all matches of a scan, JSON strings with chosen escapes.

use std::fs::File;
use std::io::Write;

use commonplace_core::grep::{Match, Scan};

/// Writes a JSON string, choosing a spelling for each character by `spelling`.
pub fn spell(text: &str, spelling: &[u8]) -> String {
    let mut out = String::from("\"");
    for (i, c) in text.chars().enumerate() {
        let choice = spelling.get(i % spelling.len().max(1)).copied().unwrap_or(0) % 8;
        match (c, choice) {
            ('\n', 0..6) => out.push_str("\\n"),
            ('"' | '\\', 0..6) => out.extend(['\\', c]),
            ('/', 1) => out.push_str("\\/"),
            (c, 0..6) if c >= ' ' => out.push(c),
            (c, choice) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let hex = if choice == 6 {
                        format!("\\u{unit:04x}")
                    } else {
                        format!("\\u{unit:04X}")
                    };
                    out.push_str(&hex);
                }
            }
        }
    }
    out.push('"');
    out
}

/// Interrupts nothing.
pub fn never() -> bool {
    false
}

/// Makes a file that is gone when it is closed.
pub fn file(content: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(content).unwrap();
    file
}

/// Makes such a file that nobody has open for writing, so that it may be mapped.
pub fn at_rest(content: &[u8]) -> File {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(content).unwrap();
    File::open(file.path()).unwrap()
}

/// Takes all batches of a scan.
pub fn all(scan: &mut Scan) -> Vec<Match> {
    let mut found = Vec::new();
    loop {
        let batch = scan.next_batch(&never).unwrap();
        if batch.is_empty() {
            return found;
        }
        found.extend(batch);
    }
}
