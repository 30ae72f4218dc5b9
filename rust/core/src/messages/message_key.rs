//! Message key: what identifies a message that a host has copied into another file.
//!
//! Hosts copy messages when a session is resumed, forked or compacted. Copies have the id of the
//! first and say the same; the session in them may be another. A message that has grown has the id
//! of its earlier version and says more: it has another key.
//!
//! How far a key holds depends on what the message names. A UUID, or an id as random as one, names
//! it anywhere; a shorter id does so together with its time, and a counter only in its session.
//! Messages without an id may be equal and still be two, as hosts give several the same millisecond:
//! they are counted, and the n-th of one file is the n-th of another file of that session.

use xxhash_rust::xxh3::Xxh3;

use crate::messages::message::{ParsedLine, parse_lazy};

/// Letters and figures in a row that make an id random enough to be the only one.
const LONG_ID: usize = 16;
/// Figures at the end of an id that make it more than a counter.
const LONG_NUMBER: usize = 8;
/// The lengths of the parts of a UUID.
const UUID: [usize; 5] = [8, 4, 4, 4, 12];

/// The key of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MessageKey {
    /// Hash of what names the message, and of role and content.
    hash: u128,
    /// Whether it holds within one transcript only.
    is_of_transcript: bool,
    /// Whether messages that have it may be several, as none has an id.
    pub is_repeatable: bool,
}

impl MessageKey {
    /// Returns the key of the message of a line; none if it is no message.
    pub fn of(line: &[u8]) -> Option<Self> {
        let ParsedLine::Message(message) = parse_lazy(line) else { return None };
        let (id, body) = (message.id(), message.body());
        let has_random_id = id.as_deref().is_some_and(is_random);
        let time = if has_random_id { None } else { message.written_time() };
        let is_anywhere =
            has_random_id || time.is_some() && id.as_deref().is_some_and(|id| !is_counter(id));
        let session = if is_anywhere { None } else { message.session() };
        let is_of_session =
            session.as_deref().is_some_and(is_random) && (id.is_some() || time.is_some());
        let mut hasher = Xxh3::new();
        let mut add = |part: Option<&[u8]>| {
            // the length, so that parts cannot run into each other
            hasher.update(&part.map_or(u64::MAX, |part| part.len() as u64).to_le_bytes());
            hasher.update(part.unwrap_or_default());
        };
        for part in [id.as_deref(), session.as_deref(), time.as_deref()] {
            add(part.map(str::as_bytes));
        }
        add(Some(message.role().as_bytes()));
        for part in [body.content, body.tool_calls, body.arguments, body.output, body.summary] {
            add(part);
        }
        Some(Self {
            hash: hasher.digest128(),
            is_of_transcript: !is_anywhere && !is_of_session,
            is_repeatable: id.is_none(),
        })
    }

    /// Returns the hash by which the message is stored: of equal ones in a file it is the
    /// `ordinal`-th from 0, and `path` is the transcript that it belongs to.
    pub fn stored_hash(&self, path: &str, ordinal: u32) -> u128 {
        if !self.is_of_transcript && ordinal == 0 {
            return self.hash;
        }
        let mut hasher = Xxh3::new();
        hasher.update(&self.hash.to_le_bytes());
        hasher.update(&ordinal.to_le_bytes());
        if self.is_of_transcript {
            hasher.update(path.as_bytes());
        }
        hasher.digest128()
    }
}

/// Whether an id has the form of one that no host gives twice: a UUID, or a long run of letters and
/// figures such as `msg_01XFDUDYJgAACzvnptvVoYEL`.
fn is_random(id: &str) -> bool {
    let is_long = |part: &str| {
        part.len() >= LONG_ID
            && part.bytes().any(|byte| byte.is_ascii_digit())
            && part.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    let mut parts_of_uuid = 0;
    id.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| {
        let is_hex = part.bytes().all(|byte| byte.is_ascii_hexdigit());
        parts_of_uuid = match is_hex {
            true if part.len() == UUID[parts_of_uuid] => parts_of_uuid + 1,
            true => usize::from(part.len() == UUID[0]),
            false => 0,
        };
        parts_of_uuid == UUID.len() || is_long(part)
    })
}

/// Whether an id counts the messages of a session: `1`, `m2`, `msg-3`.
fn is_counter(id: &str) -> bool {
    let name = id.trim_end_matches(|c: char| c.is_ascii_digit());
    let figures = id.len() - name.len();
    let has_figures_before = name.bytes().any(|byte| byte.is_ascii_digit());
    figures > 0 && figures < LONG_NUMBER && !has_figures_before
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "0198c1d2-7aaa-7bbb-8ccc-0123456789ab";

    fn key(line: &str) -> u128 {
        MessageKey::of(line.as_bytes()).unwrap().stored_hash("a/messages.jsonl", 0)
    }

    fn line(fields: &str) -> String {
        format!("{{\"role\":\"user\",\"content\":\"a\",{fields}}}")
    }

    #[test]
    fn copies_have_one_key() {
        for id in [
            "\"0198c1d2-7aaa-7bbb-8ccc-0123456789ab\"",
            "\"msg_01XFDUDYJgAACzvnptvVoYEL\"",
            "\"toolu_01A09q90qw90lq917835lq9\"",
            "\"0198c1d2-7aaa-7bbb-8ccc-0123456789ab-17\"",
        ] {
            let first = line(&format!("\"timestamp\":1,\"session\":\"s\",\"id\":{id}"));
            let copy =
                line(&format!("\"timestamp\":2,\"session\":\"t\",\"id\":{id},\"isMeta\":true"));
            let grown = first.replace("\"a\"", "\"ab\"");
            assert_eq!(key(&first), key(&copy), "{id}");
            assert_ne!(key(&first), key(&grown), "{id}");
        }
    }

    #[test]
    fn a_short_id_needs_its_time_and_a_counter_its_session() {
        let of = |id: &str, time: u32, session: &str| {
            key(&line(&format!("\"id\":{id},\"timestamp\":{time},\"session\":\"{session}\"")))
        };
        // as pi gives them: a fork keeps id and time
        assert_eq!(of("\"a1b2c3d4\"", 1, "s"), of("\"a1b2c3d4\"", 1, "t"));
        assert_ne!(of("\"a1b2c3d4\"", 1, "s"), of("\"a1b2c3d4\"", 2, "s"));
        for counter in ["1", "\"1\"", "\"m1\"", "\"msg-12\""] {
            assert_ne!(of(counter, 1, "s"), of(counter, 1, "t"), "{counter}");
            assert_ne!(of(counter, 1, SESSION), of(counter, 2, SESSION), "{counter}");
            assert_eq!(of(counter, 1, SESSION), of(counter, 1, SESSION), "{counter}");
        }
    }

    #[test]
    fn without_an_id_session_and_time_count() {
        let of = |fields: &str| MessageKey::of(line(fields).as_bytes()).unwrap();
        let first = of(&format!("\"timestamp\":1,\"session\":\"{SESSION}\""));
        for other in
            ["\"timestamp\":2,\"session\":\"SESSION\"", "\"timestamp\":1,\"session\":\"t\""]
        {
            assert_ne!(first, of(&other.replace("SESSION", SESSION)));
        }
        assert!(first.is_repeatable);
        assert_eq!(first.stored_hash("a", 0), first.stored_hash("b", 0));
        assert_ne!(first.stored_hash("a", 0), first.stored_hash("a", 1));
        // a session that is not the only one of its name holds for its transcript
        for fields in ["\"timestamp\":1,\"session\":\"s\"", "\"timestamp\":1", "\"name\":\"x\""] {
            let one = of(fields);
            assert_ne!(one.stored_hash("a", 0), one.stored_hash("b", 0), "{fields}");
        }
    }

    #[test]
    fn what_is_no_message_has_none() {
        for line in ["", "{", "{}", r#"{"type":"session","id":"s"}"#, r#"{"type":"copy","of":"x"}"#]
        {
            assert_eq!(MessageKey::of(line.as_bytes()), None, "{line}");
        }
    }
}
