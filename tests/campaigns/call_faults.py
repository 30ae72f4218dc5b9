"""Fault campaign: the n-th system call of each kind fails, in every call of the package.

Also without `RENAME_EXCHANGE`, and with a death in place of an error. Reads are tried as changes
are: what cannot be read is an error or a note, never an answer with less in it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import commonplace
from commonplace import InDoubt, Store
from tests.campaigns.children import Child, SharedLog, no_strace
from tests.campaigns.guarantees import ATOMIC_REPLACE, DAMAGED_CACHE, ERRORS_REPORTED
from tests.campaigns.single_calls import (
    ANSWERS,
    CHANGES,
    OLD,
    READS,
    REPEATABLE,
    Change,
    marks,
    prepare,
)
from tests.campaigns.systems import CALLS, Program
from tests.campaigns.trial import Trial

INVARIANT = (
    "Whatever system call fails, `ok` means done, an error means not done, and only `InDoubt` "
    "leaves it open; nothing is done twice; the old text is whole; a read tells all or says so."
)
GUARANTEES = {
    ATOMIC_REPLACE: "a death at the n-th call of each kind, in each change",
    ERRORS_REPORTED: "EIO, ENOSPC, EROFS, EDQUOT, EMFILE, … at the n-th call of each kind, "
    "once and sticky",
    DAMAGED_CACHE: "the same errors in each call that reads: all of the answer, or an "
    "error, or a note",
}
missing = no_strace

CALLED = {
    "openat2": 14, "openat": 8, "renameat2": 4, "fsync": 8, "fdatasync": 3, "mkdirat": 6,
    "flock": 3, "write": 4, "pwrite64": 3, "read": 8, "pread64": 8, "statx": 12, "fstat": 12,
    "newfstatat": 8, "unlinkat": 3, "linkat": 2, "getdents64": 6, "ftruncate": 2, "lseek": 4,
    "fchmod": 2, "fchmodat": 2, "fchown": 2, "fcntl": 6, "inotify_init1": 1, "dup": 2,
    "inotify_add_watch": 6, "renameat": 2, "utimensat": 2, "flistxattr": 2, "fallocate": 2,
}  # fmt: skip
ERRORS = ("EIO", "ENOSPC", "EROFS", "EDQUOT", "EMFILE", "ENFILE", "EACCES", "EFBIG", "ENOMEM")


# Calls of the systems that are one write: what they refuse is not there.
SINGLE = (
    "facts.memory_append", "facts.memory_write", "session.write_detail", "session.patch_overview",
    "layers.learn", "layers.append episodic", "layers.append procedural", "agent.learn_fact",
    "agent.reflect", "agent.remember", "profile.remember",
)  # fmt: skip


class Attempt:
    """One call under one fault."""

    def __init__(self, trial: Trial, base: Path, number: int) -> None:
        self.trial = trial
        self.folder = trial.folder / f"try{number}"
        shutil.copytree(base, self.folder)
        self.root = self.folder / "root"
        self.trace = self.folder / "trace"
        self.store: Store | None = None
        self.is_open_before = trial.random.random() < 0.6

    def open(self) -> None:
        if self.is_open_before:
            self.store = commonplace.open(self.root)

    def opened(self) -> Store:
        return self.store or commonplace.open(self.root)

    def fault(self) -> list[str]:
        """Choose what fails: one call, once or from then on, and perhaps the exchange as well."""
        random = self.trial.random
        call = random.choice([call for call, most in CALLED.items() for _ in range(most)])
        when = random.randrange(1, CALLED[call] + 1)
        sticky = "+" if random.random() < 0.4 else ""
        if random.random() < 0.15:
            rules = [f"{call}:signal=SIGKILL:when={when}"]
        else:
            # a folder that is open is read without another look at the rights
            errors = [one for one in ERRORS if (call, one) != ("getdents64", "EACCES")]
            rules = [f"{call}:error={random.choice(errors)}:when={when}{sticky}"]
        if call != "renameat2" and random.random() < 0.25:
            rules.append("renameat2:error=EINVAL")
        return rules

    def act(self, run: Callable[[], Any]) -> Callable[[SharedLog], None]:
        def work(shared: SharedLog) -> None:
            try:
                shared.append({"answer": run()})
            except (commonplace.CommonplaceError, OSError) as error:
                known = not isinstance(error, InDoubt)
                shared.append({"error": f"{type(error).__name__}: {error}", "known": known})
            except ImportError as error:
                # a module of Python itself that could not be read
                shared.append({"error": f"{type(error).__name__}: {error}", "known": False})
            # closing is another call, and may fail
            os._exit(0)

        return work

    def make(self, what: str, run: Callable[[], Any]) -> tuple[dict[str, Any] | None, str] | None:
        """Do it; return what it answered (None: it died) and a name for it, if a fault was met."""
        fault = self.fault()
        name = f"{what}, {'open' if self.is_open_before else 'opening'}, {' and '.join(fault)}"
        child = Child(self.act(run), fault, self.open, self.trace)
        died = "SIGKILL" in fault[0]
        guarantee = ATOMIC_REPLACE if died else ERRORS_REPORTED
        if not child.wait(25):
            self.trial.check(guarantee, False, f"{name}: hung")
            return None
        reported = [one for one in child.shared.records() if "answer" in one or "error" in one]
        if child.status == -9:
            return None, name
        if fault[0].partition(":")[0] not in injected(self.trace):
            return None
        if child.crash or not reported:
            self.trial.check(guarantee, False, f"{name}: {child.crash or child.status}")
            return None
        return reported[0], name

    def again(self, run: Callable[[], Any], name: str) -> Any:
        """Open the folder once more without faults; return what `run` returns there."""

        def work(shared: SharedLog) -> None:
            with commonplace.open(self.root) as self.store:
                shared.append({"answer": run()})

        child = Child(work)
        child.wait(25)
        reported = [one["answer"] for one in child.shared.records() if "answer" in one]
        good = self.trial.check(
            ERRORS_REPORTED, bool(reported), f"{name}: afterwards: {child.crash or 'hung'}"
        )
        return reported[0] if good else None


def injected(trace: Path) -> set[str]:
    lines = trace.read_text(errors="replace").splitlines()
    return {
        line.split("(", 1)[0].split()[-1].removesuffix("resumed>").strip("<. ")
        for line in lines
        if "INJECTED" in line
    }


def contents(root: Path) -> list[str]:
    return [path.read_text(errors="replace") for path in root.rglob("*") if path.is_file()]


def base_of(trial: Trial) -> Path:
    """Make the folder that every attempt gets a copy of; not in this process, which forks."""
    base = trial.folder / "base"
    base.mkdir()
    (base / "root").mkdir()
    child = Child(lambda _: prepare(base / "root"))
    child.wait(20)
    if child.crash:
        raise RuntimeError(child.crash)
    return base


def attempts(trial: Trial) -> Iterator[Attempt]:
    """Yield one attempt after another while there is time."""
    base = base_of(trial)

    def one(number: int) -> Attempt:
        shutil.rmtree(trial.folder / f"try{number - 1}", ignore_errors=True)
        return Attempt(trial, base, number)

    number = 0
    while trial.is_time():
        number += 1
        yield one(number)


def changes(trial: Trial) -> None:
    for one in attempts(trial):
        what = trial.random.choice(list(CHANGES))
        change = CHANGES[what]
        made = one.make(what, lambda: bool(change.run(one.opened())))
        if made is None:
            continue
        reported, name = made
        check_call(trial, one, change, reported, name, what)


def check_call(
    trial: Trial,
    one: Attempt,
    change: Change,
    reported: dict[str, Any] | None,
    name: str,
    what: str,
) -> None:
    died = reported is None
    guarantee = ATOMIC_REPLACE if died else ERRORS_REPORTED
    times = change.times(one.root)
    answered = "died" if reported is None else reported.get("error", "ok")
    trial.check(guarantee, times <= 1, f"{name}: {answered}, and it stands {times} times")
    if reported and "answer" in reported:
        trial.check(guarantee, times >= 1, f"{name}: ok, and it is not done")
    elif reported and reported["known"] and what not in REPEATABLE:
        trial.check(guarantee, times == 0, f"{name}: {answered}, and it is done")
    note = one.root / "facts/note.md"
    if what in {"write", "patch", "update", "append"}:
        text = note.read_text()
        whole = text == OLD or times == 1
        trial.check(guarantee, whole, f"{name}: {answered}, torn: {text!r}")
    if what not in {"append", "keep"}:
        is_kept = OLD in contents(one.root)
        trial.check(guarantee, is_kept, f"{name}: {answered}, the old text is lost")

    def look() -> dict[str, Any]:
        assert one.store is not None
        read = one.store.read("facts/note.md") if note.exists() else None
        one.store.write("facts/note.md", "after")
        return {"read": read, "differences": one.store.verify().differences}

    after = one.again(look, f"{name}: {answered}")
    if after:
        trial.check(guarantee, not after["differences"], f"{name}: verify: {after['differences']}")
        litter = [path.name for path in one.root.rglob("*.swap")]
        trial.check(guarantee, not litter, f"{name}: {answered}, left after recovery: {litter}")
        if what not in {"append", "keep"}:
            trial.check(guarantee, OLD in contents(one.root), f"{name}: recovery lost the old text")
        after_times = marks("facts/note.md")(one.root) if what == "append" else 0
        trial.check(guarantee, after_times == 0, f"{name}: a write did not replace")


def reads(trial: Trial) -> None:
    expected: dict[str, Any] = {}
    for one in attempts(trial):
        what = trial.random.choice(list(READS))
        read = READS[what]
        if what not in expected:
            expected[what] = one.again(lambda: read(one.opened()), what)
        made = one.make(what, lambda: read(one.opened()))
        if made and made[0] and "answer" in made[0]:
            given, name = made[0]["answer"], made[1]
            # a folder that may not be read or entered is left out, and the status names it
            denied = re.search(r"(open\w*|newfstatat):error=EACCES", name)
            is_left_out = what in {"list", "documents"} and denied
            is_closed = bool(is_left_out) and set(given) <= set(expected[what])
            right = given == expected[what] or is_closed
            trial.check(DAMAGED_CACHE, right, f"{name}: {given!r} for {expected[what]!r}")


def answers(trial: Trial) -> None:
    expected = ["facts/more.md", "log/messages.jsonl"]
    for one in attempts(trial):
        what = trial.random.choice(list(ANSWERS))
        ask = ANSWERS[what]
        made = one.make(what, lambda: ask(one.opened()))
        if made and made[0] and "answer" in made[0]:
            (found, is_all), name = made[0]["answer"], made[1]
            trial.check(
                DAMAGED_CACHE,
                found == expected or not is_all,
                f"{name}: only {found}, without a note",
            )
            trial.check(DAMAGED_CACHE, set(found) <= set(expected), f"{name}: found {found}")


def systems(trial: Trial) -> None:
    """The calls of the systems: what is acknowledged is there, what is refused is not."""
    for one in attempts(trial):
        what = trial.random.choice(list(CALLS))
        call = CALLS[what]
        one.is_open_before = False
        program: list[Program] = []

        def run(call: Any = call, one: Attempt = one, program: list[Program] = program) -> Any:
            return call.run(program[0] if program else Program(one.root, "p"), "tzyzzyva1e")

        if trial.random.random() < 0.6:
            one.open = lambda: program.append(Program(one.root, "p"))  # type: ignore[method-assign]
        made = one.make(what, run)
        if made is None:
            continue
        reported, name = made
        live = "\0".join(
            path.read_text(errors="replace")
            for path in one.root.rglob("*")
            if path.is_file() and ".commonplace" not in path.parts and path.suffix != ".swap"
        )
        if reported and "answer" in reported and reported["answer"]:
            trial.check(ERRORS_REPORTED, "tzyzzyva1e" in live, f"{name}: ok, and it is not there")
        if reported and "error" in reported and reported["known"] and what in SINGLE:
            trial.check(
                ERRORS_REPORTED,
                "tzyzzyva1e" not in live,
                f"{name}: {reported['error']}, and it is there",
            )
        one.again(lambda: bool(Program(one.root, "q").facts.memory_list() or True), name)


KINDS = (changes, reads, answers, changes, systems)
