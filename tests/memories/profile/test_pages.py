"""Pages of a profile: older entries that moved out of MEMORY.md."""

from __future__ import annotations

from collections import Counter

import pytest

from commonplace.errors import CompactionFailed
from commonplace.memories.profile import Profile, pages
from commonplace.store import Store
from tests.doubles import Clock
from tests.memories.profile.helpers import texts


def fill(memory: Profile, count: int) -> None:
    for number in range(count):
        memory.remember(f"Another thing, number {number}", "preference")


def test_older_entries_move_to_pages(opened: Store, clock: Clock) -> None:
    memory = Profile(opened, clock=clock, limit=1000)
    said = [f"Fact number {number} is {number * number}" for number in range(120)]
    for number, text in enumerate(said):
        memory.remember(text, ["preference", "style"][number % 2])
    sizes = {entry.path: entry.size for entry in opened.list()}
    assert "memory/preference.md" in sizes
    assert "memory/preference-2.md" in sizes
    assert all(size <= 1000 for size in sizes.values())
    assert Counter(texts(memory)[:100] + texts(memory)[100:]) <= Counter(said)
    assert Counter(entry.text for entry in memory.entries(limit=1000)) == Counter(said)
    assert memory.categories() == {"Preference": 60, "Style": 60}
    page = opened.read("memory/preference.md")
    assert page.startswith("---\nunit: item\n---\n# Memory: Preference\n\n## Preference\n\n- Fact")
    # what is on a page is found, known, and shown
    assert memory.recall("fact number 0").found[0].citation == "memory/preference.md#L8"
    assert not memory.remember(said[0], "preference")["added"]
    assert said[0] in memory.memory_recall(mode="full")


def test_what_contradicts_an_entry_on_a_page_replaces_it(opened: Store, clock: Clock) -> None:
    memory = Profile(opened, clock=clock, limit=300)
    memory.remember("User prefers light mode", "preference")
    fill(memory, 12)
    assert "light mode" not in opened.read("MEMORY.md")
    receipt = memory.remember("User prefers dark mode", "preference")
    (old,) = receipt["replaced"]
    assert old["citation"].startswith("memory/preference.md#L")
    assert "light mode" in opened.read("memory/preference.md", old["version"])
    assert "light mode" not in "".join(texts(memory))
    # what was true stays, and says until when
    assert "- ~~User prefers light mode~~ <!-- META: until=2026-02-23 -->\n" in (
        memory.memory_recall(mode="full")
    )
    assert len(texts(memory)) == 13


def test_what_a_crash_left_in_both_files_comes_once(
    opened: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = Profile(opened, clock=clock, limit=300)

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(pages.Pages, "take_out", crash)
        with pytest.raises(KeyboardInterrupt):
            fill(memory, 20)
    held = set(texts(memory))
    memory.remember("one more", "preference")
    assert Counter(texts(memory)) == Counter([*held, "one more"])


def test_a_page_that_does_not_read_back_costs_nothing(
    opened: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = Profile(opened, clock=clock, limit=300)
    monkeypatch.setattr(pages.Pages, "_put", lambda *_: None)
    receipts = [memory.remember(f"Thing {number} of many", "style") for number in range(20)]
    assert len(texts(memory)) == 20
    assert "do not read back" in receipts[-1]["notes"][0]
    with pytest.raises(CompactionFailed):
        pages.Pages(opened, "", 300).move_older_entries()
