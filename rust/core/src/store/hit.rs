//! Search hits: the document, its score, and the passage that is shown.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use crate::catalog::extract::Corpus;
use crate::catalog::{Catalog, DocMeta, NO_TIME};
use crate::error::Result;
use crate::files::file_kind::FileKind;
use crate::filter::FilterFields;
use crate::messages::message::Message;
use crate::store::Freshness;
use crate::text::citation::{cite, cite_line};
use crate::text::encoding::line_of;
use crate::text::language::readings::LanguageId;
use crate::text::metadata::after_meta_comment;
use crate::text::section::TRAIL;
use crate::text::snippet::snippet;
use crate::text::snippet_terms::SnippetTerms;
use crate::text::validity::{Statement, today};

/// Characters of a snippet.
pub const SNIPPET_CHARS: usize = 300;

/// What is left of the score of a statement that no longer holds. Of two that match alike the one
/// that holds comes first; where the query has a word more of the other, it still is the first.
pub const ENDED: f32 = 0.7;
/// So many more hits are looked at where one of the best no longer holds.
const BEHIND_ENDED: usize = 30;

/// The kind of document of a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HitSource {
    /// A section of a note.
    Note,
    /// A message.
    Message,
    /// Input or output of a tool.
    Tool,
}

/// One ranked result.
#[derive(Debug, Clone)]
pub struct Hit {
    /// Where it comes from.
    pub source: HitSource,
    /// The file, relative to the root.
    pub path: String,
    /// The first line of the section or message, from 1.
    pub first_line: u64,
    /// The last line of the section or message.
    pub end_line: u64,
    /// First byte of the section or message.
    pub start: u64,
    /// The byte behind it.
    pub end: u64,
    /// Headings from the outermost down.
    pub heading: Vec<String>,
    /// Its score; comparable only within one answer.
    pub score: f32,
    /// All of its text.
    pub text: String,
    /// Its time, in milliseconds since 1970.
    pub timestamp_ms: Option<i64>,
    /// The message, when it is one.
    pub message: Option<Message>,
    /// The category of a section.
    pub category: Option<String>,
    /// The turn, when it is one: then the lines and bytes are those of the turn, and text and
    /// message those of the message that the passage is of.
    pub turn: Option<TurnHit>,
    /// Whether it comes from the archive.
    pub archived: bool,
    /// The language that its words are read in, to show which match.
    pub(super) language: LanguageId,
    pub(super) terms: Arc<SnippetTerms>,
    pub(super) passage: OnceLock<Passage>,
}

/// What is shown of a turn besides its passage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnHit {
    /// What the person said; none where a transcript or a session begins without a prompt.
    pub prompt: Option<String>,
    /// The title of the session, if its transcript says one.
    pub title: Option<String>,
    /// The line of the message that the passage is of.
    pub line: u64,
}

/// The part of a hit that best shows why it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// Its first line, from 1.
    pub line: u64,
    /// `path#Lline`; of a turn the range of its lines, `path#L10-L24`.
    pub citation: String,
    /// Its text, white space folded. Of a statement with a mark (`text/validity`) it ends with what
    /// the mark says: `User lives in Berlin (until 2026-11-01)`.
    pub snippet: String,
    /// Character ranges in it that matched.
    pub highlights: Vec<(usize, usize)>,
}

/// The folder that imports write sessions to, with a folder for each project.
const SESSIONS: &str = "sessions/";

impl Hit {
    /// Makes the hit of a document with the text that was read of it.
    pub(super) fn of_document(
        catalog: &Catalog,
        doc: &DocMeta,
        score: f32,
        (text, message): (String, Option<Message>),
        terms: &Arc<SnippetTerms>,
    ) -> Self {
        let first_line = u64::from(doc.line);
        let end_line = match message {
            Some(_) => first_line,
            None => first_line + line_of(text.trim_end().as_bytes(), usize::MAX) - 1,
        };
        let label = |id: u32| catalog.labels.text(id);
        let file = &catalog.files[doc.file as usize];
        let trail = label(doc.trail).split(TRAIL);
        Self {
            source: match (file.kind, catalog.corpus()) {
                (FileKind::Note, _) => HitSource::Note,
                (_, Corpus::Main) => HitSource::Message,
                (_, Corpus::Tools) => HitSource::Tool,
            },
            path: file.path.clone(),
            first_line,
            end_line,
            start: doc.start,
            end: doc.start + u64::from(doc.length),
            heading: trail.filter(|heading| !heading.is_empty()).map(str::to_owned).collect(),
            score,
            text,
            timestamp_ms: Some(doc.time).filter(|&time| time != NO_TIME),
            message,
            category: Some(label(doc.category)).filter(|c| !c.is_empty()).map(str::to_owned),
            turn: None,
            archived: false,
            language: LanguageId::BY_WORD,
            terms: terms.clone(),
            passage: OnceLock::new(),
        }
    }

    /// Sets the language that its words are read in.
    pub(super) fn read_in(self, language: LanguageId) -> Self {
        Self { language, ..self }
    }

    /// Makes the hit of a turn, of which this is the message that is shown.
    pub(super) fn of_turn(
        self,
        [first, last]: [&DocMeta; 2],
        prompt: Option<String>,
        title: Option<String>,
    ) -> Self {
        Self {
            turn: Some(TurnHit { prompt, title, line: self.first_line }),
            first_line: u64::from(first.line),
            end_line: u64::from(last.line),
            start: first.start,
            end: last.start + u64::from(last.length),
            ..self
        }
    }

    /// Returns the project of a session: the folder below `sessions` that holds its own.
    pub fn project(&self) -> Option<&str> {
        let (project, session) = self.path.strip_prefix(SESSIONS)?.split_once('/')?;
        session.contains('/').then_some(project)
    }

    /// Returns the statement that the hit is, if it is one that says until when it holds.
    pub fn statement(&self) -> Option<Statement<'_>> {
        match self.source {
            HitSource::Note => Statement::read(&self.text),
            _ => None,
        }
    }

    /// Returns whether it is a statement that no longer holds today.
    pub fn has_ended(&self) -> bool {
        self.statement().is_some_and(|statement| statement.has_ended(&today()))
    }

    /// Returns the passage to show; it is looked for when first asked for, which costs as much as
    /// all the rest of a hit.
    pub fn passage(&self) -> &Passage {
        self.passage.get_or_init(|| {
            let behind = after_meta_comment(&self.text).filter(|rest| !rest.is_empty());
            let from = match (&self.message, behind) {
                (None, Some(rest)) => self.text.len() - rest.len(),
                _ => 0,
            };
            let statement = self.statement().filter(|_| from == 0);
            let shown = match &statement {
                Some(statement) => statement.shown(),
                None => self.text[from..].into(),
            };
            let note = statement.as_ref().map(Statement::note).unwrap_or_default();
            let width = SNIPPET_CHARS - note.chars().count();
            let found = snippet(&shown, self.language, &self.terms, width);
            let line = match (&self.turn, &self.message) {
                (Some(turn), _) => turn.line,
                (None, Some(_)) => self.first_line,
                (None, None) => {
                    let before = line_of(self.text.as_bytes(), from) - 1;
                    self.first_line + before + line_of(shown.as_bytes(), found.start) - 1
                }
            };
            let citation = match self.turn {
                Some(_) => cite(&self.path, self.first_line, self.end_line),
                None => cite_line(&self.path, line),
            };
            let (snippet, highlights) = (found.text + &note, found.highlights);
            Passage { line, citation, snippet, highlights }
        })
    }
}

impl FilterFields for Hit {
    fn path(&self) -> &str {
        &self.path
    }

    fn timestamp_ms(&self) -> Option<i64> {
        self.timestamp_ms
    }

    fn line(&self) -> u64 {
        self.turn.as_ref().map_or(self.first_line, |turn| turn.line)
    }

    fn role(&self) -> Cow<'_, str> {
        self.message.as_ref().map(|message| &*message.role).unwrap_or_default().into()
    }

    fn session(&self) -> Cow<'_, str> {
        let message = self.message.as_ref();
        message.and_then(|message| message.session.as_deref()).unwrap_or_default().into()
    }

    fn category(&self) -> Cow<'_, str> {
        self.category.as_deref().unwrap_or_default().into()
    }
}

/// Two hits are equal when everything that is shown of them is.
impl PartialEq for Hit {
    fn eq(&self, other: &Self) -> bool {
        (self.source, self.score, self.start, self.end, &self.heading, &self.text)
            == (other.source, other.score, other.start, other.end, &other.heading, &other.text)
            && self.turn == other.turn
            && self.passage() == other.passage()
    }
}

/// The answer to a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Hits {
    /// Best first.
    pub hits: Vec<Hit>,
    /// How far they can be trusted.
    pub freshness: Freshness,
    /// How much of the query the best hit says, in 0…1; 0 without a hit.
    pub confidence: f32,
    /// What was not used or could not be read, and why.
    pub notes: Vec<String>,
    /// Whether no text holds a phrase of the query, and its words were searched instead.
    pub phrase_missed: bool,
}

impl Hits {
    /// Moves statements that no longer hold behind those that do and match as well.
    ///
    /// # Arguments
    /// * `find`: returns so many hits, best first.
    /// * `limit`: how many are wanted.
    ///
    /// # Errors
    /// Those of `find`.
    pub(super) fn with_ended_behind(
        limit: usize,
        mut find: impl FnMut(usize) -> Result<Self>,
    ) -> Result<Self> {
        let mut found = find(limit)?;
        let ended = |hits: &Self| hits.hits.iter().any(Hit::has_ended);
        if !ended(&found) {
            return Ok(found);
        }
        if found.hits.len() >= limit {
            found = find(limit.saturating_add(BEHIND_ENDED))?;
        }
        for hit in found.hits.iter_mut().filter(|hit| hit.has_ended()) {
            hit.score *= ENDED;
        }
        // stable: what was before another of the same score stays before it
        found.hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        found.hits.truncate(limit);
        Ok(found)
    }

    /// Returns these hits and those of the archive, which were scored by the same statistics, best
    /// first, and at most `limit`; ties by path, then by position.
    #[must_use]
    pub fn with_archived(mut self, archived: Self, limit: usize) -> Self {
        let others = archived.hits.into_iter();
        self.hits.extend(others.map(|hit| Hit { archived: true, ..hit }));
        self.hits.sort_by(|a, b| {
            let by_place = || (&a.path, a.start).cmp(&(&b.path, b.start));
            b.score.total_cmp(&a.score).then_with(by_place)
        });
        self.hits.truncate(limit);
        self.freshness = self.freshness.max(archived.freshness);
        self.confidence = self.confidence.max(archived.confidence);
        let new = archived.notes.into_iter().filter(|note| !self.notes.contains(note));
        let new: Vec<String> = new.collect();
        self.notes.extend(new);
        self
    }
}
