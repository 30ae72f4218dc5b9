"""The screen of facts and episodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.memories import FactsAndEpisodes

if TYPE_CHECKING:
    from commonplace.cli.demo.stage import Stage

ENTRY = """\
## WAL archiving
- Summary: a lost disk costs a minute, not a day
- Solution: archive_command to object storage; tested with the restore drill"""
PATCHES = [{"oldText": ", YAML", "newText": ", YAML, Fridays"}]


def show(stage: Stage) -> None:
    """Show the list a task begins with, an episode, a person's edit, and a patch."""
    stage.screen.title("Facts and episodes: notes that an agent reads when a task needs them")
    memory = FactsAndEpisodes(stage.store, clock=stage.clock)
    stage.say("a task begins with a list of the notes, within a budget")
    message = stage.run(
        "index_message(iteration=1, budget=420)", lambda: memory.index_message(1, budget=420)
    )
    stage.answer(message)

    stage.say("what was solved becomes an entry of the month; date and summary are seen to")
    done = stage.call(memory, "memory_append", path="episodes/2026-03.md", entry=ENTRY)
    stage.file(done["path"], stage.store.read(done["path"]).strip().split("\n")[4:])

    seen = stage.store.version("facts/user.md")
    stage.by_hand("facts/user.md", "- Away: the first week of April\n")
    stage.say("a model that read the file before that is told; then it reads again")
    late = stage.call(
        memory, "memory_patch", path="facts/user.md", patches=PATCHES, expected_version=seen
    )
    stage.fields(late)
    done = stage.call(memory, "memory_patch", path="facts/user.md", patches=PATCHES)
    stage.fields(done, "success", "appliedCount", "history")
