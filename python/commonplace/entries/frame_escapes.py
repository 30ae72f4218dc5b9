r"""Escapes of what could close a frame of recalled text, pose as another turn, or fetch something.

Each such place is one character, written as `\u{3c}`: closers in any spelling, tokens of chat
templates, turn markers, characters that are not seen, images from elsewhere.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, get_args

from commonplace.entries.confusables import UNKNOWN_LETTER, is_plain, skeleton

Author = Literal["owner", "agent", "untrusted", "system"]
# What can stand for `<`: itself, what looks like it, and how it is spelled in HTML, JSON and URLs.
_LESS = "<＜﹤‹˂〈⟨❮ᐸ"
_NOT_NAME = rf"[^\w{_LESS}]*"
AUTHORS = "|".join(get_args(Author))
_TURNS = "|".join(
    spelled
    for word in ("Human", "Assistant", "User", "System", "Developer", "Tool", "AI", "Response")
    for spelled in dict.fromkeys((word, word.upper()))
)
_TEMPLATE_TAGS = (
    "start_of_turn|end_of_turn|bos|eos|im_start|im_end|system|user|assistant|human|think|thinking"
    r"|tool_calls?|tool_use|tool_results?|tool_response|function_calls?|function_results|antml:\w+"
    r"|invoke|(?:start|begin|end)_of_\w+|fim_(?:prefix|middle|suffix)"
)
# What fetches something when it is shown, and so tells another place who reads, and what: elements,
_FETCHED = (
    r"(?:img|image|feimage|use|picture|source|video|audio|track|bgsound|iframe|frame|embed|object"
    r"|applet|portal|input|link|meta|base)[\s/]|(?:style|script)[\s/>]"
)
_ELSEWHERE = r"(?:[:&\\]|/\s*/)"
# attributes that hold CSS, and the oldest one for a picture,
_STYLED = (
    r"=(?=\s*(?:\"[^\"]{0,999}?|'[^']{0,999}?|[^\s\"'>=]{0,999}?)(?:url|image-set)\("
    rf"[^)]{{0,999}}?{_ELSEWHERE})"
    rf"|(?<=background)=(?=\s*[\"']?[^\s\"'>]{{0,999}}?{_ELSEWHERE})"
)
# images of Markdown, but those that are surely files beside the text: `![a](img/a.png)`, `![[a]]`,
_BESIDE = (
    r"\[\[[^\[\]\\`<:\n]{1,999}\]\](?![(\[])"
    r"|\[[^\[\]\\`<\n]{0,999}\]\((?:(?!//)[\w./%~+#?=,@-]){1,999}(?:[ \t]+\"[^\"\n]{0,999}\")?\)"
)
_IMAGE = (
    rf"(?!!(?:{_BESIDE}))"
    # after a word it may be a macro, vec![1, 2], after # an attribute
    r"(?:(?<![\w#])!(?=\[(?!\][^(\[]))|!(?=\[(?:(?!\n\s*\n).){0,999}?\](?:\(|\[)))"
    rf"|<(?=\s*(?:{_FETCHED}))|{_STYLED}"
    # and where `![r]`, of this piece or another one, would be fetched from
    r"|(?<![^\n])(?:[ \t>*+-]|\d{1,9}[.)](?=[ \t])){0,99}\[(?=(?:[^\[\]\\]|\\.){1,999}\]:\s*"
    rf"(?:<[^\n]*?|\S*?){_ELSEWHERE})"
)
_BRACKETED = r"B_INST|E_INST|B_SYS|E_SYS|INST|SYS|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_\w+"
# Joiners stay between letters of scripts that are written with them, and within an emoji.
_JOINED = "\u0600-\u0fff\u2190-\u2bff\ufe0f\U0001f000-\U0001faff"
_INVISIBLE = (
    "[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2"
    "\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    "\ud800-\udfff\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    r"|\r(?!\n)"
    f"|(?<![{_JOINED}])[\u200c\u200d]|[\u200c\u200d](?![{_JOINED}])"
    "|(?<![#*0-9\xa9-\u3299\U0001f000-\U0001faff])[\ufe0e\ufe0f]"
)
_ESCAPED = re.compile(r"\\u\{([0-9a-f]{1,6})\}")
_PARTING = re.compile(rf"[\r\n§]|(?<![^ ])\(|,(?=\s*(?:{AUTHORS})\b)", re.IGNORECASE)


@lru_cache
def _name(tag: str) -> str:
    """Return a pattern of the names of frames, however their letters are set apart."""
    # the frames of other recalls stand in the same prompt
    frames = dict.fromkeys((tag, "memory", "user_memory"))
    # bounded, for this is tried at each `<`; nobody takes what is set further apart for a name
    apart = rf"(?:[^\w{UNKNOWN_LETTER}]|_){{0,16}}"
    return "|".join(apart.join(re.findall("[a-z0-9]", frame)) for frame in frames)


@lru_cache
def _skeleton_risks(tag: str) -> re.Pattern[str]:
    """Return what must not stand in a frame, in the skeleton of a text: see `confusables`."""
    # a letter whose shape is not known may be made like any other
    name = re.sub(r"(?<!\\)[a-z]", lambda letter: f"[{letter[0]}{UNKNOWN_LETTER}]", _name(tag))
    unknown = rf"/?[a-z_]*{UNKNOWN_LETTER}"
    return re.compile(
        rf"<(?=[^\w<{UNKNOWN_LETTER}]*(?:{name})|{unknown}|/?(?:{_TEMPLATE_TAGS})\b|/?s>|\||{_FETCHED})|{_STYLED}"
    )


@lru_cache
def _risks(tag: str) -> re.Pattern[str]:
    """Return what must not stand in a frame: each match is one character, to be escaped.

    A turn marker is the exception: there it is the colon behind the group `turn`.
    """
    name = _name(tag)
    # what makes a tag of a `<`: our name, one that goes on as an entity, or a template's
    rest = (
        rf"(?:{_NOT_NAME}(?:{name}|[a-z_]*&(?:#|sol))|/?(?:{_TEMPLATE_TAGS})\b|/?s>"
        rf"|[|｜]|<?\s*(?:/\s*)?SYS\b)"
    )
    return re.compile(
        rf"(?<=\n)(?P<turn>[ \t>#*_-]*(?-i:{_TURNS})[ \t*_]*)[:：]"
        rf"|,(?=\s*(?:{AUTHORS})\s*[,)])"
        rf"|\\(?=u\{{|(?:u003c|x3c){rest})"
        rf"|[{_LESS}](?={rest})|&(?=(?:amp;)*(?:lt|#0*60|#x0*3c);?{rest})|%(?=3c{rest})"
        rf"|\[(?=\s*(?:/\s*)?(?:{_BRACKETED})\s*\])"
        rf"|{_IMAGE}|{_INVISIBLE}",
        re.IGNORECASE | re.DOTALL,
    )


def escape(text: str, tag: str) -> tuple[str, int]:
    """Return a text that is harmless in the frame `tag`, and how much of it was escaped."""
    places = {risk.end() - 1 for risk in _risks(tag).finditer(text)}
    if not is_plain(text):
        looks, starts = skeleton(text)
        places.update(starts[risk.start()] for risk in _skeleton_risks(tag).finditer(looks))
    harmless, at = list[str](), 0
    for place in sorted(places):
        harmless.append(f"{text[at:place]}\\u{{{ord(text[place]):x}}}")
        at = place + 1
    return "".join([*harmless, text[at:]]), len(places)


def unescape(text: str) -> str:
    """Undo `escape()`."""
    return _ESCAPED.sub(lambda spelled: chr(int(spelled[1], 16)), text)


def escape_label(text: str, tag: str) -> tuple[str, int]:
    """Return what is said about a piece, escaped so that its parts can be told apart."""
    text, escaped = escape(text, tag)
    text, more = _PARTING.subn(lambda mark: f"\\u{{{ord(mark[0]):x}}}", text)
    return text, escaped + more
