//! Lazy pull parser for JSON: step into what is wanted, skip the rest.
//!
//! Nothing is built and nothing is copied until a caller asks for a decoded
//! string. The grammar of objects and arrays is checked; inside strings and
//! numbers the parser is laxer than the standard on purpose: a raw control
//! character, an unknown escape or a long number must not cost a reader the
//! line. So whatever a strict parser accepts is accepted here, with the same
//! meaning, down to [`MAX_DEPTH`] levels.

use crate::messages::quote_scan::{self, StopAt};

/// Deeper nesting than this is not JSON to us; no format we read comes near it.
pub const MAX_DEPTH: usize = 1024;

/// A position in JSON text. Every method answers `None` when the text is not JSON.
#[derive(Clone, Debug)]
pub struct PullParser<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> PullParser<'a> {
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
        let (words, _) = self.text[start..].as_chunks();
        for (number, &word) in words.iter().take(4).enumerate() {
            let hit = quotes_and_slashes(u64::from_le_bytes(word));
            if hit == 0 {
                continue;
            }
            let end = start + 8 * number + hit.trailing_zeros() as usize / 8;
            if self.text[end] == b'"' {
                self.at = end + 1;
                return Some(&self.text[start..end]);
            }
            break;
        }
        let quote = quote_scan::next(self.text, start, StopAt::Quote)?;
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
fn quotes_and_slashes(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let equal = |byte: u8| {
        let zeroed = word ^ (ONES * u64::from(byte));
        zeroed.wrapping_sub(ONES) & !zeroed & (ONES << 7)
    };
    equal(b'"') | equal(b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::json_string::decode;
    use proptest::prelude::*;
    use serde_json::Value;

    /// A value as the parser reads it, built only to compare it with `serde_json`.
    fn build(parser: &mut PullParser<'_>) -> Option<Value> {
        match parser.peek()? {
            b'{' => {
                let mut map = serde_json::Map::new();
                parser.object(|key, parser| {
                    map.insert(decode(key).into_owned(), build(parser)?);
                    Some(())
                })?;
                Some(Value::Object(map))
            }
            b'[' => {
                let mut list = Vec::new();
                parser.array(|parser| {
                    list.push(build(parser)?);
                    Some(())
                })?;
                Some(Value::Array(list))
            }
            b'"' => Some(Value::String(decode(parser.string()?).into_owned())),
            _ => serde_json::from_slice(parser.skip()?).ok(),
        }
    }

    fn walk(text: &[u8]) -> Option<Value> {
        let mut parser = PullParser::new(text);
        let value = build(&mut parser)?;
        parser.is_done().then_some(value)
    }

    fn skips(text: &[u8]) -> bool {
        let mut parser = PullParser::new(text);
        parser.skip().is_some() && parser.is_done()
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
        fn values_equal_those_of_serde(value in any_json(), pretty: bool) {
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
                // A number changed into a float such as 1e400 is beyond this reference.
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
