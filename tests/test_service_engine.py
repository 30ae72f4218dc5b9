"""Service with a search engine: index, freshness, faults; on a double and for real."""

from __future__ import annotations

import errno
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import commonplace
from commonplace._core import QueryNames
from commonplace.adapters.embedders import CallableEmbedder
from commonplace.adapters.meaning import search_by_meaning
from commonplace.errors import Conflict, FormatError, InvalidArgument, StorageError
from commonplace.service import scope
from commonplace.service.opensearch import AT_ONCE, EngineUnavailable, OpenSearch
from commonplace.service.pending import Pending
from commonplace.service.scope import Put, Remove
from commonplace.service.searcher import Searcher
from commonplace.service.tenant_queue import TenantQueue
from tests.opensearch.double import Double
from tests.opensearch.tenants import FRESHNESS_TIMEOUT, Tenants, wait_until

KEY = "0" * 32


@pytest.fixture(params=["double", pytest.param("real", marks=pytest.mark.fleet)])
def url(request: pytest.FixtureRequest) -> str:
    if request.param == "real":
        return str(request.getfixturevalue("cluster").url)
    return str(request.getfixturevalue("fake").url)


@pytest.fixture
def tenants(url: str, tmp_path: Path) -> Iterator[Tenants]:
    with Tenants(tmp_path, url, f"t{uuid4().hex[:8]}") as made:
        yield made


def test_a_write_is_found_with_its_token(tenants: Tenants) -> None:
    told = tenants.call("acme", "write", path="facts/tea.md", content="# Tea\n\n- Likes sencha.\n")
    assert tenants.found("acme", "sencha", fresh=[told["fresh"]]) == ["facts/tea.md#L3"]
    # a new tenant is whole once its record says so, a moment after its first file
    wait_until(lambda: tenants.call("acme", "search", query="sencha")["freshness"] == "fresh")
    assert tenants.call("acme", "search", query="sencha")["confidence"] > 0


def test_changes_and_deletions_reach_the_index(tenants: Tenants) -> None:
    first = tenants.call(
        "acme", "write", path="a.md", content="# One\n\nsencha\n\n# Two\n\noolong\n"
    )
    token = [first["fresh"]]
    assert tenants.found("acme", "oolong", fresh=token) == ["a.md#L7"]
    tenants.call("acme", "write", path="a.md", content="# One\n\nmatcha\n")
    assert tenants.found("acme", "matcha", fresh=token) == ["a.md#L3"]
    assert tenants.found("acme", "oolong", fresh=token) == []
    moved = tenants.call("acme", "move", path="a.md", target="b/c.md")
    assert tenants.found("acme", "matcha", fresh=[moved["fresh"]]) == ["b/c.md#L3"]
    gone = tenants.call("acme", "delete", path="b/c.md")
    assert tenants.found("acme", "matcha", fresh=[gone["fresh"]]) == []


def test_a_transcript_grows_in_the_index(tenants: Tenants) -> None:
    said = [("user", "Which tea?"), ("assistant", "Sencha."), ("user", "And with cake?")]
    for role, text in [*said, ("assistant", "Oolong goes well with cake.")]:
        message = {"role": role, "content": text}
        told = tenants.call("acme", "log", path="sessions/s1", messages=[message])
    token = [told["fresh"]]
    where = "sessions/s1/messages.jsonl"
    assert tenants.found("acme", "oolong", fresh=token) == [f"{where}#L3-L4"]
    # the prompt that it answers has the words of its reply beside it
    assert tenants.found("acme", "oolong", unit="message")[0] == f"{where}#L4"
    assert tenants.found("acme", "sencha", role="assistant") == [f"{where}#L1-L2"]


def test_filters_patterns_and_phrases(tenants: Tenants) -> None:
    tenants.call("acme", "write", path="facts/tea.md", content="Green tea from Uji.\n")
    told = tenants.call(
        "acme", "write", path="plans/tea.md", content="Tea, but not green, in Uji.\n"
    )
    seen: dict[str, Any] = {"fresh": [told["fresh"]]}
    time.sleep(0.1)
    tenants.process.indexer.rebuild(tenants.grant("acme").key)
    assert tenants.engine
    tenants.engine.refresh()
    assert tenants.found("acme", "uji", prefix=["facts"], **seen) == ["facts/tea.md#L1"]
    assert tenants.found("acme", '"green tea"', **seen) == ["facts/tea.md#L1"]
    assert tenants.found("acme", "uji -plans", **seen) == ["facts/tea.md#L1", "plans/tea.md#L1"]
    assert tenants.found("acme", "uji -from", **seen) == ["plans/tea.md#L1"]
    # nothing holds this phrase, so its words are looked for
    assert len(tenants.found("acme", '"uji green" tea', **seen)) == 2
    assert len(tenants.found("acme", "gree*", **seen)) == 2
    assert tenants.found("acme", "uji", source="message", **seen) == []


def test_words_by_the_engine_and_vectors_at_home_are_one_ranking(
    tenants: Tenants, tmp_path: Path
) -> None:
    def counted(texts: list[str]) -> list[list[float]]:
        return [[text.count(one) + 0.01 for one in "abcdefghijklmnopqrst"] for text in texts]

    letters = CallableEmbedder(counted, "letters", 20)

    def made(store: commonplace.Store) -> None:
        store.embedder = letters
        vectors = search_by_meaning(store).vectors
        assert vectors is not None
        vectors.refresh()

    for name in ("acme", "bolt"):
        for number in range(40):
            text = f"{name} {('tea', 'cup', 'leaf')[number % 3]} {'bdfhk'[number % 5] * 9}\n"
            told = tenants.call(name, "write", path=f"n{number}.md", content=text)
        assert tenants.call(name, "search", query="tea", fresh=[told["fresh"]])
        with tenants.process.stores.of(tenants.grant(name).key) as store:
            tenants.process.indexer.rebuild(tenants.grant(name).key)
            made(store)
    assert tenants.engine
    tenants.engine.refresh()
    asked: dict[str, Any] = {"query": "leaf kkkkkk", "limit": 12, "meaning": True}
    answer = tenants.call("acme", "search", **asked)
    assert {hit["text"].split()[0] for hit in answer["hits"]} == {"acme"}
    assert answer["hits"][0]["text"].split()[1:] == ["leaf", "k" * 9]
    assert answer["hits"][0]["cosine"] is not None
    with commonplace.open(tmp_path / "tenants" / tenants.grant("acme").key) as home:
        made(home)
        ranked = home.search("leaf kkkkkk", 12, meaning=True)
        wanted = [(hit.citation, round(hit.score, 9)) for hit in ranked]
    assert [(hit["citation"], round(hit["score"], 9)) for hit in answer["hits"]] == wanted


def test_what_is_forgotten_is_in_the_engine_no_more(tenants: Tenants) -> None:
    told = tenants.call("acme", "write", path="a.md", content="- The dog is Rex.\n- Likes tea.\n")
    assert tenants.found("acme", "rex", fresh=[told["fresh"]])
    plan = tenants.call("acme", "forget", what=["rex"])
    done = tenants.call("acme", "forget", what=["rex"], token=plan["token"])
    assert (done["erased"], done["indexed"]) == (True, True)
    assert tenants.found("acme", "rex") == []
    assert tenants.engine
    key = tenants.grant("acme").key
    everything = {"query": {"term": {"kind": "document"}}, "size": 100}
    (found,) = tenants.engine.search(key, [everything])
    assert "Rex" not in json.dumps(found)


def test_a_file_changed_by_hand_is_not_answered_as_it_was(tenants: Tenants, tmp_path: Path) -> None:
    told = tenants.call("acme", "write", path="a.md", content="The secret is sencha.\n")
    key = tenants.grant("acme").key
    # as a whole, and by nobody else any more: what is indexed later would see the change
    tenants.process.indexer.rebuild(key)
    assert tenants.process.changes
    deadline = time.monotonic() + FRESHNESS_TIMEOUT
    while tenants.process.changes.waiting():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert tenants.found("acme", "sencha", fresh=[told["fresh"]])
    (tmp_path / "tenants" / key / "a.md").write_text("Nothing here.\n")
    answer = tenants.call("acme", "search", query="sencha")
    assert (answer["hits"], answer["freshness"]) == ([], "stale")
    tenants.process.indexer.rebuild(key)
    assert tenants.search("acme", "here", fresh=[told["fresh"]])["hits"]


def test_notes_are_compared_and_swapped(tenants: Tenants) -> None:
    first = tenants.call("acme", "write", path="a.md", content="one", expected_version="absent")
    tenants.call("acme", "write", path="a.md", content="two", expected_version=first["version"])
    with pytest.raises(Conflict):
        tenants.call("acme", "write", path="a.md", content="x", expected_version=first["version"])
    with pytest.raises(InvalidArgument, match="only grows"):
        tenants.call("acme", "write", path="sessions/s1/messages.jsonl", content="")
    assert tenants.call("acme", "read", path="a.md")["text"] == "two"


def test_the_ranking_after_a_rebuild_is_the_same(tenants: Tenants, tmp_path: Path) -> None:
    words = ["tea", "green", "leaf", "water", "kettle", "cup", "morning", "market"]
    for number in range(12):
        text = " ".join(words[(number * step) % 8] for step in range(1, 9))
        told = tenants.call(
            "acme", "write", path=f"n/{number}.md", content=f"# N{number}\n\n{text}\n"
        )
    key = tenants.grant("acme").key
    queries = ["green tea", "kettle water", "market morning cup", "n7"]

    def ranked() -> list[Any]:
        answers = [tenants.call("acme", "search", query=one, limit=20) for one in queries]
        return [[(hit["citation"], hit["score"]) for hit in one["hits"]] for one in answers]

    assert tenants.search("acme", "x", fresh=[told["fresh"]])["freshness"] == "fresh"
    tenants.process.indexer.rebuild(key)
    assert tenants.engine
    tenants.engine.refresh()
    before = ranked()
    assert all(before)
    tenants.process.indexer.drop(key)
    # not by a search of the tenant, which would have it indexed again in the background
    (left,) = tenants.engine.search(key, [{"query": {"term": {"kind": "document"}}, "size": 100}])
    assert left["hits"]["hits"] == []
    tenants.process.indexer.rebuild(key)
    tenants.engine.refresh()
    assert ranked() == before
    with Tenants(tmp_path, None) as home:
        here = [home.call("acme", "search", query=one, limit=20)["hits"] for one in queries]
    assert [[(hit["citation"], hit["score"]) for hit in one] for one in here] == before


def test_an_index_that_is_deleted_is_made_anew(tenants: Tenants) -> None:
    tokens = [
        tenants.call(name, "write", path="a.md", content=f"sencha of {name}\n")["fresh"]
        for name in ("acme", "bolt")
    ]
    for name, token in zip(("acme", "bolt"), tokens, strict=True):
        assert tenants.found(name, "sencha", fresh=[token])
    engine = tenants.engine
    assert engine
    engine.http.send("DELETE", f"/{engine.prefix}-1", None)
    wait_until(lambda: _finds(tenants, "bolt", "sencha") and _finds(tenants, "acme", "sencha"))
    assert tenants.found("acme", "sencha") == ["a.md#L1"]


def _finds(tenants: Tenants, tenant: str, query: str) -> bool:
    try:
        found = tenants.found(tenant, query)
        assert tenants.engine
        tenants.engine.refresh()
        return bool(found)
    except EngineUnavailable:
        return False


def test_the_log_of_a_process_that_was_killed_is_replayed(url: str, tmp_path: Path) -> None:
    index = f"t{uuid4().hex[:8]}"
    first = Tenants(tmp_path, url, index)
    # as if it was killed at once: nothing is indexed, and the log stays
    assert first.engine
    first.engine.prepare()
    told = first.call("acme", "write", path="a.md", content="sencha\n")
    assert len(list(first.process.objects.list("pending"))) == 1
    with Tenants(tmp_path, url, index, grace=0.2) as second:
        wait_until(lambda: _finds(second, "acme", "sencha"))
        wait_until(lambda: not list(second.process.objects.list("pending")))
        assert second.found("acme", "sencha", fresh=[told["fresh"]]) == ["a.md#L1"]


def test_two_processes_that_index_one_file_do_not_mix_its_states(url: str, tmp_path: Path) -> None:
    index = f"t{uuid4().hex[:8]}"
    with Tenants(tmp_path, url, index) as one, Tenants(tmp_path, url, index) as other:
        for turn in range(6):
            text = "".join(f"# H{part}\n\nsencha {turn}\n\n" for part in range(8 - turn))
            writer = (one, other)[turn % 2]
            token = writer.call("acme", "write", path="a.md", content=text)["fresh"]
        hits = other.search("acme", "sencha", limit=50, fresh=[token])["hits"]
        assert len(hits) == 3
        assert {hit["text"].split()[-1] for hit in hits} == {"5"}


# What only the double can do


def test_a_large_tenant_holds_up_no_other(
    fake: Double, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Tenants(tmp_path, fake.url) as tenants:
        for name in ("small", "large"):
            tenants.call(name, "write", path="a.md", content="oolong\n")
            wait_until(lambda name=name: _finds(tenants, name, "oolong"))
        indexer, large = tenants.process.indexer, tenants.grant("large").key
        rebuild, over = indexer.rebuild, threading.Event()

        def slow(tenant: str) -> int:
            if tenant == large:
                over.wait(20)
            return rebuild(tenant)

        monkeypatch.setattr(indexer, "rebuild", slow)
        assert tenants.process.changes
        tenants.process.changes.rebuild(large)
        # neither the changes of another one nor its own
        for name in ("small", "large"):
            tenants.call(name, "write", path="b.md", content="sencha\n")
            wait_until(lambda name=name: _finds(tenants, name, "sencha"))
        assert not over.is_set()
        over.set()


def test_counts_of_a_large_tenant_are_those_of_a_small_one(
    tenants: Tenants, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = {"a.md": "# Tea\n\nsencha from Uji\n", "b.md": "# Cake\n\nno tea, sencham\n"}
    told = [
        tenants.call("acme", "write", path=path, content=content) for path, content in notes.items()
    ]
    query = 'sencha tea cak* uji "from uji" -oolong'
    first = tenants.search("acme", query, fresh=[one["fresh"] for one in told])
    assert tenants.engine
    searcher = Searcher(tenants.engine)
    key, names = tenants.grant("acme").key, QueryNames(query)
    small, *_ = searcher.statistics(key, names, {}, tools=False)
    assert small.documents == 2
    monkeypatch.setattr("commonplace.service.searcher.TOTALS_FROM", 1)
    for kept in (10.0, 10.0, 10.0, 0.0):
        monkeypatch.setattr("commonplace.service.searcher.TOTALS_KEPT", kept)
        large, *_ = searcher.statistics(key, names, {}, tools=False)
        assert large.documents == small.documents
        assert large.lengths == small.lengths
        assert names.weights(large) == names.weights(small)
        assert tenants.search("acme", query)["hits"] == first["hits"]


@pytest.mark.parametrize("totals_from", [20_000, 1])
def test_a_query_is_read_in_a_language_that_came_after_the_one_before(
    tenants: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, totals_from: int
) -> None:
    monkeypatch.setattr("commonplace.service.searcher.TOTALS_FROM", totals_from)
    monkeypatch.setattr("commonplace.service.searcher.TOTALS_KEPT", 0.0)
    texts = {
        "a.md": "The house by the river is old, and the garden is not.\n",
        "de.md": "Die Häuser sind alt und der Garten ist schön, aber nicht für die Kinder.\n",
        "es.md": "Las casas son viejas y el jardín no es para los niños, pero es bonito.\n",
    }
    local = commonplace.open(tmp_path / "local")
    for path, text in texts.items():
        told = tenants.call("acme", "write", path=path, content=text)
        local.write(path, text)
        for query in ("haus garten", "casa jardín", "house -garten", '"der garten" haus'):
            found = tenants.search("acme", query, fresh=[told["fresh"]])
            wanted = local.search(query, 10)
            assert [hit["citation"] for hit in found["hits"]] == [one.citation for one in wanted]
            assert [hit["score"] for hit in found["hits"]] == pytest.approx(
                [one.score for one in wanted], rel=1e-5
            )
    assert tenants.found("acme", "haus") == ["de.md#L1"]


def test_what_cannot_be_indexed_waits_and_the_rest_goes_on() -> None:
    waiting = TenantQueue()
    for tenant, path in (("a", "1"), ("b", "2"), ("a", "3")):
        waiting.put(Pending(tenant, path))
    first, other = waiting.take(), waiting.take()
    assert [[one.path for one in some] for some in (first, other)] == [["1", "3"], ["2"]]
    waiting.put(Pending("a", "4"))
    begun = time.monotonic()
    waiting.done(first, failed=True)
    waiting.done(other, failed=False)
    waiting.put(Pending("b", "5"))
    assert [one.path for one in waiting.take()] == ["5"]
    # in order, and not at once
    assert [one.path for one in waiting.take()] == ["1", "3", "4"]
    assert time.monotonic() - begun > 0.04
    waiting.close()
    assert waiting.take() == []


def test_an_engine_that_is_gone_loses_nothing(fake: Double, tmp_path: Path) -> None:
    with Tenants(tmp_path, fake.url) as tenants:
        tenants.call("acme", "write", path="a.md", content="oolong\n")
        fake.fault = lambda _path, _body: (503, b"")
        written = tenants.call("acme", "write", path="b.md", content="sencha\n")
        assert written["path"] == "b.md"
        with pytest.raises(EngineUnavailable, match="does not answer"):
            tenants.call("acme", "search", query="sencha")
        assert tenants.call("acme", "read", path="b.md")["text"] == "sencha\n"
        fake.fault = lambda _path, _body: None
        assert tenants.found("acme", "sencha", fresh=[written["fresh"]]) == ["b.md#L1"]


@pytest.mark.parametrize(
    "data",
    [b"", b'{"items": [', b"[]", b'{"responses": [], "items": []}', b'{"docs": [], "took": 1}'],
)
def test_an_answer_that_is_cut_off_is_an_error_and_is_asked_again(
    fake: Double, tmp_path: Path, data: bytes
) -> None:
    with Tenants(tmp_path, fake.url) as tenants:
        tenants.call("acme", "write", path="a.md", content="oolong\n")
        cut_off = {"/_bulk", "/_mget", "/_msearch"}
        fake.fault = lambda path, _: (200, data) if path in cut_off else None
        written = tenants.call("acme", "write", path="b.md", content="sencha\n")
        with pytest.raises(EngineUnavailable):
            tenants.call("acme", "search", query="sencha")
        fake.fault = lambda _path, _body: None
        assert tenants.found("acme", "sencha", fresh=[written["fresh"]]) == ["b.md#L1"]


def test_a_large_write_has_some_requests_at_once_and_answers_in_order(
    fake: Double, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("commonplace.service.opensearch.BULK_BYTES", 1)
    engine = OpenSearch(fake.url, timeout=120)
    engine.prepare()
    engine.write(KEY, [Put("3", 2, {})])
    lock, two_at_once = threading.Lock(), threading.Event()
    running, most = 0, 0

    def hold(path: str, _: bytes) -> None:
        nonlocal running, most
        if path == "/_bulk":
            with lock:
                running += 1
                most = max(most, running)
            if running > 1:
                two_at_once.set()
            two_at_once.wait(60)
            with lock:
                running -= 1

    fake.fault = hold
    calls = [Put(f"{number}", 1, {}) for number in range(9)] + [Remove("none", 1)]
    assert engine.write(KEY, calls) == [201] * 3 + [409] + [201] * 5 + [404]
    assert 2 <= most <= AT_ONCE
    engine.close()


def test_a_large_write_of_which_a_part_fails_has_ended(
    fake: Double, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("commonplace.service.opensearch.BULK_BYTES", 1)
    engine = OpenSearch(fake.url, timeout=120)
    engine.prepare()
    running: list[bytes] = []

    def slow(path: str, body: bytes) -> tuple[int, bytes] | None:
        if path != "/_bulk":
            return None
        if b'/2"' in body:
            return 400, b'{"error": "no"}'
        running.append(body)
        time.sleep(0.02)
        running.remove(body)
        return None

    fake.fault = slow
    with pytest.raises(EngineUnavailable, match="could not be written"):
        engine.write(KEY, [Put(f"{number}", 1, {}) for number in range(100)])
    assert not running
    # what follows the part that failed was not begun
    assert len(fake.indexes["commonplace-1"].written) < 10
    engine.close()


def test_a_search_that_cannot_see_a_write_says_so(fake: Double, tmp_path: Path) -> None:
    with Tenants(tmp_path, fake.url) as tenants:
        first = tenants.call("acme", "write", path="a.md", content="oolong\n")
        assert tenants.found("acme", "oolong", fresh=[first["fresh"]])
        fake.fault = lambda path, _: (429, b"{}") if path == "/_bulk" else None
        written = tenants.call("acme", "write", path="b.md", content="sencha\n")
        begun = time.monotonic()
        answer = tenants.call("acme", "search", query="oolong", fresh=[written["fresh"]])
        assert answer["freshness"] == "stale"
        assert [hit["citation"] for hit in answer["hits"]] == ["a.md#L1"]
        assert time.monotonic() - begun < 300
        fake.fault = lambda _path, _body: None


def test_a_full_disk_changes_nothing_and_is_told(
    fake: Double, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Tenants(tmp_path, fake.url) as tenants:
        tenants.call("acme", "write", path="a.md", content="oolong\n")

        def full(_: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr("commonplace.service.objects.os.fsync", full)
        with pytest.raises(StorageError, match="No space") as told:
            tenants.call("acme", "write", path="a.md", content="sencha\n")
        assert told.value.code == "nospace"
        monkeypatch.undo()
        assert tenants.call("acme", "read", path="a.md")["text"] == "oolong\n"
        written = tenants.call("acme", "write", path="a.md", content="matcha\n")
        assert tenants.found("acme", "matcha", fresh=[written["fresh"]]) == ["a.md#L1"]
        assert not list(tmp_path.rglob("service/*/.*"))


def test_old_answers_are_dropped(
    fake: Double, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Tenants(tmp_path, fake.url) as tenants:
        tenants.call("acme", "write", "k1", path="a.md", content="oolong\n")
        kept = f"answers/{tenants.grant('acme').key}"
        assert len(list(tenants.process.objects.list(kept))) == 1
        monkeypatch.setattr("commonplace.service.idempotency.KEPT", -1.0)
        monkeypatch.setattr("commonplace.service.idempotency.SWEEP_EVERY", 1)
        tenants.call("acme", "write", "k2", path="a.md", content="sencha\n")
        assert list(tenants.process.objects.list(kept)) == []


def test_a_document_of_another_tenant_is_never_taken(fake: Double, tmp_path: Path) -> None:
    with Tenants(tmp_path, fake.url) as tenants:
        tenants.call("acme", "write", path="a.md", content="sencha\n")
        foreign = {"_id": f"{'0' * 32}/x/m0", "_source": {"tenant": "0" * 32, "record": "{}"}}
        answer = {"hits": {"total": {"value": 1}, "hits": [foreign]}}
        data = json.dumps({"responses": [answer, answer]}).encode()
        fake.fault = lambda path, _: (200, data) if path == "/_msearch" else None
        with pytest.raises(scope.ForeignDocument):
            tenants.call("acme", "search", query="sencha")


@pytest.mark.parametrize(
    ("meta", "why"),
    [
        ({"commonplace": 0}, "run `commonplace serve reindex`, which"),
        ({"commonplace": 99}, "run the newer version, or"),
        ({}, "not made by commonplace"),
        ({"commonplace": "1"}, "not made by commonplace"),
    ],
)
def test_an_index_of_another_form_is_told(
    fake: Double, tmp_path: Path, meta: dict[str, Any], why: str
) -> None:
    tenants = Tenants(tmp_path, fake.url)
    assert tenants.engine
    tenants.engine.prepare()
    fake.indexes["test-1"].body["mappings"] = {"_meta": meta}
    with pytest.raises(FormatError, match=why):
        tenants.process.start()


def test_an_index_of_another_version_is_refused(fake: Double, tmp_path: Path) -> None:
    tenants = Tenants(tmp_path, fake.url)
    assert tenants.engine
    tenants.engine.prepare()
    fake.indexes["test-1"].body["mappings"] = {"_meta": {"commonplace": 0}}
    with pytest.raises(Exception, match="serve reindex"):
        tenants.process.start()
    shadow = tenants.engine.shadow()
    tenants.engine.swap(shadow, [])
    with tenants:
        told = tenants.call("acme", "write", path="a.md", content="sencha\n")
        assert tenants.found("acme", "sencha", fresh=[told["fresh"]]) == ["a.md#L1"]
    assert [*fake.indexes] == ["test-2"]
