"""Client of OpenSearch by plain HTTP and JSON, in the form that managed services take as well.

Nothing here knows what a document means, and no call that touches documents is made but by
`commonplace.service.scope`.
"""

# Longer than 350 lines: the requests of one client, each with what it may answer.

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import chain
from typing import Any, TypeVar

from commonplace.errors import FormatError
from commonplace.service import scope
from commonplace.service.engine_http import (
    ATTEMPTS,
    RETRIED,
    EngineHttp,
    EngineUnavailable,
    as_lines,
    reason,
)
from commonplace.service.engine_query import FIELDS
from commonplace.service.grouped_requests import GroupedRequests
from commonplace.service.scope import Call, Get, Put, Remove, Search
from commonplace.service.vector_field import VectorField

MAPPING_VERSION = 1
"""Raised when documents are indexed in another way; then all are indexed anew (`serve reindex`)."""
MAPPING: dict[str, Any] = {
    "_meta": {"commonplace": MAPPING_VERSION},
    "dynamic": False,
    "_routing": {"required": True},
    # what is scored is never read back
    "_source": {"excludes": ["features", "names", "vector_*"]},
    "properties": {
        "tenant": {"type": "keyword"},
        "kind": {"type": "keyword"},
        "path": {"type": "keyword"},
        "folders": {"type": "keyword"},
        "source": {"type": "keyword"},
        "role": {"type": "keyword"},
        "session": {"type": "keyword"},
        "category": {"type": "keyword"},
        "time": {"type": "long"},
        "start": {"type": "long"},
        "place": {"type": "integer"},
        "turn": {"type": "integer"},
        "names": {"type": "keyword", "doc_values": False},
        "features": {"type": "rank_features"},
        "lengths": {"properties": {name: {"type": "integer"} for name in FIELDS}},
    },
}
WITHOUT_KNN = (
    "the index has no k-NN: vectors stay beside the files. Where the engine has it, as the plugin "
    "opensearch-knn, `commonplace serve reindex` brings them into the index"
)
BULK_BYTES = 1 << 20
"""Bytes of a bulk request: a node that is busy has to answer it in time."""
AT_ONCE = 3
"""Bulk requests of one write that wait for their answers: the engine indexes some on each core."""
SEARCH_TIMEOUT = 3.0
READ_AT_ONCE = 1024
"""Documents of a request that reads them."""

log = logging.getLogger(__name__)
Found = TypeVar("Found")
Batch = list[bytes]
"""Lines of a bulk request for each call."""


class IndexMissing(EngineUnavailable):
    """The index or a tenant's alias is not there; it is made anew from the files."""


class OpenSearch:
    """One index of a cluster, with an alias for each tenant.

    Args:
        url: Where it answers; several nodes are separated by commas.
        prefix: What the names of the index and its aliases begin with.
        replicas: Copies of each shard; 1 survives the loss of a node.
        shards: Of a new index.
        timeout: Seconds that a call may take.
        search_timeout: Seconds that a request of a search may take: somebody waits for it.
        vectors: The field for those of an embedder; None: the index has none.
    """

    def __init__(
        self,
        url: str,
        *,
        prefix: str = "commonplace",
        replicas: int = 1,
        shards: int = 3,
        timeout: float = 10.0,
        search_timeout: float = SEARCH_TIMEOUT,
        vectors: VectorField | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.prefix = prefix
        self.vectors: VectorField | None = None
        """The field for vectors, once it is known that the index has it."""
        self._wanted = vectors
        self.http = EngineHttp(url, timeout, sleep)
        self.search_timeout = search_timeout
        self._replicas, self._shards = replicas, shards
        self._aliases: set[str] = set()
        self._lock = threading.Lock()
        self._bulk_items = GroupedRequests(self._send_bulk, len, BULK_BYTES)
        self._documents = GroupedRequests(self._send_mget, lambda _: 1, READ_AT_ONCE)

    # The index

    @property
    def index(self) -> str:
        """The name under which the index of this mapping is found, itself an alias."""
        return f"{self.prefix}-current"

    def prepare(self) -> None:
        """Make the index if it is not there, and check that it is of this form.

        Raises:
            FormatError: It was made by another version.
            EngineUnavailable: The engine does not answer.
        """
        status, found = self.http.send("GET", f"/{self.index}/_mapping", None)
        if status == 404:
            self.make(f"{self.prefix}-1", current=True)
            return
        for name, told in found.items():
            made = told["mappings"].get("_meta", {}).get("commonplace")
            if made != MAPPING_VERSION:
                raise FormatError(_of_another_form(name, made))
        self._add_vectors()

    def _add_vectors(self) -> None:
        """Give the index the field for vectors, if it was made with k-NN."""
        if self._wanted is None or self.vectors:
            return
        _, found = self.http.send("GET", f"/{self.index}/_settings", None)
        with_knn = [told["settings"]["index"].get("knn") == "true" for told in found.values()]
        body = {"properties": self._wanted.properties()}
        if all(with_knn) and self.http.send("PUT", f"/{self.index}/_mapping", body)[0] == 200:
            self.vectors = self._wanted
            return
        log.warning("%s", WITHOUT_KNN)

    def make(self, name: str, *, current: bool = False) -> None:
        """Make an index.

        Args:
            name: Of the index.
            current: Give it the name by which it is used.
        """
        settings = {
            "number_of_shards": self._shards,
            "number_of_replicas": self._replicas,
            "refresh_interval": "1s",
            # a filter of a query is a clause a name
            "index.max_terms_count": 65536,
        }
        body: dict[str, Any] = {"settings": settings, "mappings": MAPPING}
        if current:
            body["aliases"] = {self.index: {"is_write_index": True}}
        status, told = 400, dict[str, Any]()
        if self._wanted:
            properties = {**MAPPING["properties"], **self._wanted.properties()}
            mapping = {**MAPPING, "properties": properties}
            near = {**body, "settings": {**settings, "index.knn": True}, "mappings": mapping}
            status, told = self.http.send("PUT", f"/{name}", near)
        if status == 400 and "already_exists" not in str(told):
            # an engine without k-NN knows neither the setting nor the type
            status, told = self.http.send("PUT", f"/{name}", body)
        # another process may have made it at the same time
        if status != 200 and "already_exists" not in str(told):
            raise EngineUnavailable(f"the index could not be made: {reason(told)}")
        with self._lock:
            self._aliases.clear()
        if current:
            self._add_vectors()

    def shadow(self) -> OpenSearch:
        """Make a second index, and return a client of it; searches go on in the first one."""
        old = self._physical(self.index)
        number = int(old.rpartition("-")[2]) + 1
        other = OpenSearch(
            self.http.url,
            prefix=f"{self.prefix}-next",
            replicas=self._replicas,
            shards=self._shards,
            timeout=self.http.timeout,
            search_timeout=self.search_timeout,
            vectors=self._wanted,
        )
        self.http.send("DELETE", f"/{self.prefix}-{number}", None)
        other.make(f"{self.prefix}-{number}", current=True)
        return other

    def swap(self, other: OpenSearch, tenants: Iterable[str]) -> None:
        """Serve from the index of a shadow, all at once, and remove the one before."""
        old, new = self._physical(self.index), self._physical(other.index)
        actions: list[dict[str, Any]] = [
            {"remove": {"index": old, "alias": self.index}},
            {"remove": {"index": new, "alias": other.index}},
            {"add": {"index": new, "alias": self.index, "is_write_index": True}},
        ]
        for tenant in tenants:
            for index, prefix in ((old, self.prefix), (new, other.prefix)):
                alias = scope.alias_of(prefix, tenant)
                if self.http.send("HEAD", f"/{index}/_alias/{alias}", None)[0] == 200:
                    actions.append({"remove": {"index": index, "alias": alias}})
            actions.append(scope.alias_action(new, self.prefix, tenant))
        status, told = self.http.send("POST", "/_aliases", {"actions": actions})
        if status != 200:
            raise EngineUnavailable(f"the indexes could not be exchanged: {reason(told)}")
        self.vectors = other.vectors
        self.http.send("DELETE", f"/{old}", None)

    def _physical(self, alias: str) -> str:
        status, found = self.http.send("GET", f"/_alias/{alias}", None)
        if status != 200 or not found:
            raise IndexMissing(f"there is no index {alias}")
        return next(iter(found))

    def admit(self, tenant: str, timeout: float | None = None) -> None:
        """Make the alias of a tenant, if this process has not seen it."""
        if tenant in self._aliases:
            return
        # a tenant of an index that is gone must not make an index of the alias's name
        if not self.has_alias(tenant, timeout):
            action = scope.alias_action(self._physical(self.index), self.prefix, tenant)
            status, told = self.http.send("POST", "/_aliases", {"actions": [action]})
            if status == 404:
                raise IndexMissing("the index is gone; it is made anew from the files")
            if status != 200:
                raise EngineUnavailable(f"a tenant's alias could not be made: {reason(told)}")
        with self._lock:
            self._aliases.add(tenant)

    def has_alias(self, tenant: str, timeout: float | None = None) -> bool:
        """Say whether the index has the alias of a tenant: it has had files."""
        alias = scope.alias_of(self.prefix, tenant)
        return self.http.send("HEAD", f"/_alias/{alias}", None, timeout)[0] != 404

    def forget_aliases(self) -> None:
        """Look anew for the index and the aliases: somebody has removed them."""
        with self._lock:
            self._aliases.clear()

    def refresh(self) -> None:
        """Let searches see what was written."""
        status, told = self.http.send("POST", f"/{self.index}/_refresh", None)
        if status == 404:
            raise IndexMissing("the index is gone; it is made anew from the files")
        if status != 200:
            raise EngineUnavailable(f"the engine could not refresh: {reason(told)}")

    def load_in_bulk(self, *, on: bool) -> None:
        """Let the engine refresh when told alone and sync its log by time, while much is loaded."""
        refresh, durability = ("-1", "async") if on else ("1s", "request")
        settings = {"refresh_interval": refresh, "translog.durability": durability}
        status, told = self.http.send("PUT", f"/{self.index}/_settings", {"index": settings})
        if status != 200:
            raise EngineUnavailable(f"the index could not be set: {reason(told)}")
        if not on:
            # A node starts from the last commit that is not ahead of the checkpoint in its log, and
            # the checkpoint is written after the commit: so from the first of two. Else it would
            # index all of it once more from its log.
            for path in ("_flush", "_flush?force=true"):
                self.http.send("POST", f"/{self.index}/{path}", None)

    def state(self) -> str:
        """Return `ok`, or `unavailable`; for a health check, in a second at most."""
        return "ok" if self.http.is_alive(1.0) else "unavailable"

    def close(self) -> None:
        """Close the connections."""
        self.http.close()

    # Documents, by `scoped` alone

    def write(self, tenant: str, calls: Iterable[Put | Remove]) -> list[int]:
        """Write and remove documents, each once; calls that failed for a while are repeated.

        They are made in no certain order, and where it fails, each may be done or not. The next
        documents are encoded while the engine indexes some.

        Returns:
            The status of each call: 2xx, 404 for what was not there, 409 where a later generation
            is there.

        Raises:
            EngineUnavailable: Not all were done; they can be repeated.
        """
        self.admit(tenant)
        batches = _batches(tenant, self.prefix, calls)
        batch, following = next(batches, []), next(batches, None)
        if following is None:
            return self._written(tenant, batch)
        statuses: list[int] = []
        waiting: deque[Future[list[int]]] = deque()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for one in chain([batch, following], batches):
                if len(waiting) == AT_ONCE:
                    statuses += waiting.popleft().result()
                waiting.append(pool.submit(self._written, tenant, one))
            return statuses + [status for one in waiting for status in one.result()]

    def _written(self, tenant: str, batch: Batch) -> list[int]:
        return self._again(tenant, partial(self._bulk, batch)) if batch else []

    def read(self, tenant: str, ids: Sequence[str]) -> list[dict[str, Any] | None]:
        """Return documents by their ids as they were written last, None for what is not there."""
        if not ids:
            return []
        return self._again(tenant, lambda: self._read(tenant, ids))

    def _read(self, tenant: str, ids: Sequence[str]) -> list[dict[str, Any] | None]:
        lines = [scope.scoped(self.prefix, tenant, Get(one))[0] for one in ids]
        found: list[dict[str, Any] | None] = []
        for doc in self._documents(lines):
            if "error" in doc:
                raise self._failure(doc["error"])
            if doc.get("found"):
                scope.own_id(tenant, doc)
            found.append(doc["_source"] if doc.get("found") else None)
        return found

    def search(
        self, tenant: str, bodies: Sequence[dict[str, Any]], timeout: float | None = None
    ) -> list[dict[str, Any]]:
        """Return the answers to search requests, of which each is of this tenant alone.

        Args:
            tenant: Its key.
            bodies: The requests.
            timeout: Seconds that they may take; default: those of all calls.

        Raises:
            EngineUnavailable: One could not be answered as a whole.
            ForeignDocument: An answer had a document of another tenant.
        """
        return self._again(tenant, lambda: self._search(tenant, bodies, timeout), timeout)

    def _search(
        self, tenant: str, bodies: Sequence[dict[str, Any]], timeout: float | None
    ) -> list[dict[str, Any]]:
        lines: list[dict[str, Any]] = []
        for body in bodies:
            lines += scope.scoped(self.prefix, tenant, Search(body))
        status, told = self.http.send("POST", "/_msearch", lines, timeout)
        answers = _answers(status, told, "responses", len(bodies), "the engine could not search")
        for answer in answers:
            if "error" in answer:
                raise self._failure(answer["error"])
            if answer.get("timed_out") or answer.get("_shards", {}).get("failed"):
                raise EngineUnavailable("a part of the engine did not answer")
            for hit in answer["hits"]["hits"]:
                hit["_id"] = scope.own_id(tenant, hit)
        return answers

    # Repetition

    def _again(self, tenant: str, call: Callable[[], Found], timeout: float | None = None) -> Found:
        """Make a call, and once more if the alias was removed since this process has seen it."""
        self.admit(tenant, timeout)
        try:
            return call()
        except IndexMissing:
            self.admit(tenant, timeout)
            return call()

    def _bulk(self, batch: Batch) -> list[int]:
        """Return the status of each call of a batch."""
        statuses: list[int] = [0] * len(batch)
        left = list(range(len(batch)))
        for attempt in range(ATTEMPTS):
            items = self._bulk_items([batch[one] for one in left])
            again = []
            for one, item in zip(left, items, strict=True):
                result = next(iter(item.values()))
                statuses[one] = result["status"]
                if result["status"] in RETRIED:
                    again.append(one)
                elif result["status"] not in {200, 201, 409} and "error" in result:
                    raise self._failure(result["error"])
            if not again:
                return statuses
            left = again
            self.http.pause(attempt)
        raise EngineUnavailable(f"the engine has no room for {len(left)} documents now; try again")

    # Requests, which may be of several tenants

    def _send_bulk(self, lines: Sequence[bytes]) -> list[dict[str, Any]]:
        """Return the answer to each call of a bulk request."""
        status, told = self.http.send("POST", "/_bulk", b"".join(lines))
        return _answers(status, told, "items", len(lines), "documents could not be written")

    def _send_mget(self, lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return what is found for each line of a request that reads documents."""
        status, told = self.http.send("POST", "/_mget", {"docs": lines})
        return _answers(status, told, "docs", len(lines), "documents could not be read")

    def _failure(self, error: Any) -> EngineUnavailable:
        text = reason({"error": error})
        if any(word in text for word in ("index_not_found", "alias", "no such index")):
            self.forget_aliases()
            return IndexMissing(f"the index is gone; it is made anew from the files ({text})")
        return EngineUnavailable(f"the engine refused: {text}")


def _batches(tenant: str, prefix: str, calls: Iterable[Put | Remove]) -> Iterator[Batch]:
    """Yield the lines of calls in batches that one request may hold."""
    batch: Batch = []
    size = 0
    for call in calls:
        batch.append(as_lines(scope.scoped(prefix, tenant, call)))
        size += len(batch[-1])
        if size >= BULK_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _answers(
    status: int, told: dict[str, Any], name: str, count: int, failed: str
) -> list[dict[str, Any]]:
    """Return the list of an answer of the engine, of which it needs so many elements.

    Raises:
        EngineUnavailable: It has not, and says why.
    """
    found: list[dict[str, Any]] | None = told.get(name) if status == 200 else None
    if found is None or len(found) != count:
        raise EngineUnavailable(f"{failed}: {reason(told)}")
    return found


def _of_another_form(name: str, made: Any) -> str:
    """Return why an index cannot be used, and what to do."""
    if not isinstance(made, int):
        return f"the index {name} was not made by commonplace: name another one with --index"
    forms = f"the index {name} has form {made}, and this version writes form {MAPPING_VERSION}"
    if made > MAPPING_VERSION:
        return f"{forms}: run the newer version, or `commonplace serve reindex` to go back"
    return f"{forms}: run `commonplace serve reindex`, which serves meanwhile"


__all__ = ["Call", "EngineUnavailable", "IndexMissing", "OpenSearch"]
