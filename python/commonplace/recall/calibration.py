"""Calibration of cosines: how far each stands above those of other documents of the same store.

Cosines of one model spread over 0…1, of another over 0.7…1: as numbers they say nothing. So a
query's cosine is told in standard deviations above the mean of what the store has otherwise, that
is, of its documents without the tenth that is nearest. What is found by chance grows with the
store: the greatest of n draws from a normal distribution stands √(2 ln n) above its mean, nearly.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

# The share of a store that may resemble a query: the others show what resembles nothing
NEAR = 0.1
# Of fewer documents the spread is not relied on: one more is added that stands so far from the mean
FEW = 16
ASSUMED_SPREAD = 0.02
# Where all vectors are the same, none is far from the mean
LEAST_SPREAD = 1e-6
# The least cosine of what resembles, in a store too small to tell
RESEMBLING = 0.35


class Calibration(NamedTuple):
    """What the cosines of one query are measured against.

    `documents` is how many the store has, `mean` and `spread` (a standard deviation) are
    those of the cosines of documents that do not resemble the query.
    """

    documents: int
    mean: float
    spread: float

    def level(self, cosine: float) -> float:
        """Return a cosine in standard deviations above the mean.

        >>> round(Calibration(100, 0.7, 0.05).level(0.8), 6)
        2.0
        """
        return (cosine - self.mean) / self.spread

    def excess(self, best: float) -> float:
        """Return by how much the best cosine stands above the best that chance brings, in levels.

        >>> Calibration(1000, 0.0, 0.1).excess(0.3) < 0 < Calibration(1000, 0.0, 0.1).excess(0.5)
        True
        """
        return self.level(best) - greatest_by_chance(self.documents)

    def resembles(self, cosine: float, least: float) -> bool:
        """Tell whether what only vectors find has the least level.

        A store so small that chance does not bring that level has too few documents to tell what
        resembles nothing: there a cosine that most models mean by that will do as well.
        """
        if self.level(cosine) >= least:
            return True
        return greatest_by_chance(self.documents) < least < math.inf and cosine >= RESEMBLING


def calibrate(cosines: Vector, documents: int) -> Calibration:
    """Return the calibration of a query from its cosines with documents drawn from a store.

    Args:
        cosines: Of the documents that were drawn, or of all.
        documents: How many there are.

    >>> import numpy
    >>> calibrate(numpy.array([0.1, 0.2, 0.9], numpy.float32), 3).mean < 0.2
    True
    """
    # loaded by those who have an embedder only
    import numpy as np  # noqa: PLC0415

    others = len(cosines) - max(1, int(NEAR * len(cosines))) if len(cosines) else 0
    if others == 0:
        return Calibration(documents, 0.0, ASSUMED_SPREAD)
    low = np.partition(cosines, others - 1)[:others].astype(np.float64)
    mean = float(low.mean())
    squares = float(((low - mean) ** 2).sum())
    if others < FEW:
        squares, others = squares + ASSUMED_SPREAD**2, others + 1
    return Calibration(documents, mean, max(math.sqrt(squares / others), LEAST_SPREAD))


def greatest_by_chance(count: int) -> float:
    """Return how many standard deviations the greatest of `count` normal draws is above the mean.

    It is the median of the greatest.

    >>> [round(greatest_by_chance(count), 1) for count in (1, 10, 1000)]
    [0.0, 1.5, 3.2]
    """
    return NormalDist().inv_cdf(0.5 ** (1 / max(count, 1)))


def level_of(quantile: float) -> float:
    """Return the level below which a share of what resembles nothing lies.

    >>> round(level_of(0.98), 2), level_of(0), level_of(1)
    (2.05, -inf, inf)
    """
    if quantile <= 0:
        return -math.inf
    return math.inf if quantile >= 1 else NormalDist().inv_cdf(quantile)
