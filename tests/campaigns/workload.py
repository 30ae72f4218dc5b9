"""Workload of the kill campaigns: programs that make every call, and a person who saves."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import commonplace
from tests.campaigns.children import Child, SharedLog
from tests.campaigns.guarantees import SAVES_KEPT
from tests.campaigns.systems import CALLS, EXPECTED_ERRORS, Program, read_everything
from tests.campaigns.trial import Trial

# Number of notes that the person edits, and programs as well.
EDITOR_NOTES = 12


def program(root: Path, name: str, calls: list[str], seed: str, shared: SharedLog) -> None:
    """Make calls until killed; say of each when it begins and how it ends."""
    random = Random(seed)
    running = Program(root, name, watch=random.random() < 0.5)
    for number in range(100_000):
        token = f"t{name}x{number}e"
        chosen = random.choice(calls)
        shared.append({"begun": chosen, "token": token})
        try:
            key = CALLS[chosen].run(running, token)
        except EXPECTED_ERRORS:
            continue
        shared.append({"done": chosen, "token": token, "key": key})
        if random.random() < 0.05:
            read_everything(running, token)
        if random.random() < 0.2:
            edit_open_note(running, random, token)


def edit_open_note(running: Program, random: Random, token: str) -> None:
    """Change a note that a person has open."""
    path = f"hand/{random.randrange(EDITOR_NOTES)}.md"
    try:
        match random.randrange(3):
            case 0:
                running.store.write(path, f"- {token}\n")
            case 1:
                running.store.append(path, f"- {token}")
            case _:
                running.store.update(path, lambda text: f"{text}- {token}\n")
    except (*EXPECTED_ERRORS, commonplace.FormatError):
        pass


def editor(root: Path, seed: str, shared: SharedLog) -> None:
    """Save notes as editors do, until told to stop by the file `stop` beside the root."""
    random = Random(seed)
    stop = root.parent / "stop"
    for number in range(100_000):
        note, token = root / f"hand/{random.randrange(EDITOR_NOTES)}.md", f"person{number}e"
        style = random.choice(["in place", "by rename", "through an open handle"])
        if style == "by rename":
            new = note.with_name(f".{note.name}.new")
            new.write_text(note.read_text() + f"- {token}\n")
            new.replace(note)
        else:
            with note.open("r+") as handle:
                text = handle.read()
                if style == "through an open handle":
                    time.sleep(random.random() / 50)
                handle.seek(0)
                handle.write(text + f"- {token}\n")
                handle.truncate()
        shared.append({"saved": token, "path": f"hand/{note.name}", "style": style})
        if stop.exists():
            return
        time.sleep(random.random() / 100)


class Workload:
    """Programs that are killed and replaced, and a person, over one root."""

    def __init__(self, trial: Trial, calls: list[str], kill: Callable[[Workload], None]) -> None:
        self.trial, self.root, self.calls = trial, trial.root, calls
        for number in range(EDITOR_NOTES):
            note = trial.root / f"hand/{number}.md"
            note.parent.mkdir(exist_ok=True)
            note.write_text("- by hand\n")
        self.killed: list[Child] = []
        seed = str(trial.random.random())
        self.person = Child(partial(editor, trial.root, seed))
        try:
            kill(self)
        finally:
            (trial.folder / "stop").touch()
            if not self.person.wait(10):
                self.trial.fail(SAVES_KEPT, "the editor waited 10 seconds for a save")

    def begin(self, inject: list[str] | None = None) -> Child:
        name = f"p{len(self.killed)}"
        work = partial(program, self.root, name, self.calls, str(self.trial.random.random()))
        child = Child(work, inject or [])
        self.killed.append(child)
        return child

    def disturb(self, seconds: float, pause: float, act: Callable[[Child], Child]) -> None:
        """Run three programs and act on one of them at random moments.

        `act` returns the program, or the one that takes its place.
        """
        random = self.trial.random
        running = [self.begin() for _ in range(3)]
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(random.uniform(0.005, pause))
            chosen = running.pop(random.randrange(3))
            running.append(act(chosen))
        for child in running:
            child.kill()

    def records_of(self, word: str) -> list[dict[str, Any]]:
        found = [record for child in self.killed for record in child.shared.records()]
        return [record for record in found if word in record]
