//! Ranked documents as hits: read from their files, checked, with a snippet and a citation.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;

use xxhash_rust::xxh3::xxh3_64;

use crate::catalog::{Catalog, Row};
use crate::draft::{Kind, TRAIL};
use crate::error::{Error, Interrupt, Result};
use crate::message::{self, Line, Message};
use crate::query::Query;
use crate::search::{Filter, Found, explain, search};
use crate::sections::{as_text, line_of};
use crate::snippet::snippet;
use crate::store::{Freshness, State, Store};

/// Characters of a snippet.
pub const SNIPPET: usize = 300;
/// How often a search is run again when files change under it.
const ATTEMPTS: usize = 4;

/// Where a hit comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A section of a note.
    Note,
    /// What somebody said.
    Message,
    /// What went into or came out of a tool.
    Tool,
}

/// One ranked result.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Where it comes from.
    pub source: Source,
    /// The file, relative to the root.
    pub path: String,
    /// The line of the passage that is shown, from 1.
    pub line: u64,
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
    /// The passage.
    pub snippet: String,
    /// Character ranges in the passage that matched.
    pub highlights: Vec<(usize, usize)>,
    /// `path#Lline`.
    pub citation: String,
    /// All of its text.
    pub text: String,
    /// The message, when it is one.
    pub message: Option<Message>,
    /// The category of a section.
    pub category: Option<String>,
}

/// What a search returns.
#[derive(Debug, Clone, PartialEq)]
pub struct Hits {
    /// Best first.
    pub hits: Vec<Hit>,
    /// How far they can be trusted.
    pub freshness: Freshness,
    /// What was not used or could not be read, and why.
    pub notes: Vec<String>,
}

/// What a search is to return.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The words.
    pub query: String,
    /// Most hits.
    pub limit: usize,
    /// Which documents may be found.
    pub filter: Filter,
    /// Whether tools are searched too.
    pub tools: bool,
}

impl Store {
    /// Returns the best hits for a query, best first; ties by path, then by position.
    ///
    /// # Errors
    /// [`Error::Query`] for an empty query; [`Error::Interrupted`].
    pub fn search(&self, request: &Request, interrupt: Interrupt<'_>) -> Result<Hits> {
        let query = Query::parse(&request.query)?;
        if request.tools {
            drop(self.fresh(interrupt)?);
            self.make_tools(interrupt)?;
        }
        let mut tries = 0;
        loop {
            tries += 1;
            let state = self.fresh(interrupt)?;
            let (mut answer, changed) = self.answer(&state, &query, request);
            drop(state);
            if changed.is_empty() || tries == ATTEMPTS {
                if !changed.is_empty() {
                    answer.freshness = Freshness::Stale;
                    answer.notes.push(format!("{changed:?} kept changing while it was read"));
                }
                return Ok(answer);
            }
            self.mend(&changed);
        }
    }

    fn answer(&self, state: &State, query: &Query, request: &Request) -> (Hits, BTreeSet<String>) {
        let mut answer = Hits { hits: Vec::new(), freshness: Freshness::Fresh, notes: Vec::new() };
        let mut changed = BTreeSet::new();
        let tools = state.tools.as_ref().filter(|_| request.tools);
        for (number, catalog) in [Some(&state.said), tools].into_iter().enumerate() {
            let Some(catalog) = catalog else { continue };
            let source = |kind| match (kind, number) {
                (Kind::Note, _) => Source::Note,
                (_, 0) => Source::Message,
                _ => Source::Tool,
            };
            let mut reader = Reader { store: self, catalog, changed: &mut changed, open: None };
            let expander = &self.expanders[number];
            let mut text = |d| reader.text(d).map(|(text, _)| text);
            let (filter, limit) = (&request.filter, request.limit);
            let mut found = search(catalog, expander, query, filter, limit, &mut text);
            if found.ranked.is_empty() && !query.phrases.is_empty() {
                let loose = Query { phrases: Vec::new(), ..query.clone() };
                found = search(catalog, expander, &loose, filter, limit, &mut text);
                found.notes.push("no text holds the phrase; its words were sought".to_owned());
            }
            for note in found.notes.drain(..) {
                if !answer.notes.contains(&note) {
                    answer.notes.push(note);
                }
            }
            for scored in &found.ranked {
                let kind = source(
                    catalog.files[catalog.rows[scored.document as usize].file as usize].kind,
                );
                let hit = reader.hit(scored.document, scored.score, kind, &found);
                answer.hits.extend(hit);
            }
        }
        // stable: of equal scores what was said comes before what a tool said
        answer.hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        answer.hits.truncate(request.limit);
        if !state.unreadable.is_empty() {
            answer.freshness = Freshness::Partial;
            answer.notes.extend(state.unreadable.values().cloned());
        }
        if let Some(why) = &state.unchecked {
            answer.freshness = Freshness::Stale;
            answer.notes.push(why.clone());
        }
        (answer, changed)
    }

    /// Writes how the score of a section or message comes about.
    ///
    /// # Errors
    /// [`Error::Query`] for an empty query, or a citation that names nothing;
    /// [`Error::NotFound`] for a file that is not there.
    pub fn explain(&self, query: &str, citation: &str, interrupt: Interrupt<'_>) -> Result<String> {
        let query = Query::parse(query)?;
        let (path, line) = cited(citation)?;
        let state = self.fresh(interrupt)?;
        let catalog = &state.said;
        let file = catalog.file(path).ok_or_else(|| Error::NotFound { path: path.to_owned() })?;
        let row = |document: &&u32| u64::from(catalog.rows[**document as usize].line) <= line;
        let document = file.documents.iter().rev().find(row).ok_or_else(|| Error::Query {
            query: citation.to_owned(),
            code: "citation",
            why: "no section or message is at that line".to_owned(),
        })?;
        let (score, lines) = explain(catalog, &self.expanders[0], &query, *document);
        let row = &catalog.rows[*document as usize];
        Ok(format!("{path}#L{} scores {score:.4}\n{lines}", row.line))
    }
}

/// Splits `path#L12` (also `#L12-L20`); without a line it is line 1.
///
/// # Errors
/// [`Error::Query`] when what follows `#` is no line.
pub fn cited(citation: &str) -> Result<(&str, u64)> {
    let Some((path, place)) = citation.rsplit_once('#') else { return Ok((citation, 1)) };
    let first = place.split('-').next().unwrap_or(place);
    let line = first.strip_prefix('L').and_then(|digits| digits.parse().ok());
    line.map(|line| (path, line)).ok_or_else(|| Error::Query {
        query: citation.to_owned(),
        code: "citation",
        why: "a citation reads like notes/a.md#L10".to_owned(),
    })
}

/// Reads documents back from their files.
struct Reader<'a> {
    store: &'a Store,
    catalog: &'a Catalog,
    changed: &'a mut BTreeSet<String>,
    /// The file read last: hits come in groups.
    open: Option<(u32, File)>,
}

impl Reader<'_> {
    /// Returns the bytes of a document if they are still those that were indexed.
    fn bytes(&mut self, row: &Row) -> Option<Vec<u8>> {
        let path = &self.catalog.files[row.file as usize].path;
        if self.open.as_ref().is_none_or(|(file, _)| *file != row.file) {
            self.open = self.store.root().open_read(path).ok().map(|file| (row.file, file));
        }
        let mut bytes = vec![0; row.length as usize];
        let read = self.open.as_ref().map(|(_, file)| file.read_exact_at(&mut bytes, row.start));
        if matches!(read, Some(Ok(()))) && xxh3_64(&bytes) == row.hash {
            return Some(bytes);
        }
        self.changed.insert(path.clone());
        None
    }

    /// Returns the text of a document and its message, when it is one.
    fn text(&mut self, document: u32) -> Option<(String, Option<Message>)> {
        let row = self.catalog.rows[document as usize];
        let bytes = self.bytes(&row)?;
        if self.catalog.files[row.file as usize].kind == Kind::Note {
            return Some((as_text(&bytes).into_owned(), None));
        }
        let Line::Message(message) = message::parse(&bytes) else { return None };
        let text = match self.catalog.part() {
            crate::draft::Part::Said => message.said.clone(),
            crate::draft::Part::Tools => message.tools.clone(),
        };
        Some((text, Some(message)))
    }

    fn hit(&mut self, document: u32, score: f32, source: Source, found: &Found) -> Option<Hit> {
        let row = self.catalog.rows[document as usize];
        let (text, message) = self.text(document)?;
        let passage = snippet(&text, &found.terms, SNIPPET);
        let path = self.catalog.files[row.file as usize].path.clone();
        let first = u64::from(row.line);
        let (line, end_line) = match message {
            Some(_) => (first, first),
            None => {
                let lines = memchr::memchr_iter(b'\n', text.trim_end().as_bytes()).count() as u64;
                (first + line_of(text.as_bytes(), passage.start) - 1, first + lines)
            }
        };
        let label = |id: u32| self.catalog.labels.text(id);
        let trail = label(row.trail);
        Some(Hit {
            source,
            citation: format!("{path}#L{line}"),
            path,
            line,
            end_line,
            start: row.start,
            end: row.start + u64::from(row.length),
            heading: trail.split(TRAIL).filter(|h| !h.is_empty()).map(str::to_owned).collect(),
            score,
            snippet: passage.text,
            highlights: passage.highlights,
            text: text.replace('\u{1a}', "\u{fffd}"),
            message,
            category: Some(label(row.category)).filter(|c| !c.is_empty()).map(str::to_owned),
        })
    }
}
