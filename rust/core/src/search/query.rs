//! The query language: words, `"phrase"`, `-not`, `field:word`, `role:user`, `prefix*`, `word~1`.
//!
//! Anything else is literal text and never an error: `C++`, `-rf`, `a/b`, `NOT`, an unclosed
//! quote, an emoji. A leading `-` excludes only where it can be meant so: a word of three or more
//! letters, or a phrase. A query of exclusions and filters alone finds nothing, and says so.

use crate::error::{Error, Result};
use crate::index::bm25f::Field;
use crate::search::query_fields::{self, FilterField, word_end};
use crate::text::code_names::code_names;
use crate::text::folding::fold;
use crate::text::segmentation;
use crate::text::tokens::{self, TermForm};

/// Most different terms of one query; more are dropped, with a note.
pub const MAX_TERMS: usize = 512;
/// Most patterns, phrases and exclusions, each: a pattern may expand to a thousand words, and a
/// phrase is looked for in texts.
pub const MAX_PATTERNS: usize = 64;
/// Longest query that is read, in bytes.
pub const MAX_QUERY_BYTES: usize = 1 << 16;
/// Most notes about words that look like fields.
const MAX_FIELD_NOTES: usize = 3;
/// What is said of a query of exclusions and filters alone. There is nothing to rank by.
const NO_WORDS: &str = "the query only excludes or filters, so it finds nothing: add a word to look \
                        for, or leave out the \"-\" to look for the excluded word itself";

/// One word or pattern of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Atom {
    /// Plain text, which is searched word by word.
    Words(String),
    /// A word in one field only.
    InField(Field, String),
    /// Any word with this prefix, which is folded already.
    Prefix(String),
    /// Any word at most so many typos away from this, which is folded already.
    Fuzzy(String, u8),
}

/// A parsed query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    /// Words and patterns, in order.
    pub atoms: Vec<Atom>,
    /// The words of its questions once more, where it has other sentences too.
    pub question_words: Vec<String>,
    /// The words that it marks as code once more, where it has other words too.
    pub code_words: Vec<String>,
    /// Phrases that a document must hold.
    pub phrases: Vec<String>,
    /// Phrases that it must not hold.
    pub excluded: Vec<String>,
    /// What a document must say of itself, as `role:user` asks.
    pub filters: Vec<(FilterField, String)>,
    /// What of the query was not used.
    pub notes: Vec<String>,
}

impl Query {
    /// Parses a query.
    ///
    /// # Errors
    /// [`Error::Query`] with code `empty` when there is nothing but white space.
    pub fn parse(text: &str) -> Result<Self> {
        if text.trim().is_empty() {
            return Err(Error::Query {
                query: text.chars().take(40).collect(),
                code: "empty",
                why: "give at least one word".to_owned(),
            });
        }
        let mut query = Self::default();
        let mut text = text;
        if text.len() > MAX_QUERY_BYTES {
            text = &text[..text.floor_char_boundary(MAX_QUERY_BYTES)];
            query.notes.push(format!("the query was cut at {MAX_QUERY_BYTES} bytes"));
        }
        let (excluded, patterns) = query.read_atoms(text);
        let counts = [
            (patterns, "patterns"),
            (query.phrases.len(), "phrases"),
            (excluded.len(), "exclusions"),
        ];
        for (count, what) in counts.into_iter().filter(|(count, _)| *count > MAX_PATTERNS) {
            let note = format!("only the first {MAX_PATTERNS} of {count} {what} were used");
            query.notes.push(note);
        }
        query.phrases.truncate(MAX_PATTERNS);
        query.excluded = excluded;
        query.excluded.truncate(MAX_PATTERNS);
        if query.atoms.is_empty() {
            query.notes.push(NO_WORDS.to_owned());
        }
        query.question_words = question_words(&query.atoms);
        query.code_words = code_names(&plain_words(&query.atoms));
        Ok(query)
    }

    /// Reads words, phrases, patterns and filters. Returns the exclusions without their `-`, and the
    /// number of patterns.
    fn read_atoms(&mut self, text: &str) -> (Vec<String>, usize) {
        let (mut rest, mut excluded, mut patterns) = (text, Vec::new(), 0);
        while let Some(start) = rest.find(|c: char| !c.is_whitespace()) {
            rest = &rest[start..];
            let (minus, body) = match rest.strip_prefix('-') {
                Some(body) => (true, body),
                None => (false, rest),
            };
            if let Some((phrase, after)) = quoted(body) {
                if minus {
                    excluded.push(phrase.to_owned());
                } else {
                    self.phrases.push(phrase.to_owned());
                    self.atoms.push(Atom::Words(phrase.to_owned()));
                }
                rest = after;
                continue;
            }
            if let Some((field, value, after)) = FilterField::take(rest) {
                self.filters.push((field, value));
                rest = after;
                continue;
            }
            let (word, after) = rest.split_at(word_end(rest));
            rest = after;
            if minus && is_plain_word(&word[1..]) {
                excluded.push(word[1..].to_owned());
            } else {
                let atom = atom(word);
                if matches!(atom, Atom::Words(_)) {
                    self.note_field(word);
                }
                patterns += usize::from(!matches!(atom, Atom::Words(_)));
                if matches!(atom, Atom::Words(_)) || patterns <= MAX_PATTERNS {
                    self.atoms.push(atom);
                }
            }
        }
        (excluded, patterns)
    }

    /// Notes that a word which looks like a field or a filter was searched as text.
    fn note_field(&mut self, word: &str) {
        if self.notes.len() < MAX_FIELD_NOTES
            && let Some(note) = query_fields::note(word)
            && !self.notes.contains(&note)
        {
            self.notes.push(note);
        }
    }
}

/// Takes a closed, non-empty phrase off the front.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('"')?;
    let (phrase, after) = inner.split_once('"')?;
    (!phrase.trim().is_empty()).then_some((phrase, after))
}

/// Returns the plain words of a query, in order.
fn plain_words<'a>(atoms: &'a [Atom]) -> Vec<&'a str> {
    let text = |atom: &'a Atom| if let Atom::Words(text) = atom { Some(&**text) } else { None };
    atoms.iter().filter_map(text).collect()
}

/// Returns the words of questions, unless all sentences are questions or none is.
fn question_words(atoms: &[Atom]) -> Vec<String> {
    let words = plain_words(atoms);
    let ends = |word: &&str| match word.strip_suffix('.') {
        // U.S., Dr.
        Some(word) => word.len() > 3 && !word.contains('.'),
        None => word.ends_with(['?', '!', '。', '！', '？']),
    };
    let is_question =
        |sentence: &&[&str]| sentence.last().is_some_and(|w| w.ends_with(['?', '？']));
    let sentences = words.split_inclusive(ends);
    if sentences.clone().all(|sentence| is_question(&sentence)) {
        return Vec::new();
    }
    sentences.filter(is_question).flatten().map(|&word| word.to_owned()).collect()
}

fn is_plain_word(word: &str) -> bool {
    word.chars().count() >= 3 && word.chars().all(char::is_alphabetic)
}

fn atom(word: &str) -> Atom {
    if let Some((field, value)) = word.split_once(':')
        && let Some(field) = query_fields::field_named(field)
        && value.chars().any(char::is_alphanumeric)
    {
        return Atom::InField(field, value.to_owned());
    }
    if let Some(stem) = word.strip_suffix('*').and_then(folded) {
        return Atom::Prefix(stem);
    }
    for (mark, typos) in [("~1", 1), ("~2", 2), ("~", 1)] {
        if let Some(stem) = word.strip_suffix(mark).and_then(folded) {
            return Atom::Fuzzy(stem, typos);
        }
    }
    Atom::Words(word.to_owned())
}

/// Returns the folded form of a text that is one word, else none.
fn folded(word: &str) -> Option<String> {
    if word.is_empty() || !word.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-') {
        return None;
    }
    Some(fold(word).into_owned())
}

/// Returns the words and characters of a text in order, each behind a space, which no word holds:
/// phrases are compared in this form.
fn normalized(text: &str) -> String {
    let mut words = String::new();
    segmentation::each(text, &mut |chunk| {
        tokens::terms(chunk, &mut |term| {
            use TermForm::{Character, CharacterInWord, Word};
            if matches!(term.form, Word | Character | CharacterInWord) {
                words.push(' ');
                words.push_str(term.text);
            }
        });
    });
    words.push(' ');
    words
}

/// Says whether the words of `phrase` are in `text` one after the other.
pub fn contains_phrase(text: &str, phrase: &str) -> bool {
    let phrase = normalized(phrase);
    // linear time, whatever repeats in the two
    phrase.len() > 1
        && memchr::memmem::find(normalized(text).as_bytes(), phrase.as_bytes()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Atom {
        Atom::Words(text.to_owned())
    }

    #[test]
    fn odd_queries_are_literal_text() {
        for odd in
            ["C++", "-rf", "a/b", "NOT", "\"open", "🙂", "--pre=x", "~", "*", ":", "a:b", "-"]
        {
            let query = Query::parse(odd).unwrap();
            assert_eq!(query.atoms, [words(odd)], "{odd}");
            assert!(query.phrases.is_empty() && query.excluded.is_empty(), "{odd}");
        }
    }

    #[test]
    fn operators_are_read_where_they_can_be_meant() {
        let query =
            Query::parse("cat -dog \"a b\" -\"c d\" heading:Foo Pre* tpyo~1 rm -rf").unwrap();
        assert_eq!(query.excluded, ["dog", "c d"]);
        assert_eq!(query.phrases, ["a b"]);
        assert_eq!(
            query.atoms,
            [
                words("cat"),
                words("a b"),
                Atom::InField(Field::Heading, "Foo".to_owned()),
                Atom::Prefix("pre".to_owned()),
                Atom::Fuzzy("tpyo".to_owned(), 1),
                words("rm"),
                words("-rf"),
            ]
        );
    }

    #[test]
    fn exclusions_alone_are_exclusions() {
        for text in ["-kiwi", "-\"red kiwi\"", "-kiwi -lemon", "role:user", "role:user -kiwi"] {
            let query = Query::parse(text).unwrap();
            assert_eq!((query.atoms, query.notes), (vec![], vec![NO_WORDS.to_owned()]), "{text}");
        }
    }

    #[test]
    fn filters_are_read_and_what_looks_like_one_is_told() {
        let query = Query::parse("tea role:user session:s-1 name:Ann rol:user http://a.b -role:x");
        let query = query.unwrap();
        assert_eq!(
            query.filters,
            [(FilterField::Role, "user".to_owned()), (FilterField::Session, "s-1".to_owned())]
        );
        assert_eq!(query.atoms[1], Atom::InField(Field::Speaker, "Ann".to_owned()));
        assert_eq!(query.atoms.len(), 5);
        assert_eq!(query.notes.len(), 2, "{:?}", query.notes);
        assert!(query.notes[0].contains("rol is no field") && query.notes[0].contains("category"));
        assert!(query.notes[1].starts_with("-role:x was searched as text"));
    }

    #[test]
    fn the_value_of_a_filter_may_be_quoted() {
        let read = |text: &str| {
            let query = Query::parse(text).unwrap();
            (query.filters, query.atoms.len(), query.notes.len())
        };
        let category = |value: &str| vec![(FilterField::Category, value.to_owned())];
        assert_eq!(read("tea category:tea now"), (category("tea"), 2, 0));
        assert_eq!(read("tea category:\"green tea\" now"), (category("green tea"), 2, 0));
        assert_eq!(read("category:\"green\\n tea\"now"), (category("green\\n tea"), 1, 0));
        // a quote that is not closed, and nothing in it, are text
        assert_eq!(read("tea category:\"green now"), (vec![], 3, 1));
        assert_eq!(read("tea category:\" \" now"), (vec![], 4, 1));
        assert_eq!(read("tea subcategory:\"green tea\""), (vec![], 3, 1));
    }

    #[test]
    fn questions_are_told_from_other_sentences() {
        for (text, asked) in [
            ("It rains. Where is Dr. No? Tell me.", &["Where", "is", "Dr.", "No?"][..]),
            ("今天下雨。我的伞呢？", &["我的伞呢？"]),
            ("我的伞呢？另外，他呢？", &[]),
            ("where is it?", &[]),
            ("where? there", &["where?"]),
            ("no question. None", &[]),
            ("what is C++?x 20.5 a.b", &[]),
        ] {
            assert_eq!(Query::parse(text).unwrap().question_words, asked, "{text}");
        }
        assert!(Query::parse(" \t\n").is_err());
    }

    #[test]
    fn names_in_code_are_told_from_other_words() {
        for (text, names) in [
            ("what is `a b`, and c()?", &["a", "b", "c"][..]),
            ("\"of the `a`\" heading:`b` -\"`c`\"", &["a"]),
            ("`a` b()", &[]),
        ] {
            assert_eq!(Query::parse(text).unwrap().code_words, names, "{text}");
        }
    }
}
