"""Statements of an entry: its clauses, list items, `Key: value` lines and table rows.

    User lives in Berlin and works at Siemens      two, with the subject before both
    Answer in German; keep answers short           two
    Preferences: dark mode, short answers          two, with the key before both
    User prefers tea and cake                      two, with the verb before both

Each has its place in the text, so that one can be taken out while the rest stays word for word.
What is not certainly a statement of its own stays part of the one before it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from commonplace.conflict.clauses import CLAUSE, KEY, SOURCE, Chain, chains

_ITEM = re.compile(r"(?P<indent>[ \t]*)(?:[-*+]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(?=\S)")
_RULE = re.compile(r"\s*\|?[\s:|-]*-[\s:|-]*\Z")
_FENCE = re.compile(r"\s*(?:```|~~~)")


class Statement(NamedTuple):
    """One statement of a text: `text[start:end]`.

    `alone` is what it says by itself: with the subject, the key or the line that it hangs below, in
    the words of the text. `reading` is the same as it is compared: of "Likes: tea" it is "User
    prefers tea".
    """

    start: int
    end: int
    text: str
    reading: str
    alone: str


@dataclass(slots=True)
class _Line:
    """A list item, a paragraph or a row: its lines, and what it says in chains."""

    start: int
    end: int
    level: int
    chains: list[Chain]
    above: str = ""
    has_children: bool = False


@lru_cache(maxsize=16_384)
def statements(text: str) -> tuple[Statement, ...]:
    """Return the statements of a text in their order.

    >>> [one.reading for one in statements("User lives in Berlin and works at Siemens")]
    ['User lives in Berlin', 'User works at Siemens']
    >>> [one.text for one in statements("我住在北京，养了一只猫")]
    ['我住在北京', '养了一只猫']
    """
    return tuple(
        Statement(start, end, text[start:end], line.above + reading, line.above + alone)
        for line in _lines(text)
        for chain in line.chains
        for start, end, reading, alone in _readings(text, chain)
    )


def without(text: str, gone: Collection[Statement], instead: str = "") -> str | None:
    """Return a text without some of its statements, what remains word for word.

    Args:
        text: The text.
        gone: Of `statements(text)`.
        instead: What takes the place of a line with others below it.

    Returns:
        The text, empty where nothing remains; None where a line with others below it would be gone
        and nothing can take its place.

    >>> text = "I prefer dark mode, and my dog is called Rex."
    >>> without(text, statements(text)[:1])
    'my dog is called Rex.'
    """
    places = {(one.start, one.end) for one in gone}
    parts, at = [], 0
    for line in _lines(text):
        kept = [_kept(text, chain, places) for chain in line.chains]
        if not any(chain.holds(places) for chain in line.chains):
            continue
        if not any(kept) and line.has_children:
            if not instead or "\n" in instead:
                return None
            kept[0] = instead
        parts.append(text[at : line.start])
        if any(kept):
            parts.append(_joined(text, line, kept))
        at = line.end
    return ("".join(parts) + text[at:]).strip() if parts else text


def _joined(text: str, line: _Line, kept: list[str]) -> str:
    """Return a line with what is left of its sentences."""
    parts = [text[line.start : line.chains[0].start]]
    before = len(parts)
    for number, piece in enumerate(kept):
        if piece:
            if len(parts) > before:
                parts.append(text[line.chains[number - 1].end : line.chains[number].start])
            parts.append(piece)
    return "".join(parts) + text[line.chains[-1].end : line.end]


def _kept(text: str, chain: Chain, gone: Collection[tuple[int, int]]) -> str:
    """Return what is left of a sentence; empty when all of it goes."""
    kept = [number for number, piece in enumerate(chain.pieces) if piece not in gone]
    if not kept:
        return ""
    first = kept[0]
    start = chain.pieces[first][0]
    lead = text[slice(*chain.lead)] if first and chain.needs[first] else ""
    # the subject may be that of a later piece, which is gone
    at = next((n for n, (begin, end) in enumerate(chain.pieces) if begin <= chain.lead[0] < end), 0)
    lost = next((number for number in kept if chain.needs[number]), None) if at else None
    parts = [lead or (text[chain.start : start] if not first else "")]
    for number in kept:
        begin, end = chain.pieces[number]
        if number != first:
            again = number == lost and at not in kept
            # a gap within a clause parts no clauses: "I'm 34 and I live in Ghent with my wife"
            gap = text[chain.pieces[number - 1][1] : begin]
            after = at if again and not gap.strip() else number
            parts.append(text[chain.pieces[after - 1][1] : chain.pieces[after][0]])
            if again:
                parts.append(text[slice(*chain.lead)])
        parts.append(text[begin:end])
    # its source says what is gone, too
    tail = text[chain.pieces[-1][1] : chain.end]
    return "".join(parts) + (SOURCE.sub("", tail) if len(kept) < len(chain.pieces) else tail)


def _readings(text: str, chain: Chain) -> Iterator[tuple[int, int, str, str]]:
    said = text[slice(*chain.lead)]
    lead = said if chain.reads is None else chain.reads
    for number, (start, end) in enumerate(chain.pieces):
        words = text[start:end]
        if words[:1] == "|":
            yield start, end, _cells(words), _cells(words)
            continue
        # the first piece holds a subject, and stands behind a key
        needed = chain.needs[number] and not words.startswith(lead)
        yield start, end, lead * needed + words, said * needed + words


def _cells(row: str) -> str:
    """Return what a row of a table says: the first cell is the key of the others."""
    key, *values = (cell.strip() for cell in row.strip("|").split("|"))
    return f"{key}: {' '.join(values)}" if values else key


@lru_cache(maxsize=256)
def _lines(text: str) -> list[_Line]:
    """Return what says something in a text, line by line."""
    found: list[_Line] = []
    fenced = False
    at = 0
    lines = text.splitlines(keepends=True)
    rows = [line.strip() for line in lines]
    for number, line in enumerate(lines):
        start, at = at, at + len(line)
        bare = rows[number]
        if _FENCE.match(line) and (number or bare.startswith(("```", "~~~"))):
            fenced = not fenced
            continue
        if fenced or not bare or bare.startswith((">", "#", "<!--")):
            continue
        if bare.startswith("|"):
            head = number + 1 < len(rows) and _RULE.match(rows[number + 1])
            if not head and not _RULE.match(bare):
                found.append(_row(text, start, at))
            continue
        item = _ITEM.match(line)
        if item is None and found and found[-1].end == start and _goes_on(rows[number - 1], bare):
            found[-1].end = at
            continue
        level = len(item["indent"].expandtabs(4)) if item and number else -1
        found.append(_Line(start, at, level, []))
    _read_lines(text, found)
    return found


def _read_lines(text: str, found: list[_Line]) -> None:
    """Fill in what each line says, and what it hangs below."""
    for line, below in pairwise(found):
        line.has_children = below.level > line.level and below.level >= 0
    parents: list[tuple[int, str]] = []
    for line in found:
        while parents and parents[-1][0] >= line.level >= 0:
            parents.pop()
        if line.chains:
            continue
        item = _ITEM.match(text, line.start)
        start = item.end() if item and line.level >= 0 else line.start
        end = line.start + len(text[line.start : line.end].rstrip())
        start += len(text[start:end]) - len(text[start:end].lstrip())
        body = text[start:end]
        is_head = body.endswith((":", "："))
        if parents and line.level >= 0 and parents[-1][1] and not CLAUSE.search(body):
            line.above = f"{parents[-1][1]} "
        if line.has_children:
            parents.append((line.level, body if is_head else ""))
        if not (is_head and line.has_children) and body:
            line.chains = list(chains(text, start, end))


def _goes_on(line: str, following: str) -> bool:
    """Say whether a line is one paragraph with that above it."""
    keys = KEY.match(line) and KEY.match(following) and not line.endswith((",", "，"))
    return bool(line) and not line.startswith("|") and not keys


def _row(text: str, start: int, end: int) -> _Line:
    """Return a row of a table: its first cell is a key."""
    bare = text[start:end].strip()
    first = start + text[start:end].index(bare)
    last = first + len(bare)
    chain = Chain(first, last, (first, first), [(first, last)], [False])
    return _Line(start, end, -1, [chain])
