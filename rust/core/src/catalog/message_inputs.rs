//! Extraction of index inputs from the lines of a transcript, each with its neighbours as context.

use std::cell::RefCell;

use xxhash_rust::xxh3::xxh3_64;

use crate::catalog::doc_table::{ASKS, ENDS_ASKING, SectionMeta, TELLS_TIME};
use crate::catalog::extract::{Corpus, IndexInput};
use crate::index::bm25f::Field;
use crate::index::dictionary::word_counts::CountedText;
use crate::messages::message::{self, Message, ParsedLine};
use crate::text::language::tells_time;
use crate::text::question::asks;
use crate::text::time;

/// Extracts messages from lines; each is complete when the next one is known, which is its context.
#[derive(Debug)]
pub struct MessageInputs {
    corpus: Corpus,
    before: Option<KeptMessage>,
    last: Option<(LineSpan, KeptMessage)>,
    /// Spare buffer for the counts of the next message.
    spare: CountedText,
}

/// A message with the counts of its text, which up to three documents have.
#[derive(Debug)]
struct KeptMessage {
    message: Message,
    counted: RefCell<CountedText>,
}

impl KeptMessage {
    fn new(message: Message, mut spare: CountedText) -> Self {
        spare.clear();
        Self { message, counted: RefCell::new(spare) }
    }
}

#[derive(Debug, Clone, Copy)]
struct LineSpan {
    start: u64,
    length: u32,
    line: u32,
    hash: u64,
}

impl MessageInputs {
    /// Starts at the beginning of a transcript, or behind the message `before`.
    pub fn new(corpus: Corpus, before: Option<Message>) -> Self {
        let spare = CountedText::default();
        let before = before.map(|message| KeptMessage::new(message, CountedText::default()));
        Self { corpus, before, last: None, spare }
    }

    /// Takes the next line; returns what it is, and of a message whether it has text.
    pub fn line(
        &mut self,
        start: u64,
        line: u32,
        bytes: &[u8],
        each: &mut dyn FnMut(IndexInput<'_>) -> bool,
    ) -> ParsedLine<bool> {
        let message = match message::parse(bytes) {
            ParsedLine::Message(message) => message,
            ParsedLine::Other => return ParsedLine::Other,
            ParsedLine::Blank => return ParsedLine::Blank,
            ParsedLine::Bad => return ParsedLine::Bad,
        };
        ParsedLine::Message(self.message(start, line, bytes, message, each))
    }

    /// Takes a message that was parsed from its line; returns whether it has text.
    pub fn message(
        &mut self,
        start: u64,
        line: u32,
        bytes: &[u8],
        message: Message,
        each: &mut dyn FnMut(IndexInput<'_>) -> bool,
    ) -> bool {
        if self.corpus.text(&message).is_empty() {
            return false;
        }
        let line_span = LineSpan { start, length: bytes.len() as u32, line, hash: xxh3_64(bytes) };
        let message = KeptMessage::new(message, std::mem::take(&mut self.spare));
        self.emit(Some(&message), each);
        self.last = Some((line_span, message));
        true
    }

    /// Forgets how often words are in the texts, for another lexicon counts them from here on.
    pub fn forget_counts(&mut self) {
        let last = self.last.as_mut().map(|(_, last)| last);
        for kept in last.into_iter().chain(&mut self.before) {
            kept.counted.get_mut().clear();
        }
    }

    /// Forgets the last message, which was read as a successor only.
    pub fn forget_last(&mut self) {
        self.last = None;
    }

    /// Hands out the last message, which has no successor.
    pub fn finish(&mut self, each: &mut dyn FnMut(IndexInput<'_>) -> bool) {
        self.emit(None, each);
    }

    fn emit(&mut self, after: Option<&KeptMessage>, each: &mut dyn FnMut(IndexInput<'_>) -> bool) {
        let Some((line_span, kept)) = self.last.take() else { return };
        let KeptMessage { message, counted } = &kept;
        let mut input = IndexInput {
            start: line_span.start,
            length: line_span.length,
            line: line_span.line,
            hash: line_span.hash,
            time: message.timestamp_ms,
            role: message.role.clone(),
            session: message.session.clone().unwrap_or_default(),
            section_meta: SectionMeta {
                starts: u8::from(message.is_prompt),
                flags: message_flags(self.corpus.text(message), message.name.is_some()),
                ..SectionMeta::default()
            },
            ..IndexInput::default()
        };
        let speaker = message.name.as_deref().unwrap_or(&message.role);
        let stamp = message.time.as_deref().unwrap_or_default();
        let day = message.timestamp_ms.filter(|_| is_stamp(stamp)).map(time::day_in_words);
        input.add_shared(Field::Body, self.corpus.text(message), counted);
        input.add(Field::Speaker, speaker);
        input.add(Field::Time, day.as_deref().unwrap_or(stamp));
        for neighbour in [self.before.as_ref(), after].into_iter().flatten() {
            if neighbour.message.session == message.session {
                let text = self.corpus.text(&neighbour.message);
                input.add_shared(Field::Context, text, &neighbour.counted);
            }
        }
        input.set_key();
        each(input);
        if let Some(before) = self.before.replace(kept) {
            self.spare = before.counted.into_inner();
        }
    }
}

fn message_flags(text: &str, is_named: bool) -> u8 {
    let asks = match asks(text) {
        (false, _) => 0,
        (true, ends) if ends && is_named => ASKS | ENDS_ASKING,
        (true, _) => ASKS,
    };
    if tells_time(text) { asks | TELLS_TIME } else { asks }
}

/// Returns whether a time is written for machines: nobody asks for it in its letters, and with its
/// seconds each would be a word of its own in the dictionary.
fn is_stamp(time: &str) -> bool {
    time.chars().all(|c| c.is_ascii() && (!c.is_ascii_alphabetic() || matches!(c, 'T' | 'Z')))
}
