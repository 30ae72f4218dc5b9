"""World and agents: the layout, the tools, and `recall` of world, memory and days."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

import commonplace
from commonplace.errors import QueryError
from commonplace.memories.world_and_agents import WorldAndAgents
from commonplace.store import Store
from tests.doubles import NOON, Clock


def test_layout_is_that_of_the_design(store: Store, clock: Clock) -> None:
    memory = WorldAndAgents(store, "planner", clock=clock)
    memory.learn_fact("people", "- Mara runs the night shift.\n")
    memory.reflect("# What I know\n\n- Ask Mara first.\n")
    memory.remember("The relay failed twice.")
    clock.now += timedelta(seconds=61)
    memory.remember("- replaced it\n- wrote to Mara")
    assert [entry.path for entry in store.list()] == [
        "agents/planner/MEMORY.md",
        "agents/planner/daily/2026-02-24.md",
        "world/people.md",
    ]
    assert store.read("world/people.md") == "- Mara runs the night shift.\n"
    assert store.read("agents/planner/MEMORY.md") == "# What I know\n\n- Ask Mara first.\n"
    assert store.read("agents/planner/daily/2026-02-24.md") == (
        "# 2026-02-24\n\n## 12:00:00\n\nThe relay failed twice.\n"
        "\n## 12:01:01\n\n- replaced it\n- wrote to Mara\n"
    )


def test_recall_joins_world_memory_and_days(store: Store, clock: Clock) -> None:
    memory = WorldAndAgents(store, "planner", clock=clock)
    systems = memory.learn_fact("systems", "- DB: PostgreSQL\n")
    people = memory.learn_fact("people", "- Mara\n")
    own = memory.reflect("Be brief.\n")
    one = memory.remember("one")
    clock.now += timedelta(days=1)
    two = memory.remember("two")
    assert memory.recall() == (
        f"## World: people\n(world/people.md, version {people['version']})\n\n- Mara"
        "\n\n---\n\n"
        f"## World: systems\n(world/systems.md, version {systems['version']})\n\n- DB: PostgreSQL"
        "\n\n---\n\n"
        f"## MEMORY.md\n(agents/planner/MEMORY.md, version {own['version']})\n\nBe brief."
        "\n\n---\n\n"
        "## Daily: 2026-02-25\n"
        f"(agents/planner/daily/2026-02-25.md, version {two['version']})\n\n"
        "# 2026-02-25\n\n## 12:00:00\n\ntwo"
        "\n\n---\n\n"
        "## Daily: 2026-02-24\n"
        f"(agents/planner/daily/2026-02-24.md, version {one['version']})\n\n"
        "# 2026-02-24\n\n## 12:00:00\n\none"
    )


def test_days_are_today_and_those_before(memory: WorldAndAgents, clock: Clock) -> None:
    for number in range(5):
        clock.now = NOON - timedelta(days=number)
        memory.remember(f"entry {number}")
    clock.now = NOON

    def entries(text: str) -> list[int]:
        return [number for number in range(5) if f"entry {number}" in text]

    assert entries(memory.recall()) == [0, 1, 2]
    assert entries(memory.recall(1)) == [0]
    assert entries(memory.recall(days=0)) == []
    assert entries(memory.recall(10**9)) == [0, 1, 2, 3, 4]
    # date ranges
    assert entries(memory.recall(since=date(2026, 2, 21))) == [0, 1, 2, 3]
    assert entries(memory.recall(until=date(2026, 2, 22))) == [2, 3, 4]
    assert entries(memory.recall(since=date(2026, 2, 22), until=date(2026, 2, 23))) == [1, 2]
    assert entries(memory.recall(since="2026-02-24")) == [0]  # type: ignore[arg-type] # as models say it
    assert entries(memory.recall(since=NOON)) == [0]
    clock.now = NOON + timedelta(days=30)
    assert "the same call with since=2026-02-20" in memory.recall()
    with pytest.raises(QueryError, match="since is a day such as"):
        memory.recall(since="yesterday")  # type: ignore[arg-type] # as models say it
    for days, limit, start in ((-1, 1, 0), (1, 0, 0), (1, 1, -1)):
        with pytest.raises(QueryError):
            memory.recall(days, limit=limit, start=start)


def test_days_and_times_are_those_of_the_clocks_zone(opened: Store) -> None:
    shanghai = timezone(timedelta(hours=8))
    late = datetime(2026, 2, 24, 23, 30, tzinfo=UTC).astimezone(shanghai)
    memory = WorldAndAgents(opened, "a", clock=lambda: late)
    assert memory.remember("early")["path"] == "agents/a/daily/2026-02-25.md"
    assert "## 07:30:00" in memory.recall(1)


def test_empty_memory_says_so(memory: WorldAndAgents) -> None:
    assert "Nothing is remembered yet" in memory.recall()
    memory.store.write("world/people.md", "")
    assert "Nothing is remembered yet" in memory.recall()


def test_a_bad_byte_in_one_file_does_not_fail_the_recall(
    memory: WorldAndAgents, opened: Store
) -> None:
    memory.learn_fact("people", "- Mara")
    (opened.root / "world" / "broken.md").write_bytes(b"caf\xe9 at noon")
    (opened.root / "world" / "link.md").symlink_to("people.md")
    text = memory.recall()
    assert "caf\ufffd at noon" in text
    assert "- Mara" in text


def test_an_unreadable_file_is_named_and_the_rest_is_read(
    memory: WorldAndAgents, opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.learn_fact("a", "first")
    memory.learn_fact("b", "second")
    read = opened.read

    def failing(path: str) -> str:
        if path == "world/a.md":
            raise commonplace.StorageError("input/output error")
        return read(path)

    monkeypatch.setattr(opened, "read", failing)
    text = memory.recall()
    assert "[This file cannot be read: input/output error]" in text
    assert "second" in text


def test_a_long_recall_is_cut_and_goes_on(memory: WorldAndAgents) -> None:
    for name in "abc":
        memory.learn_fact(name, "\n".join(f"{name} line {number}" for number in range(60)))
    whole = memory.recall(limit=10**6)
    assert "There is more" not in whole
    pages = []
    start = 0
    while True:
        page = memory.recall(limit=500, start=start)
        shown, more, end = page.partition("\n\n---\n\n[There is more: the same call with start=")
        assert len(shown) <= 500
        pages.append(shown)
        if not more:
            break
        start = int(end.split(" ")[0])
    assert "".join("".join(pages).split()) == "".join(whole.split())
    assert all(page.endswith(tuple("0123456789-")) or page == pages[-1] for page in pages)
    assert memory.recall(start=10**6) == f"There is nothing after character {len(whole)}."


def test_a_recall_reads_no_more_than_it_shows(
    memory: WorldAndAgents, opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        memory.learn_fact(f"t{number}", "x" * 100)
    asked: list[str] = []
    read = opened.read

    def counting(path: str) -> str:
        asked.append(path)
        return read(path)

    monkeypatch.setattr(opened, "read", counting)
    memory.recall(limit=200)
    assert asked == ["world/t0.md", "world/t1.md"]
