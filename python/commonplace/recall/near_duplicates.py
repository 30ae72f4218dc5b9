"""Near duplicates among hits, by the overlap of their terms (Jaccard 1901)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from commonplace.entries.summaries import COMMENT
from commonplace.letter_ranges import UNSPACED
from commonplace.recall.hybrid_hits import HybridHit

# Of scripts without spaces between words the terms are pairs of characters
RUN = re.compile(rf"([{UNSPACED}]+)|[^\W_{UNSPACED}]+")


def distinct(found: Sequence[HybridHit], limit: int, most: float) -> tuple[list[HybridHit], int]:
    """Return the first `limit` that say different things, and how many were passed over."""
    kept: list[HybridHit] = []
    kept_terms: list[frozenset[str]] = []
    passed = 0
    for one in found:
        if len(kept) >= limit:
            break
        # what a comment notes of an entry, such as its day, is not what it says
        own = terms(COMMENT.sub(" ", one.hit.text))
        if any(overlap(own, other) > most and not _tell_apart(own ^ other) for other in kept_terms):
            passed += 1
            continue
        kept.append(one)
        kept_terms.append(own)
    return kept, passed


def _tell_apart(differing: frozenset[str]) -> bool:
    """Return whether texts that differ in these words say different things: there is a number."""
    return any(char.isdigit() for word in differing for char in word)


def terms(text: str) -> frozenset[str]:
    """Return the different words of a text; where none are marked, the pairs of characters.

    >>> sorted(terms("Dark mode, dark!")), sorted(terms("我喜欢茶"))
    (['dark', 'mode'], ['喜欢', '我喜', '欢茶'])
    """
    found: set[str] = set()
    for run in RUN.finditer(text.casefold()):
        word = run[0]
        if run[1] and len(word) > 1:
            found.update(word[at : at + 2] for at in range(len(word) - 1))
        else:
            found.add(word)
    return frozenset(found)


def overlap(a: frozenset[str], b: frozenset[str]) -> float:
    """Return what two texts share of their terms (Jaccard 1901); 0 when neither has any."""
    shared = len(a & b)
    return shared / ((len(a) + len(b) - shared) or 1)
