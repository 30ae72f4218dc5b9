"""Transcript imports killed at any moment and repeated: every message is there once.

Each run has the history of a real one: some imports are killed while the next has begun already,
and the last one is left alone. `IMPORT_RUNS` says how many there are, 2 without it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random

import orjson
import pytest

RUNS = int(os.environ.get("IMPORT_RUNS", "2"))
# More than an import adds at once, so that it adds three times.
MESSAGES, LETTERS = 2_100, 9_000

Begin = Callable[["Importer"], None]

PROGRAM = """
import os, sys
import commonplace
for line in sys.stdin:
    root, source = line.rstrip().split("\\t")
    # a child for each: the interpreter need not start again
    child = os.fork()
    if child == 0:
        with commonplace.open(root) as store:
            if os.path.isdir(source):
                store.import_sessions(source)
            else:
                store.transcript("in").load(source)
        os._exit(0)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


class Importer:
    """A process that imports when it is told to, in a child that can be killed."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.child = 0

    def _read_number(self) -> int:
        assert self._process.stdout
        return int(self._process.stdout.readline())

    def begin(self, root: Path, source: Path) -> None:
        assert self._process.stdin
        self._process.stdin.write(f"{root}\t{source}\n")
        self._process.stdin.flush()
        self.child = self._read_number()

    def kill(self) -> None:
        # it is not waited for: what it does in the kernel may last longer than it
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.child, 9)

    def end(self) -> int:
        """Wait for the child; return how it ended."""
        return self._read_number()

    def close(self) -> None:
        self._process.communicate()


def text(number: int) -> str:
    return f"message {number} " + "x" * LETTERS


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("source") / "source.jsonl"
    lines = (orjson.dumps({"role": "user", "content": text(n)}) for n in range(MESSAGES))
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


@pytest.fixture(scope="module")
def importers() -> Iterator[list[Importer]]:
    started = [Importer() for _ in range(3)]
    yield started
    for one in started:
        one.close()


def check(root: Path) -> None:
    """Assert that the transcript holds every message once, in order, beside torn lines only."""
    numbers = []
    for line in (root / "in/messages.jsonl").read_bytes().split(b"\n"):
        try:
            content = orjson.loads(line)["content"]
        except orjson.JSONDecodeError:
            continue
        numbers.append(int(content.split(" ")[1]))
        assert content == text(numbers[-1])
    assert numbers == [*range(MESSAGES)]


def kill_and_repeat(importers: list[Importer], pick: Random, begin: Begin) -> None:
    """Kill an import at some moment and begin the next at once, a few times; then leave one."""
    running: list[Importer] = []
    for turn in range(pick.randrange(1, 4)):
        one = importers[turn % 2]
        if one in running:
            running.remove(one)
            one.end()
        begin(one)
        running.append(one)
        time.sleep(pick.random() ** 2 * 0.15)
        one.kill()
    begin(importers[2])
    assert importers[2].end() == 0
    for one in running:
        one.end()


def all_at_once(importers: list[Importer], pick: Random, begin: Begin) -> None:
    """Import with three processes at the same time, of which one may be killed."""
    for one in importers:
        begin(one)
    if killed := pick.random() < 0.5:
        time.sleep(pick.random() ** 2 * 0.15)
        importers[0].kill()
    ends = [one.end() for one in importers]
    assert ends[1:] == [0, 0]
    assert killed or ends[0] == 0


@pytest.mark.parametrize("scenario", [kill_and_repeat, all_at_once])
def test_every_message_comes_in_once(
    scenario: Callable[[list[Importer], Random, Begin], None],
    importers: list[Importer],
    source: Path,
    tmp_path: Path,
) -> None:
    for run in range(RUNS):
        pick, root = Random(run), tmp_path / str(run)  # noqa: S311 - not a secret
        root.mkdir()
        scenario(importers, pick, partial(Importer.begin, root=root, source=source))
        check(root)
        shutil.rmtree(root)


# More than are made at once, so that there are several batches.
SESSIONS = 150
SHARED = "0198c1d2-7aaa-7bbb-8ccc-0123456789ab"


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of small sessions, of which each tenth begins with a message of the first."""
    folder = tmp_path_factory.mktemp("sessions")
    for number in range(SESSIONS):
        session = f"{number:08x}-0000-4000-8000-{number:012x}"
        texts = [f"{number} {at} {'x' * 200}" for at in range(3)]
        ids = [f"{session[:-1]}{at}-{number}" for at in range(3)]
        if number % 10 == 0:
            texts[0], ids[0] = "shared", SHARED
        lines = [
            {"role": "user", "content": said, "id": name, "session": session, "timestamp": number}
            for said, name in zip(texts, ids, strict=True)
        ]
        (folder / f"{number:03}.jsonl").write_bytes(b"\n".join(map(orjson.dumps, lines)) + b"\n")
    return folder


def check_sessions(root: Path) -> None:
    """Assert that each message is in one transcript, once, and each copy points to it."""
    messages, copies = [], []
    for path in (root / "sessions").rglob("messages.jsonl"):
        lines = [orjson.loads(line) for line in path.read_bytes().splitlines()]
        assert lines[0]["type"] == "session"
        messages += [line["content"] for line in lines if "role" in line]
        copies += [line["of"] for line in lines if line.get("type") == "copy"]
    assert len(messages) == len({*messages}) == 3 * SESSIONS - SESSIONS // 10 + 1
    for copy in copies:
        path, line = copy.split("#L")
        stored = (root / path).read_bytes().splitlines()[int(line) - 1]
        assert orjson.loads(stored)["content"] == "shared"
    assert not [*root.rglob("*.swap")]


def test_a_batch_of_sessions_comes_in_once(
    importers: list[Importer], sessions: Path, tmp_path: Path
) -> None:
    for run in range(RUNS):
        pick, root = Random(run), tmp_path / str(run)  # noqa: S311 - not a secret
        root.mkdir()
        kill_and_repeat(importers, pick, partial(Importer.begin, root=root, source=sessions))
        # what a kill left behind is cleaned up by the next that opens the memory
        importers[0].begin(root, sessions)
        assert importers[0].end() == 0
        check_sessions(root)
        shutil.rmtree(root)
