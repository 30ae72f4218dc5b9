"""The screen of world and agents."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from commonplace.memories import WorldAndAgents

if TYPE_CHECKING:
    from commonplace.cli.demo.stage import Stage


def show(stage: Stage) -> None:
    """Show two agents that share a world and not a diary."""
    stage.screen.title("World and agents: facts for all, a diary for each")
    watch = WorldAndAgents(stage.store, "fog-watch", clock=stage.clock)
    planner = WorldAndAgents(stage.store, "planner", clock=stage.clock)

    stage.say("fog-watch keeps a diary: a page a day, which only grows")
    stage.now -= timedelta(days=1)
    stage.call(watch, "remember", content="Fog at Gouqi until 08:40, four boats late.")
    stage.now += timedelta(days=1)
    done = stage.call(watch, "remember", content="Clear by 07:10, all on time.")
    stage.fields(done, "path")

    stage.say("what it learns, all know; two topics never fall on one file")
    for topic, content in (
        ("Gouqi: pier", "- Berth 2 is closed in March."),
        ("Gouqi / pier", "- The ticket office opens at 05:30."),
    ):
        done = stage.call(watch, "learn_fact", topic=topic, content=content)
        stage.fields(done, *(name for name in ("path", "note") if name in done))

    stage.say("the world, MEMORY.md and the last days; shown is the first and the last but one")
    parts = stage.call(watch, "recall", days=2).split("\n\n---\n\n")
    stage.answer("\n---\n".join([parts[0], parts[-2]]), 9)
    stage.say("planner finds that too, and never what is in the diary of another")
    stage.answer(stage.call(planner, "search_memory", query="Gouqi"), 2)
