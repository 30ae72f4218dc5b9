"""A service in this process with callers of some tenants, for tests."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Self

from commonplace.protocols import Embedder
from commonplace.service.call_table import CALLS
from commonplace.service.calls import Caller
from commonplace.service.objects import VersionedObjects
from commonplace.service.opensearch import OpenSearch
from commonplace.service.process import Process
from commonplace.service.tokens import Grant
from commonplace.service.vector_field import VectorField

Json = dict[str, Any]
FRESHNESS_TIMEOUT = 600.0
"""Seconds until what was written has to be found."""


def wait_until(true: Any, seconds: float = 600.0) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.05)


class Tenants:
    """A process of the service, and a call by the name of a tenant.

    Args:
        folder: Its root.
        url: The search engine; None: without one.
        index: Name of the index there.
        grace: Seconds after which a write of another process has ended.
        objects: Where files are; None: below the root.
        replicas: Copies of each shard in the engine.
        timeout: Seconds that a call of the engine may take, on a machine with much else to do.
        search_timeout: Seconds that a request of a search may take; default: `timeout`.
        embedder: Makes vectors, which the engine keeps where it has k-NN.
    """

    def __init__(
        self,
        folder: Path,
        url: str | None,
        index: str = "test",
        *,
        grace: float = 2.0,
        objects: VersionedObjects | None = None,
        replicas: int = 0,
        timeout: float = 120.0,
        search_timeout: float | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        self.engine = None
        if url:
            self.engine = OpenSearch(
                url,
                prefix=index,
                replicas=replicas,
                shards=1,
                timeout=timeout,
                search_timeout=search_timeout or timeout,
                vectors=VectorField.of(embedder) if embedder else None,
            )
        self.process = Process(folder, self.engine, grace=grace, objects=objects, embedder=embedder)
        self._grants: dict[str, Grant] = {}

    def __enter__(self) -> Self:
        self.process.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.close()

    def grant(self, tenant: str) -> Grant:
        """Return what the token of a tenant allows."""
        if tenant not in self._grants:
            made = self.process.tokens.new(tenant, "test", ("read", "write", "forget"))
            self._grants[tenant] = made[1]
        return self._grants[tenant]

    def call(self, tenant: str, name: str, key: str | None = None, **body: Any) -> Json:
        """Make a call as this tenant."""
        caller = Caller(self.grant(tenant), key)
        data = json.dumps(body).encode(errors="surrogatepass")
        return CALLS[name].run(self.process.service, caller, data)

    def search(self, tenant: str, query: str, **body: Any) -> Json:
        """Return the answer of a search, which is not stale."""
        deadline = time.monotonic() + FRESHNESS_TIMEOUT
        answer = self.call(tenant, "search", query=query, **body)
        # a busy machine may take longer than a search waits
        while answer["freshness"] == "stale" and "fresh" in body and time.monotonic() < deadline:
            answer = self.call(tenant, "search", query=query, **body)
        return answer

    def found(self, tenant: str, query: str, **body: Any) -> list[str]:
        """Return the citations of what a search finds, which is not stale."""
        return [hit["citation"] for hit in self.search(tenant, query, **body)["hits"]]
