"""Service for many tenants: ranking against a local store, and how soon a write is found.

    python -m benches.fleet ranking   top ten of labelled sets, by the engine and by a local store
    python -m benches.fleet ranking --meaning   the same by words and vectors (k-NN of the engine)
    python -m benches.fleet fresh     from a write to the search that finds it

Each starts an engine of one node, as `make engine` does. `benches/fleet_scale.py` has many tenants.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from commonplace.adapters.meaning import bundled, search_by_meaning
from commonplace.evaluation import Layout, Unit, groups, metrics, quantile, rank, write_corpus
from commonplace.protocols import Embedder
from commonplace.service.tokens import tenant_key
from commonplace.store import open as open_store
from tests.opensearch.cluster import Cluster, running
from tests.opensearch.tenants import Tenants

LABELLED = Path(__file__).parents[2] / "shared" / "data" / "labelled"


@contextmanager
def started(heap: str, embedder: Embedder | None = None) -> Iterator[tuple[Tenants, Cluster, Path]]:
    """Run an engine and a process of the service in an empty folder."""
    with tempfile.TemporaryDirectory(prefix="commonplace-fleet-") as folder:
        root = Path(folder)
        with (
            running(1, root / "engine", heap, knn=embedder is not None) as cluster,
            Tenants(root / "root", cluster.url, embedder=embedder) as tenants,
        ):
            yield tenants, cluster, root


def indexed(tenants: Tenants, tenant: str) -> None:
    """Index a tenant whose files were written by hand."""
    key = tenant_key(tenant)
    tenants.process.indexer.rebuild(key)
    assert tenants.engine
    tenants.engine.refresh()


def ranking(given: argparse.Namespace) -> None:
    """Print overlap and nDCG@10 of the top ten of labelled sets, by engine and local store."""
    with started(given.heap, bundled() if given.meaning else None) as (tenants, _, root):
        print("set, unit, queries, overlap@10, same order, nDCG@10 engine, local, p50 ms, p99 ms")
        layouts: dict[str, Layout] = {}
        for name in given.sets:
            # a chat has no other unit than the message; notes have sections
            for unit in ("message", "turn"):
                _compare(tenants, root, name, unit, given.queries, layouts)


def _compare(
    tenants: Tenants, root: Path, name: str, unit: Unit, most: int, layouts: dict[str, Layout]
) -> None:
    # a tenant is written and indexed once, for both units
    overlaps: list[float] = []
    same: list[float] = []
    gains: dict[str, list[float]] = {"engine": [], "local": []}
    spent: list[float] = []
    for number, group in enumerate(groups(LABELLED / f"{name}.jsonl.gz")):
        if len(overlaps) >= most:
            break
        tenant = f"{name} {number}"
        folder = root / "root" / "tenants" / tenant_key(tenant)
        if tenant not in layouts:
            folder.mkdir(parents=True)
            layouts[tenant] = write_corpus(group["documents"], folder)
            indexed(tenants, tenant)
        layout = layouts[tenant]
        with (
            tenants.process.stores.of(tenant_key(tenant)) as store,
            open_store(folder, embedder=store.embedder) as local,
        ):
            if store.embedder:
                # those that were made for the engine, read from beside the files
                vectors = search_by_meaning(local).vectors
                assert vectors is not None
                assert tenants.engine
                assert tenants.engine.vectors
                vectors.refresh()
            for query in islice(group["queries"], most - len(overlaps)):
                wanted = [layout.unit(one, unit) for one in query["relevant"]]
                mine, seconds = rank(store, query["text"], unit, layout)
                theirs, _ = rank(local, query["text"], unit, layout)
                spent.append(seconds)
                overlaps.append(
                    len({*mine[:10]} & {*theirs[:10]}) / len(theirs[:10]) if theirs else 1.0
                )
                same.append(float(mine[:10] == theirs[:10]))
                for who, ranked in (("engine", mine), ("local", theirs)):
                    gains[who].append(metrics(ranked, wanted)["ndcg_at_10"])
    if not overlaps:
        return
    times = [1000 * quantile(spent, share) for share in (0.5, 0.99)]
    print(
        f"{name}, {unit}, {len(overlaps)}, {mean(overlaps):.4f}, {mean(same):.3f}, "
        f"{100 * mean(gains['engine']):.2f}, {100 * mean(gains['local']):.2f}, "
        f"{times[0]:.1f}, {times[1]:.1f}",
        flush=True,
    )


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
    parser.add_argument("what", choices=["ranking", "fresh"])
    parser.add_argument("--heap", default="512m")
    parser.add_argument("--sets", nargs="*", default=["locomo", "cookbook-docs", "xquad-zh"])
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--meaning", action="store_true")
    given = parser.parse_args()
    {"ranking": ranking, "fresh": fresh}[given.what](given)


if __name__ == "__main__":
    main()
