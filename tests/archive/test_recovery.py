"""The archive after a crash, a kill or damage: what is found, and what is made again."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import commonplace
from commonplace.engines.archive import ArchiveEngine
from commonplace.engines.archive_index import PARTS, ArchiveIndex
from commonplace.engines.archive_list import VERSION
from commonplace.engines.archive_part import NUMBERS
from commonplace.engines.row_reader import RowReader
from tests.archive.helpers import ARCHIVES, KILLED, NEW, OLD, found


@pytest.mark.parametrize("loss", ["torn", "gone", "empty", "names"])
def test_a_damaged_index_is_made_again(memory: Path, loss: str) -> None:
    with commonplace.open(memory) as store:
        before = [(path, path.startswith(OLD)) for path, _ in found(store, "kettle")]
    # by another process, for this one would still have it mapped
    subprocess.run([sys.executable, "-c", ARCHIVES, memory, "old"], check=True, timeout=60)
    folder = memory / ".commonplace/archive/index"
    for file in [file for file in folder.rglob("*") if file.is_file()]:
        if loss == "gone":
            file.unlink()
        elif loss == "empty" and file.name == "meta.json":
            file.write_text("")
        elif loss == "names":
            if file.name == ".managed.json":
                file.write_bytes(file.read_bytes()[:-4])
        elif file.suffix in {".store", ".term", ".idx", ".fast"}:
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with commonplace.open(memory) as store:
        assert found(store, "kettle") == before


def test_a_lost_part_is_made_again_whatever_the_other_one_has(memory: Path) -> None:
    with commonplace.open(memory) as store:
        before = found(store, "kettle tea river", limit=30)
        store.archive(sessions=["old", "new"])
    index = memory / ".commonplace/archive/index"
    numbers = [
        json.loads((memory / ".commonplace/archive/files.json").read_text())["files"][path]["id"]
        for path in (OLD, NEW)
    ]
    assert {number % PARTS for number in numbers} == {0, 1}
    # rows of no file, as a killed move leaves them, are as many as those that are lost
    left = ArchiveIndex(index)
    left.make()
    left.begin(lambda: None)
    rows = [json.dumps({"t": "enothing", "f": 900, **dict.fromkeys(NUMBERS, 0)})] * 20
    left.add(900, rows)
    left.commit()
    left.end(merge=True)
    left.close()
    shutil.rmtree(index / "1")
    with commonplace.open(memory) as store:
        assert sorted(path for path, _ in found(store, "kettle tea river", limit=30)) == sorted(
            path for path, _ in before
        )


def test_the_files_of_a_version_without_parts_are_removed(memory: Path) -> None:
    folder = memory / ".commonplace/archive/index"
    folder.mkdir(parents=True)
    old = [folder / "meta.json", folder / "0.term"]
    for file in old:
        file.write_text("quagga")
    with commonplace.open(memory) as store:
        # there is no list of what they hold
        store.archive(sessions=["old"])
        assert [archived for _, archived in found(store, "kettle", limit=1)] == [True]
    assert not any(file.exists() for file in old)


@pytest.mark.parametrize("at", range(1, 13))
def test_a_killed_move_leaves_each_message_in_one_of_the_two(memory: Path, at: int) -> None:
    with commonplace.open(memory) as store:
        before = sorted(path for path, _ in found(store, "kettle tea river", limit=30))
    done = subprocess.run([sys.executable, "-c", KILLED, memory, str(at)], check=False, timeout=60)
    assert done.returncode in (0, 9)
    with commonplace.open(memory) as store:
        assert sorted(path for path, _ in found(store, "kettle tea river", limit=30)) == before
        store.archive(older="2027-01-01")
        assert sorted(path for path, _ in found(store, "kettle tea river", limit=30)) == before
        assert store.status().archived == 2


@pytest.mark.parametrize("at", range(1, 13))
def test_a_killed_rebuild_is_begun_again(memory: Path, at: int) -> None:
    with commonplace.open(memory) as store:
        store.archive(sessions=["old", "new"])
        before = found(store, "kettle tea river", limit=30)
    killed = [sys.executable, "-c", KILLED, str(memory), str(at), "rebuild"]
    assert subprocess.run(killed, check=False, timeout=60).returncode in (0, 9)
    with commonplace.open(memory) as store:
        assert found(store, "kettle tea river", limit=30) == before
        assert store.status().archived == 2


def test_a_rebuild_that_fails_is_begun_again_by_the_next_search(
    memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_given: object) -> None:
        raise KeyboardInterrupt

    with commonplace.open(memory) as store:
        store.archive(sessions=["old", "new"])
        before = found(store, "kettle tea")
        with monkeypatch.context() as patched:
            patched.setattr(ArchiveEngine, "_take", fails)
            with pytest.raises(KeyboardInterrupt):
                store.rebuild_archive()
        assert found(store, "kettle tea") == before


def test_a_rebuilt_index_has_no_deleted_rows(memory: Path) -> None:
    with commonplace.open(memory) as store:
        store.archive(sessions=["old", "new"])
        store.restore_archived(["old"])
        listed = memory / ".commonplace/archive/files.json"
        assert json.loads(listed.read_text())["deleted"] is True
        store.rebuild_archive()
        # so names are counted without looking at each row
        assert json.loads(listed.read_text())["deleted"] is False
        assert {one.partition("#")[0] for one, archived in found(store, "kettle") if archived} == {
            NEW
        }


def test_two_processes_share_the_archive(memory: Path) -> None:
    with commonplace.open(memory) as store:
        store.search("kettle")
        both = [
            subprocess.Popen([sys.executable, "-c", ARCHIVES, memory, name])
            for name in ("old", "new")
        ]
        assert [one.wait(60) for one in both] == [0, 0]
        assert {archived for _, archived in found(store, "kettle")} == {True}
        assert store.status().archived == 2


NO_LISTS = [
    "{",
    "[]",
    "null",
    '{"version": 1, "files": []}',
    '{"version": 1, "files": {"a": 5}}',
    json.dumps({"version": 1, "files": {OLD: {"id": 1, "messages": 3}}}),
]
FILE = {
    "id": 1, "size": 0, "mtime_ns": 0, "messages": 3, "fields": {}, "lengths": {}, "summary": "",
    "first": None, "last": None,
}  # fmt: skip


@pytest.mark.parametrize("text", NO_LISTS)
def test_a_list_that_is_no_list_archives_nothing(memory: Path, text: str) -> None:
    with commonplace.open(memory) as store:
        before = [(hit.citation, hit.score) for hit in store.search("kettle")]
        store.archive(sessions=["old"])
        (memory / ".commonplace/archive/files.json").write_text(text)
        assert {archived for _, archived in found(store, "kettle")} == {False}
        # what is left in the archive does not count
        assert [(hit.citation, hit.score) for hit in store.search("kettle")] == before
        store.archive(sessions=["old"])
        assert {archived for _, archived in found(store, "kettle old")} == {False, True}


@pytest.mark.parametrize(
    "wrong", [{"messages": -3}, {"lengths": {"body": "x"}}, {"fields": None}, {"id": 2}]
)
@pytest.mark.parametrize("has_index", [True, False])
def test_messages_of_a_damaged_list_are_found(
    memory: Path, wrong: dict[str, object], *, has_index: bool
) -> None:
    listed = memory / ".commonplace/archive/files.json"
    with commonplace.open(memory) as store:
        before = [(hit.citation, hit.score) for hit in store.search("kettle")]
        store.archive(sessions=["old", "new"])
    files = {}
    for number, path in enumerate((OLD, NEW), 1):
        stat = (memory / path).stat()
        files[path] = FILE | {"id": number, "size": stat.st_size, "mtime_ns": stat.st_mtime_ns}
    files[OLD] |= wrong
    known = {"version": VERSION, "next": 3, "unfinished": False, "files": files}
    listed.write_text(json.dumps(known))
    if not has_index:
        shutil.rmtree(listed.parent / "index")
    with commonplace.open(memory) as store:
        assert [(hit.citation, hit.score) for hit in store.search("kettle")] == before


def test_a_file_that_cannot_be_read_leaves_a_rebuilt_archive(
    memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with commonplace.open(memory) as store:
        store.archive(sessions=["old", "new"])

        stamp = RowReader._stamp

        def fails(reader: RowReader) -> tuple[int, int]:
            if reader.path == OLD:
                raise commonplace.StorageError("an input or output error")
            return stamp(reader)

        with monkeypatch.context() as patched:
            patched.setattr(RowReader, "_stamp", fails)
            assert store.rebuild_archive().sessions == [NEW]
        assert {archived for _, archived in found(store, "kettle")} == {False, True}
