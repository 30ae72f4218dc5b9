"""What 10,000 entries in each layer cost: `python -m benches.layers`.

Appending must not depend on how many entries are there (a file is continued at 64 KB, a fact is a
note of its own), and a search must stay under a millisecond. Both were the reason to give up the
design's one JSON file a layer, which is written whole at each append. The appends that are timed
are single calls, durable, 100 of them with 100 entries there and 100 with 10,000; those between
come in by `import_json`. Beside them: what the disk takes for a write of its own.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Any, get_args

import commonplace
from benches.corpora import SEED
from commonplace.memories.four_layers import FourLayers
from commonplace.memories.four_layers.types import Layer, MemoryEntry

ENTRIES = 10_000
SAMPLE = 100
WORDS = (
    "agent analyzed vulnerabilities parser timeout invoice deploy schema retry cache token user "
    "release branch migration queue latency backup certificate region customer dashboard alert"
)


def said(draw: random.Random, number: int) -> str:
    """Return a sentence of twelve words with one of its own."""
    return f"{' '.join(draw.choices(WORDS.split(), k=12))} case{number}"


def timed(call: Callable[[], object]) -> float:
    """Return how long a call takes, in milliseconds."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000


def append(memory: FourLayers, layer: Layer, draw: random.Random, numbers: range) -> float:
    """Append an entry a number, and return the median of the times."""
    times = []
    for number in numbers:
        text = said(draw, number)
        metadata = {"key": f"fact {number}", "condition": f"when {text[:40]}"}
        entry = MemoryEntry(content=text, metadata=metadata)
        times.append(timed(partial(memory.append, layer, entry)))
    return median(times)


def fill(memory: FourLayers, layer: Layer, draw: random.Random, numbers: range) -> None:
    """Add an entry a number through a file of the design."""
    texts = [said(draw, number) for number in numbers]
    records: dict[Layer, list[Any]] = {
        "episodic": [
            {"id": str(number), "timestamp": 1767225600000 + number, "content": text}
            for number, text in zip(numbers, texts, strict=True)
        ],
        "semantic": [
            [f"fact {number}", {"key": f"fact {number}", "value": text}]
            for number, text in zip(numbers, texts, strict=True)
        ],
        "procedural": [{"condition": f"when {text[:40]}", "action": text} for text in texts],
    }
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"{layer}.json").write_text(json.dumps(records[layer]))
        memory.import_json(folder)


def measure(memory: FourLayers, layer: Layer, draw: random.Random) -> dict[str, float]:
    """Fill a layer and time its appends and searches."""
    append(memory, layer, draw, range(SAMPLE))
    few = append(memory, layer, draw, range(SAMPLE, 2 * SAMPLE))
    fill(memory, layer, draw, range(2 * SAMPLE, ENTRIES))
    many = append(memory, layer, draw, range(ENTRIES, ENTRIES + SAMPLE))
    words = WORDS.split()
    queries = [
        f"{' '.join(draw.sample(words, 2))} case{draw.randrange(ENTRIES)}" for _ in range(300)
    ]
    memory.search(layer, queries[0])
    searches = [timed(partial(memory.search, layer, query)) for query in queries]
    by_terms = partial(memory.search, layer, "case1", scoring="terms")
    return {
        "append at 100, p50": few,
        "append at 10,000, p50": many,
        "search, p50": median(searches),
        "search, p99": quantiles(searches, n=100)[98],
        "terms after a write": timed(by_terms),
        "terms again": median(timed(by_terms) for _ in range(5)),
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
    draw = random.Random(SEED)
    with (
        tempfile.TemporaryDirectory() as folder,
        commonplace.open(folder) as store,
    ):
        memory = FourLayers(store)
        for number, layer in enumerate(get_args(Layer)):
            row = measure(memory, layer, draw)
            if number == 0:
                print(f"| ms, {ENTRIES:,} entries a layer |", " | ".join(row), "|")
                print("|---" * (len(row) + 1) + "|")
            print(f"| {layer} |", " | ".join(f"{value:.2f}" for value in row.values()), "|")
        print(f"\na durable write of 300 bytes: {disk(folder):.2f} ms")
        print(f"get_stats over all: {timed(memory.get_stats):.0f} ms, again", end=" ")
        print(f"{timed(memory.get_stats):.0f} ms")


if __name__ == "__main__":
    main()
