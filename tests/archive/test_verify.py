"""`verify` with an archive: damage of its files, of its rows, and of the transcripts in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import commonplace
from commonplace import Store
from commonplace.engines.archive_check import KINDS
from commonplace.engines.archive_index import ArchiveIndex
from commonplace.engines.archive_list import VERSION
from commonplace.engines.archive_part import NUMBERS, Row
from tests.archive.helpers import ARCHIVES, NEW, OLD, found, line
from tests.test_refuse import run_with_mounts

INDEX, LIST = ".commonplace/archive/index", ".commonplace/archive/files.json"
MARKERS = "<<<<<<< HEAD\n"


def archived(memory: Path) -> list[tuple[str, bool]]:
    """Archive both sessions; return what a search finds."""
    with commonplace.open(memory) as store:
        before = found(store, "kettle tea river", limit=30)
    # by another process, for this one would still have the index mapped
    subprocess.run([sys.executable, "-c", ARCHIVES, memory, "old", "new"], check=True, timeout=60)
    return [(path, path.startswith("sessions/")) for path, _ in before]


def is_mended(store: Store, before: list[tuple[str, bool]]) -> bool:
    """Say whether nothing is wrong any more, and all is found as before."""
    again = store.verify()
    whole = (again.differences, again.unread, again.notes) == ([], [], [])
    return whole and found(store, "kettle tea river", limit=30) == before


def test_nothing_is_said_of_a_sound_archive(memory: Path) -> None:
    before = archived(memory)
    with commonplace.open(memory) as store:
        assert store.verify().files == 3
        assert is_mended(store, before)
        store.archive(sessions=["old"])
        store.restore_archived(["old"])
        # rows of it are deleted, or not yet
        assert is_mended(store, [(path, archived and OLD not in path) for path, archived in before])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["a byte", "torn", "gone", "empty"])
def test_a_damaged_file_of_the_index_is_told_and_made_again(
    memory: Path, kind: str, loss: str
) -> None:
    before = archived(memory)
    file = next((memory / INDEX / "0").glob(f"*.{kind}"))
    held = file.read_bytes()
    if loss == "gone":
        file.unlink()
    elif loss == "a byte":
        file.write_bytes(bytes([held[0] ^ 1]) + held[1:])
    else:
        file.write_bytes(held[: len(held) // 2 if loss == "torn" else 0])
    with commonplace.open(memory) as store:
        verified = store.verify()
        name = file.relative_to(memory).as_posix()
        assert verified.differences == [f"{name}: it was damaged"]
        assert is_mended(store, before)


def test_a_lost_part_is_told_and_made_again(memory: Path) -> None:
    before = archived(memory)
    (memory / INDEX / "1/meta.json").write_text("")
    with commonplace.open(memory) as store:
        assert store.verify().differences == [f"{INDEX}: files or rows of it were missing"]
        assert is_mended(store, before)


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(lambda rows: [{**rows[0], "h": (1 << 62) + 5}, *rows[1:]], id="behind"),
        pytest.param(lambda rows: [*rows[1:], rows[1]], id="twice"),
        pytest.param(lambda rows: [{**rows[0], "l": 7}, *rows[1:]], id="line"),
    ],
)
def test_rows_that_are_not_those_of_a_file_are_told_and_made_again(
    memory: Path, wrong: object
) -> None:
    before = archived(memory)
    number = json.loads((memory / LIST).read_text())["files"][OLD]["id"]
    index = ArchiveIndex(memory / INDEX)
    index.make()
    rows = [dict(zip(NUMBERS, row, strict=True)) for row in index.rows_of([number])]
    assert len(rows) == 3
    index.begin(lambda: None)
    index.delete([number])
    index.commit()
    index.add(number, [json.dumps({"t": "ekettl", "f": number, **row}) for row in wrong(rows)])  # type: ignore[operator]
    index.commit()
    index.end(merge=True)
    index.close()
    with commonplace.open(memory) as store:
        assert store.verify().differences == [f"{OLD}: the archive did not hold its messages"]
        assert is_mended(store, before)


def test_a_transcript_that_keeps_size_and_time_is_archived_anew(memory: Path) -> None:
    archived(memory)
    path = memory / OLD
    stat = path.stat()
    path.write_text(path.read_text().replace("river", "ocean"))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with commonplace.open(memory) as store:
        assert store.verify().differences == [f"{OLD}: the archive did not hold its messages"]
        assert found(store, "ocean", limit=1) == [(f"{OLD}#L1-L2", True)]
        assert is_mended(store, found(store, "kettle tea river", limit=30))


@pytest.mark.parametrize("junk", ["quagga\n", MARKERS])
def test_malformed_lines_of_archived_transcripts_are_told(memory: Path, junk: str) -> None:
    with (memory / OLD).open("a") as file:
        file.write(junk + line("And milk?", "old", "2025-01-01"))
    with commonplace.open(memory) as store:
        before = store.verify().notes
        assert [f"{OLD}#L4" in note for note in before] == [True]
    archived(memory)
    with commonplace.open(memory) as store:
        verified = store.verify()
        assert (verified.differences, verified.notes) == ([], before)
    # also where the index is damaged, or of another version
    for postings in (memory / INDEX).rglob("*.idx"):
        postings.unlink()
    with commonplace.open(memory) as store:
        verified = store.verify()
        assert (len(verified.differences), verified.notes) == (2, before)
    text = (memory / LIST).read_text()
    (memory / LIST).write_text(text.replace(f'"version":{VERSION}', '"version":1'))
    with commonplace.open(memory) as store:
        verified = store.verify()
        assert (verified.differences, verified.notes) == ([], before)
        assert found(store, "milk", limit=1) == [(f"{OLD}#L5", True)]


def test_what_has_left_the_archive_is_told(memory: Path) -> None:
    archived(memory)
    (memory / OLD).unlink()
    with (memory / NEW).open("a") as file:
        file.write(line("And milk?", "new", "2026-01-01"))
    with commonplace.open(memory) as store:
        verified = store.verify()
        assert (verified.differences, verified.unread) == ([], [])
        assert verified.notes == [
            f"{OLD}: it was archived, and is gone",
            (
                f"{NEW}: it has changed since it was archived, so it is indexed in memory; archive"
                " it again when it no longer changes"
            ),
        ]
        assert is_mended(store, found(store, "kettle tea river", limit=30))


def test_a_transcript_that_is_deleted_meanwhile_is_passed_over(
    memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archived(memory)
    rows_of = ArchiveIndex.rows_of

    def deletes(index: ArchiveIndex, files: list[int]) -> list[Row]:
        (memory / OLD).unlink()
        return rows_of(index, files)

    with commonplace.open(memory) as store, monkeypatch.context() as during:
        during.setattr(ArchiveIndex, "rows_of", deletes)
        verified = store.verify()
    assert (verified.differences, verified.unread) == ([], [])


def test_a_damaged_list_is_told(memory: Path) -> None:
    before = [(path, False) for path, _ in archived(memory)]
    (memory / LIST).write_text("{")
    with commonplace.open(memory) as store:
        (difference,) = store.verify().differences
        assert difference.startswith(f"{LIST}: it was damaged")
        assert is_mended(store, before)


def test_what_cannot_be_compared_is_told(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archived(memory)
    monkeypatch.setitem(sys.modules, "tantivy", None)
    with commonplace.open(memory) as store:
        (unread,) = store.verify().unread
        assert unread.startswith(".commonplace/archive: ")
        assert "commonplace[archive]" in unread


@pytest.mark.linux("unshare")
def test_a_root_that_can_only_be_read_is_compared(memory: Path) -> None:
    archived(memory)
    script = """
import commonplace, json, sys
with commonplace.open(sys.argv[1]) as store:
    verified = store.verify()
    print(json.dumps([verified.differences, [why.partition(":")[0] for why in verified.unread]]))
"""
    read_only = f"mount --bind {memory} {memory} && mount -o remount,bind,ro {memory}"
    assert json.loads(run_with_mounts(read_only, script, str(memory))) == [[], []]
    file = next((memory / INDEX / "0").glob("*.idx"))
    file.unlink()
    differences = [f"{file.relative_to(memory).as_posix()}: it was damaged"]
    # which cannot be mended
    told = json.loads(run_with_mounts(read_only, script, str(memory)))
    assert told == [differences, [".commonplace/archive"]]
