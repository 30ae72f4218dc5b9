"""Fault campaign: signals during calls (SIGINT, SIGSTOP with SIGCONT, SIGTERM)."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import string
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import commonplace
from commonplace import Busy, Store
from tests.campaigns import kills
from tests.campaigns.children import Child, SharedLog
from tests.campaigns.guarantees import ATOMIC_REPLACE, CONSISTENT_READS, INTERRUPTIBLE
from tests.campaigns.systems import CALLS, body, is_whole
from tests.campaigns.trial import Trial
from tests.campaigns.workload import Workload

INVARIANT = (
    "Ctrl-C ends every long call soon and harms nothing; a program that is stopped holds up no "
    "reader, and a writer only until it is told `Busy`; what is terminated is as what is killed."
)
GUARANTEES = kills.GUARANTEES | {
    1: "programs ended by SIGTERM and SIGHUP, or stopped for a while, in every call",
    8: "readers beside a writer that is stopped at a random moment, perhaps with the lock",
    16: "SIGINT during long searches, scans, imports and the wait for the lock",
}
# Of a processor: what the code aims at is 0.1 s, and the machine may do other things as well.
SOON = 1.0
# Who waits for the lock gives up after 5 s; who took less did not wait for it.
LOCK = 4.0
LETTERS = string.hexdigits[:16]


def fill(root: Path, _: SharedLog) -> None:
    random = Random(1)
    for number in range(16):
        path = root / f"notes/{number % 10}/{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        words = random.randbytes(5 * 40_000).hex(" ", 5)
        path.write_text(f"# Note {number}\n\n{words}\n")
    line = json.dumps({"role": "user", "content": "a" * 200}) + "\n"
    (root / "messages.jsonl").write_text(line * 80_000)
    (root.parent / "source.jsonl").write_text(line * 80_000)
    with commonplace.open(root) as store:
        store.search("note")


def hold(root: Path, shared: SharedLog) -> None:
    """Hold the lock for long: a change that is asked for something that takes its time."""
    lock = os.open(root / ".commonplace/lock", os.O_RDWR)
    import fcntl  # noqa: PLC0415 - of this child alone

    fcntl.flock(lock, fcntl.LOCK_EX)
    shared.append({"held": True})
    time.sleep(60)


Long = Callable[[Store], object]
PREFIXES = " ".join(f"{letter}*" for letter in LETTERS)
LONG: dict[str, Long] = {
    "search of prefixes": lambda s: s.search(PREFIXES, 1000),
    "grep": lambda s: s.grep("(a|b)+c{3}(x|y)*z", fixed=False, keep=False).count(),
    "import": lambda s: s.transcript("loaded").load(s.root.parent / "source.jsonl"),
    "verify": lambda s: s.verify(),
    "wait for the lock": lambda s: s.append("notes/a.md", "words"),
    "first search": lambda s: s.search("note"),
}


def call(root: Path, what: str, shared: SharedLog) -> None:
    if what == "first search":
        (root / ".commonplace/index").unlink(missing_ok=True)
    store = commonplace.open(root)
    if what != "first search":
        store.search("note")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    shared.append({"begun": True})
    try:
        with contextlib.suppress(Busy):
            LONG[what](store)
        # where an interrupt comes that the call did not take notice of
        time.sleep(0)
    except KeyboardInterrupt:
        pass
    shared.append({"ended": time.monotonic(), "worked": time.process_time()})
    time.sleep(0.05)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    shared.append({"notes": store.status().notes, "hits": len(store.search("note"))})


def wait_for(child: Child, word: str) -> None:
    until = time.monotonic() + 30
    while not any(word in record for record in child.shared.records()):
        if child.poll() or time.monotonic() > until:
            raise RuntimeError(f"a child did not come to {word!r}: {child.crash}")
        time.sleep(0.001)


def processor_time(child: Child) -> float:
    """Return the seconds for which a child has had a processor; 0 when it has ended."""
    with contextlib.suppress(OSError):
        # the number of the clock of a process, as `clock_getcpuclockid` gives it
        return time.clock_gettime(~child.pid << 3 | 2)
    return 0.0


def interrupted(trial: Trial) -> None:
    Child(partial(fill, trial.root)).wait(60)
    for what in trial.random.sample(list(LONG), len(LONG)):
        if not trial.is_time():
            return
        holder = Child(partial(hold, trial.root)) if what == "wait for the lock" else None
        if holder:
            wait_for(holder, "held")
        child = Child(partial(call, trial.root, what))
        wait_for(child, "begun")
        time.sleep(trial.random.uniform(0, 0.3))
        sent, worked = time.monotonic(), processor_time(child)
        child.signal(signal.SIGINT)
        ended = child.wait(20)
        if holder:
            holder.kill()
        reported = {
            key: value for record in child.shared.records() for key, value in record.items()
        }
        if reported.get("ended", sent) < sent:
            # it was done already, and something else was interrupted
            continue
        if trial.check(
            INTERRUPTIBLE, ended and not child.crash, f"{what}: {child.crash or 'hung'}"
        ):
            took, worked = reported["ended"] - sent, reported["worked"] - worked
            told_of = f"{what} went on for {took:.2f} s, of a processor {worked:.2f} s"
            trial.check(INTERRUPTIBLE, worked < SOON and took < LOCK, f"{told_of}, after Ctrl-C")
            trial.check(
                INTERRUPTIBLE,
                reported["hits"] > 0,
                f"{what}: after Ctrl-C nothing is found",
            )


def write(root: Path, shared: SharedLog) -> None:
    store = commonplace.open(root)
    for number in range(100_000):
        store.write("note.md", body(f"t{number}e"))
        shared.append({"done": number})


def read(root: Path, seconds: float, shared: SharedLog) -> None:
    store, until = commonplace.open(root), time.monotonic() + seconds
    while time.monotonic() < until:
        begun = time.monotonic()
        good = is_whole(store.read("note.md")) and len(store.search("fox")) > 0
        good = good and len(list(store.grep("^Last"))) == 1
        shared.append({"read": good, "took": time.monotonic() - begun})


def change(root: Path, shared: SharedLog) -> None:
    store, begun = commonplace.open(root), time.monotonic()
    try:
        store.append("other.md", "words")
    except Busy:
        shared.append({"busy": True})
    shared.append({"took": time.monotonic() - begun})


def stopped(trial: Trial) -> None:
    """A writer is stopped at a random moment: readers go on, other writers are told."""
    (trial.root / "note.md").write_text(body("t0e"))
    writer = Child(partial(write, trial.root))
    wait_for(writer, "done")
    time.sleep(trial.random.uniform(0, 0.05))
    writer.signal(signal.SIGSTOP)
    reader = Child(partial(read, trial.root, 0.3))
    other = Child(partial(change, trial.root))
    ended = reader.wait(20)
    trial.check(CONSISTENT_READS, ended and not reader.crash, f"a reader: {reader.crash or 'hung'}")
    for record in reader.shared.records():
        slow = record["took"] > LOCK
        trial.check(
            CONSISTENT_READS,
            record["read"] and not slow,
            f"beside a stopped writer: {record}",
        )
    ended = other.wait(20)
    trial.check(
        CONSISTENT_READS,
        ended and not other.crash,
        f"another writer: {other.crash or 'hung'}",
    )
    took = [record["took"] for record in other.shared.records() if "took" in record]
    trial.check(CONSISTENT_READS, bool(took) and took[0] < 8, f"another writer waited {took} s")
    writer.signal(signal.SIGCONT)
    done = [record["done"] for record in writer.shared.records() if "done" in record][-1]
    time.sleep(0.05)
    again = [record["done"] for record in writer.shared.records() if "done" in record][-1]
    trial.check(
        CONSISTENT_READS,
        again > done and not writer.crash,
        f"the writer does not go on: {writer.crash}",
    )
    writer.kill()
    trial.check(ATOMIC_REPLACE, is_whole((trial.root / "note.md").read_text()), "the note is torn")


def at_signals(workload: Workload) -> None:
    """Stop one of three at a random moment; half of them are ended, the others go on."""
    random = workload.trial.random

    def signal_one(victim: Child) -> Child:
        victim.signal(signal.SIGSTOP)
        time.sleep(random.uniform(0, 0.02))
        ends = random.random() < 0.5
        if ends:
            victim.signal(random.choice([signal.SIGTERM, signal.SIGHUP]))
        victim.signal(signal.SIGCONT)
        if ends:
            victim.wait(10)
        return workload.begin() if ends else victim

    workload.disturb(1.0, 0.1, signal_one)


def signalled(trial: Trial) -> None:
    workload = Workload(trial, list(CALLS), at_signals)
    kills.check(trial, workload)


KINDS = (stopped, interrupted, signalled)
