//! Placeholders of redacted secrets: comparison of lines that ignores them, and counting.

use std::collections::BTreeMap;

use memchr::memmem;

/// How a placeholder begins; it ends with `]`.
pub const PLACEHOLDER: &str = "[redacted: ";
/// The longest kind; what is longer is text that somebody wrote.
const LONGEST_KIND: usize = 40;

/// Whether two lines differ only by what one of them has a placeholder for.
///
/// A transcript that was imported with other tables, or with its secrets, is known again by this.
pub fn differs_only_by_redaction(first: &[u8], second: &[u8]) -> bool {
    is_redacted_copy(first, second) || is_redacted_copy(second, first)
}

/// Whether `whole` has the text between the placeholders of `redacted`, in this order.
fn is_redacted_copy(redacted: &[u8], whole: &[u8]) -> bool {
    let mut pieces = pieces(redacted).into_iter();
    let Some(mut rest) = pieces.next().and_then(|(first, _)| whole.strip_prefix(first)) else {
        return false;
    };
    let Some((last, _)) = pieces.next_back() else { return rest.is_empty() };
    for (piece, _) in pieces {
        // a secret has at least a byte
        let Some(at) = rest.get(1..).and_then(|rest| memmem::find(rest, piece)) else {
            return false;
        };
        rest = &rest[1 + at + piece.len()..];
    }
    rest.len() > last.len() && rest.ends_with(last)
}

/// The text before each placeholder with its kind, and the text behind the last.
fn pieces(line: &[u8]) -> Vec<(&[u8], Option<&str>)> {
    let (mut pieces, mut start) = (Vec::new(), 0);
    for at in memmem::find_iter(line, PLACEHOLDER) {
        let Some(kind) = kind_at(&line[at..]).filter(|_| at >= start) else { continue };
        pieces.push((&line[start..at], Some(kind)));
        start = at + PLACEHOLDER.len() + kind.len() + 1;
    }
    pieces.push((&line[start..], None));
    pieces
}

fn kind_at(text: &[u8]) -> Option<&str> {
    let kind = text.get(PLACEHOLDER.len()..)?;
    let end = memchr::memchr(b']', &kind[..kind.len().min(LONGEST_KIND)])?;
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b" .-".contains(byte);
    let kind = &kind[..end];
    std::str::from_utf8(kind).ok().filter(|_| kind.iter().all(allowed))
}

/// Counts the placeholders of a text by kind.
pub fn count_placeholders(text: &[u8], counts: &mut BTreeMap<String, u64>) {
    for kind in pieces(text).into_iter().filter_map(|piece| piece.1) {
        *counts.entry(kind.to_owned()).or_default() += 1;
    }
}
