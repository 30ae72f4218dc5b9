"""The screen of overview and detail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.memories import OverviewAndDetail

if TYPE_CHECKING:
    from commonplace.cli.demo.stage import Stage

EXAMPLE = "sessions/2026-02-ferrytime"
PROMPT = "You look after the ferry timetable."


def show(stage: Stage) -> None:
    """Show how old turns leave the context, how they are found again, and a branch."""
    stage.screen.title("Overview, detail, messages: a session that outlives its context")
    memory = OverviewAndDetail(stage.store, "2026-03", cwd="/srv/ferrytime", clock=stage.clock)
    talk = stage.store.transcript(EXAMPLE)
    records = talk.records(talk.messages())

    def append() -> None:
        for record in records:
            memory.append(record)

    stage.run(f"append(message), {len(records)} times, each safe on disk", append)
    show_context(stage, memory)
    stage.say("older turns give way to summaries that cite them; the log stays as it is")
    notes = stage.run("compact(keep_turns=4)", lambda: memory.compact(keep_turns=4))
    note = stage.store.read(f"{memory.folder}/working-memory/{notes[0]}")
    items = [line for line in note.split("\n") if line.startswith("- ") and "#L" in line]
    stage.file(f"{notes[0]} and {len(notes) - 1} more", items[1:2])
    show_context(stage, memory)
    found = stage.call(memory, "recall_memory", query="why did we drop kubernetes", limit=2)
    stage.answer(found, 9)

    stage.say("a branch is a copy of overview and notes: merged when something came of it")
    stage.call(memory, "branch", name="caddy", purpose="try Caddy without its cache")
    stage.call(memory, "patch_overview", section="Current Task", content="Measure Caddy alone.")
    done = stage.call(memory, "merge", name="caddy", message="No difference: the cache goes")
    stage.fields(done, "success", "taken", "conflicts")


def show_context(stage: Stage, memory: OverviewAndDetail) -> None:
    """Print how much a model would be given."""
    given = stage.run(
        "build_context(system_prompt, turns=200)", lambda: memory.build_context(PROMPT, turns=200)
    )
    size = sum(len(str(message["content"])) for message in given)
    stage.answer(f"{len(given)} messages, {size:,} characters")
