"""Statistics, clearing, direct access and persistence of four layers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import commonplace
from commonplace.memories import FourLayers
from commonplace.memories.four_layers.types import MemoryStats
from tests.memories.four_layers.helpers import append, contents, episodes


def test_statistics(memory: FourLayers) -> None:
    assert memory.get_stats() == MemoryStats(0, 0, 0, 0, 8)
    memory.append("working", {"id": "w", "timestamp": 1, "content": "abcde"})
    memory.append("episodic", {"id": "e", "timestamp": 1, "content": "é"})
    memory.learn({"key": "k", "value": "v", "timestamp": 2})
    memory.append(
        "procedural", {"content": "do", "timestamp": 3, "metadata": {"condition": "when"}}
    )
    texts = [
        '[{"id":"w","timestamp":1,"content":"abcde"}]',
        '[{"id":"e","timestamp":1,"content":"é"}]',
        '[["k",{"key":"k","value":"v","timestamp":2}]]',
        '[{"condition":"when","action":"do","timestamp":3}]',
    ]
    size = sum(len(text.encode()) for text in texts)
    assert memory.get_stats() == MemoryStats(2, 1, 1, 1, size)


def test_clear_one_layer_or_all(memory: FourLayers, store: commonplace.Store) -> None:
    for layer in ("working", "episodic", "semantic", "procedural"):
        memory.append(layer, {"content": layer})
    assert memory.clear("episodic")["cleared"] == {"episodic": 1}
    assert store.list("episodes/") == []
    (past,) = store.history("episodes/2026-02.md")
    assert "episodic" in store.read("episodes/2026-02.md", past.version)
    assert len(memory.get_working_memory()) == 1
    answer = memory.clear()
    assert answer["cleared"] == {"working": 1, "episodic": 0, "semantic": 1, "procedural": 1}
    assert memory.get_stats() == MemoryStats(0, 0, 0, 0, 8)
    assert store.list() == []


def test_direct_access_gives_copies(memory: FourLayers) -> None:
    memory.append("working", {"content": "a"})
    append(memory, "b")
    memory.append("episodic", {"content": "c", "metadata": {"d": [1]}})
    memory.get_working_memory().clear()
    memory.get_episodic_memory().clear()
    found = memory.get_episodic_memory()[1].metadata
    assert found == {"d": [1]}
    found["d"].append(2)
    assert memory.get_episodic_memory()[1].metadata == {"d": [1]}
    assert contents(memory.get_working_memory()) == ["a"]


def test_many_writers_lose_nothing(store: commonplace.Store) -> None:
    def write(name: str) -> None:
        memory = FourLayers(store, agent=name)
        for number in range(10):
            append(memory, f"{name} {number}")
            memory.learn({"key": f"k{number % 3}", "value": name})
            memory.learn({"key": f"K{number % 3}", "value": name})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, "abcd"))
    said = episodes(FourLayers(store))
    assert sorted(said) == [f"{name} {number}" for name in "abcd" for number in range(10)]
    for name in "abcd":
        assert [text for text in said if text[0] == name] == [f"{name} {n}" for n in range(10)]
    assert FourLayers(store).get_stats().semantic_entry_count == 6


# Initialization and persistence


def test_all_but_working_memory_survives(root: Path) -> None:
    with commonplace.open(root) as store:
        memory = FourLayers(store, ".rlm-data/memory".replace(".", ""))
        for layer in ("working", "episodic", "semantic", "procedural"):
            memory.append(layer, {"id": layer, "content": layer})
    with commonplace.open(root) as store:
        memory = FourLayers(store, "rlm-data/memory")
        assert memory.get_working_memory() == []
        assert episodes(memory) == ["episodic"]
        assert memory.recall("semantic")
        assert contents([entry for entry, _ in memory.cited("procedural")]) == ["procedural"]


def test_nothing_is_read_before_it_is_asked_for(
    store: commonplace.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write("episodes/2026-02.md", "## a\n\nb\n")

    def fail(*_: Any) -> Any:
        raise AssertionError("something was read")

    for name in ("read", "list", "version", "revision", "search"):
        monkeypatch.setattr(commonplace.Store, name, fail)
    memory = FourLayers(store)
    memory.append("working", {"content": "x"})
    monkeypatch.undo()
    assert episodes(memory) == ["a\n\nb"]
