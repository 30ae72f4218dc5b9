"""Compaction of one of the four layers: summaries, the archive, failures midway."""

from __future__ import annotations

from typing import Any

import pytest

import commonplace
from commonplace.entries.blocks import parse as blocks_of
from commonplace.errors import CommonplaceError, CompactionFailed
from commonplace.memories import FourLayers
from commonplace.memories.four_layers.entries import record_of
from commonplace.memories.four_layers.files import LIMIT
from commonplace.memories.four_layers.types import CompactOptions, MemoryEntry
from commonplace.protocols import Reply
from commonplace.tools import tools_for
from tests.doubles import Clock, SummaryModel
from tests.memories.four_layers.helpers import FEBRUARY, MICROSECOND, append, contents, episodes

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


@pytest.mark.parametrize("summary", [None, "", " \n", "."])
@pytest.mark.parametrize("layer", ["working", "episodic"])
def test_a_failed_summary_changes_nothing(
    store: commonplace.Store, layer: Any, summary: str | None
) -> None:
    model = SummaryModel(TimeoutError("no answer") if summary is None else summary)
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


def test_what_was_archived_is_read_and_found_by_the_tools(memory: FourLayers) -> None:
    append(memory, "one about authentication", "two", "three")
    (archived,) = memory.compact("episodic", {"keepLast": 1})["archived"]
    tools = tools_for(memory)
    text = tools.call("read_citation", {"citation": archived})
    assert "one about authentication" in text
    assert "two" in text
    found = tools.call("grep", {"text": "AUTHENTICAT", "context": 1})
    assert "archive/episodes/2026-02.md#L" in found
    cited = found.splitlines()[0].partition(". ")[2]
    assert "authentication" in tools.call("read_citation", {"citation": cited})
    for strange in ("other/notes.md#L1", "archive/../x.md#L1", "/etc/passwd#L1"):
        with pytest.raises(CommonplaceError):
            memory.read_citation(strange)
