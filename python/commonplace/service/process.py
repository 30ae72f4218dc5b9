"""One process of the service: stores, engine, indexing, tokens, limits, metrics."""

from __future__ import annotations

import logging
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.service.calls import Service
from commonplace.service.changes import Changes
from commonplace.service.idempotency import Repeatable
from commonplace.service.indexer import Indexer
from commonplace.service.limits import Limits
from commonplace.service.metrics import Metrics
from commonplace.service.objects import LocalObjects, ObjectStore, VersionedObjects
from commonplace.service.opensearch import EngineUnavailable, OpenSearch
from commonplace.service.pending import GRACE
from commonplace.service.replicas import Replicas
from commonplace.service.searcher import Searcher
from commonplace.service.stores import Stores
from commonplace.service.tenant_store import TenantStore
from commonplace.service.tokens import Tokens

if TYPE_CHECKING:
    from commonplace.protocols import Embedder

log = logging.getLogger(__name__)


class Process:
    """What one process of the service is made of.

    Args:
        root: The folder that holds the memories of all tenants, and what the service keeps.
        engine: The search engine; None: each store ranks by its own index.
        limits: How often a tenant may call.
        objects: Where the files of tenants are, and what the service keeps; None: below `root`,
            which else has only copies.
        grace: Seconds after which a write of another process has ended or will not.
        embedder: Makes vectors; None: that of `commonplace[embed]` where the environment wants it.
        keep_secrets: Do not redact what tenants log and what their tools write.
    """

    def __init__(
        self,
        root: Path,
        engine: OpenSearch | None = None,
        *,
        limits: Limits | None = None,
        objects: VersionedObjects | None = None,
        grace: float = GRACE,
        embedder: Embedder | None = None,
        keep_secrets: bool = False,
    ) -> None:
        self.objects: ObjectStore = objects or LocalObjects(root / "service")
        self.tokens = Tokens(self.objects)
        self.limits = limits or Limits()
        self.metrics = Metrics()
        self.engine, self.embedder = engine, embedder
        searcher = Searcher(engine) if engine else None

        def open_store(tenant: str, folder: Path) -> TenantStore:
            store = TenantStore(folder, tenant, searcher, keep_secrets=keep_secrets)
            store.embedder = embedder
            return store

        replicas = Replicas(objects, root / "copies") if objects else None
        folder = replicas.folder if replicas else root / "tenants"
        self.stores = Stores(folder, open_store, replicas=replicas)
        self.changes: Changes | None = None
        if engine:
            self.indexer = Indexer(engine, self.stores, embedder)
            self.changes = Changes(self.objects, engine, self.indexer, self.stores, grace)
            self.metrics.gauge(
                "changes_waiting", "Changes that wait to be indexed.", self.changes.waiting
            )
        if searcher and self.changes:
            searcher.on_incomplete = self.changes.rebuild
            searcher.on_missing = self.changes.restore
        self.metrics.gauge("stores_open", "Stores that are open.", self.stores.open_count)
        repeatable = Repeatable(self.objects, uuid.uuid4().hex, grace)
        self.service = Service(self.stores, self.changes, repeatable)

    def start(self) -> None:
        """Begin to index; an engine that does not answer is looked for later.

        Raises:
            FormatError: The index was made by another version.
        """
        if self.changes and self.engine:
            try:
                self.engine.prepare()
            except EngineUnavailable as error:
                log.warning("%s", error)
            self.changes.start()

    def close(self) -> None:
        """Stop, and close what is open."""
        if self.changes:
            self.changes.close()
        self.stores.close()
        if self.engine:
            self.engine.close()
