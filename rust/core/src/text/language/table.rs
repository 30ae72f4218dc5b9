//! Registry of languages: their rules merged into tables with one lookup each.

use std::borrow::Cow;

use once_cell::race::OnceBox;
use rustc_hash::{FxHashMap, FxHashSet};
use xxhash_rust::xxh3::xxh3_64;

use crate::text::folding::fold;
use crate::text::language::time_words::TimeTable;
use crate::text::language::vote_table::VoteTable;
use crate::text::language::{LANGUAGES, Language, Pronoun, Pronouns, SEPARATOR};

/// The rules of all languages.
struct LanguageTable {
    /// Those with spaces between words that a word by itself tells, in the order in which they are
    /// asked for a stem.
    spaced: Vec<&'static dyn Language>,
    /// Stop words of these.
    stop_words: FxHashSet<&'static str>,
    proper_nouns: FxHashSet<&'static str>,
    clitics: Vec<&'static str>,
    /// Form and base of irregular words.
    irregular: FxHashMap<&'static str, &'static str>,
    /// Stop words of unspaced scripts, and the characters of the longest.
    stop_runs: FxHashSet<&'static str>,
    longest_stop_run: usize,
    unspaced: CharSet,
    over_lines: CharSet,
    /// What makes a cluster with its neighbour, and what words in a run are made of.
    joins_previous: CharSet,
    joins_next: CharSet,
    in_words: CharSet,
    /// Languages that are told document by document, the stop words of each, and how they vote.
    told: Vec<&'static dyn Language>,
    told_stop_words: Vec<FxHashSet<Cow<'static, str>>>,
    markers: Vec<String>,
    votes: VoteTable,
    /// By word, of the languages that a word by itself tells; of the others, by language; and of
    /// unspaced scripts.
    pronouns: FxHashMap<&'static str, Pronoun>,
    told_pronouns: Vec<FxHashMap<&'static str, Pronoun>>,
    pronoun_runs: Vec<(&'static str, Pronoun)>,
    time: TimeTable,
    extension_id: u64,
}

/// Made without a lock, by two threads at worst: a child that was forked while some thread made it
/// would wait for that thread for ever.
static TABLE: OnceBox<LanguageTable> = OnceBox::new();

#[inline]
fn table() -> &'static LanguageTable {
    TABLE.get_or_init(|| Box::new(LanguageTable::of(&[])))
}

/// A text has been analysed without a language that is to be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("texts are analysed already; add languages once, when the program starts")]
pub struct AlreadyInUse;

/// Adds languages to those that are built in; each is asked before them.
///
/// Once in a process, before a store is opened or a text analysed. An index on disk that was made
/// with other languages is not used.
///
/// # Errors
/// [`AlreadyInUse`]; nothing was added.
pub fn extend(languages: &[&'static dyn Language]) -> Result<(), AlreadyInUse> {
    TABLE.set(Box::new(LanguageTable::of(languages))).map_err(|_| AlreadyInUse)
}

/// Returns an id of the languages that were added, 0 if none were.
pub fn extension_id() -> u64 {
    table().extension_id
}

impl LanguageTable {
    fn of(added: &[&'static dyn Language]) -> Self {
        let unspaced = |languages: &mut dyn Iterator<Item = &'static dyn Language>| {
            languages.flat_map(|one| one.unspaced()).cloned().flatten().collect::<Vec<_>>()
        };
        let all = || added.iter().chain(LANGUAGES).copied();
        let is_spaced = |language: &&dyn Language| language.unspaced().is_empty();
        let is_told = |language: &&dyn Language| language.code().is_some();
        let spaced: Vec<_> = all().filter(is_spaced).filter(|one| !is_told(one)).collect();
        let told: Vec<_> = all().filter(is_told).collect();
        let stop_runs: FxHashSet<_> = all()
            .filter(|language| !is_spaced(language))
            .flat_map(|language| language.stop_words().split_whitespace())
            .collect();
        let mut irregular = FxHashMap::default();
        for line in spaced.iter().flat_map(|language| language.irregular_forms().lines()) {
            let mut words = line.split_whitespace();
            let Some(base) = words.next() else { continue };
            for form in words {
                // the language that is asked first decides
                irregular.entry(form).or_insert(base);
            }
        }
        Self {
            stop_words: spaced.iter().flat_map(|one| one.stop_words().split_whitespace()).collect(),
            proper_nouns: spaced.iter().flat_map(|one| one.proper_nouns()).copied().collect(),
            clitics: spaced.iter().flat_map(|one| one.clitics()).copied().collect(),
            irregular,
            longest_stop_run: stop_runs.iter().map(|run| run.chars().count()).max().unwrap_or(0),
            stop_runs,
            unspaced: CharSet::of(unspaced(&mut all())),
            over_lines: CharSet::of(unspaced(&mut all().filter(|one| one.runs_over_lines()))),
            joins_previous: CharSet::of(all().flat_map(|one| one.joins_previous().chars())),
            joins_next: CharSet::of(all().flat_map(|one| one.joins_next().chars())),
            in_words: CharSet::of(all().flat_map(|one| one.word_characters()).cloned().flatten()),
            extension_id: id_of(added),
            told_stop_words: told.iter().map(|&language| stop_words_of(language)).collect(),
            markers: told.iter().map(|language| marker_of(*language)).collect(),
            votes: VoteTable::of(&told, &spaced),
            pronouns: spaced.iter().flat_map(|one| pronouns_of(*one)).collect(),
            told_pronouns: told.iter().map(|one| pronouns_of(*one).collect()).collect(),
            pronoun_runs: all().filter(|one| !is_spaced(one)).flat_map(pronouns_of).collect(),
            time: TimeTable::of(all().map(|language| language.time_words())),
            told,
            spaced,
        }
    }
}

/// Returns an id of what some languages are, as far as it is data; 0 of none.
fn id_of(languages: &[&dyn Language]) -> u64 {
    if languages.is_empty() {
        return 0;
    }
    let rules = languages.iter().map(|language| {
        let words = (language.stop_words(), language.irregular_forms());
        let spelled = (language.proper_nouns(), language.clitics());
        let script = (language.unspaced(), language.runs_over_lines());
        let joins = (language.joins_previous(), language.joins_next());
        let script = (script, joins, language.word_characters());
        let told = (language.code(), language.letters(), language.spells_by_accents());
        (language.name(), words, spelled, script, told, language.time_words())
    });
    xxh3_64(format!("{:?}", rules.collect::<Vec<_>>()).as_bytes())
}

/// Returns the stop words of a language that is told by them, as they are compared.
fn stop_words_of(language: &'static dyn Language) -> FxHashSet<Cow<'static, str>> {
    let folded = |word| if language.spells_by_accents() { Cow::Borrowed(word) } else { fold(word) };
    language.stop_words().split_whitespace().map(folded).collect()
}

fn pronouns_of(language: &dyn Language) -> impl Iterator<Item = (&'static str, Pronoun)> {
    let Pronouns { subject, first, second } = language.pronouns();
    let kinds = [(subject, Pronoun::Subject), (first, Pronoun::First), (second, Pronoun::Second)];
    let of = |(words, kind): (&'static str, Pronoun)| {
        words.split_whitespace().map(move |word| (word, kind))
    };
    kinds.into_iter().flat_map(of)
}

/// Returns what pronoun a word in lower case is, in one of the languages that are numbered from 1, or
/// read by itself.
pub(super) fn pronoun(word: &str, number: u8) -> Option<Pronoun> {
    let table = table();
    let told = usize::from(number).checked_sub(1).and_then(|at| table.told_pronouns.get(at));
    told.unwrap_or(&table.pronouns).get(word).copied()
}

/// Hands out the pronouns in a run of an unspaced script.
pub(in crate::text) fn pronoun_in_run(run: &str, each: &mut dyn FnMut(Pronoun)) {
    let found = table().pronoun_runs.iter().filter(|(word, _)| run.contains(word));
    found.for_each(|&(_, pronoun)| each(pronoun));
}

/// Says whether a text in lower case, with each word between spaces, asks when.
pub(in crate::text) fn asks_when(words: &str) -> bool {
    table().time.asks_when(words)
}

/// Says whether a text has a word of time of any language, a year or a time of day.
pub fn tells_time(text: &str) -> bool {
    table().time.tells_time(text)
}

/// Returns the languages that are told document by document.
pub(super) fn told() -> &'static [&'static dyn Language] {
    &table().told
}

/// Returns how words vote for these.
pub(super) fn votes() -> &'static VoteTable {
    &table().votes
}

/// Returns the term that each document of one of these holds; they are numbered from 1.
pub(super) fn marker(number: u8) -> &'static str {
    let marker = table().markers.get(usize::from(number).wrapping_sub(1));
    marker.map(String::as_str).unwrap_or_default()
}

fn marker_of(language: &dyn Language) -> String {
    format!("{SEPARATOR}{SEPARATOR}{}", language.code().unwrap_or_default())
}

/// Says whether a word is a stop word of one of these, which are numbered from 1.
pub(super) fn is_stop_word_of(number: u8, word: &str) -> bool {
    let words = table().told_stop_words.get(usize::from(number).wrapping_sub(1));
    words.is_some_and(|words| words.contains(word))
}

/// Says whether a folded word is a stop word.
#[inline]
pub(in crate::text) fn is_stop_word(word: &str) -> bool {
    table().stop_words.contains(word)
}

/// Says whether a word, as it is spelled, is a proper noun and no stop word.
pub(in crate::text) fn is_proper_noun(word: &str) -> bool {
    table().proper_nouns.contains(word)
}

/// Returns the endings that are not part of a word.
#[inline]
pub(in crate::text) fn clitics() -> &'static [&'static str] {
    &table().clitics
}

/// Says whether some characters of an unspaced script are a stop word.
pub(in crate::text) fn is_stop_run(characters: &str) -> bool {
    table().stop_runs.contains(characters)
}

/// Returns how many characters the longest stop word of an unspaced script has.
pub(in crate::text) fn longest_stop_run() -> usize {
    table().longest_stop_run
}

/// Says whether a character is of a script written without spaces between words.
#[inline]
pub(in crate::text) fn is_unspaced(c: char) -> bool {
    table().unspaced.contains(c)
}

/// Says whether a character is of a script in which a line end may fall within a word.
#[inline]
pub(in crate::text) fn runs_over_lines(c: char) -> bool {
    table().over_lines.contains(c)
}

/// Says whether a character makes one cluster with the one before it, in an unspaced script.
#[inline]
pub(in crate::text) fn joins_previous(c: char) -> bool {
    table().joins_previous.contains(c)
}

/// Says whether it makes one with the character behind it.
#[inline]
pub(in crate::text) fn joins_next(c: char) -> bool {
    table().joins_next.contains(c)
}

/// Says whether runs of a character, and of others like it, are words in an unspaced script.
#[inline]
pub(in crate::text) fn stands_in_words(c: char) -> bool {
    table().in_words.contains(c)
}

/// Returns the stem of a folded word that is no stop word, if a language has one.
pub(super) fn stem(word: &str) -> Option<Cow<'_, str>> {
    stem_and_language(word).map(|(stem, _)| stem)
}

/// Returns the same with its language.
pub(super) fn stem_and_language(word: &str) -> Option<(Cow<'_, str>, &'static dyn Language)> {
    let LanguageTable { irregular, spaced, .. } = table();
    let base = irregular.get(word).copied().unwrap_or(word);
    spaced.iter().find_map(|&language| Some((language.stem(base)?, language)))
}

/// Returns the irregular forms, each with its stem.
pub(in crate::text) fn irregular_stems() -> impl Iterator<Item = (&'static str, String)> {
    let forms = table().irregular.keys();
    forms.filter_map(|&form| Some((form, stem(form)?.into_owned())))
}

/// A set of characters: a bit for each, up to the last of them.
struct CharSet(Vec<u64>);

impl CharSet {
    fn of(characters: impl IntoIterator<Item = char>) -> Self {
        let mut bits = Vec::new();
        for c in characters {
            let at = c as usize / 64;
            if at >= bits.len() {
                bits.resize(at + 1, 0);
            }
            bits[at] |= 1 << (c as u32 % 64);
        }
        Self(bits)
    }

    #[inline]
    fn contains(&self, c: char) -> bool {
        self.0.get(c as usize / 64).is_some_and(|bits| bits >> (c as u32 % 64) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::language::korean::Korean;

    #[test]
    fn every_character_of_a_range_is_in_the_set() {
        for language in LANGUAGES {
            for range in language.unspaced() {
                assert!(is_unspaced(*range.start()) && is_unspaced(*range.end()), "{range:?}");
                assert_eq!(runs_over_lines(*range.start()), language.runs_over_lines());
            }
        }
        let others = ['a', 'é', 'д', '\u{0DFF}', '\u{3008}', '\u{FFA0}', '\u{40000}', char::MAX];
        assert!(others.into_iter().all(|c| !is_unspaced(c) && !runs_over_lines(c)));
    }

    #[test]
    fn an_index_tells_added_languages_apart() {
        struct Renamed;
        impl Language for Renamed {
            fn name(&self) -> &'static str {
                "Korean 2"
            }
            fn unspaced(&self) -> &'static [std::ops::RangeInclusive<char>] {
                Korean.unspaced()
            }
        }
        assert_eq!((id_of(&[]), extension_id()), (0, 0));
        let [one, other] = [id_of(&[&Korean]), id_of(&[&Renamed])];
        assert!(one != other && one != 0 && other != 0);
    }

    #[test]
    fn a_language_that_comes_late_is_refused() {
        assert!(is_stop_word("the"));
        assert_eq!(extend(&[&Korean]), Err(AlreadyInUse));
    }
}
