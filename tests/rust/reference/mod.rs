//! Reference implementation of ranking: word counts in hash maps, every document scored in `f64`.

#![allow(dead_code, missing_docs)]

mod code_names;
mod shares;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use commonplace_core::catalog::extract::{Corpus, FieldText, IndexInput, note};
use commonplace_core::catalog::message_inputs::MessageInputs;
use commonplace_core::files::file_kind::FileKind;
use commonplace_core::index::bm25f::{Counts, FIELDS, Field, Lengths, Weights};
use commonplace_core::text::language::detection::{DOCUMENT_MARGIN, Votes, vote_of};
use commonplace_core::text::language::readings::{LanguageId, prefix_of, stem_in};
use commonplace_core::text::language::stems::stem;
use commonplace_core::text::query_terms::{QueryTerm, query_terms};
use commonplace_core::text::segmentation;
use commonplace_core::text::tokens::{self, Term, TermForm};

/// A document as the reference stores it.
#[derive(Default)]
pub struct Document {
    /// For each concept, the counts of each of its words.
    concepts: HashMap<String, HashMap<String, Counts>>,
    lengths: Lengths,
    pub time: Option<i64>,
    pub role: String,
    session: String,
    text: String,
    /// Whether a person with a name said it.
    is_named: bool,
    language: LanguageId,
}

/// How many of the best messages, and of the best turns, are rescored.
pub const MESSAGE_WINDOW: usize = 30;
const TURN_WINDOW: usize = 20;

/// The position of a document: path and first byte.
pub type Position = (String, u64);

/// Every document of a memory, from its files alone.
#[derive(Default)]
pub struct Reference {
    weights: Weights,
    pub documents: BTreeMap<Position, Document>,
}

/// Words with one stem are one concept; any other token is its own.
fn concept(text: &str, stem: Option<&str>) -> String {
    stem.map_or_else(|| format!("={text}"), |stem| format!("~{stem}"))
}

/// What a word of a query means in one language: concept, word, and the shares of the weight that
/// the two have.
struct Meaning {
    concept: String,
    word: String,
    shares: (f64, f64),
    is_prefix: bool,
}

/// Returns what a word means in each of the languages that it is read in.
fn meanings(term: &QueryTerm) -> Vec<Meaning> {
    let third = 1.0 / 3.0;
    let mut all = Vec::new();
    let mut add = |word: &str, stem: Option<&str>, prefix: Option<&str>, by_accents: bool| {
        let shares = match (stem, prefix) {
            (None, _) => (1.0, 0.0),
            _ if by_accents => (0.2, 0.8),
            (_, Some(_)) => (third, third),
            _ => (2.0 * third, third),
        };
        let concept_of = concept(word, stem);
        all.push(Meaning { concept: concept_of, word: word.to_owned(), shares, is_prefix: false });
        if let Some(prefix) = prefix {
            let concept = concept(prefix, stem_in(prefix));
            let (word, shares) = (prefix.to_owned(), (third, 0.0));
            all.push(Meaning { concept, word, shares, is_prefix: true });
        }
    };
    add(&term.text, term.stem.as_deref(), term.prefix.as_deref(), false);
    for one in &term.readings {
        add(&one.term, Some(one.stem()), one.prefix.as_deref(), one.by_accents);
    }
    all
}

impl Reference {
    pub fn of(files: &BTreeMap<String, String>) -> Self {
        let mut reference = Self::default();
        for (path, text) in files {
            let mut add = |input: IndexInput<'_>| {
                let document = Document::of(&input);
                reference.documents.insert((path.clone(), input.start), document);
                true
            };
            if FileKind::of(path) == FileKind::Note {
                note(path, text, &|| false, &mut add).unwrap();
                continue;
            }
            let mut messages = MessageInputs::new(Corpus::Main, None);
            let mut start = 0;
            for (number, line) in text.split_inclusive('\n').enumerate() {
                messages.line(start, number as u32 + 1, line.as_bytes(), &mut add);
                start += line.len() as u64;
            }
            messages.finish(&mut add);
        }
        reference
    }

    fn averages(&self) -> [f64; FIELDS] {
        std::array::from_fn(|f| {
            let lengths = self.documents.values().map(|d| f64::from(d.lengths[f]));
            let having: Vec<f64> = lengths.filter(|&length| length > 0.0).collect();
            if having.is_empty() { 1.0 } else { having.iter().sum::<f64>() / having.len() as f64 }
        })
    }

    /// Returns the idf of what some documents hold in their text; of what none does, of what they
    /// hold in any field. Of a role at least those count that have it, by `speaker`, as speaker.
    fn text_idf(
        &self,
        speaker: impl Fn(&Document) -> bool,
        holds: impl Fn(&Document) -> Option<Counts>,
    ) -> f64 {
        let beside = [Field::Speaker, Field::Time, Field::Context];
        let texts = Field::ALL.map(|field| !beside.contains(&field));
        let in_text = |counts: Counts| (0..FIELDS).any(|f| texts[f] && counts[f] > 0);
        let count = |of: &dyn Fn(&Document) -> bool| -> usize {
            self.documents.values().filter(|d| of(d)).count()
        };
        match count(&|d| holds(d).is_some_and(in_text)) {
            0 => self.idf_of(count(&|d| holds(d).is_some())),
            text => self.idf_of(text.max(count(&speaker))),
        }
    }

    fn idf(&self, holds: impl Fn(&Document) -> bool) -> f64 {
        self.idf_of(self.documents.values().filter(|d| holds(d)).count())
    }

    fn idf_of(&self, doc_freq: usize) -> f64 {
        let doc_freq = doc_freq as f64;
        if doc_freq == 0.0 {
            return 0.0;
        }
        (1.0 + (self.documents.len() as f64 - doc_freq + 0.5) / (doc_freq + 0.5)).ln()
    }

    /// Scores every document that holds a concept of the query.
    pub fn scores(&self, query: &str) -> BTreeMap<Position, f64> {
        let mut scores = BTreeMap::new();
        for (_, of_concept) in self.concept_scores(query).into_values() {
            for (place, score) in of_concept {
                *scores.entry(place).or_default() += score;
            }
        }
        scores
    }

    /// As [`Self::scores`], each weight to the power of ¾ and the sum of weights as it was, with
    /// presence.
    pub fn dampened_scores(&self, query: &str) -> BTreeMap<Position, f64> {
        let concepts = self.scores_with_presence(query);
        let sum = |power: f64| concepts.values().map(|(weight, _)| weight.powf(power)).sum::<f64>();
        let mut scores = BTreeMap::new();
        for (weight, of_concept) in concepts.values() {
            for (place, score) in of_concept {
                *scores.entry(place.clone()).or_default() +=
                    score * weight.powf(-0.25) * sum(1.0) / sum(0.75);
            }
        }
        scores
    }

    /// As [`Self::concept_scores`], with a sixth of each word being that it is in the text.
    fn scores_with_presence(
        &self,
        query: &str,
    ) -> BTreeMap<String, (f64, BTreeMap<Position, f64>)> {
        let mut concepts = self.concept_scores(query);
        for (concept, (weight, of_concept)) in &mut concepts {
            for (place, score) in of_concept {
                let document = &self.documents[place];
                let body = Field::Body as usize;
                let is_said = document.concepts[concept].values().any(|counts| counts[body] > 0);
                let half = 1.0 + f64::from(document.lengths[body]) / 300.0;
                let presence = if is_said { *weight / half } else { 0.0 };
                *score += (presence - *score) / 6.0;
            }
        }
        concepts
    }

    /// Returns the weight of each concept of the query, and its part of the scores.
    fn concept_scores(&self, query: &str) -> BTreeMap<String, (f64, BTreeMap<Position, f64>)> {
        let averages = self.averages();
        let mut found: BTreeMap<String, (f64, BTreeMap<Position, f64>)> = BTreeMap::new();
        let in_question = in_question(query);
        let names = code_names::code_names(query);
        let mut words: Vec<(&str, f32)> = query
            .split_whitespace()
            .enumerate()
            .map(|(at, word)| (word, if in_question[at] { 1.5 } else { 1.0 }))
            .collect();
        words.extend(names.iter().map(|name| (name.as_str(), 0.5)));
        let held: BTreeSet<LanguageId> = self.documents.values().map(|d| d.language).collect();
        let languages: Vec<LanguageId> = LanguageId::all().filter(|l| held.contains(l)).collect();
        for term in query_terms(&words, &languages, |word| stem(word).map(Cow::into_owned)) {
            let times = f64::from(term.times)
                * match term.form {
                    TermForm::Character => 0.5,
                    TermForm::PairInWord => 0.3,
                    _ => 1.0,
                };
            let shown = term.stem.as_deref().unwrap_or(&term.text);
            let is_role = ROLES.contains(&shown);
            let speaks = term.form != TermForm::Whole && !is_role;
            let (prefixes, words): (Vec<_>, Vec<_>) =
                meanings(&term).into_iter().partition(|meaning| meaning.is_prefix);
            for meanings in [prefixes, words] {
                // no document is in two languages, so that it holds one of the concepts
                let counts = |d: &Document| {
                    let of = |m: &Meaning| d.concepts.get(&m.concept).map(|w| sum_of(w.values()));
                    meanings.iter().find_map(of)
                };
                let spelled_counts = |d: &Document| {
                    let of = |m: &Meaning| d.concepts.get(&m.concept)?.get(&m.word).copied();
                    meanings.iter().find_map(of)
                };
                let speaks_as = |d: &Document| {
                    is_role && counts(d).is_some_and(|c| c[Field::Speaker as usize] > 0)
                };
                let idf = self.text_idf(speaks_as, counts);
                if idf == 0.0 {
                    continue;
                }
                let in_field = |fields: &[Field]| {
                    let holds = |counts: Counts| fields.iter().any(|&f| counts[f as usize] > 0);
                    self.idf(|d| counts(d).is_some_and(holds))
                };
                let spelled_idf = self.text_idf(speaks_as, spelled_counts);
                let heading = 0.5 * in_field(&[Field::Heading, Field::Title]);
                let speaker = if speaks { 2.0 * in_field(&[Field::Speaker]) } else { 0.0 };
                for meaning in &meanings {
                    let (any, spelled) = (meaning.shares.0 * idf, meaning.shares.1 * spelled_idf);
                    let held = |d: &Document| d.concepts.contains_key(&meaning.concept);
                    if !self.documents.values().any(held) {
                        continue;
                    }
                    let (weight, scores) = found.entry(meaning.concept.clone()).or_default();
                    *weight += times * (any + self.spelled_weight(meaning, spelled));
                    for (place, document) in &self.documents {
                        let Some(words) = document.concepts.get(&meaning.concept) else { continue };
                        let saturated = |weight: f64, counts: &[Counts], fields: &[Field]| {
                            let of =
                                |&f: &Field| self.part(f, counts, &document.lengths, &averages);
                            let frequency: f64 = fields.iter().map(of).sum();
                            times * weight * frequency / (f64::from(self.weights.k1) + frequency)
                        };
                        let all: Vec<Counts> = words.values().copied().collect();
                        let mut score = saturated(any, &all, &Field::ALL);
                        if let Some(own) = words.get(&meaning.word) {
                            score += saturated(spelled, &[*own], &Field::ALL);
                        }
                        if !meaning.is_prefix {
                            score += saturated(heading, &all, &[Field::Heading, Field::Title]);
                            score += saturated(speaker, &all, &[Field::Speaker]);
                        }
                        *scores.entry(place.clone()).or_default() += score;
                    }
                }
            }
        }
        found
    }

    /// Returns the weight of a word as it is spelled, if the index knows it in this language.
    fn spelled_weight(&self, meaning: &Meaning, weight: f64) -> f64 {
        let has = |d: &Document| {
            d.concepts.get(&meaning.concept).is_some_and(|words| words.contains_key(&meaning.word))
        };
        if self.documents.values().any(has) { weight } else { 0.0 }
    }

    /// Returns the turns of a file, each with the positions of its messages: a turn begins with a
    /// message of a user and where the session changes.
    fn turns(&self) -> Vec<Vec<Position>> {
        let mut turns: Vec<Vec<Position>> = Vec::new();
        let mut before: Option<&Position> = None;
        for (place, document) in &self.documents {
            let goes_on = FileKind::of(&place.0) == FileKind::Transcript
                && document.role != "user"
                && before.is_some_and(|before| {
                    before.0 == place.0 && self.session(before) == self.session(place)
                });
            before = Some(place);
            match turns.last_mut() {
                Some(turn) if goes_on => turn.push(place.clone()),
                _ => turns.push(vec![place.clone()]),
            }
        }
        turns
    }

    /// Says whether rounding does not decide which scores are among the best `window`: the index adds
    /// in single precision, so equal scores may differ by their last bit.
    pub fn has_clear_window(scores: impl IntoIterator<Item = f64>, window: usize) -> bool {
        let mut scores: Vec<f64> = scores.into_iter().collect();
        scores.sort_by(|a, b| b.total_cmp(a));
        scores.len() <= window || scores[window - 1] > scores[window] * (1.0 + 1e-5)
    }

    /// Says whether the turns that are rescored are clear, as [`Self::has_clear_window`] does.
    pub fn has_clear_turns(&self, scores: &BTreeMap<Position, f64>) -> bool {
        let best = |turn: Vec<Position>| {
            turn.iter().filter_map(|p| scores.get(p).copied()).reduce(f64::max)
        };
        Self::has_clear_window(self.turns().into_iter().filter_map(best), TURN_WINDOW)
    }

    /// Returns the scores of turns and sections, by their first documents, from those of the
    /// documents that pass a filter, as `search/turn_rescore.rs` makes them.
    pub fn turn_scores(
        &self,
        query: &str,
        scores: &BTreeMap<Position, f64>,
    ) -> BTreeMap<Position, f64> {
        // the first of equal messages stands for the turn
        let best_of = |turn: &[Position]| {
            let scored = turn.iter().filter_map(|p| Some((p.clone(), *scores.get(p)?)));
            scored.reduce(|best, next| if next.1 > best.1 { next } else { best })
        };
        let mut found: Vec<(Position, f64, Vec<Position>)> = self
            .turns()
            .into_iter()
            .filter_map(|turn| best_of(&turn).map(|(best, score)| (best, score, turn)))
            .collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let behind = found.split_off(found.len().min(TURN_WINDOW));
        let mut dampened = self.dampened_scores(query);
        dampened.retain(|place, _| scores.contains_key(place));
        for (place, score) in &mut dampened {
            *score *= self.speaker_share(query, place);
        }
        let score = |best: &Position, turn: &[Position]| match FileKind::of(&best.0) {
            FileKind::Note => scores[best],
            _ => self.turn_score(turn, &dampened),
        };
        let mut rescored: BTreeMap<Position, f64> =
            found.iter().map(|(best, _, turn)| (best.clone(), score(best, turn))).collect();
        let best = rescored.clone();
        self.rescore_by(&mut rescored, &best, |place| {
            let is_alone = |turn: &[Position]| turn.len() == 1 && turn[0] == *place;
            let is_turn = found.iter().any(|(_, _, turn)| is_alone(turn));
            let shares = || self.question_share(place) * self.time_share(query, place);
            if is_turn { shares() } else { 1.0 }
        });
        let by_first = found.iter().map(|(best, _, turn)| (turn[0].clone(), rescored[best]));
        let mut all: BTreeMap<Position, f64> = by_first.collect();
        let least = all.values().copied().fold(f64::INFINITY, f64::min);
        let first = behind.first().map_or(0.0, |(_, score, _)| *score);
        let factor = if first > least { least / first } else { 1.0 };
        all.extend(behind.into_iter().map(|(_, score, turn)| (turn[0].clone(), score * factor)));
        all
    }

    fn turn_score(&self, turn: &[Position], scores: &BTreeMap<Position, f64>) -> f64 {
        let score = |place: &Position| scores.get(place).copied().unwrap_or_default();
        let prompt = usize::from(self.documents[&turn[0]].role == "user");
        let last = turn.len() - 1;
        let weighted =
            (prompt..turn.len()).map(|at| score(&turn[at]) * if at == last { 1.0 } else { 0.5 });
        let reply = weighted.fold(0.0, f64::max);
        let prompt = turn[..prompt].iter().map(score).sum::<f64>();
        prompt.max(reply) + 0.3 * prompt.min(reply)
    }

    /// Rescores messages among the best thirty by their words and those near them, their neighbours,
    /// their session and their speaker, as `message_rescore.rs` and `session_rescore.rs` do.
    pub fn rescore(&self, query: &str, scores: &mut BTreeMap<Position, f64>) {
        let mut best: Vec<(Position, f64)> = scores.iter().map(|(p, s)| (p.clone(), *s)).collect();
        best.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        best.truncate(MESSAGE_WINDOW);
        let mut best: BTreeMap<Position, f64> = best.into_iter().collect();
        let concepts = self.scores_with_presence(query);
        let messages: Vec<(Position, usize)> = best
            .keys()
            .filter(|place| FileKind::of(&place.0) == FileKind::Transcript)
            .map(|place| (place.clone(), self.line_of(place)))
            .collect();
        for (place, line) in &messages {
            let near = messages.iter().filter(|(other, at)| {
                other.0 == place.0
                    && self.session(other) == self.session(place)
                    && at.abs_diff(*line) <= 8
            });
            let near: Vec<&Position> = near.map(|(other, _)| other).collect();
            let score = concepts.values().map(|(_, scores)| {
                let of = |place: &Position| scores.get(place).copied().unwrap_or_default();
                0.8 * of(place) + 0.2 * near.iter().map(|other| of(other)).fold(0.0, f64::max)
            });
            best.insert(place.clone(), score.sum());
        }
        self.rescore_by(scores, &best, |place| {
            let shares = self.speaker_share(query, place) * self.question_share(place);
            shares * self.time_share(query, place)
        });
    }

    fn rescore_by(
        &self,
        scores: &mut BTreeMap<Position, f64>,
        score_of: &BTreeMap<Position, f64>,
        share: impl Fn(&Position) -> f64,
    ) {
        let lines_around = |place: &Position| -> Vec<(Position, bool, u32)> {
            let file = self.documents.iter().filter(|((path, _), _)| *path == place.0);
            let same = |p: &Position| self.session(p) == self.session(place);
            file.map(|(p, d)| (p.clone(), same(p), u32::from(d.lengths[0]))).collect()
        };
        let sums: BTreeMap<Position, f64> = score_of
            .iter()
            .filter(|(place, _)| FileKind::of(&place.0) == FileKind::Transcript)
            .map(|(place, score)| {
                let lines = lines_around(place);
                let at = lines.iter().position(|(p, ..)| p == place).unwrap();
                let mut sum = *score;
                for side in [lines[at + 1..].to_vec(), lines[..at].iter().rev().cloned().collect()]
                {
                    let mut terms = 0;
                    for (distance, (other, same, length)) in (1..=4).zip(side) {
                        terms += length;
                        if !same || terms > 80 {
                            break;
                        }
                        let weight = [0.0, 0.1, 0.07, 0.05][distance - 1];
                        sum += weight * score_of.get(&other).copied().unwrap_or_default();
                    }
                }
                if let Some((question, true, _)) = at.checked_sub(1).map(|at| lines[at].clone()) {
                    let [own, before] = [place, &question].map(|p| &self.documents[p]);
                    if (&*own.role, &*before.role) == ("user", "user") && before.text.contains('?')
                    {
                        sum += 0.15 * score_of.get(&question).copied().unwrap_or_default();
                    }
                }
                (place.clone(), sum)
            })
            .collect();
        for (place, own) in &sums {
            let same = |p: &Position| p.0 == place.0 && self.session(p) == self.session(place);
            let session = sums.iter().filter(|(p, _)| same(p)).map(|(_, sum)| *sum);
            let pulled = 0.75 * own + 0.25 * session.fold(0.0, f64::max);
            scores.insert(place.clone(), pulled * share(place));
        }
        let least = score_of.keys().map(|place| scores[place]).fold(f64::INFINITY, f64::min);
        let behind = || scores.iter().filter(|(place, _)| !score_of.contains_key(*place));
        let first = behind().map(|(_, score)| *score).fold(0.0, f64::max);
        let factor = if first > least { least / first } else { 1.0 };
        let others: Vec<Position> = behind().map(|(place, _)| place.clone()).collect();
        for place in others {
            *scores.get_mut(&place).unwrap() *= factor;
        }
    }

    /// Returns how many messages stand before one in its file.
    fn line_of(&self, place: &Position) -> usize {
        self.documents.keys().filter(|other| other.0 == place.0 && other.1 < place.1).count()
    }

    fn session(&self, place: &Position) -> &str {
        &self.documents[place].session
    }

    /// `w · tf / ((1 − b) + b · (len + m) / (avglen + m))`, as in `bm25f.rs`.
    fn part(&self, f: Field, counts: &[Counts], lengths: &Lengths, averages: &[f64]) -> f64 {
        let f = f as usize;
        let count: u32 = counts.iter().map(|counts| u32::from(counts[f])).sum();
        let (b, m) = (f64::from(self.weights.b[f]), f64::from(self.weights.m[f]));
        let norm = 1.0 - b + b * (f64::from(lengths[f]) + m) / (averages[f] + m);
        f64::from(self.weights.weight[f]) * f64::from(count) / norm
    }
}

/// Says of each word whether it is in a question, where the query has other sentences too.
fn in_question(query: &str) -> Vec<bool> {
    let mut in_question = Vec::new();
    let mut sentence = 0;
    for word in query.split_whitespace() {
        sentence += 1;
        if word.ends_with(['?', '.']) {
            in_question.extend(vec![word.ends_with('?'); sentence]);
            sentence = 0;
        }
    }
    in_question.extend(vec![false; sentence]);
    let all = in_question.iter().all(|&asks| asks);
    in_question.into_iter().map(|asks| asks && !all).collect()
}

impl Document {
    fn of(input: &IndexInput<'_>) -> Self {
        let mut document = Self {
            time: input.time,
            role: input.role.clone(),
            session: input.session.clone(),
            ..Self::default()
        };
        for FieldText { field, text, .. } in &input.fields {
            match field {
                Field::Body => document.text += text,
                Field::Speaker => document.is_named = *text != input.role,
                _ => {}
            }
        }
        let mut votes = Votes::default();
        for FieldText { text, .. } in input.fields.iter().filter(|one| one.field != Field::Context)
        {
            segmentation::each(text, &mut |chunk| votes.add(vote_of(chunk)));
        }
        document.language = votes.language(DOCUMENT_MARGIN, |_| true);
        for FieldText { field, text, .. } in &input.fields {
            let mut before = None;
            segmentation::each(text, &mut |chunk| {
                tokens::terms(chunk, &mut |term| {
                    document.count(*field as usize, &term, &mut before);
                });
            });
        }
        document
    }
}

impl Document {
    fn count(&mut self, field: usize, term: &Term<'_>, before: &mut Option<String>) {
        let is_word = term.form == TermForm::Word;
        let reading = if is_word { self.language.read(term.spelled) } else { None };
        let (word, prefix, counts) = match reading {
            Some(reading) => (reading.term, reading.prefix, !reading.is_stop_word),
            None if is_word => (term.text.to_owned(), prefix_of(term.text), term.counts),
            None => (term.text.to_owned(), None, term.counts),
        };
        let mut pairs = Vec::new();
        if self.language.writes_syllables() {
            for word in std::iter::once(&word).chain(&prefix) {
                let first = before.replace(word.clone());
                pairs.extend(first.and_then(|first| self.language.pair(&first, word)));
            }
        }
        let pairs = pairs.into_iter().map(|(pair, _)| pair);
        for word in std::iter::once(word).chain(prefix).chain(pairs) {
            let words = self.concepts.entry(concept(&word, stem(&word).as_deref())).or_default();
            let counts = words.entry(word).or_default();
            counts[field] = counts[field].saturating_add(1);
        }
        self.lengths[field] = self.lengths[field].saturating_add(u16::from(counts));
    }
}

/// Returns the counts of a concept over its words.
fn sum_of<'a>(words: impl Iterator<Item = &'a Counts>) -> Counts {
    words.fold([0; FIELDS], |sum, counts| std::array::from_fn(|f| sum[f].saturating_add(counts[f])))
}

const ROLES: [&str; 11] = [
    "user", "assist", "system", "tool", "human", "ai", "bot", "agent", "model", "develop",
    "function",
];
