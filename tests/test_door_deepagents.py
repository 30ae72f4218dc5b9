"""Backend of Deep Agents: equal to their own, remembered in a second process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import commonplace
from tests.loop_ticks import turns_while

pytest.importorskip("deepagents", reason="comes with the extra `deepagents`")

from deepagents import create_deep_agent
from deepagents.backends import StoreBackend
from deepagents.backends.protocol import BackendProtocol
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from commonplace.doors.deepagents import NoteBackend


class Model(GenericFakeChatModel):
    """Says what it was given to say, with tools or without."""

    seen: list[str] = []  # noqa: RUF012 - a field of a model, copied for each

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:  # noqa: ARG002
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        self.seen += [str(message.content) for message in messages]
        return super()._generate(messages, *args, **kwargs)


def call(tool: str, **arguments: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": tool, "args": arguments, "id": "c1"}])


def told(store: commonplace.Store, text: str, *answers: AIMessage) -> list[str]:
    """Run an agent once, and return all that its model has read."""
    model = Model(messages=iter([*answers, AIMessage("Done.")]))
    agent = create_deep_agent(model, backend=NoteBackend(store), memory=["/AGENTS.md"])
    agent.invoke({"messages": [HumanMessage(text)]})
    return model.seen


PROGRAM = """
import sys, commonplace
from tests.test_door_deepagents import call, told
store = commonplace.open(sys.argv[1])
print(*told(store, "Which tea?", call("read_file", file_path="/notes/tea.txt")), sep="\\n")
"""


@pytest.mark.slow
def test_an_agent_recalls_in_another_process(opened: commonplace.Store) -> None:
    NoteBackend(opened).write("/AGENTS.md", "Answer in one sentence.")
    write = call("write_file", file_path="/notes/tea.txt", content="The user likes oolong.")
    assert not any("oolong" in text for text in told(opened, "Remember my tea.", write))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(opened.root)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    assert "The user likes oolong." in done.stdout
    # what `memory` names is in the prompt
    assert "Answer in one sentence." in done.stdout
    assert [hit.text for hit in opened.search("oolong")] == ["The user likes oolong."]


paths = st.sampled_from(["/a.md", "/A.md", "/d/a.py", "/d/.b", "/d/e/a.md", "/é/AGENTS.md", "/n"])
folders = st.sampled_from(["/", "/d", "/d/", "/d/e", "/none", "/a.md"])
texts = st.sampled_from(["", "\n", "tea", "tea\ntea\n", "a\r\nb", "# One\ntea", "---\nx: 1\n---\n"])
globs = st.sampled_from(["*", "*.md", "**/*.md", "/*.md", "d/*", "{a,n}*", ".b", "../*", "[a"])
small = st.integers(-1, 3)
operations = st.one_of(
    st.tuples(st.just("write"), paths, texts),
    st.tuples(st.just("edit"), paths, texts, st.sampled_from(["", "x"]), st.booleans()),
    st.tuples(st.just("delete"), paths | folders),
    st.tuples(st.just("read"), paths, small, small),
    st.tuples(st.just("ls"), folders),
    st.tuples(st.just("grep"), st.sampled_from(["tea", "a", "."]), folders, st.none() | globs),
    st.tuples(st.just("glob"), globs, st.none() | folders),
    st.tuples(st.just("download_files"), st.lists(paths, max_size=2)),
)


def outcome(backend: BackendProtocol, operation: tuple[Any, ...]) -> Any:
    """Return what a call has as its result, without times and in an order of its own."""
    result = getattr(backend, operation[0])(*operation[1:])
    if isinstance(result, list):
        return result
    found = {**vars(result)}
    for several in ("entries", "matches"):
        items = found.get(several) or []
        without = [{k: v for k, v in one.items() if k != "modified_at"} for one in items]
        found[several] = sorted(without, key=lambda one: (one["path"], one.get("line", 0)))
    if data := found.get("file_data"):
        found["file_data"] = {"content": data["content"], "encoding": data["encoding"]}
    return found


@given(st.lists(operations, max_size=12))
@settings(max_examples=60)
def test_it_answers_as_their_own(steps: list[tuple[Any, ...]]) -> None:
    theirs = StoreBackend(store=InMemoryStore(), namespace=lambda _: ("files",))
    with tempfile.TemporaryDirectory() as folder, commonplace.open(folder) as store:
        ours = NoteBackend(store)
        for step in steps:
            assert outcome(ours, step) == outcome(theirs, step), step


def test_bad_paths_and_bytes_are_errors_of_results(opened: commonplace.Store) -> None:
    backend = NoteBackend(opened)
    for path in ("/../x", "~/x", "C:/x"):
        assert "not" in (backend.read(path).error or "")
        assert backend.write(path, "x").error
        assert backend.edit(path, "x", "y").error
        assert backend.delete(path).error
        assert backend.ls(path).error
        assert backend.grep("x", path).error
        assert backend.glob("*", path).error
        assert backend.download_files([path])[0].error
    assert backend.write("/", "x").error
    assert backend.write("/a", "\ud800").error
    binary, text = backend.upload_files([("/a.png", b"\xff"), ("/a.txt", b"\xc3\xa9")])
    assert "UTF-8" in (binary.error or "")
    assert text.error is None
    assert backend.download_files(["/a.txt"])[0].content == "é".encode()


def test_edits_at_once_are_all_there(opened: commonplace.Store) -> None:
    backend = NoteBackend(opened)
    backend.write("/list.md", "end")

    async def run() -> None:
        work = (backend.aedit("/list.md", "end", f"line {n}\nend") for n in range(50))
        assert await turns_while(work) > 20

    asyncio.run(run())
    read = backend.read("/list.md")
    assert read.total_lines == 51
