"""Demo: a tour through a small example memory, seven weeks of a ferry timetable assistant.

First what a store does, then one screen for each of the five memory systems, all over the same
folder.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.cli.demo import (
    facts_and_episodes,
    files_and_search,
    four_layers,
    overview_and_detail,
    profile,
    world_and_agents,
)
from commonplace.cli.demo.runner import DemoRunner
from commonplace.errors import Refused
from commonplace.store import open as open_store

if TYPE_CHECKING:
    from commonplace.cli.render import Screen

SYSTEMS = (facts_and_episodes, overview_and_detail, world_and_agents, four_layers, profile)


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
        with as_file(files("commonplace.cli.demo") / "example") as example:
            shutil.copytree(example, place, dirs_exist_ok=True)
        with open_store(place) as store:
            files_and_search.show(DemoRunner(store, screen))
        with open_store(place) as store:
            runner = DemoRunner(store, screen)
            files_and_search.show_again(runner)
            for system in SYSTEMS:
                system.show(runner)
            files_and_search.show_all(runner)
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
        "commonplace --root notes import --claude-code",
        "commonplace --help",
    ]
