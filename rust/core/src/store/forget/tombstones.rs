//! Tombstones: hashes of what was forgotten, so that no import brings it back.
//!
//! A line of `.commonplace/forgotten.jsonl` is `{"date":…,"messages":[…],"texts":[…]}`: xxh3 hashes
//! (128 bits, hexadecimal) of message keys, and of texts in which each run of white space is one
//! blank. None of it tells what was forgotten. Whoever deletes a line lets it be imported again.

use std::io::Write as _;

use rustc_hash::FxHashSet;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_128;

use crate::error::{Error, Result};
use crate::files::paths::OWN;
use crate::files::platform::sync_file;
use crate::files::root::Root;
use crate::files::side_files::Access;
use crate::files::timestamp;

/// Below [`OWN`].
pub(super) const FILE: &str = "forgotten.jsonl";
/// Bytes from which on a text is so much its own that it is known by its hash: whoever forgets one
/// "ok" does not forget all of them.
pub(super) const MIN_TEXT: usize = 16;
/// Hashes of one line.
const LINE_HASHES: usize = 1000;

/// What was forgotten, by hashes.
#[derive(Debug, Default)]
pub(crate) struct Tombstones {
    /// Hashes by which messages are stored.
    pub messages: FxHashSet<u128>,
    texts: FxHashSet<u128>,
}

impl Tombstones {
    /// Reads them; what is no record is passed over.
    pub fn open(root: &Root) -> Result<Self> {
        let bytes = root.read_reserved(FILE)?;
        let mut own = Self::default();
        for line in bytes.split(|&byte| byte == b'\n') {
            let Ok(record) = serde_json::from_slice::<Value>(line) else { continue };
            own.messages.extend(hashes(&record["messages"]));
            own.texts.extend(hashes(&record["texts"]));
        }
        Ok(own)
    }

    /// Adds hashes, durably; a line at least, by which others see that something was forgotten.
    pub fn add(root: &Root, messages: &[u128], texts: &[u128]) -> Result<()> {
        let now = timestamp();
        let date = format!("{}-{}-{}", &now[..4], &now[4..6], &now[6..8]);
        let hex = |hashes: &[u128]| -> Vec<String> {
            hashes.iter().map(|hash| format!("{hash:032x}")).collect()
        };
        // a line that was torn before it stays apart
        let mut text = "\n".to_owned();
        let (mut messages, mut texts) = (messages.chunks(LINE_HASHES), texts.chunks(LINE_HASHES));
        for _ in 0..messages.len().max(texts.len()).max(1) {
            let some = hex(messages.next().unwrap_or_default());
            let more = hex(texts.next().unwrap_or_default());
            text += &format!("{}\n", json!({ "date": date, "messages": some, "texts": more }));
        }
        let mut file = root.open_reserved(FILE, Access::Append)?;
        let fail = |error| Error::io("write", format!("{OWN}/{FILE}"), error);
        file.write_all(text.as_bytes()).map_err(fail)?;
        sync_file(&file).map_err(fail)
    }

    /// Says whether a text was forgotten.
    pub fn hold_text(&self, text: &str) -> bool {
        !self.texts.is_empty() && text_hash(text).is_some_and(|hash| self.texts.contains(&hash))
    }

    /// Says whether the title of a session was forgotten.
    pub fn hold_title(&self, title: &str) -> bool {
        !self.texts.is_empty() && self.texts.contains(&title_hash(title))
    }

    /// Says whether nothing was forgotten.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.texts.is_empty()
    }

    /// How many bytes they have on the disk, which grows by each forgetting.
    pub fn size(root: &Root) -> u64 {
        root.stat_own(&format!("{OWN}/{FILE}")).map_or(0, |stat| stat.size)
    }
}

/// The hash by which a text is known; none for a short one, which many may say.
pub(super) fn text_hash(text: &str) -> Option<u128> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    (text.len() >= MIN_TEXT).then(|| xxh3_128(text.as_bytes()))
}

/// The hash by which the title of a session is known, however short.
pub(super) fn title_hash(title: &str) -> u128 {
    xxh3_128(format!("title\n{}", title.trim()).as_bytes())
}

fn hashes(value: &Value) -> impl Iterator<Item = u128> {
    let texts = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    texts.filter_map(|text| u128::from_str_radix(text, 16).ok())
}
