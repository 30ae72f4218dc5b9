//! Write rules: protected file names and append-only logs, which a caller may allow.

use crate::error::{Error, Result};
use crate::files::file_kind::FileKind;
use crate::files::paths;
use crate::text::time::is_day;

/// Names that other agents load as instructions, in the form [`paths::fold`] gives.
/// A memory that can write them can give orders.
const AGENT_INSTRUCTIONS: [&str; 9] = [
    "agent.md",
    "agents.md",
    "agents.override.md",
    "claude.md",
    "claude.local.md",
    "copilot-instructions.md",
    "gemini.md",
    "qwen.md",
    "skill.md",
];

/// The write protections that a caller has lifted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WriteRules {
    /// Lets `CLAUDE.md`, `AGENTS.md`, `SKILL.md` and their like be written. Default: no.
    pub allow_instructions: bool,
    /// Lets daily logs and `.jsonl` transcripts be overwritten, moved and deleted.
    /// Default: no; they only grow by `append`, and a daily log by `patch`.
    pub allow_log_rewrite: bool,
}

impl WriteRules {
    /// Checks a name that is to be created and returns it in NFC, the form that is stored.
    ///
    /// # Errors
    /// [`Error::Refused`] with the code of the first rule broken: `escape`,
    /// `absolute`, `backslash`, `control`, `name`, `long`, `empty`, `dot`,
    /// `dotdot`, `reserved`, `ext` or `case`.
    pub fn check_write(&self, path: &str) -> Result<String> {
        let path = paths::check_create(path)?;
        self.check_purpose(&path)?;
        if is_undated(&path) {
            let why = "a daily log is named by its date, YYYY-MM-DD.md, and this is no date";
            return Err(Error::refused(&path, "name", why));
        }
        Ok(path)
    }

    /// Checks an existing file that is to be changed under the name it has.
    ///
    /// # Errors
    /// [`Error::Refused`] as for [`paths::check_read`], with `ext` for a kind of file
    /// that is not ours and `reserved` for instructions to other agents.
    pub fn check_change(&self, path: &str) -> Result<()> {
        paths::check_read(path)?;
        paths::check_kind(path)?;
        self.check_purpose(path)
    }

    /// Checks that an existing file may lose what it says.
    ///
    /// # Errors
    /// [`Error::Refused`] with the code `appendonly` for daily logs and transcripts.
    pub fn check_rewrite(&self, path: &str) -> Result<()> {
        if !self.allow_log_rewrite && (is_daily(path) || is_transcript(path)) {
            let why =
                "daily logs and transcripts only grow: append to them; forget erases what must go";
            return Err(Error::refused(path, "appendonly", why));
        }
        Ok(())
    }

    fn check_purpose(&self, path: &str) -> Result<()> {
        if !self.allow_instructions
            && AGENT_INSTRUCTIONS.contains(&paths::fold(file_name(path)).as_str())
        {
            let why = "other agents load this name as instructions; choose another";
            return Err(Error::refused(path, "reserved", why));
        }
        Ok(())
    }
}

/// Returns whether `path` is a transcript, which may only grow.
#[must_use]
pub fn is_transcript(path: &str) -> bool {
    FileKind::of(path) == FileKind::Transcript
}

/// Returns whether `path` is a daily log: `YYYY-MM-DD.md` in a folder named `daily`.
#[must_use]
pub fn is_daily(path: &str) -> bool {
    daily_stem(path).is_some_and(is_date)
}

fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, file)| file)
}

/// The stem of a Markdown file directly in a folder named `daily`.
fn daily_stem(path: &str) -> Option<&str> {
    let (folders, file) = path.rsplit_once('/')?;
    file_name(folders).eq_ignore_ascii_case("daily").then_some(())?;
    file.rsplit_once('.').map(|(stem, _)| stem)
}

/// Returns whether a name in `daily` is meant as a date and is none, as `2026-02-30`.
fn is_undated(path: &str) -> bool {
    daily_stem(path)
        .is_some_and(|stem| stem.bytes().all(|b| b.is_ascii_digit() || b == b'-') && !is_date(stem))
}

fn is_date(stem: &str) -> bool {
    let part = |range| {
        let text: &str = stem.get(range)?;
        text.parse().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()))
    };
    let (Some(year), Some(month), Some(day)) = (part(0..4), part(5..7), part(8..10)) else {
        return false;
    };
    let has_dashes = stem.as_bytes()[4] == b'-' && stem.as_bytes()[7] == b'-';
    stem.len() == 10 && has_dashes && is_day(year, month, day)
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

    #[test]
    fn instructions_and_undated_logs_are_refused() {
        for (path, expected) in [
            ("\u{17F}kill.md", "reserved"),
            ("daily/2024-02-29.md", "ok"),
            ("daily/2026-13-01.md", "name"),
            ("agents/a/daily/2026-1-5.md", "name"),
            ("daily/summary.md", "ok"),
            ("sub/Agents.md", "reserved"),
        ] {
            assert_eq!(code(WriteRules::default().check_write(path)), expected, "{path:?}");
        }
    }

    #[test]
    fn rules_can_be_lifted() {
        let lifted = WriteRules { allow_instructions: true, allow_log_rewrite: true };
        assert!(lifted.check_write("CLAUDE.md").is_ok());
        assert!(lifted.check_rewrite("daily/2026-01-05.md").is_ok());
        assert_eq!(
            code(WriteRules::default().check_rewrite("a/daily/2026-01-05.md")),
            "appendonly"
        );
        assert_eq!(code(WriteRules::default().check_rewrite("s/messages.jsonl")), "appendonly");
    }
}
