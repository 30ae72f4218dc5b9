//! Fields of a message line, located in one pass and not yet decoded.

use std::borrow::Cow;

use crate::messages::json::PullParser;
use crate::messages::json_string::decode;

/// A value's text in the line, still JSON.
pub(super) type RawJson<'a> = &'a [u8];

/// The keys that some format gives a meaning, with their values as raw JSON.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields<'a> {
    pub kind: Option<RawJson<'a>>,
    pub role: Option<RawJson<'a>>,
    pub content: Option<RawJson<'a>>,
    pub(super) blocks: Vec<ContentBlock<'a>>,
    pub time: [Option<RawJson<'a>>; 5],
    pub session: [Option<RawJson<'a>>; 4],
    pub id: [Option<RawJson<'a>>; 2],
    pub name: [Option<RawJson<'a>>; 2],
    pub tool_calls: Option<RawJson<'a>>,
    pub tool_call_id: Option<RawJson<'a>>,
    pub tool_use_id: Option<RawJson<'a>>,
    pub payload: bool,
    pub is_meta: Option<RawJson<'a>>,
    pub arguments: Option<RawJson<'a>>,
    pub output: Option<RawJson<'a>>,
    pub summary: Option<RawJson<'a>>,
    pub inner: Option<Box<Fields<'a>>>,
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
    pub fn read(parser: &mut PullParser<'a>, outermost: bool) -> Option<Self> {
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
                b"tool_calls" => &mut fields.tool_calls,
                b"tool_call_id" => &mut fields.tool_call_id,
                b"tool_use_id" => &mut fields.tool_use_id,
                b"isMeta" => &mut fields.is_meta,
                b"arguments" => &mut fields.arguments,
                b"output" => &mut fields.output,
                b"summary" => &mut fields.summary,
                _ => {
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
pub(super) fn unescaped(body: &[u8]) -> Cow<'_, [u8]> {
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

pub(super) fn first_word(candidates: &[Option<RawJson<'_>>]) -> Option<String> {
    candidates.iter().flatten().find_map(|raw| word(raw))
}

impl Fields<'_> {
    /// Whether `content` is of a type that messages have: text, blocks, or nothing.
    pub fn is_content(&self) -> bool {
        matches!(self.content.map(|raw| raw.first()), None | Some(Some(b'"' | b'[' | b'n')))
    }
}
