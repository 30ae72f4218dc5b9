"""Linear classifier of sentences: whether one is worth keeping, and as what.

Logistic regression over the features of `features.py`. Its weights are trained by
`benches/train_extraction.py` and stand, as compressed text, in `english_weights.txt.gz` and
`chinese_weights.txt.gz`.
"""

from __future__ import annotations

import gzip
from functools import cache
from importlib import resources
from math import sqrt
from typing import NamedTuple, get_args

from commonplace.extraction.features import features
from commonplace.extraction.rule_tables import Kind
from commonplace.letter_ranges import CHINESE

KINDS: tuple[Kind, ...] = get_args(Kind)
# One letter a weight; this one is zero, and so many steps are one.
ZERO = ord("O")
STEPS_OF_KEEP = 8
STEPS_OF_KIND = 8


class Likely(NamedTuple):
    """What the classifier says of a sentence.

    `score` is the logarithm of the odds that it is worth keeping, and `private` of those that it
    asks not to be kept; both classes being equally frequent.
    """

    score: float
    private: float
    kind: Kind


class Weights(NamedTuple):
    """The weights of one language.

    For each feature: that of "worth keeping", that of "asks not to be kept", then of each kind.
    """

    intercepts: tuple[float, ...]
    of_features: dict[str, tuple[int, ...]]

    def likely(self, text: str) -> Likely:
        """Return what the features of a sentence sum up to."""
        found = features(text)
        known = [row for one in found if (row := self.of_features.get(one))]
        sums = [sum(column) for column in zip(*known, strict=True)] or [0] * len(self.intercepts)
        norm = sqrt(len(found))
        steps = (STEPS_OF_KEEP, STEPS_OF_KEEP, *[STEPS_OF_KIND] * len(KINDS))
        keep, private, *kinds = (
            total / norm / step + start
            for total, step, start in zip(sums, steps, self.intercepts, strict=True)
        )
        best = max(range(len(KINDS)), key=kinds.__getitem__)
        return Likely(keep, private, KINDS[best])


@cache
def weights(language: str) -> Weights:
    """Read the weights of a language, on first use."""
    source = resources.files("commonplace.extraction") / f"{language}_weights.txt.gz"
    text = gzip.decompress(source.read_bytes()).decode()
    head, *lines = text.removesuffix("\n").split("\n")
    rows = (line.split("\t") for line in lines)
    return Weights(
        tuple(float(one) for one in head.split("\t")),
        {feature: tuple(ord(letter) - ZERO for letter in letters) for feature, letters in rows},
    )


def likely(text: str) -> Likely:
    """Say how likely a sentence is worth keeping, and its most likely kind.

    >>> likely("my sister lives in Oslo").score > likely("make the title shorter").score
    True
    """
    return weights("chinese" if CHINESE.search(text) else "english").likely(text)
