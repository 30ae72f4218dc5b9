"""The engine of a tenant with changes of its own, for the conformance tests of engines."""

from __future__ import annotations

from pathlib import Path

from commonplace._core import CollectionStats, QueryNames
from commonplace.engines import EngineStats
from commonplace.service.searcher import Searcher, TenantEngine
from tests.opensearch.tenants import Tenants


class WholeEngine(TenantEngine):
    """What is added is written to the tenant's files, and a commit brings them into the index."""

    def __init__(self, tenants: Tenants, tenant: str) -> None:
        assert tenants.engine
        self._engine = tenants.engine
        self._key = tenants.grant(tenant).key
        super().__init__(Searcher(tenants.engine), self._key)
        self._tenants = tenants
        tenants.engine.prepare()
        self.commit()

    def _file(self, path: str) -> Path:
        return self._tenants.process.stores.folder / self._key / path

    def add(self, path: str, data: bytes) -> int:
        """Write a file."""
        file = self._file(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        return 0

    def remove(self, path: str) -> None:
        """Remove a file."""
        self._file(path).unlink(missing_ok=True)

    def commit(self) -> None:
        """Index what has changed."""
        self._tenants.process.indexer.rebuild(self._key)
        self.refresh()

    def refresh(self) -> None:
        """See what others have committed."""
        self._engine.refresh()

    def statistics(self, names: QueryNames) -> CollectionStats:
        """Return the statistics, which are never kept from an earlier query here."""
        return self._searcher.statistics(self._key, names, {}, tools=False)[0]

    def stats(self) -> EngineStats:
        """Return how many documents there are."""
        counted = self.statistics(QueryNames("x"))
        return EngineStats(files=0, documents=counted.documents, bytes=0)
