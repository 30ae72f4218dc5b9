//! Import state: how far an import has come of a source that grows, and what it needs to go on.

use serde_json::{Value, json};

use super::{OpenSession, SessionHeader};
use crate::messages::redaction::{Redactions, redact_line};

/// How far an import of a source that is read line by line has come, and what it needs to go on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportState {
    /// Where the last line ends that was read. A last line that is only half there is not.
    pub offset: u64,
    /// How many lines that were.
    pub lines: u64,
    /// Whether the source is one array or document, which is read as a whole each time.
    pub is_whole: bool,
    /// Whether the last line is only half there: it ends within an object.
    pub is_cut_off: bool,
    /// The last session.
    pub session: OpenSession,
}

impl ImportState {
    /// Returns the state as JSON, without secrets: it is kept on the disk.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let OpenSession { header, is_begun, prompt, named } = &self.session;
        let state = json!({
            "offset": self.offset,
            "lines": self.lines,
            "header": serde_json::from_str::<Value>(&header.record()).unwrap_or_default(),
            "leaf_titles": header.leaf_titles,
            "is_begun": is_begun,
            "prompt": prompt,
            "named": named,
        });
        let line = state.to_string();
        let redacted = redact_line(line.as_bytes(), &mut Redactions::new(), &|| false);
        let redacted = redacted.ok().flatten().and_then(|line| serde_json::from_slice(&line).ok());
        redacted.unwrap_or(state)
    }

    /// Reads a state; none if it is no state.
    #[must_use]
    pub fn from_json(state: &Value) -> Option<Self> {
        let text = |key: &str| state[key].as_str().map(str::to_owned);
        let mut header = SessionHeader::default();
        header.take_record(&state["header"]);
        for (leaf, title) in state["leaf_titles"].as_object()? {
            header.leaf_titles.insert(leaf.clone(), title.as_str()?.to_owned());
        }
        Some(Self {
            offset: state["offset"].as_u64()?,
            lines: state["lines"].as_u64()?,
            is_whole: false,
            is_cut_off: false,
            session: OpenSession {
                header,
                is_begun: state["is_begun"].as_bool()?,
                prompt: text("prompt"),
                named: text("named"),
            },
        })
    }
}
