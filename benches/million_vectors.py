"""Benchmark of a million vectors: time and recall of a search, and the memory they take.

`OPENBLAS_NUM_THREADS=1 python -m benches.million_vectors [COUNT]`

Why it exists: above some thousands of vectors a scan of floats is slow and large, so they are
packed and searched by bit codes first (`recall.vector_blocks`). Clusters lie about random centres,
as topics do; with `--real FILE` (a `.npy` of float32 rows) vectors are mixtures of two real
ones. Recall is the share of the ten found that are as near as the tenth nearest by floats.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from commonplace.recall.nearest import Rows, normal

DIMS = 384
CHUNK = 16384
QUERIES = 100
CENTRES = 2000
WANTED = 10


def vectors(count: int, real: np.ndarray | None, seed: int) -> Iterator[np.ndarray]:
    """Yield vectors in chunks."""
    draw = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(size=(CENTRES, DIMS)).astype(np.float32)
    for first in range(0, count, CHUNK):
        size = min(CHUNK, count - first)
        if real is None:
            noise = draw.standard_normal((size, DIMS), np.float32)
            yield normal(centres[draw.integers(CENTRES, size=size)] + 0.7 * noise)
        else:
            one, other = (real[draw.integers(len(real), size=size)] for _ in range(2))
            share = draw.uniform(0.5, 1, (size, 1)).astype(np.float32)
            yield normal(share * one + (1 - share) * other)


def resident() -> int:
    """Return the bytes of memory that this process has (Linux)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Print one line of figures."""
    parser = argparse.ArgumentParser(description="Search a million vectors.")
    parser.add_argument("count", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--real", type=Path)
    given = parser.parse_args()
    real = np.load(given.real) if given.real else None
    queries = next(vectors(QUERIES, real, 1))
    before = resident()
    rows, began, spent = Rows(DIMS, exact=50_000), time.perf_counter(), 0.0
    best = [np.empty(0, np.float32)] * QUERIES
    for chunk in vectors(given.count, real, 2):
        started = time.perf_counter()
        rows.put([rows.new() for _ in chunk], chunk)
        spent += time.perf_counter() - started
        for at, cosines in enumerate(queries @ chunk.T):
            best[at] = np.sort(np.concatenate([best[at], cosines]))[-WANTED:]
    memory = (resident() - before) / 2**20
    times, cpu, found = [], [], 0.0
    for query, truth in zip(queries, best, strict=True):
        started, worked = time.perf_counter(), time.thread_time()
        got = rows.best(query, WANTED)
        times.append(1000 * (time.perf_counter() - started))
        cpu.append(1000 * (time.thread_time() - worked))
        # a byte a number: what is as near as the tenth is right
        found += sum(cosine >= truth[0] - 0.0005 for _, cosine in got) / WANTED
    print(
        f"{given.count:,} vectors: p50 {np.median(times):.1f} ms,"
        f" p99 {np.quantile(times, 0.99):.1f} ms,"
        f" processor time {np.median(cpu):.1f} ms, recall@10 {found / QUERIES:.3f},"
        f" {memory:,.0f} MB, put in {spent:.0f} s of {time.perf_counter() - began:.0f} s"
    )


if __name__ == "__main__":
    main()
