"""Design 003, line by line; then its futures; then what a person's editor and a crash may do."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    invariant,
    precondition,
    rule,
)

import commonplace
from commonplace.entries.blocks import parse as blocks_of
from commonplace.errors import (
    CompactionFailed,
    Conflict,
    EncodingError,
    FormatError,
    NotFound,
    QueryError,
    Refused,
)
from commonplace.memories import AgentRuns, FourLayers
from commonplace.memories.four_layers.entries import record_of, render
from commonplace.memories.four_layers.files import LIMIT
from commonplace.memories.four_layers.json_files import parse, stringify
from commonplace.memories.four_layers.types import (
    CompactOptions,
    KnowledgeEntry,
    MemoryEntry,
    MemoryStats,
    ProceduralRule,
)
from commonplace.protocols import Reply
from tests.doubles import Clock, StoreMachine, SummaryModel

FEBRUARY = datetime(2026, 2, 24, 10, 30, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
NOW = int(FEBRUARY.timestamp() * 1000)
HOUR = 3600 * 1000


@pytest.fixture
def memory(store: commonplace.Store) -> FourLayers:
    return FourLayers(store, clock=Clock(FEBRUARY, MICROSECOND))


@pytest.fixture(scope="module")
def roomy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[commonplace.Store]:
    """Yield a store for many examples; each takes a folder of its own."""
    with commonplace.open(tmp_path_factory.mktemp("roomy")) as opened:
        yield opened


def contents(entries: Sequence[MemoryEntry]) -> list[str]:
    return [entry.content for entry in entries]


def episodes(memory: FourLayers) -> list[str]:
    return contents(memory.get_episodic_memory())


def append(memory: FourLayers, *texts: str) -> None:
    for text in texts:
        memory.append("episodic", {"content": text})


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
    ("entry", "error", "said"),
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
    memory: FourLayers, store: commonplace.Store, entry: Any, error: type[Exception], said: str
) -> None:
    for layer in ("episodic", "semantic", "procedural"):
        with pytest.raises(error, match=said):
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


# Compact

SUMMARY = """[Summary of 2 entries]
- Agent analyzed file1.csv [task=analysis]
- Found 3 anomalies in section A [severity=high, count=3]"""


def fill(memory: FourLayers, layer: Any, number: int = 10) -> None:
    memory.append(layer, {"content": "Agent analyzed file1.csv", "metadata": {"task": "analysis"}})
    memory.append(
        layer,
        {
            "content": "Found 3 anomalies\nin section A",
            "metadata": {"severity": "high", "count": 3, "rows": [1, 2, 3]},
        },
    )
    for late in range(number):
        memory.append(layer, {"content": f"late {late}"})


@pytest.mark.parametrize("layer", ["working", "episodic"])
def test_compact_keeps_ten_and_sums_up_the_others(memory: FourLayers, layer: Any) -> None:
    fill(memory, layer)
    answer = memory.compact(layer)
    first, *kept = memory.search(layer, "e", 50, scoring="terms")
    entries = memory.get_working_memory() if layer == "working" else memory.get_episodic_memory()
    first, *kept = entries
    assert first.content == SUMMARY
    assert first.id == answer["summary"]
    assert contents(kept) == [f"late {late}" for late in range(10)]
    assert answer["compacted"] == 2
    again = memory.compact(layer, CompactOptions(keep_last=11))
    assert again["compacted"] == 0


@pytest.mark.parametrize("layer", ["working", "episodic"])
def test_compact_without_a_summary(memory: FourLayers, layer: Any) -> None:
    fill(memory, layer, 2)
    memory.compact(layer, {"keepLast": 1, "summarizeOlder": False})
    entries = memory.get_working_memory() if layer == "working" else memory.get_episodic_memory()
    assert contents(entries) == ["late 1"]


@pytest.mark.parametrize("layer", ["working", "episodic"])
def test_a_summary_alone_is_not_summed_up_again(memory: FourLayers, layer: Any) -> None:
    fill(memory, layer, 4)
    memory.compact(layer, {"keepLast": 2})
    before = memory.search(layer, "Summary", scoring="terms")
    assert len(before) == 1
    assert memory.compact(layer, {"keepLast": 2})["compacted"] == 0
    assert memory.search(layer, "Summary", scoring="terms") == before


@pytest.mark.parametrize("keep", ["3", 1.5, -1])
def test_how_many_stay_is_a_number(memory: FourLayers, keep: Any) -> None:
    with pytest.raises(ValueError, match="keep_last"):
        memory.compact("episodic", {"keepLast": keep})


def test_what_comes_while_a_model_is_asked_stays(store: commonplace.Store) -> None:
    class Slow:
        def complete(self, *_: Any, **__: Any) -> Reply:
            append_two()
            return Reply("- the first two of them")

    memory = FourLayers(store, max_working_entries=3, model=Slow())

    def append_two() -> None:
        for number in (4, 5):
            memory.append("working", {"content": f"entry {number}"})

    for number in (1, 2, 3):
        memory.append("working", {"content": f"entry {number}"})
    memory.compact("working", {"keepLast": 1})
    assert contents(memory.get_working_memory())[-3:] == ["entry 3", "entry 4", "entry 5"]


def test_a_summary_is_bounded(memory: FourLayers) -> None:
    for number in range(60):
        memory.append("working", {"content": f"{number} " + "x" * 200})
    memory.compact("working", {"keepLast": 0})
    (summary,) = memory.get_working_memory()
    lines = summary.content.split("\n")
    # 50 of them were there at all
    assert lines[0] == "[Summary of 50 entries]"
    assert len(lines) == 51
    assert lines[1] == "- 10 " + "x" * 94 + "..."
    assert summary.metadata == {"entries": 50}
    many = FourLayers(memory._notes._store, "many", max_working_entries=100)
    for number in range(60):
        many.append("working", {"content": str(number)})
    many.compact("working", {"keepLast": 0})
    assert many.get_working_memory()[0].content.endswith("\n- 49\n- ...")


def archived(store: commonplace.Store, citation: str) -> list[MemoryEntry]:
    """Return the entries of a citation such as `archive/episodes/2026-02.md#L3-L90`."""
    path, _, lines = citation.partition("#L")
    start, _, end = lines.partition("-L")
    return [
        MemoryEntry(**record_of("episodic", block, path))
        for block in blocks_of(store.read(path))
        if int(start) <= block.line <= int(end or start)
    ]


def test_what_is_summed_up_lies_in_the_archive(
    memory: FourLayers, store: commonplace.Store
) -> None:
    long = "word " * (LIMIT // 12)
    texts = [f"{number} {long}" for number in range(5)]
    append(memory, *texts)
    before = memory.get_episodic_memory()
    answer = memory.compact("episodic", {"keep_last": 1})
    summary, last = memory.get_episodic_memory()
    assert last == before[4]
    assert summary.metadata == {"entries": 4, "archived": answer["archived"]}
    found = [record for cited in answer["archived"] for record in archived(store, cited)]
    assert found == before[:4]
    # emptied notes are gone, and in the history
    assert [entry.path for entry in store.list("episodes/")] == [
        "episodes/2026-02-part-2.md",
        "episodes/2026-02-part-3.md",
    ]
    assert store.history("episodes/2026-02.md")
    # a summary is summed up like anything else, and the archive is bounded too
    append(memory, "new")
    memory.compact("episodic", {"keep_last": 1})
    assert episodes(memory)[0].startswith("[Summary of 2 entries]\n- [Summary of 4 entries]")
    assert max(entry.size for entry in store.list("archive/")) < 3 * LIMIT


def test_rules_are_archived_without_a_summary(memory: FourLayers, store: commonplace.Store) -> None:
    for number in range(12):
        memory.append("procedural", {"content": f"do {number}", "metadata": {"condition": "go"}})
    answer = memory.compact("procedural")
    assert contents([entry for entry, _ in memory.cited("procedural")]) == [
        f"do {number}" for number in range(2, 12)
    ]
    assert answer["archived"] == ["archive/procedures/rules.md#L3-L12"]
    assert "do 1\n" in store.read("archive/procedures/rules.md")
    assert "> Older entries: archive/procedures/rules.md\n" in store.read("procedures/rules.md")
    memory.compact("procedural", {"keep_last": 5})
    assert store.read("procedures/rules.md").count("Older entries") == 1


def test_a_rule_that_looks_like_the_line_of_the_archive_is_left_alone(
    memory: FourLayers, store: commonplace.Store
) -> None:
    text = "Older entries: mine\n# a heading"
    for action in ("gone", text):
        memory.append("procedural", {"content": action, "metadata": {"condition": "c"}})
    memory.compact("procedural", {"keepLast": 1})
    assert contents(memory.search("procedural", "mine", scoring="terms")) == [text]
    assert "> Older entries: archive/procedures/rules.md\n" in store.read("procedures/rules.md")


def test_facts_are_not_compacted(memory: FourLayers) -> None:
    for number in range(3):
        memory.learn({"key": str(number), "value": "v"})
    assert memory.compact("semantic", {"keep_last": 0})["compacted"] == 0
    assert memory.get_stats().semantic_entry_count == 3
    with pytest.raises(ValueError, match="keep_last is a whole number, 0 or more"):
        memory.compact("episodic", {"keep_last": -1})
    with pytest.raises(ValueError, match="keep_last, summarize_older, and no 'keep'"):
        memory.compact("episodic", {"keep": 1})


@pytest.mark.parametrize("layer", ["working", "episodic"])
def test_a_model_is_asked_for_the_summary(store: commonplace.Store, layer: Any) -> None:
    model = SummaryModel("- Two anomalies were found and fixed.")
    memory = FourLayers(store, model=model, clock=Clock(FEBRUARY, MICROSECOND))
    fill(memory, layer, 1)
    memory.compact(layer, {"keep_last": 1})
    entries = memory.get_working_memory() if layer == "working" else memory.get_episodic_memory()
    assert entries[0].content == "[Summary of 2 entries]\n- Two anomalies were found and fixed."
    assert "Agent analyzed file1.csv" in model.asked[0][-1].text


@pytest.mark.parametrize("said", [None, "", " \n", "."])
@pytest.mark.parametrize("layer", ["working", "episodic"])
def test_a_failed_summary_changes_nothing(
    store: commonplace.Store, layer: Any, said: str | None
) -> None:
    model = SummaryModel(TimeoutError("no answer") if said is None else said)
    memory = FourLayers(store, model=model, clock=Clock(FEBRUARY, MICROSECOND))
    fill(memory, layer, 1)
    before = {entry.path: store.read(entry.path) for entry in store.list()}
    working = memory.get_working_memory()
    with pytest.raises(CompactionFailed):
        memory.compact(layer, {"keep_last": 1})
    assert {entry.path: store.read(entry.path) for entry in store.list()} == before
    assert memory.get_working_memory() == working


@pytest.mark.parametrize("summarize", [True, False])
@pytest.mark.parametrize("stop", range(12))
def test_a_compaction_that_is_cut_short_loses_nothing(
    store: commonplace.Store, monkeypatch: pytest.MonkeyPatch, stop: int, summarize: bool
) -> None:
    memory = FourLayers(store, clock=Clock(FEBRUARY, MICROSECOND))
    long = "word " * (LIMIT // 12)
    append(memory, *(f"{number} {long}" for number in range(5)))
    before = memory.get_episodic_memory()
    left = iter(range(stop))

    def failing(name: str) -> None:
        true = getattr(commonplace.Store, name)

        def call(self: commonplace.Store, *arguments: Any, **named: Any) -> Any:
            if next(left, None) is None:
                raise OSError("the disk is gone")
            return true(self, *arguments, **named)

        monkeypatch.setattr(commonplace.Store, name, call)

    for name in ("write", "append", "update", "delete"):
        failing(name)
    try:
        memory.compact("episodic", CompactOptions(1, summarize))
        done = True
    except OSError:
        done = False
    monkeypatch.undo()
    held = episodes(memory)
    for entry in store.list("archive/"):
        held += [block.text for block in blocks_of(store.read(entry.path))]
    assert set(contents(before)) <= set(held)
    # it may simply be done again
    memory.compact("episodic", CompactOptions(1, summarize))
    assert len(memory.get_episodic_memory()) == 1 + summarize
    assert done or stop < 11


# Statistics, clear, direct access


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


# JSON files of the design

EPISODIC = (
    '[{"id":"entry-1","timestamp":1767225600000,"content":"Agent analyzed src/","metadata":'
    '{"agentId":"agent-001","n":1e+21,"deep":{"a":[]}}},{"id":"2","timestamp":1.5,"content":""}]'
)
SEMANTIC = '[["b",{"key":"b","value":"CSV","timestamp":5}],["a",{"key":"a","value":"é\\n"}]]'
PROCEDURAL = '[{"condition":"","action":"x"},{"condition":"deploy","action":"test","timestamp":0}]'


def put(folder: Path, **texts: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.json").write_text(text, encoding="utf-8", newline="")


def test_the_files_of_the_design_come_back(memory: FourLayers, tmp_path: Path) -> None:
    put(tmp_path / "in", episodic=EPISODIC, semantic=SEMANTIC, procedural=PROCEDURAL)
    answer = memory.import_json(tmp_path / "in")
    assert answer["imported"] == {"episodic": 2, "semantic": 2, "procedural": 2}
    memory.export_json(tmp_path / "out")
    for name in ("episodic", "semantic", "procedural"):
        assert (tmp_path / f"out/{name}.json").read_bytes() == (
            tmp_path / f"in/{name}.json"
        ).read_bytes()
    assert memory.recall("a") == KnowledgeEntry("a", "é\n", None)
    # an import that was interrupted is repeated without harm
    assert memory.import_json(tmp_path / "in")["there"] == 6
    assert memory.get_stats().episodic_entry_count == 2
    memory.append("episodic", {"content": "more"})
    with pytest.raises(Refused, match="overwrite"):
        memory.export_json(tmp_path / "out")
    memory.export_json(tmp_path / "out", overwrite=True)
    assert "more" in (tmp_path / "out/episodic.json").read_text()


def test_what_javascript_writes(memory: FourLayers, tmp_path: Path) -> None:
    # a file of `JSON.stringify(entries, null, 2)`, keys in another order, one of them not ours
    entries = [{"content": "x", "extra": [None], "metadata": {}, "id": "1", "timestamp": 0}]
    text = stringify(entries, 2)
    put(tmp_path / "in", episodic=text)
    memory.import_json(tmp_path / "in")
    memory.export_json(tmp_path / "out", indent=2)
    assert (tmp_path / "out/episodic.json").read_text() == text
    assert (tmp_path / "out/semantic.json").read_text() == "[]"


NUMBERS = {
    0.0: "0", 5.0: "5", 1.5: "1.5", 1e20: "100000000000000000000", 1e21: "1e+21",
    123456789012345680000.0: "123456789012345680000", 1.5e300: "1.5e+300", 1e-6: "0.000001",
    1.5e-6: "0.0000015", 1e-7: "1e-7", 5e-324: "5e-324", 0.1: "0.1", 1e16: "10000000000000000",
    2**53: "9007199254740992", 2**64 - 1: "18446744073709551615", 12.5e20: "1.25e+21",
}  # fmt: skip


@pytest.mark.parametrize(("number", "text"), NUMBERS.items())
def test_numbers_are_written_as_javascript_does(number: float, text: str) -> None:
    assert stringify(number) == text
    assert stringify(-number) == (f"-{text}" if number else "0")
    assert stringify(parse(text, "x")[0]) == text


def test_half_a_character_is_mended_and_said(memory: FourLayers, tmp_path: Path) -> None:
    put(
        tmp_path,
        episodic='[{"id":"1","timestamp":1,"content":"cut \\ud83d","metadata":{"\\udead":1}}]',
    )
    assert memory.import_json(tmp_path)["mended"] == {"episodic.json": 2}
    assert memory.get_episodic_memory()[0].content == "cut \ufffd"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("episodic", '[{"id":"1",\n}]', "episodic.json line 2, column 1"),
        ("episodic", "[" * 100_000, "nested too deeply"),
        ("episodic", "[NaN]", "NaN is not JSON"),
        ("episodic", '[{"id":"1","timestamp":1e999,"content":""}]', "1e999 is no number"),
        ("episodic", "{}", "episodic.json is no array"),
        ("episodic", "[1]", "entry 1 is not an object"),
        ("episodic", '[{"id":"1","timestamp":1}]', "entry 1 has no content"),
        ("episodic", '[{"id":1,"timestamp":1,"content":""}]', "entry 1: id is 1, not text"),
        ("semantic", '[["a",{"key":"b","value":""}]]', "entry 1 stands under 'a'"),
        ("semantic", '[{"key":"b","value":""}]', "entry 1 is no pair"),
        ("procedural", '[{"condition":"","action":""},{"action":"b"}]', "entry 2 has no condition"),
    ],
)
def test_a_bad_file_is_named_and_nothing_imported(
    memory: FourLayers,
    store: commonplace.Store,
    tmp_path: Path,
    name: str,
    text: str,
    said: str,
) -> None:
    put(tmp_path / "in", **({"episodic": EPISODIC, "procedural": PROCEDURAL} | {name: text}))
    with pytest.raises(FormatError, match=said):
        memory.import_json(tmp_path / "in")
    (tmp_path / f"in/{name}.json").write_bytes(b'["\xff"]')
    with pytest.raises(FormatError, match="not UTF-8 at byte 2"):
        memory.import_json(tmp_path / "in")
    assert store.list() == []
    with pytest.raises(NotFound):
        memory.import_json(tmp_path / "nothing")


json_texts = st.text(st.characters(codec="utf-8"), max_size=20)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | json_texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(json_texts, inner, max_size=3),
    max_leaves=6,
)
stamps = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)


def records(*needed: str, **optional: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return objects with the needed texts and the optional values, in any order."""
    plain = st.fixed_dictionaries(dict.fromkeys(needed, json_texts), optional=optional)
    return plain.flatmap(shuffled)


def shuffled(made: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.permutations(list(made)).map(lambda keys: {key: made[key] for key in keys})


metadata = st.dictionaries(json_texts, json_values, max_size=3)
episodic_files = st.lists(
    records("id", "content", metadata=metadata, x=json_values).flatmap(
        lambda made: stamps.map(lambda stamp: made | {"timestamp": stamp})
    ),
    max_size=4,
)
semantic_files = st.lists(
    records("key", "value", timestamp=stamps), max_size=3, unique_by=lambda made: made["key"]
).map(lambda found: [[made["key"], made] for made in found])
procedural_files = st.lists(records("condition", "action", timestamp=stamps), max_size=3)
numbered = count()


@given(episodic_files, semantic_files, procedural_files, st.sampled_from([0, 2]))
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_any_files_come_back(
    roomy: commonplace.Store,
    tmp_path: Path,
    episodic: Any,
    semantic: Any,
    procedural: Any,
    indent: int,
) -> None:
    run = tmp_path / str(next(numbered))
    memory = FourLayers(roomy, f"run{next(numbered)}", clock=Clock(FEBRUARY, MICROSECOND))
    texts = {
        "episodic": stringify(episodic, indent),
        "semantic": stringify(semantic, indent),
        "procedural": stringify(procedural, indent),
    }
    put(run / "in", **texts)
    memory.import_json(run / "in")
    memory.export_json(run / "out", indent=indent)
    for name, text in texts.items():
        assert (run / f"out/{name}.json").read_bytes().decode() == text


# Any text, any editor

PIECES = [
    "# T\n", "## Two\n", "```\n", "~~~", "<!--", "-->", "<!--\nMETA:\n- id: 1\n-->\n", "> q\n",
    "---\n", "===\n", "\r", "\r\n", "\0", "&amp;", "    code\n", "\n\n", " ", "中文", "\u2028",
    "\x85", "\ufeff", "- Date: 2026-01-01\n", "words",
]  # fmt: skip
texts = st.text(st.characters(codec="utf-8"), max_size=30) | st.lists(
    st.sampled_from(PIECES), max_size=6
).map("".join)


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


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=3))
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
    held = memory._notes.held("episodic")
    note = store.root / "episodes/2026-02.md"
    note.write_text(note.read_text().replace("\n\none\n", "\n\nONE\n"))
    monkeypatch.setattr(memory._notes, "held", lambda _layer: held)
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

    @rule(text=texts)
    def append(self, text: str) -> None:
        self.memory.append("episodic", {"content": text})
        self.episodes.append(text)

    @rule(text=texts)
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
        held = self.memory._notes.held("episodic")[at]
        path = self.store.root / held.path
        note = path.read_bytes().decode()
        comment = note.index("-->\n", held.block.start) + 4
        path.write_bytes((note[:comment] + f"\n{new}\n\n" + note[held.block.end :]).encode())
        self.episodes[at] = new

    @precondition(lambda self: self.episodes)
    @rule(pick=st.randoms(use_true_random=False))
    def delete_by_hand(self, pick: Any) -> None:
        at = pick.randrange(len(self.episodes))
        held = self.memory._notes.held("episodic")[at]
        path = self.store.root / held.path
        note = path.read_bytes().decode()
        path.write_bytes((note[: held.block.start] + note[held.block.end :]).encode())
        del self.episodes[at]

    @precondition(lambda self: self.facts)
    @rule(pick=st.randoms(use_true_random=False))
    def unlink_a_fact(self, pick: Any) -> None:
        key = pick.choice(list(self.facts))
        held = next(one for one in self.memory._notes.held("semantic") if one.record["key"] == key)
        gone = [o.record["key"] for o in self.memory._notes.held("semantic") if o.path == held.path]
        (self.store.root / held.path).unlink()
        self.facts = {key: value for key, value in self.facts.items() if key not in gone}

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


# Futures


def test_sub_agents_share_or_not(store: commonplace.Store) -> None:
    parent = FourLayers(store, clock=Clock(FEBRUARY, MICROSECOND))
    append(parent, "from the parent")
    child = FourLayers(store, agent="a1", clock=Clock(FEBRUARY, MICROSECOND))
    append(child, "from the child")
    child.learn({"key": "k", "value": "v"})
    assert episodes(parent) == episodes(child) == ["from the parent", "from the child"]
    assert parent.get_episodic_memory()[1].metadata == {"agentId": "a1"}
    assert parent.recall("k") == KnowledgeEntry("k", "v", NOW)
    assert parent.search("semantic", "v")[0].metadata == {"key": "k", "agentId": "a1"}
    child.append("episodic", {"content": "x", "metadata": {"agentId": "a2"}})
    assert parent.get_episodic_memory()[2].metadata == {"agentId": "a2"}
    alone = FourLayers(store, agent="a1", shared=False, clock=Clock(FEBRUARY, MICROSECOND))
    append(alone, "secret")
    assert episodes(alone) == ["secret"]
    assert "secret" not in episodes(parent)
    assert parent.search("episodic", "secret") == []
    assert store.version("agents/a1/episodes/2026-02.md")
    for name in (None, "", "../x", "a b"):
        with pytest.raises(ValueError, match="named by its agent"):
            FourLayers(store, agent=name, shared=False)


def test_hooks_write_episodes(memory: FourLayers) -> None:
    runs = AgentRuns(memory, longest=20)
    ids = [
        runs.on_start("a1", "Scan src/"),
        runs.on_complete("a1", "x" * 30),
        runs.on_fail("a1", TimeoutError("no answer")),
        runs.on_fail("a1", "stopped"),
    ]
    found = memory.get_episodic_memory()
    assert [entry.id for entry in found] == ids
    assert contents(found) == [
        "Started: Scan src/",
        f"Completed: {'x' * 20} […] (10 more characters)",
        "Failed: TimeoutError: no ans […] (3 more characters)"
        if len("TimeoutError: no answer") > 20
        else "",
        "Failed: stopped",
    ]
    assert [entry.metadata for entry in found] == [
        {"agentId": "a1", "event": event} for event in ("start", "complete", "fail", "fail")
    ]


def test_rules_that_fit_a_task(memory: FourLayers) -> None:
    for condition, action in [
        ("deploying to production", "run the migrations first"),
        ("when the release is on a Friday", "wait for Monday"),
        ("部署到生产环境时", "先备份"),
        ("", "be brief"),
        ("reading mail", "skip newsletters"),
    ]:
        memory.append("procedural", {"content": action, "metadata": {"condition": condition}})
    runs = AgentRuns(memory)
    found = runs.rules_for("Please deploy the new version to production this Friday")
    assert [(one.rule.action, one.certain) for one in found] == [
        ("run the migrations first", True),
        ("be brief", True),
    ]
    assert found[0].reason == "2 of 2 words of the condition: deploying, production"
    assert found[0].citation == "procedures/rules.md#L3"
    assert isinstance(found[0].rule, ProceduralRule)
    assert [one.rule.action for one in runs.rules_for("把新版本部署到生产环境")] == [
        "先备份",
        "be brief",
    ]
    half = runs.rules_for("Friday: the release notes and the mail")
    assert [one.rule.action for one in half] == ["wait for Monday", "be brief"]
    assert [one.rule.action for one in runs.rules_for("")] == ["be brief"]


def test_a_prompt_gets_what_memory_has(memory: FourLayers) -> None:
    runs = AgentRuns(memory)
    assert runs.augment("Deploy the parser", 500) == "Deploy the parser"
    append(memory, "The parser leaked memory </memory> on deploy", "Lunch was good")
    memory.learn({"key": "parser", "value": "written in Rust"})
    memory.append("procedural", {"content": "run tests", "metadata": {"condition": "deploy"}})
    text = runs.augment('Deploy the parser -leaked "now"', 1000)
    frame, _, prompt = text.partition("\n</memory>\n\n")
    assert prompt == 'Deploy the parser -leaked "now"'
    items = [line for line in frame.splitlines() if line.startswith("- ")]
    assert [item.partition(" (")[0] for item in items[:2]] == [
        "- When deploy: run tests",
        "- parser: written in Rust",
    ]
    assert "leaked memory" in items[2]
    assert "</memory>" not in frame
    assert "Lunch" not in text
    small = runs.recalled("Deploy the parser", 160)
    assert len(small.text) <= 160
    assert len(small.left_out) == 2


def test_lessons_are_learned_from_episodes(memory: FourLayers, store: commonplace.Store) -> None:
    runs = AgentRuns(memory)
    append(
        memory,
        "Fixed the login. Lesson: always run the migrations before the tests.",
        "Looked around for now.",
    )
    (learned,) = runs.learn_from_episodes()
    assert "always run the migrations before the tests" in learned.value
    ((entry, _),) = memory.cited("semantic")
    episode = memory.get_episodic_memory()[0]
    assert entry.metadata is not None
    assert entry.metadata["episode"] == episode.id
    path, _, line = entry.metadata["citation"].partition("#L")
    assert store.read(path).split("\n")[int(line) - 1].startswith("## Fixed the login")
    assert runs.learn_from_episodes() == []
    # nor in another process, nor from a summary
    memory.compact("episodic", {"keep_last": 0})
    assert AgentRuns(FourLayers(store)).learn_from_episodes() == []
