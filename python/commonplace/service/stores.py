"""Stores of the tenants: a root folder for each, opened when it is first needed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from commonplace.errors import NotFound, Refused
from commonplace.service.replica import Replica
from commonplace.service.replicas import Replicas
from commonplace.service.scope import KEY
from commonplace.store import Store

MOST_OPEN = 200
"""Stores that stay open; each takes a few file descriptors, and memory once it is searched here."""
GONE = "gone"
"""The version of a file that is not there."""


class TenantRoot(Store):
    """The store of a tenant, which may be the copy of a root in an object store."""

    tenant = ""
    """The key of the tenant."""
    replica: Replica | None = None
    maker: Any = None
    """What makes its vectors for the engine, once some were asked for."""

    def file_version(self, path: str) -> str:
        """Return what tells this state of a file from others, without reading it.

        It is `ID-SIZE…`, in hexadecimal; a file that was appended to keeps its id.
        """
        if self.replica:
            return self.replica.version(path) or GONE
        try:
            stamp = self.stamp(path)
        except (NotFound, Refused):
            return GONE
        return f"{stamp.inode:x}-{stamp.size:x}-{stamp.modified_ns:x}"


class _Open:
    """A store that is opened, and how many calls use it."""

    def __init__(self) -> None:
        self.store: TenantRoot | None = None
        self.lock = threading.Lock()
        self.users = 0


class Stores:
    """The stores of all tenants, of which the ones used last stay open.

    Args:
        folder: Below it each tenant has a root, named by its key.
        open_store: Opens one, given its key and its root.
        most: How many stay open.
        replicas: Copies of the roots, where the truth is in an object store.
    """

    def __init__(
        self,
        folder: Path,
        open_store: Callable[[str, Path], TenantRoot],
        most: int = MOST_OPEN,
        replicas: Replicas | None = None,
    ) -> None:
        self._folder, self._open_store, self._most = folder, open_store, most
        self._replicas = replicas
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def of(self, tenant: str, *, now: bool = False) -> Iterator[TenantRoot]:
        """Lend the store of a tenant.

        Args:
            tenant: Its key.
            now: See what other processes have changed to this moment, not to a moment ago.

        Raises:
            ObjectsUnavailable: The object store that has its files does not answer.
        """
        with self._lock:
            used = self._open.setdefault(tenant, _Open())
            self._open.move_to_end(tenant)
            used.users += 1
        try:
            with used.lock:
                store = used.store = used.store or self._opened(tenant)
            if store.replica:
                store.replica.refresh(now=now)
            yield store
        finally:
            with self._lock:
                used.users -= 1
                self._close_some(self._most)

    @contextmanager
    def changing(self, tenant: str, path: str | None) -> Iterator[None]:
        """Change a file, or any if `path` is None, where the truth is.

        Raises:
            ObjectsUnavailable: The object store does not answer; nothing was changed.
            Busy: Another process has changed the same file; nothing was changed.
            InDoubt: It is not known whether the change was made.
        """
        with self.of(tenant) as store:
            if store.replica is None:
                yield
                return
            with store.replica.changing(grows=path is not None):
                yield

    def tenants(self) -> Iterator[str]:
        """Yield the keys of all tenants that have a root."""
        if self._replicas:
            yield from self._replicas.tenants()
            return
        for path in sorted(self._folder.iterdir()):
            if KEY.fullmatch(path.name):
                yield path.name

    @property
    def folder(self) -> Path:
        """The folder below which the roots are."""
        return self._folder

    def root(self, tenant: str) -> Path:
        """Return the root of a tenant as its store names it: in full, and without links."""
        used = self._open.get(tenant)
        return used.store.root if used and used.store else self._folder / tenant

    def open_count(self) -> int:
        """Return how many stores are open."""
        return len(self._open)

    def close(self) -> None:
        """Close all that nobody uses; copies go, unless a call still works on one."""
        with self._lock:
            self._close_some(0)
            used = bool(self._open)
        # to such a call a file of a copy that goes would look removed
        if self._replicas and not used:
            self._replicas.close()

    def _opened(self, tenant: str) -> TenantRoot:
        if self._replicas is None:
            return self._open_store(tenant, self._folder / tenant)
        replica = self._replicas.copy_of(tenant)
        replica.refresh()
        store = self._open_store(tenant, self._folder / tenant)
        store.replica = replica
        return store

    def _close_some(self, most: int) -> None:
        if len(self._open) <= most:
            return
        idle = [key for key, one in self._open.items() if not one.users]
        for key in idle[: len(self._open) - most]:
            store = self._open.pop(key).store
            if store:
                store.close()
            if self._replicas:
                self._replicas.drop(key)
