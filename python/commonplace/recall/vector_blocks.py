"""Blocks of vectors: as floats, or in a quarter of the memory with a bit code of each.

A million vectors of 384 numbers take 1.5 GB as floats. Packed, a number is one byte, scaled by the
greatest of its vector, and a code has one bit for each number: whether it is above the mean. The
codes are searched first, for far more rows than are asked for, and those are scored by the bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from commonplace._core import nearest_codes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

# Rows that the matrix grows by; no row is ever copied for it
BLOCK = 16384
# Bits that the core compares at once
WORD = 64


class FloatBlocks:
    """Vectors as they are, by row number."""

    def __init__(self, dims: int) -> None:
        self.dims = dims
        self._blocks: list[Matrix] = []

    def grow(self) -> None:
        """Make room for a block of rows."""
        self._blocks.append(np.zeros((BLOCK, self.dims), np.float32))

    def __len__(self) -> int:
        return BLOCK * len(self._blocks)

    def put(self, rows: NDArray[np.int64], vectors: Matrix) -> None:
        """Put a vector in each of these rows."""
        for number in np.unique(rows // BLOCK).tolist():
            here = rows // BLOCK == number
            self._blocks[number][rows[here] % BLOCK] = vectors[here]

    def block(self, number: int) -> Matrix:
        """Return the vectors of a block, a row each."""
        return self._blocks[number]

    def cosines(self, rows: NDArray[np.int64], vector: Matrix) -> Matrix:
        """Return how much each of these rows points where a vector of length 1 does."""
        found = np.empty(len(rows), np.float32)
        for number in np.unique(rows // BLOCK).tolist():
            here = rows // BLOCK == number
            found[here] = self._blocks[number][rows[here] % BLOCK] @ vector
        return found


class PackedBlocks:
    """Vectors as bytes and bit codes, by row number; made of blocks of floats.

    A cosine is right to about 0.0005.
    """

    def __init__(self, floats: FloatBlocks, mean: Matrix) -> None:
        self.dims = floats.dims
        self._mean = mean
        self._width = -(-self.dims // WORD) * WORD // 8
        self._bytes: list[NDArray[np.int8]] = []
        self._scales: list[Matrix] = []
        self._codes: list[bytes] = []
        for number in range(len(floats) // BLOCK):
            self.grow()
            rows = np.arange(number * BLOCK, (number + 1) * BLOCK)
            self.put(rows, floats.block(number))

    def grow(self) -> None:
        """Make room for a block of rows."""
        self._bytes.append(np.zeros((BLOCK, self.dims), np.int8))
        self._scales.append(np.zeros(BLOCK, np.float32))
        self._codes.append(bytes(BLOCK * self._width))

    def __len__(self) -> int:
        return BLOCK * len(self._bytes)

    def put(self, rows: NDArray[np.int64], vectors: Matrix) -> None:
        """Put a vector in each of these rows."""
        for number in np.unique(rows // BLOCK).tolist():
            here = rows // BLOCK == number
            places, own = rows[here] % BLOCK, vectors[here]
            scales = np.maximum(np.abs(own).max(axis=1), 1e-12) / 127
            self._bytes[number][places] = np.rint(own / scales[:, None]).astype(np.int8)
            self._scales[number][places] = scales
            codes = np.frombuffer(self._codes[number], np.uint8).reshape(BLOCK, self._width).copy()
            codes[places] = self._coded(own)
            self._codes[number] = codes.tobytes()

    def block(self, number: int) -> Matrix:
        """Return the vectors of a block, a row each."""
        return self._bytes[number] * self._scales[number][:, None]

    def cosines(self, rows: NDArray[np.int64], vector: Matrix) -> Matrix:
        """Return how much each of these rows points where a vector of length 1 does."""
        found = np.empty(len(rows), np.float32)
        for number in np.unique(rows // BLOCK).tolist():
            here = rows // BLOCK == number
            places = rows[here] % BLOCK
            own = self._bytes[number][places].astype(np.float32)
            found[here] = (own @ vector) * self._scales[number][places]
        return found

    def candidates(self, vector: Matrix, count: int, rows: int) -> NDArray[np.int64]:
        """Return up to `count` of the first `rows` rows, those with the nearest codes first."""
        code = self._coded(vector[None]).tobytes()
        full, rest = divmod(rows, BLOCK)
        # what was never filled is not to take the place of what was
        blocks = self._codes[:full]
        if rest:
            blocks.append(self._codes[full][: rest * self._width])
        return np.array(nearest_codes(blocks, code, count), np.int64)

    def _coded(self, vectors: Matrix) -> NDArray[np.uint8]:
        codes = np.zeros((len(vectors), self._width), np.uint8)
        bits = np.packbits(vectors > self._mean, axis=1)
        codes[:, : bits.shape[1]] = bits
        return codes


def as_rows(rows: Sequence[int]) -> NDArray[np.int64]:
    """Return row numbers as an array."""
    return np.asarray(rows, np.int64)
