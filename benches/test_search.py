"""Benchmark of `Store.search`: everyday queries over notes and messages, against earlier runs.

Corpus: 500 seeded notes, 5,000 sections, and 5,000 transcript lines. Why it exists: to notice when
a change makes an everyday query slower; compare.py measures against others, this against ourselves.
"""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

import pytest

from benches.corpora import heading_queries
from benches.sections import split_root

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_benchmark.fixture import BenchmarkFixture

    import commonplace


@pytest.fixture(scope="session")
def queries(root: Path) -> list[str]:
    """Return 200 different headings of the corpus, as words."""
    return [" ".join(query.words) for query in heading_queries(split_root(root), 200)]


def test_words_of_a_heading(
    benchmark: BenchmarkFixture, store: commonplace.Store, queries: list[str]
) -> None:
    turn = cycle(queries)
    assert benchmark(lambda: [hit.snippet for hit in store.search(next(turn))])


def test_notes_only(
    benchmark: BenchmarkFixture, store: commonplace.Store, queries: list[str]
) -> None:
    turn = cycle(queries)
    hits = benchmark(lambda: store.search(next(turn), source="note"))
    assert all(hit.source == "note" for hit in hits)


def test_phrase(benchmark: BenchmarkFixture, store: commonplace.Store, queries: list[str]) -> None:
    phrases = cycle(f'"{query}"' for query in queries if " " in query)
    benchmark(lambda: store.search(next(phrases)))


def test_prefix_and_typo(
    benchmark: BenchmarkFixture, store: commonplace.Store, queries: list[str]
) -> None:
    odd = cycle(f"{query[:4]}* {query.split()[0]}~1" for query in queries)
    benchmark(lambda: store.search(next(odd)))


def test_nothing_found(benchmark: BenchmarkFixture, store: commonplace.Store) -> None:
    assert len(benchmark(store.search, "zzqxqzz")) == 0
