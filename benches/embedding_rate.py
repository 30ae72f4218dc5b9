"""Benchmark of the bundled embedder: messages a second on one core, and milliseconds a query.

`python -m benches.embedding_rate [COUNT]`

Why it exists: vectors are made in the background, and people ask how long that takes for what they
have. The messages are those of the chats of locomo, about 40 tokens each; processor time is
counted, for a machine may be busy.
"""

from __future__ import annotations

import argparse
import tempfile
import time

import commonplace
from benches.corpora import data
from commonplace.adapters.bundled import BundledEmbedder
from commonplace.evaluation import groups
from commonplace.recall.vectors import Vectors

WANTED = 10_000
QUERIES = 20


def main() -> None:
    """Print the rates."""
    parser = argparse.ArgumentParser(description="Time the making of vectors.")
    parser.add_argument("count", nargs="?", type=int, default=WANTED)
    count = parser.parse_args().count
    everything = list(groups(data().parent / "labelled" / "locomo.jsonl.gz"))
    texts = [document["text"] for group in everything for document in group["documents"]]
    numbered = [f"{text} ({number})" for number, text in enumerate(texts * (1 + count // 2000))]
    lines = [{"role": "user", "content": text} for text in numbered[:count]]
    with (
        tempfile.TemporaryDirectory(prefix="commonplace-rate-") as root,
        commonplace.open(root) as store,
    ):
        store.transcript("s").extend(lines)
        vectors = Vectors(store, BundledEmbedder())
        began = time.process_time()
        made = vectors.refresh()
        spent = time.process_time() - began
        began = time.process_time()
        for text in texts[:QUERIES]:
            vectors.embed(text)
        query = (time.process_time() - began) / QUERIES
    print(
        f"{made:,} vectors in {spent:.0f} s of one core: {made / spent:.0f} a second,"
        f" {WANTED:,} in {WANTED * spent / made / 60:.0f} min; a query {1000 * query:.0f} ms"
    )


if __name__ == "__main__":
    main()
