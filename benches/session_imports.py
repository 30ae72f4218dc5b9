"""Imports of sessions: all of them, the same again, and again after one has grown by a turn.

Corpus: sessions of four messages, 1,000 or 10,000 of them, and one session of 100 MB. The baseline
of a first import is today's other way, `Transcript.load` file by file; that of the next ones is to
look at the files and write a line, durably. Why it exists: a hook imports at the end of each turn,
so what is known must cost nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from benches.commonplace_engine import Ours
from benches.processes import timed
from benches.ratios import OURS, Row, Table, paired

if TYPE_CHECKING:
    from commonplace import Store

LOAD = "Transcript.load"
LOOK = "stat of each file"
LOOK_AND_WRITE = "stat of each, a line"
SPREAD = 0x9E3779B97F4A7C15F39CC0605CEDC835
WORDS = [
    "ferry",
    "pier",
    "island",
    "ticket",
    "timetable",
    "storm",
    "captain",
    "harbour",
    "morning",
    "gull",
]


def line(session: str, number: int) -> str:
    """Return a message as Claude Code writes it."""
    role = "user" if number % 2 == 0 else "assistant"
    said = " ".join(WORDS[(number + shift * 3) % len(WORDS)] for shift in range(20))
    message = {"role": role, "content": f"{number} {said}"}
    time = f"{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}"
    record = {
        "type": role,
        "uuid": f"{session}-{number}",
        "sessionId": session,
        "cwd": f"/home/me/project{number % 7}",
        "timestamp": f"2026-01-22T{time}Z",
        "message": message,
    }
    return json.dumps(record) + "\n"


def write(folder: Path, count: int, messages: int) -> list[Path]:
    """Write so many sessions of so many messages below a folder."""
    files = []
    for number in range(count):
        # spread over all ids, as random ones are
        session = str(UUID(int=number * SPREAD % 2**128))
        files.append(folder / f"project{number % 7}" / f"{session}.jsonl")
        files[-1].parent.mkdir(parents=True, exist_ok=True)
        files[-1].write_text("".join(line(session, at) for at in range(messages)))
    return files


def load(store: Store, files: Sequence[Path]) -> None:
    """Import each file into a transcript of its own name."""
    for file in files:
        store.transcript(f"sessions/{file.stem}").load(file)


def look(folder: Path) -> int:
    """Take the size and time of each file below a folder."""
    return sum(path.stat().st_mtime_ns > 0 for path in folder.rglob("*.jsonl"))


def look_and_write(folder: Path, log: Path) -> None:
    """Look at each file below a folder, and add a line to a log, durably."""
    look(folder)
    with log.open("ab") as file:
        file.write(b"{}\n")
        file.flush()
        os.fsync(file.fileno())


def measure(table: Table, folder: Path, count: int, rounds: int, most: float | None) -> None:
    """Add the rows of so many small sessions; `most` are the seconds for one that has grown."""
    sources = folder / "sources"
    files = write(sources, count, 4)
    label = f"{count:,} sessions"
    full: dict[str, list[float]] = {OURS: [], LOAD: []}
    same: dict[str, list[float]] = {OURS: [], LOOK: []}
    grown: dict[str, list[float]] = {OURS: [], LOOK_AND_WRITE: []}
    for number in range(rounds):
        with Ours(folder / "loaded", watch=False).store as store:
            full[LOAD].append(timed(partial(load, store, files))()["seconds"])
        with Ours(folder / "root", watch=False).store as store:
            run = partial(store.import_sessions, sources)
            full[OURS].append(timed(run)()["seconds"])
            same[OURS].append(timed(run)()["seconds"])
            same[LOOK].append(timed(partial(look, sources))()["seconds"])
            with files[number].open("a") as file:
                file.write(line(files[number].stem, 1000 + number))
            grown[OURS].append(timed(run)()["seconds"])
            writes = partial(look_and_write, sources, folder / "log")
            grown[LOOK_AND_WRITE].append(timed(writes)()["seconds"])
        for root in ("loaded", "root"):
            shutil.rmtree(folder / root)
    values = sorted(full[OURS]), sorted(full[LOAD])
    middle = rounds // 2
    ratio = paired(full[OURS], full[LOAD])
    table.add(Row("import sessions", label, LOAD, values[0][middle], values[1][middle], ratio))
    for work, rival, times, limit in (
        ("again, nothing new", LOOK, same, None),
        ("again, one turn", LOOK_AND_WRITE, grown, most),
    ):
        own, other = (sorted(times[one])[middle] for one in (OURS, rival))
        ratio = paired(times[OURS], times[rival])
        table.add(Row(work, label, rival, own, other, ratio, max_value=limit))
    shutil.rmtree(sources)


def long(table: Table, folder: Path) -> None:
    """Add the rows of one session of 100 MB, and of a turn more."""
    [file] = write(folder / "long", 1, 260_000)
    label = f"a session of {file.stat().st_size / 1e6:.0f} MB"
    with Ours(folder / "long-root", watch=False).store as store:
        run = partial(store.import_sessions, file)
        first = timed(run)()
        with file.open("a") as more:
            more.write(line(file.stem, 999_999))
        for work, figures in (("import sessions", first), ("again, one turn", timed(run)())):
            table.add(Row(work, label, "–", figures["seconds"], None, None))
    shutil.rmtree(folder / "long")
    shutil.rmtree(folder / "long-root")


def main() -> None:
    """Measure in a folder of its own, as `python -m benches.session_imports`."""
    argparse.ArgumentParser(description="Time imports of sessions.").parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = Table()
        for count, rounds in ((1_000, 3), (10_000, 1)):
            measure(table, Path(folder), count, rounds, 0.1 if count == 1_000 else None)
        long(table, Path(folder))


if __name__ == "__main__":
    main()
