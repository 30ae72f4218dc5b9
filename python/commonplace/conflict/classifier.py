"""Linear classifier of pairs of statements: how likely the new one makes the old one untrue.

It decides where no rule does. The weights of `weights.txt` are those of a logistic regression;
`benches/train_conflict.py` wrote them.
"""

from __future__ import annotations

import math
from functools import cache
from importlib import resources
from typing import NamedTuple

from commonplace.conflict.features import features, signs
from commonplace.conflict.words import CHINESE


class Model(NamedTuple):
    """Weights of the features; from the likelihood `least` on a pair conflicts."""

    bias: float
    least: dict[str, float]
    weights: dict[str, float]


@cache
def load() -> Model:
    """Read `weights.txt`: lines of a name and a number."""
    source = resources.files("commonplace.conflict") / "weights.txt"
    lines = source.read_text(encoding="utf-8").splitlines()
    weights = {name: float(number) for name, _, number in (line.rpartition("\t") for line in lines)}
    least = {language: weights.pop(f"least {language}") for language in ("en", "zh")}
    return Model(weights.pop("bias"), least, weights)


def likelihood(old: str, new: str) -> float:
    """Return how likely a new statement makes an old one untrue, from 0 to 1.

    >>> likelihood("User keeps hens", "sold all the hens") > 0.6
    True
    >>> likelihood("User plays the cello", "User has a dog") < 0.2
    True
    """
    model = load()
    score = model.bias + sum(
        value * model.weights.get(name, 0.0) for name, value in features(old, new).items()
    )
    return 1 / (1 + math.exp(-score))


def least(new: str) -> float:
    """Return the likelihood from which on a new statement, by its language, ends an old one."""
    return load().least["zh" if CHINESE.search(new) else "en"]


def attribute(old: str, new: str) -> str:
    """Return the name of what both statements are about; empty where none is known."""
    first, second = signs(old), signs(new)
    shared = [
        *sorted(first.sorts.keys() & second.sorts.keys()),
        *sorted(first.one & second.one),
        *sorted(first.many & second.many),
    ]
    return shared[0].removesuffix("_name") if shared else ""
