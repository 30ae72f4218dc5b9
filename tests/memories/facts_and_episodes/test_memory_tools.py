"""Tools of facts and episodes: read, write, patch, append, list."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import commonplace
from commonplace import Store
from commonplace.memories.facts_and_episodes import FactsAndEpisodes
from tests.memories.facts_and_episodes.helpers import FEBRUARY, LOGGER, SHORT, USER, listed


def test_write_read_patch(memory: FactsAndEpisodes, root: Path) -> None:
    answer = memory.memory_write("facts/user.md", USER)
    assert answer["success"] is True
    assert answer["path"] == "facts/user.md"
    assert memory.memory_read("facts/user.md") == USER
    assert (root / "data/memory/facts/user.md").read_text() == USER
    answer = memory.memory_patch(
        "facts/user.md",
        [
            {"oldText": "Zhang San", "newText": "Li Si"},
            {"oldText": "Full-stack", "newText": "Backend"},
        ],
        expected_version=str(answer["version"]),
    )
    assert (answer["success"], answer["appliedCount"]) == (True, 2)
    assert "applied" not in answer
    assert "Li Si" in memory.memory_read("facts/user.md")


@pytest.mark.parametrize(
    "patches",
    [
        [{"oldText": "Name", "newText": "x"}, {"oldText": "nowhere", "newText": "y"}],
        [{"oldText": "e", "newText": "x"}],
        [],
    ],
)
def test_a_patch_is_all_or_nothing(memory: FactsAndEpisodes, patches: list[Any]) -> None:
    memory.memory_write("facts/user.md", USER)
    with pytest.raises(commonplace.PatchFailed):
        memory.memory_patch("facts/user.md", patches)
    assert memory.memory_read("facts/user.md") == USER


def test_every_write_answers_with_the_version_and_takes_the_expected_one(
    memory: FactsAndEpisodes, store: Store
) -> None:
    written = memory.memory_write("facts/user.md", "- Name: A\n", expected_version="absent")
    seen = str(written["version"])
    assert seen == store.version("data/memory/facts/user.md")
    patches: Any = [{"oldText": "Name", "newText": "Call"}]
    patched = memory.memory_patch("facts/user.md", patches, expected_version=seen)
    assert patched["version"] == store.version("data/memory/facts/user.md")
    assert memory.memory_read("facts/user.md") == "> Summary: call\n\n- Call: A\n"
    stale: list[Callable[[], object]] = [
        lambda: memory.memory_write("facts/user.md", "x", expected_version=seen),
        lambda: memory.memory_patch("facts/user.md", patches, expected_version=seen),
        lambda: memory.memory_append("facts/user.md", "x", expected_version=seen),
        lambda: memory.memory_append("facts/user.md", "x", expected_version="absent"),
        lambda: memory.memory_append(FEBRUARY, "x", expected_version=seen),
    ]
    for write in stale:
        with pytest.raises(commonplace.Conflict):
            write()
    now = str(patched["version"])
    assert memory.memory_append("facts/user.md", "- Age: 3", expected_version=now)["success"]
    assert memory.memory_append(FEBRUARY, "x", expected_version="absent")["success"]


def test_append_makes_the_files_of_the_design(memory: FactsAndEpisodes) -> None:
    memory.memory_append(FEBRUARY, LOGGER)
    memory.memory_append(FEBRUARY, SHORT)
    assert memory.memory_read(FEBRUARY) == (
        "# 2026-02 Episodes\n\n> Summary: Short ID implementation, Logger stdout leak fix\n\n"
        f"{LOGGER}\n{SHORT}"
    )
    memory.memory_append(FEBRUARY, "## Config refactor", summary="logger fix, short ID, config")
    assert listed(memory)[FEBRUARY] == "logger fix, short ID, config"


def test_list_has_path_summary_and_size(memory: FactsAndEpisodes, store: Store) -> None:
    assert memory.memory_list() == []
    memory.memory_write("facts/user.md", USER)
    store.write("elsewhere.md", "not ours")
    assert memory.memory_list() == [
        {
            "path": "facts/user.md",
            "summary": "user name, language, role",
            "size": len(USER.encode()),
            "version": store.version("data/memory/facts/user.md"),
        }
    ]


@pytest.mark.parametrize(
    "path",
    ["../x.md", "/etc/x.md", "facts/../../x.md", "", ".commonplace/x.md", "a\\b.md", "facts/x.txt"],
)
@pytest.mark.parametrize("folder", ["", "data/memory"])
def test_paths_stay_in_the_memory(opened: Store, folder: str, path: str) -> None:
    memory = FactsAndEpisodes(opened, folder)
    opened.write("x.md", "above")
    before = [entry.path for entry in opened.list()]
    patches: Any = [{"oldText": "above", "newText": "y"}]
    for call in (
        lambda: memory.memory_write(path, "x"),
        lambda: memory.memory_append(path, "x"),
        lambda: memory.memory_patch(path, patches),
        lambda: memory.memory_read(path),
    ):
        with pytest.raises((commonplace.Refused, commonplace.NotFound)):
            call()
    assert [entry.path for entry in opened.list()] == before
    assert opened.read("x.md") == "above"


def test_a_transcript_is_no_memory_file(opened: Store) -> None:
    memory = FactsAndEpisodes(opened)
    opened.transcript("s").append({"role": "user", "content": "hi"})
    for call in (memory.memory_write, memory.memory_append):
        with pytest.raises(commonplace.Refused, match="transcript"):
            call("s/messages.jsonl", "x")
    assert memory.memory_list() == []


def test_bad_text_changes_nothing(opened: Store) -> None:
    memory = FactsAndEpisodes(opened)
    for entry in ("", " \n "):
        with pytest.raises(ValueError, match="empty"):
            memory.memory_append(FEBRUARY, entry)
    for call in (memory.memory_write, memory.memory_append):
        with pytest.raises(commonplace.EncodingError):
            call(FEBRUARY, "\ud800")
    with pytest.raises(commonplace.EncodingError):
        memory.memory_append(FEBRUARY, "x", summary="\ud800")
    assert opened.list() == []
