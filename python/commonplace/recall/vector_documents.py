"""Detection of documents that need a new vector, and vectors of messages with their neighbours."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from commonplace._core import Hit
from commonplace.file_stamp import Stamp
from commonplace.recall.nearest import normal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

# Weights of the messages one and two places away in a session (benches/fusion.py)
NEIGHBOUR_WEIGHTS = (0.5, 0.25)


@dataclass(slots=True)
class File:
    """What is known of one file: its documents in order, and the row of the matrix of each.

    A document is known by the hash of its text and by its session, in a note None.
    """

    stamp: Stamp | None
    documents: list[tuple[bytes, str | None]]
    rows: list[int]
    starts: list[int]

    def rows_of(self, hit: Hit) -> list[int]:
        """Return the rows of a document, or of the messages of a turn, as far as there are any."""
        first = bisect_left(self.starts, hit.start)
        if first == len(self.starts) or self.starts[first] != hit.start:
            return []
        end = bisect_left(self.starts, hit.end, first) if hit.is_turn else first + 1
        return self.rows[first:end]


@dataclass(slots=True)
class Change:
    """A file that is not as it is known: its documents from `head` to `end` need new vectors.

    `placed` is up to where they have them, `made` holds those that come next.
    """

    path: str
    file: File
    hits: list[Hit]
    texts: list[str]
    head: int
    end: int
    placed: int
    made: list[Matrix] = field(default_factory=list)

    @property
    def is_appended_to(self) -> bool:
        """Whether nothing stands behind what is new, so that it can be placed part by part."""
        return self.end == len(self.hits)

    def with_neighbours(self, low: int, high: int) -> tuple[int, int]:
        """Return the range of documents on which the vectors from `low` to `high` depend."""
        if low == high:
            return low, high
        return max(0, low - len(NEIGHBOUR_WEIGHTS)), min(
            high + len(NEIGHBOUR_WEIGHTS), len(self.hits)
        )


def unchanged(old: Sequence[Any], new: Sequence[Any]) -> tuple[int, int]:
    """Return how many documents at the beginning and at the end have the vectors they had.

    A vector depends on its neighbours, so those next to a change have not.

    >>> unchanged("abcdefgh", "abcdefgh"), unchanged("abcdefgh", "abcdeXfgh")
    ((8, 0), (3, 1))
    """
    if old == new:
        return len(new), 0
    most = min(len(old), len(new))
    head = next((at for at in range(most) if old[at] != new[at]), most)
    most -= head
    tail = next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)
    return max(0, head - len(NEIGHBOUR_WEIGHTS)), max(0, tail - len(NEIGHBOUR_WEIGHTS))


def smooth(vectors: Matrix, sessions: Sequence[str | None]) -> Matrix:
    """Add to each message's vector the weighted vectors of its neighbours, and normalise it.

    >>> smooth(np.array([[1, 0], [0, 1], [0, 1]], np.float32), ["s", "s", "t"]).round(1)
    array([[0.9, 0.4],
           [0.4, 0.9],
           [0. , 1. ]], dtype=float32)
    """
    names = np.unique([session or "" for session in sessions], return_inverse=True)[1]
    out = vectors.copy()
    for distance, share in enumerate(NEIGHBOUR_WEIGHTS, 1):
        together = (names[distance:] == names[:-distance])[:, None] * np.float32(share)
        out[distance:] += together * vectors[:-distance]
        out[:-distance] += together * vectors[distance:]
    return normal(out)
