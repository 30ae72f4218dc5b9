"""Hand edits of a profile's MEMORY.md."""

from __future__ import annotations

import pytest

from commonplace.adapters.embedders import CallableEmbedder
from commonplace.errors import FormatError
from commonplace.memories.profile import Profile
from commonplace.store import Store
from tests.memories.profile.helpers import HEAD, texts

HAND = """\
# About me

I live in Lisbon.

## Preference
* tabs, not spaces
* dark mode

1. first coffee
2. then mail

```
- no entry
```

<!-- a note to myself
- nor this
-->

### Work
- standing desk
"""


def test_a_file_written_by_hand_is_read(opened: Store, memory: Profile) -> None:
    (opened.root / "MEMORY.md").write_text(HAND)
    assert [(entry.category, entry.text, entry.citation) for entry in memory.entries()] == [
        ("General", "I live in Lisbon.", "MEMORY.md#L3"),
        ("Preference", "tabs, not spaces", "MEMORY.md#L6"),
        ("Preference", "dark mode", "MEMORY.md#L7"),
        ("Preference", "first coffee", "MEMORY.md#L9"),
        ("Preference", "then mail", "MEMORY.md#L10"),
        ("Preference", "```\n- no entry\n```", "MEMORY.md#L12"),
        ("Preference", "standing desk", "MEMORY.md#L21"),
    ]
    # before it says `unit: item`, a section is one result
    found = memory.recall("desk")
    assert [one.text for one in found.found] == ["standing desk"]
    assert "until the first remember()" in found.notes[-1]


def test_remember_keeps_what_a_person_wrote(opened: Store, memory: Profile) -> None:
    (opened.root / "MEMORY.md").write_text(HAND)
    memory.remember("likes tea", "preference")
    memory.remember("is called Alex", "identity")
    assert opened.read("MEMORY.md") == (
        "---\nunit: item\n---\n" + HAND + "- likes tea\n\n## Identity\n\n- is called Alex\n"
    )
    assert [one.text for one in memory.recall("mail").found] == ["then mail"]
    assert memory.recall("mail").notes == ("found by words only: there is no embedder",)


def test_a_hand_edit_is_seen_by_the_next_call(store: Store) -> None:
    memory = Profile(store)
    memory.remember("User likes tea", "preference")
    memory.remember("User has a dog", "general")
    path = store.root / "MEMORY.md"
    path.write_text(path.read_text().replace("likes tea", "likes cocoa"))
    assert [one.text for one in memory.recall("cocoa").found] == ["User likes cocoa"]
    assert memory.recall("tea").found == ()
    assert "cocoa" in memory.memory_recall(mode="full")
    assert "cocoa" in memory.inject().text
    path.unlink()
    assert memory.recall("dog").found == ()
    assert memory.inject("dog").text == ""
    assert memory.categories() == {}


def test_a_hand_edit_is_seen_by_the_vectors(opened: Store, embedder: CallableEmbedder) -> None:
    memory = Profile(opened, embedder=embedder)
    memory.remember("drink: milk", "preference")
    (opened.root / "MEMORY.md").write_text(f"{HEAD}\n## Preference\n\n- pet: animal\n")
    assert [one.text for one in memory.recall("cat").found] == ["pet: animal"]
    assert memory.recall("coffee").found == ()


def test_front_matter_of_a_person_is_kept(opened: Store, memory: Profile) -> None:
    opened.write("MEMORY.md", "---\ntitle: Mine\ntags: [a]\n---\n\n- x\n")
    memory.remember("y")
    assert opened.read("MEMORY.md") == (
        "---\nunit: item\ntitle: Mine\ntags: [a]\n---\n\n- x\n\n## General\n\n- y\n"
    )
    assert texts(memory) == ["x", "y"]


def test_a_fence_left_open_does_not_swallow_an_entry(opened: Store, memory: Profile) -> None:
    opened.write("MEMORY.md", "# Memory\n\n## Preference\n\n- a\n\n```\ncode")
    memory.remember("b", "style")
    memory.remember("c", "preference")
    assert texts(memory, "style") == ["b"]
    assert texts(memory, "preference")[0] == "a"
    assert texts(memory, "preference")[-1] == "c"
    assert opened.read("MEMORY.md").startswith(
        "---\nunit: item\n---\n# Memory\n\n## Preference\n\n- a\n"
    )


def test_line_ends_of_windows(opened: Store, memory: Profile) -> None:
    (opened.root / "MEMORY.md").write_bytes(
        b"# Memory\r\n\r\n## Preference\r\n\r\n- likes\r\n  tea\r\n- User prefers light mode\r\n"
    )
    assert texts(memory) == ["likes\ntea", "User prefers light mode"]
    assert len(memory.remember("User prefers dark mode", "preference")["replaced"]) == 1
    assert texts(memory) == ["likes\ntea", "User prefers dark mode"]


def test_any_line_end_is_one(opened: Store, memory: Profile) -> None:
    (opened.root / "MEMORY.md").write_bytes(
        b"Memory\r===\r\r- a\r- b\r\r## Style\r- c\x0bd\xc2\x85e\r"
    )
    memory.remember("f", "style")
    assert texts(memory) == ["a", "b", "c\x0bd\x85e", "f"]


def test_a_file_that_is_not_utf8_is_left_alone(opened: Store, memory: Profile) -> None:
    (opened.root / "MEMORY.md").write_bytes(b"# Memory\n\n- caf\xe9\n")
    with pytest.raises(FormatError):
        memory.remember("x")
    assert (opened.root / "MEMORY.md").read_bytes() == b"# Memory\n\n- caf\xe9\n"
