"""Vectors in the search engine as k-NN: as in a local store; on a double and for real."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

import commonplace
from commonplace import SearchFilter
from commonplace.adapters.embedders import CallableEmbedder
from commonplace.adapters.meaning import search_by_meaning
from commonplace.service import scope
from commonplace.service.reindex import reindex
from commonplace.service.scope import Search
from commonplace.service.vector_field import VectorField
from commonplace.service.vectors import TenantVectors
from tests.opensearch.double import double
from tests.opensearch.tenants import Tenants

LETTERS = "abcdefghijklmnopqrst"
KEY = "0123456789abcdef0123456789abcdef"
LIMIT = 10


def counted(texts: list[str]) -> list[list[float]]:
    return [[text.count(one) + 0.01 for one in LETTERS] for text in texts]


EMBEDDER = CallableEmbedder(counted, "letters", len(LETTERS))


@pytest.fixture(params=["double", pytest.param("real", marks=pytest.mark.fleet)])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "real":
        yield request.getfixturevalue("knn_cluster").url
        return
    with double() as fake:
        yield fake.url


@pytest.fixture
def tenants(url: str, tmp_path: Path) -> Iterator[Tenants]:
    with Tenants(tmp_path, url, f"v{uuid4().hex[:8]}", embedder=EMBEDDER) as made:
        yield made


def written(tenants: Tenants, name: str) -> None:
    """Write notes and a transcript of a tenant, and index them, all at once.

    What is measured of vectors is measured anew when there are many others: so here of the same
    documents as in a local store.
    """
    chosen = random.Random(3)  # noqa: S311 - the same texts each time
    words = ["".join(chosen.choices(LETTERS, k=5)) for _ in range(60)]
    notes = [
        "".join(
            f"# {name} {chosen.choice(words)}\n\n{' '.join(chosen.choices(words, k=12))}\n\n"
            for _ in range(6)
        )
        for _ in range(12)
    ]
    messages = [
        {
            "role": ("user", "assistant")[number % 2],
            "content": f"{name} {' '.join(chosen.choices(words, k=9))}",
        }
        for number in range(40)
    ]
    with tenants.process.stores.of(tenants.grant(name).key) as store:
        for number, note in enumerate(notes):
            store.write(f"notes/{number}.md", note)
        store.transcript("sessions/s1").extend(messages)
    rebuilt(tenants, name)


def rebuilt(tenants: Tenants, name: str) -> None:
    """Index what a tenant has, with vectors."""
    tenants.process.indexer.rebuild(tenants.grant(name).key)
    assert tenants.engine
    tenants.engine.refresh()


def at_home(tenants: Tenants, tmp_path: Path, name: str, query: str, **asked: Any) -> list[Any]:
    """Return what a store finds in the same files by itself."""
    with commonplace.open(tmp_path / "tenants" / tenants.grant(name).key) as home:
        home.embedder = EMBEDDER
        vectors = search_by_meaning(home).vectors
        assert vectors is not None
        vectors.refresh()
        found = home.search(query, LIMIT, meaning=True, **asked)
        return [(hit.citation, hit.score, hit.cosine) for hit in found]


def queries(tenants: Tenants, name: str) -> list[str]:
    """Return words of the tenant's notes, and letters that no words have."""
    text = tenants.call(name, "read", path="notes/3.md")["text"]
    words = [word for word in text.split() if word not in {"#", name}]
    return [*(" ".join(words[at : at + 2]) for at in range(0, 20, 2)), "kkkkk", "abcab zzzz"]


def test_words_and_vectors_rank_as_at_home(tenants: Tenants, tmp_path: Path) -> None:
    assert tenants.engine
    for name in ("acme", "bolt"):
        written(tenants, name)
    # else nothing of this is tried
    assert tenants.engine.vectors == VectorField.of(EMBEDDER)
    for unit in ("turn", "message"):
        for query in queries(tenants, "acme"):
            told = tenants.call("acme", "search", query=query, limit=LIMIT, unit=unit, meaning=True)
            assert not any("cover" in note for note in told["notes"])
            here = at_home(tenants, tmp_path, "acme", query, unit=unit)
            there = [(hit["citation"], hit["score"], hit["cosine"]) for hit in told["hits"]]
            assert [one[0] for one in there] == [one[0] for one in here]
            for (_, score, cosine), (_, own_score, own_cosine) in zip(there, here, strict=True):
                assert score == pytest.approx(own_score, abs=1e-4)
                assert cosine == pytest.approx(own_cosine, abs=1e-5)


def test_filters_hold_for_vectors(tenants: Tenants, tmp_path: Path) -> None:
    written(tenants, "acme")
    for asked in (
        {"role": "user"},
        {"source": "note"},
        {"source": "message"},
        {"prefix": ["notes/3.md"]},
        {"prefix": ["sessions"]},
    ):
        query = queries(tenants, "acme")[0]
        told = tenants.call("acme", "search", query=query, limit=LIMIT, meaning=True, **asked)
        here = at_home(tenants, tmp_path, "acme", query, filter=SearchFilter(**asked))
        assert [hit["citation"] for hit in told["hits"]] == [one[0] for one in here]
        assert told["hits"]


def test_a_change_changes_its_vectors(tenants: Tenants, tmp_path: Path) -> None:
    written(tenants, "acme")
    # measured now, as that of the engine
    assert at_home(tenants, tmp_path, "acme", "kkkkk")
    tenants.call("acme", "write", path="notes/0.md", content="# Only\n\nqqqq qqqq\n")
    tenants.call("acme", "delete", path="notes/1.md")
    more = [{"role": "user", "content": "rrrr rrrr"}]
    told = tenants.call("acme", "log", path="sessions/s1", messages=more)
    # its neighbours have other vectors now
    for query in ("qqqqqq", "rrrrrr"):
        answer = tenants.search("acme", query, fresh=[told["fresh"]], limit=LIMIT, meaning=True)
        rebuilt(tenants, "acme")
        answer = tenants.search("acme", query, limit=LIMIT, meaning=True)
        here = at_home(tenants, tmp_path, "acme", query)
        assert [hit["citation"] for hit in answer["hits"]] == [one[0] for one in here]
        assert query[:4] in answer["hits"][0]["text"]


def test_nearest_are_those_of_the_tenant(tenants: Tenants, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each tenant has what the other asks for; k is less than all that they have together."""
    for name in ("acme", "bolt", "cask"):
        written(tenants, name)
    engine = tenants.engine
    assert engine
    assert engine.vectors
    vector = np.array(counted(["kkkkk abc"])[0], np.float32)
    body = {
        "query": {
            "knn": {
                engine.vectors.name: {
                    "vector": vector,
                    "k": 20,
                    "filter": {"term": {"kind": "document"}},
                }
            }
        },
        "size": 20,
    }
    for name in ("acme", "bolt", "cask"):
        key = tenants.grant(name).key
        hits = engine.search(key, [body])[0]["hits"]["hits"]
        # none of the others is among the k, for that the tenant has too few then
        assert len(hits) == 20
        assert {hit["_source"]["tenant"] for hit in hits} == {key}
        told = tenants.call(name, "search", query="kkkkk", limit=100, meaning=True)
        others = {"acme", "bolt", "cask"} - {name}
        assert not any(other in json.dumps(told) for other in others)
    # the second fence: the alias holds when the filter is gone
    monkeypatch.setattr(scope, "filter_of", lambda _: {"exists": {"field": "tenant"}})
    monkeypatch.setattr(scope, "own_id", lambda _, found: found["_id"])
    for name in ("acme", "bolt"):
        key = tenants.grant(name).key
        hits = engine.search(key, [body])[0]["hits"]["hits"]
        assert {hit["_source"]["tenant"] for hit in hits} <= {key}


def test_the_tenant_is_within_and_beside_k_nn() -> None:
    near = {"vector": [1.0], "k": 3, "filter": {"match_all": {}}}
    _, body = scope.scoped("p", KEY, Search({"query": {"knn": {"v": near}}}))
    told = body["query"]["bool"]
    own = {"term": {"tenant": KEY}}
    assert told["filter"] == [own]
    among = told["must"][0]["knn"]["v"]["filter"]["bool"]["filter"]
    assert among == [{"match_all": {}}, own]


def test_an_engine_without_k_nn_leaves_vectors_at_home(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        double(knn=False) as fake,
        Tenants(tmp_path, fake.url, "without", embedder=EMBEDDER) as tenants,
    ):
        written(tenants, "acme")
        assert tenants.engine
        assert tenants.engine.vectors is None
        assert "k-NN" in caplog.text
        (query, *_) = queries(tenants, "acme")
        here = at_home(tenants, tmp_path, "acme", query)
        told = tenants.call("acme", "search", query=query, limit=LIMIT, meaning=True)
        assert [hit["citation"] for hit in told["hits"]] == [one[0] for one in here]


def test_an_index_without_vectors_has_them_after_a_reindex(tmp_path: Path) -> None:
    with double() as fake:
        with Tenants(tmp_path, fake.url, "before") as before:
            written(before, "acme")
            key = before.grant("acme").key
        with Tenants(tmp_path, fake.url, "before", embedder=EMBEDDER) as tenants:
            assert tenants.engine
            assert tenants.engine.vectors is None
            reindex(tenants.engine, tenants.process.stores, EMBEDDER)
            assert tenants.engine.vectors
            tenants.engine.refresh()
            assert tenants.grant("acme").key == key
            (query, *_) = queries(tenants, "acme")
            told = tenants.call("acme", "search", query=query, limit=LIMIT, meaning=True)
            assert [one[0] for one in at_home(tenants, tmp_path, "acme", query)] == [
                hit["citation"] for hit in told["hits"]
            ]


def test_words_are_found_while_the_embedder_fails(tmp_path: Path) -> None:
    broken = True

    def failing(texts: list[str]) -> list[list[float]]:
        if broken:
            raise OSError("no model today")
        return counted(texts)

    embedder = CallableEmbedder(failing, "letters", len(LETTERS))
    with double() as fake, Tenants(tmp_path, fake.url, "broken", embedder=embedder) as tenants:
        written(tenants, "acme")
        (query, *_) = queries(tenants, "acme")
        told = tenants.call("acme", "search", query=query, limit=LIMIT, meaning=True)
        assert told["hits"]
        assert any("no model today" in note for note in told["notes"])
        broken = False
        partly = tenants.call("acme", "search", query=query, limit=LIMIT, meaning=True)
        assert any(note.startswith("vectors cover 0%") for note in partly["notes"])
        rebuilt(tenants, "acme")
        told = tenants.call("acme", "search", query=query, limit=LIMIT, meaning=True)
        assert not any("cover" in note for note in told["notes"])
        assert all(hit["cosine"] is not None for hit in told["hits"])


def test_a_sample_of_many_documents_calibrates_as_all(
    tenants: Tenants, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tenants, "acme")
    engine = tenants.engine
    assert engine
    assert engine.vectors
    with tenants.process.stores.of(tenants.grant("acme").key) as store:
        asked: list[Any] = []

        def ask(bodies: list[dict[str, Any]]) -> list[dict[str, Any]]:
            asked.extend(bodies)
            return engine.search(tenants.grant("acme").key, bodies)

        vectors = TenantVectors(ask, engine.vectors, store.maker)
        query = vectors.embed("kkkk abc")
        whole, best = vectors.calibration(query)
        monkeypatch.setattr("commonplace.service.vectors.SAMPLE", 60)
        part, same = vectors.calibration(query)
    assert same == best
    assert part.documents == whole.documents > 60
    assert part.mean == pytest.approx(whole.mean, abs=2 * whole.spread)
    assert "draw" in json.dumps(asked[-1], default=str)
