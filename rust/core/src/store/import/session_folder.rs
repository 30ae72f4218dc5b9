//! Session folder: `sessions/PROJECT/DATE-ID`, from what a source says about a session.

use std::path::Path;

use crate::error::{Error, Interrupt, Result};
use crate::files::paths::check_create;
use crate::files::walk::Walk;
use crate::messages::formats::SessionHeader;
use crate::messages::redaction::redact_text;
use crate::store::Store;
use crate::store::project::project_name;
use crate::text::time::{day_in_words, parse_time};

/// The folder that all sessions are in.
pub(super) const SESSIONS: &str = "sessions";
/// Letters of an id that are enough for most; two ids that begin alike get more.
const SHORT_ID: [usize; 3] = [8, 13, 60];
/// Letters of the name of a project.
const MAX_PROJECT: usize = 60;
/// Times before the year 1971 are those of machines that knew none, in milliseconds since 1970.
pub(super) const FIRST_TIME: i64 = 31_536_000_000;
/// The first moment that no date of four figures names: the year 10000.
const END_OF_DATES: i64 = 253_402_300_800_000;

/// Lists what lies in the folder of sessions.
pub(super) fn walk_sessions(store: &Store, interrupt: Interrupt<'_>) -> Result<Walk> {
    match store.root().walk(SESSIONS, interrupt) {
        Err(Error::NotFound { .. }) => Ok(Walk::default()),
        walk => walk,
    }
}

/// Returns the paths that a session may have, the best first; `modified` is when its source was.
pub(super) fn candidates(
    header: &SessionHeader,
    project: &str,
    modified: i64,
) -> impl Iterator<Item = String> {
    let started = header.started.as_deref().and_then(parse_time);
    let time = started.filter(|time| (FIRST_TIME..END_OF_DATES).contains(time)).unwrap_or(modified);
    let day = day_in_words(time.clamp(0, END_OF_DATES - 1));
    let date = day.split(' ').next().unwrap_or_default().to_owned();
    // `ses_` and the like are the same for all
    let id = header.id.as_deref().unwrap_or("session");
    let id = safe(&redact_text(id.rsplit_once('_').map_or(id, |(_, rest)| rest)), SHORT_ID[2]);
    let id = if id.is_empty() { "session".to_owned() } else { id };
    let short = SHORT_ID.map(|length| {
        let short: String = id.chars().take(length).collect();
        short.trim_end_matches(['-', '.', ' ']).to_owned()
    });
    let host = safe(&header.host, MAX_PROJECT);
    let folder = format!("{SESSIONS}/{project}/{date}-");
    let numbered = (2..10_000).map({
        let stem = format!("{folder}{}-{host}", short[2]);
        move |number| format!("{stem}-{number}")
    });
    let named = [
        format!("{folder}{}", short[0]),
        format!("{folder}{}", short[1]),
        format!("{folder}{}", short[2]),
        format!("{folder}{}-{host}", short[2]),
    ];
    named.into_iter().chain(numbered)
}

/// Returns the path that a subagent's session may have beside that of its parent, the best first.
pub(super) fn beside_parent(
    header: &SessionHeader,
    parent: &str,
) -> impl Iterator<Item = String> + use<> {
    let id = safe(&redact_text(header.id.as_deref().unwrap_or_default()), SHORT_ID[2]);
    let id = if id.is_empty() { "agent".to_owned() } else { id };
    let first = format!("{parent}/subagents/{id}");
    let stem = first.clone();
    std::iter::once(first).chain((2..10_000).map(move |number| format!("{stem}-{number}")))
}

/// Returns the name of the project that a session belongs to, by its working directory, else the
/// host.
pub(super) fn project(header: &SessionHeader) -> String {
    let named = project_name(header.cwd.as_deref().unwrap_or_default());
    let named = named.map(|name| safe(&redact_text(name), MAX_PROJECT));
    let fallback = || Some(safe(&header.host, MAX_PROJECT)).filter(|name| !name.is_empty());
    let named = named.filter(|name| !name.is_empty()).or_else(fallback);
    named.unwrap_or_else(|| "other".to_owned())
}

/// Returns a name as the rules of paths let one be made, of so many letters at most; empty where
/// nothing is left of it.
fn safe(name: &str, most: usize) -> String {
    let is_plain =
        |c: char| !c.is_control() && check_create(&format!("a{c}a/messages.jsonl")).is_ok();
    let plain: String =
        name.chars().map(|c| if is_plain(c) { c } else { '-' }).take(most).collect();
    let plain = plain.trim_matches(['-', '.', ' ', '~']);
    match check_create(&format!("{plain}/messages.jsonl")) {
        Ok(path) => Path::new(&path).parent().and_then(Path::to_str).unwrap_or_default().to_owned(),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(cwd: &str, id: &str) -> SessionHeader {
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        SessionHeader {
            host: "codex".to_owned(),
            cwd: text(cwd),
            id: text(id),
            started: Some("2026-01-22T05:17:14Z".to_owned()),
            ..SessionHeader::default()
        }
    }

    #[test]
    fn projects_of_working_directories() {
        for (cwd, wanted) in [
            ("/home/me/tea", "tea"),
            ("/home/me/tea/", "tea"),
            ("/home/me/tea/..", "me"),
            ("/..", "codex"),
            ("/", "codex"),
            ("", "codex"),
            ("C:\\Users\\me\\tea", "tea"),
            ("/home/me/日志", "日志"),
            ("/home/me/a\u{7}b\u{202E}c", "a-b-c"),
            ("/home/me/.config", "config"),
            ("/home/me/-rf", "rf"),
            ("/home/me/con", "codex"),
            ("/home/me/ x y ", "x y"),
            ("/home/me/...", "codex"),
        ] {
            assert_eq!(project(&header(cwd, "")), wanted, "{cwd:?}");
        }
        assert_eq!(project(&header(&"x".repeat(5000), "")), "x".repeat(60));
    }

    #[test]
    fn names_that_begin_alike_get_longer() {
        let of = |id: &str| candidates(&header("/tea", id), "tea", 0).take(5).collect::<Vec<_>>();
        assert_eq!(
            of("0198c1d2-aaaa-7000"),
            [
                "sessions/tea/2026-01-22-0198c1d2",
                "sessions/tea/2026-01-22-0198c1d2-aaaa",
                "sessions/tea/2026-01-22-0198c1d2-aaaa-7000",
                "sessions/tea/2026-01-22-0198c1d2-aaaa-7000-codex",
                "sessions/tea/2026-01-22-0198c1d2-aaaa-7000-codex-2",
            ]
        );
        assert_eq!(of("ses_6f2a1b3c4d")[0], "sessions/tea/2026-01-22-6f2a1b3c");
        assert_eq!(of("../..")[0], "sessions/tea/2026-01-22-session");
        assert_eq!(of("")[0], "sessions/tea/2026-01-22-session");
    }

    #[test]
    fn dates_of_odd_clocks() {
        for (started, wanted) in [
            ("2222-02-03T00:00:00Z", "2222-02-03"),
            ("9999-12-31T23:59:59Z", "9999-12-31"),
            ("99999999999999999999999", "1970-01-02"),
            ("no time", "1970-01-02"),
            ("1", "1970-01-02"),
        ] {
            let header = SessionHeader { started: Some(started.to_owned()), ..header("/tea", "a") };
            let path = candidates(&header, "tea", 86_400_000).next().unwrap();
            assert_eq!(path, format!("sessions/tea/{wanted}-a"));
        }
    }
}
