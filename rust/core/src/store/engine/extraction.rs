//! Extraction of the documents of a file for an engine outside of this process.

use std::borrow::Cow;
use std::ops::{ControlFlow, Range};

use crate::catalog::TranscriptPosition;
use crate::catalog::extract::{self, Corpus, FieldText, IndexInput};
use crate::catalog::message_inputs::MessageInputs;
use crate::error::{Error, Interrupt, Result};
use crate::files::file_kind::FileKind;
use crate::index::bm25f::Field;
use crate::index::dictionary::lexicon::Lexicon;
use crate::messages::formats::SessionRecord;
use crate::messages::line_reader::LONGEST_LINE;
use crate::messages::message::Message;
use crate::store::engine::asked_words::{AskedWords, KeptWords};
use crate::store::engine::document::{EngineDocument, StemmedWord};
use crate::sync::Mutex;
use crate::text::encoding::{as_text, is_utf16};
use crate::text::section::TRAIL;

/// Words above which a dictionary is dropped.
const MAX_KEPT_WORDS: usize = 1 << 17;
/// Dictionaries that are kept: as many as there are threads that read files.
const MAX_KEPT: usize = 2;

/// The dictionaries of the last files, of threads that may have ended: to look up a known word takes
/// a tenth of reading it. Nobody waits for this lock, which in a child of a fork may never be free.
static KEPT: Mutex<Vec<Lexicon>> = Mutex::new(Vec::new());

/// Takes each document, without its words, and those of its own by their stems.
pub(super) type EachDocument<'a> = &'a mut dyn FnMut(&EngineDocument, Vec<StemmedWord<'_>>);

/// Collects the documents of one file.
struct Collector<'a> {
    path: &'a str,
    bytes: &'a [u8],
    corpus: Corpus,
    lexicon: &'a mut Lexicon,
    documents: Vec<EngineDocument>,
    kept: KeptWords<'a>,
    /// How long the contexts of the documents are, of those of which it is known.
    context_lengths: &'a [Option<u16>],
    /// Takes the words, in place of the documents.
    each: Option<EachDocument<'a>>,
}

impl<'a> Collector<'a> {
    fn new(path: &'a str, corpus: Corpus, kept: KeptWords<'a>, lexicon: &'a mut Lexicon) -> Self {
        let (bytes, documents) = (&[][..], Vec::new());
        Self { path, bytes, corpus, lexicon, documents, kept, context_lengths: &[], each: None }
    }
}

/// Returns the documents of a file, in file order: the sections of a note, the messages of a
/// transcript. There are none of another file, and of one in UTF-16.
///
/// # Errors
/// [`Error::Interrupted`].
pub fn documents(
    path: &str,
    bytes: &[u8],
    corpus: Corpus,
    interrupt: Interrupt<'_>,
) -> Result<Vec<EngineDocument>> {
    with_lexicon(|lexicon| {
        let mut collector = Collector::new(path, corpus, KeptWords::All, lexicon);
        collector.bytes = bytes;
        match FileKind::of(path) {
            _ if is_utf16(bytes) => {}
            FileKind::Note if corpus == Corpus::Main => collector.note(interrupt)?,
            FileKind::Transcript => collector.transcript(interrupt)?,
            _ => {}
        }
        Ok(collector.documents)
    })
}

/// Adds the messages that `read` takes to those that are known, of which the last one comes before
/// them; without their bytes and their words.
///
/// # Arguments
/// * `each`: takes their words, without those that only their neighbours say.
///
/// # Errors
/// Those of `read`.
pub(super) fn messages_of_lines(
    path: &str,
    known: &mut Vec<EngineDocument>,
    read: impl FnOnce(&mut dyn FnMut(IndexInput<'_>) -> bool) -> Result<()>,
    each: EachDocument<'_>,
) -> Result<()> {
    let documents = std::mem::take(known);
    *known = with_lexicon(|lexicon| {
        let collector = Collector::new(path, Corpus::Main, KeptWords::All, lexicon);
        let mut collector = Collector { documents, each: Some(each), ..collector };
        read(&mut |input| collector.take(&input))?;
        Ok(collector.documents)
    })?;
    Ok(())
}

/// A line of a transcript that is a message with text.
#[derive(Debug)]
pub(super) struct MessageLine {
    /// First byte in the file.
    pub start: u64,
    /// Its number, from 1.
    pub line: u32,
    /// With the end of the line.
    pub bytes: Vec<u8>,
    pub message: Message,
}

/// Returns the documents of messages that follow each other, without their positions.
///
/// # Arguments
/// * `lines`: these messages, with one before and one behind them for context where there are such.
/// * `own`: which of the lines are asked for.
/// * `context_lengths`: of each of these the length of its context, if it is known: then of the
///   messages beside it no words are counted but those that are kept.
/// * `kept`: the words that they are returned with.
pub(super) fn messages(
    path: &str,
    lines: Vec<MessageLine>,
    own: Range<usize>,
    context_lengths: &[Option<u16>],
    kept: KeptWords<'_>,
) -> Vec<EngineDocument> {
    let mut bytes_of_own = Vec::with_capacity(own.len());
    let mut documents = with_lexicon(|lexicon| {
        let collector = Collector::new(path, Corpus::Main, kept, lexicon);
        let mut collector = Collector { context_lengths, ..collector };
        let mut take = |input: IndexInput<'_>| collector.take(&input);
        // those that are only context are no inputs of their own
        let mut before = None;
        let mut lines = (0..).zip(lines).peekable();
        while let Some((_, line)) = lines.next_if(|(at, _)| *at < own.start) {
            before = Some(line.message);
        }
        let mut messages = MessageInputs::new(Corpus::Main, before);
        for (at, MessageLine { start, line, bytes, message }) in lines {
            messages.message(start, line, &bytes, message, &mut take);
            match own.contains(&at) {
                true => bytes_of_own.push(bytes),
                false => messages.forget_last(),
            }
        }
        messages.finish(&mut take);
        collector.documents
    });
    for (document, bytes) in documents.iter_mut().zip(bytes_of_own) {
        document.bytes = bytes;
    }
    documents
}

fn with_lexicon<T>(read: impl FnOnce(&mut Lexicon) -> T) -> T {
    let mut lexicon = KEPT.try_lock().and_then(|mut kept| kept.pop()).unwrap_or_default();
    let done = read(&mut lexicon);
    if lexicon.words.len() <= MAX_KEPT_WORDS
        && let Some(mut kept) = KEPT.try_lock()
        && kept.len() < MAX_KEPT
    {
        kept.push(lexicon);
    }
    done
}

impl Collector<'_> {
    fn note(&mut self, interrupt: Interrupt<'_>) -> Result<()> {
        let text = as_text(self.bytes);
        let path = self.path;
        extract::note(path, &text, interrupt, &mut |input| self.take(&input))?;
        Ok(())
    }

    fn transcript(&mut self, interrupt: Interrupt<'_>) -> Result<()> {
        let mut messages = MessageInputs::new(self.corpus, None);
        let mut session = SessionRecord::default();
        let mut start = 0;
        let lines = self.bytes.split_inclusive(|&byte| byte == b'\n');
        let done = (1..).zip(lines).try_for_each(|(number, line)| {
            if interrupt() {
                return ControlFlow::Break(());
            }
            if line.len() <= LONGEST_LINE {
                messages.line(start, number, line, &mut |input| self.take(&input));
                session.take_line(number, line);
            }
            start += line.len() as u64;
            ControlFlow::Continue(())
        });
        if done.is_break() {
            return Err(Error::Interrupted);
        }
        messages.finish(&mut |input| self.take(&input));
        let title = SessionRecord::parse(&session.to_text()).header.title;
        self.documents.iter_mut().for_each(|document| document.title.clone_from(&title));
        Ok(())
    }

    /// Returns the length of the context of the next document, if it is known.
    fn context_length(&self) -> Option<u16> {
        self.context_lengths.get(self.documents.len()).copied().flatten()
    }

    /// Counts the words of a document; those of a text that others have too once for all.
    fn add(&mut self, input: &IndexInput<'_>) {
        let is_length_known = self.context_length().is_some();
        for &FieldText { field, text, counted } in &input.fields {
            let Some(counted) = counted else {
                self.lexicon.add(field, text);
                continue;
            };
            let counted = &mut *counted.borrow_mut();
            match self.kept {
                _ if self.each.is_some() && field == Field::Context => {
                    self.lexicon.add_length(field, text, counted);
                }
                KeptWords::Asked(AskedWords { filter: Some(filter), .. }) => {
                    let is_known = field == Field::Context && is_length_known;
                    match is_known {
                        true => self.lexicon.add_filtered(field, text, counted, filter),
                        false => self.lexicon.add_matching(field, text, counted, filter),
                    }
                }
                _ => self.lexicon.add_shared(field, text, counted),
            }
        }
    }

    fn take(&mut self, input: &IndexInput<'_>) -> bool {
        self.add(input);
        if self.lexicon.rereads() {
            self.add(input);
        }
        let (words, mut lengths) = match self.kept {
            KeptWords::All => self.lexicon.finish_words(|_| true),
            KeptWords::Asked(asked) => {
                let concepts = asked.concepts(self.lexicon);
                self.lexicon.finish_words(|concept| concepts.contains(&concept))
            }
        };
        if let Some(length) = self.context_length() {
            lengths[Field::Context as usize] = length;
        }
        let position = self.documents.last().map_or_else(Default::default, |last| {
            let terms = last.lengths[Field::Body as usize];
            let same_session = last.session == input.session;
            last.position.next(terms, same_session, input.section_meta.starts == 1)
        });
        let is_message = FileKind::of(self.path) == FileKind::Transcript;
        let end = input.start as usize + input.length as usize;
        let mut document = EngineDocument {
            path: self.path.to_owned(),
            start: input.start,
            line: input.line,
            hash: input.hash,
            key: input.key,
            bytes: self.bytes.get(input.start as usize..end).unwrap_or_default().to_vec(),
            corpus: self.corpus,
            trail: input.trail.clone(),
            time: input.time,
            role: input.role.clone(),
            session: input.session.clone(),
            category: input.category.clone(),
            title: None,
            section_meta: input.section_meta,
            position: if is_message { position } else { TranscriptPosition::default() },
            lengths,
            words: Vec::new(),
        };
        let lexicon = &*self.lexicon;
        let text = |word: u32| lexicon.words.text(word);
        if let Some(each) = &mut self.each {
            let stem = |word: u32| lexicon.stem_of(lexicon.entry(word).concept);
            let stemmed = words
                .iter()
                .map(|(word, counts)| (stem(*word).map(Cow::Borrowed), text(*word), counts));
            each(&document, stemmed.collect());
        } else {
            let words = words.into_iter();
            document.words = words.map(|(word, counts)| (text(word).into(), counts)).collect();
        }
        self.documents.push(document);
        true
    }
}

impl EngineDocument {
    /// Returns its headings from the outermost down.
    pub fn headings(&self) -> impl Iterator<Item = &str> {
        self.trail.split(TRAIL).filter(|heading| !heading.is_empty())
    }
}
