//! Tables of secret forms and credential names, read from the data files beside this one.

use std::collections::HashMap;

use once_cell::race::OnceBox;
use regex_automata::meta::Regex;
use regex_automata::util::syntax;

use crate::messages::redaction::literals::LiteralScan;

/// Returns the tables. They are part of the program, so a test proves that they can be read.
pub(super) fn table() -> Option<&'static Table> {
    // without a lock: the child of a fork would wait for the thread that reads them
    static TABLE: OnceBox<Option<Table>> = OnceBox::new();
    let read = || Table::read(include_str!("forms.tsv"), include_str!("words.tsv"));
    TABLE.get_or_init(|| Box::new(read())).as_ref()
}

/// Escapes that may hide a literal from a scan of raw JSON: ASCII as `\u0041`, `\/` in a literal,
/// the first characters of names that are not ASCII, and typographic quotation marks that open.
const HIDING: [&str; 29] = [
    "\\u002",
    "\\u003",
    "\\u004",
    "\\u005",
    "\\u006",
    "\\u007",
    ":\\/\\/",
    "\\/webhooks",
    "\\u2018",
    "\\u201c",
    "\\u201e",
    "\\u00ab",
    "\\u300c",
    "\\u041f\\u0410\\u0420",
    "\\u015eIFRE",
    "\\u015e\\u0130FRE",
    "Contrase\\u00f1a",
    "CONTRASE\\u00d1A",
    "\\u5bc6",
    "\\u53e3",
    "\\u4ee4",
    "\\u043f\\u0430\\u0440",
    "\\u041f\\u0430\\u0440",
    "\\u015fifre",
    "\\u015eifre",
    "contrase\\u00f1a",
    "has\\u0142o",
    "\\u30d1\\u30b9",
    "\\ube44\\ubc00",
];

/// What may stand between the two words of a name.
const SEPARATORS: [&str; 4] = ["_", "-", "", " "];

/// What a literal announces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Announced {
    /// Rows of the table of forms, in its order.
    Forms(Vec<usize>),
    /// The name of a credential: its kind and length.
    Name { kind: &'static str, length: usize },
    /// Text that must be decoded before it can be scanned.
    Escape,
}

/// How a form is told.
#[derive(Debug)]
pub(super) enum Shape {
    /// By a regular expression; `before` bytes of it stand at most before the literal.
    Regex {
        regex: LazyRegex,
        before: usize,
        grouped: bool,
    },
    PrivateKey,
    UrlPassword,
}

#[derive(Debug)]
pub(super) struct Form {
    pub kind: &'static str,
    pub shape: Shape,
}

#[derive(Debug)]
pub(super) struct Table {
    pub forms: Vec<Form>,
    pub announced: Vec<Announced>,
    pub scan: LiteralScan,
    /// The literal of URLs.
    pub url: usize,
    pub after: Vec<&'static str>,
    pub joined_before: Vec<&'static str>,
    pub not_before: Vec<&'static str>,
    pub names_of_variables: Vec<&'static str>,
    pub placeholder_starts: Vec<&'static str>,
    pub placeholders: Vec<&'static str>,
    pub not_credentials: Vec<&'static str>,
    pub descriptions: Vec<&'static str>,
    pub not_passwords: Vec<&'static str>,
}

impl Table {
    fn read(forms: &'static str, words: &'static str) -> Option<Self> {
        let mut literals = Literals::default();
        let mut read = Vec::new();
        for row in rows(forms) {
            let [kind, found, pattern, before, _source] = row[..] else { return None };
            let shape = match (pattern, kind) {
                ("-", "private key") => Shape::PrivateKey,
                ("-", "password in a URL") => Shape::UrlPassword,
                ("-", _) => return None,
                _ => Shape::Regex {
                    regex: LazyRegex { pattern, compiled: OnceBox::new() },
                    before: before.parse().ok()?,
                    grouped: pattern.replace("(?", "").contains('('),
                },
            };
            found.split(' ').for_each(|literal| literals.add_form(literal, read.len()));
            read.push(Form { kind, shape });
        }
        let mut lists: HashMap<&str, Vec<&'static str>> = HashMap::new();
        for row in rows(words) {
            let [list, found] = row[..] else { return None };
            match list.strip_prefix("kind ") {
                Some(kind) => found.split(' ').for_each(|word| literals.add_name(word, kind)),
                None => lists.entry(list).or_default().extend(found.split(' ')),
            }
        }
        HIDING.iter().for_each(|escape| literals.add(escape, Announced::Escape));
        let url = literals.texts.iter().position(|text| text == "://")?;
        let mut list = |name: &str| lists.remove(name);
        Some(Self {
            forms: read,
            scan: LiteralScan::new(&literals.texts)?,
            announced: literals.announced,
            url,
            after: list("after")?,
            joined_before: list("joined before")?,
            not_before: list("not before")?,
            names_of_variables: list("name of variable")?,
            placeholder_starts: list("placeholder start")?,
            placeholders: list("placeholder")?,
            not_credentials: list("not a credential")?,
            descriptions: list("says what it is")?,
            not_passwords: list("not a password")?,
        })
    }
}

fn rows(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    let lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split('\t').collect())
}

/// A form that is compiled when its literal is first seen: most never are, and all of them would
/// take as long as an import of some megabytes.
#[derive(Debug)]
pub(super) struct LazyRegex {
    pattern: &'static str,
    compiled: OnceBox<Option<Regex>>,
}

impl LazyRegex {
    /// The expression; a test proves that each row of the table is one.
    pub fn get(&self) -> Option<&Regex> {
        // bytes, as what a form stands in need not be ASCII
        let bytes = syntax::Config::new().unicode(false).utf8(false);
        let compile = || Regex::builder().syntax(bytes).build(self.pattern).ok();
        self.compiled.get_or_init(|| Box::new(compile())).as_ref()
    }
}

#[derive(Default)]
struct Literals {
    texts: Vec<String>,
    announced: Vec<Announced>,
}

impl Literals {
    fn add(&mut self, text: &str, announced: Announced) {
        if !self.texts.iter().any(|known| known == text) {
            self.texts.push(text.to_owned());
            self.announced.push(announced);
        }
    }

    fn add_form(&mut self, literal: &str, row: usize) {
        match self.texts.iter().position(|known| known == literal).map(|at| &mut self.announced[at])
        {
            Some(Announced::Forms(rows)) => rows.push(row),
            _ => self.add(literal, Announced::Forms(vec![row])),
        }
    }

    fn add_name(&mut self, word: &str, kind: &'static str) {
        let capital = |word: &str| -> String {
            let mut letters = word.chars();
            letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
        };
        let upper = |word: &str| word.to_uppercase();
        let mut spellings = vec![word.to_owned(), upper(word), capital(word)];
        if let Some((first, second)) = word.split_once('_').filter(|(first, _)| !first.is_empty()) {
            // as headers, files of settings, code and people write it: `X-Api-Key`, `api key`
            for separator in SEPARATORS {
                let second = second.replace('_', separator);
                let pairs = [
                    (first.to_owned(), second.clone()),
                    (first.to_owned(), capital(&second)),
                    (capital(first), second.clone()),
                    (capital(first), capital(&second)),
                    (upper(first), second.clone()),
                    (upper(first), capital(&second)),
                    (upper(first), upper(&second)),
                ];
                spellings.extend(pairs.map(|(one, two)| format!("{one}{separator}{two}")));
            }
        }
        for spelling in spellings {
            // what binds the value is no part of the name
            let length = spelling.trim_end_matches([':', '=', '"', '\\']).len();
            self.add(&spelling, Announced::Name { kind, length });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_can_be_read() {
        let table = table().expect("a row is wrong");
        assert!(table.forms.len() > 60);
        for form in &table.forms {
            if let Shape::Regex { regex, .. } = &form.shape {
                assert!(regex.get().is_some(), "{}", form.kind);
            }
            assert!(form.kind.chars().all(|c| c.is_ascii_alphanumeric() || " .-".contains(c)));
        }
        for row in rows(include_str!("forms.tsv")) {
            assert!(row[4].starts_with("https://"), "{row:?}");
        }
    }
}
