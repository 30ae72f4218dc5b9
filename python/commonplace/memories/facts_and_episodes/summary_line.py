"""Summary line of a note (`> Summary:`): its place, and its text when nobody wrote one.

It stands among the leading lines of a note, under its title, as the facts-and-episodes design
shows:

    # User Facts

    > Summary: name, language, role
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from commonplace import _core
from commonplace.entries.blocks import parse
from commonplace.entries.summaries import COMMENT, first_sentence

MOST_WORDS = 9
"""Every word of a summary costs room in a prompt: "aim for under 10 words"."""
MOST_CHARACTERS = 120

LATEST = "; latest: "
"""What stands between a summary that somebody wrote and what has come since."""

_BLANK = re.compile(r"[ \t]*\r?\n")
_LINE = re.compile(
    r" {0,3}>[ \t]*(?:\*\*)?Summary(?:\*\*)?[ \t]*:[ \t]*(?P<words>.*)", re.IGNORECASE
)
_FENCE = re.compile(r"^(```|~~~).*?(?:^\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
# `- Key: value`, `- **Key**: value`, `- 键：值`, and a link
_KEY = re.compile(
    r"""^[-*+][ \t]+(?:\*\*)?
    (?:\[(?P<link>[^\]\n]+)\]\(
      |(?P<key>[^:：\n]{1,40}?)(?:\*\*)?(?::(?=\s|\*|$)|：))""",
    re.MULTILINE | re.VERBOSE,
)
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+(?P<words>\S.*)")
_ROW = re.compile(r"\|[ \t]*(?P<words>[^|\s][^|]*)\|?")
_RULE = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\||$)")
_SUBHEADING = re.compile(r"#{1,6}[ \t]+(?P<words>\S.*)")
# what a note says about itself, not about what it is for
_ASIDE = {"updated", "summary", "date", "created", "更新", "日期", "摘要"}
# what shorthand leaves out of a title
_FILLER = re.compile(r"\b(?:an?|and|at|by|for|from|in|of|on|the|to|with)\b\s+", re.IGNORECASE)
_DATED = re.compile(r"\d{4}(?:-\d{2}){0,2}(?:-W\d.*)?\Z")


def read(note: str) -> str | None:
    r"""Return what the summary line of a note says, or None when it has none.

    >>> read("# User Facts\n\n> Summary: name, role\n\n- Name: Zhang San\n")
    'name, role'
    """
    span = _span(note)
    found = _LINE.match(note[span[0] : span[1]]) if span else None
    return " ".join(found["words"].replace("**", "").split()) if found else None


def put(note: str, words: str) -> str:
    r"""Return a note whose summary line says `words`; nothing else of it is changed.

    >>> put("# User Facts\n\n- Name: Zhang San\n", "name")
    '# User Facts\n\n> Summary: name\n\n- Name: Zhang San\n'
    """
    words = " ".join(words.split())
    end = "\r\n" if note.partition("\n")[0].endswith("\r") else "\n"
    if span := _span(note):
        return f"{note[: span[0]]}> Summary: {words}{note[span[1] :]}"
    at = _head(note)
    head, rest = note[:at], note[at:]
    if head.strip("\ufeff"):
        head += end if head.endswith("\n") else 2 * end
    blank = "" if not rest or rest.startswith(("\n", "\r\n")) else end
    return f"{head}> Summary: {words}{end}{blank}{rest}"


def without(note: str) -> str:
    """Return a note without its title and its summary line: what it is there for."""
    if span := _span(note):
        note = note[: span[0]] + note[span[1] :]
    return note[_head(note) :]


def make(note: str, *, newest_first: bool = False) -> str:
    r"""Return what the summary line of a note should say, from what is in it.

    These are the keys of its `- Key: value` lines with the list items beside them, and the titles
    of its entries, as many as nine words and 120 characters hold; `…` says that there is more. A
    note with neither keys nor titles is summarised by its first sentence.

    Args:
        note: Markdown; its own summary line does not count.
        newest_first: The entries stand in order of time, and the last one matters most.

    >>> make("# User Facts\n\n- Name: Zhang San\n- Role: developer\n- Updated: 2026-02-24\n")
    'name, role'
    >>> make("# 2026-02\n\n## Logger fix\n- Date: 2026-02-24\n\n## Short ID\n", newest_first=True)
    'Short ID, Logger fix'
    """
    blocks = parse(note)
    titles = [
        first_sentence(block.text) if _DATED.match(block.title) else _FILLER.sub("", block.title)
        for block in blocks
    ]
    body = without(note[: blocks[0].start] if blocks else note)
    text = _FENCE.sub("", COMMENT.sub("", body))
    # an item without a key is in the note as well
    keys = (
        [shortened(label.replace(",", "")) for label in _listed(text)] if _KEY.search(text) else []
    )
    items = titles[::-1] + keys if newest_first else keys + titles
    return _joined(items) or shortened(first_sentence(body)) or "empty"


def with_latest(line: str, before: str, after: str, *, entries_only: bool = False) -> str:
    r"""Return a summary line that somebody wrote, with what a note has gained since behind it.

    These are the titles of new entries, and what the others have gained: list items, paragraphs,
    rows of tables and headings, by their keys or first words, newest first, and as many as a
    summary holds. What the line names itself is not
    named again, and what is in the note no longer is dropped.

    Args:
        line: The summary line as it is.
        before: The note with which it was true.
        after: The note now.
        entries_only: Only entries are named, not what is in them.

    >>> before = "# User\n\n> Summary: who\n\n- Name: A\n"
    >>> with_latest("who", before, f"{before}- City: B\n- has two cats\n")
    'who; latest: has two cats, city'
    """
    held, there = Counter(_labels(before)), _labels(after)
    added = []
    for label in there:
        held[label] -= 1
        if held[label] < 0:
            added.append(label)
    known = {title for title, item in _labels(before) if not item}
    new = [
        item or title
        for title, item in added
        # an entry stands for the items that came with it
        if not item or (not entries_only and title in known)
    ]
    words, _, tail = line.partition(LATEST)
    still = {item or title for title, item in there}
    named = [label for label in tail.removesuffix("…").split(", ") if label in still]
    latest = [
        label for label in [*reversed(new), *named] if label.casefold() not in words.casefold()
    ]
    return f"{words}{LATEST}{_joined(latest)}" if latest else words


def _listed(text: str) -> Iterator[str]:
    """Yield the keys of list items, and the first words of those that have none."""
    for line in text.split("\n"):
        if found := _KEY.match(line):
            name = found["link"] or _lowered(found["key"].strip())
        else:
            item = _ITEM.match(line)
            name = item["words"].rstrip(" .。") if item else ""
        if name and name.casefold() not in _ASIDE:
            yield name


def _labels(note: str) -> list[tuple[str, str]]:
    """Return what an index could name of a note: entries with their titles, and their items.

    Each is the title of the entry, "" before the first, and the label of the item, "" of the entry
    itself. Items are those of lists, paragraphs, rows of tables and headings.
    """
    blocks = parse(note)
    head = without(note[: blocks[0].start] if blocks else note)
    labels = [("", "")]
    for title, text in [("", head), *((block.title, block.text) for block in blocks)]:
        short = shortened(title.replace(",", ""))
        labels += [(short, "")] if short else []
        for name in _items(_FENCE.sub("", COMMENT.sub("", text))):
            if name.casefold() not in _ASIDE and (label := shortened(name.replace(",", ""))):
                labels.append((short, label))
    return labels


def _items(text: str) -> Iterator[str]:
    """Yield what list items, paragraphs, rows of tables and headings are called, in order."""
    lines = text.split("\n")
    before, above = "", ""
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if found := _ITEM.match(line):
            key = _KEY.match(line)
            yield _lowered((key["link"] or key["key"]).strip()) if key else found["words"]
        elif found := _ROW.match(line):
            # the row above the line of dashes names the columns
            if not _RULE.match(line) and not _RULE.match(following):
                yield found["words"]
        elif found := _SUBHEADING.match(line):
            yield found["words"]
        elif line[:1].strip(" \t>|") and not before.strip() and not _SUBHEADING.match(above):
            # a paragraph; the first below a heading is told by that
            yield line.rstrip(" .。")
        before = line
        above = line if line.strip() else above


def shortened(text: str) -> str:
    """Return the first words of a text: at most nine, and 120 characters."""
    words = text.split()
    line = " ".join(words[:MOST_WORDS])
    if len(words) <= MOST_WORDS and len(line) <= MOST_CHARACTERS:
        return line
    return line[: MOST_CHARACTERS - 1].rstrip(" ,;:…") + "…"


def _joined(items: Iterable[str]) -> str:
    """Return as many of the items as a summary holds."""
    line = ""
    for item in dict.fromkeys(" ".join(item.split()) for item in items):
        longer = f"{line}, {item}" if line else shortened(item)
        if len(longer.split()) > MOST_WORDS or len(longer) >= MOST_CHARACTERS:
            return line.removesuffix("…") + "…"
        line = longer
    return line


def _lowered(key: str) -> str:
    """Return a key as it reads within a line: `name`, but `API key`."""
    return key if key[:2].isupper() else key[:1].lower() + key[1:]


def _head(note: str) -> int:
    """Return where the text of a note begins, behind its front matter and its title."""
    data = note.encode()
    sections = _core.sections(note)
    start = sections.pop(0).body if sections and sections[0].level == 0 else 0
    at = len(data[:start].decode()) or len(note) - len(note.removeprefix("\ufeff"))
    while blank := _BLANK.match(note, at):
        at = blank.end()
    title = sections[0] if sections and sections[0].level == 1 else None
    if title and title.start <= len(note[:at].encode()):
        return len(data[: title.body].decode())
    return at


def _span(note: str) -> tuple[int, int] | None:
    """Return where the summary line of a note stands, without its line end."""
    at = _head(note)
    in_comment = False
    for line in note[at:].split("\n")[:40]:
        bare = line.strip()
        if in_comment or bare.startswith("<!--"):
            in_comment = "-->" not in bare
        elif _LINE.match(line):
            return at, at + len(line.removesuffix("\r"))
        elif bare and not bare.startswith((">", "- ", "* ")):
            break
        at += len(line) + 1
    return None
