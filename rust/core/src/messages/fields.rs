//! Fields of a message line, located in one pass and not yet decoded.

use std::borrow::Cow;

use crate::messages::json::PullParser;
use crate::messages::json_string::decode;

/// A value's text in the line, still JSON.
pub(super) type RawJson<'a> = &'a [u8];

/// Cuts off what surrounds the JSON of a line.
pub(crate) fn trim(line: &[u8]) -> &[u8] {
    let inside = |b: &u8| !matches!(b, 0 | b' ' | b'\t' | b'\r' | b'\n');
    let Some(start) = line.iter().position(inside) else {
        return &[];
    };
    let end = line.iter().rposition(inside).map_or(start, |last| last + 1);
    // Windows editors put a byte order mark before the first line.
    let line = &line[start..end];
    line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line)
}

/// Keys by which a format is known, and of which the value is not read here.
const MARKERS: [&[u8]; 6] =
    [b"chat_messages", b"mapping", b"messages", b"parts", b"info", b"projectHash"];

/// The keys that some format gives a meaning, with their values as raw JSON.
#[derive(Clone, Debug, Default)]
pub struct Fields<'a> {
    pub(crate) kind: Option<RawJson<'a>>,
    pub(crate) role: Option<RawJson<'a>>,
    pub(crate) content: Option<RawJson<'a>>,
    pub(super) blocks: Vec<ContentBlock<'a>>,
    pub(crate) time: [Option<RawJson<'a>>; 5],
    pub(crate) session: [Option<RawJson<'a>>; 4],
    pub(crate) id: [Option<RawJson<'a>>; 2],
    pub(crate) name: [Option<RawJson<'a>>; 2],
    pub(crate) tool_calls: Option<RawJson<'a>>,
    pub(crate) tool_call_id: Option<RawJson<'a>>,
    pub(crate) tool_use_id: Option<RawJson<'a>>,
    pub(crate) payload: bool,
    /// The keys that are only looked for, as bits of [`MARKERS`].
    pub(crate) markers: u8,
    pub(crate) format: Option<RawJson<'a>>,
    pub(crate) is_summary: Option<RawJson<'a>>,
    pub(crate) parent: Option<RawJson<'a>>,
    pub(crate) cwd: Option<RawJson<'a>>,
    pub(crate) git_branch: Option<RawJson<'a>>,
    pub(crate) model: Option<RawJson<'a>>,
    pub(crate) is_meta: Option<RawJson<'a>>,
    pub(crate) is_sidechain: Option<RawJson<'a>>,
    pub(crate) arguments: Option<RawJson<'a>>,
    pub(crate) output: Option<RawJson<'a>>,
    pub(crate) summary: Option<RawJson<'a>>,
    pub(crate) inner: Option<Box<Fields<'a>>>,
}

/// One element of a `content` array.
#[derive(Clone, Debug, Default)]
pub(super) struct ContentBlock<'a> {
    pub kind: Option<RawJson<'a>>,
    pub text: Option<RawJson<'a>>,
    pub thinking: Option<RawJson<'a>>,
    pub name: Option<RawJson<'a>>,
    pub input: Option<RawJson<'a>>,
    pub content: Option<RawJson<'a>>,
}

impl<'a> Fields<'a> {
    pub(crate) fn read(parser: &mut PullParser<'a>, outermost: bool) -> Option<Self> {
        let mut fields = Self::default();
        parser.object(|key, parser| {
            let slot = match &*unescaped(key) {
                b"message" | b"payload" if outermost => {
                    fields.inner = None;
                    fields.payload = key == b"payload";
                    if parser.peek()? == b'{' {
                        fields.inner = Some(Box::new(Self::read(parser, false)?));
                    } else {
                        parser.skip()?;
                    }
                    return Some(());
                }
                b"content" => {
                    fields.blocks.clear();
                    fields.content = Some(ContentBlock::read_content(parser, &mut fields.blocks)?);
                    return Some(());
                }
                b"type" => &mut fields.kind,
                b"role" => &mut fields.role,
                b"timestamp" => &mut fields.time[0],
                b"time" => &mut fields.time[1],
                b"created_at" => &mut fields.time[2],
                b"ts" => &mut fields.time[3],
                b"date" => &mut fields.time[4],
                b"session" => &mut fields.session[0],
                b"sessionId" => &mut fields.session[1],
                b"session_id" => &mut fields.session[2],
                b"conversation_id" => &mut fields.session[3],
                b"uuid" => &mut fields.id[0],
                b"id" => &mut fields.id[1],
                b"name" => &mut fields.name[0],
                b"speaker" => &mut fields.name[1],
                b"tool_calls" | b"toolCalls" => &mut fields.tool_calls,
                b"tool_call_id" => &mut fields.tool_call_id,
                b"tool_use_id" => &mut fields.tool_use_id,
                b"isMeta" => &mut fields.is_meta,
                b"isSidechain" => &mut fields.is_sidechain,
                b"isCompactSummary" => &mut fields.is_summary,
                b"format" => &mut fields.format,
                b"parentUuid" | b"parentId" | b"parent" => &mut fields.parent,
                b"cwd" => &mut fields.cwd,
                b"gitBranch" => &mut fields.git_branch,
                b"model" => &mut fields.model,
                b"arguments" => &mut fields.arguments,
                b"output" => &mut fields.output,
                b"summary" => &mut fields.summary,
                other => {
                    if let Some(bit) = MARKERS.iter().position(|marker| *marker == other) {
                        fields.markers |= 1 << bit;
                    }
                    parser.skip()?;
                    return Some(());
                }
            };
            *slot = Some(parser.skip()?);
            Some(())
        })?;
        Some(fields)
    }
}

impl<'a> ContentBlock<'a> {
    /// Steps over a `content` value; of an array the elements are noted on the way.
    fn read_content(parser: &mut PullParser<'a>, blocks: &mut Vec<Self>) -> Option<RawJson<'a>> {
        if parser.peek()? != b'[' {
            return parser.skip();
        }
        let whole = parser.rest();
        parser.array(|parser| {
            // No known writer puts bare strings there.
            if parser.peek()? == b'{' {
                blocks.push(Self::read(parser)?);
            } else {
                parser.skip()?;
            }
            Some(())
        })?;
        Some(&whole[..whole.len() - parser.rest().len()])
    }

    fn read(parser: &mut PullParser<'a>) -> Option<Self> {
        let mut block = Self::default();
        parser.object(|key, parser| {
            let slot = match &*unescaped(key) {
                b"type" => &mut block.kind,
                b"text" | b"refusal" => &mut block.text,
                b"thinking" => &mut block.thinking,
                b"name" => &mut block.name,
                b"input" | b"arguments" => &mut block.input,
                b"content" => &mut block.content,
                _ => {
                    parser.skip()?;
                    return Some(());
                }
            };
            *slot = Some(parser.skip()?);
            Some(())
        })?;
        Some(block)
    }

    pub fn is_tool_result(&self) -> bool {
        let kind = self.kind.and_then(string_body);
        kind.is_some_and(|kind| matches!(&*unescaped(kind), b"tool_result" | b"toolResult"))
    }

    pub fn is_text_block(&self) -> bool {
        match self.kind.and_then(string_body) {
            None => true,
            Some(kind) => {
                matches!(&*unescaped(kind), b"text" | b"input_text" | b"output_text" | b"refusal")
            }
        }
    }
}

/// A key or a short word, decoded only when it holds an escape.
pub(crate) fn unescaped(body: &[u8]) -> Cow<'_, [u8]> {
    if !body.contains(&b'\\') {
        return Cow::Borrowed(body);
    }
    Cow::Owned(decode(body).into_owned().into_bytes())
}

/// What stands between the quotes when the value is a string.
pub(crate) fn string_body(raw: RawJson<'_>) -> Option<&[u8]> {
    raw.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

/// The decoded value when it is a string, and its digits when it is a number.
pub(crate) fn word(raw: RawJson<'_>) -> Option<String> {
    match raw.first()? {
        b'"' => Some(decode(string_body(raw)?).into_owned()),
        b'-' | b'0'..=b'9' => Some(String::from_utf8_lossy(raw).into_owned()),
        _ => None,
    }
}

/// The value of a key of an object, for what is asked for too seldom to be located each time.
pub(crate) fn member<'a>(object: &'a [u8], key: &str) -> Option<RawJson<'a>> {
    let mut found = None;
    PullParser::new(object).object(|name, parser| {
        let value = parser.skip()?;
        if name == key.as_bytes() {
            found = Some(value);
        }
        Some(())
    })?;
    found
}

pub(super) fn first_word(candidates: &[Option<RawJson<'_>>]) -> Option<String> {
    candidates.iter().flatten().find_map(|raw| word(raw))
}

/// Rules that formats share.
impl<'a> Fields<'a> {
    /// Whether `content` is of a type that messages have: text, blocks, or nothing.
    pub(crate) fn is_content(&self) -> bool {
        matches!(self.content.map(|raw| raw.first()), None | Some(Some(b'"' | b'[' | b'n')))
    }

    /// Whether one of [`MARKERS`] is there.
    pub(crate) fn has(&self, key: &str) -> bool {
        let bit = MARKERS.iter().position(|marker| *marker == key.as_bytes());
        bit.is_some_and(|bit| self.markers & 1 << bit != 0)
    }

    /// The `type`.
    pub(crate) fn kind(&self) -> Option<Cow<'a, str>> {
        self.kind.and_then(string_body).map(decode)
    }

    /// Whether this is a message without an envelope.
    pub(crate) fn is_bare_message(&self) -> bool {
        let fits = match self.role {
            Some(role) => string_body(role).is_some() && self.is_content(),
            // A line of a known envelope without a role is an event, not speech.
            None => self.kind().is_none() && self.content.is_some() && self.is_content(),
        };
        fits && self.inner.is_none() && (self.content.is_some() || self.tool_calls.is_some())
    }

    /// Whether this is an envelope of one of the types `kinds` with a message in it.
    pub(crate) fn wraps_message(&self, kinds: &[&str]) -> bool {
        let fits =
            |inner: &Self| (inner.role.is_some() || inner.content.is_some()) && inner.is_content();
        self.inner.as_deref().is_some_and(fits)
            && self.kind().is_some_and(|kind| kinds.contains(&&*kind))
    }

    /// The role, or the type of an envelope that stands for it.
    pub(crate) fn written_role(&self) -> Cow<'a, str> {
        let body = self.inner.as_deref().unwrap_or(self);
        let written = body.role.or_else(|| self.inner.is_some().then_some(self.kind?));
        written.and_then(string_body).map(decode).unwrap_or_default()
    }

    /// Whether this is a tool's answer on a line of its own, or what the harness put in.
    pub(crate) fn is_tool_message(&self, role: &str) -> bool {
        let body = self.inner.as_deref().unwrap_or(self);
        // `tool_skip` relies on the key
        body.tool_use_id.is_some()
            || is_tool_role(role)
            || self.is_meta == Some(b"true")
            || self.is_summary == Some(b"true")
    }
}

/// Whether all that a role says is of tools.
pub(crate) fn is_tool_role(role: &str) -> bool {
    matches!(role, "tool" | "toolResult" | "function" | "tool_result")
}
