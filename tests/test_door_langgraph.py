"""Store of LangGraph: equal to its `InMemoryStore`, ranked by words, remembered across threads."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import commonplace
from tests.loop_ticks import BLOCKED, turns_while

pytest.importorskip("langgraph.graph", reason="comes with the extra `langgraph`")

from langgraph.graph import END, START, StateGraph
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from commonplace.doors.langgraph import CommonplaceStore
from commonplace.errors import FormatError

labels = st.sampled_from(["users", "Users", "a/b", "é", "e\u0301", "x md", "con", " ", "*"])
namespaces = st.lists(labels, min_size=1, max_size=3).map(tuple)
keys = st.sampled_from(["k", "K", "", ".", "a.b.md", "ключ", "x" * 300]) | st.text(max_size=5)
scalars = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["tea", "# value", "a\nb"])
)
values = st.dictionaries(
    st.sampled_from(["n", "text", "in"]),
    scalars | st.lists(scalars, max_size=2) | st.dictionaries(st.sampled_from("ab"), scalars),
    max_size=3,
)
operators = st.sampled_from(["$eq", "$ne"])
filters = st.none() | st.dictionaries(
    st.sampled_from(["n", "text", "in"]),
    scalars
    | st.builds(lambda name, value: {name: value}, operators, scalars)
    | st.lists(scalars, max_size=2)
    | st.dictionaries(st.sampled_from("ab"), scalars, max_size=2),
    max_size=2,
)
conditions = st.builds(
    MatchCondition,
    match_type=st.sampled_from(["prefix", "suffix"]),
    path=st.lists(labels, max_size=2).map(tuple),
)
operations = st.one_of(
    st.builds(PutOp, namespace=namespaces, key=keys, value=values | st.none(), ttl=st.none()),
    st.builds(PutOp, namespace=namespaces, key=keys, value=values, ttl=st.none()),
    st.builds(GetOp, namespace=namespaces, key=keys),
    st.builds(
        SearchOp,
        namespace_prefix=st.lists(labels, max_size=2).map(tuple),
        filter=filters,
        limit=st.just(1000),
        offset=st.just(0),
        # the one in memory does not rank by words
        query=st.none(),
    ),
)


def plain(result: Any) -> Any:
    """Return a result without times, and items in any order."""
    if isinstance(result, list):
        return sorted((plain(one) for one in result), key=repr)
    return result and (result.namespace, result.key, result.value)


@settings(max_examples=25)
@given(st.lists(st.lists(operations, max_size=4), max_size=6), conditions, st.integers(1, 3))
def test_it_is_the_store_in_memory(
    batches: list[list[Any]], condition: MatchCondition, depth: int
) -> None:
    theirs = InMemoryStore()
    with tempfile.TemporaryDirectory() as root, commonplace.open(root, watch=False) as store:
        ours = CommonplaceStore(store)
        for number, batch in enumerate(batches):
            found = ours.batch(batch) if number % 2 else asyncio.run(ours.abatch(batch))
            assert [plain(one) for one in found] == [plain(one) for one in theirs.batch(batch)]
        everything = SearchOp((), limit=1000)
        items: Any = theirs.batch([everything])[0]
        assert plain(ours.batch([everything])[0]) == plain(items)
        # a namespace without items is none; the one in memory keeps it
        full = InMemoryStore()
        full.batch([PutOp(item.namespace, item.key, item.value) for item in items])
        listed = [
            ListNamespacesOp(),
            ListNamespacesOp((condition,), limit=2, offset=1),
            ListNamespacesOp(max_depth=depth),
        ]
        assert ours.batch(listed) == full.batch(listed)


def test_numbers_are_compared(opened: commonplace.Store) -> None:
    stores: list[BaseStore] = [CommonplaceStore(opened), InMemoryStore()]
    for store in stores:
        for number in range(5):
            store.put(("n",), str(number), {"n": number})
        for operator, kept in {"$gt": 2, "$gte": 3, "$lt": 2, "$lte": 3}.items():
            found = store.search(("n",), filter={"n": {operator: 2}})
            assert len(found) == kept, (store, operator)
        with pytest.raises(ValueError, match="operator"):
            store.search(("n",), filter={"n": {"$in": [1]}})
    # the one in memory fails where a value is no number
    stores[0].put(("n",), "none", {"n": None})
    assert len(stores[0].search(("n",), filter={"n": {"$gte": 0}})) == 5


def test_pages_hold_each_item_once(opened: commonplace.Store) -> None:
    store = CommonplaceStore(opened)
    for number in range(7):
        store.put(("n",), str(number), {"text": f"green tea {number}"})
    for query in (None, "tea"):
        pages = [store.search(("n",), query=query, limit=3, offset=start) for start in (0, 3, 6)]
        assert sorted(item.key for page in pages for item in page) == list("0123456")


def test_a_search_finds_by_words(opened: commonplace.Store) -> None:
    store = CommonplaceStore(opened, fields=["text", "tags[*]"])
    store.put(("u", "1"), "a", {"text": "The ferry leaves at noon.", "secret": "harbour"})
    store.put(("u", "1"), "b", {"text": "Oolong, no sugar.", "tags": ["drinks", "ferries"]})
    store.put(("u", "10"), "c", {"text": "The ferry is late."})
    store.put(("u", "1"), "d", {"text": "ferry"}, index=False)
    store.put(("u", "1"), "e", {"text": "none", "other": "# value ferry"}, index=["other"])
    found = store.search(("u", "1"), query="ferry")
    assert {item.key for item in found} == {"a", "b", "e"}
    assert all(item.score and item.score > 0 for item in found)
    assert store.search(("u", "1"), query="harbour") == []
    assert store.search(("u", "1"), query=" ") == []
    assert [item.key for item in store.search(("u", "1"), query="ferry", filter={"other": None})]
    # whole labels: the user 1 is not the user 10
    assert {item.key for item in store.search(("u",), query="late")} == {"c"}


def test_an_item_keeps_when_it_was_made(opened: commonplace.Store) -> None:
    store = CommonplaceStore(opened)
    store.put(("n",), "k", {"n": 1})
    first = store.get(("n",), "k")
    store.put(("n",), "k", {"n": 2})
    second = store.get(("n",), "k")
    assert first
    assert second
    assert second.created_at == first.created_at <= first.updated_at < second.updated_at


def test_what_cannot_be_kept_is_refused(opened: commonplace.Store) -> None:
    store = CommonplaceStore(opened)
    with pytest.raises(NotImplementedError):
        store.put(("n",), "k", {"n": 1}, ttl=5)
    with pytest.raises(NotImplementedError, match="expire"):
        store.batch([PutOp(("n",), "k", {"n": 1}, ttl=5)])
    good = PutOp(("n",), "good", {"n": 1})
    no_json: list[Any] = [{"n": float("nan")}, {"n": object()}, {1: "x"}, {"n": {"a": (1, 2)}}]
    for value in no_json:
        with pytest.raises(ValueError, match="not JSON"):
            store.batch([good, PutOp(("n",), "k", value)])
    no_dict: list[Any] = [[1], "x", 3]
    for value in no_dict:
        with pytest.raises(TypeError, match="is a dict, not"):
            store.batch([good, PutOp(("n",), "k", value)])
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(("a.b",), "k", {"n": 1})])
    assert store.search(()) == []


def test_a_note_that_holds_no_object_is_told(opened: commonplace.Store) -> None:
    store = CommonplaceStore(opened)
    store.put(("n",), "k", {"n": 1})
    (path,) = [entry.path for entry in opened.list("langgraph")]
    opened.write(path, opened.read(path).replace('{"n": 1}', "[1]"))
    with pytest.raises(FormatError, match="its value is no object"):
        store.search(("n",), filter={"n": 1})


def test_a_hundred_at_once(opened: commonplace.Store) -> None:
    store = CommonplaceStore(opened)

    async def run() -> None:
        await turns_while(store.aput(("n",), str(number), {"n": number}) for number in range(60))
        assert await turns_while(store.aget(("n",), str(number)) for number in range(100)) > BLOCKED

    asyncio.run(run())
    assert len(store.search(("n",), limit=100)) == 60


class State(TypedDict):
    asked: str
    answer: str


def graph(store: BaseStore) -> Any:
    """Return a graph that keeps what it is told, and answers from what it kept."""

    def answer(state: State, *, store: BaseStore) -> dict[str, str]:
        found = store.search(("facts",), query=state["asked"], limit=1)
        store.put(("facts",), state["asked"][:40], {"text": state["asked"]})
        return {"answer": found[0].value["text"] if found else "nothing"}

    builder = StateGraph(State)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    return builder.compile(store=store)


PROGRAM = """
import sys, commonplace
from commonplace.doors.langgraph import CommonplaceStore
from tests.test_door_langgraph import graph
store = CommonplaceStore(commonplace.open(sys.argv[1]))
print(graph(store).invoke({"asked": "Which tea do I like?", "answer": ""})["answer"])
"""


def test_a_graph_remembers_in_another_process(opened: commonplace.Store) -> None:
    told = {"asked": "I like oolong tea.", "answer": ""}
    assert graph(CommonplaceStore(opened)).invoke(told)["answer"] == "nothing"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(opened.root)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    assert done.stdout.strip() == "I like oolong tea."
