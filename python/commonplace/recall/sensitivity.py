"""Sensitivity of the vectors of a store, measured by known-item queries, without labels.

How much vectors deserve differs from store to store: a model that was trained on English finds
little in Russian. So the store is asked for what it is known to hold: part of a sentence is taken
from each of some documents, and the level (`calibration`) at which the document itself is found is
averaged. That is d′ of signal detection theory: 0 where the vectors tell nothing apart.

Known-item queries: Azzopardi, de Rijke & Balog 2007, "Building simulated queries for known-item
topics"; d′: Green & Swets 1966.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from contextlib import suppress

import orjson

from commonplace.errors import NotFound, Refused
from commonplace.side_files import SideFiles

# So many documents are asked for; fewer than that are no sample
SAMPLE = 64
LEAST_DOCUMENTS = 64
# It is measured again when the number of documents changed by more than this share
CHANGED = 0.25
# What is taken where nothing was measured: that of most models in most stores
TYPICAL = 3.0
MOST = 6.0

_SENTENCE = re.compile(r"[^.!?。！？\n]+")
_LONGEST = 200
_SHORTEST = 12


class Sensitivity:
    """The sensitivity that was measured last, kept beside the vectors."""

    def __init__(self, files: SideFiles) -> None:
        self._files = files
        self.count = 0
        """How many documents there were then."""
        self.value: float | None = None
        """Mean level of known items; None where it was never measured."""
        try:
            with files.handle("sensitivity", "r") as file:
                said = orjson.loads(file.read())
            self.count, self.value = int(said["documents"]), float(said["level"])
        except (NotFound, Refused, OSError, ValueError, TypeError, KeyError):
            # what was not kept is measured again
            self.count, self.value = 0, None

    def told(self) -> float:
        """Return the sensitivity, 0 to 6; a typical one where it was never measured."""
        return TYPICAL if self.value is None else min(max(self.value, 0.0), MOST)

    def is_due(self, count: int) -> bool:
        """Say whether a store of so many documents is another one than that which was measured."""
        if count < LEAST_DOCUMENTS:
            return False
        return self.value is None or abs(count - self.count) > CHANGED * self.count

    def set(self, count: int, value: float) -> None:
        """Keep what was measured; where nothing can be kept, until the process ends."""
        # as it is kept, so that another process answers the same
        self.count, self.value = count, round(value, 3)
        with suppress(OSError, Refused):
            said = orjson.dumps({"documents": count, "level": self.value})
            self._files.replace("sensitivity", [said])


def sample(count: int) -> list[int]:
    """Return which of `count` documents are asked for, the same ones each time.

    >>> sample(3), len(sample(1000))
    ([0, 1, 2], 64)
    """
    draw = random.Random(count)  # noqa: S311 - nothing to keep secret
    return sorted(draw.sample(range(count), min(SAMPLE, count)))


def known_item_query(text: str, seed: int) -> str | None:
    """Return half of a sentence of a document; None where it has none of some length.

    >>> known_item_query("Yes. The green tea of the morning was bitter.", 1)
    'the morning was bitter'
    >>> known_item_query("Yes.", 1) is None
    True
    """
    draw = random.Random(seed)  # noqa: S311 - nothing to keep secret
    sentences = [part.strip() for part in _SENTENCE.findall(text[: 50 * _LONGEST])]
    sentences = [part[:_LONGEST] for part in sentences if len(part) >= _SHORTEST]
    if not sentences:
        return None
    sentence = draw.choice(sentences)
    words: Sequence[str] = sentence.split()
    # scripts without spaces: characters
    pieces = words if len(words) > 3 else sentence
    size = max(3, len(pieces) // 2)
    start = draw.randrange(len(pieces) - size + 1)
    return (" " if pieces is words else "").join(pieces[start : start + size])
