//! A borrowed walk over JSON text: step into what is wanted, step over the rest.
//!
//! Nothing is built and nothing is copied until a caller asks for a decoded
//! string. The grammar of objects and arrays is checked; inside strings and
//! numbers the walk is laxer than the standard on purpose: a raw control
//! character, an unknown escape or a long number must not cost a reader the
//! line. So whatever a strict parser accepts is accepted here, with the same
//! meaning, down to [`MAX_DEPTH`] levels.

use std::borrow::Cow;

use memchr::memchr;

use crate::messages::quote_scan::{self, Stop};

/// Deeper nesting than this is not JSON to us; no format we read comes near it.
pub const MAX_DEPTH: usize = 1024;

/// A position in JSON text. Every method answers `None` when the text is not JSON.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Starts before the first value of `text`.
    pub fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// The first byte of the next value, which tells its type.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        while let Some(&byte) = self.text.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    /// Everything from the next value on.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.text[self.at..]
    }

    /// Whether only white space is left.
    pub fn is_done(&mut self) -> bool {
        self.peek().is_none()
    }

    #[inline]
    fn take(&mut self, wanted: u8) -> Option<()> {
        (self.peek()? == wanted).then(|| self.at += 1)
    }

    /// Steps over a string and gives what stands between its quotes, still escaped.
    #[inline]
    pub fn string(&mut self) -> Option<&'a [u8]> {
        self.take(b'"')?;
        let start = self.at;
        // Most strings are keys and short values: eight bytes at a time beat a call.
        for word in self.text[start..].chunks_exact(8).take(4).enumerate() {
            let (at, bytes) = (start + 8 * word.0, word.1);
            let hit = quotes_and_slashes(bytes);
            if hit == 0 {
                continue;
            }
            let end = at + hit.trailing_zeros() as usize / 8;
            if self.text[end] == b'"' {
                self.at = end + 1;
                return Some(&self.text[start..end]);
            }
            break;
        }
        let quote = quote_scan::next(self.text, start, Stop::Quote)?;
        self.at = quote + 1;
        Some(&self.text[start..quote])
    }

    /// Steps over one value of any type and gives its text.
    pub fn skip(&mut self) -> Option<&'a [u8]> {
        let first = self.peek()?;
        let start = self.at;
        match first {
            b'"' => drop(self.string()?),
            b'{' | b'[' => self.skip_nested()?,
            _ => self.scalar()?,
        }
        Some(&self.text[start..self.at])
    }

    fn scalar(&mut self) -> Option<()> {
        let rest = &self.text[self.at..];
        let end = |b: &u8| matches!(b, b',' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n');
        let word = &rest[..rest.iter().position(end).unwrap_or(rest.len())];
        let number = |b: &u8| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
        let fits = matches!(word, b"true" | b"false" | b"null")
            || (matches!(word.first(), Some(b'-' | b'0'..=b'9')) && word.iter().all(number));
        fits.then(|| self.at += word.len())
    }

    /// Walks nested containers with one bit a level instead of recursion.
    fn skip_nested(&mut self) -> Option<()> {
        let mut objects = [0u64; MAX_DEPTH / 64];
        let mut depth = 0;
        let mut in_object = false;
        loop {
            // At a value, or at the first thing in a container.
            match self.peek()? {
                open @ (b'{' | b'[') => {
                    if depth == MAX_DEPTH {
                        return None;
                    }
                    self.at += 1;
                    in_object = open == b'{';
                    let (word, bit) = (depth / 64, 1u64 << (depth % 64));
                    if in_object {
                        objects[word] |= bit;
                    } else {
                        objects[word] &= !bit;
                    }
                    depth += 1;
                    let close = if in_object { b'}' } else { b']' };
                    if self.peek()? != close {
                        if in_object {
                            self.string()?;
                            self.take(b':')?;
                        }
                        continue;
                    }
                }
                b'"' => drop(self.string()?),
                _ => self.scalar()?,
            }
            // After a value: close containers until there is another one.
            loop {
                match self.peek()? {
                    b',' => {
                        self.at += 1;
                        if in_object {
                            self.string()?;
                            self.take(b':')?;
                        }
                        break;
                    }
                    close @ (b'}' | b']') if (close == b'}') == in_object => {
                        self.at += 1;
                        depth -= 1;
                        if depth == 0 {
                            return Some(());
                        }
                        let above = depth - 1;
                        in_object = objects[above / 64] >> (above % 64) & 1 == 1;
                    }
                    _ => return None,
                }
            }
        }
    }

    /// Steps into an object: `visit` gets each key, still escaped, and must consume its value.
    #[inline]
    pub fn object(
        &mut self,
        mut visit: impl FnMut(&'a [u8], &mut Self) -> Option<()>,
    ) -> Option<()> {
        self.take(b'{')?;
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(());
        }
        loop {
            let key = self.string()?;
            self.take(b':')?;
            visit(key, self)?;
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    /// Steps into an array: `visit` must consume each element.
    #[inline]
    pub fn array(&mut self, mut visit: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.take(b'[')?;
        if self.peek()? == b']' {
            self.at += 1;
            return Some(());
        }
        loop {
            visit(self)?;
            match self.peek()? {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }
}

/// Marks the high bit of each of eight bytes that is a quote or a backslash; only
/// the lowest mark is exact.
#[inline]
fn quotes_and_slashes(bytes: &[u8]) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let word = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    let equal = |byte: u8| {
        let zeroed = word ^ (ONES * u64::from(byte));
        zeroed.wrapping_sub(ONES) & !zeroed & (ONES << 7)
    };
    equal(b'"') | equal(b'\\')
}

/// The text of a string body as [`Cursor::string`] gives it.
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
fn escape(text: &[u8]) -> (char, usize) {
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
    use proptest::prelude::*;
    use serde_json::Value;

    /// The walk's own view of a value, built only to compare it with `serde_json`.
    fn build(cursor: &mut Cursor<'_>) -> Option<Value> {
        match cursor.peek()? {
            b'{' => {
                let mut map = serde_json::Map::new();
                cursor.object(|key, cursor| {
                    map.insert(decode(key).into_owned(), build(cursor)?);
                    Some(())
                })?;
                Some(Value::Object(map))
            }
            b'[' => {
                let mut list = Vec::new();
                cursor.array(|cursor| {
                    list.push(build(cursor)?);
                    Some(())
                })?;
                Some(Value::Array(list))
            }
            b'"' => Some(Value::String(decode(cursor.string()?).into_owned())),
            _ => serde_json::from_slice(cursor.skip()?).ok(),
        }
    }

    fn walk(text: &[u8]) -> Option<Value> {
        let mut cursor = Cursor::new(text);
        let value = build(&mut cursor)?;
        cursor.is_done().then_some(value)
    }

    fn skips(text: &[u8]) -> bool {
        let mut cursor = Cursor::new(text);
        cursor.skip().is_some() && cursor.is_done()
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "\\PC{0,40}|[\"\\\\/\n\t\u{1}😀中]{0,24}".prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 48, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec(("[a-c\"\\\\é]{0,20}", inner), 0..6)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn walk_equals_serde(value in any_json(), pretty: bool) {
            let text = if pretty { serde_json::to_vec_pretty(&value) } else { serde_json::to_vec(&value) }.unwrap();
            prop_assert_eq!(walk(&text), Some(value));
            prop_assert!(skips(&text));
        }

        #[test]
        fn whatever_serde_accepts_is_accepted(value in any_json(), at: prop::sample::Index, byte: u8, cut: bool) {
            let mut text = serde_json::to_vec(&value).unwrap();
            let at = at.index(text.len());
            if cut { text.truncate(at) } else { text[at] = byte }
            if let Ok(value) = serde_json::from_slice::<Value>(&text) {
                prop_assert!(skips(&text));
                // A number changed into a float such as 1e400 is beyond this twin.
                prop_assert_eq!(walk(&text), Some(value));
            } else {
                let _ = walk(&text);
            }
        }

        #[test]
        fn any_bytes_are_harmless(text: Vec<u8>) {
            let _ = (walk(&text), skips(&text), decode(&text));
        }
    }

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

    #[test]
    fn depth_is_bounded() {
        for (depth, fits) in [(MAX_DEPTH, true), (MAX_DEPTH + 1, false), (50_000, false)] {
            let text = [vec![b'['; depth], vec![b']'; depth]].concat();
            assert_eq!(skips(&text), fits, "{depth}");
        }
    }

    #[test]
    fn not_json() {
        for text in [
            "",
            "{",
            "{\"a\":1,}",
            "[1,]",
            "{a:1}",
            "tru",
            "// c",
            "[1}",
            "{\"a\" 1}",
            "\"a",
            "1x",
            "-x",
        ] {
            assert!(!skips(text.as_bytes()), "{text}");
        }
    }
}
