//! Language rule defined outside the crate: the recipe of CONTRIBUTING.md with a toy language.

#![allow(missing_docs)]

mod fixture;

use std::borrow::Cow;

use commonplace_core::text::language::{self, Language};
use fixture::{TestRoot, ask};

/// Nouns of Esperanto lose their endings.
struct Esperanto;

impl Language for Esperanto {
    fn name(&self) -> &'static str {
        "Esperanto"
    }

    fn stop_words(&self) -> &'static str {
        "la kaj estas"
    }

    fn stem<'w>(&self, word: &'w str) -> Option<Cow<'w, str>> {
        let stem = ["ojn", "oj", "on", "o"].iter().find_map(|end| word.strip_suffix(end))?;
        (stem.len() > 2).then_some(Cow::Borrowed(stem))
    }
}

#[test]
fn an_added_language_stems_documents_and_queries() {
    language::extend(&[&Esperanto]).unwrap();
    let root = TestRoot::new();
    root.put("dogs.md", "La hundoj kuras.\n");
    root.put("cats.md", "La kato dormas.\n");
    root.put("running.md", "He was running.\n");
    let store = root.open(false);
    let paths = |query| -> Vec<String> {
        ask(&store, query).hits.iter().map(|hit| hit.path.clone()).collect()
    };
    assert_eq!(paths("hundon"), ["dogs.md"]);
    assert_eq!(paths("la katoj"), ["cats.md"], "a stop word is left out");
    assert_eq!(paths("runs"), ["running.md"], "English stays");
    assert!(language::extend(&[&Esperanto]).is_err());
}
