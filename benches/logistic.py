"""Logistic regression over sparse rows, by gradient descent (Adam) with an L2 penalty.

Why it exists: the classifier of pairs has more than a million features of which a pair has about a
hundred, and training needs no library but numpy.

Source: Kingma & Ba 2015, "Adam: A Method for Stochastic Optimization".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class SparseRows(NamedTuple):
    """A sparse matrix: its height and width, and row, column and value of each number."""

    shape: tuple[int, int]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: Floats

    def times(self, column: Floats) -> Floats:
        """Return the product with a column."""
        summands = self.values * column[self.columns]
        return np.bincount(self.rows, summands, self.shape[0]).astype(np.float64)

    def transposed_times(self, column: Floats) -> Floats:
        """Return the product of the transposed matrix with a column."""
        summands = self.values * column[self.rows]
        return np.bincount(self.columns, summands, self.shape[1]).astype(np.float64)

    def some_rows(self, kept: NDArray[np.bool_]) -> SparseRows:
        """Return the rows for which `kept` is true."""
        here, places = kept[self.rows], np.cumsum(kept) - 1
        return SparseRows(
            (int(kept.sum()), self.shape[1]),
            places[self.rows[here]],
            self.columns[here],
            self.values[here],
        )

    def some_columns(self, kept: NDArray[np.bool_]) -> SparseRows:
        """Return the columns for which `kept` is true."""
        here, places = kept[self.columns], np.cumsum(kept) - 1
        return SparseRows(
            (self.shape[0], int(kept.sum())),
            self.rows[here],
            places[self.columns[here]],
            self.values[here],
        )


def fitted(table: SparseRows, wanted: Floats, counts: Floats, penalty: float, steps: int) -> Floats:
    """Return the weights of the columns.

    Args:
        table: The features of each example; one column is the bias.
        wanted: 1 or 0 for each.
        counts: How much each counts.
        penalty: That of the squares of the weights.
        steps: How many steps of descent; in the last third they are shorter.
    """
    share = counts / counts.sum()
    weights, mean, square = (np.zeros(table.shape[1]) for _ in range(3))
    for step in range(1, steps + 1):
        error = 1 / (1 + np.exp(-table.times(weights))) - wanted
        gradient = table.transposed_times(share * error) + penalty * weights
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.99 * square + 0.01 * gradient**2
        rate = 0.1 if step < steps * 2 / 3 else 0.03
        weights -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return weights
