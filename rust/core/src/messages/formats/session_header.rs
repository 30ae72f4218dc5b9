//! Session header of an import source (id, title, folder), in a form common to all hosts.

use std::collections::BTreeMap;

use crate::messages::fields::{Fields, word};
use crate::messages::redaction::redact_text;

/// Characters of a prompt that stand for a title.
const MAX_TITLE: usize = 100;
/// Characters of a title that a host gave.
const MAX_HOST_TITLE: usize = 200;
/// Characters of it that are looked at for secrets: what is cut would not be known as one.
const MAX_LOOKED_AT: usize = 4096;

/// What a source says about a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionHeader {
    /// The name of the format of its first message, such as `claude-code`.
    pub host: String,
    /// The session's id, as its messages name it.
    pub id: Option<String>,
    /// The id of the session that started it: that of an agent for its subagent.
    pub parent: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The git branch.
    pub git_branch: Option<String>,
    /// The model that answered first.
    pub model: Option<String>,
    /// The title that the host gave it last, else that of the first prompt.
    pub title: Option<String>,
    /// The time of its start, or of its first message, as written.
    pub started: Option<String>,
    /// Titles by the ids of last messages, of which one may be of this session.
    pub leaf_titles: BTreeMap<String, String>,
}

impl SessionHeader {
    /// Notes what a line of JSON says about its session, in keys that hosts share.
    pub(super) fn note(&mut self, line: &Fields<'_>) {
        let body = line.inner.as_deref().unwrap_or(line);
        let note = |slot: &mut Option<String>, value: Option<&[u8]>| {
            if slot.is_none() {
                *slot = value.and_then(word).filter(|word| !word.is_empty());
            }
        };
        note(&mut self.cwd, line.cwd.or(body.cwd));
        note(&mut self.git_branch, line.git_branch);
        note(&mut self.model, body.model.filter(|model| *model != b"\"<synthetic>\""));
    }

    /// The header as one line of a transcript: `{"type":"session","host":…}`, without what is not
    /// known. It is no message.
    #[must_use]
    pub fn record(&self) -> String {
        let mut record = serde_json::Map::new();
        record.insert("type".to_owned(), "session".into());
        record.insert("host".to_owned(), self.host.as_str().into());
        for (key, value) in self.fields() {
            if let Some(value) = value {
                record.insert(key.to_owned(), printable(value).into());
            }
        }
        format!("{}\n", serde_json::Value::Object(record))
    }

    /// Reads the fields that a record has; those that it has not stay as they are.
    pub fn take_record(&mut self, record: &serde_json::Value) {
        let text = |key: &str| record[key].as_str().map(str::to_owned);
        if let Some(host) = text("host") {
            self.host = host;
        }
        let fields = [
            ("id", &mut self.id),
            ("parent", &mut self.parent),
            ("cwd", &mut self.cwd),
            ("git_branch", &mut self.git_branch),
            ("model", &mut self.model),
            ("title", &mut self.title),
            ("started", &mut self.started),
        ];
        for (key, field) in fields {
            *field = text(key).or_else(|| field.take());
        }
    }

    fn fields(&self) -> [(&'static str, Option<&str>); 7] {
        [
            ("id", self.id.as_deref()),
            ("parent", self.parent.as_deref()),
            ("cwd", self.cwd.as_deref()),
            ("git_branch", self.git_branch.as_deref()),
            ("model", self.model.as_deref()),
            ("title", self.title.as_deref()),
            ("started", self.started.as_deref()),
        ]
    }

    /// Takes a title from the host for the session whose last message has the id `leaf`. Hosts put
    /// titles of other sessions at the head of a file as well.
    pub(super) fn set_title_of_leaf(&mut self, title: Option<String>, leaf: Option<String>) {
        match leaf.filter(|_| self.started.is_none()) {
            Some(leaf) => self.leaf_titles.extend(title.map(|title| (leaf, title))),
            None => self.set_title(title),
        }
    }

    /// Takes the title that waits for a message with this id.
    pub(super) fn note_leaf(&mut self, id: Option<String>) {
        if let Some(title) = id.and_then(|id| self.leaf_titles.remove(&id)) {
            self.set_title(Some(title));
        }
    }

    /// Takes a title from the host, if there is one.
    pub fn set_title(&mut self, title: Option<String>) {
        let title = title.filter(|title| !title.trim().is_empty());
        self.title = title.map(|title| looked_at(&title)).or_else(|| self.title.take());
    }

    /// Makes of the title what lists show: one line without secrets, also where the messages keep
    /// theirs, and no longer than is read at a glance.
    pub(super) fn clean_title(&mut self) {
        let title = self.title.take();
        self.title = title.map(|title| shortened(&redact_text(&looked_at(&title)), MAX_HOST_TITLE));
    }
}

/// A prompt as a title: its first line without secrets, on one line and cut at a word. One that
/// ends in a colon begins many sessions ("Implement the following plan:"): a heading below it is
/// the title, and any other line is added.
pub(crate) fn title_of_prompt(said: &str) -> Option<String> {
    let redacted = redact_text(&looked_at(said.trim_start()));
    let mut lines = title_lines(&redacted);
    let first = without_mark(lines.next()?);
    let title = match lines.next() {
        None => first.to_owned(),
        Some(line) => match without_mark(line) {
            heading if line.starts_with('#') && heading != line => heading.to_owned(),
            added => format!("{first} {added}"),
        },
    };
    Some(shortened(&title, MAX_TITLE))
}

/// The lines of a prompt that its title is made of: the first, and the one that it announces.
fn title_lines(said: &str) -> impl Iterator<Item = &str> {
    let is_fence = |line: &&str| line.starts_with("```") || line.starts_with("~~~");
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next();
    let announces = first.is_some_and(|line| line.ends_with([':', '：']));
    first.into_iter().chain(lines.find(|line| !is_fence(line)).filter(|_| announces))
}

/// A line without the mark of a heading, a list item or a quotation.
fn without_mark(line: &str) -> &str {
    let is_mark = |mark: &str| {
        matches!(mark, "-" | "*" | "+" | ">") || !mark.is_empty() && mark.bytes().all(|b| b == b'#')
    };
    let text = line.split_once(' ').filter(|(mark, _)| is_mark(mark));
    text.map_or(line, |(_, text)| text.trim_start())
}

fn looked_at(text: &str) -> String {
    text.chars().take(MAX_LOOKED_AT).collect()
}

/// Text on one line, without what steers a terminal or turns the direction of what follows.
pub(super) fn printable(text: &str) -> String {
    let is_bidi = |c: &char| matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    let shown = text.chars().filter(|c| !is_bidi(c));
    shown.map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Text as a list shows it, of so many characters at most: an ellipsis stands for what is cut, from
/// a word on, unless that word is a fifth of it.
pub(super) fn shortened(text: &str, most: usize) -> String {
    let text = printable(text);
    if text.chars().nth(most).is_none() {
        return text;
    }
    let head: Vec<char> = text.chars().take(most).collect();
    let kept = head.iter().rposition(|c| c.is_whitespace()).filter(|&at| at >= most * 4 / 5);
    let kept: String = head[..kept.unwrap_or(most - 1)].iter().collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_says_what_tells_the_session_apart() {
        for (said, title) in [
            ("Fix the login\nIt fails.", "Fix the login"),
            ("\n\n # Fix the login\n\nIt fails.", "Fix the login"),
            ("Implement the following plan:\n\n# Drop the cache\n\n## Why", "Drop the cache"),
            ("请实现以下计划：\n\n## 删除缓存\n", "删除缓存"),
            ("brainstorm:\n- a cache\n- a log", "brainstorm: a cache"),
            ("What is this:\n```\nE0382\n```", "What is this: E0382"),
            ("Look at this:\n#[test]\nfn a() {}", "Look at this: #[test]"),
            ("Implement the following plan:", "Implement the following plan:"),
            ("#12 is open", "#12 is open"),
            ("Tell me\u{7} more", "Tell me  more"),
        ] {
            assert_eq!(title_of_prompt(said).as_deref(), Some(title), "{said:?}");
        }
        assert_eq!(title_of_prompt(" \n\t\n"), None);
    }

    #[test]
    fn a_long_title_is_cut_at_a_word() {
        let words = format!("{}internationalization of it", "tea ".repeat(22));
        assert_eq!(shortened(&words, 100), format!("{}…", "tea ".repeat(22).trim_end()));
        let ends_a_word = format!("{} more", "x".repeat(99));
        assert_eq!(shortened(&ends_a_word, 100), format!("{}…", "x".repeat(99)));
        assert_eq!(shortened(&"茶".repeat(101), 100), format!("{}…", "茶".repeat(99)));
        assert_eq!(shortened(&"茶".repeat(100), 100), "茶".repeat(100));
        // a link is a word that would take the rest with it
        let link = format!("See {}", "a".repeat(200));
        assert_eq!(shortened(&link, 100).chars().count(), 100);
    }
}
