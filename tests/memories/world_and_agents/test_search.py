"""Search of the world, an agent's memory and its diary."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest

from commonplace.adapters.embedders import CallableEmbedder
from commonplace.errors import QueryError, ToolError
from commonplace.memories.world_and_agents import WorldAndAgents
from commonplace.store import Store
from commonplace.tools import tools_for
from tests.doubles import NOON, Clock
from tests.memories.profile.helpers import topical


@pytest.mark.parametrize("since", ["yesterday", "2026-2-4", 3])
def test_a_model_is_told_how_a_day_is_written(memory: WorldAndAgents, since: Any) -> None:
    with pytest.raises(ToolError, match="`since`: a day is written like 2026-02-24"):
        tools_for(memory).call("recall", {"since": since})


def test_a_folder_may_be_spelled_in_parts(opened: Store, clock: Clock) -> None:
    memory = WorldAndAgents(opened, "planner", folder="/cafe\u0301/", clock=clock)
    memory.remember("an espresso")
    assert "an espresso" in memory.recall()
    assert "espresso" in memory.search_memory("espresso")


def test_search_finds_world_memory_and_old_days(memory: WorldAndAgents, clock: Clock) -> None:
    memory.learn_fact("systems", "# Systems\n\n## Relay\n\nThe relay hangs off rack nine.")
    memory.reflect("Relay alarms at night are false.")
    clock.now = NOON - timedelta(days=400)
    memory.remember("Replaced the relay.")
    clock.now = NOON
    found = memory.search_memory("relay")
    assert "world/systems.md#L3 (Systems > Relay)\n   " in found
    assert "agents/planner/MEMORY.md#L1" in found
    assert "agents/planner/daily/2025-01-20.md#L5 (2025-01-20 > 12:00:00)" in found
    assert "Replaced the relay" not in memory.recall()
    assert found.splitlines()[0].startswith("1. ")
    assert memory.search_memory("relay", 2).endswith("[There is more: the same call with limit=4.]")
    assert memory.search_memory("relay", 3) == found
    assert memory.search_memory("zebra") == "Nothing matches 'zebra'."
    with pytest.raises(QueryError):
        memory.search_memory("")
    with pytest.raises(QueryError):
        memory.search_memory("relay", 0)


def test_search_ranks_as_the_store_does(memory: WorldAndAgents, opened: Store) -> None:
    memory.learn_fact("a", "relay and rack and noise of other words")
    memory.learn_fact("b", "relay")
    memory.reflect("relay relay rack")
    memory.remember("the rack")
    ranked = [
        line.split(" ")[1]
        for line in memory.search_memory("relay rack").splitlines()
        if not line.startswith(" ")
    ]
    assert ranked == [hit.citation for hit in opened.search("relay rack")]
    assert len(ranked) == 4


def test_a_range_of_days_is_searched_in_the_diary_alone(
    memory: WorldAndAgents, clock: Clock
) -> None:
    memory.learn_fact("systems", "relay")
    for number in range(30):
        clock.now = NOON - timedelta(days=number)
        memory.remember("relay")
    # the three wanted are the last of thirty that rank alike, so it must look far
    found = memory.search_memory("relay", 3, since=date(2026, 2, 20), until=date(2026, 2, 22))
    days = [line.split("#")[0][-13:-3] for line in found.splitlines() if "daily/" in line]
    assert sorted(days) == ["2026-02-20", "2026-02-21", "2026-02-22"]
    assert "world" not in found
    assert "There is more" not in found
    assert "There is more" in memory.search_memory("relay", 2, since=date(2026, 2, 20))
    assert "2026-02-21" in memory.search_memory("relay", 50, until=date(2026, 2, 21))
    assert "2026-02-22" not in memory.search_memory("relay", 50, until=date(2026, 2, 21))
    assert memory.search_memory("relay", since=date(2027, 1, 1)) == "Nothing matches 'relay'."


def test_a_hand_edit_is_seen_by_the_next_call(store: Store, clock: Clock) -> None:
    memory = WorldAndAgents(store, "a", clock=clock)
    memory.learn_fact("systems", "the relay")
    (store.root / "world" / "systems.md").write_text("the turbine, by hand")
    assert "turbine" in memory.recall()
    assert "world/systems.md#L1" in memory.search_memory("turbine")
    assert memory.search_memory("relay") == "Nothing matches 'relay'."


def test_a_part_of_a_word_is_found_by_grep(memory: WorldAndAgents, opened: Store) -> None:
    memory.learn_fact("systems", "one\nthe authentication of billing\nthree")
    opened.write("agents/other/MEMORY.md", "authentication of another agent")
    memory.remember("looked at the authenticator")
    assert memory.search_memory("AUTHENTICAT").startswith("Nothing matches")
    found = memory.search_memory("AUTHENTICAT", mode="grep", context=1)
    assert found.splitlines()[:4] == [
        "1. world/systems.md#L2",
        "   1-one",
        "   2:the authentication of billing",
        "   3-three",
    ]
    assert "looked at the authenticator" in found
    assert "another agent" not in found
    assert memory.search_memory("nowhere", mode="grep") == "No line holds 'nowhere'."
    diary = memory.search_memory("authenticat", mode="grep", since="2026-01-01")  # type: ignore[arg-type]
    assert "world/" not in diary
    assert "authenticator" in diary
    assert "[There is more" in memory.search_memory("authenticat", 1, mode="grep")
    for bad in ({"mode": "regex"}, {"mode": "grep", "context": 21}):
        with pytest.raises(QueryError):
            memory.search_memory("x", **bad)


def test_an_embedder_finds_paraphrases(opened: Store) -> None:
    memory = WorldAndAgents(opened, "planner", embedder=CallableEmbedder(topical, "topical", 4))
    memory.learn_fact("kitchen", "Everybody wants tea at four.")
    memory.learn_fact("animals", "The cat sleeps in the hall.")
    assert memory.search_memory("coffee").splitlines()[0].startswith("1. world/kitchen.md#L")
    words = WorldAndAgents(opened, "planner")
    assert words.search_memory("coffee").startswith("Nothing matches")
