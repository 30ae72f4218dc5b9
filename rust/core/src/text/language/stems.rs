//! Stemming of a word by the registered languages, with a cache.

use std::borrow::Cow;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::sync::Mutex;
use crate::text::language::readings::stem_in;
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
