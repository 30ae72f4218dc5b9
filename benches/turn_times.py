"""Time of a query by message and by turn over a store of a million messages.

    python -m benches.turn_times                     # 1,000,000 messages
    python -m benches.turn_times --messages 100000

The messages are those of benches/labelled_turns.py over and over, session by session. In each copy
one word in ten is another word of the transcripts, drawn by its frequency, so that no two copies
are alike. The queries are the seen questions.

Why it exists: scoring a turn reads all of its messages, and the best turns of a larger store are no
larger.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING

from benches.corpora import sample_transcript
from benches.labelled_turns import Turn, questions, read_turns
from benches.turns import HITS, UNITS

if TYPE_CHECKING:
    import commonplace

SEED = 7
VARIED = 0.1  # share of words that a copy has of its own
ROUNDS = 20
WORD = re.compile(r"[A-Za-z]{3,}")


def records(turns: Sequence[Turn]) -> Iterator[tuple[str, bytes]]:
    """Yield session and line of each message, copy after copy, without end."""
    draw = random.Random(SEED)
    words = [word for turn in turns for one in turn.messages for word in WORD.findall(one.text)]

    def vary(text: str) -> str:
        parts = text.split(" ")
        for _ in range(round(VARIED * len(parts))):
            parts[draw.randrange(len(parts))] = draw.choice(words)
        return " ".join(parts)

    for copy in count():
        for turn in turns:
            for place, message in enumerate(turn.messages):
                session, role = f"{message.session}-{copy}", "assistant" if place else "user"
                record = {"role": role, "content": vary(message.text), "session": session}
                yield session, json.dumps(record).encode() + b"\n"


def write(root: Path, turns: Sequence[Turn], messages: int) -> int:
    """Write so many messages, one transcript a session; return their bytes."""
    size = 0
    for session, line in islice(records(turns), messages):
        path = root / "sessions" / session / "messages.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as log:
            size += log.write(line)
    return size


def seconds(store: commonplace.Store) -> dict[str, list[float]]:
    """Return the sorted times of all queries by unit, of interleaved rounds."""
    found: dict[str, list[float]] = {unit: [] for unit in UNITS}
    for number in range(ROUNDS + 1):
        for asked in questions("seen"):
            for unit in UNITS:
                began = time.perf_counter()
                for hit in store.search(asked.question, HITS, unit=unit):
                    _ = hit.snippet
                # the first round fills caches
                if number:
                    found[unit].append(time.perf_counter() - began)
    return {unit: sorted(times) for unit, times in found.items()}


def main() -> None:
    """Build the store and print the times."""
    import commonplace  # noqa: PLC0415 - as in benches/turns.py

    parser = argparse.ArgumentParser(description="Time queries by message and by turn.")
    parser.add_argument("--messages", type=int, default=1_000_000)
    options = parser.parse_args()
    sample, _ = sample_transcript()
    turns = read_turns(sample.read_bytes().splitlines(keepends=True))
    with tempfile.TemporaryDirectory(prefix="commonplace-bench-turn-times-") as made:
        root = Path(made)
        size = write(root, turns, options.messages)
        with commonplace.open(root) as store:
            store.status()
            spent = seconds(store)
    print(f"{options.messages:,} messages, {size / 1e6:,.0f} MB; {HITS} hits with snippets\n")
    print("| unit | p50 | p99 |\n|---|--:|--:|")
    for unit, times in spent.items():
        p50, p99 = (1000 * times[int(share * (len(times) - 1))] for share in (0.5, 0.99))
        print(f"| {unit} | {p50:.2f} ms | {p99:.2f} ms |")


if __name__ == "__main__":
    main()
