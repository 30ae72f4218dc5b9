"""Fault campaign: soak test, in which memory, descriptors and threads must not grow."""

from __future__ import annotations

import os
from pathlib import Path

from tests.campaigns.guarantees import NO_LEAKS
from tests.campaigns.systems import CALLS, EXPECTED_ERRORS, Program, read_everything
from tests.campaigns.trial import Trial

INVARIANT = "After a warm-up, memory, descriptors and threads stay within 5 % (and 8 MB, 2 and 2)."
GUARANTEES = {
    NO_LEAKS: "every call of the store and of the five systems over and over, over one folder"
}
# Files that grow are given a new beginning: what is measured is the program, not the folder.
ROUND = 6


def held() -> tuple[float, int, int]:
    """Return megabytes, open descriptors and threads of this process."""
    status = Path("/proc/self/status").read_text()
    values = dict(line.split(":", 1) for line in status.splitlines())
    memory = int(values["VmRSS"].split()[0]) / 1024
    return memory, len(os.listdir("/proc/self/fd")), int(values["Threads"])  # noqa: PTH208


def work(trial: Trial, program: Program, number: int) -> None:
    for turn, call in enumerate(CALLS.values()):
        try:
            call.run(program, f"t{number}x{turn}e")
        except EXPECTED_ERRORS:
            continue
    read_everything(program, f"t{number}x0e")
    if number % ROUND == ROUND - 1:
        for path in trial.root.rglob("*"):
            if path.is_file() and ".commonplace" not in path.parts:
                path.unlink()


def soak(trial: Trial) -> None:
    program = Program(trial.root, "p")
    for number in range(2 * ROUND):
        work(trial, program, number)
    first, number = held(), 2 * ROUND
    while trial.is_time() or number % ROUND:
        work(trial, program, number)
        number += 1
        trial.count(NO_LEAKS, len(CALLS))
    last = held()
    message = f"after {number} rounds: (MB, files, threads) was {first} and is {last}"
    trial.check(NO_LEAKS, last[0] <= first[0] * 1.05 + 8, message)
    trial.check(NO_LEAKS, last[1] <= first[1] + 2 and last[2] <= first[2] + 2, message)


KINDS = (soak,)
