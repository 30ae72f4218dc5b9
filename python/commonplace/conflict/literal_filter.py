"""Prefilter of many patterns by the literals of which each match must hold one.

A statement is read by some five hundred patterns, and few of them can match. Those that a text has
no literal of are not tried, as in a trigram index of code search. What is left out could not
match, so the answer is the same.

Source: Cox 2012, "Regular Expression Matching with a Trigram Index".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

from commonplace.conflict.lazy_pattern import LazyPattern

# Of a longer literal its beginning is looked up
LONGEST = 3
# A pattern of more literals is tried always
MOST_LITERALS = 1000

# The parse tree that `re` makes itself; an operation that is not known here has no literal
_parser: Any = import_module("re._parser")


class LiteralFilter:
    r"""Finds which of some patterns may match in a text, by their numbers.

    >>> verbs = [LazyPattern(one) for one in (r"\b(?:sold|quit)\b", "mov(?:ed|ing)", ".")]
    >>> LiteralFilter(verbs).possible("we moved")
    [1, 2]
    """

    def __init__(self, patterns: Iterable[LazyPattern]) -> None:
        self._always: list[int] = []
        self._by_literal: dict[str, list[int]] = defaultdict(list)
        for number, pattern in enumerate(patterns):
            literals = required_literals(pattern)
            if not literals:
                self._always.append(number)
            for literal in literals:
                self._by_literal[literal].append(number)

    def possible(self, text: str) -> list[int]:
        """Return the numbers of the patterns that may match, in their order."""
        found = set(self._always)
        for literal in self._by_literal.keys() & pieces(text):
            found.update(self._by_literal[literal])
        return sorted(found)


class PatternTable(dict[str, LazyPattern]):
    """Patterns by name, of which those that may match in a text are found without trying all."""

    def __init__(self, patterns: Mapping[str, LazyPattern]) -> None:
        super().__init__(patterns)
        self._named = list(patterns.items())
        self._filter = LiteralFilter(patterns.values())

    def possible(self, text: str) -> Iterator[tuple[str, LazyPattern]]:
        """Yield the patterns that may match, with their names, in their order."""
        return (self._named[number] for number in self._filter.possible(text))

    def matching(self, text: str) -> frozenset[str]:
        """Return the names of the patterns that are found in a text."""
        return frozenset(name for name, pattern in self.possible(text) if pattern.search(text))


@lru_cache(maxsize=256)
def pieces(text: str) -> frozenset[str]:
    """Return the runs of one to three characters of a text."""
    starts = range(len(text) - 1)
    pairs = [text[at : at + 2] for at in starts]
    return frozenset([*text, *pairs, *(text[at : at + LONGEST] for at in starts)])


def required_literals(pattern: LazyPattern) -> frozenset[str]:
    r"""Return literals of which each match holds one; none where that is not known.

    >>> sorted(required_literals(LazyPattern(r"(?:moved?|relocat\w+)")))
    ['mov', 'rel']
    """
    parsed = _parser.parse(pattern.pattern, pattern.flags)
    if parsed.state.flags & re.IGNORECASE:
        return frozenset()
    found = _of_sequence(parsed) or frozenset()
    return found if len(found) <= MOST_LITERALS else frozenset()


def _of_sequence(items: Iterable[Any]) -> frozenset[str] | None:
    """Return the best of what the parts of a sequence require: long literals, and few."""
    choices = [one for one in _of_parts(items) if one]
    return max(choices, key=_worth, default=None)


def _worth(literals: frozenset[str]) -> tuple[int, int]:
    # a Chinese character says as much as three letters
    sizes = (sum(1 if char < "\u3400" else LONGEST for char in one) for one in literals)
    return min(*sizes, LONGEST, LONGEST), -len(literals)


def _of_parts(items: Iterable[Any]) -> Iterator[frozenset[str] | None]:
    run = ""
    for name, value in items:
        operation = str(name)
        if operation == "LITERAL":
            run += chr(value)
        elif operation != "AT":
            yield _of_run(run)
            run = ""
            yield _of_operation(operation, value)
    yield _of_run(run)


def _of_run(run: str) -> frozenset[str] | None:
    return frozenset([run[:LONGEST]]) if run.strip() else None


def _of_operation(operation: str, value: Any) -> frozenset[str] | None:
    """Return what a group, a repetition or a choice requires."""
    if operation == "SUBPATTERN":
        with_flags = value[1] or value[2]
        return None if with_flags else _of_sequence(value[3])
    if operation == "ATOMIC_GROUP":
        return _of_sequence(value)
    if operation in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"} and value[0] > 0:
        return _of_sequence(value[2])
    if operation == "BRANCH":
        branches = [_of_sequence(one) for one in value[1]]
        return frozenset[str]().union(*filter(None, branches)) if all(branches) else None
    if operation == "IN" and all(str(name) == "LITERAL" for name, _ in value):
        return frozenset(chr(char) for _, char in value)
    return None
