"""Log of the files that are not indexed yet: the index lags behind these.

An entry is written before a file is changed and goes when the index has the change. A crash in
between leaves it, and whoever reads the log next indexes the file.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import msgspec

from commonplace.service.objects import ObjectStore

GRACE = 30.0
"""Seconds after which an entry of another process may go: its write has ended or will not come."""


class Pending(msgspec.Struct, frozen=True):
    """One entry: a tenant by its key, and the file that changes, or None for any of them."""

    tenant: str
    path: str | None
    name: str = ""
    age: float = 0.0


class PendingLog:
    """The log of all tenants.

    Args:
        objects: Where its entries are kept.
    """

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    def begin(self, tenant: str, path: str | None) -> Pending:
        """Note durably that a file is going to change."""
        name = f"pending/{tenant}.{uuid.uuid4().hex}"
        entry = Pending(tenant, path, name)
        self._objects.create(name, msgspec.json.encode({"tenant": tenant, "path": path}))
        return entry

    def end(self, entry: Pending) -> None:
        """Drop an entry: the index has the change."""
        self._objects.delete(entry.name)

    def entries(self) -> Iterator[Pending]:
        """Yield all entries, those of other processes too."""
        for name, age in self._objects.list("pending"):
            if (found := self._objects.read(name)) is not None:
                told = msgspec.json.decode(found)
                yield Pending(told["tenant"], told["path"], name, age)
