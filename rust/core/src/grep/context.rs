//! Context of a match: the messages or lines around it, read only when asked for.

use std::fs::File;

use memchr::{memchr_iter, memrchr_iter};

use super::cursor::read_full;
use super::options::GrepOptions;
use super::report::{Context, Match};
use super::snippet::beginning;
use crate::error::Result;
use crate::messages::message::{self, ParsedLine};

/// How far from a match its neighbours are looked for, in bytes.
const MAX_CONTEXT_BYTES: u64 = 8 << 20;

/// Fills in `before` and `after`. Messages without text do not count.
pub(super) fn add_context(
    found: &mut Match,
    file: &File,
    path: &str,
    options: &GrepOptions,
    json: bool,
    file_end: u64,
) -> Result<()> {
    let view = |line: &[u8]| read(line, options, json);
    if options.before > 0 {
        let mut size = 64 << 10;
        loop {
            let start = found.offset.saturating_sub(size);
            let text = piece(file, path, start, found.offset)?;
            found.before = before(&text, start, found, options.before, &view);
            if found.before.len() == options.before || start == 0 || size >= MAX_CONTEXT_BYTES {
                break;
            }
            size *= 4;
        }
    }
    if options.after > 0 {
        let mut size = 64 << 10;
        loop {
            let end = (found.end + size).min(file_end);
            let text = piece(file, path, found.end, end)?;
            found.after = after(&text, end == file_end, found, options.after, &view);
            if found.after.len() == options.after || end == file_end || size >= MAX_CONTEXT_BYTES {
                break;
            }
            size *= 4;
        }
    }
    Ok(())
}

fn piece(file: &File, path: &str, start: u64, end: u64) -> Result<Vec<u8>> {
    let mut text = vec![0; (end - start) as usize];
    let read = read_full(file, path, start, &mut text)?;
    text.truncate(read);
    Ok(text)
}

fn before(
    text: &[u8],
    start: u64,
    found: &Match,
    most: usize,
    view: &impl Fn(&[u8]) -> Option<Context>,
) -> Vec<Context> {
    let mut all = Vec::new();
    if text.is_empty() {
        // the match is in the first line
        return all;
    }
    let mut end = text.len() - 1;
    let mut line = found.line;
    // The first line of the piece is whole only at the start of the file.
    let starts =
        memrchr_iter(b'\n', &text[..end]).map(|at| at + 1).chain((start == 0).then_some(0));
    for begin in starts {
        line -= 1;
        if let Some(context) = view(&text[begin..end]) {
            all.push(Context { line, offset: start + begin as u64, ..context });
            if all.len() == most {
                break;
            }
        }
        end = begin.saturating_sub(1);
    }
    all.reverse();
    all
}

fn after(
    text: &[u8],
    whole: bool,
    found: &Match,
    most: usize,
    view: &impl Fn(&[u8]) -> Option<Context>,
) -> Vec<Context> {
    let mut all = Vec::new();
    let (mut begin, mut line) = (0, found.line);
    let last = (whole && text.last().is_some_and(|&b| b != b'\n')).then_some(text.len());
    for end in memchr_iter(b'\n', text).chain(last) {
        line += 1;
        if let Some(context) = view(&text[begin..end]) {
            all.push(Context { line, offset: found.end + begin as u64, ..context });
            if all.len() == most {
                break;
            }
        }
        begin = end + 1;
    }
    all
}

fn read(line: &[u8], options: &GrepOptions, json: bool) -> Option<Context> {
    if !json {
        let text = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
        return Some(Context { text: beginning(&text, options.max_snippet), ..Context::default() });
    }
    let ParsedLine::Message(message) = message::parse_lazy(line) else {
        return None;
    };
    let text = message.text(options.filter.tools);
    (!text.is_empty()).then(|| Context {
        role: message.role().into_owned(),
        name: message.name(),
        time: message.time(),
        text: beginning(&text, options.max_snippet),
        ..Context::default()
    })
}
