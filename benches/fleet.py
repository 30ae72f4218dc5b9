"""Service for many tenants: ranking against home, many tenants, latencies with and without load.

    python -m benches.fleet ranking   top ten of labelled sets by way of the engine and at home
    python -m benches.fleet scale     tenants × sections: bulk, p50 and p99 alone and under load
    python -m benches.fleet fresh     from a write to the search that finds it

Each starts an engine of one node, as `make engine` does.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from commonplace.evaluation import Unit, groups, metrics, quantile, rank, write_corpus
from commonplace.service.process import Process
from commonplace.service.tokens import tenant_key
from commonplace.store import open as open_store
from tests.opensearch.cluster import Cluster, running
from tests.opensearch.tenants import Tenants

LABELLED = Path(__file__).parents[2] / "shared" / "data" / "labelled"
WORDS = 6000
"""Words of generated notes, by Zipf's law."""


@contextmanager
def started(heap: str) -> Iterator[tuple[Tenants, Cluster, Path]]:
    """Run an engine and a process of the service in an empty folder."""
    with tempfile.TemporaryDirectory(prefix="commonplace-fleet-") as folder:
        root = Path(folder)
        with (
            running(1, root / "engine", heap) as cluster,
            Tenants(root / "root", cluster.url) as tenants,
        ):
            yield tenants, cluster, root


def indexed(tenants: Tenants, tenant: str) -> None:
    """Index a tenant whose files were written by hand."""
    key = tenant_key(tenant)
    tenants.process.indexer.rebuild(key)
    assert tenants.engine
    tenants.engine.refresh()


def ranking(given: argparse.Namespace) -> None:
    """Print overlap and nDCG@10 of the top ten of labelled sets, by the engine and at home."""
    with started(given.heap) as (tenants, _, root):
        print("set, unit, queries, overlap@10, same order, nDCG@10 engine, home, p50 ms, p99 ms")
        for name in given.sets:
            # a chat has no other unit than the message; notes have sections
            for unit in ("message", "turn"):
                _compare(tenants, root, name, unit, given.queries)


def _compare(tenants: Tenants, root: Path, name: str, unit: Unit, most: int) -> None:
    overlaps: list[float] = []
    same: list[float] = []
    gains: dict[str, list[float]] = {"engine": [], "home": []}
    spent: list[float] = []
    for number, group in enumerate(groups(LABELLED / f"{name}.jsonl.gz")):
        if len(overlaps) >= most:
            break
        tenant = f"{name} {unit} {number}"
        folder = root / "root" / "tenants" / tenant_key(tenant)
        folder.mkdir(parents=True)
        layout = write_corpus(group["documents"], folder)
        indexed(tenants, tenant)
        with tenants.process.stores.of(tenant_key(tenant)) as store, open_store(folder) as home:
            for query in islice(group["queries"], most - len(overlaps)):
                wanted = [layout.unit(one, unit) for one in query["relevant"]]
                mine, seconds = rank(store, query["text"], unit, layout)
                theirs, _ = rank(home, query["text"], unit, layout)
                spent.append(seconds)
                overlaps.append(
                    len({*mine[:10]} & {*theirs[:10]}) / len(theirs[:10]) if theirs else 1.0
                )
                same.append(float(mine[:10] == theirs[:10]))
                for who, ranked in (("engine", mine), ("home", theirs)):
                    gains[who].append(metrics(ranked, wanted)["ndcg_at_10"])
    if not overlaps:
        return
    times = [1000 * quantile(spent, share) for share in (0.5, 0.99)]
    print(
        f"{name}, {unit}, {len(overlaps)}, {mean(overlaps):.4f}, {mean(same):.3f}, "
        f"{100 * mean(gains['engine']):.2f}, {100 * mean(gains['home']):.2f}, "
        f"{times[0]:.1f}, {times[1]:.1f}",
        flush=True,
    )


def scale(given: argparse.Namespace) -> None:
    """Load tenants, then measure searches of one at a time, alone and beside others."""
    chosen = random.Random(7)
    words = [f"{a}{b}{c}" for a in "bdfgklmnprstvz" for b in "aeiou" for c in vocabulary()][:WORDS]
    shares = [1 / (place + 3) for place in range(len(words))]
    texts = [" ".join(chosen.choices(words, shares, k=60)) for _ in range(5000)]
    with started(given.heap) as (tenants, cluster, root):
        begun = time.monotonic()
        names = [f"tenant {number}" for number in range(given.tenants)]
        for name in names:
            folder = root / "root" / "tenants" / tenant_key(name)
            folder.mkdir(parents=True)
            for file in range(given.sections // 50):
                own = enumerate(chosen.sample(texts, 50))
                parts = "".join(f"# Part {at}\n\n{text}\n\n" for at, text in own)
                (folder / f"n{file}.md").write_text(parts)
        print(f"written in {time.monotonic() - begun:.0f} s", flush=True)
        loaded = _load(tenants.process, names, given.minutes * 60)
        total = loaded * given.sections
        took = time.monotonic() - begun
        print(f"loaded {loaded} tenants, {total} sections, in {took:.0f} s", flush=True)
        assert tenants.engine
        tenants.engine.refresh()
        _costs(cluster, total)
        queries = [
            " ".join(chosen.choices(words[20:], shares[20:], k=3)) for _ in range(given.queries)
        ]
        print("alone:", _timed(tenants, names[:loaded], queries), flush=True)
        with _load_beside(tenants, names[:loaded], queries, given):
            print("under load:", _timed(tenants, names[:loaded], queries), flush=True)


def vocabulary() -> list[str]:
    """Return ends of generated words, none of which a stemmer takes away."""
    return [
        f"{a}{b}"
        for a in "bdgkmprtvz"
        for b in ("ak", "op", "um", "ir", "ob", "uk", "at", "om", "ax")
    ]


def _load(process: Process, names: Sequence[str], seconds: float) -> int:
    """Index tenants until the time is over; say how many."""
    begun = time.monotonic()
    for done, name in enumerate(names):
        if time.monotonic() - begun > seconds:
            return done
        process.indexer.rebuild(tenant_key(name))
        if done and done % 50 == 0:
            print(f"  {done} tenants after {time.monotonic() - begun:.0f} s", flush=True)
    return len(names)


def _costs(cluster: Cluster, documents: int) -> None:
    told = cluster.get("/_stats/store,docs,segments")["_all"]["total"]
    nodes = cluster.get("/_nodes/stats/jvm,process")["nodes"].values()
    for node in nodes:
        heap = node["jvm"]["mem"]["heap_used_in_bytes"] >> 20
        files = node["process"]["open_file_descriptors"]
        size = told["store"]["size_in_bytes"] / max(documents, 1)
        print(f"disk {size:.0f} B a section, heap {heap} MB, {files} open files", flush=True)


def _timed(tenants: Tenants, names: Sequence[str], queries: Sequence[str]) -> str:
    chosen = random.Random(11)
    spent: list[float] = []
    found = 0
    for query in queries:
        begun = time.perf_counter()
        hits = tenants.call(chosen.choice(names), "search", query=query)["hits"]
        spent.append(time.perf_counter() - begun)
        found += bool(hits)
    p50, p99 = (1000 * quantile(spent, share) for share in (0.5, 0.99))
    return f"{len(spent)} searches, {found} with hits, p50 {p50:.1f} ms, p99 {p99:.1f} ms"


@contextmanager
def _load_beside(
    tenants: Tenants, names: Sequence[str], queries: Sequence[str], given: argparse.Namespace
) -> Iterator[None]:
    """Search and write beside, at the rates that are given, as long as the context lasts."""
    over = threading.Event()
    done = {"searches": 0, "writes": 0}

    def repeat(kind: str, rate: float, call: Any) -> None:
        chosen = random.Random(kind)
        due = time.monotonic()
        while not over.is_set():
            call(chosen)
            done[kind] += 1
            due = max(due + 1 / rate, time.monotonic() - 1)
            over.wait(max(0.0, due - time.monotonic()))

    def search(chosen: random.Random) -> None:
        tenants.call(chosen.choice(names), "search", query=chosen.choice(queries))

    def write(chosen: random.Random) -> None:
        path = f"new/{chosen.randrange(1000)}.md"
        tenants.call(chosen.choice(names), "write", path=path, content=chosen.choice(queries))

    rates = [("searches", given.searches, search), ("writes", given.writes, write)]
    threads = [threading.Thread(target=repeat, args=one) for one in rates if one[1]]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
        took = time.monotonic() - begun
        rates_done = ", ".join(f"{count / took:.0f} {kind}/s" for kind, count in done.items())
        print(f"beside it ran {rates_done}", flush=True)


def fresh(given: argparse.Namespace) -> None:
    """Print how long a search with a freshness token takes right after its write."""
    with started(given.heap) as (tenants, _, _):
        tenants.call("acme", "write", path="n.md", content="first")
        spent, stale = [], 0
        for number in range(given.queries):
            told = tenants.call("acme", "write", path=f"n{number % 50}.md", content=f"tea {number}")
            begun = time.perf_counter()
            answer = tenants.call("acme", "search", query="tea", fresh=[told["fresh"]])
            spent.append(time.perf_counter() - begun)
            stale += answer["freshness"] == "stale"
        p50, p99 = (1000 * quantile(spent, share) for share in (0.5, 0.99))
        print(f"{len(spent)} writes, found after p50 {p50:.1f} ms, p99 {p99:.1f} ms; {stale} stale")


def mean(values: Sequence[float]) -> float:
    """Return the average."""
    return sum(values) / len(values)


def main() -> None:
    """Run one of the measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["ranking", "scale", "fresh"])
    parser.add_argument("--heap", default="512m")
    parser.add_argument("--sets", nargs="*", default=["locomo", "cookbook-docs", "xquad-zh"])
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--tenants", type=int, default=1000)
    parser.add_argument("--sections", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--searches", type=float, default=50)
    parser.add_argument("--writes", type=float, default=200)
    given = parser.parse_args()
    {"ranking": ranking, "scale": scale, "fresh": fresh}[given.what](given)


if __name__ == "__main__":
    main()
