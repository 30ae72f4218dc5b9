//! Decoded JSON string that maps its byte positions back to the raw text.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr;

use crate::messages::json_string::{decode, escape};

/// The text of a string body, and where its escapes stood.
#[derive(Debug)]
pub(super) struct DecodedString<'a> {
    pub text: Cow<'a, str>,
    /// Where each escape ends: in the text, and in the body.
    places: Vec<(u32, u32)>,
}

impl<'a> DecodedString<'a> {
    pub fn new(body: &'a [u8]) -> Self {
        // what is not UTF-8 is lengthened by decoding, and never gets here: lines are checked
        let Some(mut rest) = std::str::from_utf8(body).ok().filter(|body| body.contains('\\'))
        else {
            return Self { text: decode(body), places: Vec::new() };
        };
        let (mut text, mut places) = (String::with_capacity(body.len()), Vec::new());
        while let Some(slash) = memchr(b'\\', rest.as_bytes()) {
            let (plain, escaped) = rest.split_at(slash);
            text.push_str(plain);
            let (c, used) = escape(escaped.as_bytes());
            text.push(c);
            rest = escaped.get(used..).unwrap_or_default();
            places.push((place(text.len()), place(body.len() - rest.len())));
        }
        text.push_str(rest);
        Self { text: Cow::Owned(text), places }
    }

    /// Where in the body a range of the text stands, with whole escapes.
    pub fn raw(&self, range: Range<usize>) -> Range<usize> {
        self.raw_place(range.start)..self.raw_place(range.end)
    }

    fn raw_place(&self, at: usize) -> usize {
        let behind = self.places.partition_point(|escape| escape.0 as usize <= at);
        match behind.checked_sub(1).map(|last| self.places[last]) {
            Some((text, body)) => body as usize + (at - text as usize),
            None => at,
        }
    }
}

/// A place in a line. No line has 4 GiB, as [`MAX_LINE`](crate::messages::formats::MAX_LINE) tells.
fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
