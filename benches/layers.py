"""Benchmark of the memory systems' layers: append and search with 10,000 entries each.

Appending must not depend on how many entries are there, a search must stay under a millisecond,
and no file may grow beyond what an editor opens at once. Each layer has a store of its own, and is
filled by its own calls, as an agent makes them: one by one, each durable (but the pages of 004 are
written as they would be: a call compares with what is there). The first 100 are to warm up; timed
are the next 100, and 100 when 10,000 are there, then 300 searches for two common words and one of
a single entry. Beside them: what a durable write of a few bytes costs on this disk (`TMPDIR` says
where that is). The names that are given choose layers: `002`, `daily`.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

import commonplace
from benches.corpora import SEED
from commonplace.memories import (
    FactsAndEpisodes,
    FourLayers,
    OverviewAndDetail,
    Profile,
    WorldAndAgents,
)
from commonplace.memories.four_layers.types import Layer

ENTRIES = 10_000
SAMPLE = 100
SEARCHES = 300
TEXT = (
    "agent analyzed vulnerabilities parser timeout invoice deploy schema retry cache token user "
    "release branch migration queue latency backup certificate region customer dashboard alert"
)
WORDS = TEXT.split()
START = datetime(2026, 2, 1, tzinfo=UTC)


class Calls(NamedTuple):
    """How an entry comes into a layer, with its number and text, and how it is searched for."""

    append: Callable[[int, str], object]
    search: Callable[[str], object]
    fill: Callable[[list[str]], object] | None = None


def clock() -> Callable[[], datetime]:
    """Return a clock by which the entries come over a month."""
    ticks = iter(range(10**9))
    return lambda: START + timedelta(minutes=2) * next(ticks)


def episodes(store: commonplace.Store) -> Calls:
    memory = FactsAndEpisodes(store, clock=clock())
    return Calls(
        lambda _, text: memory.memory_append("episodes/2026-02.md", f"## {text[:40]}\n- {text}"),
        lambda query: store.search(query, prefix="episodes"),
    )


def facts(store: commonplace.Store) -> Calls:
    memory = FactsAndEpisodes(store)
    return Calls(
        lambda number, text: memory.memory_write(f"facts/topic-{number}.md", f"- Said: {text}\n"),
        lambda query: store.search(query, prefix="facts"),
    )


def messages(store: commonplace.Store) -> Calls:
    memory = OverviewAndDetail(store, "s1", cwd="/home/alex/app")
    return Calls(
        lambda _, text: memory.append({"role": "user", "content": text}),
        lambda query: memory.recall_memory(query, "messages", 10),
    )


def detail(store: commonplace.Store) -> Calls:
    memory = OverviewAndDetail(store, "s1", cwd="/home/alex/app")
    return Calls(
        lambda number, text: memory.write_detail(f"note-{number}", text),
        lambda query: memory.recall_memory(query, "detail", 10),
    )


def daily(store: commonplace.Store) -> Calls:
    memory = WorldAndAgents(store, "planner", clock=clock())
    return Calls(lambda _, text: memory.remember(text), memory.search_memory)


def world(store: commonplace.Store) -> Calls:
    memory = WorldAndAgents(store, "planner")
    return Calls(
        lambda number, text: memory.learn_fact(f"topic {number}", text), memory.search_memory
    )


def layer(name: Layer, store: commonplace.Store) -> Calls:
    memory = FourLayers(store)

    def append(number: int, text: str) -> object:
        metadata = {"key": f"fact {number}", "condition": f"when {text[:40]}"}
        return memory.append(name, {"content": text, "metadata": metadata})

    return Calls(append, partial(memory.search, name))


def profile(store: commonplace.Store) -> Calls:
    memory = Profile(store)

    def fill(texts: list[str]) -> None:
        for page in range(0, len(texts), 250):
            items = "".join(f"- {text}\n" for text in texts[page : page + 250])
            head = "---\nunit: item\n---\n# Memory: General\n\n## General\n\n"
            store.write(f"memory/general-{page // 250 + 2}.md", head + items)

    return Calls(lambda _, text: memory.remember(text), memory.memory_recall, fill)


LAYERS: dict[str, Callable[[commonplace.Store], Calls]] = {
    "000 episodes": episodes,
    "000 facts": facts,
    "001 messages": messages,
    "001 detail": detail,
    "002 daily": daily,
    "002 world": world,
    "003 episodic": partial(layer, "episodic"),
    "003 semantic": partial(layer, "semantic"),
    "003 procedural": partial(layer, "procedural"),
    "004 MEMORY.md": profile,
}


def message_text(draw: random.Random, number: int) -> str:
    """Return a sentence of twelve words with one of its own."""
    return f"{' '.join(draw.choices(WORDS, k=12))} case{number}"


def timed(call: Callable[[], object]) -> float:
    """Return how long a call takes, in milliseconds."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000


def appended(calls: Calls, draw: random.Random, numbers: Iterable[int]) -> float:
    """Append an entry a number, and return the median of the times."""
    return median(
        timed(partial(calls.append, number, message_text(draw, number))) for number in numbers
    )


def measure(calls: Calls, root: Path) -> dict[str, float]:
    """Fill a layer and time its appends and searches."""
    draw = random.Random(SEED)
    appended(calls, draw, range(SAMPLE))
    few = appended(calls, draw, range(SAMPLE, 2 * SAMPLE))
    between = range(2 * SAMPLE, ENTRIES)
    if calls.fill is None:
        appended(calls, draw, between)
    else:
        calls.fill([message_text(draw, number) for number in between])
    many = appended(calls, draw, range(ENTRIES, ENTRIES + SAMPLE))
    queries = [
        f"{' '.join(draw.sample(WORDS, 2))} case{draw.randrange(ENTRIES)}" for _ in range(SEARCHES)
    ]
    calls.search(queries[0])
    searches = [timed(partial(calls.search, query)) for query in queries]
    files = [path for path in root.rglob("*") if path.is_file()]
    sizes = [path.stat().st_size for path in files if ".commonplace" not in path.parts]
    return {
        "append at 100, p50": few,
        "append at 10,000, p50": many,
        "search, p50": median(searches),
        "search, p99": quantiles(searches, n=100)[98],
        "largest file, kB": max(sizes) / 1000,
    }


def disk(folder: str) -> float:
    """Return the median time of a durable write of a few bytes."""
    with (Path(folder) / "probe").open("ab", buffering=0) as probe:

        def write() -> None:
            probe.write(b"x" * 300)
            os.fdatasync(probe.fileno())

        return median(timed(write) for _ in range(SAMPLE))


def main() -> None:
    """Print a table, a row a layer, in milliseconds."""
    parser = argparse.ArgumentParser(description="Time the layers of the memory systems.")
    parser.add_argument("layers", nargs="*", default=[""], help="words in their names; default all")
    wanted = parser.parse_args().layers
    with tempfile.TemporaryDirectory() as folder:
        print(f"a durable write of 300 bytes: {disk(folder):.2f} ms\n")
    titled = False
    for name, make in LAYERS.items():
        if any(word in name for word in wanted):
            with tempfile.TemporaryDirectory() as folder, commonplace.open(folder) as store:
                row = measure(make(store), store.root)
            if not titled:
                print("| ms |", " | ".join(row), "|")
                print("|---" * (len(row) + 1) + "|")
                titled = True
            values = " | ".join(f"{value:.2f}" for value in row.values())
            print(f"| {name} | {values} |", flush=True)


if __name__ == "__main__":
    main()
