"""Engine protocol: what a search asks of an engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from commonplace._core import CollectionStats, EngineDocument, QueryNames, SearchFilter

CANDIDATES = 200
"""Candidates that are ranked by the core, where a search asks for no more than 20 hits."""
FEWEST = 60
"""Candidates that an engine returns at least, if it has so many."""


@dataclass(frozen=True, slots=True)
class EngineStats:
    """The size of an engine.

    Attributes:
        files: Files that it holds.
        documents: Sections and messages.
        bytes: Bytes on the disk; of an index in memory those there.
    """

    files: int
    documents: int
    bytes: int


@runtime_checkable
class Engine(Protocol):
    """Documents of files, in an index that finds candidates for a query.

    A file is the unit of a change. What was added or removed can be found when it was committed,
    and by another process when that was refreshed.
    """

    def add(self, path: str, data: bytes) -> int:
        """Index a file, in place of what is indexed of it; return its documents.

        Args:
            path: Where the file is below its root; its name says which kind it is.
            data: Its bytes.
        """

    def remove(self, path: str) -> None:
        """Remove the documents of a file; nothing happens where there are none."""

    def commit(self) -> None:
        """Make the changes durable, and findable."""

    def refresh(self) -> None:
        """See what others have committed."""

    def statistics(self, names: QueryNames) -> CollectionStats:
        """Return the documents and the lengths of their fields, and count each name and pattern.

        A name that no document has may be missing. What a pattern stands for is counted as `~`
        before its name: documents with any of its words.
        """

    def candidates(
        self, names: QueryNames, stats: CollectionStats, filter: SearchFilter, count: int
    ) -> list[EngineDocument]:
        """Return at most about `count` documents that score best, or all if there are fewer.

        An engine may leave out those that score far below the best, but of `FEWEST` none.

        Those that pass the filter as far as the engine can tell, and that have the words of each
        phrase (`names.phrases`); the core checks both again.

        Args:
            names: The query.
            stats: By these the names are weighted (`names.weights`); they may be of more documents
                than the engine has.
            filter: Which may be found; sessions by their full ids.
            count: Most candidates.
        """

    def turns(self, documents: Sequence[EngineDocument], names: QueryNames) -> list[EngineDocument]:
        """Return all documents of the turns of some messages that were candidates.

        Args:
            documents: One of each turn.
            names: The query: words that it does not ask for may be left out.
        """

    def stats(self) -> EngineStats:
        """Return the size of the engine."""
