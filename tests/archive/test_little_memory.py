"""Archiving with little memory: it is done, or an error says what to do, and no message is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import commonplace
from commonplace import cli
from commonplace._core import ArchiveRows
from commonplace.engines import archive_index, row_reader
from commonplace.errors import MemoryLimit

MB = 1 << 20
SESSIONS, MESSAGES = 8, 2500
WORDS = [f"{a}{b}{c}" for a in "bdfgklm" for b in "aeiou" for c in "dgklmnprst"]

CHILD = """
import json, resource, sys
kind, limit, root = sys.argv[1], int(sys.argv[2]), sys.argv[3]
resource.setrlimit(getattr(resource, kind), (limit, limit))
import commonplace
from commonplace.errors import MemoryLimit
try:
    with commonplace.open(root) as store:
        print(json.dumps({"moved": store.archive(older="2026-01-01").messages}))
except MemoryLimit as error:
    print(json.dumps({"text": str(error)}))
"""


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    """Return a root with sessions of which each message has a word of its own."""
    for number in range(SESSIONS):
        at = tmp_path / f"sessions/p/2025-01-{number + 1:02}-s{number}/messages.jsonl"
        at.parent.mkdir(parents=True)
        with at.open("w") as file:
            for n in range(MESSAGES):
                said = " ".join(WORDS[n * factor % len(WORDS)] for factor in range(1, 9))
                fields = {
                    "role": "user",
                    "content": f"own{n}x{number} {said}",
                    "session": f"s{number}",
                    "timestamp": f"2025-01-{number + 1:02}T08:00:00Z",
                }
                file.write(json.dumps(fields) + "\n")
    return tmp_path


def check_all_are_found(root: Path) -> None:
    """Check that each message is in the index or in the archive, and in one of them only."""
    with commonplace.open(root) as store:
        status = store.status()
        assert status.messages + status.archived_messages == SESSIONS * MESSAGES
        for number in range(SESSIONS):
            hits = store.search(f"own{MESSAGES - 1}x{number}", unit="message")
            assert hits[0].line == MESSAGES
            assert hits[0].session == f"s{number}"


@pytest.mark.linux("/proc/self/status")
@pytest.mark.parametrize(
    ("kind", "limit"),
    [("RLIMIT_DATA", 128), ("RLIMIT_DATA", 192), ("RLIMIT_DATA", 256), ("RLIMIT_AS", 1024)],
)
def test_a_limited_process_archives_or_says_why_not(sessions: Path, kind: str, limit: int) -> None:
    command = [sys.executable, "-c", CHILD, kind, str(limit * MB), str(sessions)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
    # how much a process takes before it archives depends on the machine, and so which of the two
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if "text" in answer:
        assert "archive from a process without it" in answer["text"]
    else:
        assert answer["moved"] == SESSIONS * MESSAGES
    check_all_are_found(sessions)


def test_little_memory_suffices(sessions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_reader, "memory_left", lambda: archive_index.NEEDED)
    monkeypatch.setattr(archive_index, "FLUSH", 1 << 20)
    with commonplace.open(sessions) as store:
        # what is indexed makes room, and is indexed again when it is asked for
        assert store.search("own7x3")
        assert store.archive(over=0).messages == SESSIONS * MESSAGES
        assert [hit.archived for hit in store.search("own7x3", limit=1)] == [True]
        assert store.restore_archived(["s3"]).messages == MESSAGES
        assert [hit.archived for hit in store.search("own7x3", limit=1)] == [False]
    check_all_are_found(sessions)


def test_memory_that_runs_out_on_the_way_loses_nothing(
    sessions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with commonplace.open(sessions) as store:
        assert store.archive(sessions=["s0"]).messages == MESSAGES
        with monkeypatch.context() as patched:
            left = iter([archive_index.NEEDED] * 12)
            patched.setattr(row_reader, "memory_left", lambda: next(left, 1 << 20))
            patched.setattr(archive_index, "FLUSH", 1 << 20)
            with pytest.raises(MemoryLimit, match=r"leaves 1 MB; raise the limit, or archive"):
                store.archive(over=0)
        assert next(left, None) is None
        assert store.status().archived == 1
        assert [hit.archived for hit in store.search("own7x0", limit=1)] == [True]
        assert [hit.archived for hit in store.search("own7x5", limit=1)] == [False]
    check_all_are_found(sessions)
    with commonplace.open(sessions) as store:
        assert store.archive(over=0).messages == (SESSIONS - 1) * MESSAGES
    check_all_are_found(sessions)


def test_the_command_says_what_to_do(
    sessions: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(row_reader, "memory_left", lambda: 40 * MB)
    assert cli.run(["--root", str(sessions), "archive", "--over", "0"]) > 1
    said = capsys.readouterr().err
    assert "takes 128 MB of memory, and the limit of this process leaves 40 MB" in said
    monkeypatch.undo()
    check_all_are_found(sessions)


def test_a_search_does_not_tidy_where_memory_is_scarce(
    sessions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with commonplace.open(sessions) as store:
        store.archive(over=0)
        [changed] = sessions.glob("sessions/p/*-s2/messages.jsonl")
        with changed.open("a") as file:
            file.write('{"role":"user","content":"theverylast","session":"s2"}\n')
        listed = sessions / ".commonplace/archive/files.json"
        before = listed.read_text()
        with monkeypatch.context() as patched:
            patched.setattr(row_reader, "memory_left", lambda: 40 * MB)
            assert [hit.archived for hit in store.search("theverylast", limit=1)] == [False]
            assert [hit.archived for hit in store.search("own7x2", limit=1)] == [False]
        assert listed.read_text() == before


def test_rows_are_handed_out_piece_by_piece() -> None:
    texts = (f"kettle{n} " + "tea " * 40 for n in range(4000))
    said = ["\n", "no json\n"]
    said += [json.dumps({"role": "user", "content": text}) + "\n" for text in texts]
    said[-1] = said[-1].rstrip("\n")
    rows = ArchiveRows("sessions/p/s/messages.jsonl", "".join(said).encode(), 7)
    pieces = []
    while piece := rows.next_rows():
        pieces.append([json.loads(row) for row in piece])
    assert len(pieces) > 1
    assert max(map(len, pieces)) < 4000
    found = [row for piece in pieces for row in piece]
    # line and place go on from piece to piece; the place is mixed with the hash, which is in h
    places = [((row["w"] >> 32) ^ row["h"]) & 0xFFFF for row in found]
    assert places == list(range(4000))
    lines = [row["l"] + place for row, place in zip(found, places, strict=True)]
    assert lines == list(range(3, 4003))
    lengths = [len(line) for line in said]
    starts = [(row["h"] >> 32) ^ row["h"] & 0xFFFFFFFF for row in found]
    assert starts == [sum(lengths[: n + 2]) for n in range(4000)]
    # of the upper halves only that of the terms before is not zero
    assert max(row["o"] for row in found) >> 32 == 4000 * 41 >> 16
    assert (rows.stats.documents, rows.next_rows()) == (4000, [])
    assert rows.stats.docs_with_field["body"] == 4000


def test_rows_are_the_same_whichever_thread_makes_their_piece() -> None:
    texts = (f"kettle{n} rivers " + f"tea{n % 7} " * 40 for n in range(2500))
    lines = (json.dumps({"role": "user", "content": text}) + "\n" for text in texts)
    data = "".join(lines).encode()
    made, by_threads = (ArchiveRows("s/messages.jsonl", data, 7) for _ in range(2))
    expected = []
    while piece := made.next_rows():
        expected.append(piece)
    assert len(expected) > 2
    for piece in expected:
        # a thread of its own has read no word yet
        with ThreadPoolExecutor(1) as thread:
            assert thread.submit(by_threads.next_rows).result() == piece
    assert by_threads.stats == made.stats


def test_a_file_in_utf16_has_no_rows() -> None:
    data = json.dumps({"role": "user", "content": "kettle"}).encode("utf-16")
    assert ArchiveRows("sessions/p/s/messages.jsonl", data, 1).next_rows() == []


def test_a_file_that_grows_while_it_is_read_stays_in_the_index(
    sessions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [grows] = sessions.glob("sessions/p/*-s2/messages.jsonl")
    read = row_reader.RowReader.read

    def grown(reader: row_reader.RowReader) -> list[str]:
        rows = read(reader)
        if reader.path.endswith("-s2/messages.jsonl") and reader.messages == len(rows):
            with grows.open("a") as file:
                file.write('{"role":"user","content":"theverylast","session":"s2"}\n')
        return rows

    with commonplace.open(sessions) as store:
        monkeypatch.setattr(row_reader.RowReader, "read", grown)
        assert store.archive(over=0).messages == (SESSIONS - 1) * MESSAGES
        monkeypatch.undo()
        assert [hit.archived for hit in store.search("theverylast", limit=1)] == [False]
        assert [hit.archived for hit in store.search("own7x2", limit=1)] == [False]
        assert store.archive(over=0).messages == MESSAGES + 1
        assert [hit.archived for hit in store.search("theverylast", limit=1)] == [True]
