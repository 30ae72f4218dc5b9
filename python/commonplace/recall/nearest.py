"""Exact nearest-neighbour search over rows of a matrix, by cosine. Needs `commonplace[vectors]`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

# Rows that the matrix grows by; no row is ever copied for it
BLOCK = 16384
# Rows that show what the cosines of a query are like
SAMPLE = 4096


class Rows:
    """Vectors of length 1 by row number; a row that was freed is used again.

    Args:
        dims: Numbers a vector has.
        exact: Beyond so many rows, `best` asks a graph of neighbours unless it has to filter.

    >>> rows = Rows(2, exact=100)
    >>> rows.put([rows.new() for _ in range(3)], np.array([[1, 0], [0, 1], [0.6, 0.8]], np.float32))
    >>> [(row, round(cosine, 2)) for row, cosine in rows.best(np.array([0, 1], np.float32), 2)]
    [(1, 1.0), (2, 0.8)]
    """

    def __init__(self, dims: int, exact: int) -> None:
        self._dims = dims
        self._exact = exact
        self._blocks: list[Matrix] = []
        self._count = 0
        self._free: set[int] = set()
        self._graph: Graph | None = None
        # rows that changed since the graph was brought up to date
        self._touched: set[int] = set()

    def __len__(self) -> int:
        return self._count - len(self._free)

    def new(self) -> int:
        """Return a row to put a vector in."""
        if self._free:
            return self._free.pop()
        if self._count == BLOCK * len(self._blocks):
            self._blocks.append(np.zeros((BLOCK, self._dims), np.float32))
        self._count += 1
        return self._count - 1

    def put(self, rows: Sequence[int], vectors: Matrix) -> None:
        """Put a vector in each of these rows."""
        for number, row in enumerate(rows):
            self._blocks[row // BLOCK][row % BLOCK] = vectors[number]
        self._touched.update(rows if self._graph else ())

    def free(self, rows: Iterable[int]) -> None:
        """Give rows back."""
        rows = set(rows)
        self._free |= rows
        self._touched.update(rows if self._graph else ())

    def cosine(self, row: int, vector: Matrix) -> float:
        """Return how much a row points where a vector of length 1 does."""
        return float(self._blocks[row // BLOCK][row % BLOCK] @ vector)

    def sample(self, vector: Matrix, most: int = SAMPLE) -> Matrix:
        """Return the cosines of up to `most` rows, spread evenly over all."""
        step = -(-self._count // most) or 1
        rows = [row for row in range(0, self._count, step) if row not in self._free]
        cosines = [
            self._blocks[number][[row % BLOCK for row in part]] @ vector
            for number, part in groupby_block(rows)
        ]
        return np.concatenate(cosines) if cosines else np.empty(0, np.float32)

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
        if keep is None and len(self) > self._exact:
            near = self._neighbours(vector, k)
            return sorted(((row, self.cosine(row, vector)) for row in near), key=nearest_first)
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

    def _cosines(self, vector: Matrix) -> Matrix:
        cosines = np.empty(self._count, np.float32)
        for number, block in enumerate(self._blocks):
            part = cosines[number * BLOCK : (number + 1) * BLOCK]
            np.matmul(block[: len(part)], vector, out=part)
        return cosines

    def _neighbours(self, vector: Matrix, k: int) -> list[int]:
        if self._graph is None:
            self._graph = Graph(self._dims)
            self._touched = set(range(self._count))
        self._graph.drop(self._touched)
        live = sorted(self._touched - self._free)
        for first in range(0, len(live), BLOCK):
            rows = live[first : first + BLOCK]
            vectors = [self._blocks[row // BLOCK][row % BLOCK] for row in rows]
            self._graph.add(rows, np.stack(vectors))
        self._touched = set()
        return self._graph.near(vector, k)


def groupby_block(rows: Iterable[int]) -> list[tuple[int, list[int]]]:
    """Return ascending rows by the number of their block."""
    return [(number, list(part)) for number, part in groupby(rows, lambda row: row // BLOCK)]


def nearest_first(pair: tuple[int, float]) -> tuple[float, int]:
    """Return what pairs of row and cosine are sorted by."""
    return -pair[1], pair[0]


class Graph:
    """Finds most of the rows near a vector: an HNSW graph (Malkov & Yashunin 2018) by usearch."""

    def __init__(self, dims: int) -> None:
        try:
            # slow to load, and few have so many vectors
            from usearch.index import Index  # noqa: PLC0415
        except ImportError as error:
            raise ImportError(
                "this many vectors need usearch: pip install 'commonplace[vectors]', "
                "or a higher limit of exact search (exact=…)"
            ) from error
        self._index = Index(ndim=dims, metric="ip", dtype="f32")
        # a row is used again, a label never: what is removed is only marked
        self._labels: dict[int, int] = {}
        self._rows: dict[int, int] = {}
        self._next = 0

    def add(self, rows: Sequence[int], vectors: Matrix) -> None:
        """Add rows."""
        labels = range(self._next, self._next + len(rows))
        self._next += len(rows)
        self._index.add(np.array(labels, np.uint64), vectors)
        self._rows.update(zip(labels, rows, strict=True))
        self._labels.update(zip(rows, labels, strict=True))

    def drop(self, rows: Iterable[int]) -> None:
        """Take rows out, if they are there."""
        for row in rows:
            if (label := self._labels.pop(row, None)) is not None:
                del self._rows[label]
                self._index.remove(label)

    def near(self, vector: Matrix, k: int) -> list[int]:
        """Return about the `k` nearest rows, in no particular order."""
        labels = self._index.search(vector, k).keys
        return [self._rows[int(label)] for label in labels]


def normal(vectors: Matrix) -> Matrix:
    """Return vectors with length 1; one that is all zeros stays so, and has a cosine of 0."""
    length = np.linalg.norm(vectors.astype(np.float64), axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(length > 0, length, 1), np.float32)
