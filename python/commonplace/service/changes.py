"""Changes of files, noted first and then indexed by threads; callers may wait for that."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager

from commonplace.errors import CommonplaceError, Conflict, InDoubt
from commonplace.service.indexer import Indexer, file_id
from commonplace.service.objects import ObjectStore, ObjectsUnavailable
from commonplace.service.opensearch import EngineUnavailable, IndexMissing, OpenSearch
from commonplace.service.pending import GRACE, Pending, PendingLog
from commonplace.service.stores import Stores
from commonplace.service.tenant_queue import TenantQueue

FILE_WORKERS, TENANT_WORKERS = 16, 2
"""Threads that index files, and others for whole tenants: a large one holds up no small change.

Most of the first wait for the engine, which gets the changes of several tenants in one request.
"""
WAITERS = 64
"""Threads that bring to the index what searches wait for, even if these wait no longer."""
SEEN_AFTER = 2.0
"""Seconds after which searches see what was indexed: the index refreshes each second."""
EVERYBODY = ""
"""In place of a tenant: the index has to be made anew, and all tenants in it."""
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
        self._files, self._tenants = TenantQueue(), TenantQueue()
        # the tenants of changes that wait, by entry, and when a change of each was indexed last
        self._own: dict[str, str] = {}
        self._indexed: dict[str, float] = {}
        self._rebuilding: set[str] = set()
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._seeing = ThreadPoolExecutor(WAITERS, "waiter")
        queues = [self._files] * FILE_WORKERS + [self._tenants] * TENANT_WORKERS
        self._threads = [
            threading.Thread(target=self._run, args=(one,), name="indexer", daemon=True)
            for one in queues
        ]
        self._threads.append(threading.Thread(target=self._sweep, name="sweeper", daemon=True))

    def start(self) -> None:
        """Begin with what the log has: what this process or another left behind."""
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop; what is not indexed stays in the log."""
        self._closed.set()
        self._files.close()
        self._tenants.close()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()
        self._seeing.shutdown(cancel_futures=True)

    def waiting(self) -> int:
        """Return how many changes of this process wait to be indexed."""
        return len(self._own)

    def lags(self, tenant: str) -> bool:
        """Say whether searches may not see a change that this process has acknowledged."""
        with self._lock:
            indexed = self._indexed.get(tenant)
            if indexed is not None and time.monotonic() - indexed > SEEN_AFTER:
                del self._indexed[tenant]
            return tenant in self._indexed or tenant in self._own.values()

    @contextmanager
    def changing(self, tenant: str, path: str | None) -> Iterator[None]:
        """Change a file, or any file of the tenant if `path` is None, and have it indexed."""
        entry = self._log.begin(tenant, path)
        with self._lock:
            self._own[entry.name] = tenant
        try:
            yield
        except InDoubt:
            self._put(entry)
            raise
        except CommonplaceError:
            # it says that nothing was changed
            self._end(entry)
            raise
        except BaseException:
            self._put(entry)
            raise
        self._put(entry)

    def rebuild(self, tenant: str) -> None:
        """Have all files of a tenant compared with the index, in the background, once at a time."""
        with self._lock:
            if tenant in self._rebuilding:
                return
            self._rebuilding.add(tenant)
        # it needs no entry in the log: the engine tells that the tenant is not complete
        self._tenants.put(Pending(tenant, None))

    def restore(self) -> None:
        """Rebuild the index from all files of all tenants, in the background."""
        self._tenants.put(Pending(EVERYBODY, None))

    def see(self, tenant: str, paths: list[str], timeout: float) -> bool:
        """Wait until searches see these files as they are now; say whether they do in time."""
        # a request to the engine may take longer; what it has begun is of use to the next search
        seeing = self._seeing.submit(self._see_or_restore, tenant, paths, timeout)
        wait([seeing], timeout)
        seeing.cancel()
        return seeing.done() and not seeing.cancelled() and seeing.result()

    def _see_or_restore(self, tenant: str, paths: list[str], timeout: float) -> bool:
        try:
            return self._see(tenant, paths, timeout)
        except IndexMissing:
            self.restore()
            raise

    def _see(self, tenant: str, paths: list[str], timeout: float) -> bool:
        deadline = time.monotonic() + timeout
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

    def _put(self, entry: Pending) -> None:
        (self._tenants if entry.path is None else self._files).put(entry)

    def _run(self, queue: TenantQueue) -> None:
        """Index what a queue has, a batch of one tenant at a time."""
        while entries := queue.take():
            everybody = entries[0].tenant == EVERYBODY
            indexed = self._make_anew() if everybody else self._index(entries)
            queue.done(entries, failed=not indexed)

    def _index(self, entries: Sequence[Pending]) -> bool:
        """Index what entries of a tenant name, and drop them; say whether that could be done."""
        tenant = entries[0].tenant
        paths = {entry.path for entry in entries}
        try:
            if None in paths:
                self._indexer.rebuild(tenant)
                with self._lock:
                    self._rebuilding.discard(tenant)
            else:
                self._indexer.index(tenant, [path for path in paths if path is not None])
        except IndexMissing:
            self.restore()
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
            with self._lock:
                self._indexed[tenant] = time.monotonic()
            if entry.name in self._own or not entry.name or entry.age > self._grace:
                self._end(entry)
        return True

    def _make_anew(self) -> bool:
        """Make the index, and have all tenants indexed; say whether that could be done."""
        log.warning("the index is gone; it is made anew from the files")
        try:
            self._engine.prepare()
            for tenant in self._stores.tenants():
                self.rebuild(tenant)
        except CommonplaceError as error:
            log.warning("the index is not made anew yet: %s", error)
            return False
        return True

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
                        self._put(entry)
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
            self._own.pop(entry.name, None)


__all__ = ["Changes", "file_id"]
