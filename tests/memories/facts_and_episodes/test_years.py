"""Yearly summary of old months of episodes, and their archive."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

import commonplace
from commonplace import Store, Written
from commonplace.entries.blocks import parse
from commonplace.memories.facts_and_episodes import FactsAndEpisodes
from commonplace.memories.facts_and_episodes.notes import Notes
from commonplace.protocols import Reply
from tests.doubles import Clock, SummaryModel
from tests.memories.facts_and_episodes.helpers import (
    FEBRUARY,
    LOGGER,
    SHORT,
    crashes,
    episode,
    everything,
    listed,
)


def test_old_months_become_the_page_of_a_year(opened: Store) -> None:
    clock = Clock()
    memory = FactsAndEpisodes(opened, "data/memory", clock=clock)
    memory.memory_append(FEBRUARY, LOGGER)
    memory.memory_append(FEBRUARY, SHORT)
    memory.memory_append("episodes/2026-03.md", "## March task\nDone.")
    assert memory.summarise_months() == []
    cited = memory.summarise_months(date(2026, 3, 1))
    assert cited == [
        "data/memory/archive/episodes/2026-02.md#L3",
        "data/memory/archive/episodes/2026-02.md#L10",
    ]
    assert [*listed(memory)] == ["episodes/2026-03.md", "episodes/2026.md"]
    # what its answers cite, its own tools read and find
    first, second = map(memory.memory_read, cited)
    assert LOGGER in first
    assert SHORT in second
    assert "archive/episodes/2026-02.md#L3" in memory.memory_grep("stdout LEA")
    page = memory.memory_read("episodes/2026.md")
    assert "## 2026-02\n" in page
    assert "- Originals: [2026-02](../archive/episodes/2026-02.md)\n" in page
    assert "pino pipeline stdout leak → custom JS transport" in page
    assert listed(memory)["episodes/2026.md"] == "Short ID implementation, Logger stdout leak fix"
    archived = memory.memory_read("archive/episodes/2026-02.md")
    for line in (LOGGER + SHORT).splitlines():
        assert line in archived
    # a late entry joins the summary of its month
    memory.memory_append(FEBRUARY, "## Late\n- Summary: a late word\n")
    clock.now = datetime(2027, 3, 2, tzinfo=UTC)
    assert len(memory.summarise_months()) == 1
    page = memory.memory_read("episodes/2026.md")
    assert page.count("## 2026-02\n") == 1
    assert "a late word" in page
    assert "pino pipeline" in page
    assert "episodes/2026-03.md" in listed(memory)


def test_what_a_person_wrote_beside_the_entries_stays(opened: Store) -> None:
    memory = FactsAndEpisodes(opened, clock=Clock())
    opened.write(FEBRUARY, f"# February\n\nMy own words.\n\n{LOGGER}")
    memory.summarise_months(date(2026, 3, 1))
    left = memory.memory_read(FEBRUARY)
    assert "# February\n" in left
    assert "My own words." in left
    assert "pino" not in left


def test_what_a_person_wrote_in_the_summary_of_a_month_is_archived(opened: Store) -> None:
    memory = FactsAndEpisodes(opened, clock=Clock())
    memory.memory_append(FEBRUARY, LOGGER)
    memory.summarise_months(date(2026, 3, 1))
    page, archived = "episodes/2026.md", "archive/episodes/2026.md"
    opened.append(page, "My own words.\n")
    memory.memory_append(FEBRUARY, SHORT)
    memory.summarise_months(date(2026, 3, 1))
    assert "My own words." in memory.memory_read(archived)
    # what was only made anew is not
    before = memory.memory_read(archived)
    memory.memory_append(FEBRUARY, "## Late\n- Summary: a late word\n")
    memory.summarise_months(date(2026, 3, 1))
    assert memory.memory_read(archived) == before


def test_a_division_that_was_stopped_is_finished_before_its_month_is_archived() -> None:
    def large(store: Any) -> FactsAndEpisodes:
        return FactsAndEpisodes(store, month_limit=600, clock=Clock())

    def fill(store: Store) -> None:
        entries = "\n".join(episode(number, 3 * number + 1, 50) for number in range(6))
        store.write(FEBRUARY, f"# 2026-02\n\n{entries}")

    for store, _ in crashes(fill, lambda store: large(store).memory_append(FEBRUARY, SHORT)):
        large(store).summarise_months(date(2026, 3, 1))
        archived = everything(store)
        assert [archived.count(f"## Task {number}\n") for number in range(6)] == [1] * 6


def test_weeks_are_summarised_with_their_month(opened: Store) -> None:
    memory = FactsAndEpisodes(opened, month_limit=300, clock=Clock())
    for number in range(6):
        memory.memory_append(FEBRUARY, episode(number, 1 + 4 * number, 60))
    assert len(memory.summarise_months(date(2026, 3, 1))) == 6
    assert [*listed(memory)] == ["episodes/2026.md"]
    assert "[2026-02-W1](../archive/episodes/2026-02-W1.md)" in memory.memory_read(
        "episodes/2026.md"
    )


def test_a_model_may_write_the_summary_and_cannot_break_the_page(opened: Store) -> None:
    memory = FactsAndEpisodes(opened, clock=Clock())
    memory.memory_append("episodes/2025-01.md", LOGGER.replace("2026-02", "2025-01"))
    memory.memory_append("episodes/2025-02.md", SHORT.replace("2026-02", "2025-02"))
    model = SummaryModel("# All is well\n\n## Everything was fixed\n```\nopen", repeat_last=True)
    memory.summarise_months(date(2026, 1, 1), model=model)
    assert "pino" in "".join(turn.text for turns in model.asked for turn in turns)
    page = memory.memory_read("episodes/2025.md")
    assert [block.title for block in parse(page)] == ["2025-01", "2025-02"]
    assert "Everything was fixed" in page


def test_an_empty_summary_aborts(opened: Store) -> None:
    memory = FactsAndEpisodes(opened, clock=Clock())
    memory.memory_append("episodes/2025-01.md", LOGGER.replace("2026-02", "2025-01"))
    before = memory.memory_read("episodes/2025-01.md")
    with pytest.raises(commonplace.CompactionFailed):
        memory.summarise_months(date(2026, 1, 1), model=SummaryModel(" "))
    assert memory.memory_read("episodes/2025-01.md") == before
    assert "episodes/2025.md" not in listed(memory)


def test_a_month_that_another_takes_away_meanwhile_is_done(opened: Store) -> None:
    memory = FactsAndEpisodes(opened, clock=Clock())
    memory.memory_append("episodes/2025-01.md", LOGGER.replace("2026-02", "2025-01"))

    class Late(SummaryModel):
        def complete(self, *args: Any, **named: Any) -> Reply:
            opened.delete("episodes/2025-01.md")
            return super().complete(*args, **named)

    cited = memory.summarise_months(date(2026, 1, 1), model=Late("Everything was fixed."))
    assert cited == ["archive/episodes/2025-01.md#L3"]
    assert [*listed(memory)] == ["episodes/2025.md"]


def test_what_is_added_while_a_month_is_taken_away_stays(
    opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, other = (FactsAndEpisodes(opened, clock=Clock()) for _ in range(2))
    memory.memory_append("episodes/2025-01.md", LOGGER.replace("2026-02", "2025-01"))
    delete = Notes.delete

    def late(notes: Notes, path: str, *, expected: str) -> Written:
        monkeypatch.undo()
        other.memory_append("episodes/2025-01.md", SHORT.replace("2026-02", "2025-01"))
        return delete(notes, path, expected=expected)

    monkeypatch.setattr(Notes, "delete", late)
    memory.summarise_months(date(2026, 1, 1))
    left = memory.memory_read("episodes/2025-01.md")
    assert SHORT.splitlines()[0] in left
    assert LOGGER.splitlines()[0] not in left


def test_a_crash_while_a_month_is_summarised_loses_no_entry() -> None:
    def fill(store: Store) -> None:
        store.write(FEBRUARY, "# 2026-02\n\n- [2026-02-W1](2026-02-W1.md)\n\n" + episode(0, 8, 20))
        store.write("episodes/2026-02-W1.md", "# W1\n\n" + episode(1, 1, 20) + "\n" + episode(2, 2))

    def act(store: Any) -> list[str]:
        return FactsAndEpisodes(store, clock=Clock()).summarise_months(date(2026, 3, 1))

    steps = 0
    for store, done in crashes(fill, act):
        steps += 1
        assert all(f"## Task {n}\n" in everything(store) for n in range(3))
        if not done:
            act(store)
        held = everything(store)
        assert all(held.count(f"## Task {n}\n") == 1 for n in range(3))
        assert [entry.path for entry in store.list("episodes")] == ["episodes/2026.md"]
        assert held.count("## 2026-02\n") == 1
    assert steps > 4
