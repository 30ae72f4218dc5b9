"""One trial of a campaign: its random numbers, its folder and its counts."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from types import ModuleType
from typing import NamedTuple

# Failures of one promise in one try that are told in words.
TOLD = 8


class Outcome(NamedTuple):
    """What tries have shown of each promise, by its number in the table of 25."""

    tries: dict[int, int]
    failures: dict[int, int]
    texts: list[tuple[int, str]]
    untested: dict[int, str]
    left_out: list[tuple[int, str]]


class Trial:
    """What a try is given, and where it says what it has seen.

    `random` depends on the seed, the campaign and the number of the try alone; `folder` is empty
    and, where the machine has one, on a file system in memory, where `fsync` takes no time;
    `seconds` is how long it may take, about.
    """

    def __init__(self, random: Random, folder: Path, seconds: float) -> None:
        self.random = random
        self.folder = folder
        self.root = folder / "root"
        self.outside = folder / "outside"
        self.tries: dict[int, int] = defaultdict(int)
        self.failures: dict[int, int] = defaultdict(int)
        self.texts: list[tuple[int, str]] = []
        self.untested: dict[int, str] = {}
        self.left_out: list[tuple[int, str]] = []
        self.seconds = seconds
        self._end: float | None = None
        self.root.mkdir()
        self.outside.mkdir()

    def check(self, promise: int, holds: bool, what: str) -> bool:
        """Count one try of a promise, and a failure unless it holds; return whether it does."""
        self.tries[promise] += 1
        if not holds:
            self.fail(promise, what)
        return holds

    def count(self, promise: int, tries: int) -> None:
        """Count tries that are checked together."""
        self.tries[promise] += tries

    def fail(self, promise: int, what: str) -> None:
        """Count a failure of a try that was counted."""
        self.failures[promise] += 1
        if sum(number == promise for number, _ in self.texts) < TOLD:
            self.texts.append((promise, what))

    def skip(self, promise: int, reason: str) -> None:
        """Say that a promise cannot be tried in this way on this machine, and why."""
        self.untested[promise] = reason

    def leave_out(self, promise: int, what: str) -> None:
        """Count something that shows neither that a promise holds nor that it fails.

        `what` names the kind of thing and why, in the plural: it is told with its number.
        """
        self.left_out.append((promise, what))

    def is_time(self) -> bool:
        """Return whether there is time left for more of the same; the first call begins it."""
        if self._end is None:
            self._end = time.monotonic() + self.seconds
        return time.monotonic() < self._end

    def outcome(self) -> Outcome:
        tries, failures = dict(self.tries), dict(self.failures)
        return Outcome(tries, failures, self.texts, self.untested, self.left_out)


Kind = Callable[[Trial], None]


class Campaign(NamedTuple):
    """A module of this folder: its law, what it tries of each promise, and its kinds of tries.

    The module has `LAW` (one sentence), `PROMISES` (number of the promise → how it is tried here)
    and `KINDS` (functions of a `Trial`, tried in turn); it may have `missing()`, which returns why
    it cannot run on this machine.
    """

    name: str
    law: str
    promises: dict[int, str]
    kinds: Sequence[Kind]
    missing: str | None

    @classmethod
    def of(cls, module: ModuleType) -> Campaign:
        missing: Callable[[], str | None] = getattr(module, "missing", lambda: None)
        name = module.__name__.rpartition(".")[2]
        return cls(name, module.LAW, module.PROMISES, module.KINDS, missing())


def scratch_parent() -> Path | None:
    """Return the folder for scratch folders; None for the default of the system."""
    memory = Path("/dev/shm")
    return memory if os.access(memory, os.W_OK) else None
