"""Benchmark of prefix queries: 1, 10 and 64 prefixes against 1 and 10 words; expansion is capped.

`python -m benches.prefixes [SECTIONS]`

Why it exists: a prefix stands for many words, and ten of them once took 14 seconds on 180 MB. What
they may cost together is capped, so the time must stay bounded however large the memory is. The
words of the notes are few and all frequent, which is the worst case; each figure is the median of
several queries.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from benches.ratios import Figures, Table, rounds
from commonplace.store import open as open_store

LETTERS = "abcdefghijklmnop"
ROUNDS = 7
BASELINE = "one word"


def words(count: int) -> list[str]:
    """Return words that begin with each pair of letters equally often."""
    draw = random.Random(12)
    pairs = [first + second for first in LETTERS for second in LETTERS]
    return [pairs[at % len(pairs)] + f"{draw.randrange(16**4):04x}" for at in range(count)]


def write_corpus(root: Path, sections: int) -> None:
    """Write notes of 100 sections of 40 words."""
    draw, known = random.Random(7), words(20_000)
    for note in range(sections // 100):
        text = [f"# Section {at}\n\n{' '.join(draw.choices(known, k=40))}\n" for at in range(100)]
        (root / f"{note}.md").write_text("\n".join(text), encoding="utf-8")


def main() -> None:
    """Ask for one word, and for prefixes of one and two letters."""
    parser = argparse.ArgumentParser(description="Time prefix queries.")
    parser.add_argument("sections", nargs="?", type=int, default=50_000)
    sections: int = parser.parse_args().sections
    table, draw, known = Table(), random.Random(1), words(20_000)
    with tempfile.TemporaryDirectory() as folder:
        write_corpus(Path(folder), sections)
        with open_store(folder) as store:
            store.search(known[0])

            def asking(query: Callable[[], Sequence[str]], times: int) -> Callable[[], Figures]:
                def work() -> Figures:
                    each = []
                    for _ in range(times):
                        text = " ".join(query())
                        start = time.perf_counter()
                        store.search(text, limit=10)
                        each.append(time.perf_counter() - start)
                    return {"query": median(each)}

                return work

            def prefixes(count: int, letters: int) -> Callable[[], Sequence[str]]:
                return lambda: [f"{word[:letters]}*" for word in draw.sample(known, count)]

            measured = rounds(
                {
                    BASELINE: asking(lambda: draw.sample(known, 1), 50),
                    "10 words": asking(lambda: draw.sample(known, 10), 50),
                    "one prefix": asking(prefixes(1, 1), 3),
                    "10 prefixes": asking(prefixes(10, 1), 3),
                    "64 prefixes": asking(prefixes(64, 2), 3),
                },
                ROUNDS,
            )
    label = f"{sections:,} sections"
    table.compare(BASELINE, label, measured, "query", reference=BASELINE)
    prefixed = {name: measured[name] for name in measured if "prefix" in name}
    table.compare("one prefix", label, prefixed, "query", reference="one prefix")


if __name__ == "__main__":
    main()
