"""What a store does: files, ranked search, grep, edits by hand."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.cli.demo.stage import Stage

EDITED = "procedures/release.md"
ADDED = "\n## Rollback drill\n- Once a quarter we go back one version on purpose, on a Tuesday.\n"


def show(stage: Stage) -> None:
    """Search, explain, grep and edit the example memory."""
    screen = stage.screen
    screen.title("A memory is a folder of files")
    # the first call that needs the index makes it
    state = stage.timed("read and indexed", stage.store.status)
    screen.entries(stage.store.list(), brief=True)
    stage.say(f"{state.sections} sections and {state.messages} messages can be searched")

    screen.title("Search notes and messages at once")
    for question in (
        "why did we drop kubernetes",
        "凌晨看到前一天的船班怎么回事",
        "who is allergic to peanuts 花生过敏",
    ):
        ask(stage, question)

    screen.title("Say why a hit stands where it stands")
    why(stage, "why did we drop kubernetes")

    screen.title("grep what was said, not the JSON around it")
    scan(stage, "429|rate.?limit")

    screen.title("Edit a file with any editor: the next call sees it")
    edit(stage)


def show_again(stage: Stage) -> None:
    """Show what a store that was closed and opened again has to read."""
    stage.screen.title("Close and open again: only what changed is read")
    stage.timed("opened, with the index as it was saved,", stage.store.status)
    ask(stage, "when do we talk about WAL archiving", limit=1)


def show_all(stage: Stage) -> None:
    """Show that what the systems wrote is one memory."""
    stage.screen.title("Five systems, one folder, one search")
    question = "photo of the printed table"
    stage.screen.line(("? ", "bold"), (question, "bold"))
    search = partial(stage.store.search, question, 6, source="note")
    for hit in stage.timed("answered from all notes", search):
        stage.screen.brief((hit.citation, "cyan"), f"  {' › '.join(hit.heading)}")
    stage.screen.verified(stage.timed("files and index compared", stage.store.verify))


def ask(stage: Stage, question: str, limit: int = 3) -> None:
    """Search and print the best hits."""
    stage.screen.line(("? ", "bold"), (question, "bold"))
    hits = stage.timed("answered", lambda: stage.store.search(question, limit))
    stage.screen.hits(hits, brief=True)


def why(stage: Stage, question: str) -> None:
    """Print the citation of the best hit, what it cites, and its score in parts."""
    best = stage.store.search(question, 1)[0]
    stage.screen.line("citation ", (best.citation, "cyan"), f", lines {best.line}–{best.end_line}")
    stage.screen.text(stage.store.explain(question, best.citation))


def scan(stage: Stage, pattern: str) -> None:
    """Grep the transcript and print the first matches."""
    stage.screen.line(("$ ", "bold"), (f"grep '{pattern}'", "bold"))
    for match in stage.store.grep(pattern, prefix="sessions", limit=3, width=90):
        stage.screen.match(match)
    count = stage.timed("scanned", lambda: stage.store.grep(pattern).count())
    stage.say(f"{count} matches in all files")


def edit(stage: Stage) -> None:
    """Change a file behind the store's back and find the change."""
    question = "how often do we practise a rollback drill"
    before = stage.store.search(question, 1)
    seen = before[0].citation if before else "nothing"
    stage.say(f"before: {question} → {seen}")
    stage.by_hand(EDITED, ADDED)
    ask(stage, question, limit=1)
