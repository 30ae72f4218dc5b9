"""Parts of a score: what each word of a query adds to a hit, and the session, as shares."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from commonplace.errors import NotFound, QueryError, Refused

if TYPE_CHECKING:
    from commonplace._core import Explanation
    from commonplace.store import Store

SESSION = ""
"""The name of what the session adds: its other messages, and those beside it."""


@dataclass
class ScorePart:
    """What one word adds: its share of the score (0…1), and where it was found."""

    name: str
    amount: float
    documents: int
    fields: list[str] = field(default_factory=list)
    share: float = 0.0


def score_parts(explained: Explanation, query: str = "") -> list[ScorePart]:
    r"""Return the parts of a score, in the order of the query; words that are missing add 0.

    Args:
        explained: What `Store.explanation` returns. Of a turn the parts of prompt and reply are
            added.
        query: Words are named as they stand there, and not by their stems.

    >>> import commonplace, tempfile
    >>> store = commonplace.open(tempfile.mkdtemp())
    >>> _ = store.write("a.md", "Ferries.\n")
    >>> explained = store.explanation("ferries", "a.md#L1")
    >>> [(part.name, part.share, part.fields) for part in score_parts(explained, "ferries")]
    [('ferries', 1.0, ['body'])]
    """
    parts: dict[str, ScorePart] = {}
    for word in explained.words:
        name = _as_typed(word.name, query)
        part = parts.setdefault(name, ScorePart(name, 0.0, word.documents))
        part.amount += word.score
        part.fields += [one for one in word.fields if one not in part.fields]
    if explained.session:
        parts[SESSION] = ScorePart(SESSION, explained.session, 0)
    for part in parts.values():
        part.share = part.amount / explained.score if explained.score else 0.0
    return [*parts.values()]


def explained_parts(store: Store, query: str, citation: str) -> list[ScorePart]:
    """Return the parts of the score of what is cited; none where it is in no index."""
    try:
        return score_parts(store.explanation(query, citation), query)
    except (NotFound, QueryError, Refused):
        return []


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
