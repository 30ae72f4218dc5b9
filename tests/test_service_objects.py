"""Service with its files in an object store (S3): conditional writes, copies, crashes.

The S3 protocol is spoken by moto's server, which the tests start on loopback.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from moto.server import ThreadedMotoServer

from commonplace.errors import (
    Busy,
    Conflict,
    InDoubt,
    InvalidArgument,
    NotFound,
    Refused,
    StorageError,
)
from commonplace.service.manifest import MOST_SEGMENTS, Manifest, first_rewritten
from commonplace.service.objects import ObjectsUnavailable
from commonplace.service.replicas import Replicas
from commonplace.service.s3 import S3Objects
from commonplace.service.tokens import tenant_key
from tests.opensearch.double import double
from tests.opensearch.tenants import Tenants

KEY = tenant_key("acme")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """An S3 server with an empty bucket."""
    logging.getLogger("werkzeug").setLevel("ERROR")
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    bucket = urllib.request.Request(f"{url}/memories", method="PUT")  # noqa: S310 - loopback
    urllib.request.urlopen(bucket).close()  # noqa: S310 - loopback
    yield url
    server.stop()


@pytest.fixture
def url(server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of objects of this test alone."""
    given = {"ENDPOINT_URL": server, "ACCESS_KEY_ID": "x", "SECRET_ACCESS_KEY": "y"}
    for name, value in (given | {"REGION": "us-east-1"}).items():
        monkeypatch.setenv(f"AWS_{name}", value)
    return f"s3://memories/{uuid4().hex}"


@pytest.fixture
def objects(url: str) -> S3Objects:
    return S3Objects(url)


@pytest.fixture
def two(objects: S3Objects, tmp_path: Path) -> Iterator[tuple[Tenants, Tenants]]:
    """Two processes, each with copies of its own."""
    with (
        Tenants(tmp_path / "one", None, objects=objects) as one,
        Tenants(tmp_path / "two", None, objects=objects) as other,
    ):
        yield one, other


def test_objects_are_written_once_compared_and_listed(objects: S3Objects) -> None:
    assert objects.read("tokens/a") is None
    objects.write("tokens/a", b"1")
    assert objects.read("tokens/a") == b"1"
    assert not objects.create("tokens/a", b"2")
    assert objects.create("tokens/b", b"2")
    assert [name for name, _ in objects.list("tokens")] == ["tokens/a", "tokens/b"]
    assert all(0 <= age < 60 for _, age in objects.list("tokens"))
    assert list(objects.list("nothing")) == []
    first = objects.exchange("manifests/a", b"1", "")
    assert first
    assert objects.exchange("manifests/a", b"2", "") is None
    assert objects.newer("manifests/a", first) is None
    second = objects.exchange("manifests/a", b"2", first)
    assert second
    assert objects.exchange("manifests/a", b"3", first) is None
    assert objects.newer("manifests/a", first) == (b"2", second)
    objects.delete_all(["manifests/a", "manifests/gone"])
    assert objects.newer("manifests/a", second) == (b"", "")
    assert objects.newer("manifests/a", "") is None
    assert objects.exchange("manifests/a", b"3", second) is None


@pytest.mark.parametrize("name", ["", "a", "../a/b", "a/../b", "a/b/c/d", "a/.b", "a/b\n"])
def test_what_is_no_name_of_an_object_is_refused(objects: S3Objects, name: str) -> None:
    with pytest.raises(Refused):
        objects.read(name)


def test_a_bucket_that_is_not_there_is_no_empty_memory(url: str) -> None:
    objects = S3Objects(url.replace("memories", "nowhere"))
    calls: list[Callable[[], object]] = [
        lambda: objects.read("tokens/a"),
        lambda: objects.write("tokens/a", b""),
        lambda: objects.create("tokens/a", b""),
        lambda: objects.exchange("manifests/a", b"", "x"),
        lambda: objects.newer("manifests/a", "x"),
        lambda: objects.delete("tokens/a"),
    ]
    for call in calls:
        with pytest.raises(ObjectsUnavailable, match="no such bucket"):
            call()


def test_a_process_that_starts_removes_no_folder_of_another(
    objects: S3Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, made = fcntl.flock, threading.Event()

    def slow(file: Any, how: int) -> None:
        if Path(getattr(file, "name", "")).name == ".held" and not made.is_set():
            made.set()
            time.sleep(0.5)
        plain(file, how)

    monkeypatch.setattr(fcntl, "flock", slow)
    with ThreadPoolExecutor(1) as starting:
        first = starting.submit(Replicas, objects, tmp_path)
        made.wait()
        second = Replicas(objects, tmp_path)
    for one in (first.result(), second):
        assert (one.folder / ".held").exists()
        one.close()


@pytest.mark.parametrize("given", ["", "s3://", "s3:///", "/srv", "https://example.com/b"])
def test_what_is_no_address_of_objects_is_refused(given: str) -> None:
    with pytest.raises(InvalidArgument, match="s3://bucket"):
        S3Objects(given)


def test_a_process_sees_what_another_has_acknowledged(two: tuple[Tenants, Tenants]) -> None:
    one, other = two
    first = one.call("acme", "write", path="facts/tea.md", content="Likes sencha.\n")
    assert other.call("acme", "read", path="facts/tea.md")["version"] == first["version"]
    assert other.found("acme", "sencha") == ["facts/tea.md#L1"]
    edit = {"old": "sencha.", "new": "sencha.\nLikes matcha."}
    other.call("acme", "patch", path="facts/tea.md", edits=[edit])
    other.call("acme", "log", path="sessions/s", messages=[{"role": "user", "content": "Hi."}])
    current(one)
    assert one.found("acme", "matcha") == ["facts/tea.md#L2"]
    assert len(one.call("acme", "history", path="facts/tea.md")["versions"]) == 1
    one.call("acme", "move", path="facts/tea.md", target="drinks.md")
    current(other)
    assert [file["path"] for file in other.call("acme", "list")["files"]] == [
        "drinks.md",
        "sessions/s/messages.jsonl",
    ]
    assert one.call("bolt", "list")["files"] == []


def current(tenants: Tenants, tenant: str = "acme") -> None:
    """See what others have changed to this moment."""
    with tenants.process.stores.of(tenant_key(tenant), now=True):
        pass


def test_a_search_sees_a_write_of_another_process_by_its_token(
    two: tuple[Tenants, Tenants], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two
    assert other.found("acme", "sencha") == []
    monkeypatch.setattr("commonplace.service.replica.CURRENT_FOR", 60.0)
    told = one.call("acme", "write", path="a.md", content="sencha")
    assert other.found("acme", "sencha") == []
    assert other.found("acme", "sencha", fresh=[told["fresh"]]) == ["a.md#L1"]


def test_notes_are_compared_and_swapped_between_processes(two: tuple[Tenants, Tenants]) -> None:
    one, other = two
    first = one.call("acme", "write", path="a.md", content="one", expected_version="absent")
    other.call("acme", "write", path="a.md", content="two", expected_version=first["version"])
    with pytest.raises(Conflict):
        one.call("acme", "write", path="a.md", content="x", expected_version=first["version"])
    with pytest.raises(Conflict):
        one.call("acme", "write", path="a.md", content="x", expected_version="absent")
    assert one.call("acme", "read", path="a.md")["text"] == "two"


def between(objects: S3Objects, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Have something happen once, right before a manifest is replaced."""
    plain = objects.exchange

    def exchange(name: str, data: bytes, version: str) -> str | None:
        if name.startswith("manifests/"):
            monkeypatch.setattr(objects, "exchange", plain)
            act()
        return plain(name, data, version)

    monkeypatch.setattr(objects, "exchange", exchange)


def test_who_is_second_to_change_a_file_is_told_and_changes_nothing(
    two: tuple[Tenants, Tenants], objects: S3Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two
    one.call("acme", "write", path="a.md", content="one")
    between(
        objects, monkeypatch, lambda: other.call("acme", "write", path="a.md", content="theirs")
    )
    with pytest.raises(Busy):
        one.call("acme", "write", path="a.md", content="mine")
    for tenants in two:
        assert tenants.call("acme", "read", path="a.md")["text"] == "theirs"
        assert len(tenants.call("acme", "history", path="a.md")["versions"]) == 1


def test_changes_of_other_files_are_both_kept(
    two: tuple[Tenants, Tenants], objects: S3Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two
    one.call("acme", "write", path="gone.md", content="x")
    between(objects, monkeypatch, lambda: other.call("acme", "delete", path="gone.md"))
    one.call("acme", "write", path="mine.md", content="mine")
    for tenants in two:
        current(tenants)
        paths = [file["path"] for file in tenants.call("acme", "list")["files"]]
        assert paths == ["mine.md"]
        assert len(tenants.call("acme", "history", path="gone.md")["versions"]) == 1


def test_an_answer_that_is_lost_is_no_conflict(
    two: tuple[Tenants, Tenants], objects: S3Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = objects.exchange
    monkeypatch.setattr(objects, "exchange", lambda *given: plain(*given) and None)
    two[0].call("acme", "write", path="a.md", content="tea")
    monkeypatch.undo()
    assert two[1].call("acme", "read", path="a.md")["text"] == "tea"


def test_a_change_is_known_again_after_others_have_changed_its_file(
    two: tuple[Tenants, Tenants], objects: S3Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two
    said = [{"role": "user", "content": "Hi."}]
    one.call("acme", "log", path="sessions/s", messages=said)
    plain = objects.exchange

    def lost(name: str, data: bytes, version: str) -> str | None:
        monkeypatch.setattr(objects, "exchange", plain)
        assert plain(name, data, version)
        for _ in range(3):
            other.call("acme", "log", path="sessions/s", messages=said)
        return None

    monkeypatch.setattr(objects, "exchange", lost)
    # with 409 the caller would do it again
    one.call("acme", "log", path="sessions/s", messages=said)
    one.call("acme", "log", path="sessions/s", messages=said)
    for tenants in two:
        current(tenants)
        found = tenants.call("acme", "messages", path="sessions/s/messages.jsonl")["messages"]
        assert len(found) == 6


def test_what_is_not_known_after_very_many_changes_is_in_doubt(
    two: tuple[Tenants, Tenants], objects: S3Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two
    one.call("acme", "write", path="a.md", content="tea")
    monkeypatch.setattr("commonplace.service.replica.EARLIER", 2)

    def many() -> None:
        for number in range(4):
            other.call("acme", "write", path="b.md", content=f"{number}")

    between(objects, monkeypatch, many)
    with pytest.raises(InDoubt):
        one.call("acme", "write", path="a.md", content="cup")


def test_a_store_that_does_not_answer_loses_nothing(
    two: tuple[Tenants, Tenants], objects: S3Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two
    one.call("acme", "write", path="a.md", content="one")

    def gone(*_: object) -> Any:
        raise ObjectsUnavailable("the object store does not answer")

    with monkeypatch.context() as patched:
        patched.setattr(objects, "write", gone)
        with pytest.raises(ObjectsUnavailable):
            one.call("acme", "write", path="a.md", content="two")
        with pytest.raises(ObjectsUnavailable):
            one.call("acme", "write", path="b.md", content="two")
    assert one.call("acme", "read", path="a.md")["text"] == "one"
    with pytest.raises(NotFound):
        one.call("acme", "read", path="b.md")
    with monkeypatch.context() as patched:
        patched.setattr(objects, "exchange", gone)
        with pytest.raises(InDoubt):
            one.call("acme", "write", path="a.md", content="two")
        patched.setattr(objects, "newer", gone)
        with pytest.raises(ObjectsUnavailable):
            current(one)
    for tenants in two:
        assert tenants.call("acme", "read", path="a.md")["text"] == "one"
    one.call("acme", "write", path="a.md", content="three")
    current(other)
    assert other.call("acme", "read", path="a.md")["text"] == "three"


def test_a_transcript_is_few_segments_and_each_is_appended(
    two: tuple[Tenants, Tenants], objects: S3Objects
) -> None:
    messages = 3 * MOST_SEGMENTS + 5
    for number in range(messages):
        # read by turns, so that the copies are brought on by what is new
        writer = two[number % 2]
        message = {"role": "user", "content": f"Message {number} about tea."}
        writer.call("acme", "log", path="sessions/s", messages=[message])
    path = "sessions/s/messages.jsonl"
    current(two[1])
    found = two[1].call("acme", "messages", path=path, limit=1000)["messages"]
    texts = [one["text"] for one in found]
    assert texts == [f"Message {number} about tea." for number in range(messages)]
    manifest = Manifest.read(objects.read(f"manifests/{KEY}") or b"")
    assert 1 < len(manifest.files[path].segments) <= MOST_SEGMENTS
    # and nothing else is there
    assert {name for name, _ in objects.list(f"segments/{KEY}")} == manifest.segments()


@pytest.mark.parametrize("seed", range(3))
def test_a_growing_file_is_rewritten_seldom(seed: int) -> None:
    sizes: list[int] = []
    written = 0
    for number in range(2000):
        added = 1 + (number * 7919 + seed) % 50
        first = first_rewritten(sizes, added)
        sizes = [*sizes[:first], sum(sizes[first:]) + added]
        written += sizes[-1]
        assert len(sizes) <= MOST_SEGMENTS
    assert written < 12 * sum(sizes)


def test_what_is_forgotten_is_in_no_object(
    two: tuple[Tenants, Tenants], objects: S3Objects
) -> None:
    one, other = two
    one.call("acme", "write", path="a.md", content="- The dog is Rex.\n- Likes tea.\n")
    one.call("acme", "append", path="a.md", content="- More.\n")
    said = [{"role": "user", "content": "Rex barks."}, {"role": "user", "content": "Tea."}]
    one.call("acme", "log", path="sessions/s", messages=said)
    plan = one.call("acme", "forget", what=["rex"])
    assert one.call("acme", "forget", what=["rex"], token=plan["token"])["erased"]
    kept = [objects.read(name) or b"" for name, _ in objects.list(f"segments/{KEY}")]
    assert kept
    assert b"rex" not in b"".join(kept).lower()
    current(other)
    assert other.found("acme", "rex") == []


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
