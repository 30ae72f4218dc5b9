//! Engine documents as JSON records, for engines that store them and return them.

use serde_json::{Map, Value, json};

use crate::catalog::TranscriptPosition;
use crate::catalog::doc_table::SectionMeta;
use crate::catalog::extract::Corpus;
use crate::error::{Error, Result};
use crate::index::bm25f::{Counts, FIELDS, Lengths};
use crate::store::engine::document::EngineDocument;

impl EngineDocument {
    /// Returns it as one line of JSON, from which [`Self::from_json`] makes the same again.
    #[must_use]
    pub fn to_json(&self) -> String {
        let words = self.words.iter().map(|(word, counts)| {
            let counts = counts.iter().enumerate().filter(|(_, count)| **count > 0);
            (word.to_string(), counts.map(|(field, count)| json!([field, count])).collect())
        });
        // what is not UTF-8 stays as it is, as numbers
        let bytes = match std::str::from_utf8(&self.bytes) {
            Ok(text) => json!(text),
            Err(_) => json!(self.bytes),
        };
        let TranscriptPosition { place, turn, session_run, terms_before } = self.position;
        json!({
            "path": self.path,
            "start": self.start,
            "line": self.line,
            // other readers of JSON have no numbers of 64 bits
            "hash": format!("{:016x}", self.hash),
            "key": format!("{:016x}", self.key),
            "bytes": bytes,
            "tools": self.corpus == Corpus::Tools,
            "trail": self.trail,
            "time": self.time,
            "role": self.role,
            "session": self.session,
            "category": self.category,
            "title": self.title,
            "starts": self.section_meta.starts,
            "flags": self.section_meta.flags,
            "position": [place, turn, session_run, terms_before],
            "lengths": self.lengths,
            "words": Value::Object(words.collect()),
        })
        .to_string()
    }

    /// Makes a document from [`Self::to_json`].
    ///
    /// # Errors
    /// [`Error::Format`] for what is no such record.
    pub fn from_json(text: &str) -> Result<Self> {
        let record: Option<Map<String, Value>> = serde_json::from_str(text).ok();
        record.as_ref().and_then(document).ok_or_else(|| Error::Format {
            path: text.chars().take(40).collect(),
            line: None,
            why: "it is no record of EngineDocument.to_json; index its file again".to_owned(),
        })
    }
}

fn document(record: &Map<String, Value>) -> Option<EngineDocument> {
    let text = |field: &str| Some(record.get(field)?.as_str()?.to_owned());
    let small = |value: &Value| u32::try_from(value.as_u64()?).ok();
    let hash = |field: &str| u64::from_str_radix(record.get(field)?.as_str()?, 16).ok();
    let bytes = match record.get("bytes")? {
        Value::String(text) => text.as_bytes().to_vec(),
        numbers => {
            let byte = |value: &Value| u8::try_from(value.as_u64()?).ok();
            numbers.as_array()?.iter().map(byte).collect::<Option<_>>()?
        }
    };
    let position: Vec<u32> =
        record.get("position")?.as_array()?.iter().map(small).collect::<Option<_>>()?;
    let &[place, turn, session_run, terms_before] = position.as_slice() else { return None };
    let count = |value: &Value| u16::try_from(value.as_u64()?).ok();
    let lengths: Vec<u16> =
        record.get("lengths")?.as_array()?.iter().map(count).collect::<Option<_>>()?;
    let word = |(word, fields): (&String, &Value)| -> Option<(Box<str>, Counts)> {
        let mut counts = [0; FIELDS];
        for pair in fields.as_array()? {
            let [field, number] = pair.as_array()?.as_slice() else { return None };
            *counts.get_mut(small(field)? as usize)? = count(number)?;
        }
        Some((word.as_str().into(), counts))
    };
    let tools = record.get("tools")?.as_bool()?;
    Some(EngineDocument {
        path: text("path")?,
        start: record.get("start")?.as_u64()?,
        line: small(record.get("line")?)?,
        hash: hash("hash")?,
        key: hash("key")?,
        bytes,
        corpus: if tools { Corpus::Tools } else { Corpus::Main },
        trail: text("trail")?,
        time: record.get("time")?.as_i64(),
        role: text("role")?,
        session: text("session")?,
        category: text("category")?,
        title: text("title"),
        section_meta: SectionMeta {
            starts: u8::from(record.get("starts")?.as_u64()? > 0),
            // records of earlier versions have none
            flags: record.get("flags").and_then(Value::as_u64).unwrap_or_default() as u8,
            ..SectionMeta::default()
        },
        position: TranscriptPosition { place, turn, session_run, terms_before },
        lengths: Lengths::try_from(lengths).ok()?,
        words: record.get("words")?.as_object()?.iter().map(word).collect::<Option<_>>()?,
    })
}
