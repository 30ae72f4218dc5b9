"""Memory store of the Pydantic AI harness: equal to its store in memory, and in an agent."""

from __future__ import annotations

import asyncio
import tempfile
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import commonplace
from tests.loop_ticks import BLOCKED, turns_while

pytest.importorskip("pydantic_ai_harness", reason="comes with the extra `pydantic-ai`")

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai_harness import Memory
from pydantic_ai_harness.memory import (
    InMemoryStore,
    MemoryConflictError,
    MemoryOperation,
    MemoryOperationConflictError,
    MemoryStore,
    SearchableMemoryStore,
)

from commonplace.doors.pydantic_ai import MOST_RECEIPTS, NoteStore

paths = st.sampled_from(
    ["MEMORY.md", "memory.md", "a/b.txt", "a/b.md", "a/c/d.md", "a/../x", "/x", ""]
)
operations = st.none() | st.builds(
    MemoryOperation, id=st.sampled_from(["1", "2", "3"]), fingerprint=st.sampled_from(["f", "g"])
)
# what is expected: the version that is there, none, or another one
expected = st.sampled_from(["current", "absent", "wrong", "no version", "word"])
steps = st.one_of(
    st.tuples(st.just("write"), paths, st.sampled_from(["one", "two\n", ""]), expected, operations),
    st.tuples(st.just("delete"), paths, st.just(""), expected, operations),
    st.tuples(st.just("read"), paths, st.integers(0, 4), expected, operations),
)


async def outcome(store: MemoryStore, step: Any) -> Any:
    kind, path, content, wanted, operation = step
    try:
        current = await store.read(path, max_chars=100)
        versions = {"current": current.version if current else None, "wrong": "0" * 32}
        # what a store would never give, also a word that ours takes for something else
        versions |= {"no version": "x", "word": "absent"}
        version = versions.get(wanted)
        if kind == "read":
            read = await store.read(path, max_chars=content)
            return read and (read.content, read.truncated, read.operation_id)
        if kind == "write":
            done = await store.write(path, content, expected_version=version, operation=operation)
        else:
            done = await store.delete(path, expected_version=version, operation=operation)
    except (ValueError, MemoryConflictError, MemoryOperationConflictError) as error:
        return type(error).__name__
    return done.version is None, done.replayed, done.existed


@settings(max_examples=30)
@given(st.lists(steps, max_size=10))
def test_it_is_the_store_in_memory(sequence: list[Any]) -> None:
    async def run() -> None:
        theirs = InMemoryStore()
        with tempfile.TemporaryDirectory() as root, commonplace.open(root, watch=False) as store:
            ours = NoteStore(store)
            for step in sequence:
                assert await outcome(ours, step) == await outcome(theirs, step), step
            for prefix in ("", "a/", "a/b"):
                for limit in (1, 100):
                    found = await ours.list_paths(prefix, limit=limit)
                    assert found == await theirs.list_paths(prefix, limit=limit)

    asyncio.run(run())


@pytest.mark.parametrize("version", ["x", "", "absent", "0" * 32])
def test_any_other_version_is_a_conflict(version: str, opened: commonplace.Store) -> None:
    store = NoteStore(opened)
    for name in ("none.md", "there.md"):
        if name == "there.md":
            asyncio.run(store.write(name, "z", expected_version=None))
        changes = [
            store.write(name, "y", expected_version=version),
            store.delete(name, expected_version=version),
        ]
        for change in changes:
            with pytest.raises(MemoryConflictError, match=name):
                asyncio.run(change)
    assert opened.read("notebook/there.md") == "z"


def test_it_has_the_protocols(opened: commonplace.Store) -> None:
    store = NoteStore(opened)
    assert isinstance(store, MemoryStore)
    assert isinstance(store, SearchableMemoryStore)


def test_a_search_is_bounded_and_stays_below_its_prefix(opened: commonplace.Store) -> None:
    async def run() -> None:
        store = NoteStore(opened)
        for name in ("me/tea.md", "me/deep/tea.md", "me2/tea.md", "me/coffee.txt"):
            await store.write(name, f"# {name}\n\nDrinks: teas.\n", expected_version=None)
        bounds = {"limit": 5, "max_files": 10, "max_chars": 200, "max_file_chars": 1000}
        found = await store.search("me/", "drinking tea", **bounds)
        assert [match.path for match in found.matches] == ["me/tea.md", "me/coffee.txt"]
        assert (found.scanned, found.truncated) == (2, False)
        short = await store.search("me/", "tea", **(bounds | {"max_chars": 12}))
        assert sum(len(m.path) - 3 + len(m.snippet) for m in short.matches) <= 12
        assert short.truncated
        assert (await store.search("none/", "tea", **bounds)).matches == []

    asyncio.run(run())


def test_receipts_do_not_grow_for_ever(opened: commonplace.Store) -> None:
    store = NoteStore(opened)
    side = opened.side_files("pydantic_ai")
    side.replace("receipts.jsonl", [b'{"torn\n'] * (2 * MOST_RECEIPTS + 1))
    written = store.write("a.md", "x", expected_version=None, operation=MemoryOperation("1", "f"))
    asyncio.run(written)
    with side.handle("receipts.jsonl", "r") as file:
        assert file.readall().count(b"\n") == MOST_RECEIPTS + 1
    again = asyncio.run(
        NoteStore(opened).write(
            "a.md", "x", expected_version=None, operation=MemoryOperation("1", "f")
        )
    )
    assert again.replayed


def test_an_agent_remembers_in_its_next_run(opened: commonplace.Store) -> None:
    seen: list[str] = []

    def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        seen.append(str(messages))
        if len(messages) == 1 and "remember" in seen[-1] and "oolong" not in seen[-1]:
            fact = {"content": "Likes oolong tea."}
            return ModelResponse([ToolCallPart("write_memory", fact)])
        return ModelResponse([TextPart("done")])

    def agent() -> Agent[None, str]:
        memory: Any = Memory(NoteStore(opened))
        return Agent(FunctionModel(model), capabilities=[memory])

    assert asyncio.run(agent().run("Please remember it.")).output == "done"
    seen.clear()
    asyncio.run(agent().run("Which tea?"))
    assert "Likes oolong tea." in seen[0]
    assert opened.search("oolong")


def test_a_hundred_at_once(opened: commonplace.Store) -> None:
    store = NoteStore(opened)

    async def run() -> None:
        work = (store.write(f"{number}.md", "x", expected_version=None) for number in range(100))
        assert await turns_while(work) > BLOCKED
        assert len(await store.list_paths(limit=200)) == 100

    asyncio.run(run())
