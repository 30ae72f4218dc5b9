"""Demo screen of world and agents: two agents that share facts and keep diaries of their own."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from commonplace.memories import WorldAndAgents

if TYPE_CHECKING:
    from commonplace.cli.demo.runner import DemoRunner


def show(runner: DemoRunner) -> None:
    """Show two agents that share a world and not a diary."""
    runner.screen.title("World and agents: facts for all, a diary for each")
    watch = WorldAndAgents(runner.store, "fog-watch", clock=runner.clock)
    planner = WorldAndAgents(runner.store, "planner", clock=runner.clock)

    runner.say("fog-watch keeps a diary: a page a day, which only grows")
    runner.now -= timedelta(days=1)
    runner.call(watch, "remember", content="Fog at Gouqi until 08:40, four boats late.")
    runner.now += timedelta(days=1)
    done = runner.call(watch, "remember", content="Clear by 07:10, all on time.")
    runner.fields(done, "path")

    runner.say("what it learns, all know; two topics never fall on one file")
    for topic, content in (
        ("Gouqi: pier", "- Berth 2 is closed in March."),
        ("Gouqi / pier", "- The ticket office opens at 05:30."),
    ):
        done = runner.call(watch, "learn_fact", topic=topic, content=content)
        runner.fields(done, *(name for name in ("path", "note") if name in done))

    runner.say("the world, MEMORY.md and the last days; shown is the first and the last but one")
    parts = runner.call(watch, "recall", days=2).split("\n\n---\n\n")
    runner.answer("\n---\n".join([parts[0], parts[-2]]), 9)
    runner.say("planner finds that too, and never what is in the diary of another")
    runner.answer(runner.call(planner, "search_memory", query="Gouqi"), 2)
