"""Copies of tenants' roots on this machine, in a folder of this process alone."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from commonplace.service.objects import VersionedObjects
from commonplace.service.replica import Replica

READERS = 16
"""Segments that are read side by side."""


class Replicas:
    """The copies that this process has.

    Args:
        objects: Where the truth is.
        folder: Below it each process has a folder of its own; those of processes that have ended
            are removed.
    """

    def __init__(self, objects: VersionedObjects, folder: Path) -> None:
        self._objects = objects
        self._threads = ThreadPoolExecutor(READERS, "replica")
        folder.mkdir(parents=True, exist_ok=True)
        # a folder that is made, and not held yet, is removed by nobody
        with _locked(folder):
            self.folder = Path(tempfile.mkdtemp(dir=folder))
            """Below it each copy lies, named by the key of its tenant."""
            self._held = (self.folder / ".held").open("wb")
            fcntl.flock(self._held, fcntl.LOCK_EX)
            for other in folder.iterdir():
                if other != self.folder:
                    _remove_unheld(other)

    def tenants(self) -> Iterator[str]:
        """Yield the keys of all tenants that have files."""
        for name, _ in self._objects.list("manifests"):
            yield name.removeprefix("manifests/")

    def copy_of(self, tenant: str) -> Replica:
        """Return the copy of a tenant, made now."""
        return Replica(self._objects, tenant, self.folder / tenant, self._threads)

    def drop(self, tenant: str) -> None:
        """Remove the copy of a tenant, which nobody uses."""
        for place in (self.folder / tenant, self.folder / f"{tenant}.new"):
            shutil.rmtree(place, ignore_errors=True)

    def close(self) -> None:
        """Remove all copies."""
        self._threads.shutdown()
        shutil.rmtree(self.folder, ignore_errors=True)
        self._held.close()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Have a folder for this process alone."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _remove_unheld(folder: Path) -> None:
    """Remove the folder of a process unless it runs."""
    with suppress(OSError), (folder / ".held").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
