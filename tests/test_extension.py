"""Extensions from outside the package: each recipe of CONTRIBUTING.md, followed by a toy."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

import commonplace
from commonplace import SearchFilter
from commonplace.errors import NotFound
from commonplace.memories import FactsAndEpisodes, find_system, memory_system, registry
from commonplace.tools import tool, tools_for


class Diary:
    """A memory system in one file: a note a day."""

    def __init__(self, store: commonplace.Store) -> None:
        self.store = store

    @tool("adds")
    def note(self, day: str, text: str) -> str:
        """Note something.

        Args:
            day: Such as 2026-11-22.
            text: What happened.
        """
        self.store.append(f"diary/{day}.md", f"- {text}")
        return "noted"

    @tool("reads")
    def search(self, query: str) -> list[str]:
        """Find what was noted.

        Args:
            query: Words of it.
        """
        return [hit.citation for hit in self.store.search(query, prefix="diary/")]


@pytest.fixture
def no_other_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_systems", dict(registry._systems))


@pytest.mark.usefixtures("no_other_systems")
def test_a_memory_system(tmp_path: Path) -> None:
    assert memory_system("diary")(Diary) is Diary
    with commonplace.open(tmp_path) as store:
        tools = tools_for(find_system("diary")(store))
        assert [one.name for one in tools] == ["note", "search"]
        assert [one.read_only for one in tools] == [False, True]
        assert tools.call("note", {"day": "2026-11-22", "text": "a platypus"}) == "noted"
        assert json.loads(tools.call("search", {"query": "platypus"})) == ["diary/2026-11-22.md#L1"]


@pytest.mark.usefixtures("no_other_systems")
def test_a_memory_system_of_an_installed_package(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFound, match="no memory system 'diary'; there are facts_and_episodes"):
        find_system("diary")
    entry = EntryPoint("diary", f"{__name__}:Diary", registry.GROUP)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: EntryPoints([entry]))
    assert find_system("diary") is Diary
    assert "diary" in registry.system_names()


@pytest.mark.usefixtures("no_other_systems")
def test_what_is_no_memory_system() -> None:
    with pytest.raises(TypeError, match="int has no tools"):
        memory_system("number")(int)
    with pytest.raises(ValueError, match="'profile' already"):
        memory_system("profile")(Diary)


def test_a_tool_of_a_system_that_there_is(tmp_path: Path) -> None:
    class Counted(FactsAndEpisodes):
        @tool("reads")
        def count(self) -> int:
            """Count the files."""
            return len(self.memory_list())

    with commonplace.open(tmp_path) as store:
        memory = Counted(store)
        memory.memory_write("facts/user.md", "# User\n\n- Name: Mara\n")
        tools = tools_for(memory)
        assert tools.call("count", {}) == "1"
        assert "memory_read" in tools.callables()


def test_a_search_filter_of_whoever_calls(tmp_path: Path) -> None:
    def within_a_page(store: commonplace.Store) -> SearchFilter:
        """Only files that fit on a page: a property of files is the list of those that have it."""
        short = [entry.path for entry in store.list() if entry.size <= 2000]
        return SearchFilter(prefix=short)

    with commonplace.open(tmp_path) as store:
        store.write("short.md", "A platypus.\n")
        store.write("long.md", "A platypus.\n" * 1000)
        page = within_a_page(store)
        assert [hit.path for hit in store.search("platypus", filter=page)] == ["short.md"]
        assert store.grep("platypus", filter=page).count() == 1
