"""Logistic regression by Newton's method with an L2 penalty, over sparse and over dense rows.

Over sparse rows, of which there are as many columns as words, each step is found by conjugate
gradients (Hestenes & Stiefel 1952).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PENALTY = 1 / 30
PENALTY_OF_DENSE = 1.0


class Rows(NamedTuple):
    """A sparse matrix, by rows: in each its columns, all with the same value."""

    columns: NDArray[np.int64]
    starts: NDArray[np.int64]
    values: Floats
    width: int

    @classmethod
    def of(cls, bags: Sequence[set[str]], names: Sequence[str]) -> Rows:
        """Return a row for each bag, of length 1 with the features that are not named."""
        column = {name: at for at, name in enumerate(names)}
        there = [[column[name] for name in bag if name in column] for bag in bags]
        return cls.made(there, np.array([max(1, len(bag)) ** -0.5 for bag in bags]), len(names))

    @classmethod
    def made(cls, there: Sequence[Sequence[int]], values: Floats, width: int) -> Rows:
        # one more column, of no weight, so that no row is empty
        padded = [at for row in there for at in (*row, width)]
        ends = np.cumsum([len(row) + 1 for row in there])
        return cls(np.array(padded), np.concatenate(([0], ends[:-1])), values, width)

    def only(self, chosen: Iterable[int]) -> Rows:
        """Return some of the rows."""
        rows = np.split(self.columns, self.starts[1:])
        at = list(chosen)
        return Rows.made([rows[one][:-1].tolist() for one in at], self.values[at], self.width)

    def __matmul__(self, weights: Floats) -> Floats:
        """Return the product with a vector."""
        return np.add.reduceat(np.append(weights, 0)[self.columns], self.starts) * self.values

    def transposed(self, of_rows: Floats) -> Floats:
        """Return the product of the transposed matrix with a vector."""
        lengths = np.diff(np.append(self.starts, len(self.columns)))
        spread = np.repeat(of_rows * self.values, lengths)
        summed: Floats = np.bincount(self.columns, spread, self.width + 1)[:-1].astype(np.float64)
        return summed


def logistic(
    matrix: Rows, yes: NDArray[np.bool_], weight: Floats, begin: Floats | None = None
) -> tuple[Floats, float]:
    """Return the weights of columns and the intercept; both classes weigh the same.

    It is soon done where it may `begin` with weights that are near.
    """
    balanced = weight * np.where(yes, 0.5 / weight[yes].sum(), 0.5 / weight[~yes].sum()) * len(yes)
    cost = balanced / PENALTY
    at = np.append(np.zeros(matrix.width) if begin is None else begin, 0.0)

    def loss(there: Floats) -> float:
        margins = np.where(yes, 1, -1) * (matrix @ there[:-1] + there[-1])
        return float(there[:-1] @ there[:-1] / 2 + cost @ np.logaddexp(0, -margins))

    for _ in range(50):
        chance = 1 / (1 + np.exp(-np.clip(matrix @ at[:-1] + at[-1], -30, 30)))
        error = cost * (chance - yes)
        slope = np.append(at[:-1] + matrix.transposed(error), error.sum())
        step = newton_step(matrix, cost * chance * (1 - chance), slope)
        size, before = 1.0, loss(at)
        while loss(at - size * step) > before and size > 1e-6:
            size /= 2
        at = at - size * step
        if float(np.abs(size * step).max()) < 1e-2:
            break
    return at[:-1], float(at[-1])


def newton_step(matrix: Rows, curve: Floats, slope: Floats) -> Floats:
    """Return the step of Newton's method, by conjugate gradients."""
    step = np.zeros_like(slope)
    left, towards = slope.copy(), slope.copy()
    square = enough = float(left @ left)
    for _ in range(100):
        along = curve * (matrix @ towards[:-1] + towards[-1])
        turned = np.append(towards[:-1] + matrix.transposed(along), along.sum())
        by = square / float(towards @ turned)
        step += by * towards
        left -= by * turned
        before, square = square, float(left @ left)
        if square < 1e-4 * enough:
            break
        towards = left + square / before * towards
    return step


def dense_logistic(matrix: Floats, yes: NDArray[np.bool_]) -> tuple[Floats, float]:
    """Return weights and intercept, by Newton's method; both classes count as they are."""
    whole = np.column_stack([matrix, np.ones(len(matrix))])
    penalty = np.full(whole.shape[1], PENALTY_OF_DENSE)
    penalty[-1] = 1e-6
    at = np.zeros(whole.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-np.clip(whole @ at, -30, 30)))
        slope = whole.T @ (chance - yes) + penalty * at
        curve = (whole.T * (chance * (1 - chance))) @ whole + np.diag(penalty)
        step = np.linalg.solve(curve, slope)
        at = at - step
    return at[:-1], float(at[-1])
