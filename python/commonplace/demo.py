"""A tour through a small memory: the assistant of a ferry timetable, seven weeks of it."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from commonplace.errors import Refused
from commonplace.store import Store
from commonplace.store import open as open_store

if TYPE_CHECKING:
    from commonplace.show import Screen

Result = TypeVar("Result")

EDITED = "procedures/release.md"
ADDED = "\n## Rollback drill\n- Once a quarter we go back one version on purpose, on a Tuesday.\n"


def tour(root: Path | None, screen: Screen) -> None:
    """Copy the example memory to a folder and show what can be done with it.

    Args:
        root: An empty or new folder, which is kept; default a temporary one, which is not.
        screen: Where to print.

    Raises:
        Refused: `root` holds files already.
    """
    with ExitStack() as stack:
        if root is None:
            place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="commonplace-")))
        elif root.exists() and any(root.iterdir()):
            raise Refused(f"{root} is not empty; give the demo a new folder")
        else:
            place = root
        with as_file(files("commonplace") / "example") as example:
            shutil.copytree(example, place, dirs_exist_ok=True)
        Tour(place, screen).run()
    screen.title("Try this next")
    for line in next_lines(root):
        screen.line("  ", (line, "green"))


def next_lines(root: Path | None) -> list[str]:
    """Return commands worth typing after the tour."""
    kept = root or Path("ferry-memory")
    first = [] if root else [f"commonplace --root {kept} demo  # the same, and keeps the files"]
    return [
        *first,
        f"commonplace --root {kept} search 'what did we do about flaky tests'",
        f"commonplace --root {kept} grep --role assistant --since 2026-02-01 -C 1 'rate.?limit'",
        "commonplace --root notes import ~/.claude/projects/*/*.jsonl",
        "commonplace --help",
    ]


class Tour:
    """The steps of the demo; each prints what it did and how long that took."""

    def __init__(self, place: Path, screen: Screen) -> None:
        self.place = place
        self.screen = screen

    def run(self) -> None:
        """Walk through all steps."""
        screen = self.screen
        screen.title("A memory is a folder of files")
        with open_store(self.place) as store:
            # the first call that needs the index makes it
            state = self.timed("read and indexed", store.status)
            screen.entries(store.list())
            self.say(f"{state.sections} sections and {state.messages} messages can be searched")

            screen.title("Search notes and messages at once")
            for question in (
                "why did we drop kubernetes",
                "凌晨看到前一天的船班怎么回事",
                "who is allergic to peanuts 花生过敏",
            ):
                self.ask(store, question)

            screen.title("Say why a hit stands where it stands")
            self.why(store, "why did we drop kubernetes")

            screen.title("grep what was said, not the JSON around it")
            self.scan(store, "429|rate.?limit")

            screen.title("Edit a file with any editor: the next call sees it")
            self.edit(store)

        screen.title("Close and open again: only what changed is read")
        with open_store(self.place) as store:
            self.timed("opened, with the index as it was saved,", store.status)
            self.ask(store, "when do we talk about WAL archiving", limit=1)

    def ask(self, store: Store, question: str, limit: int = 3) -> None:
        """Search and print the best hits."""
        self.screen.line(("? ", "bold"), (question, "bold"))
        hits = self.timed("answered", lambda: store.search(question, limit))
        self.screen.hits(hits)

    def why(self, store: Store, question: str) -> None:
        """Print the citation of the best hit, what it cites, and its score in parts."""
        best = store.search(question, 1)[0]
        self.screen.line(
            "citation ", (best.citation, "cyan"), f", lines {best.line}–{best.end_line}"
        )
        self.screen.text(store.explain(question, best.citation))

    def scan(self, store: Store, pattern: str) -> None:
        """Grep the transcript and print the first matches."""
        self.screen.line(("$ ", "bold"), (f"grep '{pattern}'", "bold"))
        for match in store.grep(pattern, prefix="sessions", limit=3, width=90):
            self.screen.match(match)
        count = self.timed("scanned", lambda: store.grep(pattern).count())
        self.say(f"{count} matches in all files")

    def edit(self, store: Store) -> None:
        """Change a file behind the store's back and find the change."""
        question = "how often do we practise a rollback drill"
        before = store.search(question, 1)
        seen = before[0].citation if before else "nothing"
        self.say(f"before: {question} → {seen}")
        with (self.place / EDITED).open("a", encoding="utf-8") as file:
            file.write(ADDED)
        self.say(f"someone adds a section to {EDITED}")
        self.ask(store, question, limit=1)

    def say(self, text: str) -> None:
        """Print a remark."""
        self.screen.line((text, "dim"))

    def timed(self, done: str, step: Callable[[], Result]) -> Result:
        """Run a step and print how long it took."""
        began = time.perf_counter()
        result = step()
        self.say(f"{done} in {1000 * (time.perf_counter() - began):.2f} ms")
        return result
