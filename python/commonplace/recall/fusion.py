r"""Fusion of words and vectors: what each channel says of a document, added as log odds are.

    score = w₁ · confidence^1.25 · (BM25F ÷ the best BM25F of this query)
          + w₂ · 0.0009 · sensitivity² · (1 + 0.5 · excess) · ln(1 + e^(level − chance + 3))

Each channel is scaled by how far it can be relied on for this query, in this store:

- `confidence` (`Hits.confidence`) says how much of what the query asks for the best hit holds, 0…1;
- `level` is the cosine in standard deviations above those of this store (`calibration`), `chance`
  the best level that chance brings in a store of this size;
- `excess` says by how much the best level stands above the best that chance brings, −1…3;
- `sensitivity` is the level at which known-item queries made of the store's own sentences find
  what they were made of, 0…6.

All are told without labels, whatever the model. Where levels are normally distributed, and those of
what is relevant stand d′ above the rest, the log odds of a document grow by d′ with each level:
`sensitivity` is that d′ for the store, `excess` the query's own. The logarithm of 1 + odds says
nothing of a document that is no nearer than chance brings. Of what it is above 6, a tenth counts:
all that is so near is of the topic, and which of them answers, the words say. The constants are the
same for all stores and models; docs/explanation/fusion.md shows how they were chosen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from commonplace.recall.calibration import Calibration, greatest_by_chance

# Confidence is a share of the query's weight; what it is worth grows faster
STEEPNESS = 1.25
# What a level is worth at a sensitivity of 1, beside the best BM25F of a query that the words
# answer in full
LEVEL = 0.0009
# How much more it is worth for each level that the best stands above what chance brings
EXCESS = 0.5
LEAST_EXCESS, MOST_EXCESS = -1.0, 3.0
# From so far below what chance brings on, levels count
MARGIN = 3.0
# From so many on, they hardly count any more
ENOUGH, BEYOND = MARGIN + MOST_EXCESS, 0.1
# Hits of the words keep their order among themselves, however little they hold of the query
LEAST_CONFIDENCE = 0.05


@dataclass(frozen=True, slots=True)
class Channels:
    """How much words and vectors count for one query.

    `excess` and `calibration` are of the cosines, `sensitivity` of the store; `covered` is the
    share of the store's documents that have vectors.
    """

    confidence: float
    calibration: Calibration
    excess: float
    sensitivity: float
    covered: float
    weights: tuple[float, float]

    @property
    def words(self) -> float:
        """What the best BM25F is worth."""
        confidence: float = max(self.confidence, LEAST_CONFIDENCE) ** STEEPNESS
        return self.weights[0] * confidence

    @property
    def vectors(self) -> float:
        """What one level is worth, well above chance."""
        excess = min(max(self.excess, LEAST_EXCESS), MOST_EXCESS)
        return self.weights[1] * LEVEL * self.sensitivity**2 * (1 + EXCESS * excess)

    def score(self, lexical: float | None, cosine: float | None) -> float:
        """Return the score of a document, 0 or more; None is what a channel does not find."""
        return self.words * (lexical or 0.0) + self.vectors * self.evidence(cosine)

    def evidence(self, cosine: float | None) -> float:
        """Return how many levels of a cosine count: those above what chance brings, nearly."""
        if cosine is None:
            return 0.0
        above = self.calibration.level(cosine) - self.chance + MARGIN
        # ln(1 + e^above), also where e^above is no number
        evidence = max(above, 0.0) + math.log1p(math.exp(-abs(above)))
        return min(evidence, ENOUGH) + BEYOND * max(evidence - ENOUGH, 0.0)

    @property
    def chance(self) -> float:
        """The best level that chance brings."""
        return greatest_by_chance(self.calibration.documents)

    def explain(self, lexical: float | None, cosine: float | None) -> str:
        """Return how the score of a document comes about, as text."""
        lines = [f"{self.score(lexical, cosine):.3f} score, the sum of:"]
        share = "not found" if lexical is None else f"{lexical:.3f} of the best BM25F"
        lines.append(
            f"{self.words * (lexical or 0):8.3f} words: {share} × {self.words:.3f}"
            f" (confidence {self.confidence:.2f})"
        )
        if cosine is None:
            return "\n".join([*lines, "   0.000 vectors: no vector"])
        level, evidence = self.calibration.level(cosine), self.evidence(cosine)
        mean, spread = self.calibration.mean, self.calibration.spread
        lines.append(
            f"{self.vectors * evidence:8.3f} vectors: level {level:.2f}, of which {evidence:.2f}"
            f" count (chance brings {self.chance:.2f})"
            f" × {self.vectors:.3f} (sensitivity {self.sensitivity:.2f}, excess {self.excess:.2f})"
        )
        lines.append(
            f"         cosine {cosine:.3f}; those of this store {mean:.3f} ± {spread:.3f},"
            f" {self.calibration.documents} documents, {self.covered:.0%} with vectors"
        )
        return "\n".join(lines)
