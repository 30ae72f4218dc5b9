"""Memory tool of the Anthropic SDK: equal to the SDK's own on local files, and over loopback."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import commonplace

anthropic = pytest.importorskip("anthropic", reason="comes with the extra `anthropic`")

from anthropic.lib.tools import ToolError  # noqa: E402
from anthropic.tools import BetaLocalFilesystemMemoryTool  # noqa: E402

from commonplace.doors.anthropic import AsyncMemoryTool, MemoryTool  # noqa: E402
from tests.loopback import Answer, Json, JsonServer, running  # noqa: E402

names = st.sampled_from(["a.md", "B.md", "b.md", "notes.txt", "d", "d.md", ".hid", "é", "x y.json"])
paths = st.lists(names, min_size=1, max_size=3).map(lambda parts: "/".join(["/memories", *parts]))
odd = st.sampled_from(
    ["/memories", "/memories/", "/memories/d/", "/memories/../etc/x", "/memories/d/../a.md", "/tmp"]  # noqa: S108
)
targets = paths | odd
texts = st.sampled_from(["", "one\n", "one\ntwo\nthree", "two\r\none one\n", "aaa\n\n", "二\n"])
pieces = st.sampled_from(["", "one", "two", "a", "aa", "\n", "二", "none", "x\n\n"])
commands = st.one_of(
    st.builds(
        lambda path, span: {"command": "view", "path": path, "view_range": span},
        targets,
        st.none() | st.lists(st.integers(-2, 5), min_size=2, max_size=2),
    ),
    st.builds(
        lambda path, text: {"command": "create", "path": path, "file_text": text}, paths, texts
    ),
    st.builds(
        lambda path, old, new: {
            "command": "str_replace",
            "path": path,
            "old_str": old,
            "new_str": new,
        },
        targets,
        pieces,
        pieces,
    ),
    st.builds(
        lambda path, line, text: {
            "command": "insert",
            "path": path,
            "insert_line": line,
            "insert_text": text,
        },
        targets,
        st.integers(-1, 5),
        pieces,
    ),
    st.builds(lambda path: {"command": "delete", "path": path}, targets),
    st.builds(
        lambda old, new: {"command": "rename", "old_path": old, "new_path": new}, targets, targets
    ),
)


def answer(tool: Any, command: dict[str, Any]) -> tuple[bool, str]:
    try:
        return True, tool.call(command)
    except ToolError as error:
        return False, str(error)
    except (OSError, ValueError) as error:
        # what the SDK's tool does not catch; the runner tells the model its repr
        return False, f"{type(error).__name__}"


def normal(told: tuple[bool, str]) -> tuple[bool, str]:
    """Take away how large a folder is: there of the file system, here of what is in it."""
    done, text = told
    if text.startswith("Here're"):
        header, first, *others = text.split("\n")
        shown = [first.partition("\t")[2]]
        shown += [line.partition("\t")[2] if line.endswith("/") else line for line in others]
        return done, "\n".join([header, *shown])
    return done, text


def drop_empty_folders(root: Path) -> None:
    """Take away folders without files, which a store does not have."""
    for folder, _, _ in os.walk(root, topdown=False):
        if Path(folder) != root and not any(Path(folder).iterdir()):
            Path(folder).rmdir()


@settings(max_examples=40)
@given(st.lists(commands, max_size=15))
def test_it_answers_as_the_tool_of_the_sdk(sequence: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as root:
        theirs = BetaLocalFilesystemMemoryTool(folder)
        with commonplace.open(root, watch=False) as store:
            ours = MemoryTool(store)
            for command in sequence:
                expected, found = answer(theirs, command), answer(ours, command)
                drop_empty_folders(Path(folder) / "memories")
                if expected[0] or found[0] or "Error" not in expected[1]:
                    assert normal(found) == normal(expected), command
            listed = {"command": "view", "path": "/memories"}
            assert normal(answer(ours, listed)) == normal(answer(theirs, listed))


@pytest.fixture
def tool(opened: commonplace.Store) -> MemoryTool:
    return MemoryTool(opened)


def test_quirks_that_are_not_copied(tool: MemoryTool) -> None:
    done, told = answer(tool, {"command": "create", "path": "/memoriesX/a.md", "file_text": "x"})
    assert (done, told) == (False, "Path must start with /memories, got: /memoriesX/a.md")
    tool.call({"command": "create", "path": "/memories/a.md", "file_text": "one\u2028two\r\nend\n"})
    tool.call(
        {"command": "insert", "path": "/memories/a.md", "insert_line": 1, "insert_text": "new"}
    )
    assert "one\u2028two\r\n" in str(tool.call({"command": "view", "path": "/memories/a.md"}))


def test_what_is_written_is_found_by_a_search(opened: commonplace.Store, tool: MemoryTool) -> None:
    made = {"command": "create", "path": "/memories/tea.txt", "file_text": "Oolong.\n"}
    assert answer(tool, made)[0]
    assert [hit.path for hit in opened.search("oolong")] == ["memories/tea.txt%.md"]


def test_edits_at_once_lose_nothing(opened: commonplace.Store) -> None:
    tool = AsyncMemoryTool(opened)

    async def edit() -> None:
        await tool.call({"command": "create", "path": "/memories/a.md", "file_text": ""})
        insert = {"command": "insert", "path": "/memories/a.md", "insert_line": 0}
        await asyncio.gather(
            *(tool.call({**insert, "insert_text": f"line {number}"}) for number in range(20))
        )

    asyncio.run(edit())
    lines = opened.read("memories/a.md").splitlines()
    assert sorted(lines) == sorted(f"line {number}" for number in range(20))


CALLS = (
    {"command": "create", "path": "/memories/user.md", "file_text": "Likes oolong.\n"},
    {"command": "view", "path": "/memories/none.md"},
)


@pytest.fixture
def model() -> Iterator[JsonServer]:
    """The Messages API: first asks for two commands of the memory tool, then ends its turn."""
    calls = iter(CALLS)

    def answer(_: Json) -> Answer:
        use = {"type": "tool_use", "id": f"t{len(server.asked)}", "name": "memory"}
        call = next(calls, None)
        block = {**use, "input": call} if call else {"type": "text", "text": "Done."}
        return 200, {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [block],
            "stop_reason": "tool_use" if call else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    with running(JsonServer(answer)) as server:
        yield server


def request(tool: Any) -> dict[str, Any]:
    return {
        "model": "m",
        "max_tokens": 100,
        "tools": [tool],
        "messages": [{"role": "user", "content": "Remember that I like oolong."}],
        "betas": ["context-management-2025-06-27"],
    }


def check(server: JsonServer, store: commonplace.Store) -> None:
    assert store.read("memories/user.md") == "Likes oolong.\n"
    results = [
        block
        for _, asked in server.asked[1:]
        for message in asked["messages"][-1:]
        for block in message["content"]
        if isinstance(block, dict) and block["type"] == "tool_result"
    ]
    assert "File created successfully at: /memories/user.md" in str(results[0]["content"])
    assert results[1]["is_error"]
    assert "does not exist" in str(results[1]["content"])


def test_the_tool_runner_runs_it(opened: commonplace.Store, model: JsonServer) -> None:
    with anthropic.Anthropic(base_url=model.url, api_key="none") as client:
        last = client.beta.messages.tool_runner(**request(MemoryTool(opened))).until_done()
    assert last.content[0].text == "Done."
    check(model, opened)


def test_the_async_tool_runner_runs_it(opened: commonplace.Store, model: JsonServer) -> None:
    async def run() -> Any:
        async with anthropic.AsyncAnthropic(base_url=model.url, api_key="none") as client:
            tool = AsyncMemoryTool(opened)
            return await client.beta.messages.tool_runner(**request(tool)).until_done()

    assert asyncio.run(run()).content[0].text == "Done."
    check(model, opened)
