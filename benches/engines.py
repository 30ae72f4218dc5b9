"""Engines against the index of a store, on labelled sets: top ten in common, difference of nDCG@10.

    python benches/engines.py ../shared/data/labelled/*.jsonl.gz --queries 300

Hits are messages and sections. `overlap` is the share of the store's ten best hits that the engine
has among its own, over queries with hits.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import commonplace
from commonplace import Store, evaluation
from commonplace.engines import Engine, search
from commonplace.engines.archive import ArchiveEngine
from commonplace.engines.memory import MemoryEngine

ENGINES: dict[str, Callable[[Store], Engine]] = {"archive": ArchiveEngine, "memory": MemoryEngine}
DEPTH = 10

Row = tuple[float | None, float, float, float]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--engine", choices=ENGINES, default="archive")
    parser.add_argument("--queries", type=int, default=300, help="most queries of a set")
    given = parser.parse_args()
    print("| set | queries | overlap | nDCG@10 store | engine | difference | p50 ms |")
    print("|---|---|---|---|---|---|---|")
    for file in given.sets:
        rows: list[Row] = list(compared(file, given.engine, given.queries))
        overlap = [share for share, *_ in rows if share is not None]
        home = 100 * sum(row[1] for row in rows) / len(rows)
        own = 100 * sum(row[2] for row in rows) / len(rows)
        spent = evaluation.quantile([1000 * row[3] for row in rows], 0.5)
        name = file.name.split(".")[0]
        mean = sum(overlap) / max(len(overlap), 1)
        figures = f"{mean:.4f} | {home:.2f} | {own:.2f} | {own - home:+.2f} | {spent:.1f}"
        print(f"| {name} | {len(rows)} | {figures} |", flush=True)


def compared(file: Path, engine: str, most: int) -> Iterator[Row]:
    """Yield overlap, both nDCG@10 and the seconds of the engine for each query of a set."""
    left = most
    for group in evaluation.groups(file):
        with tempfile.TemporaryDirectory(prefix="commonplace-engines-") as folder:
            for row in of_group(group, engine, Path(folder), left):
                yield row
                left -= 1
        if left <= 0:
            return


def of_group(group: Mapping[str, Any], name: str, folder: Path, most: int) -> Iterator[Row]:
    roots = [folder / "home", folder / "engine"]
    for root in roots:
        root.mkdir()
        layout = evaluation.write_corpus(group["documents"], root)
    with commonplace.open(roots[0]) as home, commonplace.open(roots[1]) as store:
        engine: Engine = ENGINES[name](store)
        for entry in store.list():
            engine.add(entry.path, (roots[1] / entry.path).read_bytes())
        engine.commit()
        for query in group["queries"][:most]:
            relevant = evaluation.relevant_units(query, "message", layout)
            if not relevant:
                continue
            own = home.search(query["text"], DEPTH, unit="message")
            began = time.perf_counter()
            other = search(engine, query["text"], DEPTH, unit="message")
            spent = time.perf_counter() - began
            both = [[(hit.path, hit.start) for hit in hits] for hits in (own, other)]
            share = len(set(both[0]) & set(both[1])) / len(both[0]) if both[0] else None
            gains = [
                evaluation.metrics(
                    list(dict.fromkeys(layout.document(h.source, h.path, h.line) for h in hits)),
                    relevant,
                )["ndcg_at_10"]
                for hits in (own, other)
            ]
            yield share, gains[0], gains[1], spent


if __name__ == "__main__":
    main()
