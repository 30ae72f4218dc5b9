"""Test doubles: clocks, chat models, embedders and stores that stand in for real ones.

They stand here once, so that a test says what it needs and not how it is built.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Any

from hypothesis.stateful import RuleBasedStateMachine

import commonplace
from commonplace.adapters.embedders import CallableEmbedder
from commonplace.protocols import Reply, Turn

NOON = datetime(2026, 2, 24, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


class Clock:
    """A clock that stands still until `now` is set, or moves on by `step` after each reading."""

    def __init__(self, now: datetime = NOON, step: timedelta = timedelta(0)) -> None:
        self.now, self.step = now, step
        self._lock = Lock()

    def __call__(self) -> datetime:
        # two threads never read the same moment of a clock that moves
        with self._lock:
            now = self.now
            self.now += self.step
            return now


class ScriptedModel:
    """A chat model that gives prepared answers in turn and remembers what it was asked.

    Args:
        answers: Replies, texts, or errors that are raised instead.
        repeat_last: Give the last answer again and again; else one call too many fails.
        max_tokens: The limit that every call must name; any limit if it is None.
    """

    takes_tools = True

    def __init__(
        self,
        *answers: Reply | str | Exception,
        repeat_last: bool = False,
        max_tokens: int | None = None,
    ) -> None:
        self.answers = list(answers)
        self.repeat_last = repeat_last
        self.max_tokens = max_tokens
        self.asked: list[list[Turn]] = []
        self.tools: Sequence[Mapping[str, Any]] = ()

    def complete(
        self,
        turns: Sequence[Turn],
        tools: Sequence[Mapping[str, Any]] = (),
        *,
        max_tokens: int = 1024,
    ) -> Reply:
        assert self.takes_tools or not tools
        assert max_tokens == (self.max_tokens or max_tokens)
        assert max_tokens > 0
        self.asked.append(list(turns))
        self.tools = tools
        last = self.repeat_last and len(self.answers) == 1
        answer = self.answers[0] if last else self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Reply) else Reply(answer)


class SummaryModel(ScriptedModel):
    """A chat model for summaries, which must be offered no tools."""

    takes_tools = False


def letter_embedder() -> CallableEmbedder:
    """Return an embedder for which a text is how often the letter a stands in it."""
    return CallableEmbedder(lambda texts: [[t.count("a"), 1.0] for t in texts], "letters", 2)


class Crash(Exception):
    """What `CrashingStore` raises where a process would have died."""


class _StoreProxy:
    """A store that hands everything on to a real one."""

    def __init__(self, store: commonplace.Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class CrashingStore(_StoreProxy):
    """A store that does a number of changes and fails at every later one."""

    def __init__(self, store: commonplace.Store, changes: int) -> None:
        super().__init__(store)
        self._left = changes

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        if name not in {"write", "update", "append", "patch", "delete", "move"}:
            return found

        def change(*args: Any, **named: Any) -> Any:
            if self._left == 0:
                raise Crash
            self._left -= 1
            return found(*args, **named)

        return change


class RacingStore(_StoreProxy):
    """A store in which something else happens just before the n-th update, counted from 0."""

    def __init__(self, store: commonplace.Store, at: int, act: Callable[[], object]) -> None:
        super().__init__(store)
        self._left, self._act = at, act

    def __getattr__(self, name: str) -> Any:
        if name == "update":
            if self._left == 0:
                self._act()
            self._left -= 1
        return super().__getattr__(name)


class _CoreProxy:
    """The native part of a store; what is made with a store takes its place there."""

    def __init__(self, store: commonplace.Store) -> None:
        self._core = store._core
        store._core = self  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)


class RacingCore(_CoreProxy):
    """A native part in which something else happens before a call, the first `times` times."""

    def __init__(
        self, store: commonplace.Store, call: str, act: Callable[[], object], times: int = 1
    ) -> None:
        super().__init__(store)
        self._call, self._act, self._left = call, act, times

    def __getattr__(self, name: str) -> Any:
        if name == self._call and self._left:
            self._left -= 1
            self._act()
        return super().__getattr__(name)


class CountingCore(_CoreProxy):
    """A native part that counts the messages it hands out."""

    def __init__(self, store: commonplace.Store) -> None:
        super().__init__(store)
        self.handed = 0

    def messages(self, path: str, start: int, limit: int | None) -> list[Any]:
        found = self._core.messages(path, start, limit)
        self.handed += len(found)
        return found


class StoreMachine(RuleBasedStateMachine):
    """A state machine over a store in a folder of its own, which must hold together at the end."""

    watch = True

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        self.store = self.open_store()

    def open_store(self) -> commonplace.Store:
        return commonplace.open(self.root, watch=self.watch)

    def teardown(self) -> None:
        with self.folder, self.store:
            assert self.store.verify().differences == []
