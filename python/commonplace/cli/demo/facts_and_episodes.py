"""Demo screen of facts and episodes: the list a task begins with, a new entry, a patch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.memories import FactsAndEpisodes

if TYPE_CHECKING:
    from commonplace.cli.demo.runner import DemoRunner

ENTRY = """\
## WAL archiving
- Summary: a lost disk costs a minute, not a day
- Solution: archive_command to object storage; tested with the restore drill"""
PATCHES = [{"oldText": ", YAML", "newText": ", YAML, Fridays"}]


def show(runner: DemoRunner) -> None:
    """Show the list a task begins with, an episode, a person's edit, and a patch."""
    runner.screen.title("Facts and episodes: notes that an agent reads when a task needs them")
    memory = FactsAndEpisodes(runner.store, clock=runner.clock)
    runner.say("a task begins with a list of the notes, within a budget")
    message = runner.run(
        "index_message(iteration=1, budget=420)", lambda: memory.index_message(1, budget=420)
    )
    runner.answer(message)

    runner.say("what was solved becomes an entry of the month; date and summary are seen to")
    done = runner.call(memory, "memory_append", path="episodes/2026-03.md", entry=ENTRY)
    runner.file(done["path"], runner.store.read(done["path"]).strip().split("\n")[4:])

    seen = runner.store.version("facts/user.md")
    runner.by_hand("facts/user.md", "- Away: the first week of April\n")
    runner.say("a model that read the file before that is told; then it reads again")
    late = runner.call(
        memory, "memory_patch", path="facts/user.md", patches=PATCHES, expected_version=seen
    )
    runner.fields(late)
    done = runner.call(memory, "memory_patch", path="facts/user.md", patches=PATCHES)
    runner.fields(done, "success", "appliedCount", "history")
