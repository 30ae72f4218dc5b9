"""Division of a large month of episodes into weeks."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import commonplace
from commonplace import Store
from commonplace.memories.facts_and_episodes import FactsAndEpisodes
from commonplace.memories.facts_and_episodes.entries import split
from tests.doubles import Clock, RacingStore
from tests.memories.facts_and_episodes.helpers import FEBRUARY, crashes, episode, everything, listed


def test_a_large_month_goes_on_as_weeks(opened: Store, root: Path) -> None:
    memory = FactsAndEpisodes(opened, month_limit=1000, clock=Clock())
    for number, day in enumerate([1, 5, 9, 16, 24]):
        memory.memory_append(FEBRUARY, episode(number, day, 100))
    assert [*listed(memory)] == [FEBRUARY]
    file = root / FEBRUARY
    file.write_text(file.read_text().replace("\n\n##", "\n\nA word of mine.\n\n##", 1))
    answer = memory.memory_append(FEBRUARY, episode(5, 23, 500))
    assert answer["path"] == "episodes/2026-02-W4.md"
    assert listed(memory) == {
        FEBRUARY: "2026-02-W1, 2026-02-W2, 2026-02-W3, 2026-02-W4",
        "episodes/2026-02-W1.md": "Task 1, Task 0",
        "episodes/2026-02-W2.md": "Task 2",
        "episodes/2026-02-W3.md": "Task 3",
        "episodes/2026-02-W4.md": "Task 5, Task 4",
    }
    assert memory.memory_read(FEBRUARY) == (
        "# 2026-02 Episodes\n\n> Summary: 2026-02-W1, 2026-02-W2, 2026-02-W3, 2026-02-W4\n\n"
        "A word of mine.\n\n"
        "- [2026-02-W1](2026-02-W1.md)\n- [2026-02-W2](2026-02-W2.md)\n"
        "- [2026-02-W3](2026-02-W3.md)\n- [2026-02-W4](2026-02-W4.md)\n"
    )
    text = "".join(memory.memory_read(path) for path in listed(memory))
    for number, (day, size) in enumerate(
        [(1, 100), (5, 100), (9, 100), (16, 100), (24, 100), (23, 500)]
    ):
        assert text.count(episode(number, day, size)) == 1
    # a week that grows large goes on in parts; a late entry finds its week
    assert memory.memory_append(FEBRUARY, episode(6, 24, 600))["path"] == (
        "episodes/2026-02-W4-2.md"
    )
    assert memory.memory_append("episodes/2026-02-W4.md", episode(7, 24))["path"] == (
        "episodes/2026-02-W4-2.md"
    )
    assert memory.memory_append(FEBRUARY, episode(8, 2))["path"] == "episodes/2026-02-W1.md"
    assert "- [2026-02-W4-2](2026-02-W4-2.md)\n" in memory.memory_read(FEBRUARY)
    # an entry that a person writes on the page of the month moves to its week, too
    file.write_text(file.read_text() + "\n" + episode(9, 10))
    memory.memory_append(FEBRUARY, episode(10, 24))
    assert "Task 9" in memory.memory_read("episodes/2026-02-W2.md")
    assert "Task 9" not in memory.memory_read(FEBRUARY)
    assert "A word of mine." in memory.memory_read(FEBRUARY)


def test_entries_without_a_date_stay_beside_their_neighbours(opened: Store) -> None:
    memory = FactsAndEpisodes(
        opened, month_limit=300, clock=Clock(datetime(2026, 5, 1, tzinfo=UTC))
    )
    for number, day in enumerate([None, 9, None, 30, 16]):
        memory.memory_append(FEBRUARY, episode(number, day, 20))
    memory.memory_append(FEBRUARY, episode(9, None, 200))
    texts = {path: memory.memory_read(path) for path in listed(memory)}
    assert "Task 0" in texts["episodes/2026-02-W2.md"]
    assert "Task 2" in texts["episodes/2026-02-W2.md"]
    assert sum(text.count("## Task") for text in texts.values()) == 6


def test_what_cannot_be_moved_stays_and_what_is_new_is_added(opened: Store) -> None:
    memory = FactsAndEpisodes(opened, month_limit=600, clock=Clock())
    opened.write("episodes/2026-02-W1.md", "# Mine\n\n<script>\nleft open")
    opened.write(FEBRUARY, f"# 2026-02\n\n{episode(0, 2)}\n{episode(1, 9)}")
    for number in (2, 3):
        memory.memory_append(FEBRUARY, episode(number, 9))
        text = everything(opened)
        for other in range(number + 1):
            assert text.count(f"## Task {other}\n") >= 1
        assert text.count("## Task 0\n") == 1
    assert "Task 0" in memory.memory_read(FEBRUARY)
    # closed by hand, it moves
    memory.memory_patch(
        "episodes/2026-02-W1.md", [{"oldText": "left open", "newText": "closed</script>"}]
    )
    memory.memory_append(FEBRUARY, episode(4, 9))
    text = everything(opened)
    assert all(text.count(f"## Task {other}\n") == 1 for other in range(5))
    assert "Task 0" in memory.memory_read("episodes/2026-02-W1.md")


def test_a_week_goes_by_the_version_of_the_file_that_was_named(opened: Store) -> None:
    memory = FactsAndEpisodes(opened, month_limit=300, clock=Clock())
    for number in range(3):
        memory.memory_append(FEBRUARY, episode(number, 9, 60))
    for path in (FEBRUARY, "episodes/2026-02-W2.md"):
        with pytest.raises(commonplace.Conflict, match=re.escape(path)):
            memory.memory_append(path, episode(8, 9), expected_version="absent")
        seen = opened.version(path)
        answer = memory.memory_append(path, episode(8, 9), expected_version=seen)
        assert str(answer["path"]).startswith("episodes/2026-02-W2")


def test_threads_and_processes_lose_no_entry(opened: Store) -> None:
    # two memories over one store know as little of each other as two processes
    memories = [FactsAndEpisodes(opened, month_limit=900, clock=Clock()) for _ in range(2)]

    def append(number: int) -> object:
        return memories[number % 2].memory_append(FEBRUARY, episode(number, number + 1, 40))

    with ThreadPoolExecutor(4) as pool:
        assert len(list(pool.map(append, range(24)))) == 24
    text = everything(opened)
    assert all(f"## Task {number}\n" in text for number in range(24))


@pytest.mark.parametrize("at", range(5))
def test_two_processes_that_divide_a_month_move_each_entry_once(opened: Store, at: int) -> None:
    whole = FactsAndEpisodes(opened, clock=Clock())
    for number in range(10):
        whole.memory_append(FEBRUARY, episode(number, number * 2 + 1, 40))
    other = FactsAndEpisodes(opened, month_limit=900, clock=Clock())
    busy = RacingStore(opened, at, lambda: other.memory_append(FEBRUARY, episode(98, 3, 40)))
    one = FactsAndEpisodes(busy, month_limit=900, clock=Clock())  # type: ignore[arg-type]
    one.memory_append(FEBRUARY, episode(99, 5, 40))
    text = everything(opened)
    assert [text.count(f"## Task {number}\n") for number in (*range(10), 98, 99)] == [1] * 12


def test_a_crash_while_a_month_is_divided_loses_no_entry() -> None:
    def large(store: Any) -> FactsAndEpisodes:
        return FactsAndEpisodes(store, month_limit=600, clock=Clock())

    def fill(store: Store) -> None:
        store.write(
            FEBRUARY, "# 2026-02\n\n" + "\n".join(episode(n, 3 * n + 1, 50) for n in range(6))
        )

    steps = 0
    last = episode(9, 24)
    for store, done in crashes(fill, lambda store: large(store).memory_append(FEBRUARY, last)):
        steps += 1
        held = everything(store)
        for number in range(6):
            assert episode(number, 3 * number + 1, 50).strip() in held
        assert not done or last in held
        # whoever goes on finishes it, and no entry is there twice
        if not done:
            large(store).memory_append(FEBRUARY, last)
        held = everything(store)
        for number in (0, 1, 2, 3, 4, 5, 9):
            assert held.count(f"## Task {number}\n") == 1 or (number == 9 and not done)
        assert split(store.read(FEBRUARY)) == []
    assert steps > 5
