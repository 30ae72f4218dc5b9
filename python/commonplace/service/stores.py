"""Stores of the tenants: a root folder for each, opened when it is first needed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from commonplace.service.scope import KEY
from commonplace.store import Store

MOST_OPEN = 200
"""Stores that stay open; each takes a few file descriptors, and memory once it is searched here."""


class _Open:
    """An open store, and how many calls use it."""

    def __init__(self, store: Store) -> None:
        self.store, self.users = store, 0


class Stores:
    """The stores of all tenants, of which the ones used last stay open.

    Args:
        folder: Below it each tenant has a root, named by its key.
        open_store: Opens one, given its key and its root.
        most: How many stay open.
    """

    def __init__(
        self, folder: Path, open_store: Callable[[str, Path], Store], most: int = MOST_OPEN
    ) -> None:
        self._folder, self._open_store, self._most = folder, open_store, most
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def of(self, tenant: str) -> Iterator[Store]:
        """Lend the store of a tenant."""
        with self._lock:
            used = self._open.get(tenant)
            if used is None:
                used = _Open(self._open_store(tenant, self._folder / tenant))
                self._open[tenant] = used
            self._open.move_to_end(tenant)
            used.users += 1
        try:
            yield used.store
        finally:
            with self._lock:
                used.users -= 1
                self._close_some(self._most)

    def tenants(self) -> Iterator[str]:
        """Yield the keys of all tenants that have a root."""
        for path in sorted(self._folder.iterdir()):
            if KEY.fullmatch(path.name):
                yield path.name

    @property
    def folder(self) -> Path:
        """The folder below which the roots are."""
        return self._folder

    def open_count(self) -> int:
        """Return how many stores are open."""
        return len(self._open)

    def close(self) -> None:
        """Close all that nobody uses."""
        with self._lock:
            self._close_some(0)

    def _close_some(self, most: int) -> None:
        idle = [key for key, one in self._open.items() if not one.users]
        for key in idle[: max(0, len(self._open) - most)]:
            self._open.pop(key).store.close()
