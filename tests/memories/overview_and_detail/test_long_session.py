"""Acceptance tests of long sessions: compaction of old turns, and their recall."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from commonplace import Store
from commonplace.memories import OverviewAndDetail
from commonplace.memories.overview_and_detail.search import SearchOptions
from tests.memories.overview_and_detail.helpers import CWD, FOLDER, remember, talk


def replay(store: Store, source: Path) -> OverviewAndDetail:
    """Load a session, compact it, and look that everything can still be found."""
    memory = remember(store)
    memory.messages.load(source)
    raw = store.read(f"{FOLDER}/messages.jsonl")
    everything = memory.build_context("x", turns=10_000)[2:]
    notes = memory.compact(keep_turns=3)
    assert notes
    recent = memory.build_context("x", turns=10_000)[2:]
    assert 0 < len(recent) < len(everything)
    assert recent[-1] == everything[-1]
    assert recent[0]["role"] == "user"
    called: set[str] = set()
    for message in recent:
        for block in message["content"] if isinstance(message["content"], list) else []:
            if block.get("type") == "tool_use":
                called.add(block["id"])
            assert block.get("type") != "tool_result" or block["tool_use_id"] in called
    lines: list[int] = []
    for note in notes:
        first, last = memory.read_detail(note).meta["lines"]
        lines += [first, last]
        content = memory.read_detail(note).content
        assert len(content) < 7000
        for line in {first, last}:
            assert memory.read_citation(f"messages.jsonl#L{line}")
    assert lines == sorted(lines)
    assert store.read(f"{FOLDER}/messages.jsonl") == raw
    return memory


@pytest.mark.shared
def test_a_real_session_is_compacted_and_recalled(
    opened: Store, shared: Path, tmp_path: Path
) -> None:
    packed = shared / "data" / "speed" / "claude-code-sessions.jsonl.xz"
    wanted = b'"sessionId":"1284c080-f9cd-45f8-9942-ff58f5c517e5"'
    source = tmp_path / "session.jsonl"
    with lzma.open(packed) as lines:
        source.write_bytes(b"".join(line for line in lines if wanted in line.replace(b" ", b"")))
    memory = replay(opened, source)
    asked = next(m for m in memory.messages if m.role == "user" and len(m.text) > 40)
    found = memory.search(SearchOptions(asked.text[:200], 10))
    assert f"messages.jsonl#L{asked.line}" in {result.citation for result in found}
    assert {result.source for result in found} == {"detail", "messages"}


def test_a_session_of_our_own_is_compacted_and_recalled(opened: Store, tmp_path: Path) -> None:
    source = tmp_path / "session.jsonl"
    said = talk(60)
    said[80]["content"] = "The staging password rotation broke the Frankfurt deploy."
    source.write_text("".join(json.dumps(message) + "\n" for message in said))
    memory = replay(opened, source)
    found = memory.search(SearchOptions("What broke the deploy in Frankfurt?"))
    assert {result.source for result in found} == {"detail", "messages"}
    assert "messages.jsonl#L81" in {result.citation for result in found}


def test_tool_traffic_comes_after_conversation_text(store: Store) -> None:
    memory = OverviewAndDetail(store, "s1", cwd=CWD)
    call = {"type": "tool_use", "id": "1", "name": "bash", "input": {"cmd": "ls walrus"}}
    memory.append({"role": "assistant", "content": [call]})
    memory.append({"role": "user", "content": "Where is the walrus?"})
    found = memory.search(SearchOptions("walrus"))
    assert [(one.source, one.line_number) for one in found] == [("messages", 2), ("messages", 1)]
    assert [one.line_number for one in memory.search(SearchOptions("walrus", limit=1))] == [2]
