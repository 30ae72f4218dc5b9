"""Changes of files and their way into the index: noted first, indexed by a thread, waited for."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from commonplace.errors import CommonplaceError, Conflict, InDoubt
from commonplace.service.indexer import Indexer, file_id
from commonplace.service.objects import ObjectStore, ObjectsUnavailable
from commonplace.service.opensearch import EngineUnavailable, IndexMissing, OpenSearch
from commonplace.service.pending import GRACE, Pending, PendingLog
from commonplace.service.stores import Stores

BATCH = 256
LONGEST_PAUSE = 5.0
log = logging.getLogger(__name__)


class Changes:
    """Indexes what changes, in the background, and again until the index has it.

    Args:
        objects: Where the log of what is not indexed yet is kept.
        engine: The search engine.
        indexer: Brings files into it.
        stores: Of the tenants.
        grace: Seconds after which a write of another process has ended or will not.
    """

    def __init__(
        self,
        objects: ObjectStore,
        engine: OpenSearch,
        indexer: Indexer,
        stores: Stores,
        grace: float = GRACE,
    ) -> None:
        self._log = PendingLog(objects)
        self._engine, self._indexer, self._stores = engine, indexer, stores
        self._grace = grace
        self._queue: queue.SimpleQueue[Pending | None] = queue.SimpleQueue()
        self._own: set[str] = set()
        self._rebuilding: set[str] = set()
        self._lock = threading.Lock()
        self._closed, self._missing = threading.Event(), threading.Event()
        self._threads = [
            threading.Thread(target=self._run, name="indexer", daemon=True),
            threading.Thread(target=self._sweep, name="sweeper", daemon=True),
        ]

    def start(self) -> None:
        """Begin with what the log has: what this process or another left behind."""
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop; what is not indexed stays in the log."""
        self._closed.set()
        self._queue.put(None)
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def waiting(self) -> int:
        """Return how many changes of this process wait to be indexed."""
        return len(self._own)

    @contextmanager
    def changing(self, tenant: str, path: str | None) -> Iterator[None]:
        """Change a file, or any file of the tenant if `path` is None, and have it indexed."""
        entry = self._log.begin(tenant, path)
        with self._lock:
            self._own.add(entry.name)
        try:
            yield
        except InDoubt:
            self._queue.put(entry)
            raise
        except CommonplaceError:
            # it says that nothing was changed
            self._end(entry)
            raise
        except BaseException:
            self._queue.put(entry)
            raise
        self._queue.put(entry)

    def rebuild(self, tenant: str) -> None:
        """Have all files of a tenant compared with the index, in the background, once at a time."""
        with self._lock:
            if tenant in self._rebuilding:
                return
            self._rebuilding.add(tenant)
        # it needs no entry in the log: the engine tells that the tenant is not complete
        self._queue.put(Pending(tenant, None))

    def restore(self) -> None:
        """Make the index anew, and have all tenants indexed, in the background."""
        self._missing.set()
        self._queue.put(None)

    def see(self, tenant: str, paths: list[str], patience: float) -> bool:
        """Wait until searches see these files as they are now; say whether they do in time."""
        try:
            return self._see(tenant, paths, patience)
        except IndexMissing:
            self.restore()
            raise

    def _see(self, tenant: str, paths: list[str], patience: float) -> bool:
        deadline = time.monotonic() + patience
        with self._stores.of(tenant, now=True) as store:
            while True:
                versions = {path: store.file_version(path) for path in paths}
                if not (left := self._unseen(tenant, versions)):
                    return True
                if time.monotonic() >= deadline:
                    return False
                try:
                    self._indexer.index(tenant, left)
                    self._engine.refresh()
                except CommonplaceError:
                    time.sleep(0.05)

    def _unseen(self, tenant: str, versions: dict[str, str]) -> list[str]:
        """Return the files that searches do not see as they are now."""
        body = {
            "query": {
                "bool": {"filter": [{"term": {"kind": "file"}}, {"terms": {"path": [*versions]}}]}
            },
            "size": len(versions),
            "_source": ["tenant", "path", "version", "done"],
        }
        hits = self._engine.search(tenant, [body])[0]["hits"]["hits"]
        found = {hit["_source"]["path"]: hit["_source"] for hit in hits}
        return [
            path
            for path, version in versions.items()
            if not (path in found and found[path]["done"]) or found[path]["version"] != version
        ]

    # Threads

    def _run(self) -> None:
        """Index what the queue has, a batch of each tenant at a time."""
        pause = 0.05
        while not self._closed.is_set():
            batch = self._batch()
            if self._missing.is_set():
                self._missing.clear()
                self._make_anew()
            by_tenant: dict[str, list[Pending]] = defaultdict(list)
            for entry in batch:
                by_tenant[entry.tenant].append(entry)
            failed = False
            for tenant, entries in by_tenant.items():
                if self._closed.is_set():
                    return
                if not self._index(tenant, entries):
                    failed = True
                    for entry in entries:
                        self._queue.put(entry)
            if failed:
                self._closed.wait(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
            else:
                pause = 0.05

    def _index(self, tenant: str, entries: Iterable[Pending]) -> bool:
        """Index what entries name, and drop them; say whether that could be done."""
        paths = {entry.path for entry in entries}
        try:
            if None in paths:
                self._indexer.rebuild(tenant)
                with self._lock:
                    self._rebuilding.discard(tenant)
            else:
                self._indexer.index(tenant, [path for path in paths if path is not None])
        except IndexMissing:
            self._make_anew()
            return False
        except (EngineUnavailable, ObjectsUnavailable) as error:
            log.warning("the index waits: %s", error)
            return False
        except Conflict:
            log.warning("the index waits: a file changed each time it was indexed")
            return False
        except Exception:
            # nothing that a file holds may end this thread; the entry stays in the log
            log.exception("a file could not be indexed")
            return False
        for entry in entries:
            if entry.name in self._own or not entry.name or entry.age > self._grace:
                self._end(entry)
        return True

    def _make_anew(self) -> None:
        """Make the index, and have all tenants indexed."""
        log.warning("the index is gone; it is made anew from the files")
        try:
            self._engine.prepare()
        except CommonplaceError as error:
            log.warning("the index could not be made: %s", error)
            return
        try:
            for tenant in self._stores.tenants():
                self.rebuild(tenant)
        except CommonplaceError as error:
            log.warning("not all tenants are indexed anew: %s", error)
            self._missing.set()

    def _batch(self) -> list[Pending]:
        """Return entries of the queue, at least one."""
        found = [self._queue.get()]
        while len(found) < BATCH and not self._queue.empty():
            found.append(self._queue.get())
        return [entry for entry in found if entry is not None]

    def _sweep(self) -> None:
        """Take up what other processes have left in the log, now and then."""
        queued: set[str] = set()
        while True:
            known = set()
            try:
                for entry in self._log.entries():
                    known.add(entry.name)
                    old = entry.age > self._grace
                    if entry.name not in self._own and (old or entry.name not in queued):
                        queued.add(entry.name)
                        self._queue.put(entry)
                queued &= known
            except (CommonplaceError, OSError) as error:
                log.warning("the log of changes cannot be read now: %s", error)
            if self._closed.wait(self._grace / 2):
                return

    def _end(self, entry: Pending) -> None:
        if entry.name:
            try:
                self._log.end(entry)
            except (CommonplaceError, OSError) as error:
                # it stays, and is indexed once more
                log.warning("the log of changes cannot be written now: %s", error)
        with self._lock:
            self._own.discard(entry.name)


__all__ = ["Changes", "file_id"]
