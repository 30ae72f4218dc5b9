"""Prefilter of patterns by literals: it leaves out no pattern that would match."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain

import pytest
from benches.extraction_quality import FOLDER, read
from hypothesis import given
from hypothesis import strategies as st

from commonplace.chat_spelling import ANY_SHORT_FORM, SHORT_FORMS
from commonplace.conflict import features, paraphrases, states, tables, topics
from commonplace.conflict.lazy_pattern import LazyPattern
from commonplace.conflict.literal_filter import LiteralFilter, required_literals
from commonplace.conflict.words import OPPOSITES


def all_patterns() -> list[LazyPattern]:
    """Return the patterns that are found by their literals."""
    signs, conflict = features.load(), tables.load()
    return [
        *chain.from_iterable(one.values() for one in (signs.one, signs.many, signs.sort)),
        *chain.from_iterable(one.values() for one in (signs.signal, signs.person)),
        *(one.pattern for one in states.load().states),
        *(one.pattern for one in states.load().slots),
        *(one for family in conflict.families.values() for one in family.members.values()),
        *(one.pattern for one in conflict.forms),
        *conflict.names.values(),
        *chain.from_iterable((one.old, one.new) for one in topics.load().topics),
        *(pattern for pattern, _ in OPPOSITES),
    ]


def texts() -> list[str]:
    found = []
    for path in sorted(FOLDER.glob("*seen*.jsonl")):
        if "unseen" not in path.name:
            keys = ("text", "old", "new", "first", "second")
            found += [item[key] for item in read(path)[::11] for key in keys if key in item]
    return found


def test_no_pattern_that_matches_is_left_out() -> None:
    patterns = all_patterns()
    known = LiteralFilter(patterns)
    for text in (text.casefold() for text in texts()):
        left = set(range(len(patterns))) - set(known.possible(text))
        assert [patterns[one].pattern for one in left if patterns[one].search(text)] == []


def patterns_in(table: object) -> Iterator[LazyPattern]:
    """Yield the patterns of a table, at any depth."""
    if isinstance(table, LazyPattern):
        yield table
    elif isinstance(table, Mapping):
        yield from patterns_in(tuple(table.values()))
    elif isinstance(table, (tuple, list)):
        yield from chain.from_iterable(map(patterns_in, table))


def test_every_rule_compiles() -> None:
    loaded = (features, paraphrases, states, tables, topics)
    patterns = list(patterns_in([one.load() for one in loaded]))
    assert len(patterns) > len(all_patterns())
    for one in patterns:
        assert one.compiled.pattern == one.pattern


def test_most_patterns_are_left_out() -> None:
    patterns = all_patterns()
    assert all(map(required_literals, patterns))
    known = LiteralFilter(patterns)
    assert len(known.possible("user lives in lisbon since 2026")) < len(patterns) / 4


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        (r"\bquit\b", {"qui"}),
        (r"(?:a|of) place", {" pl"}),
        (r"[搬换]了?", {"搬", "换"}),
        (r"(?:lives?)+ .*", {"liv"}),
        (r"x?(?=abc)", set()),
        (r"(?:abc)?", set()),
        (r"abc|.", set()),
        (r"[^a]b", {"b"}),
        (r"(?i:abc)", set()),
    ],
)
def test_what_a_match_must_hold_is_read_from_the_pattern(pattern: str, literals: set[str]) -> None:
    assert required_literals(LazyPattern(pattern)) == literals
    assert required_literals(LazyPattern(pattern, re.IGNORECASE)) == set()


PARTS = st.sampled_from(
    ["a", "b", "(?:a|bc)", "[ab]", "c?", "(?:ab)+", "(a|b?)", "c{2}", ".", "a*"]
)


@given(st.lists(PARTS, max_size=5).map("".join), st.text("abc", max_size=8))
def test_any_pattern_is_tried_where_it_matches(pattern: str, text: str) -> None:
    rule = LazyPattern(pattern)
    assert not rule.search(text) or LiteralFilter([rule]).possible(text) == [0]


def test_spelling_is_expanded_wherever_a_short_form_is() -> None:
    for text in [*texts(), "im here", "Cuz I'd", "w/o sugar", "hes tall"]:
        assert ANY_SHORT_FORM.search(text) or not any(one.search(text) for one, _ in SHORT_FORMS)
