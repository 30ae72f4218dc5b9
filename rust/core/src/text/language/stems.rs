//! Stop words, and the stems of English words.

use std::borrow::Cow;

use once_cell::race::OnceBox;
use rust_stemmers::{Algorithm, Stemmer};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::sync::Mutex;

struct Words {
    stop: FxHashSet<&'static str>,
    stop_zh: FxHashSet<&'static str>,
    /// Form and base of irregular words.
    irregular: FxHashMap<&'static str, &'static str>,
    stemmer: Stemmer,
}

/// Made without a lock, by two threads at worst: a child that was forked while some thread made them
/// would wait for that thread for ever.
static WORDS: OnceBox<Words> = OnceBox::new();

fn words() -> &'static Words {
    WORDS.get_or_init(|| {
        Box::new(Words {
            stop: include_str!("words/stop_en.txt").split_whitespace().collect(),
            stop_zh: include_str!("words/stop_zh.txt").split_whitespace().collect(),
            irregular: include_str!("words/irregular_en.txt")
                .lines()
                .filter_map(|line| line.split_once(' '))
                .flat_map(|(base, forms)| forms.split_whitespace().map(move |form| (form, base)))
                .collect(),
            stemmer: Stemmer::create(Algorithm::English),
        })
    })
}

/// Says whether a folded word is an English stop word.
pub fn is_stop_word(word: &str) -> bool {
    words().stop.contains(word)
}

/// Says whether some Chinese characters are a stop word.
pub fn is_stop_run(characters: &str) -> bool {
    words().stop_zh.contains(characters)
}

/// Returns the stem of a folded English word; none for a stop word, and for what is no such word.
///
/// It depends on the text of a term alone, whatever form it has where it stands.
pub fn stem(word: &str) -> Option<Cow<'_, str>> {
    if is_stop_word(word) || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return None;
    }
    let base = words().irregular.get(word).copied().unwrap_or(word);
    Some(words().stemmer.stem(base))
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

/// Returns the forms that are more than their stem with another ending, each with its stem.
pub fn irregular() -> impl Iterator<Item = (&'static str, String)> {
    let listed = words().irregular.iter().map(|(form, base)| (*form, *base));
    let by_the_stemmer = ["dying", "lying", "tying"].map(|form| (form, form));
    let all = listed.chain(by_the_stemmer);
    all.map(|(form, base)| (form, words().stemmer.stem(base).into_owned()))
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
