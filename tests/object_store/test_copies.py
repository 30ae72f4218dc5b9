"""Copies of tenants: what is left in them, orphans, crashes, cold tenants."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from commonplace.errors import (
    Busy,
    InDoubt,
    StorageError,
)
from commonplace.service.objects import ObjectsUnavailable
from commonplace.service.s3 import S3Objects
from commonplace.service.tokens import tenant_key
from tests.object_store import KEY
from tests.object_store.processes import between, current
from tests.opensearch.double import double
from tests.opensearch.tenants import Tenants


@pytest.mark.parametrize("clear", ["close", "remove"])
def test_a_copy_that_goes_during_a_change_removes_no_file(
    clear: str, two: tuple[Tenants, Tenants]
) -> None:
    one, other = two
    one.call("acme", "write", path="a.md", content="one")
    stores = one.process.stores
    # a process that is told to end does not wait for ever
    with suppress(StorageError), stores.changing(KEY, "b.md"):
        with stores.of(KEY) as store:
            store.write("b.md", "two")
        if clear == "close":
            stores.close()
        else:
            shutil.rmtree(stores.folder / KEY)
    assert other.call("acme", "read", path="a.md")["text"] == "one"
    paths = [file["path"] for file in other.call("acme", "list")["files"]]
    assert paths == (["a.md", "b.md"] if clear == "close" else ["a.md"])


def test_what_somebody_does_to_a_copy_is_no_change(two: tuple[Tenants, Tenants]) -> None:
    one, other = two
    for path in ("a.md", "b.md"):
        one.call("acme", "write", path=path, content="tea")
    copy = one.process.stores.folder / KEY
    (copy / "a.md").unlink()
    (copy / "stray.md").write_text("x")
    one.call("acme", "append", path="b.md", content="more")
    for tenants in two:
        current(tenants)
        assert [file["path"] for file in tenants.call("acme", "list")["files"]] == ["a.md", "b.md"]
    assert other.call("acme", "read", path="a.md")["text"] == "tea"


def test_what_a_copy_that_failed_has_left_is_not_taken_up(
    two: tuple[Tenants, Tenants], objects: S3Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two
    for number in range(3):
        one.call("acme", "write", path=f"n{number}.md", content=f"Rex {number}")
    plain = objects.read

    def read(name: str) -> bytes | None:
        if name.startswith("segments/") and plain(name) == b"Rex 2":
            time.sleep(0.3)
            raise ObjectsUnavailable("the object store does not answer")
        return plain(name)

    with monkeypatch.context() as patched:
        patched.setattr(objects, "read", read)
        with pytest.raises(ObjectsUnavailable):
            other.call("acme", "list")
    assert (other.process.stores.folder / KEY / "n0.md").exists()
    plan = one.call("acme", "forget", what=["rex 0"])
    assert one.call("acme", "forget", what=["rex 0"], token=plan["token"])["erased"]
    other.call("acme", "write", path="b.md", content="tea")
    current(one)
    for tenants in two:
        paths = [file["path"] for file in tenants.call("acme", "list")["files"]]
        assert paths == ["b.md", "n1.md", "n2.md"]


def test_no_fetch_runs_on_after_another_has_failed(
    two: tuple[Tenants, Tenants], objects: S3Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two
    for path in ("lost.md", "slow.md"):
        one.call("acme", "write", path=path, content=path)
    plain, begun, ended = objects.read, threading.Event(), threading.Event()

    def read(name: str) -> bytes | None:
        data = plain(name)
        if data == b"lost.md":
            begun.wait()
            raise ObjectsUnavailable("the object store does not answer")
        begun.set()
        time.sleep(0.5)
        ended.set()
        return data

    other.grant("acme")
    monkeypatch.setattr(objects, "read", read)
    with pytest.raises(ObjectsUnavailable):
        other.call("acme", "list")
    assert ended.is_set()


def test_forget_is_not_done_before_the_segments_are_gone(
    two: tuple[Tenants, Tenants], objects: S3Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = two
    one.call("acme", "write", path="a.md", content="- The dog is Rex.\n- Likes tea.\n")
    plan = one.call("acme", "forget", what=["rex"])

    def gone(*_: object) -> Any:
        raise ObjectsUnavailable("the object store does not answer")

    with monkeypatch.context() as patched:
        patched.setattr(objects, "delete_all", gone)
        with pytest.raises(InDoubt, match="was made"):
            one.call("acme", "forget", what=["rex"], token=plan["token"])
    assert "Rex" not in one.call("acme", "read", path="a.md")["text"]
    one.call("acme", "write", path="b.md", content="tea")
    kept = [objects.read(name) or b"" for name, _ in objects.list(f"segments/{KEY}")]
    assert b"rex" not in b"".join(kept).lower()


def test_no_segment_is_removed_that_a_paused_process_names_then(
    two: tuple[Tenants, Tenants], objects: S3Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two
    one.call("acme", "write", path="a.md", content="tea")

    def remove() -> None:
        with monkeypatch.context() as patched, other.process.stores.of(KEY, now=True) as store:
            patched.setattr("commonplace.service.replica.ORPHAN_AGE", -1.0)
            assert store.replica
            store.replica.remove_orphans()

    between(objects, monkeypatch, remove)
    one.call("acme", "write", path="b.md", content="cup")
    current(other)
    assert other.call("acme", "read", path="b.md")["text"] == "cup"


def test_a_change_that_may_come_to_nothing_has_no_version(two: tuple[Tenants, Tenants]) -> None:
    one, _ = two
    one.call("acme", "write", path="a.md", content="tea")
    stores = one.process.stores
    # as a thread that indexes meanwhile
    with stores.of(KEY) as store:
        before = store.file_version("a.md")
        with suppress(Busy), stores.changing(KEY, "a.md"):
            store.write("a.md", "cup")
            during = [store.file_version("a.md") for _ in range(2)]
            raise Busy("as another process has changed it")
        assert store.file_version("a.md") == before
        assert store.read("a.md") == "tea"
    assert len({before, *during}) == 3


def test_a_change_that_reads_meanwhile_is_not_written_over(two: tuple[Tenants, Tenants]) -> None:
    one, other = two
    one.call("acme", "write", path="a.md", content="one")
    stores = one.process.stores

    def change() -> None:
        with stores.changing(KEY, "a.md"), stores.of(KEY) as store:
            store.write("a.md", "mine")
            other.call("acme", "write", path="a.md", content="theirs")
            with stores.of(KEY, now=True):
                assert store.read("a.md") == "mine"

    with pytest.raises(Busy):
        change()
    assert one.call("acme", "read", path="a.md")["text"] == "theirs"


def test_segments_that_no_manifest_names_are_removed(
    two: tuple[Tenants, Tenants], objects: S3Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = two
    one.call("acme", "write", path="a.md", content="tea")
    objects.write(f"segments/{KEY}/orphan", b"cut off")
    objects.write(f"segments/{'0' * 32}/unknown", b"its manifest was removed by hand")
    monkeypatch.setattr("commonplace.service.replica.ORPHAN_AGE", -1.0)
    for key in (KEY, "0" * 32):
        with one.process.stores.of(key) as store:
            assert store.replica
            store.replica.remove_orphans()
    assert objects.read(f"segments/{KEY}/orphan") is None
    assert objects.read(f"segments/{'0' * 32}/unknown")
    assert one.call("acme", "read", path="a.md")["text"] == "tea"


def test_a_copy_that_nobody_uses_is_dropped_and_made_again(
    objects: S3Objects, tmp_path: Path
) -> None:
    with Tenants(tmp_path, None, objects=objects) as tenants:
        stores = tenants.process.stores
        stores._most = 2
        for number in range(5):
            tenants.call(f"t{number}", "write", path="a.md", content=f"tea {number}")
        assert len([one for one in stores.folder.iterdir() if len(one.name) == 32]) == 2
        for number in range(5):
            assert tenants.call(f"t{number}", "read", path="a.md")["text"] == f"tea {number}"
        assert {*stores.tenants()} == {tenant_key(f"t{number}") for number in range(5)}
        left = stores.folder
    assert not left.exists()


def test_a_cold_tenant_has_the_ranking_it_had_and_is_not_indexed_again(
    objects: S3Objects, tmp_path: Path
) -> None:
    with double() as engine:
        with Tenants(tmp_path / "one", engine.url, objects=objects) as one:
            for number in range(6):
                words = " ".join(["tea", "cup", "leaf", "kettle"][number % 3 :])
                told = one.call("acme", "write", path=f"n{number}.md", content=f"{words}\n")
            before = one.found("acme", "tea kettle", fresh=[told["fresh"]])
            one.process.indexer.rebuild(KEY)
            assert one.engine
            one.engine.refresh()
            before = one.found("acme", "tea kettle")
        with Tenants(tmp_path / "two", engine.url, objects=objects) as other:
            written: list[str] = []
            engine.fault = lambda path, _: written.append(path)
            assert other.found("acme", "tea kettle") == before
            assert len(before) == 6
            other.process.indexer.rebuild(KEY)
            assert "/_bulk" not in written


def test_an_object_store_that_comes_back_is_indexed_again(
    objects: S3Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> Any:
        raise ObjectsUnavailable("the object store does not answer")

    with (
        double() as engine,
        Tenants(tmp_path, engine.url, objects=objects, grace=0.1) as tenants,
    ):
        tenants.call("acme", "write", path="a.md", content="oolong")
        with monkeypatch.context() as patched:
            for name in ("list", "delete", "newer"):
                patched.setattr(objects, name, gone)
            time.sleep(0.3)
            with pytest.raises(ObjectsUnavailable):
                tenants.call("acme", "read", path="a.md")
        told = tenants.call("acme", "write", path="b.md", content="sencha")
        assert tenants.found("acme", "sencha", fresh=[told["fresh"]]) == ["b.md#L1"]
        deadline = time.monotonic() + 20
        while list(objects.list("pending")):
            assert time.monotonic() < deadline
            time.sleep(0.05)


WRITER = """
    import sys
    from pathlib import Path
    from commonplace.service.s3 import S3Objects
    from tests.opensearch.tenants import Tenants
    with Tenants(Path(sys.argv[1]), None, objects=S3Objects(sys.argv[2])) as tenants:
        for number in range(10_000):
            said = [{"role": "user", "content": f"Message {number}."}]
            tenants.call("acme", "log", f"k{number}", path="sessions/s", messages=said)
            tenants.call("acme", "write", path="n.md", content=f"{number}")
            print(number, flush=True)
"""


def test_what_was_acknowledged_survives_a_kill(
    url: str, objects: S3Objects, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", textwrap.dedent(WRITER), str(tmp_path), url]
    done = -1
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stdout
        for line in process.stdout:
            done = int(line)
            if done == 12:
                process.send_signal(signal.SIGKILL)
    left = [*(tmp_path / "copies").iterdir()]
    with Tenants(tmp_path, None, objects=objects, grace=0.0) as tenants:
        # the copy of the process that was killed is gone, whatever was in it
        assert not any(one.exists() for one in left)
        # the caller repeats what it had no answer to
        said = [{"role": "user", "content": f"Message {done + 1}."}]
        tenants.call("acme", "log", f"k{done + 1}", path="sessions/s", messages=said)
        path = "sessions/s/messages.jsonl"
        found = tenants.call("acme", "messages", path=path, limit=1000)["messages"]
        assert [one["text"] for one in found] == [f"Message {n}." for n in range(done + 2)]
        assert int(tenants.call("acme", "read", path="n.md")["text"]) in {done, done + 1}


def test_many_writers_of_two_processes_lose_nothing(two: tuple[Tenants, Tenants]) -> None:
    for tenants in two:
        tenants.grant("acme")
    refused: Counter[str] = Counter()

    def write(number: int) -> None:
        for turn in range(6):
            said = [{"role": "user", "content": f"{number} {turn}"}]
            while True:
                try:
                    two[number % 2].call("acme", "log", path="sessions/s", messages=said)
                    break
                except Busy:
                    refused["busy"] += 1
                    time.sleep(0.01 * (1 + number))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    current(two[0])
    path = "sessions/s/messages.jsonl"
    found = two[0].call("acme", "messages", path=path)["messages"]
    assert Counter(one["text"] for one in found) == Counter(
        f"{number} {turn}" for number in range(4) for turn in range(6)
    )
