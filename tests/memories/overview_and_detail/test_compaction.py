"""Compaction of a session into notes."""

from __future__ import annotations

from typing import Any

import pytest

from commonplace import CompactionFailed, Store
from commonplace.memories import OverviewAndDetail
from commonplace.memories.overview_and_detail.detail import render_detail
from commonplace.memories.overview_and_detail.search import SearchOptions
from tests.doubles import SummaryModel
from tests.memories.overview_and_detail.helpers import FOLDER, log, remember, talk


def test_a_note_that_a_person_named_is_read(store: Store) -> None:
    memory = remember(store)
    for number in range(3):
        memory.append({"role": "user", "content": f"Question {number}."})
    (name,) = memory.compact(1)
    kept = memory.build_context("x")
    folder = f"{FOLDER}/working-memory/detail"
    store.write(f"{folder}/2026-02-24-summary (copy).md", memory.read_citation(f"{name}#L1"))
    store.write(f"{folder}/c#.md", "# C sharp\n\nzebra\n")
    assert memory.build_context("x") == kept
    assert "- detail/c#.md: 17 B" in memory.context("metadata")
    (found,) = memory.search(SearchOptions("zebra"))
    assert memory.read_citation(found.citation) == "zebra\n"


def test_two_that_compact_at_once_both_end(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, other = remember(store), remember(store)
    for number in range(3):
        memory.append({"role": "user", "content": f"Question {number}."})

    def late(*given: Any, **more: Any) -> str:
        monkeypatch.undo()
        other.compact(1)
        return render_detail(*given, **more)

    monkeypatch.setattr(f"{OverviewAndDetail.__module__}.turn_summaries.render_detail", late)
    assert memory.compact(1) == ["detail/2026-02-24-summary-2.md"]
    assert memory.compacted == 2


def test_old_turns_leave_the_context_for_a_note(store: Store) -> None:
    memory = remember(store)
    log(store, talk(12))
    raw = store.read(f"{FOLDER}/messages.jsonl")
    assert memory.compact(keep_turns=4) == ["detail/2026-02-24-summary.md"]
    note = memory.read_detail("2026-02-24-summary")
    assert note.meta["lines"] == [1, 32]
    assert note.keywords == ("summary",)
    assert "- Please do step 3. → Step 3 is done. (messages.jsonl#L13)\n" in note.content
    assert note.content.endswith("Made of messages.jsonl#L1 to messages.jsonl#L32.\n")
    assert memory.build_context("x")[2:] == talk(4, 8)
    assert memory.read_citation("messages.jsonl#L13") == "user: Please do step 3. Carefully."
    assert memory.compact(keep_turns=4) == []
    log(store, talk(3, 12))
    assert memory.compact(keep_turns=4) == ["detail/2026-02-24-summary-2.md"]
    assert memory.read_detail("2026-02-24-summary-2").meta["lines"] == [33, 44]
    assert memory.build_context("x")[2:] == talk(4, 11)
    assert memory.compact(keep_turns=0) == ["detail/2026-02-24-summary-3.md"]
    assert memory.build_context("x")[2:] == []
    assert store.read(f"{FOLDER}/messages.jsonl").startswith(raw)
    assert "Source: detail" in memory.recall_memory("step 3")


def test_a_model_writes_the_summary_and_cannot_cite_what_is_not_there(store: Store) -> None:
    memory = remember(store)
    log(store, talk(2))
    model = SummaryModel("- all steps done (messages.jsonl#L5)\n- and more (messages.jsonl#L99)")
    memory.compact(keep_turns=1, model=model)
    content = memory.read_detail("2026-02-24-summary").content
    assert "- all steps done\n- and more\n" in content
    assert "user (messages.jsonl#L1): Please do step 0. Carefully." in model.asked[0][1].text


def test_a_failed_summary_changes_nothing_and_goes_on_later(opened: Store) -> None:
    memory = remember(opened)
    log(opened, talk(120))
    model = SummaryModel("- the first fifty steps went well", "")
    with pytest.raises(CompactionFailed):
        memory.compact(keep_turns=10, model=model)
    # the first summary is whole, and what it stands for has left
    assert memory.compacted == 200
    assert len(memory.build_context("x", turns=99)) == 2 + 4 * 70
    assert len(memory.compact(keep_turns=10)) == 2
    assert memory.compacted == 440
    assert memory.build_context("x", turns=99)[2:] == talk(10, 110)


def test_a_mark_that_a_person_wrote_hides_nothing(store: Store) -> None:
    memory = remember(store)
    log(store, talk(2))
    folder = f"{FOLDER}/working-memory/detail"
    store.write(f"{folder}/x-summary.md", "# X\n\n<!--\nMETA:\n- lines: [1, 999999]\n-->\n")
    store.write(f"{folder}/y-summary.md", "# Y\n\n<!--\nMETA:\n- lines: all\n-->\n")
    assert memory.build_context("x")[2:] == talk(2)


def test_turns_without_a_word_are_compacted(store: Store) -> None:
    memory = remember(store)
    log(store, [*talk(1)[2:3], *talk(1)])
    assert memory.compact(keep_turns=1) == ["detail/2026-02-24-summary.md"]
    content = memory.read_detail("2026-02-24-summary").content
    assert "only tools were at work (messages.jsonl#L1)" in content
    assert memory.compacted == 1
