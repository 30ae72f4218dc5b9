"""Parts of a score: what each word of a query adds to a hit, read from `Store.explain`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

_WORD = re.compile(r" *([\d.]+) = (.+?)(: not in it)?; in (\d+) documents?")
_FIELD = re.compile(r" +[\d.]+ of tf~ = (\w+): ")
_RESCORE = re.compile(r"([\d.]+) = session rescoring")
SESSION = ""
"""The name of what the session adds: its other messages, and those beside it."""


@dataclass
class ScorePart:
    """What one word adds: its share of all parts (0…1), and where it was found."""

    name: str
    amount: float
    documents: int
    fields: list[str] = field(default_factory=list)
    share: float = 0.0


def score_parts(explained: str, query: str = "") -> list[ScorePart]:
    r"""Return the parts of a score, in the order of the query; words that are missing add 0.

    Args:
        explained: What `Store.explain` returns. Of a turn the parts of prompt and reply are added.
        query: Words are named as they stand there, and not by their stems.

    >>> told = "a.md#L1 scores 3.0\n3.0 = tea; in 4 documents\n    0.9 of tf~ = body: weight 1\n"
    >>> [(part.name, part.share, part.fields) for part in score_parts(told)]
    [('tea', 1.0, ['body'])]
    """
    parts: dict[str, ScorePart] = {}
    current: ScorePart | None = None
    for line in explained.splitlines():
        if word := _WORD.fullmatch(line):
            name = _as_typed(word[2], query)
            current = parts.setdefault(name, ScorePart(name, 0.0, int(word[4])))
            current.amount += float(word[1])
        elif (found := _FIELD.match(line)) and current is not None:
            if found[1] not in current.fields:
                current.fields.append(found[1])
        elif rescored := _RESCORE.match(line):
            parts[SESSION] = ScorePart(SESSION, float(rescored[1]), 0)
    whole = sum(part.amount for part in parts.values())
    for part in parts.values():
        part.share = part.amount / whole if whole else 0.0
    return [*parts.values()]


def bar(parts: Sequence[ScorePart], width: float) -> list[tuple[float, float, int]]:
    """Return the parts as rectangles of a bar: from, width, and the number of the part.

    >>> bar([ScorePart("a", 1, 1, share=0.25), ScorePart("b", 3, 1, share=0.75)], 100)
    [(0.0, 25.0, 0), (25.0, 75.0, 1)]
    """
    found, at = [], 0.0
    for number, part in enumerate(parts):
        if part.share:
            found.append((round(at, 2), round(part.share * width, 2), number))
            at += part.share * width
    return found


@lru_cache(maxsize=256)
def _as_typed(stem: str, query: str) -> str:
    """Return the word of a query that begins most like its stem."""
    best, length = stem, 2
    for word in re.findall(r"\w+", query.lower()):
        common = 0
        while common < min(len(word), len(stem)) and word[common] == stem[common]:
            common += 1
        if common > length and common >= len(stem) - 2:
            best, length = word, common
    return best
