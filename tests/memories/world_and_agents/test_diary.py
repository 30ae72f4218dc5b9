"""Diary pages of an agent: appends by several writers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import commonplace
from commonplace.entries.blocks import parse
from commonplace.errors import Refused
from commonplace.memories.world_and_agents import WorldAndAgents, topics
from commonplace.store import Store


def test_entries_of_one_second_stay_apart(memory: WorldAndAgents, opened: Store) -> None:
    for text in ("one", "# two", "```\nopen", "-"):
        path = memory.remember(text)["path"]
    note = opened.read(path)
    assert [block.text for block in parse(note)] == ["one", "# two", "```\nopen", "-"]
    assert {block.title for block in parse(note)} == {"12:00:00"}
    assert note.count("# 2026-02-24\n") == 1


def test_the_day_header_is_written_once_by_many_processes(tmp_path: Path) -> None:
    program = """
import sys, commonplace
from datetime import datetime
from commonplace.memories.world_and_agents import WorldAndAgents
root, name = sys.argv[1:]
memory = WorldAndAgents(
    commonplace.open(root), "team", clock=lambda: datetime.fromisoformat("2026-02-24T12:00:00Z")
)
print("ready", flush=True)
sys.stdin.readline()
for number in range(5):
    memory.remember(f"{name} {number}")
    memory.learn_fact("a b" if name in "02" else "a/b", f"{name} {number}")
"""
    root = tmp_path / "memory"
    root.mkdir()
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(root), str(name)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in range(4)
    ]
    for run in runs:
        assert run.stdout
        assert run.stdout.readline() == "ready\n"
    for run in runs:
        run.communicate("go\n", timeout=60)
        assert run.returncode == 0
    with commonplace.open(root) as store:
        note = store.read("agents/team/daily/2026-02-24.md")
        assert note.startswith("# 2026-02-24\n\n## 12:00:00\n")
        assert note.count("# 2026-02-24\n") == 1
        texts = [block.text for block in parse(note)]
        assert sorted(texts) == [f"{name} {number}" for name in range(4) for number in range(5)]
        # two topics with one name, four writers: two notes, and each holds a last word
        held = [
            topics.unmarked(topics.name_of("world", entry.path), store.read(entry.path))
            for entry in store.list("world")
        ]
        assert sorted(topic for topic, _ in held) == ["a b", "a/b"]
        assert {text[-1] for _, text in held} == {"4"}


def test_a_page_that_a_person_began_goes_on(memory: WorldAndAgents, opened: Store) -> None:
    page = opened.root / "agents/planner/daily/2026-02-24.md"
    page.parent.mkdir(parents=True)
    page.touch()
    memory.remember("one")
    assert page.read_text().startswith("# 2026-02-24\n\n## 12:00:00\n")
    page.write_text("my own words, no line end")
    memory.remember("two")
    assert page.read_text() == "my own words, no line end\n\n## 12:00:00\n\ntwo\n"


def test_a_long_page_is_not_read_to_add_to_it(
    memory: WorldAndAgents, opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = memory.remember("first")["path"]
    with monkeypatch.context() as patch:
        for reads in ("read", "list", "version"):
            patch.setattr(Store, reads, None)
        memory.remember("second")
    assert opened.read(path).count("# 2026-02-24\n") == 1
    assert "first" in opened.read(path)
    (opened.root / path).write_text("")
    memory.remember("third")
    assert opened.read(path) == "# 2026-02-24\n\n## 12:00:00\n\nthird\n"


def test_a_page_only_grows(memory: WorldAndAgents, opened: Store) -> None:
    done = memory.remember("one")
    with pytest.raises(Refused, match="appendonly"):
        opened.write(done["path"], "gone")
    before = opened.read(done["path"])
    memory.remember("two")
    assert opened.read(done["path"]).startswith(before)
