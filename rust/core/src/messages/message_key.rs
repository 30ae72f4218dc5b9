//! Message key: by what a message that hosts copied into another file is known.
//!
//! Hosts copy messages when a session is resumed, forked or compacted. Copies have the id of the
//! first and say the same; the session in them may be another. A message that has grown has the id
//! of its earlier version and says more: it has another key.

use xxhash_rust::xxh3::Xxh3;

use crate::messages::message::{ParsedLine, parse_lazy};

/// The key of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MessageKey {
    /// Hash of the id, else of session and time; and of role and content.
    pub hash: u128,
    /// Whether the message has an id or a time. Two that have none may be two.
    pub is_unique: bool,
}

impl MessageKey {
    /// Returns the key of the message of a line; none if it is no message.
    pub fn of(line: &[u8]) -> Option<Self> {
        let ParsedLine::Message(message) = parse_lazy(line) else { return None };
        let (id, time, body) = (message.id(), message.time(), message.body());
        let is_unique = id.is_some() || time.is_some();
        let named = id.is_none().then(|| [message.session(), time]);
        let mut hasher = Xxh3::new();
        let mut add = |part: Option<&[u8]>| {
            // the length, so that parts cannot run into each other
            hasher.update(&part.map_or(u64::MAX, |part| part.len() as u64).to_le_bytes());
            hasher.update(part.unwrap_or_default());
        };
        add(id.as_deref().map(str::as_bytes));
        for part in named.iter().flatten() {
            add(part.as_deref().map(str::as_bytes));
        }
        add(Some(message.role().as_bytes()));
        for part in [body.content, body.tool_calls, body.arguments, body.output, body.summary] {
            add(part);
        }
        Some(Self { hash: hasher.digest128(), is_unique })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(line: &str) -> MessageKey {
        MessageKey::of(line.as_bytes()).unwrap()
    }

    #[test]
    fn copies_have_one_key() {
        let first = r#"{"role":"user","content":"a","timestamp":1,"session":"s","id":"m"}"#;
        let copy =
            r#"{"role":"user","content":"a","timestamp":2,"session":"t","id":"m","isMeta":true}"#;
        let grown = r#"{"role":"user","content":"ab","timestamp":1,"session":"s","id":"m"}"#;
        assert_eq!(key(first), key(copy));
        assert_ne!(key(first), key(grown));
    }

    #[test]
    fn without_an_id_session_and_time_count() {
        let first = r#"{"role":"user","content":"a","timestamp":1,"session":"s"}"#;
        for other in [
            r#"{"role":"user","content":"a","timestamp":2,"session":"s"}"#,
            r#"{"role":"user","content":"a","timestamp":1,"session":"t"}"#,
            r#"{"role":"assistant","content":"a","timestamp":1,"session":"s"}"#,
        ] {
            assert_ne!(key(first), key(other));
        }
        assert!(key(first).is_unique);
        assert!(!key(r#"{"role":"user","content":"a"}"#).is_unique);
    }

    #[test]
    fn what_is_no_message_has_none() {
        for line in ["", "{", "{}", r#"{"type":"session","id":"s"}"#, r#"{"type":"copy","of":"x"}"#]
        {
            assert_eq!(MessageKey::of(line.as_bytes()), None, "{line}");
        }
    }
}
