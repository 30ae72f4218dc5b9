"""Linear classifier of pairs of statements: how likely the new one makes the old one untrue.

It decides where no rule does. The weights are those of a logistic regression for each language;
`benches/train_conflict.py` wrote them into `english_weights.txt.gz` and `chinese_weights.txt.gz`.
"""

from __future__ import annotations

import gzip
import math
from functools import cache
from importlib import resources
from typing import NamedTuple

from commonplace.conflict.features import features, signs
from commonplace.letter_ranges import CHINESE


class Model(NamedTuple):
    """Weights of the features; from the likelihood `least` on a pair conflicts."""

    bias: float
    least: float
    weights: dict[str, float]


@cache
def load(language: str) -> Model:
    """Read the weights of "english" or "chinese": lines of a name and a number."""
    source = resources.files("commonplace.conflict") / f"{language}_weights.txt.gz"
    lines = gzip.decompress(source.read_bytes()).decode().splitlines()
    weights = {name: float(number) for name, _, number in (line.rpartition("\t") for line in lines)}
    return Model(weights.pop("bias"), weights.pop("least"), weights)


def model_of(new: str) -> Model:
    """Return the model of the language of a new statement."""
    return load("chinese" if CHINESE.search(new) else "english")


def likelihood(old: str, new: str) -> float:
    """Return how likely a new statement makes an old one untrue, from 0 to 1.

    >>> likelihood("User has a cat", "gave the cat away") > 0.8
    True
    >>> likelihood("User plays the cello", "User has a dog") < 0.2
    True
    """
    model = model_of(new)
    score = model.bias + sum(
        value * model.weights.get(name, 0.0) for name, value in features(old, new).items()
    )
    return 1 / (1 + math.exp(-score))


def least(new: str) -> float:
    """Return the likelihood from which on a new statement, by its language, ends an old one."""
    return model_of(new).least


def attribute(old: str, new: str) -> str:
    """Return the name of what both statements are about; empty where none is known."""
    first, second = signs(old), signs(new)
    shared = [
        *sorted(first.sorts.keys() & second.sorts.keys()),
        *sorted(first.one & second.one),
        *sorted(first.many & second.many),
    ]
    return shared[0].removesuffix("_name") if shared else ""
