"""Benchmark of updates and open indexes: a changed section, reopening, memory, freshness, growth.

Corpus: the larger one of the run (win32-docs ×2.5; with --quick rust-book ×2.5). Why it exists:
an agent's memory changes between any two questions; this is what that costs.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from benches.baselines import Change, Ranked
from benches.commonplace_engine import Ours
from benches.corpora import SEED, Query
from benches.ranked import LIMIT, Notes, answer
from benches.ratios import OURS, Figures, Row, Table, percentiles, rounds
from benches.resident import Growth, measure
from benches.sections import read

# a p99 of twenty would be the slowest of them
CHANGES = 100


def changes(notes: Notes, label: str) -> Iterator[tuple[str, Change]]:
    """Yield (new word, change) for sections of different files, never ending, seeded."""
    draw = random.Random(f"{SEED} {label}")
    # any section will do, so the last one; a store refuses to write hidden files
    last = {
        section.path: section
        for section in notes.sections
        if not any(part.startswith(".") for part in Path(section.path).parts)
    }
    for number, path in enumerate(draw.sample(sorted(last), len(last))):
        section, text = last[path], read(notes.corpus.root, path)
        word = f"zq{label}{number}x"
        body = f"{section.body.rstrip()}\n\n{word}\n"
        yield (
            word,
            Change(section._replace(body=body), text[: section.start] + body + text[section.end :]),
        )


def change_once(contender: Ranked, batch: Sequence[tuple[str, Change]], lost: list[str]) -> Figures:
    """Return p50 and p99 from the change to its discovery by a query for the new word.

    `saved p50` and `saved p99` count from the moment when the change is made.
    """
    times, since_saved = [], []
    for word, change in batch:
        start = time.perf_counter()
        contender.update(change)
        saved = time.perf_counter()
        hits = contender.query([word], LIMIT, "text")
        end = time.perf_counter()
        times.append(end - start)
        since_saved.append(end - saved)
        # the path decides: a part of a very long section is cited by its own line
        if not hits or hits[0].partition("#")[0] != change.section.path:
            lost.append(f"{change.section.citation} not found after a change")
    found = {f"saved {name}": figure for name, figure in percentiles(since_saved).items()}
    return {**percentiles(times), **found}


def next_batch(
    contender: Ranked, batches: Iterator[list[tuple[str, Change]]], lost: list[str]
) -> Figures:
    """Output this contender's next batch; in one round all have the same one."""
    return change_once(contender, next(batches), lost)


def update(
    table: Table,
    notes: Notes,
    contenders: Mapping[str, Ranked],
    count: int,
    folder: Path,
    max_value: float | None,
) -> None:
    """Time changes that need not be on disk yet, then changes that must.

    The pages of all files in `folder` are in memory.
    """
    able = {name: contender for name, contender in contenders.items() if name != "bm25s"}
    for durable in (False, True):
        label = "d" if durable else "e"
        source = changes(notes, label)
        wanted = min(CHANGES, len({section.path for section in notes.sections}) // count)
        batches = [[next(source) for _ in range(wanted)] for _ in range(count)]
        lost: dict[str, list[str]] = {name: [] for name in able}
        own_batches = {name: iter(batches) for name in able}

        for contender in able.values():
            contender.sync(durable)
        measured = rounds(
            {
                name: partial(next_batch, contender, own_batches[name], lost[name])
                for name, contender in able.items()
            },
            count,
            warm=folder,
        )
        wrong = {name: f"{len(missed)}: {missed[0]}" for name, missed in lost.items() if missed}
        how = (
            "store.write, durable; FTS5 synchronous=FULL"
            if durable
            else "file overwritten by another program; FTS5 synchronous=OFF"
        )
        for figure in ("p50", "p99"):
            table.compare(
                f"one section changed → found, {figure} ({how})",
                notes.corpus.label,
                measured,
                figure,
                max_value=None if durable or figure == "p50" else max_value,
                min_ratios={"tantivy-py": 20}
                if figure == "p50" and not durable and max_value
                else None,
                wrong=wrong,
            )
            if OURS in measured and not durable:
                table.compare(
                    f"of that, from the saved file to its discovery, {figure}",
                    notes.corpus.label,
                    {OURS: measured[OURS]},
                    f"saved {figure}",
                    max_value=None if figure == "p50" else max_value,
                )


def reopen(
    table: Table,
    notes: Notes,
    contenders: Mapping[str, Ranked],
    built: float | None,
    count: int,
    folder: Path,
    max_value: float | None,
) -> None:
    """Time from closed to the first hit, with the pages of `folder` in memory.

    Ours also against our own build.
    """

    def run(contender: Ranked) -> Figures:
        contender.close()
        start = time.perf_counter()
        contender.reopen()
        contender.query(notes.queries[0].words, LIMIT, "snippet")
        return {"wall": time.perf_counter() - start}

    able = {
        name: partial(run, contender) for name, contender in contenders.items() if name != "bm25s"
    }
    measured = rounds(able, count, warm=folder)
    table.compare(
        "open what is on disk, to the first hit",
        notes.corpus.label,
        measured,
        "wall",
        max_value=max_value,
    )
    if built and measured.get(OURS):
        opened = median(figures["wall"] for figures in measured[OURS])
        table.add(
            Row(
                "open against our own build",
                notes.corpus.label,
                "own build",
                opened,
                built,
                built / opened,
                rounds=count,
                min_ratio=10 if max_value else None,
            )
        )


def memory(table: Table, notes: Notes, places: Mapping[str, Path], max_value: float | None) -> None:
    """Compare resident memory of open indexes per byte of Markdown, each in a fresh process."""
    words = [list(query.words) for query in notes.queries[::5]]
    grown: dict[str, Growth] = {}
    for name, place in places.items():
        if growth := measure(name, place, words):
            grown[name] = growth
    ours = grown.get("ours-open")
    for kind, target in (("resident", max_value), ("anonymous", None)):
        for name in [name for name in grown if not name.startswith("ours")] or ["–"]:
            mine = ours[kind] / notes.size if ours else None  # type: ignore[literal-required]
            theirs = grown[name][kind] / notes.size if name in grown else None  # type: ignore[literal-required]
            table.add(
                Row(
                    f"memory of the open index per byte of Markdown, {kind}",
                    notes.corpus.label,
                    name,
                    mine,
                    theirs,
                    theirs / mine if mine and theirs else None,
                    "B/B",
                    max_value=target,
                )
            )
    if after := grown.get("ours-build"):
        table.note(
            f"{notes.corpus.label}: just after a build ours holds "
            f"{after['resident'] / notes.size:.2f} B/B."
        )


def freshness(table: Table, notes: Notes, count: int, max_value: float | None) -> None:
    """Time a query that matches nothing while nothing changed: call and freshness check alone."""
    for watch, how in ((True, "watched"), (False, "stat data compared")):
        store = Ours(notes.corpus.root, watch=watch)
        nothing = [Query(("zzqxqzz",), ())] * (200 if watch else 20)
        answer(store, nothing[:5], "text")
        measured = rounds({OURS: partial(answer, store, nothing, "text")}, count)
        store.close()
        table.compare(
            f"freshness check and empty answer, p50 ({how})",
            notes.corpus.label,
            measured,
            "p50",
            max_value=max_value if watch else None,
        )


def growth(
    table: Table,
    small: tuple[Notes, Mapping[str, Ranked]],
    large: tuple[Notes, Mapping[str, Ranked]],
    count: int,
    max_value: float | None,
) -> None:
    """Compare the median query on ten times the sections; queries are of the small corpus."""
    queries = small[0].queries[::5]
    factors: dict[str, list[Figures]] = {}
    for name in small[1]:
        measured = rounds(
            {
                "small": partial(answer, small[1][name], queries, "text"),
                "large": partial(answer, large[1][name], queries, "text"),
            },
            count,
        )
        factors[name] = [
            {"factor": many["p50"] / few["p50"]}
            for few, many in zip(measured["small"], measured["large"], strict=True)
        ]
    times = len(large[0].sections) / len(small[0].sections)
    table.compare(
        f"growth of query p50, {times:.1f}× the sections",
        large[0].corpus.label,
        factors,
        "factor",
        unit="×",
        max_value=max_value,
    )
