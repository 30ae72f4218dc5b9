"""What 10,000 entries in each layer cost: `python -m benches.layers`.

Appending must not depend on how many entries are there (a file is continued at 64 KB, a fact is a
note of its own), and a search must stay under a millisecond. Both were the reason to give up the
design's one JSON file a layer, which is written whole at each append. Entries are appended one at
a time by the public methods, durably; the first 100 and the last 100 appends are compared.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable
from statistics import median, quantiles
from typing import get_args

import commonplace
from benches.corpora import SEED
from commonplace.memories.four_layers import FourLayers
from commonplace.memories.four_layers_types import Layer

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


def measure(memory: FourLayers, layer: Layer, draw: random.Random) -> dict[str, float]:
    """Fill a layer and time its appends and searches."""
    appends = []
    for number in range(ENTRIES):
        text = said(draw, number)
        entry = {
            "content": text,
            "metadata": {"key": f"fact {number}", "condition": f"when {text[:40]} {number}"},
        }
        appends.append(timed(lambda entry=entry: memory.append(layer, entry)))  # type: ignore[misc]
    queries = [
        " ".join(draw.sample(WORDS.split(), 2)) + f" case{draw.randrange(ENTRIES)}"
        for _ in range(200)
    ]
    memory.search(layer, queries[0])
    searches = [timed(lambda query=query: memory.search(layer, query)) for query in queries]  # type: ignore[misc]
    first = timed(lambda: memory.search(layer, "case1", scoring="terms"))
    return {
        "append at 100, p50": median(appends[SAMPLE : 2 * SAMPLE]),
        "append at 10,000, p50": median(appends[-SAMPLE:]),
        "search, p50": median(searches),
        "search, p99": quantiles(searches, n=100)[98],
        "terms, first": first,
        "terms, again": median(
            timed(lambda: memory.search(layer, "case1", scoring="terms")) for _ in range(5)
        ),
    }


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
        print(f"\nget_stats over all: {timed(memory.get_stats):.0f} ms, again", end=" ")
        print(f"{timed(memory.get_stats):.0f} ms")


if __name__ == "__main__":
    main()
