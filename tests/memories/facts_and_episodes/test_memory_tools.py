"""Tools of facts and episodes: read, write, patch, append, list."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import commonplace
from commonplace import Conflict, NotFound, Store
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


@pytest.mark.parametrize("folder", ["", "data"])
def test_what_others_keep_in_the_same_folder_is_left_alone(store: Store, folder: str) -> None:
    base = f"{folder}/" if folder else ""
    memory = FactsAndEpisodes(store, folder)
    memory.memory_write("app.md", "- Berlin is where it runs\n")
    profile, world = "users/bob/MEMORY.md", "world/people.md"
    for path in (profile, world):
        store.write(f"{base}{path}", "- Bob lives in Berlin\n")
    patches: Any = [{"oldText": "Berlin", "newText": "Lisbon"}]
    calls: list[Callable[[], object]] = [
        lambda: memory.memory_read(profile),
        lambda: memory.memory_read(f"{world}#L1"),
        lambda: memory.memory_read(f"{base}{world}#L1-L1"),
        lambda: memory.memory_write(profile, "- x\n"),
        lambda: memory.memory_append(world, "- x\n"),
        lambda: memory.memory_patch(profile, patches),
        lambda: memory.forget(f"{profile}#L1"),
    ]
    for call in calls:
        with pytest.raises(commonplace.Refused, match="not of this memory"):
            call()
    assert store.read(f"{base}{profile}") == "- Bob lives in Berlin\n"
    passages = memory.forget("Berlin")["passages"]
    assert passages
    assert all(one["citation"].startswith("app.md#") for one in passages)
    assert "Berlin" in memory.memory_read("app.md")
    # what a person begins there is not there yet
    assert memory.memory_append("projects/web.md", "- x\n")["path"] == "projects/web.md"


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


def test_a_part_of_a_word_is_found_with_the_lines_around_it(memory: FactsAndEpisodes) -> None:
    memory.memory_write(
        "facts/app.md", "# App\n\n- Login: own\n- Authentication: JWT\n- Port: 80\n"
    )
    found = memory.memory_grep("AUTHENTICAT", context=1)
    assert found.splitlines() == [
        "1. facts/app.md#L3",
        "   2-",
        "   3:> Summary: login, authentication, port",
        "   4-",
        "2. facts/app.md#L6",
        "   5-- Login: own",
        "   6:- Authentication: JWT",
        "   7-- Port: 80",
    ]
    assert memory.memory_grep("authenticat", 1).endswith("limit=2.]")
    assert memory.memory_grep("nowhere") == "No line holds 'nowhere'."
    assert memory.memory_read("facts/app.md#L6-L7") == "- Authentication: JWT\n- Port: 80\n"
    with pytest.raises(NotFound):
        memory.memory_read("facts/app.md#L60")


def test_an_entry_goes_to_the_month_of_its_date(memory: FactsAndEpisodes) -> None:
    done = memory.memory_append("episodes/2026-03.md", LOGGER)
    assert done["path"] == "episodes/2026-02.md"
    assert done["note"] == "filed by the date of the entry: episodes/2026-02.md"
    assert memory.memory_append("episodes/2026-03.md", "## 2026-01-31 Rent\n")["path"] == (
        "episodes/2026-01.md"
    )
    both = memory.memory_append("episodes/2026-03.md", f"{SHORT}\n## Now\nMore.\n")
    assert both["path"] == "episodes/2026-03.md"
    assert both["note"] == "filed by the date of the entry: episodes/2026-02.md"
    february = memory.memory_read("episodes/2026-02.md")
    assert february.count("\n## ") == 2
    assert "Short ID" in february
    with pytest.raises(Conflict):
        memory.memory_append("episodes/2026-03.md", LOGGER, expected_version="absent")
    assert memory.memory_read("episodes/2026-02.md") == february
