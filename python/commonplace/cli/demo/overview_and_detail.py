"""Demo screen of overview and detail: old turns leave the context and are found again; a branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.memories import OverviewAndDetail

if TYPE_CHECKING:
    from commonplace.cli.demo.runner import DemoRunner

EXAMPLE = "sessions/2026-02-ferrytime"
PROMPT = "You look after the ferry timetable."


def show(runner: DemoRunner) -> None:
    """Show how old turns leave the context, how they are found again, and a branch."""
    runner.screen.title("Overview, detail, messages: a session that outlives its context")
    memory = OverviewAndDetail(runner.store, "2026-03", cwd="/srv/ferrytime", clock=runner.clock)
    talk = runner.store.transcript(EXAMPLE)
    records = talk.records(talk.messages())

    def append() -> None:
        for record in records:
            memory.append(record)

    runner.run(f"append(message), {len(records)} times, each safe on disk", append)
    show_context(runner, memory)
    runner.say("older turns give way to summaries that cite them; the log stays as it is")
    notes = runner.run("compact(keep_turns=4)", lambda: memory.compact(keep_turns=4))
    note = runner.store.read(f"{memory.folder}/working-memory/{notes[0]}")
    items = [line for line in note.split("\n") if line.startswith("- ") and "#L" in line]
    runner.file(f"{notes[0]} and {len(notes) - 1} more", items[1:2])
    show_context(runner, memory)
    found = runner.call(memory, "recall_memory", query="why did we drop kubernetes", limit=2)
    runner.answer(found, 9)

    runner.say("a branch is a copy of overview and notes: merged when something came of it")
    runner.call(memory, "branch", name="caddy", purpose="try Caddy without its cache")
    runner.call(memory, "patch_overview", section="Current Task", content="Measure Caddy alone.")
    done = runner.call(memory, "merge", name="caddy", message="No difference: the cache goes")
    runner.fields(done, "success", "taken", "conflicts")


def show_context(runner: DemoRunner, memory: OverviewAndDetail) -> None:
    """Print how much a model would be given."""
    given = runner.run(
        "build_context(system_prompt, turns=200)", lambda: memory.build_context(PROMPT, turns=200)
    )
    size = sum(len(str(message["content"])) for message in given)
    runner.answer(f"{len(given)} messages, {size:,} characters")
