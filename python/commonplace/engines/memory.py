"""The index of a store as an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from commonplace._core import engine_documents
from commonplace.engines.protocol import EngineStats
from commonplace.errors import NotFound

if TYPE_CHECKING:
    from commonplace._core import CollectionStats, EngineDocument, QueryNames, SearchFilter
    from commonplace.store import Store


class MemoryEngine:
    """The documents of a store, in its own index.

    The index follows the files by itself, so nothing is to be added or removed. `Store.search` is
    the same ranking without the detour through candidates.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._core = store._core  # noqa: SLF001

    def __repr__(self) -> str:
        return f"MemoryEngine({str(self._store.root)!r})"

    def add(self, path: str, data: bytes) -> int:
        """Return the documents of a file; the index has them as soon as the file is there."""
        return len(engine_documents(path, data))

    def remove(self, path: str) -> None:
        """Do nothing: a file that is gone has left the index."""

    def commit(self) -> None:
        """Do nothing: the files are what is durable."""

    def refresh(self) -> None:
        """Do nothing: each call sees the files as they are."""

    def statistics(self, names: QueryNames) -> CollectionStats:
        """Return the statistics of all documents for a query."""
        return self._core.collection_stats(names.query)

    def candidates(
        self, names: QueryNames, stats: CollectionStats, filter: SearchFilter, count: int
    ) -> list[EngineDocument]:
        """Return the documents that score best."""
        hits = self._core.search(names.query, count, filter, "message", stats)
        wanted = {(hit.path, hit.start) for hit in hits}
        paths = dict.fromkeys(path for path, _ in sorted(wanted))
        return [one for one in self._documents(paths) if (one.path, one.start) in wanted]

    def turns(self, documents: Sequence[EngineDocument], _: QueryNames) -> list[EngineDocument]:
        """Return all documents of the turns of some messages."""
        wanted = {(one.path, one.position[1]) for one in documents}
        paths = dict.fromkeys(one.path for one in documents)
        return [one for one in self._documents(paths) if (one.path, one.position[1]) in wanted]

    def stats(self) -> EngineStats:
        """Return the size of the index."""
        status = self._store.status()
        documents = status.sections + status.messages
        return EngineStats(status.notes + status.transcripts, documents, status.index_bytes)

    def _documents(self, paths: dict[str, None]) -> list[EngineDocument]:
        documents: list[EngineDocument] = []
        for path in paths:
            try:
                documents += engine_documents(path, self._core.read_bytes(path))
            except NotFound:  # removed since the search
                continue
        return documents
