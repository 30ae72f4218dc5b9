//! The sum that a query asks for: one clause a concept, each with up to four parts.
//!
//! A word counts by its stem and, half as much, as it is spelled; what stands in a heading, or is
//! the speaker's name, counts once more with the idf it has there. All parts are read from the one
//! posting of the concept. The shares are measured, see `ARCHITECTURE.md`.

use std::cell::Cell;
use std::cmp::Ordering;
use std::fmt::Write;
use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::catalog::{Catalog, Documents, FileRow};
use crate::error::{Error, Interrupt, Result};
use crate::index::bm25f::{Bm25f, Counts, FIELDS, Field, Lengths};
use crate::index::clause::{Clause, Reaches, Scale};
use crate::index::list::PostingList;
use crate::index::patterns::{Brief, Spelling};
use crate::index::postings::{Impact, Posting};
use crate::index::topk::Scoring;
use crate::text::sought::QueryTerm;
use crate::text::tokens::Form;

/// How much the parts of a word count beside each other.
mod share {
    /// Its stem, and the word as it is spelled.
    pub const STEM: f32 = 1.0 / 1.5;
    pub const WORD: f32 = 0.5 / 1.5;
    /// A single character of an unspaced script says less than a pair.
    pub const CHARACTER: f32 = 0.5;
    /// What stands in a heading or title, and who speaks.
    pub const HEADING: f32 = 0.5;
    pub const SPEAKER: f32 = 2.0;
}

/// Parts that speakers play, by stem: as a name they say nothing.
const PARTS: [&str; 11] = [
    "user", "assist", "system", "tool", "human", "ai", "bot", "agent", "model", "develop",
    "function",
];

/// One concept of a query with its postings.
struct Sought {
    /// As a person reads it.
    name: String,
    list: List,
    /// Documents that hold the concept.
    holders: u32,
    /// Each times its idf.
    concept: f32,
    words: Vec<(u16, f32)>,
    heading: f32,
    speaker: f32,
}

/// Where the postings of a concept are.
enum List {
    /// In the index.
    Held(u32),
    /// Made for this query: packed, and so many.
    Made(Vec<u8>, u32),
}

/// The sum over a catalog, ready to be asked for.
pub struct Ranking<'a> {
    catalog: &'a Catalog,
    /// The formula with the figures of this moment.
    pub formula: Bm25f,
    drift: f32,
    sought: Vec<Sought>,
    by_concept: FxHashMap<u32, usize>,
    /// Concepts that are sought in made lists.
    gathered: Vec<u32>,
    /// Patterns that exist only in this query, numbered after the index's own.
    made: Vec<Counts>,
    by_counts: FxHashMap<Counts, u32>,
    pub(super) interrupt: Interrupt<'a>,
    stopped: Cell<bool>,
    /// Which documents may be found; all of them if none.
    allows: Option<Allows<'a>>,
    /// The same, where it takes longer to say.
    requires: Option<Allows<'a>>,
    /// Which spans of [`SPAN`] documents hold any that may be found, as far as their files say.
    spans: Option<Vec<bool>>,
}

/// Documents of a span.
const SPAN: u32 = 128;

/// Says of a document whether it may be found.
pub type Allows<'a> = Box<dyn Fn(u32) -> bool + 'a>;

impl<'a> Ranking<'a> {
    /// Starts with nothing sought; `allows` says which documents may be found, if not all.
    pub fn new(catalog: &'a Catalog, allows: Option<Allows<'a>>, interrupt: Interrupt<'a>) -> Self {
        let index = &catalog.index;
        let (formula, drift) = (index.formula(), index.drift());
        let (sought, by_concept, made) = (Vec::new(), FxHashMap::default(), Vec::new());
        Self {
            catalog,
            formula,
            drift,
            sought,
            by_concept,
            gathered: Vec::new(),
            made,
            by_counts: FxHashMap::default(),
            interrupt,
            stopped: Cell::new(false),
            allows,
            requires: None,
            spans: None,
        }
    }

    /// Finds only what is in some files.
    #[must_use]
    pub fn within<'f>(self, files: impl Iterator<Item = &'f FileRow>) -> Self {
        let mut spans = vec![false; (self.catalog.index.numbers()).div_ceil(SPAN) as usize];
        let span = |document: u32| (document / SPAN) as usize;
        for file in files {
            match &file.documents {
                Documents::Run(run) if run.is_empty() => {}
                Documents::Run(run) => spans[span(run.start)..=span(run.end - 1)].fill(true),
                Documents::List(list) => list.iter().for_each(|&number| spans[span(number)] = true),
            }
        }
        Self { spans: Some(spans), ..self }
    }

    /// Finds only what passes this too, which takes longer to say.
    #[must_use]
    pub fn requiring(self, requires: Option<Allows<'a>>) -> Self {
        Self { requires, ..self }
    }

    /// Returns the concepts whose lists were opened.
    pub fn into_concepts(self) -> Vec<u32> {
        self.by_concept.into_keys().chain(self.gathered).collect()
    }

    /// Seeks a word of the query and returns its number, if it is known; one that no document
    /// holds adds nothing.
    pub fn seek(&mut self, term: &QueryTerm) -> Option<u32> {
        let index = &self.catalog.index;
        let words = index.words();
        let word = words.words.get(&term.text);
        let place = word.map(|word| index.place(word));
        let by_stem = || {
            let stem = words.stems.get(term.stem.as_deref()?)?;
            Some(words.concept_of_stem[stem as usize])
        };
        let Some(concept) = place.map(|place| place.concept).or_else(by_stem) else {
            return word;
        };
        let holders = index.holders(concept);
        if holders.any == 0 {
            return word;
        }
        let times = term.times * if term.form == Form::Character { share::CHARACTER } else { 1.0 };
        let at = *self.by_concept.entry(concept).or_insert_with(|| {
            self.sought.push(Sought {
                name: term.stem.as_ref().unwrap_or(&term.text).clone(),
                list: List::Held(concept),
                holders: holders.any,
                concept: 0.0,
                words: Vec::new(),
                heading: 0.0,
                speaker: 0.0,
            });
            self.sought.len() - 1
        });
        let idf = |n: u32| if n > 0 { times * self.formula.idf(n) } else { 0.0 };
        let sought = &mut self.sought[at];
        match (&term.stem, word.zip(place)) {
            (None, _) => sought.concept += idf(holders.any),
            (Some(_), spelled) => {
                sought.concept += share::STEM * idf(holders.any);
                if let Some((word, place)) = spelled {
                    let weight = share::WORD * idf(index.word_holders(word));
                    let number = place.spelling as u16;
                    match sought.words.iter_mut().find(|(known, _)| *known == number) {
                        Some((_, sum)) => *sum += weight,
                        None => sought.words.push((number, weight)),
                    }
                }
            }
        }
        sought.heading += share::HEADING * idf(holders.heading);
        if term.form != Form::Whole && !PARTS.contains(&sought.name.as_str()) {
            sought.speaker += share::SPEAKER * idf(holders.speaker);
        }
        word
    }

    /// Seeks several words as one, or one field of them.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn seek_any(&mut self, name: String, words: &[u32], field: Option<Field>) -> Result<()> {
        let held = self.gather(words, field)?;
        let index = &self.catalog.index;
        self.gathered.extend(words.iter().map(|&word| index.place(word).concept));
        let holders = held.len() as u32;
        let first = self.catalog.index.words().patterns.len() as u32;
        let Self { made, by_counts, .. } = self;
        let posting = |(document, counts): (u32, Counts)| {
            let number = *by_counts.entry(counts).or_insert_with(|| {
                made.push(counts);
                made.len() as u32 - 1
            });
            Posting { document, pattern: first + number }
        };
        let list: Vec<Posting> = held.into_iter().map(posting).collect();
        let counts = |pattern| &self.made[(pattern - first) as usize];
        let bytes = self.catalog.index.pack_list(&list, &self.formula, counts);
        let list = List::Made(bytes, holders);
        let concept = self.formula.idf(holders);
        let (words, heading, speaker) = (Vec::new(), 0.0, 0.0);
        self.sought.push(Sought { name, list, holders, concept, words, heading, speaker });
        Ok(())
    }

    /// Adds up how often any of some words stands in each document, in the order of these.
    fn gather(&self, words: &[u32], field: Option<Field>) -> Result<Vec<(u32, Counts)>> {
        let index = &self.catalog.index;
        let patterns = &index.words().patterns;
        let mut held: Vec<(u32, Counts)> = Vec::new();
        // by document, its place there, plus one
        let mut places = vec![0u32; index.numbers() as usize];
        for &word in words {
            if self.is_stopped() {
                return Err(Error::Interrupted);
            }
            let place = index.place(word);
            index.validate_list(place.concept, self.interrupt)?;
            index.list(place.concept).each(|posting| {
                let spelling = |s: &&Spelling| u32::from(s.number) == place.spelling;
                let spelling = patterns.spellings(posting.pattern).iter().find(spelling);
                let Some(spelling) = spelling.filter(|_| index.is_live(posting.document)) else {
                    return;
                };
                let at = &mut places[posting.document as usize];
                if *at == 0 {
                    held.push((posting.document, [0; FIELDS]));
                    *at = held.len() as u32;
                }
                let all = &mut held[*at as usize - 1].1;
                for f in (0..FIELDS).filter(|f| field.is_none_or(|field| field as usize == *f)) {
                    all[f] = all[f].saturating_add(spelling.counts[f]);
                }
            });
        }
        held.retain(|(_, counts)| *counts != [0; FIELDS]);
        held.sort_unstable_by_key(|(document, _)| *document);
        Ok(held)
    }

    /// Validates the lists, so that it can be stopped.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn validate(&self) -> Result<()> {
        self.sought.iter().try_for_each(|sought| match sought.list {
            List::Held(concept) => self.catalog.index.validate_list(concept, self.interrupt),
            List::Made(..) => Ok(()),
        })
    }

    /// Opens the lists; the scale is that of their bounds.
    pub fn clauses(&self) -> (Vec<Clause<'_>>, Scale) {
        let most = |sought: &Sought| {
            let words: f32 = sought.words.iter().map(|(_, weight)| weight).sum();
            (sought.concept + words + sought.heading) * self.drift + sought.speaker
        };
        let scale = Scale::new(self.sought.iter().map(most).sum());
        ((0..self.sought.len()).map(|number| self.clause(number, scale)).collect(), scale)
    }

    fn clause(&self, number: usize, scale: Scale) -> Clause<'_> {
        let sought = &self.sought[number];
        let all: f32 = sought.words.iter().map(|(_, weight)| weight).sum();
        let share = |weight: f32| match weight > 0.0 {
            true => scale.reach(weight * self.drift / 255.0),
            false => 0,
        };
        let mut reaches = Box::new(Reaches {
            shares: [share(sought.concept + all); 256],
            speakers: None,
            heading: share(sought.heading),
        });
        let patterns = &self.catalog.index.words().patterns;
        let spelled = patterns.spelled();
        if let [(first, weight), others @ ..] = &sought.words[..] {
            let shares = &mut reaches.shares;
            let (many, other) = (shares[255], share(sought.concept));
            let own = share(sought.concept + weight);
            for (&spelling, reach) in spelled.iter().zip(shares.iter_mut()) {
                let one = if spelling == *first { own } else { other };
                *reach = if spelling == Brief::MANY { many } else { one };
            }
            // one word at a time: most concepts are sought by one
            for &(number, weight) in others {
                let own = share(sought.concept + weight);
                for (&spelling, reach) in spelled.iter().zip(shares.iter_mut()) {
                    *reach = if spelling == number { own } else { *reach };
                }
            }
        }
        reaches.speakers = (sought.speaker > 0.0).then(|| {
            let mut speakers = Box::new([scale.reach(sought.speaker); 256]);
            for (pattern, reach) in (0..spelled.len() as u32).zip(&mut speakers[..]) {
                let counts = patterns.sum(pattern);
                // the shortest there is: a name may be all stop words, which do not count
                let frequency = self.formula.speaker_frequency(counts, &[0; FIELDS]);
                *reach = scale.reach(self.formula.score(sought.speaker, frequency));
            }
            speakers
        });
        Clause { list: self.list(number), reaches }
    }

    fn list(&self, number: usize) -> PostingList<'_> {
        match &self.sought[number].list {
            List::Held(concept) => self.catalog.index.list(*concept),
            List::Made(bytes, count) => PostingList::new(bytes, *count, &[], Impact::default()),
        }
    }

    fn counts(&self, pattern: u32) -> &Counts {
        let patterns = &self.catalog.index.words().patterns;
        match (pattern as usize).checked_sub(patterns.len()) {
            None => patterns.sum(pattern),
            Some(made) => &self.made[made],
        }
    }

    /// Returns the counts of one spelling in a pattern.
    fn spelled(&self, number: u16, pattern: u32) -> Option<&Counts> {
        let spellings = self.catalog.index.words().patterns.spellings(pattern);
        spellings.iter().find(|spelling| spelling.number == number).map(|s| &s.counts)
    }

    /// Adds up the parts; `each` is told every one of them.
    #[inline]
    fn parts(
        &self,
        sought: &Sought,
        lengths: &Lengths,
        pattern: u32,
        mut each: impl FnMut(&str, f32, &Counts, f32),
    ) -> f32 {
        let counts = self.counts(pattern);
        let frequency = self.formula.frequency(counts, lengths);
        let mut sum = self.formula.score(sought.concept, frequency);
        each("", sought.concept, counts, frequency);
        for &(number, weight) in &sought.words {
            if let Some(own) = self.spelled(number, pattern) {
                let frequency =
                    if own == counts { frequency } else { self.formula.frequency(own, lengths) };
                sum += self.formula.score(weight, frequency);
                each(", as it is spelled", weight, own, frequency);
            }
        }
        if sought.heading > 0.0 {
            let frequency = self.formula.heading_frequency(counts, lengths);
            if frequency > 0.0 {
                sum += self.formula.score(sought.heading, frequency);
                each(", in the heading", sought.heading, counts, frequency);
            }
        }
        if sought.speaker > 0.0 {
            let frequency = self.formula.speaker_frequency(counts, lengths);
            if frequency > 0.0 {
                sum += self.formula.score(sought.speaker, frequency);
                each(", as the speaker", sought.speaker, counts, frequency);
            }
        }
        sum
    }

    /// Writes how the score of one document comes about; returns the score too.
    pub fn explain(&self, document: u32) -> (f32, String) {
        let mut text = String::new();
        let mut score = 0.0;
        for at in 0..self.sought.len() {
            let found = self.list(at).find(document);
            let sought = &self.sought[at];
            let (name, holders) = (&sought.name, sought.holders);
            // writing to a String cannot fail
            let Some(pattern) = found else {
                let _ = writeln!(text, "0 = {name}: not in it; in {holders} documents");
                continue;
            };
            let lengths = self.catalog.index.lengths(document);
            let mut parts = String::new();
            let sum = self.parts(sought, lengths, pattern, |part, weight, counts, frequency| {
                parts += &format!("{name}{part}: ");
                parts += &self.formula.explain(weight, frequency, counts, lengths, part.is_empty());
            });
            let _ = writeln!(text, "{sum:.4} = {name}; in {holders} documents");
            text.extend(parts.lines().map(|line| format!("    {line}\n")));
            score += sum;
        }
        (score, text)
    }
}

/// Says whether a field counts only once.
#[inline]
fn is_plain(field: u16) -> bool {
    const TWICE: [u16; 3] = [Field::Heading as u16, Field::Title as u16, Field::Speaker as u16];
    field != Brief::MANY && !TWICE.contains(&field)
}

impl Scoring for Ranking<'_> {
    #[inline]
    fn part(&self, clause: usize, document: u32, pattern: u32) -> f32 {
        let index = &self.catalog.index;
        let lengths = index.lengths(document);
        let sought = &self.sought[clause];
        // nine postings in ten say one spelling in one field, most often the body: the parts then
        // have the same tf~, and one division does for all of them
        let patterns = &index.words().patterns;
        match (pattern < patterns.len() as u32).then(|| patterns.brief(pattern)) {
            Some(brief) if brief.spelling != Brief::MANY && is_plain(brief.field) => {
                let own = sought.words.iter().filter(|(number, _)| *number == brief.spelling);
                let weight = sought.concept + own.map(|(_, weight)| weight).sum::<f32>();
                let field = brief.field as usize;
                self.formula.score_in(weight, field, brief.count, lengths[field])
            }
            _ => self.parts(sought, lengths, pattern, |_, _, _, _| {}),
        }
    }

    fn is_stopped(&self) -> bool {
        if !self.stopped.get() && (self.interrupt)() {
            self.stopped.set(true);
        }
        self.stopped.get()
    }

    fn allows(&self, document: u32) -> bool {
        self.catalog.index.is_live(document)
            && self.allows.as_ref().is_none_or(|allows| allows(document))
            && self.requires.as_ref().is_none_or(|requires| requires(document))
    }

    fn is_filtered(&self) -> bool {
        self.allows.is_some() || self.requires.is_some()
    }

    fn may_allow(&self, documents: Range<u32>) -> bool {
        let span = |spans: &Vec<bool>| {
            let (first, end) = (documents.start / SPAN, documents.end.div_ceil(SPAN));
            spans.iter().take(end as usize).skip(first as usize).any(|&span| span)
        };
        self.spans.as_ref().is_none_or(span)
    }

    fn prefetch(&self, document: u32) {
        self.catalog.index.prefetch(document);
    }

    fn tie(&self, a: u32, b: u32) -> Ordering {
        self.catalog.order(a, b)
    }
}
