"""Durable small objects by name: what the service itself keeps, beside the files of its tenants.

Access tokens, the log of what is not indexed yet and answers to repeated requests are objects. The
interface is what an object store has too: read, write, create if absent, delete, list.
"""

from __future__ import annotations

import errno
import os
import re
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from commonplace.errors import Refused, StorageError

NAME = re.compile(r"[a-z]+(?:/[A-Za-z0-9][A-Za-z0-9_.-]{0,199}){1,2}")


class ObjectsUnavailable(StorageError):
    """The object store does not answer; nothing was changed."""

    code = "objects"


def checked_name(name: str) -> str:
    """Return the name of an object.

    Raises:
        Refused: It is none.
    """
    if not NAME.fullmatch(name):
        raise Refused(f"{name!r:.200} is no name of an object")
    return name


class ObjectStore(Protocol):
    """What is asked of a store of objects; names are `kind/name` or `kind/group/name`."""

    def read(self, name: str) -> bytes | None:
        """Return an object, or None when there is none."""

    def write(self, name: str, data: bytes) -> None:
        """Write an object, durably and all at once."""

    def create(self, name: str, data: bytes) -> bool:
        """Write an object unless there is one of this name; say whether it was written."""

    def delete(self, name: str) -> None:
        """Remove an object, if it is there."""

    def list(self, kind: str) -> Iterator[tuple[str, float]]:
        """Yield the names of a kind or group, each with its age in seconds by the store's clock."""


class VersionedObjects(ObjectStore, Protocol):
    """What is asked of a store that holds the files of tenants too: to compare and to swap."""

    def delete_all(self, names: Iterable[str]) -> None:
        """Remove objects, those that are there."""

    def newer(self, name: str, version: str) -> tuple[bytes, str] | None:
        """Return an object and its version, or None when it still is this version.

        Of an object that is not there the version is empty, as is the object.
        """

    def exchange(self, name: str, data: bytes, version: str) -> str | None:
        """Write an object if it still is this version, and return the new one, else None."""


class LocalObjects:
    """Objects as files of a folder, which several machines may share.

    Args:
        folder: Where they lie; it is made when it is not there.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def read(self, name: str) -> bytes | None:
        """Return an object, or None when there is none."""
        try:
            return self._path(name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes) -> None:
        """Write an object, durably and all at once."""
        path = self._path(name)
        new = self._written(path, data)
        new.replace(path)
        _sync(path.parent)

    def create(self, name: str, data: bytes) -> bool:
        """Write an object unless there is one of this name; say whether it was written."""
        path = self._path(name)
        new = self._written(path, data)
        try:
            # unlike a rename, it fails where there is one
            path.hardlink_to(new)
        except FileExistsError:
            return False
        finally:
            new.unlink()
        _sync(path.parent)
        return True

    def delete(self, name: str) -> None:
        """Remove an object, if it is there."""
        self._path(name).unlink(missing_ok=True)

    def list(self, kind: str) -> Iterator[tuple[str, float]]:
        """Yield the names of a kind or group, each with its age in seconds by the disk's clock."""
        folder = self._path(f"{kind}/x").parent
        if not folder.is_dir():
            return
        now = self._disk_time()
        for path in sorted(folder.iterdir()):
            # what is half written begins with a dot
            if path.name.startswith(".") or path.is_dir():
                continue
            with suppress(FileNotFoundError):
                yield f"{kind}/{path.name}", max(0.0, now - path.stat().st_mtime)

    def _path(self, name: str) -> Path:
        return self._folder / checked_name(name)

    def _written(self, path: Path, data: bytes) -> Path:
        """Write data to a new file beside its place, and return that file.

        Raises:
            StorageError: The system refused, as a full disk does; nothing is left of it.
        """
        new: Path | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=".", dir=path.parent)
            new = Path(name)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            if new:
                new.unlink(missing_ok=True)
            told = StorageError(f"the service could not keep what it has to: {error.strerror}")
            if error.errno in {errno.ENOSPC, errno.EDQUOT}:
                told.code = "nospace"
            raise told from error
        return new

    def _disk_time(self) -> float:
        """Return the time as the disk has it: machines that share it may differ."""
        with tempfile.NamedTemporaryFile(prefix=".", dir=self._folder) as probe:
            return max(os.fstat(probe.fileno()).st_mtime, time.time() - 86400)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
