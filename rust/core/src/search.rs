//! From a query to ranked documents.

use std::cmp::Ordering;

use rustc_hash::FxHashMap;

use crate::bm25f::{Bm25f, Counts, FIELDS, Field};
use crate::catalog::{Catalog, FileRow, NO_TIME, Row};
use crate::draft::Kind;
use crate::index::expand::Expander;
use crate::index::postings::{Cursor, END, Posting};
use crate::index::topk::{Clause, Scored, Scoring, top_k};
use crate::query::{Atom, MOST_TERMS, Query, holds};
use crate::tokens;

/// Which documents may be found at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// A folder or a file; empty for all.
    pub prefix: String,
    /// Only notes, or only transcripts.
    pub kind: Option<Kind>,
    /// Not before, in milliseconds since 1970.
    pub since: Option<i64>,
    /// Before, in milliseconds since 1970.
    pub until: Option<i64>,
    /// Only this role.
    pub role: Option<String>,
    /// Only this session.
    pub session: Option<String>,
    /// Only this category.
    pub category: Option<String>,
}

/// Says whether a path is `prefix` or lies below it.
pub fn is_below(path: &str, prefix: &str) -> bool {
    let prefix = prefix.trim_end_matches('/');
    let rest = path.strip_prefix(prefix);
    prefix.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A filter with its names looked up, once a query.
struct Sieve {
    files: Option<Vec<bool>>,
    since: Option<i64>,
    until: Option<i64>,
    labels: [Option<Option<u32>>; 3],
}

impl Sieve {
    fn new(filter: &Filter, catalog: &Catalog) -> Self {
        let passes = |file: &FileRow| {
            filter.kind.is_none_or(|kind| file.kind == kind) && is_below(&file.path, &filter.prefix)
        };
        let all = filter.prefix.is_empty() && filter.kind.is_none();
        let label = |name: &Option<String>| name.as_ref().map(|name| catalog.labels.get(name));
        Self {
            files: (!all).then(|| catalog.files.iter().map(passes).collect()),
            since: filter.since,
            until: filter.until,
            labels: [&filter.role, &filter.session, &filter.category].map(label),
        }
    }

    #[inline]
    fn passes(&self, row: &Row) -> bool {
        let timed = self.since.is_none() && self.until.is_none()
            || row.time != NO_TIME
                && self.since.is_none_or(|since| row.time >= since)
                && self.until.is_none_or(|until| row.time < until);
        let own = [row.role, row.session, row.category];
        timed
            && self.files.as_ref().is_none_or(|files| files[row.file as usize])
            && self.labels.iter().zip(own).all(|(label, own)| label.is_none_or(|l| l == Some(own)))
    }
}

/// One term of a query, with its postings.
struct Sought<'a> {
    name: String,
    cursor: Cursor<'a>,
    holders: u32,
    weight: f32,
    /// Terms whose places are shown.
    terms: Vec<String>,
}

/// The sum of a query's terms over a catalog, ready to be asked for.
struct Ranking<'a> {
    catalog: &'a Catalog,
    formula: Bm25f,
    drift: f32,
    idf: Vec<f32>,
    sieve: Sieve,
    /// Patterns of terms that exist only in this query, numbered after the index's own.
    made: Vec<Counts>,
}

impl Ranking<'_> {
    fn counts(&self, pattern: u32) -> &Counts {
        let known = self.catalog.index.words().patterns.all();
        match (pattern as usize).checked_sub(known.len()) {
            None => &known[pattern as usize],
            Some(made) => &self.made[made],
        }
    }
}

impl Scoring for Ranking<'_> {
    #[inline]
    fn part(&self, clause: usize, document: u32, pattern: u32) -> f32 {
        let lengths = self.catalog.index.lengths(document);
        self.formula.score(self.idf[clause], self.formula.frequency(self.counts(pattern), lengths))
    }

    fn block_bound(&self, clause: usize, frequency: f32) -> f32 {
        // an unknown frequency saturates: the term then adds its whole idf
        let frequency = (frequency * self.drift).min(f32::MAX);
        self.formula.score(self.idf[clause], frequency)
    }

    fn allows(&self, document: u32) -> bool {
        self.catalog.index.is_live(document)
            && self.sieve.passes(&self.catalog.rows[document as usize])
    }

    fn tie(&self, a: u32, b: u32) -> Ordering {
        self.catalog.order(a, b)
    }
}

/// What a search found.
#[derive(Debug, Default)]
pub struct Found {
    /// Best first.
    pub ranked: Vec<Scored>,
    /// The terms to show in snippets, with their weights.
    pub terms: FxHashMap<String, f32>,
    /// What of the query was not used, and why.
    pub notes: Vec<String>,
}

/// Returns the `limit` best documents for a query.
///
/// `text` gives the text of a document, to look for phrases in; none when it cannot be read.
pub fn search<'a>(
    catalog: &'a Catalog,
    expander: &Expander,
    query: &'a Query,
    filter: &Filter,
    limit: usize,
    text: &mut dyn FnMut(u32) -> Option<String>,
) -> Found {
    let mut found = Found { notes: query.notes.clone(), ..Found::default() };
    let (sought, ranking) = prepare(catalog, expander, query, filter, &mut found.notes);
    for (term, idf) in sought.iter().zip(&ranking.idf) {
        for shown in &term.terms {
            let weight = found.terms.entry(shown.clone()).or_default();
            *weight = weight.max(*idf);
        }
    }
    let phrase = |words: &'a String| Phrase::new(words, catalog, &ranking.formula);
    let mut required: Vec<Phrase<'_>> = query.phrases.iter().map(phrase).collect();
    let mut excluded: Vec<Phrase<'_>> = query.excluded.iter().map(phrase).collect();
    let mut accept = |document: u32| {
        required.iter_mut().all(|phrase| phrase.stands_in(document, text))
            && !excluded.iter_mut().any(|phrase| phrase.stands_in(document, text))
    };
    found.ranked = top_k(clauses(sought, &ranking), &ranking, limit, &mut accept);
    found
}

/// Turns terms into clauses with their bounds.
fn clauses<'a>(sought: Vec<Sought<'a>>, ranking: &Ranking<'_>) -> Vec<Clause<'a>> {
    let clause = |(number, term): (usize, Sought<'a>)| {
        let bound = ranking.block_bound(number, term.cursor.bound());
        Clause { cursor: term.cursor, bound }
    };
    sought.into_iter().enumerate().map(clause).collect()
}

/// Looks up the terms of a query.
fn prepare<'a>(
    catalog: &'a Catalog,
    expander: &Expander,
    query: &Query,
    filter: &Filter,
    notes: &mut Vec<String>,
) -> (Vec<Sought<'a>>, Ranking<'a>) {
    let index = &catalog.index;
    let mut ranking = Ranking {
        catalog,
        formula: index.formula(),
        drift: index.drift(),
        idf: Vec::new(),
        sieve: Sieve::new(filter, catalog),
        made: Vec::new(),
    };
    let mut sought: Vec<Sought<'a>> = Vec::new();
    let mut words: Vec<&str> = Vec::new();
    for atom in &query.sought {
        match atom {
            Atom::Words(text) => words.push(text),
            Atom::Within(field, text) => {
                for term in tokens::query(&[text]) {
                    let ids: Vec<u32> = index.words().terms.get(&term.text).into_iter().collect();
                    let name = format!("{}:{}", field.name(), term.text);
                    let terms = vec![term.text];
                    sought.push(ranking.gathered(name, &ids, Some(*field), terms));
                }
            }
            Atom::Prefix(stem) => {
                let ids = expander.prefix(&index.words().terms, stem);
                let terms = ids.iter().map(|&id| index.words().terms.text(id).to_owned()).collect();
                sought.push(ranking.gathered(format!("{stem}*"), &ids, None, terms));
            }
            Atom::Fuzzy(word, typos) => {
                let ids = expander.fuzzy(&index.words().terms, word, *typos);
                let terms = ids.iter().map(|&id| index.words().terms.text(id).to_owned()).collect();
                sought.push(ranking.gathered(format!("{word}~{typos}"), &ids, None, terms));
            }
        }
    }
    for term in tokens::query(&words) {
        if let Some(id) = index.words().terms.get(&term.text) {
            sought.push(Sought {
                cursor: index.cursor(id, &ranking.formula),
                holders: index.holders(id),
                weight: term.weight,
                terms: vec![term.text.clone()],
                name: term.text,
            });
        }
    }
    if sought.len() > MOST_TERMS {
        notes.push(format!("only the first {MOST_TERMS} of {} terms were sought", sought.len()));
        sought.truncate(MOST_TERMS);
    }
    ranking.idf = sought.iter().map(|s| s.weight * ranking.formula.idf(s.holders)).collect();
    (sought, ranking)
}

impl<'a> Ranking<'a> {
    /// Joins the lists of several terms, or one field of them, into one term of this query.
    fn gathered(
        &mut self,
        name: String,
        ids: &[u32],
        field: Option<Field>,
        terms: Vec<String>,
    ) -> Sought<'a> {
        let mut counts: std::collections::BTreeMap<u32, Counts> = std::collections::BTreeMap::new();
        for &id in ids {
            let mut cursor = self.catalog.index.cursor(id, &self.formula);
            while cursor.document() != END {
                let document = cursor.document();
                let mut own = *self.counts(cursor.pattern());
                if let Some(field) = field {
                    let kept = own[field as usize];
                    own = [0; FIELDS];
                    own[field as usize] = kept;
                }
                if self.catalog.index.is_live(document) && own != [0; FIELDS] {
                    let all = counts.entry(document).or_default();
                    for (sum, own) in all.iter_mut().zip(own) {
                        *sum = sum.saturating_add(own);
                    }
                }
                cursor.advance();
            }
        }
        let first = self.catalog.index.words().patterns.all().len();
        let holders = counts.len() as u32;
        let mut postings = Vec::with_capacity(counts.len());
        for (document, counts) in counts {
            let pattern = (first + self.made.len()) as u32;
            self.made.push(counts);
            postings.push(Posting { document, pattern });
        }
        Sought { name, cursor: Cursor::loose(postings), holders, weight: 1.0, terms }
    }
}

/// Words that stand in a document one after the other, or do not.
struct Phrase<'a> {
    words: &'a str,
    /// The lists of its terms, none if one is unknown: only a document in all of them is read.
    lists: Option<Vec<Cursor<'a>>>,
}

impl<'a> Phrase<'a> {
    fn new(words: &'a str, catalog: &'a Catalog, formula: &Bm25f) -> Self {
        let index = &catalog.index;
        let cursor = |term: tokens::QueryTerm| {
            index.words().terms.get(&term.text).map(|id| index.cursor(id, formula))
        };
        Self { words, lists: tokens::query(&[words]).into_iter().map(cursor).collect() }
    }

    /// Documents must come in ascending order.
    fn stands_in(&mut self, document: u32, text: &mut dyn FnMut(u32) -> Option<String>) -> bool {
        let Some(lists) = &mut self.lists else { return false };
        let all = lists.iter_mut().all(|cursor| {
            cursor.seek(document);
            cursor.document() == document
        });
        all && text(document).is_some_and(|text| holds(&text, self.words))
    }
}

/// Writes how the score of one document comes about.
pub fn explain(
    catalog: &Catalog,
    expander: &Expander,
    query: &Query,
    document: u32,
) -> (f32, String) {
    let mut notes = Vec::new();
    let (sought, ranking) = prepare(catalog, expander, query, &Filter::default(), &mut notes);
    let mut lines = String::new();
    let mut score = 0.0;
    for (number, mut term) in sought.into_iter().enumerate() {
        term.cursor.seek(document);
        if term.cursor.document() == document {
            let counts = ranking.counts(term.cursor.pattern());
            let lengths = catalog.index.lengths(document);
            score += ranking.part(number, document, term.cursor.pattern());
            let idf = ranking.idf[number];
            lines += &ranking.formula.explain(
                &tokens::shown(&term.name),
                idf,
                term.holders,
                counts,
                lengths,
            );
        } else {
            let name = tokens::shown(&term.name);
            lines += &format!("0 = {name}: not in it; in {} documents\n", term.holders);
        }
    }
    (score, lines)
}
