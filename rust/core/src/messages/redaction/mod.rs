//! Redaction of secrets in lines of transcripts and in texts.
//!
//! A secret is a token of a published form, a private key, a password in a URL, or what is assigned
//! to the name of a credential. It becomes `[redacted: KIND]`. It is looked for in the decoded text
//! of each JSON string, and replaced in the raw line, of which no other byte changes.
//!
//! A prefilter passes over lines without any of the literals that secrets begin with. The forms are
//! in `forms.tsv` beside this file, with their sources; the words of assignments in `words.tsv`.

mod assignments;
mod binding;
mod decoded;
mod extent;
mod literals;
mod placeholder;
mod plausibility;
mod private_keys;
mod table;
mod tokens;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

pub use placeholder::{PLACEHOLDER, count_placeholders, differs_only_by_redaction};

use crate::error::{Error, Interrupt, Result};
use crate::messages::quote_scan::{self, StopAt};
use crate::messages::redaction::assignments::{Name, assigned, is_value_of_key};
use crate::messages::redaction::decoded::DecodedString;
use crate::messages::redaction::literals::LiteralHit;
use crate::messages::redaction::private_keys::{may_name_user, private_key, url_password};
use crate::messages::redaction::table::{Announced, Form, Shape, Table, table};
use crate::messages::redaction::tokens::TokenForm;

/// How often a line is looked through at most. What was replaced may let a form begin or end where
/// none could before; two rounds do for all that was ever seen.
const MAX_ROUNDS: usize = 4;
/// How many hits are judged between two looks at the interrupt.
const HITS: usize = 1024;

/// How many secrets were replaced, by kind.
pub type Redactions = BTreeMap<String, u64>;

/// Adds counts to a sum.
pub(crate) fn add_counts(sum: &mut Redactions, counts: Redactions) {
    for (kind, count) in counts {
        *sum.entry(kind).or_default() += count;
    }
}

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Secret {
    range: Range<usize>,
    kind: &'static str,
    /// Whether its own form told it, and not the name it is assigned to.
    by_form: bool,
}

/// Returns a line of JSON with each secret replaced, and counts them in `counts`; `None` if there
/// is none. The time is linear in the length of the line.
///
/// # Errors
/// [`Error::Interrupted`].
pub fn redact_line(
    line: &[u8],
    counts: &mut Redactions,
    interrupt: Interrupt<'_>,
) -> Result<Option<Vec<u8>>> {
    let Some(table) = table() else { return Ok(None) };
    let mut redacted: Option<Vec<u8>> = None;
    for _ in 0..MAX_ROUNDS {
        let current = redacted.as_deref().unwrap_or(line);
        let secrets = secrets_of_line(table, current, interrupt)?;
        if secrets.is_empty() {
            break;
        }
        let mut out = Vec::with_capacity(current.len());
        let mut end = 0;
        for secret in secrets {
            out.extend_from_slice(&current[end..secret.range.start]);
            out.extend_from_slice(format!("{PLACEHOLDER}{}]", secret.kind).as_bytes());
            end = secret.range.end;
            *counts.entry(secret.kind.to_owned()).or_default() += 1;
        }
        out.extend_from_slice(&current[end..]);
        redacted = Some(out);
    }
    Ok(redacted)
}

/// Returns a text that is no JSON with each secret replaced.
#[must_use]
pub fn redact_text(text: &str) -> String {
    let redacted = redact_value(text, None, "", &|| false).ok().flatten();
    redacted.map_or_else(|| text.to_owned(), |(text, _)| text)
}

/// Returns a text that is no JSON with each secret replaced, and their counts; `None` if there is
/// none.
///
/// `name` is what the whole text is the value of, such as a key of JSON. A secret that stands in
/// `known` stays.
///
/// # Errors
/// [`Error::Interrupted`].
pub fn redact_value(
    text: &str,
    name: Option<&str>,
    known: &str,
    interrupt: Interrupt<'_>,
) -> Result<Option<(String, Redactions)>> {
    let Some(table) = table() else { return Ok(None) };
    // words of a name may stand apart: `wifi password`
    let name = name.map(|name| name.trim().replace(' ', "_"));
    let mut counts = Redactions::new();
    let mut redacted: Option<String> = None;
    for _ in 0..MAX_ROUNDS {
        let current = redacted.as_deref().unwrap_or(text);
        let mut secrets = secrets_of_text(table, current, name.as_deref(), None, interrupt)?;
        secrets.retain(|secret| !known.contains(&current[secret.range.clone()]));
        if secrets.is_empty() {
            break;
        }
        redacted = Some(replaced(current, secrets, &mut counts));
    }
    Ok(redacted.map(|text| (text, counts)))
}

/// A text with placeholders for its secrets, which are counted.
fn replaced(text: &str, secrets: Vec<Secret>, counts: &mut Redactions) -> String {
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for secret in secrets {
        out.push_str(&text[end..secret.range.start]);
        out.push_str(PLACEHOLDER);
        out.push_str(secret.kind);
        out.push(']');
        end = secret.range.end;
        *counts.entry(secret.kind.to_owned()).or_default() += 1;
    }
    out.push_str(&text[end..]);
    out
}

/// The secrets in the strings of a line, in order, by their places in the raw line.
fn secrets_of_line(table: &Table, line: &[u8], interrupt: Interrupt<'_>) -> Result<Vec<Secret>> {
    let (mut hits, mut found) = (Vec::new(), Vec::new());
    table.scan.find(line, &mut hits, interrupt)?;
    hits.retain(|hit| hit.literal != table.url || may_name_user(&line[hit.at + 3..]));
    let (mut next, mut at) = (0, 0);
    let mut key: Option<&[u8]> = None;
    while next < hits.len() || key.is_some() {
        let Some(open) = memchr::memchr(b'"', &line[at..]) else { break };
        let start = at + open + 1;
        let Some(end) = quote_scan::next(line, start, StopAt::Quote) else { break };
        at = end + 1;
        let before = next;
        next += hits[next..].iter().take_while(|hit| hit.at < end).count();
        let body = &line[start..end];
        let is_key = line[at..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
        let named = key.take().filter(|_| follows_colon(&line[..start - 1]));
        if next > before || named.is_some() {
            let decoded = DecodedString::new(body);
            let key = named.map(DecodedString::new);
            let key = key.as_ref().map(|key| &*key.text);
            // what has no escapes was scanned with the line
            let shift = |hit: &LiteralHit| {
                Some(LiteralHit { at: hit.at.checked_sub(start)?, literal: hit.literal })
            };
            let scanned: Option<Vec<LiteralHit>> = matches!(decoded.text, Cow::Borrowed(_))
                .then(|| hits[before..next].iter().filter_map(shift).collect());
            for secret in secrets_of_text(table, &decoded.text, key, scanned, interrupt)? {
                let raw = decoded.raw(secret.range);
                found.push(Secret { range: start + raw.start..start + raw.end, ..secret });
            }
        }
        if is_key && next > before {
            key = Some(body);
        }
    }
    Ok(found)
}

/// Whether a string that begins behind `before` is the value of a key.
fn follows_colon(before: &[u8]) -> bool {
    before.trim_ascii_end().ends_with(b":")
}

/// The secrets in a text, in order and apart; `key` is the JSON key that the whole text belongs to, and
/// `scanned` are its literals if they are known.
fn secrets_of_text(
    table: &Table,
    text: &str,
    key: Option<&str>,
    scanned: Option<Vec<LiteralHit>>,
    interrupt: Interrupt<'_>,
) -> Result<Vec<Secret>> {
    let mut hits = Vec::new();
    if let Some(key) = key {
        table.scan.find(key.as_bytes(), &mut hits, interrupt)?;
        let kind = names(table, &hits).find(|name| is_value_of_key(table, key, *name, text));
        if let Some(Name { kind, .. }) = kind {
            let by_form = whole_form(table, text, interrupt)?;
            let kind = by_form.unwrap_or(kind);
            return Ok(vec![Secret { range: 0..text.len(), kind, by_form: true }]);
        }
    }
    match scanned {
        Some(scanned) => hits = scanned,
        None => table.scan.find(text.as_bytes(), &mut hits, interrupt)?,
    }
    let mut found = formed(table, text, &hits, interrupt)?;
    for (count, name) in names(table, &hits).enumerate() {
        check(count, interrupt)?;
        if let Some(range) = assigned(table, text, name) {
            found.push(Secret { range, kind: name.kind, by_form: false });
        }
    }
    Ok(apart(text, found))
}

/// The kind of the form that a text begins with, if it has one.
fn whole_form(table: &Table, text: &str, interrupt: Interrupt<'_>) -> Result<Option<&'static str>> {
    let mut hits = Vec::new();
    table.scan.find(text.as_bytes(), &mut hits, interrupt)?;
    Ok(formed(table, text, &hits, interrupt)?.first().map(|secret| secret.kind))
}

fn check(count: usize, interrupt: Interrupt<'_>) -> Result<()> {
    if count % HITS == HITS - 1 && interrupt() { Err(Error::Interrupted) } else { Ok(()) }
}

fn names<'a>(table: &'a Table, hits: &'a [LiteralHit]) -> impl Iterator<Item = Name> + 'a {
    hits.iter().filter_map(|hit| match table.announced[hit.literal] {
        Announced::Name { kind, length } => Some(Name { at: hit.at, length, kind }),
        _ => None,
    })
}

/// The secrets that their own form tells.
fn formed(
    table: &Table,
    text: &str,
    hits: &[LiteralHit],
    interrupt: Interrupt<'_>,
) -> Result<Vec<Secret>> {
    let mut found: Vec<Secret> = Vec::new();
    let mut budget = text.len().saturating_mul(4).saturating_add(1 << 16);
    for (count, hit) in hits.iter().enumerate() {
        check(count, interrupt)?;
        let Announced::Forms(rows) = &table.announced[hit.literal] else { continue };
        if found.last().is_some_and(|last| hit.at < last.range.end) {
            continue;
        }
        let forms = rows.iter().map(|&row| &table.forms[row]);
        let mut secrets = forms.filter_map(|form| {
            let range = range_of(table, form, text, hit.at, &mut budget)?;
            Some(Secret { range, kind: form.kind, by_form: true })
        });
        found.extend(secrets.next());
    }
    Ok(found)
}

fn range_of(
    table: &Table,
    form: &Form,
    text: &str,
    at: usize,
    budget: &mut usize,
) -> Option<Range<usize>> {
    match &form.shape {
        Shape::Regex { regex, before, grouped } => {
            let regex = regex.get()?;
            TokenForm { regex, before: *before, grouped: *grouped }.find(table, text, at, budget)
        }
        Shape::PrivateKey => private_key(text, at),
        Shape::UrlPassword => url_password(table, text, at),
    }
}

/// Sorts secrets and joins those that overlap; what has a form of its own gives the kind.
fn apart(text: &str, mut found: Vec<Secret>) -> Vec<Secret> {
    found.sort_by_key(|secret| (secret.range.start, secret.range.end));
    let mut apart: Vec<Secret> = Vec::with_capacity(found.len());
    for mut secret in found {
        while !text.is_char_boundary(secret.range.end) {
            secret.range.end += 1;
        }
        // what was replaced before is no secret
        if text[secret.range.clone()].contains(PLACEHOLDER) {
            continue;
        }
        match apart.last_mut().filter(|last| last.range.end > secret.range.start) {
            Some(last) => {
                last.range.end = last.range.end.max(secret.range.end);
                if secret.by_form && !last.by_form {
                    (last.kind, last.by_form) = (secret.kind, true);
                }
            }
            None => apart.push(secret),
        }
    }
    apart
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_line_is_read_as_its_decoded_text(
            parts in prop::collection::vec(prop::sample::select(vec![
                "https://", "postgres://", "me:", "q7Rt2Lm9", "@", "db", "\n", "\t", "\"", "\\", "/", "é",
                "\u{c}", "\u{8}", "?", " ", "password=", "token: ", "'", ":",
            ]), 0..16),
            escaped in prop::collection::vec(0..8_u8, 160),
        ) {
            let table = table().unwrap();
            let text = parts.concat();
            let wanted = secrets_of_text(table, &text, None, None, &|| false).unwrap();
            let mut line = String::from("{\"content\":\"");
            for (c, escaped) in text.chars().zip(escaped.iter().cycle()) {
                match serde_json::Value::from(c.to_string()).to_string() {
                    _ if *escaped == 0 => line += &format!("\\u{:04x}", u32::from(c)),
                    plain => line += &plain[1..plain.len() - 1],
                }
            }
            line += "\"}";
            let found = secrets_of_line(table, line.as_bytes(), &|| false).unwrap();
            let read = |secret: &Secret| {
                let raw = format!("\"{}\"", &line[secret.range.clone()]);
                (serde_json::from_str::<String>(&raw).unwrap(), secret.kind)
            };
            let wanted: Vec<_> =
                wanted.iter().map(|one| (text[one.range.clone()].to_owned(), one.kind)).collect();
            prop_assert_eq!(found.iter().map(read).collect::<Vec<_>>(), wanted);
        }
    }
}
