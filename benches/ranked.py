"""Benchmark of ranked search on notes: build, query, update, open, memory, freshness, growth.

Corpora: win32-docs (20,222 files, 100 MB) as it is and copied ×2.5 (about 250,000 sections);
with --quick rust-book; Chinese on lctt-zh. Why it exists: these are the rows of the project
targets. Each contender answers the same queries with the same words, all of them OR-ed; the
answers are compared before their times count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from benches.corpora import Corpus, Query, heading_queries
from benches.ratios import OURS, Figures, Table, percentiles, rounds
from benches.baselines import Ranked, Take
from benches.sections import Section, split_root, whole

LIMIT = 10
LEAST_SHARED = 0.2  # FTS5 and tantivy-py share 0.57 of their top ten on win32-docs


class Notes(NamedTuple):
    """A corpus in a folder of its own, cut for the rivals, with its queries."""

    corpus: Corpus
    sections: list[Section]
    queries: list[Query]
    cutting: float
    size: int


def prepare(
    corpus: Corpus,
    queries: int,
    draw: Callable[[Sequence[Section], int], list[Query]] = heading_queries,
) -> Notes:
    """Cut a corpus for the rivals and draw the queries."""
    start = time.perf_counter()
    sections = split_root(corpus.root)
    cutting = time.perf_counter() - start
    size = sum(file.stat().st_size for file in corpus.root.rglob("*.md"))
    print(f"{corpus.label}: {size / 1e6:.1f} MB, {len(sections):,} sections", flush=True)
    return Notes(corpus, sections, draw(sections, queries), cutting, size)


Makers = Mapping[str, Callable[[Path], Ranked]]


def build(
    table: Table, notes: Notes, makers: Makers, folder: Path, count: int, floor: float | None
) -> dict[str, Ranked]:
    """Build everything `count` times and return the last ones, open and settled."""
    latest: dict[str, Ranked] = {}
    made: dict[str, int] = {}

    def run(name: str) -> Figures:
        if old := latest.pop(name, None):
            old.close()
        made[name] = made.get(name, 0) + 1
        contender = makers[name](folder / f"{name}-{made[name]}".replace(" ", "-"))
        start = time.perf_counter()
        contender.build()
        ready = time.perf_counter() - start
        latest[name] = contender
        if name != OURS:
            return {"ready": ready, "saved": ready, "cut": ready + notes.cutting}
        contender.close()
        saved = time.perf_counter() - start
        contender.reopen()
        return {"ready": ready, "saved": saved, "cut": ready}

    measured = rounds({name: partial(run, name) for name in makers}, count)
    floors = dict.fromkeys(makers, floor) if floor else {}
    bars = {name: bar for name, bar in floors.items() if bar and name in ("tantivy-py", "FTS5")}
    label = notes.corpus.label
    if notes.cutting:
        # Markdown in, ready to search: for the rivals, somebody has to cut it
        what = "build, Markdown in, ready to search; rival cuts it in Python"
        table.compare(what, label, measured, "cut", floors=bars)
    table.compare("the same, rival gets sections ready cut", label, measured, "ready")
    if OURS in latest:
        table.compare("that, our snapshot written too", label, measured, "saved")
    for contender in latest.values():
        contender.settle()
    return latest


def answer(contender: Ranked, queries: Sequence[Query], take: Take) -> Figures:
    """Return p50 and p99 over the queries, each timed on its own."""
    times = []
    for query in queries:
        start = time.perf_counter()
        contender.query(query.words, LIMIT, take)
        times.append(time.perf_counter() - start)
    return percentiles(times)


def check(
    table: Table, notes: Notes, contenders: Mapping[str, Ranked], queries: Sequence[Query]
) -> dict[str, str]:
    """Compare answers, untimed, and return what is wrong with whom; it also warms everyone."""
    section = whole(notes.sections)
    found = {
        name: [
            [section(hit) for hit in contender.query(query.words, LIMIT, "text")]
            for query in queries
        ]
        for name, contender in contenders.items()
    }
    known = [place for place, query in enumerate(queries) if query.citations]
    rates = {
        name: mean(bool({*queries[place].citations} & {*answers[place]}) for place in known)
        if known
        else 0.0
        for name, answers in found.items()
    }
    empty = {name: sum(not hits for hits in answers) for name, answers in found.items()}
    if known:
        told = ", ".join(f"{name} {rate:.0%} ({empty[name]} empty)" for name, rate in rates.items())
        table.note(
            f"{notes.corpus.label}: a section is in the top {LIMIT} for words of its own heading "
            f"({len(known)} queries): {told}."
        )
    best = max(rates.values())
    wrong = {
        name: f"{name} finds only {rate:.0%} of known sections"
        for name, rate in rates.items()
        if name != OURS and rate < best / 2
    }
    if OURS in found:
        for name, answers in found.items():
            if name == OURS:
                continue
            shared = [
                len(set(ours) & set(theirs)) / min(len(set(ours)), len(set(theirs)))
                for ours, theirs in zip(found[OURS], answers, strict=True)
                if ours and theirs
            ]
            overlap = mean(shared) if shared else 0.0
            table.note(f"{notes.corpus.label}: top {LIMIT} of ours and {name} share {overlap:.0%}.")
            if overlap < LEAST_SHARED and name not in wrong:
                wrong[name] = f"top {LIMIT} share only {overlap:.0%}"
        if rates[OURS] < best - 0.05:
            wrong[OURS] = f"we find {rates[OURS]:.0%} of known sections, the best rival {best:.0%}"
    return wrong


class Floors(NamedTuple):
    """The bars for a query against each rival."""

    p50: Mapping[str, float]
    p99: Mapping[str, float]


def query(
    table: Table,
    notes: Notes,
    contenders: Mapping[str, Ranked],
    takes: Sequence[Take],
    count: int,
    floors: Floors | None,
) -> None:
    """Time all queries against the quick rivals and every fifth against slow FTS5."""
    quick = {
        name: contender for name, contender in contenders.items() if not name.startswith("FTS5")
    }
    slow = {name: contender for name, contender in contenders.items() if name not in quick}
    # each rival in a group of its own queries, ours in both, so that a pair answers the same
    groups = [(quick, notes.queries), ({**own(quick), **slow}, notes.queries[::5])]
    for group, queries in groups:
        if not set(group) - {OURS}:
            continue
        wrong = check(table, notes, group, queries)
        for take in takes:
            group_now = {
                name: partial(answer, contender, queries, take)
                for name, contender in group.items()
                if not (name == "bm25s" and take == "snippet")
            }
            measured = rounds(group_now, count)
            taken = "stored text" if take == "text" else "snippets"
            what = f"{len(queries)} queries, top {LIMIT} with {taken}"
            for figure, bars in (("p50", floors and floors.p50), ("p99", floors and floors.p99)):
                table.compare(
                    f"{what}, {figure}",
                    notes.corpus.label,
                    measured,
                    figure,
                    floors=bars,
                    wrong=wrong,
                )


def unasked(
    table: Table,
    notes: Notes,
    contenders: Mapping[str, Ranked],
    take: Take,
    count: int,
    folder: Path,
) -> None:
    """Time queries that nobody was asked before, others in each round: nothing of them is kept.

    The pages of all files in `folder` are in memory.
    """
    asked = {query.words for query in notes.queries}
    chosen = heading_queries(notes.sections, (count + 1) * len(notes.queries))
    fresh = [query for query in chosen if query.words not in asked]
    size = min(len(notes.queries), len(fresh) // count)
    batches = [fresh[number * size :][:size] for number in range(count)]

    def turn(contender: Ranked, turns: Iterator[list[Query]]) -> Figures:
        return answer(contender, next(turns), take)

    turns = {
        name: partial(turn, contender, iter(batches)) for name, contender in contenders.items()
    }
    measured = rounds(turns, count, warm=folder)
    for figure in ("p50", "p99"):
        table.compare(
            f"{size} queries, each asked once, top {LIMIT} with {take}s, {figure}",
            notes.corpus.label,
            measured,
            figure,
        )


def own(contenders: Mapping[str, Ranked]) -> dict[str, Ranked]:
    """Return only ours."""
    return {name: contender for name, contender in contenders.items() if name == OURS}
