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

# Failures of one guarantee in one trial that are told in words.
TOLD = 8


class Outcome(NamedTuple):
    """What a trial has shown of each guarantee: checks made, failures, and what was not tested."""

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

    def check(self, guarantee: int, holds: bool, what: str) -> bool:
        """Count one check of a guarantee, and a failure unless it holds; return whether it does."""
        self.checks[guarantee] += 1
        if not holds:
            self.fail(guarantee, what)
        return holds

    def count(self, guarantee: int, checks: int) -> None:
        """Count checks that are made together."""
        self.checks[guarantee] += checks

    def fail(self, guarantee: int, what: str) -> None:
        """Count a failure of a check that was counted."""
        self.failures[guarantee] += 1
        if sum(number == guarantee for number, _ in self.texts) < TOLD:
            self.texts.append((guarantee, what))

    def skip(self, guarantee: int, reason: str) -> None:
        """Say that a guarantee cannot be tested in this way on this machine, and why."""
        self.untested[guarantee] = reason

    def leave_out(self, guarantee: int, what: str) -> None:
        """Count something that shows neither that a guarantee holds nor that it fails.

        `what` names the kind of thing and why, in the plural: it is told with its number.
        """
        self.left_out.append((guarantee, what))

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
    """A module of this folder: its invariant, how it checks each guarantee, its kinds of trials.

    The module has `INVARIANT` (one sentence), `GUARANTEES` (a guarantee → how it is tested here),
    `KINDS` (functions of a `Trial`, run in turn); it may have `missing()`, which returns why
    it cannot run on this machine.
    """

    name: str
    invariant: str
    guarantees: dict[int, str]
    kinds: Sequence[Kind]
    missing: str | None

    @classmethod
    def of(cls, module: ModuleType) -> Campaign:
        missing: Callable[[], str | None] = getattr(module, "missing", lambda: None)
        name = module.__name__.rpartition(".")[2]
        return cls(name, module.INVARIANT, module.GUARANTEES, module.KINDS, missing())


def scratch_parent() -> Path | None:
    """Return the folder for scratch folders; None for the default of the system."""
    memory = Path("/dev/shm")
    return memory if os.access(memory, os.W_OK) else None
