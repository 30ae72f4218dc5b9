"""File names in NFD and NFC: each call finds what was written under the other form."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from commonplace import Store
from commonplace.errors import NotFound, Refused
from commonplace.memories.facts_and_episodes import FactsAndEpisodes
from commonplace.memories.four_layers import FourLayers
from commonplace.recall import HybridSearch
from tests.doubles import letter_embedder

FOLDER, NOTE, LOG = "cafe\u0301", "cafe\u0301/re\u0301sume\u0301.md", "cafe\u0301/s/messages.jsonl"
STORED = "caf\u00e9/r\u00e9sum\u00e9.md"
MESSAGE = {"role": "user", "content": "banana"}

CALLS: dict[str, Callable[[Store], object]] = {
    "read": lambda store: store.read(NOTE),
    "read a version": lambda store: store.read(NOTE, store.version(STORED)),
    "version": lambda store: store.version(NOTE),
    "list a file": lambda store: store.list(NOTE),
    "list a folder": lambda store: store.list(FOLDER),
    "sections": lambda store: store.sections(NOTE),
    "documents": lambda store: store.documents(NOTE),
    "stamp": lambda store: store.stamp(NOTE),
    "lines_at": lambda store: store.lines_at(NOTE, [0]),
    "history": lambda store: store.history(NOTE),
    "keep": lambda store: store.keep(NOTE),
    "search": lambda store: store.search("banana", prefix=FOLDER),
    "search in two": lambda store: store.search("banana", prefix=["x", NOTE]),
    "explain": lambda store: store.explain("banana", f"{NOTE}#L3"),
    "grep": lambda store: list(store.grep("banana", prefix=FOLDER)),
    "grep a file": lambda store: list(store.grep("banana", prefix=NOTE)),
    "messages": lambda store: store.transcript(LOG).messages(),
    "message": lambda store: store.transcript(LOG)[1],
    "records": lambda store: store.transcript(LOG).records(store.transcript(LOG).messages()),
    "recall": lambda store: list(
        HybridSearch(store, letter_embedder()).search("banana", prefix=FOLDER)
    ),
    "append": lambda store: store.append(NOTE, "more"),
    "append a message": lambda store: store.transcript(LOG).append(MESSAGE),
    "patch": lambda store: store.patch(NOTE, [("banana", "apple")]),
    "update": lambda store: store.update(NOTE, lambda text: f"{text}!"),
    "write": lambda store: store.write(NOTE, "new", expected_version=store.version(STORED)),
    "move": lambda store: store.move(NOTE, "cafe\u0301/e\u0301.md"),
    "delete": lambda store: store.delete(NOTE),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_was_written_is_found(store: Store, name: str) -> None:
    assert store.write(NOTE, "# Note\n\nbanana one\n").path == STORED
    store.write(NOTE, "# Note\n\nbanana\n")
    assert store.transcript(LOG).append(MESSAGE) == 1
    assert CALLS[name](store)
    # and no second file or folder was made of it
    assert [path.name for path in store.root.iterdir() if path.name[0] != "."] == ["caf\u00e9"]
    assert len(store.list()) == (1 if name == "delete" else 2)


def test_a_twin_is_neither_made_nor_taken_for_the_other(store: Store) -> None:
    (store.root / "ne\u0301e.md").write_text("by hand")
    assert store.read("ne\u0301e.md") == "by hand"
    with pytest.raises(Refused) as refused:
        store.write("n\u00e9e.md", "x")
    assert refused.value.code == "collision"
    with pytest.raises(NotFound):
        store.read("n\u00e9e.md")


def test_a_system_in_a_folder_spelled_so(store: Store) -> None:
    memory = FactsAndEpisodes(store, FOLDER)
    memory.memory_write("re\u0301sume\u0301.md", "- Fruit: banana\n")
    assert [file["path"] for file in memory.memory_list()] == ["r\u00e9sum\u00e9.md"]
    assert "banana" in memory.memory_read("re\u0301sume\u0301.md")
    assert memory._usage.of(STORED).reads == 1
    layers = FourLayers(store, FOLDER)
    layers.append("episodic", {"content": "papaya"})
    assert [entry.content for entry in layers.search("episodic", "papaya")] == ["papaya"]
