"""Trial (one seeded run of a campaign): its random numbers, its folder, and its counted checks."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from types import ModuleType
from typing import NamedTuple

# Failures of one promise in one trial that are told in words.
TOLD = 8


class Outcome(NamedTuple):
    """What a trial has shown of each promise: checks made, failures, and what was not tested."""

    checks: dict[int, int]
    failures: dict[int, int]
    texts: list[tuple[int, str]]
    untested: dict[int, str]
    left_out: list[tuple[int, str]]


class Trial:
    """What one seeded run is given, and where it counts its checks.

    `random` depends on the seed, the campaign and the number of the trial alone; `folder` is empty
    and, where the machine has one, on a file system in memory, where `fsync` takes no time;
    `seconds` is how long it may take, about.
    """

    def __init__(self, random: Random, folder: Path, seconds: float) -> None:
        self.random = random
        self.folder = folder
        self.root = folder / "root"
        self.outside = folder / "outside"
        self.checks: dict[int, int] = defaultdict(int)
        self.failures: dict[int, int] = defaultdict(int)
        self.texts: list[tuple[int, str]] = []
        self.untested: dict[int, str] = {}
        self.left_out: list[tuple[int, str]] = []
        self.seconds = seconds
        self._end: float | None = None
        self.root.mkdir()
        self.outside.mkdir()

    def check(self, promise: int, holds: bool, what: str) -> bool:
        """Count one check of a promise, and a failure unless it holds; return whether it does."""
        self.checks[promise] += 1
        if not holds:
            self.fail(promise, what)
        return holds

    def count(self, promise: int, checks: int) -> None:
        """Count checks that are made together."""
        self.checks[promise] += checks

    def fail(self, promise: int, what: str) -> None:
        """Count a failure of a check that was counted."""
        self.failures[promise] += 1
        if sum(number == promise for number, _ in self.texts) < TOLD:
            self.texts.append((promise, what))

    def skip(self, promise: int, reason: str) -> None:
        """Say that a promise cannot be tested in this way on this machine, and why."""
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
        checks, failures = dict(self.checks), dict(self.failures)
        return Outcome(checks, failures, self.texts, self.untested, self.left_out)


Kind = Callable[[Trial], None]


class Campaign(NamedTuple):
    """A module of this folder: its invariant, how it checks each promise, and its kinds of trials.

    The module has `INVARIANT` (one sentence), `PROMISES` (a promise → how it is tested here) and
    `KINDS` (functions of a `Trial`, run in turn); it may have `missing()`, which returns why
    it cannot run on this machine.
    """

    name: str
    invariant: str
    promises: dict[int, str]
    kinds: Sequence[Kind]
    missing: str | None

    @classmethod
    def of(cls, module: ModuleType) -> Campaign:
        missing: Callable[[], str | None] = getattr(module, "missing", lambda: None)
        name = module.__name__.rpartition(".")[2]
        return cls(name, module.INVARIANT, module.PROMISES, module.KINDS, missing())


def scratch_parent() -> Path | None:
    """Return the folder for scratch folders; None for the default of the system."""
    memory = Path("/dev/shm")
    return memory if os.access(memory, os.W_OK) else None
