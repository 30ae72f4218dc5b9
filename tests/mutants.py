"""Mutation testing of a list: each change of the sources must turn a named test red.

    python tests/mutants.py                      all
    python tests/mutants.py --only files/ lock   those whose name or file holds one of these
    python tests/mutants.py --part 2/4           every fourth, from the second on; parts may run
                                                 at the same time
    python tests/mutants.py --check-anchors      only whether each text is still where it was

`tests/mutants.toml` has one table a mutant:

    name      what is taken away
    file      where
    text      the source as it is; found exactly once, or once behind `after`
    after     where the search for `text` begins, when `text` alone is found more often
    becomes   what stands there instead
    red       test targets, tried in order until one is red: "crashes", "lib files::lock" (words
              after the first are filters of test names), "tests/test_store.py -k history", and
              "built tests/test_fork.py", for which the core is built anew
    reason    instead of `red`: why no test can see it (an equivalent mutant)

cargo-mutants replaces whole functions and operators; it cannot take away one call of three, or one
flag of an open, and those are what a power cut finds. So this is a list.

Everything happens in copies of the tree below `target/mutants`, one a part, each with a target
directory of its own.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parent.parent
PYTHON = str(ROOT / ".venv" / "bin" / "python")
LIST = ROOT / "tests" / "mutants.toml"
CORE = Path("python/commonplace/_core.abi3.so")
# A mutant that waits for ever is red as well; no test of ours takes so long.
TEST_TIMEOUT = 300
BUILD_TIMEOUT = 1800

Verdict = Literal["red", "hangs", "green", "no build"]


class AnchorLost(Exception):
    """The text of a mutant is not in its file, or more than once."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change, and what must notice it."""

    name: str
    file: str
    text: str
    becomes: str
    red: tuple[str, ...] = ()
    after: str = ""
    reason: str = ""

    def applied(self, source: str) -> str:
        """Return the source with the change made.

        Raises:
            AnchorLost: The place is not found, or not for certain.
        """
        start = 0
        if self.after:
            if source.count(self.after) != 1:
                raise AnchorLost(f"{source.count(self.after)} times `after`: {self.after!r}")
            start = source.index(self.after)
        count = source.count(self.text, start)
        if count != 1 and not (self.after and count):
            raise AnchorLost(f"{count} times `text`: {self.text!r}")
        at = source.index(self.text, start)
        return source[:at] + self.becomes + source[at + len(self.text) :]


def load(path: Path = LIST) -> list[Mutant]:
    """Return the mutants of a list.

    Raises:
        ValueError: A name stands twice, or a mutant has neither `red` nor `reason`, or both.
    """
    mutants = [
        Mutant(**{**entry, "red": tuple(entry.get("red", ()))})
        for entry in tomllib.loads(path.read_text())["mutant"]
    ]
    names = [mutant.name for mutant in mutants]
    for mutant in mutants:
        if names.count(mutant.name) > 1:
            raise ValueError(f"two mutants are named {mutant.name!r}")
        if bool(mutant.red) == bool(mutant.reason):
            raise ValueError(f"{mutant.name!r} needs either `red` or `reason`")
    return mutants


def lost_anchors(mutants: list[Mutant]) -> dict[str, str]:
    """Return the names of those mutants that no longer fit the sources of the checkout, and why."""
    lost = {}
    for mutant in mutants:
        try:
            mutant.applied((ROOT / mutant.file).read_text())
        except (AnchorLost, OSError) as why:
            lost[mutant.name] = f"{mutant.name}: {mutant.file}: {why}"
    return lost


def commands(target: str) -> tuple[list[str], list[str]]:
    """Return how a test target is built, empty if it is not, and how it is run."""
    name, *words = target.split()
    cargo = ["cargo", "test", "--quiet", "--offline", "-p", "commonplace-core"]
    if name == "built":
        # not `cargo test`: the Python bindings have no tests of their own
        return ["cargo", "build", *cargo[2:-1], "commonplace-python"], commands(" ".join(words))[1]
    if name.startswith("tests/"):
        quiet = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:randomly"]
        return [], [PYTHON, "-m", "pytest", *quiet, name, *words]
    cargo += ["--lib"] if name == "lib" else ["--test", name]
    return [*cargo, "--no-run"], [*cargo, "--", *words]


@dataclass(frozen=True, slots=True)
class Scratch:
    """A copy of the checkout in which sources are changed."""

    folder: Path

    @property
    def tree(self) -> Path:
        """Where the copy is."""
        return self.folder / "tree"

    @property
    def output(self) -> Path:
        """Where it stands what the last command said."""
        return self.folder / "output.txt"

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Keep other runs out of this copy.

        Raises:
            BlockingIOError: One is in it.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield

    def refresh(self) -> None:
        """Bring the copy in step with the checkout; what is the same keeps its time of change."""
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607
            cwd=ROOT,
            check=True,
            capture_output=True,
        )
        names = [name for name in os.fsdecode(listed.stdout).split("\0") if name]
        wanted = {name for name in [*names, str(CORE)] if (ROOT / name).is_file()}
        for old in [path for path in self.tree.rglob("*") if path.is_file()]:
            if str(old.relative_to(self.tree)) not in wanted:
                old.unlink()
        for name in sorted(wanted):
            self.take_over(name)

    def take_over(self, name: str) -> None:
        """Copy a file of the checkout if it is not the same."""
        source, target = ROOT / name, self.tree / name
        if not target.exists() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)

    def run(self, command: list[str], timeout: int) -> Literal["ok", "failed", "hangs"]:
        """Run a command in the copy and say how it ended; what it left running is ended with it."""
        environment = {
            **os.environ,
            "CARGO_TARGET_DIR": str(self.folder / "build"),
            "CARGO_PROFILE_DEV_DEBUG": "0",
            "PYO3_PYTHON": PYTHON,
            "PYTHONPATH": str(self.tree / "python"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        with self.output.open("wb") as output:
            child = subprocess.Popen(
                # not a time limit of ours, which would end with us if we are killed
                ["timeout", "--signal=KILL", str(timeout), *command],  # noqa: S607
                cwd=self.tree,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            finally:
                # as long as nobody has waited for it, its id is no other's
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        if child.returncode == -signal.SIGKILL:
            return "hangs"
        return "failed" if child.returncode else "ok"

    def run_tests(self, targets: tuple[str, ...]) -> tuple[Verdict, str]:
        """Build and run test targets until one is red; return how it went and which it was."""
        for target in targets:
            build, test = commands(target)
            if build and self.run(build, BUILD_TIMEOUT) != "ok":
                return "no build", target
            if target.startswith("built "):
                shutil.copy(self.folder / "build" / "debug" / "lib_core.so", self.tree / CORE)
            ended = self.run(test, TEST_TIMEOUT)
            self.take_over(str(CORE))
            if ended != "ok":
                return ("red" if ended == "failed" else "hangs"), target
        return "green", ", ".join(targets)

    def try_one(self, mutant: Mutant) -> tuple[Verdict, str]:
        """Make the change in the copy, run its tests, and take it back."""
        path = self.tree / mutant.file
        source = path.read_text()
        path.write_text(mutant.applied(source))
        try:
            return self.run_tests(mutant.red)
        finally:
            path.write_text(source)

    def is_green(self, target: str) -> bool:
        """Say whether a test target is green without any change, and has tests; else print why."""
        verdict, _ = self.run_tests((target,))
        said = self.output.read_text(errors="replace")
        # pytest fails by itself when there is none
        counts = re.findall(r"^running (\d+) tests?$", said, re.MULTILINE)
        if verdict == "green" and (not counts or any(map(int, counts))):
            return True
        print(f"{said}\n{target} is {verdict} without any change, or no test: mend that first")
        return False


def chosen(mutants: list[Mutant], options: argparse.Namespace) -> list[Mutant]:
    """Return the mutants that were asked for, in the order in which they are tried."""
    if options.only:
        mutants = [m for m in mutants if any(w in f"{m.file} {m.name}" for w in options.only)]
    if options.seed is not None:
        mutants = random.Random(options.seed).sample(mutants, len(mutants))  # noqa: S311
    number, parts = options.part
    return mutants[number - 1 :: parts]


def part(text: str) -> tuple[int, int]:
    """Read `2/4`.

    >>> part("2/4")
    (2, 4)
    """
    number, _, parts = text.partition("/")
    if not 1 <= int(number) <= int(parts):
        raise ValueError(text)
    return int(number), int(parts)


def parse(arguments: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Delete a safeguard, and see a test turn red.")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="in the name or the file")
    parser.add_argument("--seed", type=int, help="try them in a random order")
    parser.add_argument("--part", type=part, default=(1, 1), metavar="K/N", help="a part of them")
    parser.add_argument("--seconds", type=float, help="begin no mutant after so long")
    parser.add_argument("--list", action="store_true", help="name them and try none")
    parser.add_argument("--check-anchors", action="store_true", help="only look for the texts")
    return parser.parse_args(arguments)


def try_all(mutants: list[Mutant], scratch: Scratch, seconds: float | None) -> int:
    """Try mutants, print how each went, and return how many were not noticed."""
    begun = time.monotonic()
    scratch.refresh()
    targets = sorted({target for mutant in mutants for target in mutant.red})
    if not all(map(scratch.is_green, targets)):
        return 1
    tried, missed = 0, 0
    for mutant in mutants:
        if mutant.reason:
            print(f"{'equivalent':10} {'':7}  {mutant.name}: {mutant.reason}", flush=True)
            continue
        start = time.monotonic()
        if seconds is not None and start - begun > seconds:
            print(f"{seconds:.0f} s are over")
            break
        verdict, target = scratch.try_one(mutant)
        tried += 1
        missed += verdict in {"green", "no build"}
        took = time.monotonic() - start
        print(f"{verdict:10} {took:5.1f} s  {mutant.name}: {target}", flush=True)
    took = time.monotonic() - begun
    print(f"{tried} mutants tried in {took:.0f} s, {tried - missed} red, {missed} not noticed")
    return missed


def main(arguments: list[str]) -> int:
    """Return 0 when every mutant that was tried was noticed."""
    options = parse(arguments)
    mutants = chosen(load(), options)
    if options.list:
        for mutant in mutants:
            print(f"{mutant.name}\n    {mutant.file}: {mutant.reason or ', '.join(mutant.red)}")
        return 0
    lost = lost_anchors(mutants)
    for line in lost.values():
        print(line)
    if options.check_anchors:
        print(f"{len(mutants) - len(lost)} of {len(mutants)} mutants fit the sources")
        return bool(lost)
    # so that what is running is ended, and the source put back
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    number, parts = options.part
    folder = f"{number}-of-{parts}" if parts > 1 else "all"
    scratch = Scratch(ROOT / "target" / "mutants" / folder)
    with scratch.taken():
        missed = try_all([m for m in mutants if m.name not in lost], scratch, options.seconds)
    return bool(missed or lost)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
