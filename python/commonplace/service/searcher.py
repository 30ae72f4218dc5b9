"""Search by way of the engine: count, find candidates, rank them by our own code, check the files.

The engine only chooses candidates. What is answered was ranked as a store ranks its own documents,
with the statistics of this tenant, and stands in the files now as it did when it was indexed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from commonplace._core import CollectionStats, EngineDocument, QueryNames, rank_candidates
from commonplace.errors import CommonplaceError
from commonplace.search_filter import given_filter
from commonplace.service import engine_query as engine
from commonplace.service.documents import bytes_of, drift, read_record, stats_from
from commonplace.service.indexer import TENANT
from commonplace.service.opensearch import IndexMissing, OpenSearch
from commonplace.store import Store

if TYPE_CHECKING:
    from typing import Unpack

    from commonplace._core import Hit, SearchFilter
    from commonplace.search_filter import FilterFields
    from commonplace.store import Unit

CANDIDATES = 30
"""Documents that are ranked besides two for each hit that is wanted."""
MOST_MESSAGES = 2000
"""Messages of the turns of candidates."""
MOST_DRIFT = 0.1
"""By which an average length may have moved before all documents are encoded anew."""
TOTALS_FROM, TOTALS_KEPT = 20_000, 10.0
"""Documents from which on lengths are not added up for each query, and for how many seconds."""
BEING_INDEXED = "this memory is being indexed; what is missing comes within seconds or minutes"


class FoundHits(Sequence["Hit"]):
    """Hits, best first, as `Hits` of the core, from several answers."""

    def __init__(
        self,
        hits: list[Hit],
        freshness: Literal["fresh", "stale", "partial"],
        confidence: float,
        notes: list[str],
    ) -> None:
        self._hits = hits
        self.freshness, self.confidence, self.notes = freshness, confidence, notes

    def __len__(self) -> int:
        return len(self._hits)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> list[Hit]: ...
    def __getitem__(self, index: int | slice) -> Hit | list[Hit]:
        return self._hits[index]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self._hits)


class Searcher:
    """Searches the documents of a tenant in the engine.

    Args:
        client: The search engine.
    """

    def __init__(self, client: OpenSearch) -> None:
        self._client = client
        self._totals: dict[str, tuple[float, CollectionStats]] = {}
        self._lock = threading.Lock()
        self.on_incomplete: Callable[[str], None] = lambda _: None
        """Called with a tenant that is not indexed as a whole, or whose averages have moved."""
        self.on_missing: Callable[[], None] = lambda: None
        """Called when the index is not there."""

    def search(
        self, store: TenantStore, query: str, limit: int, unit: Unit, filter: SearchFilter
    ) -> FoundHits:
        """Return the best hits of a tenant.

        Raises:
            EngineUnavailable: The engine does not answer as a whole.
            QueryError: The query is empty, or nothing can pass the filter.
        """
        names = QueryNames(query)
        restricted = names.restricted(filter)
        if isinstance(restricted, str):
            return FoundHits([], "fresh", 0.0, [restricted])
        answers = [self._search(store, names, (query, limit, unit), restricted, tools=False)]
        if restricted.tools:
            asked: tuple[str, int, Unit] = (query, limit, "message")
            answers.append(self._search(store, names, asked, restricted, tools=True))
        hits = sorted(
            (hit for one in answers for hit in one),
            key=lambda hit: (-hit.score, hit.path, hit.start),
        )
        notes = [*dict.fromkeys(note for one in answers for note in one.notes)]
        worst = max(answers, key=lambda one: ("fresh", "stale", "partial").index(one.freshness))
        confidence = max(one.confidence for one in answers)
        return FoundHits(hits[:limit], worst.freshness, confidence, notes)

    def _search(
        self,
        store: TenantStore,
        names: QueryNames,
        asked: tuple[str, int, Unit],
        filter: SearchFilter,
        *,
        tools: bool,
    ) -> FoundHits:
        query, limit, unit = asked
        stats, complete = self._stats(store.tenant, names, tools=tools)
        # more where some are left out for what they say
        size = (2 * limit + CANDIDATES) * (3 if names.excludes or names.phrases else 1)
        # a phrase that nothing holds is looked for by its words, as at home
        for phrases in (True, False) if names.phrases else (False,):
            body = engine.candidates_body(names, stats, filter, size, tools=tools, phrases=phrases)
            (found,) = self._ask(store.tenant, [body])
            records = {hit["_id"]: hit["_source"] for hit in found["hits"]["hits"]}
            documents = {own: read_record(one) for own, one in records.items()}
            if unit == "turn" and not tools:
                self._add_turns(store.tenant, records, documents)
            ranked = rank_candidates(
                [*documents.values()], query, stats, limit=limit, filter=filter, unit=unit
            )
            if ranked:
                break
        hits, gone = _standing(store, ranked, records, documents)
        notes = list(ranked.notes)
        if not complete:
            notes.append(BEING_INDEXED)
        if gone:
            notes.append(f"left out, for they have changed since they were indexed: {gone}")
        freshness: Any = "stale" if gone else "fresh"
        return FoundHits(
            hits, freshness if complete else "partial", ranked.confidence if hits else 0.0, notes
        )

    def _stats(
        self, tenant: str, names: QueryNames, *, tools: bool
    ) -> tuple[CollectionStats, bool]:
        """Return the statistics of a query, and whether the tenant is indexed as a whole."""
        key = f"{tenant}{tools}"
        with self._lock:
            at, kept = self._totals.get(key, (0.0, None))
        if kept is None or time.monotonic() - at > TOTALS_KEPT:
            kept = None
        about = {"size": 1, "query": {"term": {"kind": TENANT}}}
        counts = engine.counts_body(names, tools, totals=kept is None)
        counted, tenants = self._ask(tenant, [counts, about])
        stats = engine.stats_of(names, counted, kept)
        if kept is None and stats.documents >= TOTALS_FROM:
            with self._lock:
                self._totals[key] = (time.monotonic(), stats)
        records = tenants["hits"]["hits"]
        complete = bool(records) and records[0]["_source"]["complete"]
        even = complete and records[0]["_source"]["even"]
        encoded = stats_from(records[0]["_source"]["stats"]) if records else stats
        if not even or (not tools and drift(encoded, stats) > MOST_DRIFT):
            self.on_incomplete(tenant)
        return stats, complete

    def _add_turns(
        self, tenant: str, records: dict[str, Any], documents: dict[str, EngineDocument]
    ) -> None:
        """Add the other messages of the turns of candidates."""
        turns = {
            (one.path, one.position[1]) for one in documents.values() if one.source == "message"
        }
        if not turns:
            return
        (found,) = self._ask(tenant, [engine.turns_body(sorted(turns), MOST_MESSAGES)])
        for hit in found["hits"]["hits"]:
            if hit["_id"] not in records:
                records[hit["_id"]] = hit["_source"]
                documents[hit["_id"]] = read_record(hit["_source"])

    def _ask(self, tenant: str, bodies: list[engine.Json]) -> list[engine.Json]:
        try:
            return self._client.search(tenant, bodies)
        except IndexMissing:
            self.on_missing()
            raise


class TenantStore(Store):
    """The store of one tenant, whose searches go by way of the engine where there is one.

    Args:
        root: Its folder.
        tenant: The key of the tenant.
        searcher: Asks the engine; None: the store ranks by its own index.
    """

    def __init__(self, root: Path, tenant: str, searcher: Searcher | None) -> None:
        super().__init__(root, create=True, watch=False)
        self.tenant = tenant
        self._searcher = searcher

    def search(
        self,
        query: str,
        limit: int = 10,
        *,
        unit: Unit = "turn",
        filter: SearchFilter | None = None,
        **fields: Unpack[FilterFields],
    ) -> Any:
        """Return hits as `Store.search` does.

        Raises:
            EngineUnavailable: The engine does not answer.
        """
        if self._searcher is None:
            return super().search(query, limit, unit=unit, filter=filter, **fields)
        own = self._core.resolved_filter(given_filter(filter, fields))
        return self._searcher.search(self, query, limit, unit, own)


def _standing(
    store: TenantStore,
    hits: Sequence[Hit],
    records: dict[str, Any],
    documents: dict[str, EngineDocument],
) -> tuple[list[Hit], int]:
    """Return the hits that stand in the files as they did when indexed, and how many do not."""
    standing: list[Hit] = []
    by_path: dict[str, list[str]] = {}
    for own, document in documents.items():
        by_path.setdefault(document.path, []).append(own)
    for hit in hits:
        parts = [
            own
            for own in by_path.get(hit.path, ())
            if hit.start <= documents[own].start < max(hit.end, hit.start + 1)
        ]
        if all(_stands(store, documents[own], records[own]["record"]) for own in parts):
            standing.append(hit)
    return standing, len(hits) - len(standing)


def _stands(store: TenantStore, document: EngineDocument, record: str) -> bool:
    """Say whether a file still says what a document was made of."""
    told = bytes_of(record)
    try:
        if document.path.endswith(".jsonl"):
            (line,) = store.lines_at(document.path, [document.start])
            return line.startswith(told)
        return store.data(document.path)[document.start :].startswith(told)
    except (CommonplaceError, OSError):
        return False
