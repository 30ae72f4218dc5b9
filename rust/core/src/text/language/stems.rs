//! Stemming of a word by the registered languages, with caches.

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::sync::Mutex;
use crate::text::language::readings::{LanguageId, Reading, stem_in};
use crate::text::language::{is_stop_word, table};

/// Returns the stem of a folded word; none for a stop word, and where no language has one.
///
/// It depends on the text of a term alone, whatever form it has where it stands.
pub fn stem(word: &str) -> Option<Cow<'_, str>> {
    if let Some(stem) = stem_in(word) {
        return Some(Cow::Borrowed(stem));
    }
    if is_stop_word(word) { None } else { table::stem(word) }
}

/// Stems of words that were asked for again and again, and how many are kept.
static STEM_CACHE: Mutex<FxHashMap<Box<str>, Option<Box<str>>>> =
    Mutex::new(FxHashMap::with_hasher(FxBuildHasher));
const MAX_CACHED_STEMS: usize = 8192;

/// Hands out the stem of a word, if it has one; for texts that are read again and again, as those
/// that are found are: to remember a stem takes a tenth of making it.
///
/// It never waits: a process that was forked while some thread held the cache goes on
/// without it.
pub fn with_stem<R>(word: &str, then: impl FnOnce(&str) -> R) -> Option<R> {
    let Some(mut cache) = STEM_CACHE.try_lock() else { return stem(word).as_deref().map(then) };
    if let Some(stem) = cache.get(word) {
        return stem.as_deref().map(then);
    }
    if cache.len() >= MAX_CACHED_STEMS {
        cache.clear();
    }
    let stem: Option<Box<str>> = stem(word).map(Into::into);
    let done = stem.as_deref().map(then);
    cache.insert(word.into(), stem);
    done
}

/// Words of queries as they are read in each language so far.
type Readings = FxHashMap<Box<str>, Vec<(LanguageId, Option<Arc<Reading>>)>>;
static READING_CACHE: Mutex<Readings> = Mutex::new(FxHashMap::with_hasher(FxBuildHasher));
const MAX_CACHED_READINGS: usize = 2048;

/// Returns a word as it is read in each of some languages, without those in which it is no word; for
/// queries, whose words come again: to read one in ten languages takes as long as to look it up in
/// the index.
///
/// It never waits, as [`with_stem`].
pub fn readings(word: &str, languages: &[LanguageId]) -> Vec<Arc<Reading>> {
    let read = |language: LanguageId| language.read(word).map(Arc::new);
    let Some(mut cache) = READING_CACHE.try_lock().filter(|_| !languages.is_empty()) else {
        return languages.iter().filter_map(|&language| read(language)).collect();
    };
    if cache.len() >= MAX_CACHED_READINGS && !cache.contains_key(word) {
        cache.clear();
    }
    let known = cache.entry(word.into()).or_default();
    let mut reading = |&language: &LanguageId| {
        if let Some((_, reading)) = known.iter().find(|(other, _)| *other == language) {
            return reading.clone();
        }
        let reading = read(language);
        known.push((language, reading.clone()));
        reading
    };
    languages.iter().filter_map(&mut reading).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_stemmed() {
        assert_eq!(stem("running").as_deref(), Some("run"));
        assert_eq!(stem("children").as_deref(), Some("child"));
        assert_eq!((stem("the"), stem("naïve"), stem("v2")), (None, None, None));
    }

    #[test]
    fn readings_are_remembered_as_they_are() {
        let all: Vec<LanguageId> = LanguageId::all().collect();
        let words = ["Häuser", "running", "l'eau", "v2", "数", ""].map(str::to_owned);
        let many = (0..MAX_CACHED_READINGS + 9)
            .map(|number| format!("haus{}", "e".repeat(number % 9) + &number.to_string()));
        for word in words.iter().cloned().chain(many).chain(words.iter().cloned()) {
            for languages in [&all[..1], &all[..], &all[3..5], &[]] {
                let plain = languages.iter().filter_map(|language| language.read(&word));
                let remembered = readings(&word, languages).into_iter().map(|one| (*one).clone());
                assert_eq!(remembered.collect::<Vec<_>>(), plain.collect::<Vec<_>>(), "{word}");
            }
        }
        assert!(READING_CACHE.lock().len() <= MAX_CACHED_READINGS);
    }

    #[test]
    fn a_stem_is_remembered_as_it_is() {
        for turn in 0..2 {
            for number in 0..MAX_CACHED_STEMS / 2 * 3 {
                let word = match number % 3 {
                    0 => "running".to_owned(),
                    1 => format!("the{number}-{turn}"),
                    _ => format!("skie{}", "s".repeat(number % 50)),
                };
                let remembered = with_stem(&word, str::to_owned);
                assert_eq!(remembered.as_deref(), stem(&word).as_deref(), "{turn} {word}");
            }
        }
        assert!(STEM_CACHE.lock().len() <= MAX_CACHED_STEMS);
    }
}
