"""Benchmark of `Store.grep` over a transcript and over notes.

Corpus: 5,000 seeded transcript lines of the shape of Claude Code (two with one Chinese word, plain
and in ASCII escapes) and 500 notes. Why it exists: every kind of pattern takes its own way through
the scanner, and each way should keep its speed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

    import commonplace

PATTERNS = {
    "absent": "zzqxqzz",
    "quoted": 'He said "[a-z]+"',
    "no literal": "[a-z]{8}",
    "boundary": r"\bba\w+",
    "either": "baba|dede|gigi|koko|lulu",
    "cjk": "记忆",
}


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_count_in_transcript(
    benchmark: BenchmarkFixture, store: commonplace.Store, pattern: str
) -> None:
    counted = benchmark(lambda: store.grep(pattern, prefix="sessions/s1/").count())
    if pattern == "记忆":
        assert counted == 2
    if pattern == "zzqxqzz":
        assert counted == 0


def test_ignore_case(benchmark: BenchmarkFixture, store: commonplace.Store) -> None:
    assert benchmark(lambda: store.grep("HE SAID", prefix="sessions/s1/", ignore_case=True).count())


def test_snippets(benchmark: BenchmarkFixture, store: commonplace.Store) -> None:
    shown = benchmark(
        lambda: [match.snippet for match in store.grep("He said", prefix="sessions/s1/")]
    )
    assert all("He said" in snippet for snippet in shown)


def test_last_ten(benchmark: BenchmarkFixture, store: commonplace.Store) -> None:
    last = benchmark(
        lambda: [
            m.line
            for m in store.grep("He said", prefix="sessions/s1/", limit=10, newest_first=True)
        ]
    )
    assert last == sorted(last, reverse=True)


def test_notes(benchmark: BenchmarkFixture, store: commonplace.Store) -> None:
    benchmark(lambda: store.grep(r"^# \w+").count())
