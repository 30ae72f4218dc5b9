//! The index's slow twin: it counts words in hash maps and scores every document, in `f64`.

#![allow(dead_code, missing_docs)]

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use commonplace_core::catalog::draft::{Draft, Kind, Messages, Part, note};
use commonplace_core::index::bm25f::{Counts, FIELDS, Field, Lengths, Weights};
use commonplace_core::text::chunks;
use commonplace_core::text::sought::terms_of;
use commonplace_core::text::stems::stem;
use commonplace_core::text::tokens::{self, Form};

/// A document as the twin knows it.
#[derive(Default)]
pub struct Document {
    /// For each concept, the counts of each of its words.
    concepts: HashMap<String, HashMap<String, Counts>>,
    lengths: Lengths,
    pub time: Option<i64>,
    pub role: String,
    session: String,
}

/// Where a document stands: path and first byte.
pub type Place = (String, u64);

/// Every document of a memory, from its files alone.
#[derive(Default)]
pub struct Twin {
    weights: Weights,
    pub documents: BTreeMap<Place, Document>,
}

/// English words belong together by their stem; anything else stands for itself.
fn concept(text: &str, stem: Option<&str>) -> String {
    stem.map_or_else(|| format!("={text}"), |stem| format!("~{stem}"))
}

impl Twin {
    pub fn of(files: &BTreeMap<String, String>) -> Self {
        let mut twin = Self::default();
        for (path, text) in files {
            let mut add = |draft: Draft<'_>| {
                let document = Document::of(&draft);
                twin.documents.insert((path.clone(), draft.start), document);
                true
            };
            if Kind::of(path) == Kind::Note {
                note(path, text, &|| false, &mut add).unwrap();
                continue;
            }
            let mut messages = Messages::new(Part::Said, None);
            let mut start = 0;
            for (number, line) in text.split_inclusive('\n').enumerate() {
                messages.line(start, number as u32 + 1, line.as_bytes(), &mut add);
                start += line.len() as u64;
            }
            messages.finish(&mut add);
        }
        twin
    }

    fn averages(&self) -> [f64; FIELDS] {
        std::array::from_fn(|f| {
            let lengths = self.documents.values().map(|d| f64::from(d.lengths[f]));
            let having: Vec<f64> = lengths.filter(|&length| length > 0.0).collect();
            if having.is_empty() { 1.0 } else { having.iter().sum::<f64>() / having.len() as f64 }
        })
    }

    fn idf(&self, holds: impl Fn(&Document) -> bool) -> f64 {
        let holders = self.documents.values().filter(|d| holds(d)).count() as f64;
        if holders == 0.0 {
            return 0.0;
        }
        (1.0 + (self.documents.len() as f64 - holders + 0.5) / (holders + 0.5)).ln()
    }

    /// Scores every document that holds something of the query.
    pub fn scores(&self, query: &str) -> BTreeMap<Place, f64> {
        let averages = self.averages();
        let mut scores = BTreeMap::new();
        let asking = asking_words(query);
        let words: Vec<(&str, f32)> = query
            .split_whitespace()
            .enumerate()
            .map(|(at, word)| (word, if asking[at] { 1.5 } else { 1.0 }))
            .collect();
        for term in terms_of(&words, |word| stem(word).map(Cow::into_owned)) {
            let concept = concept(&term.text, term.stem.as_deref());
            let times =
                f64::from(term.times) * if term.form == Form::Character { 0.5 } else { 1.0 };
            let shown = term.stem.as_deref().unwrap_or(&term.text);
            let any = self.idf(|d| d.concepts.contains_key(&concept));
            let in_field = |fields: &'static [Field]| {
                let holds = |counts: &Counts| fields.iter().any(|&f| counts[f as usize] > 0);
                self.idf(|d| d.concepts.get(&concept).is_some_and(|w| w.values().any(holds)))
            };
            let heading = 0.5 * in_field(&[Field::Heading, Field::Title]);
            let speaks = term.form != Form::Whole && !ROLES.contains(&shown);
            let speaker = if speaks { 2.0 * in_field(&[Field::Speaker]) } else { 0.0 };
            let spelled = self.idf(|d| {
                d.concepts.get(&concept).is_some_and(|words| words.contains_key(&term.text))
            });
            for (place, document) in &self.documents {
                let Some(words) = document.concepts.get(&concept) else { continue };
                let saturated = |weight: f64, counts: &[Counts], fields: &[Field]| {
                    let of = |&f: &Field| self.part(f, counts, &document.lengths, &averages);
                    let frequency: f64 = fields.iter().map(of).sum();
                    times * weight * frequency / (f64::from(self.weights.k1) + frequency)
                };
                let all: Vec<Counts> = words.values().copied().collect();
                let share = if term.stem.is_some() { 2.0 / 3.0 } else { 1.0 };
                let mut score = saturated(share * any, &all, &Field::ALL);
                if let Some(own) = words.get(&term.text).filter(|_| term.stem.is_some()) {
                    score += saturated(spelled / 3.0, &[*own], &Field::ALL);
                }
                score += saturated(heading, &all, &[Field::Heading, Field::Title]);
                score += saturated(speaker, &all, &[Field::Speaker]);
                *scores.entry(place.clone()).or_default() += score;
            }
        }
        scores
    }

    /// Lifts messages among the best twenty by those around them, as `company.rs` has it.
    pub fn lift(&self, scores: &mut BTreeMap<Place, f64>) {
        let mut best: Vec<(Place, f64)> = scores.iter().map(|(p, s)| (p.clone(), *s)).collect();
        best.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        best.truncate(20);
        let score_of: HashMap<Place, f64> = best.iter().cloned().collect();
        let lines_around = |place: &Place| -> Vec<(Place, bool, u32)> {
            let file = self.documents.iter().filter(|((path, _), _)| *path == place.0);
            let same = |p: &Place| self.session(p) == self.session(place);
            file.map(|(p, d)| (p.clone(), same(p), u32::from(d.lengths[0]))).collect()
        };
        let heard: BTreeMap<Place, f64> = best
            .iter()
            .filter(|(place, _)| Kind::of(&place.0) == Kind::Transcript)
            .map(|(place, score)| {
                let lines = lines_around(place);
                let at = lines.iter().position(|(p, ..)| p == place).unwrap();
                let mut heard = *score;
                for side in [lines[at + 1..].to_vec(), lines[..at].iter().rev().cloned().collect()]
                {
                    let mut terms = 0;
                    for (distance, (other, same, length)) in (1..=4).zip(side) {
                        terms += length;
                        if !same || terms > 80 {
                            break;
                        }
                        let share = [0.0, 0.1, 0.07, 0.05][distance - 1];
                        heard += share * score_of.get(&other).copied().unwrap_or_default();
                    }
                }
                (place.clone(), heard)
            })
            .collect();
        for (place, own) in &heard {
            let same = |p: &Place| p.0 == place.0 && self.session(p) == self.session(place);
            let session = heard.iter().filter(|(p, _)| same(p)).map(|(_, heard)| *heard);
            scores.insert(place.clone(), 0.75 * own + 0.25 * session.fold(0.0, f64::max));
        }
    }

    fn session(&self, place: &Place) -> &str {
        &self.documents[place].session
    }

    /// `w · tf / ((1 − b) + b · (len + m) / (avglen + m))`, as `bm25f.rs` has it.
    fn part(&self, f: Field, counts: &[Counts], lengths: &Lengths, averages: &[f64]) -> f64 {
        let f = f as usize;
        let count: u32 = counts.iter().map(|counts| u32::from(counts[f])).sum();
        let (b, m) = (f64::from(self.weights.b[f]), f64::from(self.weights.m[f]));
        let norm = 1.0 - b + b * (f64::from(lengths[f]) + m) / (averages[f] + m);
        f64::from(self.weights.weight[f]) * f64::from(count) / norm
    }
}

/// Says of each word whether it stands in a question beside which there is something else.
fn asking_words(query: &str) -> Vec<bool> {
    let mut asking = Vec::new();
    let mut sentence = 0;
    for word in query.split_whitespace() {
        sentence += 1;
        if word.ends_with(['?', '.']) {
            asking.extend(vec![word.ends_with('?'); sentence]);
            sentence = 0;
        }
    }
    asking.extend(vec![false; sentence]);
    let all = asking.iter().all(|&asks| asks);
    asking.into_iter().map(|asks| asks && !all).collect()
}

const ROLES: [&str; 11] = [
    "user", "assist", "system", "tool", "human", "ai", "bot", "agent", "model", "develop",
    "function",
];

impl Document {
    fn of(draft: &Draft<'_>) -> Self {
        let mut document = Self {
            time: draft.time,
            role: draft.role.clone(),
            session: draft.session.clone(),
            ..Self::default()
        };
        for (field, text) in &draft.fields {
            let field = *field as usize;
            chunks::each(text, &mut |chunk| {
                tokens::terms(chunk, &mut |term| {
                    let words = document
                        .concepts
                        .entry(concept(term.text, stem(term.text).as_deref()))
                        .or_default();
                    let counts = words.entry(term.text.to_owned()).or_default();
                    counts[field] = counts[field].saturating_add(1);
                    let length = &mut document.lengths[field];
                    *length = length.saturating_add(u16::from(term.counts));
                });
            });
        }
        document
    }
}
