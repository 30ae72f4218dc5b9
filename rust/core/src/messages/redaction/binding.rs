//! Binding of a value to the name of a credential: punctuation, verbs and purposes between the two.

use crate::messages::redaction::tokens::line_break;

/// Verbs that bind a value to its name in prose, the longer of two first.
const VERBS: [&str; 20] = [
    "is set to ",
    "was set to ",
    "is now ",
    "is: ",
    "is ",
    "was ",
    "set to ",
    "ist: ",
    "ist ",
    "lautet: ",
    "lautet ",
    "es: ",
    "es ",
    "est: ",
    "est : ",
    "est ",
    "é ",
    "è ",
    "это ",
    "это: ",
];

/// Words that say what a credential is for: `password for the vpn: …`.
const PURPOSES: [&str; 13] = [
    "for ", "of ", "to ", "für ", "del ", "de ", "du ", "do ", "da ", "per ", "voor ", "от ",
    "для ",
];
/// The longest purpose.
const LONGEST_PURPOSE: usize = 48;
/// The most blanks before a value in the line below its name.
const LONGEST_INDENT: usize = 48;

/// How a value is bound to its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    /// `name=value`, `--name value`, `<name>value</name>`: shells, URLs and files of settings.
    Tight,
    /// `name = value`, `name: value`: may be code, where the value is an expression.
    Loose,
    /// `the password is value`.
    Prose,
}

/// Where the value begins, and how it is bound to the name that stands at `start..end`.
/// `word` is where in the name the word stands that tells it.
pub(super) fn binding(
    text: &[u8],
    start: usize,
    end: usize,
    word: usize,
) -> Option<(usize, Binding)> {
    let (closed, at) = behind_name(text, end);
    let rest = &text[at..];
    let after = |length: usize| at + length + blanks(&text[at + length..]);
    let is_spaced = at > closed;
    let loose = |from: usize| {
        let tight = !is_spaced && from == at + 1 && closed == end;
        Some((from, if tight { Binding::Tight } else { Binding::Loose }))
    };
    match rest {
        [b'=', b'=' | b'~', ..] | [b':', b':', ..] => None,
        [b'=', b'>', ..] | [b':', b'=', ..] => Some((after(2), Binding::Loose)),
        [b'%', b'3', b'D', ..] => Some((at + 3, Binding::Tight)),
        [b'=', ..] => loose(after(1)),
        [b':', ..] if !text[start..end].is_ascii() => Some((after(1), Binding::Prose)),
        [b':', ..] => Some((annotated(text, after(1)).unwrap_or_else(|| after(1)), Binding::Loose)),
        [0xEF, 0xBC, 0x9A, ..] => Some((after(3), Binding::Prose)),
        [b'>', ..] if text[..start].ends_with(b"<") => Some((at + 1, Binding::Tight)),
        _ if is_spaced && text[start..].starts_with(b"--") => Some((at, Binding::Tight)),
        _ if is_spaced && start == word && is_netrc(&text[..start]) => Some((at, Binding::Tight)),
        _ if joined_verb(rest) > 0 => Some((after(joined_verb(rest)), Binding::Prose)),
        _ if record_value(rest).is_some() => Some((at + record_value(rest)?, Binding::Loose)),
        _ if is_spaced => {
            let said = verb(rest).or_else(|| purpose(rest))?;
            Some((after(said), Binding::Prose))
        }
        _ => None,
    }
}

/// Where the value begins that stands in the line below the name's, if one does: behind a `|` of
/// YAML, or further in than the name.
pub(super) fn value_below(text: &[u8], at: usize) -> Option<usize> {
    let marked = at + text[at..].iter().take(2).take_while(|byte| b"|>-".contains(byte)).count();
    let from = line_break(text, marked)?;
    matches!(text[from - 1], b' ' | b'\t').then_some(from)
}

/// Where the value begins of a pair that a call or a list has: `("X-Api-Key", "…")`.
pub(super) fn paired(text: &[u8], end: usize) -> Option<usize> {
    let (closed, at) = behind_name(text, end);
    let is_string = |at: usize| matches!(text.get(at), Some(b'"' | b'\'' | b'`' | b'\\'));
    let from = at + 1 + blanks(text.get(at + 1..)?);
    (closed > end && text[at] == b',' && is_string(closed - 1) && is_string(from)).then_some(from)
}

/// Where the marks end that close a name which ends at `end`, and the blanks behind them.
pub(super) fn behind_name(text: &[u8], end: usize) -> (usize, usize) {
    let closing = |byte: &&u8| matches!(byte, b'\\' | b'"' | b'\'' | b'`' | b']' | b'*');
    let closed = end + text[end..].iter().take(4).take_while(closing).count();
    (closed, closed + blanks(&text[closed..]))
}

/// How many blanks a text begins with.
fn blanks(text: &[u8]) -> usize {
    text.iter().take(16).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// How long the verb is that a text begins with.
fn verb(text: &[u8]) -> Option<usize> {
    VERBS.iter().find(|verb| text.starts_with(verb.as_bytes())).map(|verb| verb.len())
}

/// How long the purpose with its colon or verb is that a text begins with: `for the vpn is `.
fn purpose(text: &[u8]) -> Option<usize> {
    let word = PURPOSES.iter().find(|word| text.starts_with(word.as_bytes()))?;
    let within = |byte: &&u8| {
        byte.is_ascii_alphanumeric()
            || byte.is_ascii() && b" _-./@".contains(byte)
            || **byte >= 0x80
    };
    let rest = &text[word.len()..];
    let said = rest.iter().take(LONGEST_PURPOSE).take_while(within).count();
    let colon = (rest.get(said) == Some(&b':')).then(|| word.len() + said + 1);
    let verbs = (1..said).filter(|&at| rest[at - 1] == b' ');
    verbs.filter_map(|at| Some(word.len() + at + verb(&rest[at..])?)).next().or(colon)
}

/// Where the value begins in a record of a name and a value, as XML, YAML and .NET have it, behind
/// the name and its quotation mark: ` value="…"`, or in the next line `value: …`.
fn record_value(text: &[u8]) -> Option<usize> {
    let blanks = text.iter().take(LONGEST_INDENT).take_while(|byte| byte.is_ascii_whitespace());
    let blanks = blanks.count();
    let rest = &text[blanks..];
    let is_next_line = text[..blanks].contains(&b'\n');
    match rest {
        [b'v', b'a', b'l', b'u', b'e', b'=', b'"' | b'\'', ..] => Some(blanks + 6),
        [b'v', b'a', b'l', b'u', b'e', b':', b' ', ..] if is_next_line => Some(blanks + 7),
        _ => None,
    }
}

/// How long the verb or particle is that a text begins with in 密码是…, 密码改成：“…, パスワードは…;
/// 0 without one.
fn joined_verb(text: &[u8]) -> usize {
    let verbs = ["是", "为", "為", "改成了", "改成", "改为", "改為", "は", "는"];
    let Some(rest) = verbs.iter().find_map(|verb| text.strip_prefix(verb.as_bytes())) else {
        return 0;
    };
    let without = |rest: &'_ [u8], marks: &[&str]| {
        let mark = marks.iter().find(|mark| rest.starts_with(mark.as_bytes()));
        rest.len() - mark.map_or(0, |mark| mark.len())
    };
    let left = without(rest, &[":", "："]);
    let left = without(&rest[rest.len() - left..], &["“", "「"]);
    text.len() - left
}

/// Where the value begins of a name with a type: `password: str = "…"`.
fn annotated(text: &[u8], at: usize) -> Option<usize> {
    let named =
        |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'[' | b']' | b'&' | b'\'');
    let kind = text[at..].iter().take(32).take_while(named).count();
    let rest = text[at + kind..].strip_prefix(b" = ")?;
    (kind > 0 && matches!(rest.first(), Some(b'"' | b'\''))).then_some(at + kind + 3)
}

/// Whether a line of a `.netrc` stands before: `machine … login … password …`.
fn is_netrc(before: &[u8]) -> bool {
    let line = &before[before.len().saturating_sub(128)..];
    let line = &line[memchr::memrchr(b'\n', line).map_or(0, |at| at + 1)..];
    memchr::memmem::find(line, b"login ").is_some()
}
