"""Entries of four layers: append, search, learn and recall."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

import commonplace
from commonplace.entries.blocks import parse as blocks_of
from commonplace.errors import Conflict, EncodingError, QueryError
from commonplace.memories import FourLayers
from commonplace.memories.four_layers.files import LIMIT
from commonplace.memories.four_layers.types import KnowledgeEntry, MemoryEntry
from tests.doubles import Clock
from tests.memories.four_layers.helpers import (
    FEBRUARY,
    MICROSECOND,
    NOW,
    append,
    contents,
    episodes,
)

HOUR = 3600 * 1000


def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that fills with the paths of notes as they are read."""
    paths: list[str] = []
    read = commonplace.Store.read

    def seen(self: commonplace.Store, path: str) -> str:
        paths.append(path)
        return read(self, path)

    monkeypatch.setattr(commonplace.Store, "read", seen)
    return paths


# Append


def test_the_example_of_the_design(memory: FourLayers) -> None:
    memory.append(
        "episodic",
        MemoryEntry(
            id="entry-1",
            timestamp=NOW,
            content="Agent analyzed security vulnerabilities in src/",
            metadata={"agentId": "agent-001", "task": "security-scan"},
        ),
    )
    (found,) = memory.search("episodic", "security vulnerabilities")
    assert found.id == "entry-1"
    assert found.metadata == {"agentId": "agent-001", "task": "security-scan"}
    assert memory.search("episodic", "security-scan", scoring="terms") == [found]


def test_an_entry_is_a_block_of_the_note_of_its_month(memory: FourLayers) -> None:
    answer = memory.append("episodic", {"id": "e", "content": "Fixed it", "metadata": {"a": [1]}})
    assert answer["path"] == "episodes/2026-02.md"
    assert memory._notes._store.read("episodes/2026-02.md") == (
        '# Episodes 2026-02\n\n## Fixed it\n<!--\nMETA:\n- id: "e"\n'
        f'- timestamp: {NOW}\n- metadata: {{"a":[1]}}\n-->\n\nFixed it\n'
    )


@pytest.mark.parametrize("layer", ["working", "episodic", "semantic", "procedural"])
def test_id_and_timestamp_are_given(memory: FourLayers, layer: Any) -> None:
    answer = memory.append(layer, {"content": "said"})
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", answer["id"])
    (found,) = memory.search(layer, "said", scoring="terms")
    assert (found.id, found.timestamp) == (answer["id"], NOW)


def test_working_memory_keeps_the_last(store: commonplace.Store) -> None:
    memory = FourLayers(store)
    for number in range(60):
        memory.append("working", {"content": str(number)})
    assert contents(memory.get_working_memory()) == [str(number) for number in range(10, 60)]
    few = FourLayers(store, max_working_entries=2)
    for number in range(3):
        few.append("working", {"content": str(number)})
    assert contents(few.get_working_memory()) == ["1", "2"]
    assert store.list() == []


def test_a_semantic_entry_is_learned_under_its_key_or_id(memory: FourLayers) -> None:
    memory.append("semantic", {"content": "CSV", "metadata": {"key": "format", "by": "Bob"}})
    memory.append("semantic", {"id": "x1", "content": "other"})
    assert memory.recall("format") == KnowledgeEntry("format", "CSV", NOW)
    assert memory.recall("x1") == KnowledgeEntry("x1", "other", NOW)
    (found,) = memory.search("semantic", "CSV")
    assert found == MemoryEntry(
        id="format", timestamp=NOW, content="CSV", metadata={"key": "format", "by": "Bob"}
    )


def test_a_procedural_entry_is_a_rule(memory: FourLayers, store: commonplace.Store) -> None:
    memory.append("procedural", {"content": "run the tests", "metadata": {"condition": "deploy"}})
    memory.append("procedural", {"content": "be brief"})
    note = store.read("procedures/rules.md")
    assert note.startswith("# Rules\n\n## deploy\n")
    assert [entry.metadata for entry, _ in memory.cited("procedural")] == [
        {"condition": "deploy"},
        {"condition": ""},
    ]
    # a person renames the condition where it is seen
    (store.root / "procedures/rules.md").write_text(note.replace("## deploy", "## release"))
    assert memory.search("procedural", "release")[0].content == "run the tests"


def test_a_layer_goes_on_in_a_next_note(memory: FourLayers, store: commonplace.Store) -> None:
    long = "word " * (LIMIT // 18)
    texts = [f"{number} {long}" for number in range(7)]
    append(memory, *texts)
    assert [entry.path for entry in store.list("episodes/")] == [
        "episodes/2026-02-part-2.md",
        "episodes/2026-02-part-3.md",
        "episodes/2026-02.md",
    ]
    assert all(entry.size <= LIMIT for entry in store.list("episodes/"))
    assert episodes(memory) == texts
    for number in range(7, 30):
        append(memory, f"{number} {long}")
    assert episodes(memory) == [f"{number} {long}" for number in range(30)]


def test_append_reads_the_newest_note_at_most(
    memory: FourLayers, store: commonplace.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(memory, *(f"{number} {'word ' * (LIMIT // 18)}" for number in range(10)))
    read = reads(monkeypatch)
    append(memory, "same process")
    assert read == []
    append(FourLayers(store, clock=Clock(FEBRUARY, MICROSECOND)), "another")
    assert read == ["episodes/2026-02-part-4.md"]


def test_order_is_that_of_appending(memory: FourLayers, store: commonplace.Store) -> None:
    day = 24 * HOUR
    stamps = [NOW - 90 * day, NOW, NOW - 60 * day, NOW + 900 * day, -1e300, 1e300, 1.5]
    for number, stamp in enumerate(stamps):
        memory.append("episodic", {"content": str(number), "timestamp": stamp})
    assert [entry.timestamp for entry in memory.get_episodic_memory()] == stamps
    assert episodes(memory) == list("0123456")
    assert [e.path for e in store.list("episodes/")] == [
        "episodes/2025-11.md",
        "episodes/2026-02.md",
    ]


@pytest.mark.parametrize(
    ("entry", "error", "error_text"),
    [
        ({}, ValueError, "content"),
        ({"text": "x"}, ValueError, "id, timestamp, content, metadata, and no 'text'"),
        ({"content": 3}, ValueError, "content is 3, not text"),
        ({"content": "x", "timestamp": "now"}, ValueError, "not a number"),
        ({"content": "x", "metadata": ["a"]}, ValueError, "not an object"),
        ({"content": "x", "metadata": {"a": math.nan}}, ValueError, "JSON cannot hold"),
        ({"content": "x", "metadata": {"a": {1: 2}}}, ValueError, "JSON cannot hold"),
        ({"content": "x", "metadata": {"a": 2**64 + 1}}, ValueError, "beyond 64 bits"),
        ({"content": "\ud800"}, EncodingError, "UTF-8"),
        ({"content": "x", "metadata": {"a": "\ud800"}}, ValueError, "UTF-8"),
        ("x", ValueError, "neither one nor a dict"),
    ],
)
def test_a_bad_entry_is_refused_whole(
    memory: FourLayers,
    store: commonplace.Store,
    entry: Any,
    error: type[Exception],
    error_text: str,
) -> None:
    for layer in ("episodic", "semantic", "procedural"):
        with pytest.raises(error, match=error_text):
            memory.append(layer, entry)
    assert store.list() == []
    with pytest.raises(ValueError, match="working, episodic, semantic, procedural, not 'daily'"):
        memory.append("daily", {"content": "x"})  # type: ignore[arg-type]


def test_writes_expect_a_version(memory: FourLayers) -> None:
    first = memory.append("episodic", {"content": "one"}, expected_version="absent")
    second = memory.append("episodic", {"content": "two"}, expected_version=first["version"])
    with pytest.raises(Conflict):
        memory.append("episodic", {"content": "three"}, expected_version=first["version"])
    assert episodes(memory) == ["one", "two"]
    assert second["success"]
    learned = memory.learn({"key": "k", "value": "1"}, expected_version="absent")
    with pytest.raises(Conflict):
        memory.learn({"key": "k", "value": "2"}, expected_version="absent")
    again = memory.learn({"key": "k", "value": "2"}, expected_version=learned["version"])
    assert memory._notes._store.read("facts/k.md", again["previous"]).endswith("\n1\n")


# Search


def test_terms_are_scored_as_documented(memory: FourLayers) -> None:
    old = NOW - 48 * HOUR
    for id_, content, stamp, metadata in [
        ("twice", "error after error", old, None),
        ("once", "an error", old, None),
        ("within", "terrors", old, None),
        ("metadata", "clean", old, {"kind": "ERROR"}),
        ("new", "one error", NOW - 12 * HOUR, None),
        ("none", "fine", NOW, None),
    ]:
        memory.append(
            "episodic",
            {"id": id_, "content": content, "timestamp": stamp, "metadata": metadata},
        )
    found = memory.search("episodic", "Error", scoring="terms")
    # twice 2·2+1; new 2+1+0.25; the others 2+1, as they came; `none` is new, but has no point
    assert [entry.id for entry in found] == ["twice", "new", "once", "within", "metadata"]
    assert len(memory.search("episodic", "error", 2, scoring="terms")) == 2
    assert memory.search("episodic", "  ", scoring="terms") == []
    assert memory.search("episodic", "absent", scoring="terms") == []


def test_ten_entries_are_found_by_default(memory: FourLayers) -> None:
    for number in range(12):
        memory.append("working", {"content": f"error {number}"})
        memory.append("episodic", {"content": f"error {number}"})
    assert len(memory.search("working", "error")) == 10
    assert len(memory.search("episodic", "error")) == 10
    assert len(memory.search("episodic", "error", scoring="terms")) == 10
    assert len(memory.search("episodic", "errors", 12)) == 12


def test_ranked_search_knows_words_and_stays_in_its_layer(
    memory: FourLayers, store: commonplace.Store
) -> None:
    append(memory, "Deployed the ferry timetable", "Had lunch")
    memory.learn({"key": "ferry", "value": "timetables for 14 lines"})
    store.write(
        "facts/user.md", "# User\n\n- Likes ferry timetables\n\n## Trips\n\nferry timetable\n"
    )
    store.write("episodes/notes.md", "## ferry timetable\n\nof somebody else\n")
    assert contents(memory.search("episodic", "deploying timetables")) == [
        "Deployed the ferry timetable"
    ]
    assert memory.search("episodic", "deploying", scoring="terms") == []
    assert contents(memory.search("semantic", "ferry timetable", 1)) == ["timetables for 14 lines"]
    ((entry, citation),) = memory.search_cited("semantic", "ferry timetable")
    assert (entry.id, citation) == ("ferry", "facts/ferry.md#L1")
    with pytest.raises(QueryError):
        memory.search("episodic", " ")
    for layer in ("working", "episodic"):
        with pytest.raises(ValueError, match="limit"):
            memory.search(layer, "x", 0)
    with pytest.raises(ValueError, match="scoring"):
        memory.search("working", "x", scoring="bm25")  # type: ignore[arg-type]


def test_one_long_entry_is_found_once(memory: FourLayers) -> None:
    append(memory, *(f"{'parser words. ' * 400}{number}" for number in range(3)))
    assert len(memory.search("episodic", "parser", 3)) == 3


@pytest.mark.parametrize(
    "text",
    [
        "first words\n\n" + "\n\n".join(f"para {n} {'lorem ' * 90}" for n in range(9)) + "\n\nlast",
        "first words\n\n```\n" + "## no heading, lorem ipsum\n" * 200 + "```\nlast",
    ],
)
def test_a_long_entry_is_found_whole_by_its_first_words(memory: FourLayers, text: str) -> None:
    append(memory, "before", text, "after")
    for query in ("first words", "last"):
        assert contents(memory.search("episodic", query, 1)) == [text]


# Learn and recall


def test_a_fact_is_a_note_of_its_own(memory: FourLayers, store: commonplace.Store) -> None:
    memory.learn(KnowledgeEntry("dataset-format", "CSV with headers, semicolon-delimited"))
    answer = memory.learn({"key": "dataset-format", "value": "Parquet", "timestamp": 5})
    assert memory.recall("dataset-format") == KnowledgeEntry("dataset-format", "Parquet", 5)
    assert memory.recall("dataset") is None
    note = store.read("facts/dataset-format.md")
    assert note.startswith('## dataset-format\n<!--\nMETA:\n- id: "dataset-format"\n')
    assert note.endswith("-->\n\nParquet\n")
    assert "CSV with headers" in store.read("facts/dataset-format.md", answer["previous"])


def test_keys_with_one_name_do_not_meet(memory: FourLayers, store: commonplace.Store) -> None:
    long = "https://example.org/" + "a" * 100
    keys = ["user name", "User-Name", "user_name", "é", "e\u0301", "?", "!", "", " ", "名", "con"]
    keys += ["\u115f", "claude", "a/../../b", "x" * 5000, f"{long}1", f"{long}2", "#", "a\nb"]
    keys += ["# x ##"]
    for number, key in enumerate(keys):
        memory.learn({"key": key, "value": str(number)})
    for number, key in enumerate(keys):
        found = memory.recall(key)
        assert found is not None
        assert (found.key, found.value) == (key, str(number))
    assert [entry.id for entry, _ in memory.cited("semantic")] == keys
    assert len(blocks_of(store.read("facts/user-name.md"))) == 3


def test_recall_reads_no_other_note(memory: FourLayers, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        memory.learn({"key": f"k{number}", "value": "v"})
    read = reads(monkeypatch)
    assert memory.recall("k3")
    assert read == ["facts/k3.md"]


def test_a_note_of_somebody_else_is_left_alone(
    memory: FourLayers, store: commonplace.Store
) -> None:
    user = "# User\n\n> Summary: name\n\n- Name: Lin Yue\n\n## Trips\n\nnone\n"
    store.write("facts/user.md", user)
    answer = memory.learn({"key": "user", "value": "Bob"})
    assert answer["path"] != "facts/user.md"
    assert memory.get_stats().semantic_entry_count == 1
    memory.clear()
    assert store.read("facts/user.md") == user
    assert [entry.path for entry in store.list()] == ["facts/user.md"]
