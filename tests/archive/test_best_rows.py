"""The best rows of the archive are those of the whole query, and many files are read as one is."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import commonplace
from commonplace.engines import archive_index
from commonplace.engines.archive_index import ArchiveIndex, Place
from commonplace.engines.archive_part import NUMBERS, ArchivePart
from commonplace.engines.archive_queries import ArchiveQueries, _merged, _widened
from tests.archive.helpers import line

NAMES = ["erare", "esome", "emany", "emost", "eall"]
# for each row how often it has each name: frequent ones in most rows
ROWS = st.lists(
    st.tuples(
        st.integers(0, 4).map(lambda count: max(0, count - 3)),
        st.integers(0, 3).map(lambda count: max(0, count - 2)),
        st.integers(0, 2),
        st.integers(0, 4),
        st.integers(1, 4),
        st.integers(0, 20),
    ),
    min_size=1,
    max_size=60,
)


def made(folder: Path, rows: list[tuple[int, ...]]) -> ArchiveIndex:
    """Return an index of rows with so many of each name and of others, in several segments."""
    index = ArchiveIndex(folder)
    index.make()
    index.begin(lambda: None)
    for at, (*counts, others) in enumerate(rows):
        names = [name for name, count in zip(NAMES, counts, strict=True) for _ in range(count)]
        text = " ".join([*names, *(f"e{at}{other}" for other in range(others))])
        index.add(at, [json.dumps({"t": text, "f": at, **dict.fromkeys(NUMBERS, at)})])
        if at % 25 == 24:
            index.commit()
    index.commit()
    index.end(merge=True)
    index.reload()
    return index


def places(rows: list[tuple[float, Place]]) -> list[tuple[int, int, int]]:
    """Return where rows are."""
    return [(part, at.segment_ord, at.doc) for _, (part, at) in rows]


@settings(deadline=None, max_examples=60)
@given(
    ROWS,
    st.lists(st.floats(0.1, 12.0), min_size=5, max_size=5),
    st.sampled_from([1, 3, 10, 100]),
    st.booleans(),
)
def test_the_best_rows_are_those_of_the_whole_query(
    rows: list[tuple[int, ...]], weights: list[float], most: int, is_large: bool
) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        if is_large:
            patched.setattr(archive_index, "MANY", 0)
        index = made(Path(folder) / "index", rows)
        queries = ArchiveQueries(index)
        own_weights = dict(zip(NAMES, weights, strict=True))
        weighted = {name: own_weights[name] for name in NAMES if index.count_rows(name)}

        def whole(part: ArchivePart, _most: int, *, required: list[Any]) -> list[tuple[float, Any]]:
            own = [name for name in weighted if part.count_rows(name)]
            either = queries._either([part.weighted(name, weighted[name]) for name in own])
            zero = [queries._query.const_score_query(one, 0.0) for one in required]
            return part.best([either, *zero], [], len(rows)) if own else []

        for required in ([], [index.term("emost")]):
            expected = dict_of(index.best(partial(whole, required=required), len(rows)))
            best = queries.best(weighted, required, most)
            assert len(best) == min(most, len(expected)) == len(set(places(best)))
            scores = sorted(expected.values(), reverse=True)[:most]
            assert [score for score, _ in best] == pytest.approx(scores, rel=1e-5)
            own = [expected[place] for place in places(best)]
            assert [score for score, _ in best] == pytest.approx(own, rel=1e-5)
        index.close()


def dict_of(rows: list[tuple[float, Place]]) -> dict[tuple[int, int, int], float]:
    """Return the score of each row by its place."""
    return dict(zip(places(rows), (score for score, _ in rows), strict=True))


def test_names_are_scored_together_where_it_takes_less() -> None:
    assert _widened([10, 15, 60, 70], 0, 1) == 2
    assert _widened([10, 15, 40, 70], 0, 1) == 4
    assert _widened([10, 15, 40, 70], 2, 3) == 4
    assert _widened([10], 0, 1) == 1


def test_the_best_of_two_searches_are_each_row_once(tmp_path: Path) -> None:
    index = made(tmp_path / "index", [(1, 0, 0, 0, 1, 0), (0, 1, 0, 0, 1, 0), (0, 0, 1, 0, 1, 0)])
    address = index.tantivy.DocAddress
    rows = [address(0, 0), address(0, 1), address(0, 2)]

    def merged(before: list[tuple[float, Any]], new: list[tuple[float, Any]], most: int) -> Any:
        return [(at.segment_ord, at.doc) for _, at in _merged(before, new, most)]

    assert merged([(3.0, rows[0])], [(2.0, rows[0]), (1.0, rows[1])], 3) == [(0, 0), (0, 1)]
    assert merged([(3.0, rows[0])], [(4.0, rows[1])], 1) == [(0, 1)]
    assert merged([(3.0, rows[0])], [(3.0, rows[1])], 1) == [(0, 0)]


def test_messages_of_many_files_are_ranked_as_by_the_store(tmp_path: Path) -> None:
    words = ("kettle", "river", "walk", "boat", "green", "tea", "stone")
    for at in range(60):
        path = tmp_path / f"sessions/p{at % 7}/2025-01-01-{at:03}/messages.jsonl"
        path.parent.mkdir(parents=True)
        said = [" ".join(words[(at * step) % 7] for step in (1, 2, 3, turn)) for turn in range(4)]
        roles = ("user", "assistant", "user", "assistant")
        path.write_text(
            "".join(
                line(text, f"s{at}", "2025-01-01", role)
                for text, role in zip(said, roles, strict=True)
            )
        )
    queries = ("kettle river", "green tea", '"walk boat"', "stone -tea", "kett*")
    with commonplace.open(tmp_path) as store:
        before = [shown(store, query) for query in queries]
        assert store.archive(older="2027-01-01").messages == 240
        assert [shown(store, query) for query in queries] == before


def shown(store: commonplace.Store, query: str) -> list[tuple[str, float, str]]:
    """Return what is found, with scores."""
    return [(hit.citation, round(hit.score, 9), hit.snippet) for hit in store.search(query)]
