//! Decoder of JSON strings: escapes, surrogate pairs, invalid bytes.

use std::borrow::Cow;

use memchr::memchr;

/// The text of a string body as [`crate::messages::json::PullParser::string`] gives it.
///
/// Lone surrogates, unknown escapes and bytes that are not UTF-8 become U+FFFD.
pub fn decode(body: &[u8]) -> Cow<'_, str> {
    if memchr(b'\\', body).is_none() {
        return String::from_utf8_lossy(body);
    }
    let mut out = String::with_capacity(body.len());
    decode_into(body, &mut out);
    Cow::Owned(out)
}

/// Appends the text of a string body to `out`; see [`decode`].
pub fn decode_into(body: &[u8], out: &mut String) {
    let mut rest = body;
    while let Some(slash) = memchr(b'\\', rest) {
        push_lossy(&rest[..slash], out);
        let (text, used) = escape(&rest[slash..]);
        out.push(text);
        rest = &rest[slash + used..];
    }
    push_lossy(rest, out);
}

fn push_lossy(bytes: &[u8], out: &mut String) {
    match std::str::from_utf8(bytes) {
        Ok(text) => out.push_str(text),
        Err(_) => out.push_str(&String::from_utf8_lossy(bytes)),
    }
}

/// What the escape at the start of `text` means and how many bytes it takes.
pub(crate) fn escape(text: &[u8]) -> (char, usize) {
    let simple = match text.get(1) {
        Some(b'n') => '\n',
        Some(b't') => '\t',
        Some(b'r') => '\r',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(&byte @ (b'"' | b'\\' | b'/')) => byte as char,
        Some(b'u') => return unicode_escape(text),
        // An unknown escape: only the backslash is lost.
        _ => return (char::REPLACEMENT_CHARACTER, 1),
    };
    (simple, 2)
}

fn unicode_escape(text: &[u8]) -> (char, usize) {
    let Some(high) = unit(text) else {
        return (char::REPLACEMENT_CHARACTER, 1);
    };
    if let Some(c) = char::from_u32(high.into()) {
        return (c, 6);
    }
    let low = text.get(6..).and_then(unit);
    match low.and_then(|low| char::decode_utf16([high, low]).next()) {
        Some(Ok(c)) => (c, 12),
        _ => (char::REPLACEMENT_CHARACTER, 6),
    }
}

/// The UTF-16 unit that a `\uXXXX` at the start of `text` spells.
pub(crate) fn unit(text: &[u8]) -> Option<u16> {
    let digits = text.get(..6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, &digit| {
        let value = (digit as char).to_digit(16)?;
        Some(unit << 4 | value as u16)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        for (body, text) in [
            (r"a\u0041\n\/", "aA\n/"),
            (r"\ud83d\ude00\uD83D", "😀\u{fffd}"),
            (r"\ude00x", "\u{fffd}x"),
            (r"\ud83dA", "\u{fffd}A"),
            (r"\ud83d\u0041", "\u{fffd}A"),
            (r"\x\u12", "\u{fffd}x\u{fffd}u12"),
        ] {
            assert_eq!(decode(body.as_bytes()), text, "{body}");
        }
        assert_eq!(decode(b"caf\xe9 \\t"), "caf\u{fffd} \t");
    }
}
