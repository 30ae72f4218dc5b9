"""Edits of a session's overview note by section."""

from __future__ import annotations

import pytest

from commonplace import Conflict, Store
from commonplace.memories.overview_and_detail.session import OVERVIEW
from tests.memories.overview_and_detail.helpers import FOLDER, remember


@pytest.mark.parametrize("count", [-1, -10])
def test_a_number_of_turns_is_not_negative(store: Store, count: int) -> None:
    memory = remember(store)
    memory.append({"role": "user", "content": "Stay in the context."})
    for ask in (lambda: memory.compact(count), lambda: memory.build_context("x", count)):
        with pytest.raises(ValueError, match=f"0 or more, not {count}"):
            ask()
    assert memory.compacted == 0


def test_the_overview_is_edited_by_section(store: Store) -> None:
    memory = remember(store)
    memory.patch_overview("Current Task", "Ship the login.")
    memory.patch_overview("Risks", "None known.")
    done = memory.patch_overview("Current Task", "Ship the logout.")
    assert done["previous"] != done["version"]
    assert (
        memory.read_overview()
        == OVERVIEW.replace("<!-- What are you working on? -->", "Ship the logout.")
        + "\n## Risks\nNone known.\n"
    )
    version = store.version(f"{FOLDER}/working-memory/overview.md")
    memory.write_overview("# Working Memory\n", expected_version=version)
    with pytest.raises(Conflict):
        memory.write_overview("lost", expected_version=version)
    with pytest.raises(Conflict):
        memory.patch_overview("Risks", "lost", expected_version=version)
    version = store.version(f"{FOLDER}/working-memory/overview.md")
    memory.patch_overview("Risks", "One.", expected_version=version)
    assert memory.read_overview() == "# Working Memory\n\n## Risks\nOne.\n"


def test_a_section_is_found_as_a_model_writes_it(store: Store) -> None:
    memory = remember(store)
    memory.patch_overview("## current task", "Ship the login.")
    assert "## Current Task\nShip the login.\n\n## Key" in memory.read_overview()
    store.write(f"{FOLDER}/working-memory/overview.md", "## a\n1\n\n## A\n2\n")
    memory.patch_overview("A", "3")
    assert memory.read_overview() == "## a\n1\n\n## A\n3\n"


@pytest.mark.parametrize(
    ("section", "content"),
    [
        ("Current Task", "```\nopen"),
        ("Current Task", "<!-- open"),
        ("Current Task", "## Another\nx"),
        ("Current Task", "# Above\nx"),
        ("Current Task", "x\n---"),
        ("a\n## b", "x"),
        ("", "x"),
        ("##", "x"),
    ],
)
def test_a_section_does_not_swallow_what_follows(store: Store, section: str, content: str) -> None:
    memory = remember(store)
    with pytest.raises(ValueError, match="a section has a heading"):
        memory.patch_overview(section, content)
    assert memory.read_overview() == OVERVIEW


def test_what_a_person_left_open_is_not_replaced_with_its_section(store: Store) -> None:
    memory = remember(store)
    path = f"{FOLDER}/working-memory/overview.md"
    text = "## Task\n```\ncode\n\n## Decisions\nall of them\n"
    store.write(path, text)
    for section in ("Task", "Decisions"):
        with pytest.raises(ValueError, match="left open"):
            memory.patch_overview(section, "short")
    assert store.read(path) == text


def test_the_overview_stays_short(store: Store) -> None:
    memory = remember(store, overview_limit=500)
    with pytest.raises(ValueError, match="500 characters"):
        memory.write_overview("x" * 501)
    with pytest.raises(ValueError, match="500 characters"):
        memory.patch_overview("Current Task", "x" * 400)
    assert memory.read_overview() == OVERVIEW
    store.write(f"{FOLDER}/working-memory/overview.md", "a line\n" * 100)
    shown = memory.build_context("x")[1]["content"]
    assert shown == "a line\n" * 71 + "[… 204 more characters in overview.md]\n"
