//! Decoded JSON string that maps its byte positions back to the raw text.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr;

use crate::messages::json_string::{decode, escape};

/// The text of a string body, and where its escapes stood.
#[derive(Debug)]
pub(super) struct DecodedString<'a> {
    pub text: Cow<'a, str>,
    /// Before and behind each escape: the place in the text, and in the body.
    places: Vec<(usize, usize)>,
}

impl<'a> DecodedString<'a> {
    pub fn new(body: &'a [u8]) -> Self {
        // what is not UTF-8 is lengthened by decoding, and never gets here: lines are checked
        if memchr(b'\\', body).is_none() || std::str::from_utf8(body).is_err() {
            return Self { text: decode(body), places: Vec::new() };
        }
        let (mut text, mut places) = (String::with_capacity(body.len()), Vec::new());
        let mut at = 0;
        while let Some(slash) = memchr(b'\\', &body[at..]) {
            text.push_str(&String::from_utf8_lossy(&body[at..at + slash]));
            at += slash;
            let (c, used) = escape(&body[at..]);
            places.push((text.len(), at));
            text.push(c);
            at += used;
            places.push((text.len(), at));
        }
        text.push_str(&String::from_utf8_lossy(&body[at..]));
        Self { text: Cow::Owned(text), places }
    }

    /// Where in the body a range of the text stands, with whole escapes.
    pub fn raw(&self, range: Range<usize>) -> Range<usize> {
        self.raw_place(range.start)..self.raw_place(range.end)
    }

    fn raw_place(&self, at: usize) -> usize {
        let behind = self.places.partition_point(|place| place.0 <= at);
        match behind.checked_sub(1) {
            Some(last) => self.places[last].1 + (at - self.places[last].0),
            None => at,
        }
    }
}
