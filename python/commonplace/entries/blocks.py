"""Entries of a note as Markdown blocks, which hold any text and give it back exactly.

A block is a second-level heading, a `META` comment when there is something to say about it, and
its text. Text that would change the structure of the note (a heading, an open fence, a comment,
blank lines at an end) is written as a quotation; anything else stands as it is:

    ## Logger stdout leak fix
    <!--
    META:
    - id: "entry-1"
    -->

    - Summary: pino pipeline stdout leak → custom JS transport

The comment is that of the overview/detail design, with JSON values. What a person wrote by hand
is read as well: a block is what the section parser says it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from commonplace import _core
from commonplace.errors import EncodingError, InvalidArgument

_FOLLOWER = "\n## follower\n\nx\n"
_KEY = re.compile(r"[\w-]+\Z")
# What a quotation must spell out: a carriage return ends a line in Markdown, NUL is not allowed.
_ESCAPES = {"\r": "&#13;", "\0": "&#0;", "&": "&amp;"}
_TO_ESCAPE = re.compile(r"[\r\0]|&(?=amp;|#13;|#0;)")
_ESCAPED = re.compile(r"&amp;|&#13;|&#0;")


@dataclass(frozen=True, slots=True)
class Block:
    """One entry of a note.

    `start` and `end` are the character offsets of the whole block, heading included, in the note
    it was read from; `line` is that of its heading, from 1; `source` is the block word for word.
    """

    title: str
    text: str
    meta: Mapping[str, Any] = field(default_factory=dict)
    line: int = field(default=0, compare=False)
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)
    source: str = field(default="", compare=False, repr=False)


def title_for(text: str, width: int = 60) -> str:
    r"""Return a heading for any text: its first words, on one line, at most `width` characters.

    >>> title_for("# the logger is fixed\nIt leaked.")
    'the logger is fixed'
    """
    lines = (" ".join(line.split()).strip("#>-*` ") for line in text.splitlines())
    first = "".join(char for char in next(filter(None, lines), "") if char.isprintable())
    first = " ".join(first.split())
    if len(first) > width:
        first = first[: width - 1].rsplit(" ", 1)[0].rstrip() + "…"
    return first or "…"


def render(title: str, text: str, meta: Mapping[str, Any] | None = None) -> str:
    r"""Return a block as Markdown, ending in one line end.

    Args:
        title: One line; see `title_for()`.
        text: Any text.
        meta: What is said about it: words as keys, anything that JSON can hold as values.

    Raises:
        InvalidArgument: The title is not one plain line, or a value of `meta` is not JSON.
        EncodingError: The text is not UTF-8.

    >>> print(render("Bob", "# likes tea", {"id": "b"}), end="")
    ## Bob
    <!--
    META:
    - id: "b"
    -->
    <BLANKLINE>
    > # likes tea
    """
    if title != " ".join(title.split()) or not title:
        raise InvalidArgument(f"a title is one line without spaces at its ends, not {title!r:.60}")
    head = f"## {title}\n{comment(meta)}\n"
    try:
        plain = f"{head}{text}\n"
        if _round_trips(plain, title, text, dict(meta or {})):
            return plain
    except UnicodeEncodeError:
        raise EncodingError(f"the text of {title!r:.60} is not UTF-8") from None
    return f"{head}{quote(text)}\n"


def copy_of(block: Block) -> str:
    r"""Return a block as it can stand in another note: word for word, ending in one line end.

    Where that would change what follows it there, it is rendered anew.

    >>> copy_of(parse("Intro\n\n## One\n> said &amp; done\n\n\n## Two\n")[0])
    '## One\n> said &amp; done\n'
    """
    source = block.source.strip("\n") + "\n"
    found = parse(source + _FOLLOWER)
    if len(found) == 2 and found[0] == block and found[1].start == len(source) + 1:
        return source
    return render(" ".join(block.title.split()) or "…", block.text, block.meta)


def parse(note: str) -> list[Block]:
    r"""Return the blocks of a note in file order; what stands before the first is no block.

    >>> [block.text for block in parse("# June\n\n## One\n\nfirst\n\n## Two\n\n> a\n> b\n")]
    ['first', 'a\nb']
    """
    data = note.encode()
    offset = char_offsets(data)
    cuts = [section for section in _core.sections(note) if 1 <= section.level <= 2]
    ends = [section.start for section in cuts[1:]] + [len(data)]
    return [
        _read(section, data[:end], offset(section.start))
        for section, end in zip(cuts, ends, strict=False)
        if section.level == 2
    ]


def char_offsets(data: bytes) -> Callable[[int], int]:
    """Return a function from bytes to characters of a UTF-8 text, for offsets that only grow."""
    at = characters = 0

    def offset(byte: int) -> int:
        nonlocal at, characters
        characters += len(data[at:byte].decode())
        at = byte
        return characters

    return offset


def heading_of(section: _core.Section, data: bytes) -> str:
    """Return the heading of a section as it is written, an underlined one as plain text.

    Args:
        section: Of `_core.sections()`.
        data: The whole note.
    """
    if section.level == 0:
        return ""
    head = data[section.start : section.body].decode().strip("\ufeff\r\n")
    if "\n" in head or "\r" in head:
        return section.heading[-1]
    return head.lstrip().removeprefix("##").strip()


def preamble(note: str) -> str:
    """Return what stands before the first block: the title of the note and its summary."""
    blocks = parse(note)
    return note[: blocks[0].start] if blocks else note


def quote(text: str) -> str:
    r"""Return any text as a Markdown quotation, in which it cannot change what is around it.

    >>> print(quote("# likes\n\ntea"))
    > # likes
    >
    > tea
    """
    spelled = _TO_ESCAPE.sub(lambda found: _ESCAPES[found[0]], text)
    return "\n".join(f"> {line}" if line else ">" for line in spelled.split("\n"))


def unquote(text: str) -> str:
    r"""Return what `quote()` was given; a text that is no quotation is returned as it is.

    >>> unquote(quote("\r\n> &amp;\0\n")), unquote("plain")
    ('\r\n> &amp;\x00\n', 'plain')
    """
    lines = text.split("\n")
    if not all(line.startswith(">") for line in lines):
        return text
    text = "\n".join(line[1:].removeprefix(" ") for line in lines)
    return _ESCAPED.sub(lambda found: {v: k for k, v in _ESCAPES.items()}[found[0]], text)


def comment(meta: Mapping[str, Any] | None) -> str:
    """Return the `META` comment that says `meta`, ending in a line end; for nothing, nothing.

    Raises:
        InvalidArgument: A key is no word, or a value is not JSON.
    """
    if not meta:
        return ""
    lines = []
    for key, value in meta.items():
        if not _KEY.match(key):
            raise InvalidArgument(f"{key!r:.60} is no key for META: letters, digits, - and _ only")
        # a hook that only injects starts without it
        import orjson  # noqa: PLC0415

        try:
            text = orjson.dumps(value).decode()
        except orjson.JSONEncodeError as error:
            raise InvalidArgument(f"META {key} cannot be written as JSON: {error}") from None
        # the same JSON, which cannot end the comment
        text = text.replace("-->", r"--\u003e")
        lines.append(f"- {key}: {text}\n")
    return f"<!--\nMETA:\n{''.join(lines)}-->\n"


def read_comment(text: str) -> tuple[dict[str, Any], str]:
    r"""Return what a `META` comment at the start of a text says, and the text after it.

    >>> read_comment('<!--\nMETA:\n- created: 2024-01-15\n-->\n\nrest')
    ({'created': '2024-01-15'}, '\nrest')
    """
    found = _core.meta_comment(text)
    if not found or found.heading:
        return {}, text
    return fields_of(found), found.after


def fields_of(comment: _core.MetaComment | None) -> dict[str, Any]:
    """Return what a `META` comment says: JSON, or as text what a person wrote instead."""
    return {key: _value(value) for key, value in comment.fields} if comment else {}


def _round_trips(plain: str, title: str, text: str, meta: dict[str, Any]) -> bool:
    """Return whether a text comes back as it was, and leaves what follows alone."""
    found = parse(plain + _FOLLOWER)
    return (
        len(found) == 2
        and (found[0].title, found[0].text, found[0].meta) == (title, text, meta)
        and found[1].start == len(plain) + 1
        and len(_core.sections(plain)) == 1
    )


def _read(section: _core.Section, data: bytes, start: int) -> Block:
    """Read the block that ends a note, or a part of it; `start` counts characters."""
    source = data[section.start :].decode()
    meta, rest = read_comment(data[section.body :].decode())
    text, title = unquote(rest.strip("\n")), heading_of(section, data)
    return Block(title, text, meta, section.line, start, start + len(source), source)


def _value(text: str) -> Any:
    """Return a value of META: JSON, or what a person wrote instead."""
    import orjson  # noqa: PLC0415 - as above

    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
