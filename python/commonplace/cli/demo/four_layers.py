"""Demo screen of the four layers: episodes, a learned fact, compaction, rules, JSON export."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from commonplace.memories import AgentRuns, FourLayers

if TYPE_CHECKING:
    from commonplace.cli.demo.runner import DemoRunner

RUNS = (
    "Operator one: 312 sailings, times as 8.30 and as 08:30",
    "Operator two: feed of 02:00, 204 sailings, nothing to ask",
    "Operator three: photo of the printed table, 41 cells, 2 unsure",
    "Operator one again: two sailings were entered twice",
    "Operator two added the line to Shengshan, six sailings a day",
    "Operator three: photo cut at a corner, asked Mrs Fang for another",
)
RULE = {"content": "a person confirms it", "metadata": {"condition": "importing a photo"}}


def show(runner: DemoRunner) -> None:
    """Show what happened, what is known and what to do, of an agent with a memory of its own."""
    runner.screen.title("Four layers: what is at hand, what happened, what is known, what to do")
    memory = FourLayers(runner.store, agent="importer", shared=False, clock=runner.clock)

    def append() -> None:
        for content in RUNS:
            memory.append("episodic", {"content": content})
            runner.now += timedelta(hours=1)

    runner.run(f'append(type="episodic", entry={{"content": …}}), {len(RUNS)} times', append)
    for entry in runner.call(memory, "search", type="episodic", query="corner photos", limit=2):
        runner.answer(entry.content)
    runner.call(memory, "learn", knowledge={"key": "photo-corners", "value": "all four show"})
    known = runner.call(memory, "recall", key="photo-corners")
    runner.answer(f"{known.key} = {known.value}")

    runner.say("older episodes give way to a summary; they lie in the archive, and it says where")
    done = runner.call(memory, "compact", type="episodic", opts={"keep_last": 2})
    runner.fields(done, "compacted", "archived")
    runner.answer(memory.get_episodic_memory()[0].content.replace(" [agentId=importer]", ""))

    runner.say("rules that fit a task go into its prompt")
    runner.call(memory, "append", type="procedural", entry=RULE)
    task = "Import the photo of Thursday"
    for one in runner.run(f'rules_for("{task}")', lambda: AgentRuns(memory).rules_for(task)):
        runner.answer(f"When {one.rule.condition}: {one.rule.action} ({one.reason})")

    folder = runner.store.root / "agents" / "importer" / "json"
    runner.run("export_json(folder)", lambda: memory.export_json(folder))
    fact = (folder / "semantic.json").read_text(encoding="utf-8")
    runner.file("semantic.json", [fact])
