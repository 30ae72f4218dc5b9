"""Nearest-neighbour search over rows of vectors, by cosine. Needs `commonplace[vectors]`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from commonplace.recall.vector_blocks import BLOCK, FloatBlocks, PackedBlocks, as_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

# Rows that show what the cosines of a query are like
SAMPLE = 4096
# Of packed rows, so many candidates by their codes are scored, and so many for each that is wanted
CANDIDATES = 2000
CANDIDATES_EACH = 40


class Rows:
    """Vectors of length 1 by row number; a row that was freed is used again.

    Args:
        dims: Numbers a vector has.
        exact: Beyond so many rows they are packed (`vector_blocks`), and `best` may miss some,
            unless it has to filter.

    >>> rows = Rows(2, exact=100)
    >>> rows.put([rows.new() for _ in range(3)], np.array([[1, 0], [0, 1], [0.6, 0.8]], np.float32))
    >>> [(row, round(cosine, 2)) for row, cosine in rows.best(np.array([0, 1], np.float32), 2)]
    [(1, 1.0), (2, 0.8)]
    """

    def __init__(self, dims: int, exact: int) -> None:
        self._exact = exact
        self._blocks: FloatBlocks | PackedBlocks = FloatBlocks(dims)
        self._count = 0
        self._free: set[int] = set()

    def __len__(self) -> int:
        return self._count - len(self._free)

    def new(self) -> int:
        """Return a row to put a vector in."""
        if self._free:
            return self._free.pop()
        if self._count == len(self._blocks):
            self._blocks.grow()
        self._count += 1
        return self._count - 1

    def put(self, rows: Sequence[int], vectors: Matrix) -> None:
        """Put a vector in each of these rows."""
        self._blocks.put(as_rows(rows), vectors)
        if isinstance(self._blocks, FloatBlocks) and len(self) > self._exact:
            drawn = self._blocks.block(0)[: min(self._count, BLOCK)]
            self._blocks = PackedBlocks(self._blocks, drawn.mean(axis=0))

    def free(self, rows: Iterable[int]) -> None:
        """Give rows back."""
        self._free |= set(rows)

    def cosine(self, row: int, vector: Matrix) -> float:
        """Return how much a row points where a vector of length 1 does."""
        return self.greatest([row], vector)

    def greatest(self, rows: Sequence[int], vector: Matrix) -> float:
        """Return how much that row points where a vector of length 1 does that does so most."""
        return float(self._blocks.cosines(as_rows(rows), vector).max())

    def sample(self, vector: Matrix, most: int = SAMPLE) -> Matrix:
        """Return the cosines of up to `most` rows, spread evenly over all."""
        step = -(-self._count // most) or 1
        rows = [row for row in range(0, self._count, step) if row not in self._free]
        return self._blocks.cosines(as_rows(rows), vector)

    def best(
        self, vector: Matrix, k: int, keep: Callable[[int], bool] | None = None
    ) -> list[tuple[int, float]]:
        """Return the `k` rows nearest to a vector of length 1, with cosines, nearest first.

        Args:
            vector: The query vector.
            k: Most rows to return.
            keep: Only rows of which this is true. It is asked of few, the nearest first.
        """
        if k < 1:
            return []
        if keep is None and isinstance(self._blocks, PackedBlocks):
            count = max(CANDIDATES, CANDIDATES_EACH * k) + len(self._free)
            near = self._blocks.candidates(vector, count, self._count)
            return self._first(near, vector, k)
        cosines = self._cosines(vector)
        want = k if keep is None else 8 * k
        while True:
            # rows that stand empty may be among the best
            depth = want + len(self._free)
            rows = np.arange(self._count)
            if depth < self._count:
                rows = np.argpartition(-cosines, depth)[:depth]
            pairs = zip(rows.tolist(), cosines[rows].tolist(), strict=True)
            found = sorted((pair for pair in pairs if pair[0] not in self._free), key=nearest_first)
            if keep is not None:
                found = [pair for pair in found if keep(pair[0])]
            if len(found) >= k or depth >= self._count:
                return found[:k]
            want *= 8

    def _first(self, rows: NDArray[np.int64], vector: Matrix, k: int) -> list[tuple[int, float]]:
        cosines = self._blocks.cosines(rows, vector)
        depth = min(k + len(self._free), len(rows))
        first = np.argpartition(-cosines, depth - 1)[:depth] if depth else np.arange(0)
        pairs = zip(rows[first].tolist(), cosines[first].tolist(), strict=True)
        return sorted((pair for pair in pairs if pair[0] not in self._free), key=nearest_first)[:k]

    def _cosines(self, vector: Matrix) -> Matrix:
        cosines = np.empty(self._count, np.float32)
        for first in range(0, self._count, BLOCK):
            part = cosines[first : first + BLOCK]
            part[:] = (self._blocks.block(first // BLOCK) @ vector)[: len(part)]
        return cosines


def nearest_first(pair: tuple[int, float]) -> tuple[float, int]:
    """Return what pairs of row and cosine are sorted by."""
    return -pair[1], pair[0]


def normal(vectors: Matrix) -> Matrix:
    """Return vectors with length 1; one that is all zeros stays so, and has a cosine of 0."""
    length = np.linalg.norm(vectors.astype(np.float64), axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(length > 0, length, 1), np.float32)
