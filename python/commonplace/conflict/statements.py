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
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from commonplace.conflict.tables import load
from commonplace.conflict.words import CHINESE

_VERB = (
    r"(?:am|is|are|was|were|has|have|had|lives?|works?|prefers?|likes?|loves?|hates?|dislikes?"
    r"|enjoys?|wants?|needs?|uses?|drinks?|eats?|drives?|owns?|speaks?|stud(?:y|ies|ied)|plays?"
    r"|plans?|goes|keeps?|runs?|writes?|reads?|listens?|watch(?:es)?|knows?|thinks?|does|do|don't"
    r"|doesn't|isn't|aren't|can|can't|cannot|will|would|should|must|moved|switched|started|stopped"
    r"|quit|bought|sold|got|gave|joined|left|became|married|graduated|commutes?|sleeps?|wakes?"
    r"|takes?|teach(?:es)?|manages?|leads?|grew|avoids?|no longer|never|always|usually|now|also)"
)
_THIRD = (
    r"(?:is|has|was|does|doesn't|isn't|goes|stud(?:ies|ied)|watches|teaches|moved|switched|started"
    r"|stopped|quit|bought|sold|got|gave|joined|left|became|married|graduated|grew|no longer"
    r"|(?:live|work|prefer|like|love|hate|dislike|enjoy|want|need|use|drink|eat|drive|own|speak"
    r"|play|plan|keep|run|write|read|listen|know|think|commute|sleep|wake|take|manage|lead|avoid)s)"
)
_BASE = (
    r"(?:am|have|live|work|prefer|like|love|hate|enjoy|want|need|use|drink|eat|drive|own|speak|play"
    r"|don't|do not|can|can't|study|keep|moved|switched|started|stopped|quit|bought|sold|got|gave"
    r"|joined|left|became|no longer|never)"
)
_NOUNS = r"(?:[\w'-]+ ){1,3}?"
_SUBJECT = (
    rf"(?:(?:the )?user(?='s {_NOUNS}| {_VERB}\b)"
    r"|(?:i|we|you|he|she|they|it)(?:'(?:m|ve|d|s|re|ll))?(?= )"
    rf"|there (?:is|are)|(?:my|our|your|his|her|their|the) {_NOUNS}{_VERB}\b)"
)
_ORDER = (
    r"(?:(?:please |always |never )?(?:answer|reply|respond|keep|use|avoid|write|speak|call|address"
    r"|give|show|explain|include|format|indent|skip|add|put|cite|summari[sz]e|translate)\b"
    r"|(?:do not|don't|never|always|no) [a-z])"
)
# A piece that stands alone begins with its own subject, or asks for something.
_OWN = re.compile(rf"{_SUBJECT}|{_ORDER}|[\w ]{{2,24}}: ", re.IGNORECASE)
_ASKS = re.compile(_ORDER, re.IGNORECASE)
_ELIDED = {
    True: re.compile(rf"{_THIRD}\b", re.IGNORECASE),
    False: re.compile(rf"{_BASE}\b", re.IGNORECASE),
}
_CLAUSE = re.compile(rf"\b{_VERB}\b|^{_ORDER}|'(?:m|s|re|ve)\b|^[\w ]{{2,24}}: ", re.IGNORECASE)
_LEAD = re.compile(
    r"(?:the )?user (?=\S)|(?:i|we|he|she|they) (?=\S)|[A-Z][a-z]+ (?=\S)", re.IGNORECASE
)
_PLURAL = re.compile(r"(?:i|we|they|you)\b", re.IGNORECASE)
_INFINITIVE = re.compile(r"\bto [a-z]+\b")

_SENTENCE = re.compile(
    r"(?<![\s.][A-Za-z])(?<!\be\.g)(?<!\bi\.e)(?<!\b[DMJS]r)(?<!\bMrs)(?<!\bvs)(?<!\betc)[.!?]\s+(?=[A-Z\u3400-\u9fff\"'(])"
    r"|[。！？]\s*(?=\S)|[;；]\s*(?=\S)",
)
_BREAK = re.compile(
    r",? (?:and|but|while|whereas) (?:also )?|, |，(?:而且|并且|但是|但|也|还)?", re.IGNORECASE
)
_LIST = re.compile(r", and |, | and |、|，|以?及|和")
_LIKED = re.compile(
    r"(?P<lead>(?:(?:the )?user |i |we )(?:prefers?|likes?|loves?|enjoys?|wants?|hates?|dislikes?"
    r"|ha(?:s|ve)|owns?|uses?|speaks?|plays?|eats?|drinks?|knows?) "
    r"|(?:用户|我们?)?(?:最|更)?(?:喜欢|偏好|讨厌|养了?|有|会说?|用))(?=\S)",
    re.IGNORECASE,
)
_KEY = re.compile(r"(?P<key>[^:：=\n]{1,30}?)\s*[:：]\s*(?=\S)")
_PREFERENCE = re.compile(
    r"(?:user )?preferences?|likes?|styles?|偏好|喜好|喜欢|风格", re.IGNORECASE
)
_LEAD_ZH = re.compile(r"(?:用户|我们?|本人|她|他)(?=\S)")
# Such a piece belongs to the one before it.
_BOUND_ZH = re.compile(
    r"(?:因为|所以|因此|如果|虽然|除非|尤其|特别|比如|例如|包括|以及|而不|不是|就是|即|只是|时|的|直到|每)"
)
_ITEM = re.compile(r"(?P<indent>[ \t]*)(?:[-*+]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(?=\S)")
_RULE = re.compile(r"\s*\|?[\s:|-]*-[\s:|-]*\Z")
_FENCE = re.compile(r"\s*(?:```|~~~)")


# A sentence that is longer is not taken apart.
LONGEST = 1000


class Statement(NamedTuple):
    """One statement of a text: `text[start:end]`.

    `reading` is what it says by itself: with the subject, the key or the line that it hangs below.
    """

    start: int
    end: int
    text: str
    reading: str


@dataclass(slots=True)
class _Chain:
    """Pieces of one sentence; `lead` is before the first, for those that need it."""

    start: int
    end: int
    lead: tuple[int, int]
    pieces: list[tuple[int, int]] = field(default_factory=list)
    # Whether a piece needs the lead to be understood, and how that is read
    needs: list[bool] = field(default_factory=list)
    reads: str | None = None

    def holds(self, places: Collection[tuple[int, int]]) -> bool:
        """Return whether one of these places is a piece."""
        return any(piece in places for piece in self.pieces)


@dataclass(slots=True)
class _Line:
    """A list item, a paragraph or a row: its lines, and what it says in chains."""

    start: int
    end: int
    level: int
    chains: list[_Chain]
    above: str = ""
    has_children: bool = False


@lru_cache(maxsize=32_768)
def statements(text: str) -> tuple[Statement, ...]:
    """Return the statements of a text in their order.

    >>> [one.reading for one in statements("User lives in Berlin and works at Siemens")]
    ['User lives in Berlin', 'User works at Siemens']
    >>> [one.text for one in statements("我住在北京，养了一只猫")]
    ['我住在北京', '养了一只猫']
    """
    return tuple(
        Statement(start, end, text[start:end], line.above + reading)
        for line in _lines(text)
        for chain in line.chains
        for start, end, reading in _readings(text, chain)
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


def _kept(text: str, chain: _Chain, gone: Collection[tuple[int, int]]) -> str:
    """Return what is left of a sentence; empty when all of it goes."""
    kept = [number for number, piece in enumerate(chain.pieces) if piece not in gone]
    if not kept:
        return ""
    first = kept[0]
    start = chain.pieces[first][0]
    lead = text[slice(*chain.lead)] if first and chain.needs[first] else ""
    parts = [lead or (text[chain.start : start] if not first else "")]
    for number in kept:
        begin, end = chain.pieces[number]
        if number != first:
            parts.append(text[chain.pieces[number - 1][1] : begin])
        parts.append(text[begin:end])
    return "".join(parts) + text[chain.pieces[-1][1] : chain.end]


def _readings(text: str, chain: _Chain) -> Iterator[tuple[int, int, str]]:
    lead = text[slice(*chain.lead)] if chain.reads is None else chain.reads
    for number, (start, end) in enumerate(chain.pieces):
        words = text[start:end]
        # the first piece holds a subject, and stands behind a key
        needed = chain.needs[number] and not words.startswith(lead)
        yield start, end, _cells(words) if words[:1] == "|" else lead * needed + words


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
        if parents and line.level >= 0 and parents[-1][1] and not _CLAUSE.search(body):
            line.above = f"{parents[-1][1]} "
        if line.has_children:
            parents.append((line.level, body if is_head else ""))
        if not (is_head and line.has_children) and body:
            line.chains = list(_chains(text, start, end))


def _goes_on(line: str, following: str) -> bool:
    """Say whether a line is one paragraph with that above it."""
    keys = _KEY.match(line) and _KEY.match(following) and not line.endswith((",", "，"))
    return bool(line) and not line.startswith("|") and not keys


def _row(text: str, start: int, end: int) -> _Line:
    """Return a row of a table: its first cell is a key."""
    bare = text[start:end].strip()
    first = start + text[start:end].index(bare)
    last = first + len(bare)
    chain = _Chain(first, last, (first, first), [(first, last)], [False])
    return _Line(start, end, -1, [chain])


def _chains(text: str, start: int, end: int) -> Iterator[_Chain]:
    """Cut a line or paragraph into sentences, and those into pieces."""
    at = start
    for stop in _SENTENCE.finditer(text, start, end):
        closed = 0 if stop[0][0] in ";；" else 1
        yield _chain(text, at, stop.start() + closed)
        at = stop.end()
    yield _chain(text, at, end)


def _chain(text: str, start: int, end: int) -> _Chain:
    """Cut a sentence into clauses, or its list into items."""
    inner = end - (text[end - 1] in ".!?。！？;；" if end > start else 0)
    inner = max(inner, start + 1) if end > start else end
    if end - start > LONGEST:
        return _Chain(start, end, (start, start), [(start, inner)], [False])
    key = _KEY.match(text, start, inner)
    liked = _LIKED.match(text, start, inner)
    if key and not re.match(r"https?", key["key"]):
        chain = _Chain(start, end, (start, key.end()))
        if load().many.search(key["key"].strip().casefold()):
            chain.reads = "User prefers " if _PREFERENCE.fullmatch(key["key"].strip()) else None
            return _listed(text, chain, key.end(), inner)
        chain.pieces, chain.needs = [(start, inner)], [False]
        return chain
    clauses = list(_clauses(text, start, inner))
    if len(clauses) == 1 and liked:
        return _listed(text, _Chain(start, end, (start, liked.end())), liked.end(), inner)
    lead = _LEAD_ZH.match(text, start, inner) or _LEAD.match(text, start, inner)
    chain = _Chain(start, end, (start, lead.end()) if lead else (start, start), clauses)
    chain.needs = [
        bool(number and lead) and not _has_subject(text[begin:stop])
        for number, (begin, stop) in enumerate(clauses)
    ]
    return chain


def _listed(text: str, chain: _Chain, start: int, end: int) -> _Chain:
    """Fill a chain with the items of a list, which all need what stands before it."""
    cuts = [
        (start, start),
        *(found.span() for found in _LIST.finditer(text, start, end)),
        (end, end),
    ]
    items = [(left[1], right[0]) for left, right in pairwise(cuts)]
    words = [text[begin:stop] for begin, stop in items]
    short = all(word.strip() and len(word.split()) <= 5 for word in words)
    short = short and len({word.startswith("to ") for word in words}) == 1
    if (
        not short
        or len(items) == 1
        or any(re.search(r"\b(?:over|than|between|both)\b|比", word) for word in words)
    ):
        # its words stand by themselves
        chain.pieces, chain.needs, chain.reads = [(chain.start, end)], [False], None
    else:
        chain.pieces, chain.needs = items, [True] * len(items)
    return chain


def _clauses(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the clauses of a sentence: places where each side stands by itself."""
    begin = start
    for found in _BREAK.finditer(text, start, end):
        if found.start() < begin or found.end() >= end:
            continue
        left, right = text[begin : found.start()], text[found.end() : end]
        if _are_apart(left, right, text[start:end], chinese=found[0].startswith("，")):
            yield begin, found.start()
            begin = found.end()
    yield begin, end


def _are_apart(left: str, right: str, sentence: str, *, chinese: bool) -> bool:
    """Say whether two sides of a break are statements of their own."""
    if chinese or (CHINESE.match(right) and CHINESE.search(left)):
        piece = re.split(r"[，,]", right, maxsplit=1)[0]
        return len(left) >= 2 and len(piece) >= 2 and not _BOUND_ZH.match(piece)
    if not _CLAUSE.search(left):
        return False
    if _OWN.match(right):
        return not _ASKS.match(right) or bool(_ASKS.match(left) or _ASKS.match(sentence))
    if _INFINITIVE.search(left):
        return False
    return bool(_ELIDED[not _PLURAL.match(sentence)].match(right))


def _has_subject(piece: str) -> bool:
    return bool(_OWN.match(piece) or _LEAD_ZH.match(piece))
