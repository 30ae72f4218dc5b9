"""Benchmark of ranked search: building the index, and query latency, warm and never asked before.

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

from benches.baselines import Output, Ranked
from benches.corpora import Corpus, Query, heading_queries
from benches.ratios import OURS, Figures, Table, percentiles, rounds
from benches.sections import Section, citation_of_section, split_root

LIMIT = 10
MIN_OVERLAP = 0.2  # FTS5 and tantivy-py share 0.57 of their top ten on win32-docs


class Notes(NamedTuple):
    """A corpus in a folder of its own, its sections for the baselines, and its queries."""

    corpus: Corpus
    sections: list[Section]
    queries: list[Query]
    split_seconds: float
    size: int


def prepare(
    corpus: Corpus,
    queries: int,
    draw: Callable[[Sequence[Section], int], list[Query]] = heading_queries,
) -> Notes:
    """Split a corpus into sections for the baselines and draw the queries."""
    start = time.perf_counter()
    sections = split_root(corpus.root)
    split_seconds = time.perf_counter() - start
    size = sum(file.stat().st_size for file in corpus.root.rglob("*.md"))
    print(f"{corpus.label}: {size / 1e6:.1f} MB, {len(sections):,} sections", flush=True)
    return Notes(corpus, sections, draw(sections, queries), split_seconds, size)


Makers = Mapping[str, Callable[[Path], Ranked]]


def build(
    table: Table, notes: Notes, makers: Makers, folder: Path, count: int, min_ratio: float | None
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
            return {"ready": ready, "saved": ready, "with split": ready + notes.split_seconds}
        contender.close()
        saved = time.perf_counter() - start
        contender.reopen()
        return {"ready": ready, "saved": saved, "with split": ready}

    measured = rounds({name: partial(run, name) for name in makers}, count)
    min_ratios = dict.fromkeys(("tantivy-py", "FTS5"), min_ratio) if min_ratio else {}
    label = notes.corpus.label
    if notes.split_seconds:
        # Markdown in, ready to search: for the baselines, Python has to split it
        what = "build, Markdown in, ready to search; baseline splits it in Python"
        table.compare(what, label, measured, "with split", min_ratios=min_ratios)
    table.compare("the same, baseline gets ready-made sections", label, measured, "ready")
    if OURS in latest:
        table.compare("that, our snapshot written too", label, measured, "saved")
    for contender in latest.values():
        contender.settle()
    return latest


def answer(contender: Ranked, queries: Sequence[Query], output: Output) -> Figures:
    """Return p50 and p99 over the queries, each timed on its own."""
    times = []
    for query in queries:
        start = time.perf_counter()
        contender.query(query.words, LIMIT, output)
        times.append(time.perf_counter() - start)
    return percentiles(times)


def check(
    table: Table, notes: Notes, contenders: Mapping[str, Ranked], queries: Sequence[Query]
) -> dict[str, str]:
    """Compare answers, untimed, and return what is wrong with whom; it also warms everyone."""
    section_of = citation_of_section(notes.sections)
    found = {
        name: [
            [section_of(hit) for hit in contender.query(query.words, LIMIT, "text")]
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
            if overlap < MIN_OVERLAP and name not in wrong:
                wrong[name] = f"top {LIMIT} share only {overlap:.0%}"
        if rates[OURS] < best - 0.05:
            wrong[OURS] = (
                f"we find {rates[OURS]:.0%} of known sections, the best baseline {best:.0%}"
            )
    return wrong


class MinRatios(NamedTuple):
    """The minimum ratios of query latency to each baseline."""

    p50: Mapping[str, float]
    p99: Mapping[str, float]


def query(
    table: Table,
    notes: Notes,
    contenders: Mapping[str, Ranked],
    outputs: Sequence[Output],
    count: int,
    min_ratios: MinRatios | None,
) -> None:
    """Time all queries against the quick baselines and every fifth against slow FTS5."""
    quick = {
        name: contender for name, contender in contenders.items() if not name.startswith("FTS5")
    }
    slow = {name: contender for name, contender in contenders.items() if name not in quick}
    # each baseline in a group of its own queries, ours in both, so that a pair answers the same
    groups = [(quick, notes.queries), ({**own(quick), **slow}, notes.queries[::5])]
    for group, queries in groups:
        if not set(group) - {OURS}:
            continue
        wrong = check(table, notes, group, queries)
        for output in outputs:
            group_now = {
                name: partial(answer, contender, queries, output)
                for name, contender in group.items()
                if not (name == "bm25s" and output == "snippet")
            }
            measured = rounds(group_now, count)
            label = "stored text" if output == "text" else "snippets"
            what = f"{len(queries)} queries, top {LIMIT} with {label}"
            for figure in ("p50", "p99"):
                table.compare(
                    f"{what}, {figure}",
                    notes.corpus.label,
                    measured,
                    figure,
                    min_ratios=getattr(min_ratios, figure, None),
                    wrong=wrong,
                )


def first_time_queries(
    table: Table,
    notes: Notes,
    contenders: Mapping[str, Ranked],
    output: Output,
    count: int,
    folder: Path,
) -> None:
    """Time queries that were never asked before: others in each round, so that none is in a cache.

    The pages of all files in `folder` are in memory.
    """
    asked = {query.words for query in notes.queries}
    chosen = heading_queries(notes.sections, (count + 1) * len(notes.queries))
    fresh = [query for query in chosen if query.words not in asked]
    size = min(len(notes.queries), len(fresh) // count)
    batches = [fresh[number * size :][:size] for number in range(count)]

    def next_batch(contender: Ranked, own_batches: Iterator[list[Query]]) -> Figures:
        return answer(contender, next(own_batches), output)

    runs = {
        name: partial(next_batch, contender, iter(batches))
        for name, contender in contenders.items()
    }
    measured = rounds(runs, count, warm=folder)
    for figure in ("p50", "p99"):
        table.compare(
            f"{size} queries, each asked once, top {LIMIT} with {output}s, {figure}",
            notes.corpus.label,
            measured,
            figure,
        )


def own(contenders: Mapping[str, Ranked]) -> dict[str, Ranked]:
    """Return only ours."""
    return {name: contender for name, contender in contenders.items() if name == OURS}
