"""Rewrites of whole notes of world and agents: kept old text, expected versions."""

from __future__ import annotations

import pytest

from commonplace.errors import Conflict, EncodingError
from commonplace.memories.world_and_agents import WorldAndAgents
from commonplace.store import Store


def test_a_rewrite_keeps_the_old_text_and_says_where(memory: WorldAndAgents, opened: Store) -> None:
    first = memory.reflect("old")
    second = memory.reflect("new")
    assert (first["success"], first["previous"]) == (True, None)
    assert second["previous"] == first["version"]
    assert (opened.root / second["history"]).read_text() == "old"
    assert opened.read("agents/planner/MEMORY.md") == "new"
    first = memory.learn_fact("people", "old")
    second = memory.learn_fact("people", "new")
    assert (opened.root / second["history"]).read_text() == "old"
    assert second["previous"] == first["version"]


def test_a_rewrite_is_whole_for_whoever_is_reading(memory: WorldAndAgents, opened: Store) -> None:
    for path, rewrite in (
        ("agents/planner/MEMORY.md", memory.reflect),
        ("world/people.md", lambda content: memory.learn_fact("people", content)),
    ):
        rewrite("old " * 10_000)
        with (opened.root / path).open() as reading:
            assert reading.read(8) == "old old "
            rewrite("new " * 10_000)
            assert reading.read() == "old " * 9_998
        assert opened.read(path) == "new " * 10_000
        assert len(list((opened.root / path).parent.iterdir())) == 1


def test_every_write_can_name_the_version_it_expects(memory: WorldAndAgents, opened: Store) -> None:
    seen = memory.reflect("one", expected_version="absent")["version"]
    memory.reflect("two", expected_version=seen)
    with pytest.raises(Conflict):
        memory.reflect("three", expected_version=seen)
    seen = memory.learn_fact("people", "one", expected_version="absent")["version"]
    memory.learn_fact("people", "two", expected_version=seen)
    for wrong in (seen, "absent"):
        with pytest.raises(Conflict):
            memory.learn_fact("people", "three", expected_version=wrong)
    seen = memory.remember("one", expected_version="absent")["version"]
    memory.remember("two", expected_version=seen)
    for wrong in (seen, "absent"):
        with pytest.raises(Conflict):
            memory.remember("three", expected_version=wrong)
    with pytest.raises(Conflict):
        WorldAndAgents(opened, "other").remember("one", expected_version=seen)
    assert "three" not in "".join(opened.read(entry.path) for entry in opened.list())
    assert f"(world/people.md, version {opened.version('world/people.md')})" in memory.recall()


def test_nothing_is_written_that_is_not_text(memory: WorldAndAgents, opened: Store) -> None:
    with pytest.raises(EncodingError):
        memory.remember("\ud800")
    with pytest.raises(EncodingError):
        memory.reflect("\ud800")
    with pytest.raises(EncodingError):
        memory.learn_fact("people", "\ud800")
    with pytest.raises(EncodingError):
        memory.learn_fact("\ud800", "text")
    assert opened.list() == []
