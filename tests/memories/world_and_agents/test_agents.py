"""World and agents: several agents that share facts and not diaries."""

from __future__ import annotations

from datetime import date

import pytest

from commonplace.errors import Refused
from commonplace.memories.world_and_agents import WorldAndAgents
from commonplace.store import Store
from tests.doubles import Clock


@pytest.mark.parametrize(
    "agent_id",
    ["", "..", "a/b", "../b", ".b", "a b", "-a", "a.", "a\n", "a\0", "x" * 65, "a\\b", "e\u0301"],
)  # fmt: skip
def test_what_is_no_agent_id_is_refused(opened: Store, agent_id: str) -> None:
    with pytest.raises(Refused, match="is no agent id"):
        WorldAndAgents(opened, agent_id)


def test_agents_share_the_world_and_not_the_diary(opened: Store, clock: Clock) -> None:
    # names of which one begins with the other
    anna, ann = (WorldAndAgents(opened, name, clock=clock) for name in ("anna", "ann"))
    anna.learn_fact("systems", "The relay is shared.")
    anna.reflect("The relay is anna's own idea.")
    anna.remember("The relay is anna's secret.")
    ann.remember("The relay is ann's.")
    assert "relay is shared" in ann.recall()
    assert "anna's" not in ann.recall()
    found = ann.search_memory("relay", 100)
    assert "world/systems.md" in found
    assert "agents/ann/daily" in found
    assert "anna" not in found
    assert "anna" not in ann.search_memory("relay", 100, since=date(2026, 1, 1))
    assert ann.search_memory("secret path:anna").startswith("Nothing matches")
    assert "anna's secret" in anna.search_memory("secret")


def test_agents_of_another_folder_are_another_world(opened: Store) -> None:
    red, blue = (WorldAndAgents(opened, "a", folder=name) for name in ("red", "red2/"))
    assert red.learn_fact("people", "Mara is red")["path"] == "red/world/people.md"
    assert blue.remember("blue")["path"].startswith("red2/agents/a/daily/")
    assert "Mara" not in blue.recall()
    assert blue.search_memory("Mara").startswith("Nothing matches")
    assert "## World: people\n" in red.recall()
