"""Property tests of four layers: any text, hand edits and calls in any order."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

import commonplace
from commonplace.entries.blocks import parse as blocks_of
from commonplace.errors import Conflict
from commonplace.memories import FourLayers
from commonplace.memories.four_layers.entries import record_of, render
from commonplace.memories.four_layers.types import KnowledgeEntry
from tests.doubles import Clock, StoreMachine
from tests.memories.four_layers.helpers import (
    FEBRUARY,
    MICROSECOND,
    NOW,
    append,
    contents,
    episodes,
    filled,
    json_values,
    numbered,
    texts,
)


@given(texts, texts, st.dictionaries(texts, json_values, max_size=2))
@example("", "", {})
@example("# x ##", "## y", {"-->": "<!--"})
@settings(max_examples=300, deadline=None)
def test_any_record_comes_back_from_its_block(key: str, text: str, metadata: Any) -> None:
    cases: list[tuple[Any, dict[str, Any]]] = [
        ("episodic", {"id": key, "timestamp": 1, "content": text, "metadata": metadata}),
        ("semantic", {"key": key, "value": text}),
        ("procedural", {"condition": key, "action": text, "timestamp": 0.5}),
    ]
    for layer, record in cases:
        note = "# Head\n\n" + render(layer, record, {"id": "i"} if layer == "procedural" else {})
        found = blocks_of(f"{note}\n## next\n")
        assert len(found) == 2
        assert record_of(layer, found[0], "episodes/2026-02.md") == record


@given(st.lists(st.tuples(texts, filled), min_size=1, max_size=3))
@settings(max_examples=40, deadline=None)
def test_any_text_goes_through_every_layer(
    roomy: commonplace.Store, pairs: list[tuple[str, str]]
) -> None:
    memory = FourLayers(roomy, f"run{next(numbered)}", clock=Clock(FEBRUARY, MICROSECOND))
    known: dict[str, str] = {}
    for key, text in pairs:
        append(memory, text)
        memory.learn({"key": key, "value": text})
        known[key] = text
        memory.append("procedural", {"content": text, "metadata": {"condition": key}})
        memory.append("working", {"content": text})
    assert episodes(memory) == contents(memory.get_working_memory())
    assert episodes(memory) == [text for _, text in pairs]
    assert {key: getattr(memory.recall(key), "value", None) for key in known} == known
    assert [(entry.metadata, entry.content) for entry, _ in memory.cited("procedural")] == [
        ({"condition": key}, text) for key, text in pairs
    ]


def test_what_a_person_writes_is_an_entry(memory: FourLayers, store: commonplace.Store) -> None:
    hand = (
        "# 2026-01\n\n> Summary: displays\n\n## Blank displays\n- Date: 2026-01-20\n- Lesson: a "
        "building is many\n\n### Detail\n\neleven displays\n\n## No date\n\ntext\n"
    )
    store.write("episodes/2026-01.md", hand)
    store.write("facts/tea.md", "## tea\n\ngreen\n")
    store.write("procedures/rules.md", "## when it rains\n\ntake the ferry\n")
    append(memory, "ours")
    first, second, ours = memory.get_episodic_memory()
    assert first.content.startswith("Blank displays\n\n- Date: 2026-01-20\n")
    assert first.timestamp == datetime(2026, 1, 20, tzinfo=UTC).timestamp() * 1000
    assert second.timestamp == datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000
    assert ours.content == "ours"
    assert memory.search("episodic", "eleven") == [first]
    assert memory.recall("tea") == KnowledgeEntry("tea", "green")
    assert memory.search("procedural", "rain")[0].content == "take the ferry"
    assert memory.get_stats().procedural_rule_count == 1
    # it is not ours to take away
    memory.compact("episodic", {"keep_last": 0})
    memory.clear()
    assert store.read("episodes/2026-01.md") == hand
    assert [entry.path for entry in store.list("facts/")] == ["facts/tea.md"]
    memory.learn({"key": "tea", "value": "black"})
    assert memory.recall("tea") == KnowledgeEntry("tea", "black", NOW)
    assert len(blocks_of(store.read("facts/tea.md"))) == 1


def test_a_fence_left_open_swallows_nothing(memory: FourLayers, store: commonplace.Store) -> None:
    append(memory, "one")
    memory.learn({"key": "k", "value": "v"})
    for path in ("episodes/2026-02.md", "facts/k.md"):
        note = store.root / path
        note.write_text(note.read_text() + "\n```sh\nls\n")
    append(memory, "two", "three")
    memory.learn({"key": "K", "value": "V"})
    assert episodes(memory) == ["one\n\n```sh\nls", "two", "three"]
    assert getattr(memory.recall("K"), "value", None) == "V"
    assert store.version("episodes/2026-02-part-2.md")


def test_a_person_edits_moves_and_deletes(memory: FourLayers, store: commonplace.Store) -> None:
    append(memory, "one", "two")
    note = store.root / "episodes/2026-02.md"
    note.write_text(note.read_text().replace("\n\ntwo\n", "\n\n2\n"))
    assert episodes(memory) == ["one", "2"]
    note.rename(store.root / "episodes/2025-12.md")
    append(memory, "three")
    assert episodes(memory) == ["one", "2", "three"]
    (store.root / "episodes/2025-12.md").unlink()
    assert episodes(memory) == ["three"]
    broken = "## x\n<!--\nMETA:\n- id: 7\n- timestamp: 2026-02-01\n- metadata: a, b\n-->\n\ny\n"
    note.write_text(broken)
    (found,) = memory.get_episodic_memory()
    assert found.id == "7"
    assert found.metadata == {"metadata": "a, b"}
    assert found.timestamp == datetime(2026, 2, 1, tzinfo=UTC).timestamp() * 1000


def test_an_edit_during_a_compaction_is_kept(
    memory: FourLayers, store: commonplace.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(memory, "one", "two", "three")
    memory.get_episodic_memory()
    held = memory._notes.entries("episodic")
    note = store.root / "episodes/2026-02.md"
    note.write_text(note.read_text().replace("\n\none\n", "\n\nONE\n"))
    monkeypatch.setattr(memory._notes, "entries", lambda _layer: held)
    with pytest.raises(Conflict):
        memory.compact("episodic", {"keep_last": 1})
    assert memory.clear("episodic")["cleared"] == {"episodic": 2}
    monkeypatch.undo()
    assert episodes(memory) == ["ONE"]


class Interleaved(StoreMachine):
    """Calls, hand edits and restarts in any order agree with a plain model."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock(FEBRUARY, MICROSECOND)
        self.memory = FourLayers(self.store, clock=self.clock)
        self.episodes: list[str] = []
        self.facts: dict[str, str] = {}
        self.actions: list[str] = []

    @rule(text=filled)
    def append(self, text: str) -> None:
        self.memory.append("episodic", {"content": text})
        self.episodes.append(text)

    @rule(text=filled)
    def add_rule(self, text: str) -> None:
        self.memory.append("procedural", {"content": text, "metadata": {"condition": text}})
        self.actions.append(text)

    @rule(key=st.sampled_from(["a b", "A-b", "claude", "", "名"]), text=texts)
    def learn(self, key: str, text: str) -> None:
        self.memory.learn({"key": key, "value": text})
        self.facts[key] = text

    @precondition(lambda self: self.episodes)
    @rule(pick=st.randoms(use_true_random=False), new=st.sampled_from(["edited", "x\n\n- y", ""]))
    def edit_by_hand(self, pick: Any, new: str) -> None:
        at = pick.randrange(len(self.episodes))
        held = self.memory._notes.entries("episodic")[at]
        path = self.store.root / held.path
        note = path.read_bytes().decode()
        comment = note.index("-->\n", held.block.start) + 4
        path.write_bytes((note[:comment] + f"\n{new}\n\n" + note[held.block.end :]).encode())
        self.episodes[at] = new

    @precondition(lambda self: self.episodes)
    @rule(pick=st.randoms(use_true_random=False))
    def delete_by_hand(self, pick: Any) -> None:
        at = pick.randrange(len(self.episodes))
        held = self.memory._notes.entries("episodic")[at]
        path = self.store.root / held.path
        note = path.read_bytes().decode()
        path.write_bytes((note[: held.block.start] + note[held.block.end :]).encode())
        del self.episodes[at]

    @precondition(lambda self: self.facts)
    @rule(pick=st.randoms(use_true_random=False))
    def unlink_a_fact(self, pick: Any) -> None:
        key = pick.choice(list(self.facts))
        held = next(
            one for one in self.memory._notes.entries("semantic") if one.record["key"] == key
        )
        deleted = [
            o.record["key"] for o in self.memory._notes.entries("semantic") if o.path == held.path
        ]
        (self.store.root / held.path).unlink()
        self.facts = {key: value for key, value in self.facts.items() if key not in deleted}

    @rule(keep=st.integers(0, 3))
    def compact(self, keep: int) -> None:
        answer = self.memory.compact("episodic", {"keep_last": keep})
        if answer["compacted"]:
            kept = self.episodes[len(self.episodes) - keep :] if keep else []
            summary = self.memory.get_episodic_memory()[0].content
            assert summary.startswith(f"[Summary of {len(self.episodes) - keep} entries]\n")
            self.episodes = [summary, *kept]
        self.memory.compact("procedural", {"keep_last": keep})
        self.actions = self.actions[-keep:] if keep else []

    @rule()
    def clear(self) -> None:
        self.memory.clear("semantic")
        self.facts = {}

    @rule()
    def open_again(self) -> None:
        self.store.close()
        self.store = self.open_store()
        self.memory = FourLayers(self.store, clock=self.clock)

    @invariant()
    def agrees(self) -> None:
        assert episodes(self.memory) == self.episodes
        facts = [(entry.id, entry.content) for entry, _ in self.memory.cited("semantic")]
        assert facts == list(self.facts.items())
        for key, value in self.facts.items():
            assert getattr(self.memory.recall(key), "value", None) == value
        assert contents([entry for entry, _ in self.memory.cited("procedural")]) == self.actions
        stats = self.memory.get_stats()
        assert stats.episodic_entry_count == len(self.episodes)


TestInterleaved = Interleaved.TestCase
TestInterleaved.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)


def test_a_fact_that_no_note_can_take_is_refused(
    memory: FourLayers, store: commonplace.Store
) -> None:
    memory.learn({"key": "k", "value": "v"})
    store.append("facts/k.md", "\n```\nleft open by hand")
    # under its hash, of a key that has the same name
    hashed = memory.learn({"key": "K", "value": "v"})["path"]
    store.write(hashed, "somebody else's note\n")
    before = {path: store.read(path) for path in ("facts/k.md", hashed)}
    with pytest.raises(commonplace.FormatError, match="look for a fence left open"):
        memory.learn({"key": "K", "value": "new"})
    assert {path: store.read(path) for path in before} == before


def test_older_entries_are_named_where_the_heading_was_taken_away(
    memory: FourLayers, store: commonplace.Store
) -> None:
    append(memory, "one", "two", "three")
    path = "episodes/2026-02.md"
    store.write(path, store.read(path).partition("\n\n")[2])
    memory.compact("episodic", {"keep_last": 1, "summarize_older": False})
    first, _, rest = store.read(path).partition("\n\n")
    assert first == f"> Older entries: archive/{path}"
    assert [block.text for block in blocks_of(rest)] == ["three"]
    assert "one" in store.read(f"archive/{path}")


def test_a_note_that_keeps_changing_is_left_as_it_is(
    memory: FourLayers, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(memory, "one", "two")

    def taken(*_: object, **__: object) -> None:
        raise commonplace.Conflict("somebody writes")

    monkeypatch.setattr(commonplace.Store, "update", taken)
    monkeypatch.setattr(commonplace.Store, "delete", taken)
    with pytest.raises(commonplace.Conflict, match="kept changing while entries were taken out"):
        memory.clear("episodic")
    assert episodes(memory) == ["one", "two"]
