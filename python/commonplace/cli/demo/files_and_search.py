"""Demo screens of the store: files, ranked search, explained scores, grep, edits by hand."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.cli.demo.runner import DemoRunner

EDITED = "procedures/release.md"
ADDED = "\n## Rollback drill\n- Once a quarter we go back one version on purpose, on a Tuesday.\n"


def show(runner: DemoRunner) -> None:
    """Search, explain, grep and edit the example memory."""
    screen = runner.screen
    screen.title("A memory is a folder of files")
    # the first call that needs the index makes it
    state = runner.timed("read and indexed", runner.store.status)
    screen.entries(runner.store.list(), brief=True)
    runner.say(f"{state.sections} sections and {state.messages} messages can be searched")

    screen.title("Search notes and messages at once")
    for question in (
        "why did we drop kubernetes",
        "凌晨看到前一天的船班怎么回事",
        "who is allergic to peanuts 花生过敏",
    ):
        ask(runner, question)

    screen.title("Say why a hit stands where it stands")
    why(runner, "why did we drop kubernetes")

    screen.title("grep decoded text, not the JSON around it")
    scan(runner, "429|rate.?limit")

    screen.title("Edit a file with any editor: the next call sees it")
    edit(runner)


def show_again(runner: DemoRunner) -> None:
    """Show what a store that was closed and opened again has to read."""
    runner.screen.title("Close and open again: only what changed is read")
    runner.timed("opened, with the index as it was saved,", runner.store.status)
    ask(runner, "when do we talk about WAL archiving", limit=1)


def show_all(runner: DemoRunner) -> None:
    """Show that what the systems wrote is one memory."""
    runner.screen.title("Five systems, one folder, one search")
    question = "photo of the printed table"
    runner.screen.line(("? ", "bold"), (question, "bold"))
    search = partial(runner.store.search, question, 6, source="note")
    for hit in runner.timed("answered from all notes", search):
        runner.screen.brief((hit.citation, "cyan"), f"  {' › '.join(hit.heading)}")
    runner.screen.verified(runner.timed("files and index compared", runner.store.verify))


def ask(runner: DemoRunner, question: str, limit: int = 3) -> None:
    """Search and print the best hits."""
    runner.screen.line(("? ", "bold"), (question, "bold"))
    hits = runner.timed("answered", lambda: runner.store.search(question, limit))
    runner.screen.hits(hits)


def why(runner: DemoRunner, question: str) -> None:
    """Print the citation of the best hit, what it cites, and its score in parts."""
    best = runner.store.search(question, 1)[0]
    runner.screen.line("citation ", (best.citation, "cyan"), f", lines {best.line}–{best.end_line}")
    runner.screen.text(runner.store.explain(question, best.citation))


def scan(runner: DemoRunner, pattern: str) -> None:
    """Grep the transcript and print the first matches."""
    runner.screen.line(("$ ", "bold"), (f"grep '{pattern}'", "bold"))
    for match in runner.store.grep(pattern, prefix="sessions", limit=3, width=90):
        runner.screen.match(match)
    count = runner.timed("scanned", lambda: runner.store.grep(pattern).count())
    runner.say(f"{count} matches in all files")


def edit(runner: DemoRunner) -> None:
    """Change a file behind the store's back and find the change."""
    question = "how often do we practise a rollback drill"
    before = runner.store.search(question, 1)
    seen = before[0].citation if before else "nothing"
    runner.say(f"before: {question} → {seen}")
    runner.by_hand(EDITED, ADDED)
    ask(runner, question, limit=1)
