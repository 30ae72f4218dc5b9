"""Paraphrases: whether two statements say the same in other words, and which of them is to stay.

A claim (`claims.py`) is enough to tell that two values exclude each other. To put one statement in
the place of another, everything that it says has to be in the other. So a form of
`paraphrases.toml` reads a whole statement or nothing.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from commonplace.conflict.lazy_pattern import LazyPattern
from commonplace.conflict.tables import read_table
from commonplace.conflict.words import cached, content, denies, plain

_PART = re.compile(r"<(\w+)>")


class Relation(NamedTuple):
    """What a whole statement says, as sets of words; `detail` may be missing in a paraphrase."""

    name: str
    what: frozenset[str]
    value: frozenset[str]
    detail: frozenset[str]


@cache
def load() -> list[tuple[str, LazyPattern]]:
    """Read `paraphrases.toml`."""
    table = read_table("paraphrases.toml")
    part = table["part"]
    return [
        (name, LazyPattern(_PART.sub(lambda found: part.get(found[1], found[0]), form), re.ASCII))
        for name, forms in table["relations"].items()
        for form in forms
    ]


@cached
def relations(text: str) -> tuple[Relation, ...]:
    """Return the readings of a statement.

    >>> [one.name for one in relations("I've got a nut allergy")]
    ['allergy']
    """
    bare = plain(text)
    found = []
    for name, pattern in load():
        if match := pattern.fullmatch(bare):
            groups = {"what": "", "detail": "", **match.groupdict(default="")}
            parts = (content(groups[one]) for one in ("what", "value", "detail"))
            found.append(Relation(name, *parts))
    return tuple(one for one in found if one.value)


def say_the_same(first: str, second: str) -> bool:
    """Return whether two statements say one relation, one of them perhaps with a detail more.

    >>> say_the_same("User is allergic to nuts", "I have a severe nut allergy")
    True
    >>> say_the_same("我是护士", "我在医院当护士")
    True
    >>> say_the_same("User's dog is called Rex", "User's cat is called Rex")
    False
    """
    return bool(_pairs(first, second))


def details(first: str, second: str) -> tuple[int, int]:
    """Return how many words of detail each of two paraphrases has beyond the other.

    >>> details("User is a nurse", "User works as a nurse at a hospice")
    (0, 1)
    """
    pairs = _pairs(first, second)
    return max(((len(one.detail), len(two.detail)) for one, two in pairs), default=(0, 0))


def _pairs(first: str, second: str) -> list[tuple[Relation, Relation]]:
    """Return the readings of two statements that are of one relation, what and value."""
    if denies(plain(first)) != denies(plain(second)):
        return []
    return [
        (one, two)
        for one in relations(first)
        for two in relations(second)
        if one[:3] == two[:3] and (one.detail == two.detail or not (one.detail and two.detail))
    ]
