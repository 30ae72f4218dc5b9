"""Hybrid search of a tenant: words and vectors by way of the engine, fused as a store does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from commonplace._core import EngineDocument, Hit, QueryNames, SearchFilter, document_hits
from commonplace.recall.hybrid import HybridSearch
from commonplace.recall.hybrid_hits import HybridHits
from commonplace.service.searcher import (
    FoundHits,
    Searcher,
    TenantEngine,
    standing,
    stands,
)
from commonplace.service.stores import TenantRoot
from commonplace.service.vector_writer import maker_of
from commonplace.service.vectors import TenantVectors

if TYPE_CHECKING:
    from commonplace.store import Archive, Store, Unit


def search_by_both(
    searcher: Searcher,
    store: TenantRoot,
    vectors: TenantVectors,
    query: str,
    limit: int,
    unit: Unit,
    filter: SearchFilter,
) -> HybridHits:
    """Return the best hits of a tenant by words and vectors.

    Args:
        searcher: Asks the engine.
        store: Of the tenant.
        vectors: Of the tenant in the engine, for the same filter.
        query: As for `Store.search`.
        limit: Most hits.
        unit: What a hit of a transcript is.
        filter: Which documents may be found, sessions by their full ids.

    Raises:
        EngineUnavailable: The engine does not answer as a whole.
        QueryError: The query is empty, or nothing can pass the filter.
    """
    # a search asks a store for these calls alone
    searched = cast("Store", _Searched(searcher, store, vectors))
    found = HybridSearch(searched, index=vectors).search(query, limit, unit=unit, filter=filter)
    if vectors.is_due:
        searcher.on_incomplete(store.tenant)
    return found


def vectors_in_engine(
    searcher: Searcher, store: TenantRoot, filter: SearchFilter
) -> TenantVectors | None:
    """Return the vectors of a tenant, if the engine has those of the store's embedder."""
    embedder = store.embedder
    field = searcher.vectors_of(embedder) if embedder else None
    if not embedder or not field:
        return None
    ask = partial(searcher.ask, store.tenant)
    return TenantVectors(ask, field, maker_of(store, embedder), filter, partial(stands, store))


class _Searched:
    """What a hybrid search asks of a store, by way of the engine."""

    def __init__(self, searcher: Searcher, store: TenantRoot, vectors: TenantVectors) -> None:
        self._searcher, self._store, self._vectors = searcher, store, vectors

    def search(
        self,
        query: str,
        limit: int,
        *,
        unit: Unit,
        filter: SearchFilter,
        archive: Archive,  # noqa: ARG002 - the engine has all files, archived or not
    ) -> FoundHits:
        """Return what the words find."""
        return self._searcher.search(self._store, query, limit, unit, filter)

    def predicate(self, filter: SearchFilter) -> Callable[[Hit], bool] | None:
        """Return the function that says whether a hit passes a filter."""
        return self._store.predicate(filter)

    def revision(self) -> int:
        """Return the same number each time: each hit is compared with its file by itself."""
        return 0

    def turns_of(self, messages: Sequence[Hit]) -> list[Hit | None]:
        """Return the turn of each message that was nearest; None for a section."""
        nearest = [self._vectors.documents[one.path, one.start] for one in messages]
        said = [one for one in nearest if one.source != "note"]
        if not said:
            return [None] * len(nearest)
        engine = TenantEngine(self._searcher, self._store.tenant)
        documents = engine.turns(said, QueryNames("x"))
        turns = dict(zip(map(_place, documents), document_hits(documents, "turn"), strict=True))
        whole, _ = standing(self._store, list(turns.values()), engine.records)
        kept = {(one.path, one.start) for one in whole}
        found = [turns.get(_place(one)) for one in nearest]
        return [one if one and (one.path, one.start) in kept else None for one in found]


def _place(document: EngineDocument) -> tuple[str, int]:
    return document.path, document.start
