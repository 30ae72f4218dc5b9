"""Objects in a bucket: conditional writes, names and errors."""

from __future__ import annotations

import fcntl
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from commonplace.errors import (
    InvalidArgument,
    Refused,
)
from commonplace.service.objects import ObjectsUnavailable
from commonplace.service.replicas import Replicas
from commonplace.service.s3 import S3Objects


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
