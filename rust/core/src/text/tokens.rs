//! Text → terms, the same for documents and queries.
//!
//! Text falls into *chunks*, which can be read one by one whatever stands around them: a word, an
//! identifier or path such as `src/a-b.rs`, or a run of a script that is written without spaces.
//! A chunk gives its words (folded, each as it is and as its English stem), the whole of an
//! identifier beside its parts, and the characters and pairs of characters of an unspaced run.
//! Folding is NFKC, case and accents.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};
use rustc_hash::{FxHashMap, FxHashSet};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Longest word and longest whole identifier that are kept, in bytes; words are cut, wholes left.
const LONGEST_WORD: usize = 64;
const LONGEST_WHOLE: usize = 48;

/// What a term is of its chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// A folded word.
    Word,
    /// An identifier in one piece.
    Whole,
    /// Two neighbouring characters of an unspaced script.
    Pair,
    /// One character of an unspaced script.
    Character,
}

/// One term of a chunk.
#[derive(Debug)]
pub struct Term<'a> {
    /// As it stands in the dictionary.
    pub text: &'a str,
    /// What it is.
    pub form: Form,
    /// Bytes in the chunk.
    pub range: Range<usize>,
    /// Whether it counts for the length of its field: no stop word, and once a word.
    pub counts: bool,
}

struct Words {
    stop: FxHashSet<&'static str>,
    stop_zh: FxHashSet<&'static str>,
    /// Form and base of irregular words.
    irregular: FxHashMap<&'static str, &'static str>,
    stemmer: Stemmer,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| Words {
    stop: include_str!("words/stop_en.txt").split_whitespace().collect(),
    stop_zh: include_str!("words/stop_zh.txt").split_whitespace().collect(),
    irregular: include_str!("words/irregular_en.txt")
        .lines()
        .filter_map(|line| line.split_once(' '))
        .flat_map(|(base, forms)| forms.split_whitespace().map(move |form| (form, base)))
        .collect(),
    stemmer: Stemmer::create(Algorithm::English),
});

/// Irregular forms that do not begin as their stem does.
static OTHER_STARTS: LazyLock<Vec<(&str, String)>> = LazyLock::new(|| {
    let stems = WORDS.irregular.iter().map(|(form, base)| (*form, WORDS.stemmer.stem(base).into()));
    let begins_otherwise = |(form, stem): &(&str, String)| {
        let mut starts = Starts { triples: [[0; 26]; 26] };
        starts.note(stem);
        !starts.may_begin(form.as_bytes())
    };
    let mut other: Vec<(&str, String)> = stems.filter(begins_otherwise).collect();
    other.sort_unstable();
    other
});

/// Says whether a folded word is one that every text holds.
pub fn is_stop_word(word: &str) -> bool {
    WORDS.stop.contains(word)
}

fn is_connector(c: char) -> bool {
    matches!(c, '\'' | '’' | '.' | '-' | '/' | ':' | '@' | '+')
}

/// Scripts written without spaces between words.
fn is_unspaced(c: char) -> bool {
    is_ideographic(c)
        || matches!(c as u32,
            0x0E00..=0x0EFF // Thai, Lao
            | 0x1000..=0x109F // Myanmar
            | 0x1100..=0x11FF | 0x3130..=0x318F | 0xA960..=0xA97F | 0xAC00..=0xD7FF // Hangul
            | 0x1780..=0x17FF // Khmer
        )
}

/// Han, kana and what stands for them: here a line end may fall within a word.
fn is_ideographic(c: char) -> bool {
    matches!(c as u32,
        0x3005..=0x3007 | 0x3021..=0x3029
        | 0x3041..=0x3096 | 0x309D..=0x309F // Hiragana
        | 0x30A1..=0x30FA | 0x30FC..=0x30FF | 0x31F0..=0x31FF | 0xFF66..=0xFF9F // Katakana
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF // Han
    )
}

fn is_word(c: char) -> bool {
    if let Ok(byte) = u8::try_from(c)
        && byte.is_ascii()
    {
        return is_word_byte(byte);
    }
    (c.is_alphanumeric() || is_combining_mark(c)) && !is_unspaced(c)
}

/// Hands out the chunks of a text, in order; they are slices of it.
pub fn chunks<'a>(text: &'a str, emit: &mut impl FnMut(&'a str)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if byte.is_ascii() {
            let start = at;
            at += 1;
            if is_word_byte(byte) {
                at = word_end(text, at);
                emit(&text[start..at]);
            }
            continue;
        }
        let end = match next_char(text, at) {
            Some(c) if is_unspaced(c) => run_end(text, at),
            Some(c) if is_word(c) => word_end(text, at),
            Some(c) => {
                at += c.len_utf8();
                continue;
            }
            None => break,
        };
        emit(&text[at..end]);
        at = end;
    }
}

/// Says of an ASCII character what [`is_word`] does.
#[inline]
fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn next_char(text: &str, at: usize) -> Option<char> {
    text[at..].chars().next()
}

/// Returns where the words joined by single connectors that begin at `at` end.
fn word_end(text: &str, mut at: usize) -> usize {
    let bytes = text.as_bytes();
    loop {
        while let Some(&byte) = bytes.get(at) {
            if is_word_byte(byte) {
                at += 1;
            } else if byte.is_ascii() {
                if !is_connector(byte.into()) && byte != b'#' {
                    return at;
                }
                break;
            } else if let Some(c) = next_char(text, at).filter(|&c| is_word(c)) {
                at += c.len_utf8();
            } else {
                break;
            }
        }
        let Some(connector) = next_char(text, at).filter(|&c| is_connector(c) || c == '#') else {
            return at;
        };
        let after = at + connector.len_utf8();
        match next_char(text, after) {
            Some(c) if is_word(c) && connector != '#' => at = after,
            // C++, C#
            next if connector == '+' && next == Some('+') || connector == '#' => {
                let end = after + usize::from(connector == '+');
                return if next_char(text, end).is_some_and(is_word) { at } else { end };
            }
            _ => return at,
        }
    }
}

/// Returns where a run of an unspaced script ends; in Han and kana it goes on over a line end.
fn run_end(text: &str, start: usize) -> usize {
    let mut end = start;
    let mut bridging = false;
    let mut last = ' ';
    for (offset, c) in text[start..].char_indices() {
        if is_unspaced(c) && (!bridging || is_ideographic(c)) || !bridging && is_combining_mark(c) {
            end = start + offset + c.len_utf8();
            bridging = false;
            last = c;
        } else if matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{3000}')
            && is_ideographic(last)
            && start + offset - end < 64
        {
            // an empty line is a border
            if c == '\n' && text[end..start + offset].contains('\n') {
                break;
            }
            bridging = true;
        } else {
            break;
        }
    }
    end
}

/// Returns a word without case, accents and compatibility forms.
pub fn fold(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    // upper case first: that is where ß becomes ss and all sigmas become one
    let folded = word.nfkc().flat_map(char::to_uppercase).flat_map(char::to_lowercase);
    folded.nfd().filter(|c| !matches!(c, '\u{300}'..='\u{36f}')).nfc().collect()
}

/// Hands out the terms of one chunk.
pub fn terms(chunk: &str, emit: &mut impl FnMut(Term<'_>)) {
    terms_like(chunk, None, emit);
}

/// Hands out the terms of one chunk, leaving out words that begin otherwise than those sought.
pub fn terms_like(chunk: &str, sought: Option<&Starts>, emit: &mut impl FnMut(Term<'_>)) {
    match chunk.chars().next() {
        Some(c) if is_unspaced(c) => run_terms(chunk, emit),
        Some(_) => word_terms(chunk, sought, emit),
        None => {}
    }
}

/// How the words that are sought begin, and their other forms: most words of a text can be told
/// from them by three letters, without folding and stemming.
#[derive(Debug, Clone)]
pub struct Starts {
    /// For each pair of letters, one bit for each third one.
    triples: [[u32; 26]; 26],
}

impl Starts {
    /// Notes how these words and stems begin.
    pub fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut starts = Self { triples: [[0; 26]; 26] };
        for text in texts {
            starts.note(text);
            // bought begins as buy does, but went not as go
            for (form, _) in OTHER_STARTS.iter().filter(|(_, stem)| stem == text) {
                starts.note(form);
            }
        }
        starts
    }

    fn note(&mut self, text: &str) {
        // the stem of using is use: of short ones, the last letter is not sure
        let third = |third: Option<usize>| match third.filter(|_| text.len() > 3) {
            Some(third) => 1 << third,
            None => u32::MAX,
        };
        match front(text.as_bytes()) {
            (Some(first), Some(second), last) => self.triples[first][second] |= third(last),
            (Some(first), None, _) if text.len() == 1 => self.triples[first] = [u32::MAX; 26],
            // what begins otherwise passes anyway
            _ => {}
        }
    }

    /// Says whether one of the words of an ASCII chunk may be sought: a word begins at its front,
    /// with a capital, or behind what is no letter.
    fn may_stand_in(&self, chunk: &str) -> bool {
        let bytes = chunk.as_bytes();
        let is = |at: usize, what: fn(&u8) -> bool| bytes.get(at).is_some_and(what);
        let mut joined = false;
        (0..bytes.len()).any(|at| {
            let begins = !joined || is(at, u8::is_ascii_uppercase);
            joined = is(at, u8::is_ascii_alphanumeric);
            // the x of xMax and the A of ABit are words of one letter
            let alone = is(at + 1, u8::is_ascii_uppercase)
                && (!is(at, u8::is_ascii_uppercase) || is(at + 2, u8::is_ascii_lowercase));
            begins && joined && (alone || self.may_begin(&bytes[at..]))
        })
    }

    /// Says whether a word may be one of those sought.
    #[inline]
    fn may_begin(&self, word: &[u8]) -> bool {
        match front(word) {
            (Some(first), Some(second), Some(third)) => {
                self.triples[first][second] >> third & 1 == 1
            }
            (Some(first), Some(second), None) => self.triples[first][second] != 0,
            _ => true,
        }
    }
}

/// Returns the first three letters, as numbers from 0, as far as they are English letters.
#[inline]
fn front(word: &[u8]) -> (Option<usize>, Option<usize>, Option<usize>) {
    let letter = |at: usize| {
        let letter = word.get(at)?.to_ascii_lowercase().wrapping_sub(b'a');
        (letter < 26).then_some(usize::from(letter))
    };
    // the stemmer turns a y into an i, as in dying
    let inner = |at: usize| letter(at).map(|l| if l == 24 { 8 } else { l });
    (letter(0), inner(1), inner(2))
}

fn run_terms(run: &str, emit: &mut impl FnMut(Term<'_>)) {
    let mut previous: Option<(String, usize)> = None;
    for (at, c) in run.char_indices() {
        if !is_unspaced(c) {
            continue;
        }
        let end = at + c.len_utf8();
        let mut buffer = [0; 4];
        let plain = c.encode_utf8(&mut buffer);
        // half-width kana and compatibility Han
        let folded = if matches!(c as u32, 0xF900..) { fold(plain) } else { plain.to_owned() };
        emit(Term { text: &folded, form: Form::Character, range: at..end, counts: true });
        if let Some((mut pair, start)) = previous {
            pair.push_str(&folded);
            let form = Form::Pair;
            emit(Term { text: &pair, form, range: start..end, counts: false });
        }
        previous = Some((folded, at));
    }
}

fn word_terms(chunk: &str, sought: Option<&Starts>, emit: &mut impl FnMut(Term<'_>)) {
    let passes = |text: &str| sought.is_none_or(|starts| starts.may_begin(text.as_bytes()));
    if chunk.bytes().all(|byte| byte.is_ascii_lowercase()) {
        // by far the most frequent kind of chunk, and all of it is one word
        if passes(chunk) {
            word_term(chunk, 0..chunk.len(), emit);
        }
        return;
    }
    if chunk.is_ascii() && sought.is_some_and(|starts| !starts.may_stand_in(chunk)) {
        return;
    }
    let mut parts = 0;
    for part in parts_of(chunk) {
        let text = &chunk[part.clone()];
        parts += 1;
        let mut pieces = 0;
        for piece in pieces_of(text) {
            pieces += 1;
            let range = part.start + piece.start..part.start + piece.end;
            if passes(&text[piece.clone()]) {
                word_term(&text[piece], range, emit);
            }
        }
        if pieces > 1 && passes(text) {
            let whole: String = text.chars().filter(|c| !is_apostrophe(*c)).collect();
            whole_term(&whole, part, emit);
        }
    }
    if (parts > 1 || chunk.ends_with(['+', '#'])) && passes(chunk) {
        whole_term(chunk, 0..chunk.len(), emit);
    }
}

fn whole_term(whole: &str, range: Range<usize>, emit: &mut impl FnMut(Term<'_>)) {
    if whole.len() <= LONGEST_WHOLE {
        let folded = fold(whole);
        emit(Term { text: &folded, form: Form::Whole, range, counts: false });
    }
}

fn word_term(word: &str, range: Range<usize>, emit: &mut impl FnMut(Term<'_>)) {
    let mut folded = fold(word);
    if folded.contains(is_apostrophe) {
        folded.retain(|c| !is_apostrophe(c));
    }
    folded.truncate(folded.floor_char_boundary(LONGEST_WORD));
    if folded.is_empty() {
        return;
    }
    let stop = is_stop_word(&folded);
    emit(Term { text: &folded, form: Form::Word, range, counts: !stop });
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’')
}

/// Returns the stem of a folded English word; none for a stop word, and for what is no such word.
///
/// It depends on the text of a term alone, whatever form it has where it stands.
pub fn stem(word: &str) -> Option<Cow<'_, str>> {
    if is_stop_word(word) || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return None;
    }
    let base = WORDS.irregular.get(word).copied().unwrap_or(word);
    Some(WORDS.stemmer.stem(base))
}

/// Splits at everything but letters, digits, marks and inner apostrophes; drops a final `'s`.
fn parts_of(chunk: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let inside = |c: char| c != '_' && is_word(c);
        let start = at + chunk[at..].find(inside)?;
        let mut end = start;
        let mut chars = chunk[start..].char_indices().peekable();
        while let Some((offset, c)) = chars.next() {
            let next = chars.peek().map(|&(_, c)| c);
            let joins = is_apostrophe(c) && next.is_some_and(char::is_alphabetic);
            if !(inside(c) || joins) {
                break;
            }
            end = start + offset + c.len_utf8();
        }
        at = end;
        let part = &chunk[start..end];
        let bare = ["'s", "'S", "’s", "’S"].iter().find_map(|ending| part.strip_suffix(ending));
        Some(start..start + bare.unwrap_or(part).len())
    })
}

/// Splits `getUserName` and `HTTPServer` where a new word begins.
fn pieces_of(part: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = part.get(at..).filter(|rest| !rest.is_empty())?;
        let mut chars = rest.char_indices().peekable();
        let mut before = None;
        let mut end = rest.len();
        while let Some((offset, c)) = chars.next() {
            let next = chars.peek().map(|&(_, c)| c);
            let begins = before.is_some_and(|before: char| {
                c.is_uppercase()
                    && (before.is_lowercase()
                        || before.is_numeric()
                        || before.is_uppercase() && next.is_some_and(char::is_lowercase))
            });
            if begins {
                end = offset;
                break;
            }
            before = Some(c);
        }
        let piece = at..at + end;
        at += end;
        Some(piece)
    })
}

/// A word that a query seeks.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryTerm {
    /// Folded.
    pub text: String,
    /// Its stem, when it has one.
    pub stem: Option<String>,
    /// What it is.
    pub form: Form,
    /// How often it is sought, by weight.
    pub times: f32,
}

/// Returns the words that a query seeks, each once, in the order of the query; each text comes
/// with its weight.
///
/// Stop words are left out, unless there is nothing else.
pub fn query(texts: &[(&str, f32)]) -> Vec<QueryTerm> {
    let mut sought = Sought::default();
    let mut stops = Sought::default();
    for &(text, weight) in texts {
        chunks(text, &mut |chunk| {
            let stopped = stop_characters(chunk);
            terms(chunk, &mut |term| match term.form {
                // a month, where it is not written as one writes a verb
                Form::Word if is_stop_word(term.text) && chunk != "May" => stops.add(&term, weight),
                Form::Character | Form::Pair if term_is_stopped(&stopped, &term.range) => {}
                _ => sought.add(&term, weight),
            });
        });
    }
    if sought.terms.is_empty() { stops.terms } else { sought.terms }
}

#[derive(Default)]
struct Sought {
    terms: Vec<QueryTerm>,
    places: FxHashMap<(Form, String), usize>,
}

impl Sought {
    fn add(&mut self, term: &Term<'_>, weight: f32) {
        let next = self.terms.len();
        let place = *self.places.entry((term.form, term.text.to_owned())).or_insert(next);
        if place == next {
            self.terms.push(QueryTerm {
                text: term.text.to_owned(),
                stem: stem(term.text).map(Cow::into_owned),
                form: term.form,
                times: 0.0,
            });
        }
        self.terms[place].times += weight;
    }
}

fn term_is_stopped(stopped: &[Range<usize>], range: &Range<usize>) -> bool {
    // a pair is stopped when both of its characters are
    let covered = |at: usize| stopped.iter().any(|stop| stop.contains(&at));
    covered(range.start) && covered(range.end - 1)
}

/// Returns where Chinese stop words stand in a run; nowhere if they are all of it.
fn stop_characters(chunk: &str) -> Vec<Range<usize>> {
    if chunk.is_ascii() {
        return Vec::new();
    }
    let chars: Vec<(usize, char)> = chunk.char_indices().collect();
    let mut stopped = Vec::new();
    let mut at = 0;
    let mut other = false;
    while at < chars.len() {
        let start = chars[at].0;
        let end_of = |length: usize| chars.get(at + length).map_or(chunk.len(), |&(end, _)| end);
        let length = (1..=4.min(chars.len() - at))
            .rev()
            .find(|&length| WORDS.stop_zh.contains(&chunk[start..end_of(length)]));
        if length.is_some() {
            stopped.push(start..end_of(length.unwrap_or(1)));
        } else {
            other = true;
        }
        at += length.unwrap_or(1);
    }
    if other { stopped } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(text: &str, forms: &[Form]) -> Vec<String> {
        let mut found = Vec::new();
        chunks(text, &mut |chunk| {
            terms(chunk, &mut |term| {
                assert!(chunk.get(term.range.clone()).is_some(), "{chunk} {term:?}");
                if forms.contains(&term.form) {
                    found.push(term.text.to_owned());
                }
            });
        });
        found
    }

    #[test]
    fn words_are_folded_and_stemmed() {
        let text = "Straße CAFÉ ﬁnd İstanbul Running don't Alice's";
        let words = ["strasse", "cafe", "find", "istanbul", "running", "dont", "alice"];
        assert_eq!(all(text, &[Form::Word]), words);
        assert_eq!(stem("running").as_deref(), Some("run"));
        assert_eq!(stem("children").as_deref(), Some("child"));
        assert_eq!((stem("the"), stem("naïve"), stem("v2")), (None, None, None));
    }

    #[test]
    fn identifiers_give_parts_and_the_whole() {
        let forms = [Form::Word, Form::Whole];
        assert_eq!(all("getUserName", &forms), ["get", "user", "name", "getusername"]);
        assert_eq!(all("snake_case", &forms), ["snake", "case", "snake_case"]);
        assert_eq!(all("src/a-b.rs", &forms), ["src", "a", "b", "rs", "src/a-b.rs"]);
        assert_eq!(all("v1.2.3", &forms), ["v1", "2", "3", "v1.2.3"]);
        assert_eq!(all("HTTPServer", &forms), ["http", "server", "httpserver"]);
        assert_eq!(
            all("--flag C++ C# gpt-4o.", &forms),
            ["flag", "c", "c++", "c", "c#", "gpt", "4o", "gpt-4o"]
        );
    }

    proptest! {
        #[test]
        fn words_that_begin_otherwise_are_all_that_is_left_out(
            text in "([a-zA-Z]{1,5}|[aäß'’0-9_.:#+/-]|went|Gone|dying|[uU]sing|skies|数据|  |\n){0,24}",
            sought in prop::collection::vec("[a-z]{1,4}|go|die|use|sky|数|[a-z]{2}_[a-z]", 1..4),
        ) {
            let starts = Starts::of(sought.iter().map(String::as_str));
            let found = |starts: Option<&Starts>| {
                let mut found = Vec::new();
                chunks(&text, &mut |chunk| {
                    terms_like(chunk, starts, &mut |term| {
                        let is_sought = |text: &str| sought.iter().any(|word| word == text);
                        if is_sought(term.text) || stem(term.text).is_some_and(|s| is_sought(&s)) {
                            found.push((chunk.to_owned(), term.range));
                        }
                    });
                });
                found
            };
            prop_assert_eq!(found(Some(&starts)), found(None));
        }
    }

    #[test]
    fn a_word_begins_as_its_stem_does() {
        // every form that a stop list, an irregular verb or an English ending can give
        let endings =
            ["", "s", "es", "ed", "ing", "ies", "ied", "y", "ly", "ation", "ability", "er"];
        let fronts = include_str!("words/irregular_en.txt").split_whitespace();
        let tried = fronts.flat_map(|front| {
            (1..=front.len()).flat_map(move |end| endings.map(|e| format!("{}{e}", &front[..end])))
        });
        for word in tried {
            if let Some(stem) = stem(&word) {
                let starts = Starts::of(std::iter::once(&*stem));
                assert!(starts.may_begin(word.as_bytes()), "{word} {stem}");
            }
        }
    }

    #[test]
    fn unspaced_scripts_give_characters_and_pairs() {
        let forms = [Form::Character, Form::Pair];
        assert_eq!(all("数据\n库", &forms), ["数", "据", "数据", "库", "据库"]);
        assert_eq!(all("数据\n\n库", &forms), ["数", "据", "数据", "库"]);
        assert_eq!(all("用Rust写", &[Form::Character, Form::Word]), ["用", "rust", "写"]);
        assert_eq!(all("ไทย", &[Form::Pair]), ["ไท", "ทย"]);
    }

    #[test]
    fn a_query_leaves_out_stop_words_unless_there_is_nothing_else() {
        let texts = |query: &[&str]| -> Vec<String> {
            {
                let texts: Vec<(&str, f32)> = query.iter().map(|&text| (text, 1.0)).collect();
                super::query(&texts).into_iter().map(|term| term.text).collect()
            }
        };
        assert_eq!(texts(&["what is the name"]), ["name"]);
        assert_eq!(texts(&["to be or not to be"]), ["to", "be", "or", "not"]);
        assert_eq!(texts(&["什么数据"]), ["数", "么数", "据", "数据"]);
        assert_eq!(texts(&["what may rain", "in May"]), ["rain", "may"]);
    }
}
