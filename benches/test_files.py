"""Benchmark of reads, writes and appends through the store, and of the first search after each.

Corpus: 500 seeded notes, 5,000 sections, and a transcript. Why it exists: writes are durable, so
most of their time is the disk's; a jump that is not the disk's should be seen here.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_benchmark.fixture import BenchmarkFixture

    import commonplace


def test_read(benchmark: BenchmarkFixture, store: commonplace.Store) -> None:
    path = next(entry.path for entry in store.list() if entry.kind == "note")
    assert benchmark(store.read, path)


def test_sections(benchmark: BenchmarkFixture, store: commonplace.Store) -> None:
    path = next(entry.path for entry in store.list() if entry.kind == "note")
    assert len(benchmark(store.sections, path)) >= 10


def test_append_message(benchmark: BenchmarkFixture, store: commonplace.Store) -> None:
    log = store.transcript("sessions/appended")
    assert (
        benchmark(log.append, {"role": "user", "content": "Please remember the rate limit."}) >= 1
    )


def test_append_note_line(benchmark: BenchmarkFixture, store: commonplace.Store) -> None:
    assert benchmark(store.append, "facts/appended.md", "- One more fact.").version


def test_write_then_search(benchmark: BenchmarkFixture, store: commonplace.Store) -> None:
    number = count()

    def change() -> int:
        word = f"zq{next(number)}x"
        store.write("facts/changed.md", f"# Changed\n\n{word}\n")
        return len(store.search(word, 1))

    assert benchmark(change) == 1


def test_edit_elsewhere_then_search(
    benchmark: BenchmarkFixture, store: commonplace.Store, root: Path
) -> None:
    number = count()
    note = root / "elsewhere.md"

    def change() -> int:
        word = f"zr{next(number)}x"
        note.write_text(f"# Elsewhere\n\n{word}\n", encoding="utf-8")
        return len(store.search(word, 1))

    assert benchmark(change) == 1


def test_open_from_snapshot(benchmark: BenchmarkFixture, store: commonplace.Store) -> None:
    import commonplace  # noqa: PLC0415 - absent where the tests are skipped

    store.search("ready", 1)

    def reopen() -> None:
        with commonplace.open(store.root) as again:
            again.search("ready", 1)

    benchmark(reopen)
