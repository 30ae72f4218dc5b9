"""Hybrid search against a plain reference, and with failing embedders."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import commonplace
from commonplace.adapters.embedders import CallableEmbedder
from commonplace.errors import ModelError, QueryError
from commonplace.recall.calibration import Calibration
from commonplace.recall.fusion import Channels
from commonplace.recall.hybrid import HybridSearch
from commonplace.recall.hybrid_hits import HybridHit, HybridHits
from commonplace.recall.near_duplicates import overlap, terms
from commonplace.recall.vectors import Vectors

LETTERS = "abcdefgh"


def count_letters(texts: list[str]) -> list[list[float]]:
    return [[text.count(letter) + 0.01 for letter in LETTERS] for text in texts]


def letters(answer: Callable[[list[str]], Any] = count_letters) -> CallableEmbedder:
    return CallableEmbedder(answer, "letters", len(LETTERS))


def cited(answer: HybridHits) -> list[str]:
    return [one.hit.citation for one in answer]


def by_hand(
    store: commonplace.Store,
    query: str,
    limit: int,
    weights: tuple[float, float],
    floor: float,
    duplicates: float,
) -> list[tuple[str, int, float]]:
    """Return what a recall must: every document scored, one rule after the other."""
    hits = store.search(query, 1000, unit="message")
    lexical = {(hit.path, hit.start): hit.score for hit in hits}
    near = {
        (hit.path, hit.start): (cosine, hit)
        for hit, cosine in Vectors(store, letters()).nearest(query, 1000)
    }
    cosines = sorted(cosine for cosine, _ in near.values())
    others = cosines[: len(cosines) - max(1, len(cosines) // 10)]
    mean = sum(others) / len(others) if others else 0.0
    squares = sum((cosine - mean) ** 2 for cosine in others) + 0.02**2
    spread = math.sqrt(squares / (len(others) + 1)) if others else 0.02
    chance = NormalDist().inv_cdf(0.5 ** (1 / max(len(cosines), 1)))
    best = (max(cosines, default=0.0) - mean) / spread
    factor = 0.0009 * 3**2 * (1 + 0.5 * min(max(best - chance, -1), 3))
    least = -math.inf if floor <= 0 else math.inf if floor >= 1 else NormalDist().inv_cdf(floor)
    is_small = chance < least < math.inf
    scored = []
    for key, (cosine, hit) in near.items():
        level = (cosine - mean) / spread
        resembles = level >= least or (is_small and cosine >= 0.35)
        if key not in lexical and not resembles:
            continue
        share = lexical.get(key, 0) / max(lexical.values(), default=1)
        words = max(hits.confidence, 0.05) ** 1.25 * share
        evidence = np.logaddexp(0, level - chance + 3)
        evidence = evidence if evidence <= 6 else 6 + (evidence - 6) / 10
        scored.append((weights[0] * words + weights[1] * factor * evidence, key, hit))
    scored.sort(key=lambda one: (-one[0], one[1]))
    kept: list[tuple[float, tuple[str, int], Any]] = []
    for one in scored:
        words_of = terms(one[2].text)
        if all(overlap(words_of, terms(other[2].text)) <= duplicates for other in kept):
            kept.append(one)
    return [(*key, score) for score, key, _ in kept[:limit]]


@settings(max_examples=80, deadline=None)
@given(
    notes=st.lists(st.text("abcdefgh ", min_size=1, max_size=12), max_size=12),
    query=st.text("abcdefgh ", min_size=1, max_size=8).filter(str.strip),
    limit=st.integers(1, 12),
    weights=st.sampled_from([(1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (2, 5)]),
    floor=st.sampled_from([-1.0, 0.5, 0.98, 1.1]),
    duplicates=st.sampled_from([0.0, 0.7, 1.0]),
)
def test_fusion_is_what_the_plain_reference_says(
    notes: list[str],
    query: str,
    limit: int,
    weights: tuple[float, float],
    floor: float,
    duplicates: float,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with commonplace.open(tmp_path_factory.mktemp("memory")) as store:
        for number, text in enumerate(notes):
            (store.root / f"{number:02}.md").write_text(text)
        made = HybridSearch(
            store,
            letters(),
            weights=weights,
            floor=floor,
            duplicates=duplicates,
        )
        answer = made.search(query, limit)
        want = by_hand(store, query, limit, weights, floor, duplicates)
        got = [(one.hit.path, one.hit.start, one.score) for one in answer]
        assert [score for *_, score in got] == pytest.approx(
            [score for *_, score in want], abs=1e-6
        )
        # rounding may turn those that tie
        are_apart = all(one[2] - other[2] > 1e-5 for one, other in pairwise(want))
        if are_apart and duplicates == 1.0:
            assert [row[:2] for row in got] == [row[:2] for row in want]
        assert [score for *_, score in got] == sorted((score for *_, score in got), reverse=True)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_an_embedder_that_answers_anything(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    numbers = st.floats(allow_nan=True, allow_infinity=True)
    rows = st.lists(st.lists(numbers, min_size=7, max_size=9), max_size=4)

    def anything(_: list[str]) -> Any:
        return data.draw(st.one_of(st.none(), st.text(), numbers, rows, st.just(rows)))

    def right(texts: list[str]) -> Any:
        size = st.lists(numbers, min_size=8, max_size=8)
        return data.draw(st.lists(size, min_size=len(texts), max_size=len(texts)))

    with commonplace.open(tmp_path_factory.mktemp("memory")) as store:
        for number, text in enumerate(("abc abd", "cafe bad", "gag hedge")):
            store.write(f"{number}.md", text)
        answers = data.draw(st.sampled_from([anything, right]))
        answer = HybridSearch(store, CallableEmbedder(answers, "any", 8)).search("cafe abc")
        scores = [one.score for one in answer]
        assert scores == sorted(scores, reverse=True)
        assert all(math.isfinite(score) and score >= 0 for score in scores)
        assert {"0.md", "1.md"} <= {one.hit.path for one in answer}


def test_without_an_embedder_it_is_the_search(store: commonplace.Store) -> None:
    for number in range(9):
        store.write(f"{number}.md", f"tea {'cup ' * number}and {number * 'word '}number{number}\n")
    answer = HybridSearch(store, duplicates=1).search("tea cup word", 5)
    hits = store.search("tea cup word", 5)
    assert cited(answer) == [hit.citation for hit in hits]
    assert [one.score for one in answer] == [hit.score / hits[0].score for hit in hits]
    assert all(one.cosine is None and one.lexical == one.score for one in answer)
    assert answer.notes == ["found by words only: there is no embedder"]
    assert answer.freshness == "fresh"
    assert (answer[0], *answer[1:4], answer[-1]) == tuple(answer)
    assert "HybridHits([HybridHit(" in repr(answer)
    assert isinstance(answer[0], HybridHit)


def test_a_statement_that_no_longer_holds_counts_less_to_vectors(store: commonplace.Store) -> None:
    store.write("a.md", "- ~~abab abba~~ <!-- META: until=2026-01-05 -->\n")
    store.write("b.md", "- abab abba\n")
    answer = HybridSearch(store, letters(), duplicates=1).search("baab")
    assert cited(answer) == ["b.md#L1", "a.md#L1"]
    assert [one.lexical for one in answer] == [None, None]
    assert "× 0.7 = it no longer holds" in answer[1].explain()
    assert "holds" not in answer[0].explain()


@pytest.mark.parametrize("by_vectors", [True, False])
def test_the_best_by_words_that_no_longer_holds_counts_less(
    store: commonplace.Store, by_vectors: bool
) -> None:
    store.write("a.md", "- ~~abab abba~~ <!-- META: until=2026-01-05 -->\n")
    store.write("b.md", "- abab baba\n")
    answer = HybridSearch(store, letters() if by_vectors else None, duplicates=1).search(
        "abab abba"
    )
    ended = next(one for one in answer if one.hit.ended)
    assert ended.lexical == 1
    assert "× 0.7 = it no longer holds" in ended.explain()
    whole = ended.channels.score(1, ended.cosine) if ended.channels else 1
    assert ended.score == pytest.approx(0.7 * whole)


def test_vectors_find_what_words_do_not(store: commonplace.Store) -> None:
    store.write("a.md", "abab abba\n")
    store.write("b.md", "hhhh gghh\n")
    answer = HybridSearch(store, letters()).search("baab")
    assert cited(answer) == ["a.md#L1"]
    assert answer[0].lexical is None
    assert answer[0].score > 0
    assert "words: not found" in answer[0].explain()
    assert answer[0].citation == answer[0].hit.citation
    assert answer.notes == []
    # what a person writes counts at once
    (store.root / "b.md").write_text("aabb bb\n")
    assert set(cited(HybridSearch(store, letters()).search("baab"))) == {"a.md#L1", "b.md#L1"}


def test_what_is_nearer_counts_more_and_far_above_chance_a_tenth() -> None:
    calibration = Calibration(100, 0.0, 0.1)
    channels = Channels(0.5, calibration, 1.0, 3.0, 1.0, (1.0, 1.0))
    levels = [channels.chance + above for above in (-9, -3, 0, 2.9, 5, 6)]
    counted = [channels.evidence(0.1 * level) for level in levels]
    assert counted == sorted(counted)
    assert counted[0] == pytest.approx(0, abs=0.01)
    assert counted[-1] - counted[-2] == pytest.approx(0.1, abs=0.001)


def test_a_floor_is_for_what_only_vectors_find(store: commonplace.Store) -> None:
    store.write("a.md", "hhhhhhhhh baab\n")
    store.write("b.md", "hhhhhhhhh ba\n")
    answer = HybridSearch(store, letters(), floor=0.9).search("baab")
    assert cited(answer) == ["a.md#L1"]
    assert 0 < (answer[0].cosine or 0) < 0.9


def test_filters_hold_for_vectors_as_well(store: commonplace.Store) -> None:
    log = store.transcript("s")
    for day, role, text in ((1, "user", "abab"), (2, "assistant", "baba"), (3, "user", "bbaa")):
        time_ = f"2026-03-0{day}T00:00:00Z"
        record = {"role": role, "content": text, "session": f"s{day}", "timestamp": time_}
        log.append(record)
    log.append({"role": "user", "content": "aaabbb", "timestamp": "8 May, 2023"})
    store.write("notes/a.md", "---\ncategory: style\n---\n\nabbaab\n")
    store.write("notesx.md", "aabb\n")
    search = HybridSearch(store, letters(), duplicates=1).search
    lines = {f"s/messages.jsonl#L{line}" for line in (1, 2, 3, 4)}

    def given_by(**filters: Any) -> set[str]:
        return set(cited(search("baab", **filters)))

    assert given_by() == lines | {"notes/a.md#L1", "notesx.md#L1"}
    assert given_by(prefix="notes") == given_by(prefix="notes/") == {"notes/a.md#L1"}
    assert given_by(prefix="notesx.md") == {"notesx.md#L1"}
    assert given_by(source="message") == lines
    assert given_by(source="note") == {"notes/a.md#L1", "notesx.md#L1"}
    assert given_by(role="assistant") == {"s/messages.jsonl#L2"}
    assert given_by(session="s3") == {"s/messages.jsonl#L3"}
    assert given_by(category="style") == {"notes/a.md#L1"}
    assert given_by(since="2026-03-02") == {f"s/messages.jsonl#L{line}" for line in (2, 3)}
    assert given_by(until="2026-03-02") == {f"s/messages.jsonl#L{line}" for line in (1, 4)}
    assert given_by(since="2026-03-02", until=datetime(2026, 3, 3, tzinfo=UTC)) == {
        "s/messages.jsonl#L2"
    }


@pytest.mark.parametrize("query", ['"abba"', 'x "abba"', "abba -hedge", 'abba -"a hedge"'])
def test_vectors_add_nothing_to_a_phrase_or_an_exclusion(
    store: commonplace.Store, query: str
) -> None:
    store.write("a.md", "abba\n")
    store.write("b.md", "abba abba a hedge aabb\n")
    store.write("c.md", "aabb bbaa\n")
    assert {path[:4] for path in cited(HybridSearch(store, letters()).search("abba"))} == {
        "a.md",
        "b.md",
        "c.md",
    }
    found = {path[:4] for path in cited(HybridSearch(store, letters()).search(query))}
    assert found == ({"a.md"} if "-" in query else {"a.md", "b.md"})


def test_a_filter_in_the_query_holds_for_vectors_too(store: commonplace.Store) -> None:
    log = store.transcript("s1")
    log.append({"role": "user", "content": "abba"})
    log.append({"role": "assistant", "content": "aabb bbaa"})
    recall = HybridSearch(store, letters())
    assert len(list(recall.search("abba"))) == 2
    assert [one.hit.role for one in recall.search("abba role:user")] == ["user"]


def test_what_differs_in_a_number_is_not_nearly_the_same(store: commonplace.Store) -> None:
    for number in range(3):
        store.write(f"zh{number}.md", f"- 我喜欢这家餐馆的第{number}号菜谱\n")
        store.write(f"en{number}.md", f"- The user has {number} cats in the flat at the harbour\n")
    day = "<!-- META: since=2026-02-{} -->"
    for number in range(2):
        store.write(
            f"day{number}.md", f"- The dog sleeps all day on the sofa {day.format(number)}\n"
        )
    assert len(list(HybridSearch(store).search("菜谱"))) == 3
    assert len(list(HybridSearch(store).search("cats flat"))) == 3
    assert len(list(HybridSearch(store).search("dog sofa"))) == 1


def test_nearly_the_same_is_said_once(store: commonplace.Store) -> None:
    store.write("a.md", "- The user prefers dark mode in every single editor\n")
    store.write("b.md", "- The user prefers dark mode in every single editor, always\n")
    store.write("c.md", "- The cat prefers dark rooms\n")
    answer = HybridSearch(store).search("dark mode editor")
    assert [one.hit.path for one in answer] == ["a.md", "c.md"]
    assert answer.notes[-1] == "1 left out that say nearly the same as a better one"
    assert len(HybridSearch(store, duplicates=1).search("dark mode editor")) == 3
    # none is missed for it
    assert [one.hit.path for one in HybridSearch(store).search("dark mode editor", 2)] == [
        "a.md",
        "c.md",
    ]


def test_terms_of_scripts_without_spaces() -> None:
    dark, light = terms("用户喜欢深色模式"), terms("用户喜欢浅色模式")
    assert overlap(dark, light) < 0.7
    assert overlap(dark, terms("用户喜欢深色模式。")) == 1
    assert overlap(terms(""), terms("🎉")) == 0


def test_age_counts_where_it_is_asked_for(store: commonplace.Store) -> None:
    log = store.transcript("s")
    now = time.time()
    for days, text in ((20, "tea tea"), (10, "tea and cake"), (0, "some tea with a biscuit")):
        moment = datetime.fromtimestamp(now - days * 86_400, UTC).isoformat()
        log.append({"role": "user", "content": text, "timestamp": moment, "session": f"{days}"})
    log.append({"role": "user", "content": "tea long ago it seems", "timestamp": "x"})
    plain = {one.hit.line: one.score for one in HybridSearch(store).search("tea")}
    aged = {one.hit.line: one.score for one in HybridSearch(store, half_life=10).search("tea")}
    for line, days in ((1, 20), (2, 10), (3, 0)):
        assert aged[line] == pytest.approx(plain[line] * 0.5 ** (days / 10), rel=1e-3)
    # what says no time is not old
    assert aged[4] == plain[4]
    store.write("a.md", "tea in a note")
    assert HybridSearch(store, half_life=10).search("tea", source="note")[0].score == pytest.approx(
        1, rel=1e-3
    )


def test_while_an_embedder_fails_words_find(store: commonplace.Store) -> None:
    down = True

    def answer(texts: list[str]) -> list[list[float]]:
        if down:
            raise TimeoutError("no answer")
        return count_letters(texts)

    store.write("a.md", "abba\n")
    made = HybridSearch(store, letters(answer))
    assert cited(made.search("abba")) == ["a.md#L1"]
    note = "found by words only: the embedder 'letters' failed: no answer"
    assert made.search("abba").notes == [note]
    down = False
    assert made.search("abba").notes == []
    assert made.search("abba")[0].cosine == pytest.approx(1, abs=1e-4)


def test_what_cannot_be_meant(store: commonplace.Store) -> None:
    wrong: list[dict[str, Any]] = [
        {"weights": (-1, 1)},
        {"weights": (0, 0)},
        {"weights": (math.nan, 1)},
        {"half_life": 0},
        {"half_life": math.inf},
        {"floor": math.nan},
    ]
    for options in wrong:
        with pytest.raises(ValueError, match=r"weight|half-life|floor"):
            HybridSearch(store, **options)
    for embedder in (None, letters()):
        with pytest.raises(QueryError):
            HybridSearch(store, embedder).search(" ")
        assert len(HybridSearch(store, embedder).search("x", 0)) == 0
    with pytest.raises(ModelError):
        HybridSearch(store, CallableEmbedder(count_letters, "none", 0))


def test_threads_share_one(store: commonplace.Store) -> None:
    made, wrong = HybridSearch(store, letters()), []

    def ask() -> None:
        for _ in range(15):
            answer = made.search("abba")
            if answer.freshness == "fresh" and any(one.cosine is None for one in answer):
                wrong.append(answer)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(40):
        store.write(f"{number % 9}.md", f"abba {number} {'ab' * (number % 5)}")
    for thread in threads:
        thread.join()
    assert wrong == []
