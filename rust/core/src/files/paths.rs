//! Path rules: which names may be read and which may be created.
//!
//! Reading is lax, since people name their own files as they like; creating is
//! strict, so that a file we make means the same on every system, in every
//! shell and in every listing. Neither is ever lax about leaving the root.
//! Hostile names are refused, never repaired: a repaired name is a guess.
//! (Longer than 350 lines: a quarter of it are the tests of hostile names.)

use unicase::UniCase;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::error::{Error, Result};

/// How many folders deep the tree is walked and written.
pub const MAX_DEPTH: usize = 64;
/// The longest component we create: 255 is the usual limit, and a temp suffix must fit.
pub const MAX_COMPONENT: usize = 200;
/// The longest path we create, in bytes.
pub const MAX_PATH: usize = 1000;
/// Bytes of a path that can be read.
const LONGEST_READ: usize = 4095;
/// The kinds of file that can be written.
pub const EXTENSIONS: [&str; 3] = ["md", "markdown", "jsonl"];
/// The folder that holds our lock, history and quarantine; no tool can address it.
pub const OWN: &str = ".commonplace";

/// Checks the grammar of a name that is to be created and returns it in NFC, the
/// form that is stored. Whether it may be written is for `WriteRules::check_write` to say.
///
/// # Errors
/// [`Error::Refused`] with the code of the first rule broken: `escape`,
/// `absolute`, `backslash`, `control`, `name`, `long`, `empty`, `dot`,
/// `dotdot`, `reserved`, `ext` or `case`.
pub fn check_create(path: &str) -> Result<String> {
    if path.len() > MAX_PATH {
        return Err(Error::refused(path, "long", format!("at most {MAX_PATH} bytes")));
    }
    // First, so that a character which normalises to `;` is judged as one.
    let path: String = path.nfc().collect();
    check_shape(&path, MAX_PATH, forbidden)?;
    if path.split('/').count() > MAX_DEPTH {
        return Err(Error::refused(&path, "long", format!("at most {MAX_DEPTH} folders deep")));
    }
    let (folders, file) = path.rsplit_once('/').unwrap_or(("", &path));
    for folder in folders.split('/').filter(|folder| !folder.is_empty()) {
        // `--home-me-app--`: what agents call the folder of the sessions of a working directory
        let framed = folder.strip_prefix("--").filter(|rest| rest.ends_with("--"));
        check_component(&path, framed.unwrap_or(folder))?;
        check_visible(&path, folder)?;
    }
    check_component(&path, file)?;
    if !file.starts_with("..") {
        check_visible(&path, file)?;
    }
    check_extension(&path, file)?;
    check_visible(&path, file)?;
    Ok(path)
}

/// Checks a name that a tool wants to read; a person's own names pass.
///
/// # Errors
/// [`Error::Refused`] with `escape`, `absolute`, `backslash`, `control`,
/// `long`, `empty`, `dot`, `dotdot`, or `reserved` for hidden components; on Windows with `name` for
/// what means something else there.
pub fn check_read(path: &str) -> Result<()> {
    if !cfg!(windows) && is_plain(path) {
        return Ok(());
    }
    check_shape(path, LONGEST_READ, |_| None)?;
    path.split('/').try_for_each(|component| check_visible(path, component))?;
    if cfg!(windows) { check_on_windows(path) } else { Ok(()) }
}

/// Returns whether a path is of visible ASCII and breaks no rule: most are, and a root has thousands.
fn is_plain(path: &str) -> bool {
    let mut before = b'/';
    for &byte in path.as_bytes() {
        let begins_badly = before == b'/' && matches!(byte, b'/' | b'.');
        if begins_badly || byte == b'\\' || !matches!(byte, b' '..=b'~') {
            return false;
        }
        before = byte;
    }
    before != b'/' && path.len() <= LONGEST_READ
}

/// Refuses what Windows takes for something else than a file of that name: a stream (`a.md:b`), a
/// pattern, a device, a name that loses its end.
fn check_on_windows(path: &str) -> Result<()> {
    let refuse = |why: &str| Err(Error::refused(path, "name", why));
    if let Some(c) = path.chars().find(|&c| is_special_on_windows(c)) {
        return refuse(&format!("{} is {SPECIAL_ON_WINDOWS}", c.escape_debug()));
    }
    for component in path.split('/') {
        if component.ends_with(['.', ' ']) {
            return refuse(CUT_ON_WINDOWS);
        }
        if is_device(component) {
            return refuse(DEVICE_ON_WINDOWS);
        }
    }
    Ok(())
}

/// What is wrong with characters that Windows gives a meaning.
const SPECIAL_ON_WINDOWS: &str = "not allowed in names on Windows";
/// What is wrong with spaces and full stops at the ends.
const CUT_ON_WINDOWS: &str = "no space at the ends and no \".\" at the end: Windows drops them";
/// What is wrong with `CON` and its like.
const DEVICE_ON_WINDOWS: &str = "Windows takes this name for a device";

fn is_special_on_windows(c: char) -> bool {
    matches!(c, '<' | '>' | ':' | '"' | '|' | '?' | '*')
}

/// Maps names to one form that all their look-alikes on caseless systems share: canonical caseless
/// matching (Unicode, D145) without default-ignorable characters, as casefolding ext4 compares.
#[must_use]
pub fn fold(name: &str) -> String {
    let plain: String = name.nfd().filter(|&c| !is_ignorable(c)).collect();
    UniCase::unicode(plain).to_folded_case().nfc().collect()
}

/// What every path must be, whoever asks: relative, plain, and going down only.
fn check_shape(
    path: &str,
    limit: usize,
    forbidden: fn(char) -> Option<&'static str>,
) -> Result<()> {
    let refuse = |code, why: &str| Err(Error::refused(path, code, why));
    if path.len() > limit {
        return refuse("long", &format!("at most {limit} bytes"));
    }
    if path.starts_with('/') {
        return refuse("absolute", "give it relative to the root of the memory");
    }
    for c in path.chars() {
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
            return refuse("control", &format!("{} is a control character", c.escape_unicode()));
        }
        if c == '\\' {
            return refuse("backslash", "folders are separated by \"/\"");
        }
        if let Some(what) = forbidden(c) {
            return refuse("name", &format!("{} is {what}", c.escape_debug()));
        }
    }
    if leads_out(path) {
        return refuse("escape", "it leads out of the memory");
    }
    for component in path.split('/') {
        match component {
            "" => return refuse("empty", "name a file: no empty part, no \"/\" at the end"),
            "." => return refuse("dot", "leave out \".\""),
            ".." => return refuse("dotdot", "leave out \"..\""),
            _ => {}
        }
    }
    Ok(())
}

/// Whether a path goes up beyond where it begins.
pub(super) fn leads_out(path: &str) -> bool {
    let mut depth = 0_i32;
    path.split('/').any(|component| {
        depth += if component == ".." { -1 } else { 1 };
        depth < 0
    })
}

fn check_visible(path: &str, component: &str) -> Result<()> {
    if component.starts_with('.') {
        let why = "hidden files and folders are out of reach of tools";
        return Err(Error::refused(path, "reserved", why));
    }
    Ok(())
}

/// Checks that an existing file is of a kind that we write, in whatever case.
pub(crate) fn check_kind(path: &str) -> Result<()> {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    if EXTENSIONS.iter().any(|known| known.eq_ignore_ascii_case(extension)) {
        return Ok(());
    }
    Err(Error::refused(path, "ext", "only .md, .markdown and .jsonl files can be written"))
}

fn check_extension(path: &str, file: &str) -> Result<()> {
    let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension);
    if EXTENSIONS.contains(&extension) {
        return Ok(());
    }
    check_kind(file)?;
    Err(Error::refused(path, "case", "write the extension in lower case"))
}

/// What one component of a created name must be, beyond its characters.
fn check_component(path: &str, component: &str) -> Result<()> {
    let refuse = |why: &str| Err(Error::refused(path, "name", why));
    if component.len() > MAX_COMPONENT {
        let why = format!("at most {MAX_COMPONENT} bytes between two \"/\"");
        return Err(Error::refused(path, "long", why));
    }
    if component.ends_with(['.', ' ']) || component.starts_with(' ') {
        return refuse(CUT_ON_WINDOWS);
    }
    if component.starts_with(['-', '~']) {
        return refuse(
            "no leading \"-\" or \"~\": commands and shells read them as something else",
        );
    }
    if component.as_bytes().windows(2).any(|pair| pair[0] == b'~' && pair[1].is_ascii_digit()) {
        return refuse("\"~\" with a digit is how Windows shortens other names");
    }
    if is_device(component) {
        return refuse(DEVICE_ON_WINDOWS);
    }
    let form = nfkc(component);
    if form.contains(['/', '\\', ':'])
        || is_drive(&form)
        || form.starts_with('.') && !component.starts_with('.')
        || form.ends_with('.')
        || is_device(&form)
    {
        return refuse(&format!("systems that drop compatibility characters read it as {form:?}"));
    }
    let mut marks = 0;
    for c in component.chars() {
        marks = if is_combining_mark(c) { marks + 1 } else { 0 };
        if marks > 8 {
            return refuse("more than 8 combining marks in a row");
        }
    }
    Ok(())
}

/// Returns what is wrong with a character in a created name.
fn forbidden(c: char) -> Option<&'static str> {
    Some(match c {
        c if is_special_on_windows(c) => SPECIAL_ON_WINDOWS,
        ';' | '&' | '$' | '`' | '\'' | '{' | '}' => "special to shells",
        '\u{2024}' | '\u{FE52}' | '\u{FF0E}' => "a look-alike of \".\"",
        '\u{2044}' | '\u{2215}' | '\u{29F8}' | '\u{FF0F}' | '\u{2571}' => "a look-alike of \"/\"",
        '\u{2216}' | '\u{29F5}' | '\u{29F9}' | '\u{FE68}' | '\u{FF3C}' => "a look-alike of \"\\\"",
        c if is_ignorable(c) || matches!(c, '\u{FFF9}'..='\u{FFFD}') => "invisible",
        '\u{FDD0}'..='\u{FDEF}' => "not a character",
        '\u{E000}'..='\u{F8FF}' | '\u{F0000}'.. => "for private use",
        _ if u32::from(c) & 0xFFFE == 0xFFFE => "not a character",
        _ if c != ' ' && c.is_whitespace() => "a look-alike of a space",
        _ => return None,
    })
}

/// Returns whether a character is default-ignorable: zero-width joiners, bidi overrides, variation
/// selectors, fillers, tags.
fn is_ignorable(c: char) -> bool {
    matches!(
        c,
        '\u{AD}'
            | '\u{34F}'
            | '\u{61C}'
            | '\u{115F}'..='\u{1160}'
            | '\u{17B4}'..='\u{17B5}'
            | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}'
            | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{3164}'
            | '\u{FE00}'..='\u{FE0F}'
            | '\u{FEFF}'
            | '\u{FFA0}'
            | '\u{FFF0}'..='\u{FFF8}'
            | '\u{1BCA0}'..='\u{1BCA3}'
            | '\u{1D173}'..='\u{1D17A}'
            | '\u{E0000}'..='\u{E0FFF}'
    )
}

/// The full-width colon, which titles use for the ":" that Windows does not allow.
const WIDE_COLON: char = '\u{FF1A}';

/// Returns a name without compatibility characters, but for [`WIDE_COLON`].
fn nfkc(name: &str) -> String {
    let parts: Vec<String> = name.split(WIDE_COLON).map(|part| part.nfkc().collect()).collect();
    parts.join("\u{FF1A}")
}

/// Returns whether a name begins as the letter of a drive would where a colon were plain.
fn is_drive(form: &str) -> bool {
    form.starts_with(|first: char| first.is_ascii_alphabetic()) && form[1..].starts_with(WIDE_COLON)
}

fn is_device(component: &str) -> bool {
    let stem = component.split(['.', WIDE_COLON]).next().unwrap_or(component).trim_end();
    let stem = stem.to_ascii_uppercase();
    if matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL") {
        return true;
    }
    let port = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT"));
    port.is_some_and(|number| {
        let mut chars = number.chars();
        matches!((chars.next(), chars.next()), (Some('0'..='9' | '¹' | '²' | '³'), None))
    })
}

/// Says whether a path is `prefix` or lies below it.
pub fn is_below(path: &str, prefix: &str) -> bool {
    let prefix = prefix.trim_end_matches('/');
    let rest = path.strip_prefix(prefix);
    prefix.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(result: Result<impl Sized>) -> &'static str {
        match result {
            Ok(_) => "ok",
            Err(Error::Refused { code, .. }) => code,
            Err(_) => "other",
        }
    }

    proptest::proptest! {
        /// The check of plain paths lets nothing pass that the rules refuse.
        #[test]
        fn plain_paths_break_no_rule(path in "[a./\\\\ ~\u{7f}\u{1}é]{0,12}") {
            let ruled = check_shape(&path, LONGEST_READ, |_| None)
                .and_then(|()| path.split('/').try_for_each(|part| check_visible(&path, part)));
            proptest::prop_assert!(!is_plain(&path) || ruled.is_ok(), "{path:?}");
        }
    }

    #[test]
    fn plain_paths_are_known() {
        for (path, plain) in [("a/b c.md", true), ("é.md", false), ("", false), ("a/", false)] {
            assert_eq!(is_plain(path), plain, "{path:?}");
        }
        assert!(!is_plain(&"a".repeat(LONGEST_READ + 1)));
    }

    #[test]
    fn created_names_are_plain_everywhere() {
        for (path, expected) in [
            ("facts/user.md", "ok"),
            ("facts/日本語 メモ.md", "ok"),
            ("C++ (draft).md", "ok"),
            ("", "empty"),
            ("a//b.md", "empty"),
            ("..", "escape"),
            ("facts/..", "dotdot"),
            ("a;b/../../x.md", "name"),
            ("x.md\u{37E}.md", "name"),
            ("com¹.md", "name"),
            ("communism.md", "ok"),
            ("sessions/--home-me-app--/s1/messages.jsonl", "ok"),
            ("sessions/--home-me/messages.jsonl", "name"),
            ("sessions/----/messages.jsonl", "name"),
            ("-rf/x.md", "name"),
            ("\u{2025}/x.md", "name"),
            ("\u{2025}.md", "name"),
            ("a\u{2026}/x.md", "name"),
            ("\u{2100}.md", "name"),
            ("会议\u{FF1A}周一.md", "ok"),
            ("TODO\u{FF1A}x/y.md", "ok"),
            ("c\u{FF1A}/x.md", "name"),
            ("\u{FF43}\u{FF1A}x.md", "name"),
            ("nul\u{FF1A}.md", "name"),
            ("c\u{FE55}/x.md", "name"),
            ("\u{2025}\u{FF1A}/x.md", "name"),
            ("\u{FF23}\u{FF2F}\u{FF2E}\u{FF1A}.md", "name"),
            ("\u{FF23}\u{FF2F}\u{FF2E}.md", "name"),
            ("wait\u{2026}.md", "ok"),
            ("\u{FF08}1\u{FF5E}3\u{FF09}\u{BD}.md", "ok"),
            ("--x--.md", "name"),
            ("sub/Claude.MD", "case"),
            (".cursorrules", "reserved"),
            ("facts.txt", "ext"),
        ] {
            assert_eq!(code(check_create(path)), expected, "{path:?}");
        }
    }

    #[test]
    fn a_persons_own_names_can_be_read() {
        for path in ["cafe\u{301}.md", "-rf.md", "a .md", "draft~1.md", "Q&A; $x.md"] {
            assert_eq!(code(check_read(path)), "ok", "{path:?}");
        }
        let refused = if cfg!(windows) { "name" } else { "ok" };
        for path in ["Q&A; notes: \"x\"?.md", "a .md ", "CON"] {
            assert_eq!(code(check_read(path)), refused, "{path:?}");
        }
        assert_eq!(code(check_read(".commonplace/lock")), "reserved");
        assert_eq!(code(check_read("a/.git/config")), "reserved");
        assert_eq!(code(check_read("a/../../x")), "escape");
    }

    #[test]
    fn what_windows_takes_for_something_else_is_refused_there() {
        for path in ["a.md:b", "a.md::$DATA", "C:a.md", "a/CON/b.md", "nul.md", "com\u{b9}.txt"] {
            assert_eq!(code(check_on_windows(path)), "name", "{path:?}");
        }
        for path in ["a.md.", "a.md ", "a./b.md", "a?.md", "*.md", "a|b.md"] {
            assert_eq!(code(check_on_windows(path)), "name", "{path:?}");
        }
        for path in ["a.md", "console.md", "a/b c/d.md", "draft~1.md", "\u{65e5}.md"] {
            assert_eq!(code(check_on_windows(path)), "ok", "{path:?}");
        }
    }

    #[test]
    fn folding_joins_twins_and_keeps_others_apart() {
        assert_eq!(fold("straße.md"), fold("STRASSE.md"));
        assert_eq!(fold("caf\u{e9}.md"), fold("CAFE\u{301}.md"));
        for other_name in ["stra\u{1E9E}e", "STRA\u{1E9E}E", "stra\u{17F}se", "Stra\u{17F}\u{17F}e"]
        {
            assert_eq!(fold(other_name), fold("strasse"), "{other_name}");
        }
        // casefolding ext4 does not see what is not visible
        assert_eq!(fold("fa\u{200D}cts\u{FE0F}"), fold("facts"));
        assert_ne!(fold("kadı.md"), fold("kadi.md"));
        assert_ne!(fold("f\u{430}cts"), fold("facts"));
    }

    #[test]
    fn folding_joins_whatever_case_mapping_joins() {
        // NTFS joins what has one upper case, but for this: it keeps the dotless i apart
        let is_plain = |c: &char| {
            c.to_uppercase().chain(c.to_lowercase()).chain(c.nfd()).all(|form| form == *c)
        };
        for c in ('\0'..='\u{1FFFF}').filter(|c| !is_plain(c) && *c != 'ı') {
            let folded = fold(&c.to_string());
            assert_eq!(fold(&folded), folded, "{c:?}");
            for other in [c.to_uppercase().collect(), c.to_lowercase().collect::<String>()] {
                assert_eq!(fold(&other), folded, "{c:?} {other:?}");
            }
            for other in [c.nfc().collect(), c.nfd().collect::<String>()] {
                assert_eq!(fold(&other), folded, "{c:?} {other:?}");
            }
        }
    }
}
