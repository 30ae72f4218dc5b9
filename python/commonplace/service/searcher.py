"""Search by way of the engine: count, find candidates, rank them by our own code, check the files.

The engine only chooses candidates. What is answered was ranked as a store ranks its own documents,
with the statistics of this tenant, and stands in the files now as it did when it was indexed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from commonplace._core import CollectionStats, EngineDocument, QueryNames, language_names
from commonplace.engines import search
from commonplace.errors import CommonplaceError
from commonplace.service import engine_query as engine
from commonplace.service.documents import bytes_of, drift, read_record, stats_from
from commonplace.service.opensearch import IndexMissing, OpenSearch
from commonplace.service.stores import TenantRoot
from commonplace.service.vector_field import VectorField

if TYPE_CHECKING:
    from commonplace._core import Hit, SearchFilter
    from commonplace.engines import Engine
    from commonplace.protocols import Embedder
    from commonplace.store import Unit

CANDIDATES = 64
"""Documents of the engine that are ranked for up to 20 hits.

Its scores are ours but for their rounding, so that a few more than are wanted suffice; to return
one takes it longer than to score many.
"""
MOST_CANDIDATES = 10_000
"""Documents that an engine returns at once."""
MOST_DRIFT = 0.1
"""By which an average length may have moved before all documents are encoded anew."""
TOTALS_FROM, TOTALS_KEPT = 20_000, 10.0
"""Documents from which on lengths are not added up for each query, and for how many seconds."""
MOST_KNOWN = 20_000
"""Tenants whose languages are remembered."""
MARKERS = dict(language_names())
"""Names of the documents in a language, by its code."""
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


class TenantEngine:
    """The documents of one tenant in the engine, for `commonplace.engines.search`.

    It finds and counts. What changes goes by way of `Indexer`, for files are the truth.

    Args:
        searcher: Asks the engine.
        tenant: The key of the tenant.
        tools: Find what is of tools, in place of the rest.
        languages: Codes of those that queries are read in; all unless given.
    """

    def __init__(
        self,
        searcher: Searcher,
        tenant: str,
        *,
        tools: bool = False,
        languages: Collection[str] = MARKERS,
    ) -> None:
        self._searcher, self._tenant, self._tools = searcher, tenant, tools
        self._markers = {one: names for one, names in MARKERS.items() if one not in languages}
        self.unread: set[str] = set()
        """Codes of languages that some documents are in, and the query was not read in."""
        self.complete = True
        """Whether the tenant is indexed as a whole; known once statistics were asked for."""
        self.records: dict[tuple[str, int], str] = {}
        """Records of what was found, by path and first byte."""

    def statistics(self, names: QueryNames) -> CollectionStats:
        """Return the documents of the tenant, the lengths of fields, and each name's count."""
        stats, self.complete, self.unread = self._searcher.statistics(
            self._tenant, names, self._markers, tools=self._tools
        )
        return stats

    def candidates(
        self, names: QueryNames, stats: CollectionStats, filter: SearchFilter, count: int
    ) -> list[EngineDocument]:
        """Return the documents that score best; none where the query has to be read again."""
        if self.unread:
            return []
        size = min(count, MOST_CANDIDATES)
        body = engine.candidates_body(names, stats, filter, size, tools=self._tools)
        return self._documents(body)

    def turns(self, documents: Sequence[EngineDocument], _: QueryNames) -> list[EngineDocument]:
        """Return all documents of the turns of some messages."""
        keys = [(one.path, one.position[1]) for one in documents]
        return self._documents(engine.turns_body(keys, MOST_CANDIDATES)) if keys else []

    def _documents(self, body: engine.Json) -> list[EngineDocument]:
        (found,) = self._searcher.ask(self._tenant, [body])
        documents = []
        for hit in found["hits"]["hits"]:
            document = read_record(hit["_source"])
            self.records[document.path, document.start] = hit["_source"]["record"]
            documents.append(document)
        return documents


class Searcher:
    """Searches the documents of tenants in the engine.

    Args:
        client: The search engine.
    """

    def __init__(self, client: OpenSearch) -> None:
        self._client = client
        self._totals: dict[str, tuple[float, CollectionStats]] = {}
        # of each tenant, as far as they are known
        self._languages: dict[str, list[str]] = {}
        self._lock = threading.Lock()
        self.on_incomplete: Callable[[str], None] = lambda _: None
        """Called with a tenant that is not indexed as a whole, or whose averages have moved."""
        self.on_missing: Callable[[], None] = lambda: None
        """Called when the index is not there."""

    def search(
        self, store: TenantRoot, query: str, limit: int, unit: Unit, filter: SearchFilter
    ) -> FoundHits:
        """Return the best hits of a tenant.

        Raises:
            EngineUnavailable: The engine does not answer as a whole.
            QueryError: The query is empty, or nothing can pass the filter.
        """
        answers = [self._search(store, query, limit, unit, filter, tools=False)]
        if filter.tools:
            # what is of tools is found by message
            answers.append(self._search(store, query, limit, "message", filter, tools=True))
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
        store: TenantRoot,
        query: str,
        limit: int,
        unit: Unit,
        filter: SearchFilter,
        *,
        tools: bool,
    ) -> FoundHits:
        key = f"{store.tenant}{tools}"
        while True:
            # a language that no document is in finds nothing, and adds some twenty names
            languages = self._languages.get(key, [])
            own = TenantEngine(self, store.tenant, tools=tools, languages=languages)
            # it asks, and changes nothing
            ranked = search(
                cast("Engine", own),
                query,
                limit,
                unit=unit,
                filter=filter,
                languages=languages,
                candidates=CANDIDATES,
            )
            if not own.unread:
                break
            if len(self._languages) >= MOST_KNOWN:
                self._languages.clear()
            self._languages[key] = sorted({*languages, *own.unread})
        hits, gone = standing(store, ranked, own.records)
        notes = list(ranked.notes)
        if not own.complete:
            notes.append(BEING_INDEXED)
        if gone:
            notes.append(f"left out, for they have changed since they were indexed: {gone}")
        freshness: Any = "stale" if gone else "fresh"
        return FoundHits(
            hits,
            freshness if own.complete else "partial",
            ranked.confidence if hits else 0.0,
            notes,
        )

    def statistics(
        self,
        tenant: str,
        names: QueryNames,
        markers: Mapping[str, Sequence[str]],
        *,
        tools: bool,
    ) -> tuple[CollectionStats, bool, set[str]]:
        """Return the statistics of a query, and what is known of the tenant.

        Args:
            tenant: Its key.
            names: The query.
            markers: The names of documents in languages that the query was not read in, by code.
            tools: Count what is of tools, in place of the rest.

        Returns:
            The statistics, whether the tenant is indexed as a whole, and in which of these
            languages some documents are.
        """
        key = f"{tenant}{tools}"
        with self._lock:
            at, kept = self._totals.get(key, (0.0, None))
        # of many documents each count is a request, of few they share one
        counted = engine.counted_queries(names, markers)
        apart = engine.count_bodies(counted, tools) if kept else {}
        together = {} if kept else counted
        if kept is None or time.monotonic() - at > TOTALS_KEPT:
            kept = None
        about = {"size": 1, "query": {"term": {"kind": engine.TENANT}}}
        body = engine.counts_body(together, tools, totals=kept is None)
        answer, tenants, *each = self.ask(tenant, [body, about, *apart.values()])
        counts = engine.counts_of(answer, dict(zip(apart, each, strict=True)))
        stats = engine.stats_of(names, counts, answer, kept)
        if kept is None and stats.documents >= TOTALS_FROM:
            with self._lock:
                self._totals[key] = (time.monotonic(), stats)
        records = tenants["hits"]["hits"]
        complete = bool(records) and records[0]["_source"]["complete"]
        even = complete and records[0]["_source"]["even"]
        encoded = stats_from(records[0]["_source"]["stats"]) if records else stats
        if not even or (not tools and drift(encoded, stats) > MOST_DRIFT):
            self.on_incomplete(tenant)
        return stats, complete, engine.languages_of(counts, markers)

    def vectors_of(self, embedder: Embedder) -> VectorField | None:
        """Return where the vectors of an embedder are, if they are in the engine."""
        field = self._client.vectors
        return field if field and field == VectorField.of(embedder) else None

    def ask(self, tenant: str, bodies: list[engine.Json]) -> list[engine.Json]:
        """Return answers to search requests of a tenant.

        Raises:
            EngineUnavailable: Not all were answered as a whole.
        """
        try:
            return self._client.search(tenant, bodies, self._client.search_timeout)
        except IndexMissing:
            self.on_missing()
            raise


def standing(
    store: TenantRoot, hits: Sequence[Hit], records: dict[tuple[str, int], str]
) -> tuple[list[Hit], int]:
    """Return the hits that stand in the files as they did when indexed, and how many do not."""
    found: list[Hit] = []
    starts: dict[str, list[int]] = {}
    for path, start in records:
        starts.setdefault(path, []).append(start)
    for hit in hits:
        end = max(hit.end, hit.start + 1)
        parts = [start for start in starts.get(hit.path, ()) if hit.start <= start < end]
        if all(stands(store, hit.path, start, records[hit.path, start]) for start in parts):
            found.append(hit)
    return found, len(hits) - len(found)


def stands(store: TenantRoot, path: str, start: int, record: str) -> bool:
    """Say whether a file still says what a document was made of."""
    told = bytes_of(record)
    try:
        if path.endswith(".jsonl"):
            (line,) = store.lines_at(path, [start])
            return line.startswith(told)
        return store.data(path)[start:].startswith(told)
    except (CommonplaceError, OSError):
        return False
