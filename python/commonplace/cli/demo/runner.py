"""Runner of the demo screens: runs a step and prints it, with its call and time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, TypeVar

from commonplace.errors import CommonplaceError
from commonplace.store import Store
from commonplace.tools import tools_for

if TYPE_CHECKING:
    from commonplace.cli.render import Screen

Result = TypeVar("Result")

# the morning after the last message of the example
MORNING = datetime(2026, 3, 3, 9, 30, tzinfo=timezone(timedelta(hours=8)))
# the longest argument that is shown whole, in characters
SHOWN = 44


class DemoRunner:
    """Runs the steps of a screen, and prints what was called, what it answered and how long."""

    def __init__(self, store: Store, screen: Screen) -> None:
        self.store = store
        self.screen = screen
        self.now = MORNING

    def clock(self) -> datetime:
        """Return the time at which the step happens."""
        return self.now

    def say(self, text: str) -> None:
        """Print a comment."""
        self.screen.line((text, "dim"))

    def timed(self, done: str, step: Callable[[], Result]) -> Result:
        """Run a step and say how long it took."""
        began = time.perf_counter()
        result = step()
        self.say(f"{done} in {_elapsed(began)}")
        return result

    def run(self, shown: str, step: Callable[[], Result]) -> Result:
        """Run a step under the call that it is, with the time that it took."""
        began = time.perf_counter()
        result = step()
        self.screen.brief((shown, "bold"), end=_elapsed(began))
        return result

    def call(self, memory: object, name: str, /, **arguments: Any) -> Any:
        """Call a tool of a memory as a model does, and return its answer; an error is one too."""
        tools = tools_for(memory)

        def step() -> Any:
            try:
                return tools.run(name, arguments)
            except CommonplaceError as error:
                return error

        return self.run(_written(name, arguments), step)

    def answer(self, text: object, most: int = 8) -> None:
        """Print the first lines of an answer."""
        lines = [line for line in str(text).split("\n") if line.strip()]
        for line in lines[:most]:
            self.screen.brief("  ", line)
        if len(lines) > most:
            self.screen.brief(
                (f"  … {len(lines) - most} more line{'s' * (len(lines) > most + 1)}", "dim")
            )

    def fields(self, answer: Any, *names: str) -> None:
        """Print some fields of a receipt on one line; an error as it is."""
        if not isinstance(answer, Mapping):
            self.screen.brief("  ", (f"{type(answer).__name__}: {answer}", "yellow"))
            return
        shown = ", ".join(f"{name}: {_plain(answer[name])}" for name in names)
        self.screen.brief("  ", (shown, "green"))

    def by_hand(self, path: str, text: str) -> None:
        """Add text to a file as an editor does, without the store."""
        with (self.store.root / path).open("a", encoding="utf-8") as file:
            file.write(text)
        self.say(f"somebody adds to {path}: {' '.join(text.split())}")

    def file(self, path: str, lines: Sequence[str]) -> None:
        """Print the path of a file, and some of its lines, as they are in the folder."""
        self.screen.brief("  ", (path, "cyan"))
        for line in lines:
            self.screen.brief(("  │ ", "dim"), line)


def _elapsed(began: float) -> str:
    seconds = time.perf_counter() - began
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.2f} ms"


def _written(name: str, arguments: Mapping[str, Any]) -> str:
    """Return a call as somebody writes it, its long arguments cut.

    >>> _written("memory_read", {"path": "facts/user.md"})
    'memory_read(path="facts/user.md")'
    """
    return f"{name}({', '.join(f'{key}={_cut(value)}' for key, value in arguments.items())})"


def _cut(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
