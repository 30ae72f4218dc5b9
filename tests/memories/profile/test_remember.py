"""Insertion of profile entries (`remember`): the note, its indexing, refused texts."""

from __future__ import annotations

import pytest

from commonplace.adapters.embedders import CallableEmbedder
from commonplace.errors import Conflict, EncodingError, Refused
from commonplace.memories.profile import Profile
from commonplace.store import Store
from tests.memories.profile.helpers import HEAD, texts


def test_remember_writes_a_bullet_under_its_category(store: Store) -> None:
    memory = Profile(store)
    memory.remember("User prefers Python for coding tasks", "preference")
    memory.remember("Writing style: concise, technical", "style")
    memory.remember('Calls the agent "小搭子"')
    receipt = memory.remember("Likes short answers", "preference")
    assert store.read("MEMORY.md") == (
        f"{HEAD}\n## Preference\n\n- User prefers Python for coding tasks\n- Likes short answers\n"
        "\n## Style\n\n- Writing style: concise, technical\n"
        '\n## General\n\n- Calls the agent "小搭子"\n'
    )
    assert receipt["citation"] == "MEMORY.md#L9"
    assert receipt["category"] == "Preference"
    assert receipt["added"]
    assert receipt["replaced"] == []
    assert receipt["version"] == store.version("MEMORY.md")
    # found by words at once
    assert [one.citation for one in memory.recall("short answers").found] == ["MEMORY.md#L9"]


def test_what_is_remembered_is_found_by_meaning_at_once(
    opened: Store, embedder: CallableEmbedder
) -> None:
    memory = Profile(opened, embedder=embedder)
    memory.remember("The screen should be dark", "preference")
    memory.remember("Has a dog", "identity")
    (found,) = memory.recall("which theme").found
    assert (found.text, found.lexical) == ("The screen should be dark", None)
    assert found.cosine is not None
    assert found.cosine > 0.9


def test_lines_of_an_entry_are_indented(opened: Store, memory: Profile) -> None:
    memory.remember("Working hours:\n\n- 9 to 12\n- 14 to 18", "habit")
    assert opened.read("MEMORY.md").endswith(
        "## Habit\n\n- Working hours:\n\n  - 9 to 12\n  - 14 to 18\n"
    )
    (entry,) = memory.entries()
    assert entry.text == "Working hours:\n\n- 9 to 12\n- 14 to 18"
    assert [found.citation for found in memory.recall("14 to 18").found] == ["MEMORY.md#L8"]


def test_a_category_is_one_whatever_its_case(memory: Profile) -> None:
    memory.remember("a", "coding style")
    memory.remember("b", "Coding  Style")
    memory.remember("c", "CODING STYLE")
    assert memory.categories() == {"Coding Style": 3}


@pytest.mark.parametrize("category", ["", "  \n", "\0", "x" * 201])
def test_a_category_is_some_words(memory: Profile, category: str) -> None:
    with pytest.raises(Refused):
        memory.remember("a", category)
    assert memory.store.list() == []


@pytest.mark.parametrize("content", ["", " \n\t"])
def test_nothing_is_not_remembered(memory: Profile, content: str) -> None:
    with pytest.raises(Refused):
        memory.remember(content)
    assert memory.store.list() == []


def test_text_that_is_not_utf8_is_refused(memory: Profile) -> None:
    with pytest.raises(EncodingError):
        memory.remember("\ud800")


def test_expected_version(memory: Profile) -> None:
    first = memory.remember("a", expected_version="absent")
    with pytest.raises(Conflict, match="read it again"):
        memory.remember("b", expected_version="absent")
    assert texts(memory) == ["a"]
    memory.remember("b", expected_version=first["version"])
    assert texts(memory) == ["a", "b"]
