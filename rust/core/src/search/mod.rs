//! From a query to ranked documents.

pub mod company;
pub mod query;
pub mod ranking;

use crate::catalog::draft::Kind;
use crate::catalog::{Catalog, FileRow, NO_TIME, Row};
use crate::error::{Error, Interrupt, Result};
use crate::index::bm25f::Field;
use crate::index::expand::{Expander, MOST_POSTINGS, commonest};
use crate::index::list::PostingList;
use crate::index::topk::{Scored, Scoring, top_k};
use crate::search::query::{Atom, MOST_TERMS, Query, holds};
use crate::search::ranking::{Allows, Ranking};
use crate::text::snippet;
use crate::text::sought::{QueryTerm, terms_of};

/// Which documents may be found at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Folders and files, of which any will do; none for all.
    pub prefixes: Vec<String>,
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
struct Gate {
    files: Option<Vec<bool>>,
    since: Option<i64>,
    until: Option<i64>,
    labels: [Option<Option<u32>>; 3],
}

impl Gate {
    fn new(filter: &Filter, catalog: &Catalog) -> Self {
        let within = |path: &str| filter.prefixes.iter().any(|prefix| is_below(path, prefix));
        let anywhere = filter.prefixes.is_empty() || within("");
        let passes = |file: &FileRow| {
            filter.kind.is_none_or(|kind| file.kind == kind) && (anywhere || within(&file.path))
        };
        let all = anywhere && filter.kind.is_none();
        let label = |name: &Option<String>| name.as_ref().map(|name| catalog.labels.get(name));
        Self {
            files: (!all).then(|| catalog.files.iter().map(passes).collect()),
            since: filter.since,
            until: filter.until,
            labels: [&filter.role, &filter.session, &filter.category].map(label),
        }
    }

    /// Says whether everything passes, as with the prefix that all paths have.
    fn is_open(&self) -> bool {
        let named = self.labels.iter().any(Option::is_some);
        self.files.is_none() && self.since.is_none() && self.until.is_none() && !named
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

/// What a search found.
#[derive(Debug, Default)]
pub struct Found {
    /// Best first.
    pub ranked: Vec<Scored>,
    /// The terms to show in snippets.
    pub terms: snippet::Shown,
    /// What of the query was not used, and why.
    pub notes: Vec<String>,
    /// Concepts of which the lists were opened.
    pub concepts: Vec<u32>,
}

/// Returns the `limit` best documents for a query.
///
/// `text` gives the text of a document, to look for phrases in; none when it cannot be read.
///
/// # Errors
/// [`Error::Interrupted`].
pub fn search(
    catalog: &Catalog,
    expander: &Expander,
    query: &Query,
    filter: &Filter,
    limit: usize,
    text: &mut dyn FnMut(u32) -> Option<String>,
    interrupt: Interrupt<'_>,
) -> Result<Found> {
    let mut found = Found { notes: query.notes.clone(), ..Found::default() };
    let gate = Some(Gate::new(filter, catalog)).filter(|gate| !gate.is_open());
    // of many files, most of what is opened may be found
    let few = |files: &Vec<bool>| files.iter().filter(|&&passes| passes).count() * 4 <= files.len();
    let files = gate.as_ref().and_then(|gate| gate.files.clone()).filter(few);
    let allows = gate.map(|gate| {
        let passes = move |document: u32| gate.passes(&catalog.rows[document as usize]);
        Box::new(passes) as Allows<'_>
    });
    // to score what does not hold the words of a phrase, or to read it, would be in vain
    let required = phrases(&query.phrases, catalog, interrupt)?;
    let requires = (!required.is_empty()).then(|| {
        let may = move |document| required.iter().all(|phrase| phrase.may_stand_in(document));
        Box::new(may) as Allows<'_>
    });
    let mut ranking = Ranking::new(catalog, allows, interrupt).requiring(requires);
    if let Some(files) = files {
        let some = catalog.files.iter().zip(files).filter(|(_, passes)| *passes);
        ranking = ranking.within(some.map(|(file, _)| file));
    }
    prepare(&mut ranking, catalog, expander, query, &mut found)?;
    let spoken = limit > 0 && is_spoken(catalog);
    let deep = if spoken { limit.max(company::BEST) } else { limit };
    found.ranked = best(&ranking, catalog, query, deep, text)?;
    found.concepts = ranking.into_concepts();
    if spoken {
        let first = found.ranked.len().min(company::BEST);
        company::lift(catalog, &mut found.ranked[..first]);
        found.ranked.truncate(limit);
    }
    Ok(found)
}

/// Says whether anybody speaks: else the best need no second look.
fn is_spoken(catalog: &Catalog) -> bool {
    catalog.index.having(Field::Speaker) > 0
}

/// Returns the best documents that hold the phrases and not what is excluded.
fn best(
    ranking: &Ranking<'_>,
    catalog: &Catalog,
    query: &Query,
    limit: usize,
    text: &mut dyn FnMut(u32) -> Option<String>,
) -> Result<Vec<Scored>> {
    let required = phrases(&query.phrases, catalog, ranking.interrupt)?;
    let excluded = phrases(&query.excluded, catalog, ranking.interrupt)?;
    let mut accept = |document: u32| {
        required.iter().all(|phrase| phrase.stands_in(document, text))
            && !excluded.iter().any(|phrase| phrase.stands_in(document, text))
    };
    let (clauses, scale) = ranking.clauses();
    let best = top_k(&clauses, scale, ranking, limit, &mut accept);
    // what was found until then are not the best
    if ranking.is_stopped() { Err(Error::Interrupted) } else { Ok(best) }
}

/// How much more the words of a question count than what is told beside it.
const ASKED: f32 = 0.5;

/// Looks up what a query seeks.
fn prepare(
    ranking: &mut Ranking<'_>,
    catalog: &Catalog,
    expander: &Expander,
    query: &Query,
    found: &mut Found,
) -> Result<()> {
    let index = &catalog.index;
    let (lexicon, formula) = (index.words(), index.formula());
    let shown = &mut found.terms;
    let mut show = |text: &str, holders: u32| shown.add(text, formula.idf(holders));
    let mut words: Vec<(&str, f32)> = Vec::new();
    let is_pattern = |atom: &&Atom| matches!(atom, Atom::Prefix(_) | Atom::Fuzzy(..));
    let patterns = query.sought.iter().filter(is_pattern).count();
    // each has its share of what those before it left
    let (mut patterns, mut left) = (patterns as u32, MOST_POSTINGS);
    let mut stand_for = |name: &str, mut words: Vec<u32>| {
        words.retain(|&word| index.word_holders(word) > 0);
        let all = words.len();
        let (words, postings) = commonest(index, words, left / patterns.max(1));
        (patterns, left) = (patterns.saturating_sub(1), left.saturating_sub(postings));
        if words.len() < all {
            let some = words.len();
            found.notes.push(format!(
                "{name} stands for {all} words; {some} of the most frequent were sought"
            ));
        }
        words
    };
    for atom in &query.sought {
        let (name, ids, field) = match atom {
            Atom::Words(text) => {
                words.push((text, 1.0));
                continue;
            }
            Atom::Within(field, text) => {
                let terms = terms_of(&[(text, 1.0)], |word| lexicon.stem(word));
                let of_stem = |term: &QueryTerm| {
                    let stem = lexicon.stems.get(term.stem.as_deref()?)?;
                    let concept = lexicon.concept_of_stem[stem as usize];
                    Some(lexicon.spellings(concept))
                };
                let ids = terms.iter().flat_map(|term| {
                    let word = lexicon.words.get(&term.text);
                    of_stem(term).unwrap_or_else(|| word.into_iter().collect())
                });
                (format!("{}:{text}", field.name()), ids.collect(), Some(*field))
            }
            Atom::Prefix(stem) => {
                let words = expander.prefix(&lexicon.words, stem, ranking.interrupt)?;
                let name = format!("{stem}*");
                let words = stand_for(&name, words);
                (name, words, None)
            }
            Atom::Fuzzy(word, typos) => {
                let words = expander.fuzzy(&lexicon.words, word, *typos, ranking.interrupt)?;
                let name = format!("{word}~{typos}");
                let words = stand_for(&name, words);
                (name, words, None)
            }
        };
        for &id in &ids {
            show(lexicon.words.text(id), catalog.index.word_holders(id));
        }
        ranking.seek_any(name, &ids, field)?;
    }
    words.extend(query.asked.iter().map(|text| (text.as_str(), ASKED)));
    let mut terms = terms_of(&words, |word| lexicon.stem(word));
    if terms.len() > MOST_TERMS {
        let note = format!("only the first {MOST_TERMS} of {} terms were sought", terms.len());
        found.notes.push(note);
        terms.truncate(MOST_TERMS);
    }
    for term in &terms {
        let word = ranking.seek(term);
        let holders = word.map_or(0, |word| catalog.index.word_holders(word));
        show(&term.text, holders);
        if let Some(stem) = &term.stem {
            show(stem, holders);
        }
    }
    ranking.validate()
}

/// Words that stand in a document one after the other, or do not.
struct Phrase<'a> {
    words: String,
    /// The lists of its terms, none if one is unknown: only a document in all of them is read.
    lists: Option<Vec<PostingList<'a>>>,
}

impl<'a> Phrase<'a> {
    fn new(words: &str, catalog: &'a Catalog, interrupt: Interrupt<'_>) -> Result<Self> {
        let index = &catalog.index;
        let list = |term: QueryTerm| -> Result<_> {
            let Some(word) = index.words().words.get(&term.text) else { return Ok(None) };
            let concept = index.place(word).concept;
            index.validate_list(concept, interrupt)?;
            Ok(Some(index.list(concept)))
        };
        let terms = terms_of(&[(words, 1.0)], |_| None);
        let lists: Vec<_> = terms.into_iter().map(list).collect::<Result<_>>()?;
        Ok(Self { words: words.to_owned(), lists: lists.into_iter().collect() })
    }

    /// Says whether all of its words are in a document.
    fn may_stand_in(&self, document: u32) -> bool {
        let all =
            |lists: &Vec<PostingList<'_>>| lists.iter().all(|list| list.find(document).is_some());
        self.lists.as_ref().is_some_and(all)
    }

    fn stands_in(&self, document: u32, text: &mut dyn FnMut(u32) -> Option<String>) -> bool {
        self.may_stand_in(document) && text(document).is_some_and(|text| holds(&text, &self.words))
    }
}

fn phrases<'a>(
    texts: &[String],
    catalog: &'a Catalog,
    interrupt: Interrupt<'_>,
) -> Result<Vec<Phrase<'a>>> {
    texts.iter().map(|words| Phrase::new(words, catalog, interrupt)).collect()
}

/// Returns the score of one document and how it comes about.
///
/// # Errors
/// [`Error::Interrupted`].
pub fn explain(
    catalog: &Catalog,
    expander: &Expander,
    query: &Query,
    document: u32,
    text: &mut dyn FnMut(u32) -> Option<String>,
    interrupt: Interrupt<'_>,
) -> Result<(f32, String)> {
    let mut ranking = Ranking::new(catalog, None, interrupt);
    prepare(&mut ranking, catalog, expander, query, &mut Found::default())?;
    let (score, mut lines) = ranking.explain(document);
    if !is_spoken(catalog) {
        return Ok((score, lines));
    }
    let mut best = best(&ranking, catalog, query, company::BEST, text)?;
    let score_of = |best: &[Scored]| {
        best.iter().find(|scored| scored.document == document).map(|scored| scored.score)
    };
    let alone = score_of(&best);
    company::lift(catalog, &mut best);
    let by = score_of(&best).zip(alone).map_or(0.0, |(lifted, alone)| lifted - alone);
    if by > 0.0 {
        lines += &format!("{by:.4} = what stands around it in its session\n");
    }
    Ok((score + by, lines))
}
