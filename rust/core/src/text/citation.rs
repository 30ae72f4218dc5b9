//! Citations of lines: `path#L10`, `path#L10-L24`.

use crate::error::{Error, Result};

/// Returns the citation of a range of lines, counted from 1; of one line where both are the same.
#[must_use]
pub fn cite(path: &str, first: u64, last: u64) -> String {
    match first == last {
        true => cite_line(path, first),
        false => format!("{path}#L{first}-L{last}"),
    }
}

/// Returns the citation of a line.
#[must_use]
pub fn cite_line(path: &str, line: u64) -> String {
    format!("{path}#L{line}")
}

/// Splits `path#L12` (also `#L12-L20`) into the path and the first line; without a line it is 1.
///
/// # Errors
/// [`Error::Query`] when what follows `#` is no line.
pub fn parse_citation(citation: &str) -> Result<(&str, u64)> {
    let Some((path, place)) = citation.rsplit_once('#') else { return Ok((citation, 1)) };
    let first = place.split('-').next().unwrap_or(place);
    let line = first.strip_prefix('L').and_then(|digits| digits.parse().ok());
    line.map(|line| (path, line)).ok_or_else(|| Error::Query {
        query: citation.to_owned(),
        code: "citation",
        why: "a citation reads like notes/a.md#L10".to_owned(),
    })
}

/// Splits a citation, as [`cite`] writes it, into the path, the first line and the last.
#[must_use]
pub fn parse_lines(citation: &str) -> Option<(&str, u64, u64)> {
    let (path, place) = citation.rsplit_once("#L")?;
    let (first, last) = place.split_once("-L").unwrap_or((place, place));
    Some((path, first.parse().ok()?, last.parse().ok()?)).filter(|(_, first, last)| first <= last)
}

/// Whether a citation names a range of lines.
#[must_use]
pub fn cites_range(citation: &str) -> bool {
    citation.rsplit_once('#').is_some_and(|(_, place)| place.contains('-'))
}
