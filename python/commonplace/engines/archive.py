"""The archive: an index on the disk, kept by tantivy, for transcripts that are rarely asked for.

tantivy stores the names of each message, and the numbers by which it is found in its file. It
chooses candidates by its own BM25, weighted as the core weights them; the core reads these back
from their files and ranks them. The list of files says which are archived: what tantivy holds of
others does not count, so a crash at any point leaves each message in the archive or in the index
of the store, never in both. The index is made of the files, and made again from them when it is
damaged or gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from commonplace._core import ArchiveRows, best_first, by_context
from commonplace.engines.archive_check import ArchiveCheck, check
from commonplace.engines.archive_index import PARTS, ArchiveIndex
from commonplace.engines.archive_list import FOLDER, ArchiveList
from commonplace.engines.archive_part import LOCK_TIMEOUT
from commonplace.engines.archive_queries import WINDOW, ArchiveQueries
from commonplace.engines.protocol import EngineStats
from commonplace.engines.row_reader import RowReader, read_ahead, scarce_memory
from commonplace.errors import Busy, MemoryLimit, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from commonplace._core import CollectionStats, EngineDocument, QueryNames, SearchFilter
    from commonplace.archival import Archival
    from commonplace.engines.archive_part import Row

# Best messages whose neighbours are candidates too, where a filter leaves messages out
NEAR = 64
# Rows that are scored by tantivy, and messages of these that are read at most, for each candidate
POOL, MOST = 2, 1.5
# Messages that are read before it is asked whether there may be better ones
BATCH = 70


class ArchiveEngine:
    """Documents on the disk, found by tantivy; safe to share between processes, not threads.

    Args:
        store: The store of the files.

    Raises:
        CommonplaceError: tantivy is not installed.
    """

    def __init__(self, store: Archival) -> None:
        self._core = store._core  # noqa: SLF001
        self.weights = store._weights  # noqa: SLF001
        self._folder = store.root / ".commonplace" / FOLDER
        self._side = store.side_files(FOLDER)
        self._list = ArchiveList(self._core, self._side)
        self._index = ArchiveIndex(self._folder / "index")
        self._queries = ArchiveQueries(self._index)
        self._is_rebuilt = False
        """Whether the rows of the files in the list are made again by the change under way."""
        self._seen: object = None
        self._added: dict[str, dict[str, Any] | None] = {}
        self._orphans: list[int] = []
        self._lock: Any = None

    def __repr__(self) -> str:
        return f"ArchiveEngine({str(self._folder)!r})"

    # Changes

    def add(self, path: str, data: bytes) -> int:
        """Index a file, in place of what is indexed of it; return its documents."""
        self._begin()
        number = self._number()
        reader = RowReader(self._core, path, number, ArchiveRows(path, data, number))
        if reader.size != len(data):
            # it is being written: the index of the store follows it
            self.remove(path)
            return 0
        self._take([reader])
        return reader.messages

    def add_files(self, paths: Iterable[str]) -> None:
        """Index files as they are there; one that changes meanwhile is left out."""
        self._begin()
        self._take(RowReader(self._core, path, self._number()) for path in paths)

    def remove(self, path: str) -> None:
        """Remove the documents of a file; nothing happens where there are none."""
        self._begin()
        if file := self._added.get(path):
            self._orphans.append(file["id"])
        self._added[path] = None

    def commit(self) -> None:
        """Make the changes durable: first the documents, then the list that makes them count."""
        if not self._index.is_written:
            return
        merge = False
        try:
            self._list.read()
            before = self._list.entries()
            gone = [before[path]["id"] for path in self._added if path in before]
            # an index that is made again has no rows of the numbers before
            gone = self._orphans if self._is_rebuilt else gone + self._orphans
            self._index.commit()
            files = {path: file for path, file in before.items() if path not in self._added}
            files |= {path: file for path, file in self._added.items() if file is not None}
            self._list.deleted |= bool(gone)
            self._list.write(files)
            # they count no more; what a crash leaves of them goes with the next commit
            if gone:
                self._index.delete(gone)
                self._index.commit()
            merge = True
        finally:
            self._end(merge=merge)
        self.refresh()

    def rollback(self) -> None:
        """Forget the changes since the last commit."""
        if self._index.is_written:
            self._end()

    def refresh(self) -> None:
        """See what others have committed, and make the index again if it is damaged."""
        self._read_list()
        if not self._index.is_open or self._seen != self._list.stamp:
            self._open()
        else:
            self._index.reload()
        self._seen = self._list.stamp

    def rebuild(self) -> None:
        """Make the index again from the files in the list; those that have changed leave it."""
        self.rollback()
        self._index.close()
        self._begin(rebuild=True)
        self.commit()

    def verify(self, found: ArchiveCheck) -> None:
        """Compare the archive with its files, and make again what differs."""
        check(found, self._core, self._side, self._list, self._index)
        if found.is_damaged:
            self.rebuild()
        elif found.differing:
            self.add_files(found.differing)
            self.commit()
        self.refresh()
        if found.changed:
            self._drop(found.changed)

    # Search

    def statistics(self, names: QueryNames) -> CollectionStats:
        """Return the statistics of the archived documents for a query."""
        self._follow()
        # once a search: each time the store looks at its files
        if changed := self._core.no_longer_archived():
            self._drop(changed)
        return self._list.stats(self._queries.counts(names, self._list.fields))

    def languages(self) -> set[str]:
        """Return the codes of the languages that some archived documents are in."""
        self._follow()
        return self._queries.languages()

    def candidates(
        self, names: QueryNames, stats: CollectionStats, filter: SearchFilter, count: int
    ) -> list[EngineDocument]:
        """Return the documents that score best by tantivy's BM25 with the weights of the core."""
        self._index.release_pages()
        self._follow()
        weights = self._queries.weights(names, stats, self._list.fields)
        if not weights or not self._list.numbers:
            return []
        places = list(self._queries.places(filter, self._list.numbers))
        own = [*self._queries.phrases(names), *self._queries.fields(filter)]
        scored = self._queries.best(weights, [*own, *places], POOL * count)
        # at once: to open a column costs more than to read it
        rows = self._index.numbers([place for _, place in scored])
        order = by_context([(score, row) for (score, _), row in zip(scored, rows, strict=True)])
        order = order[: int(MOST * count)]
        documents: list[EngineDocument] = []
        if own:
            # the neighbours of what does not pass may pass
            near = [one for _, one in self._queries.best(weights, places, NEAR)]
            documents = self._documents(self._index.numbers(near), [], names)
        # what is left out by its text or by the filter says nothing of what is behind it
        size = len(order) if own or names.excludes else BATCH
        best: set[tuple[str, int]] = set()
        for start in range(0, len(order), max(size, 1)):
            batch = order[start : start + size]
            around = {at for at, is_beside in batch if is_beside}
            alone = {at for at, _ in batch} - around
            documents += self._documents(
                [rows[at] for at in sorted(around)], [rows[at] for at in sorted(alone)], names
            )
            found = best_first(documents, names, stats, filter=filter, weights=self.weights)
            before = best
            best = {(documents[at].path, documents[at].start) for at in found[:WINDOW]}
            if best and best <= before:
                break
        return documents

    def _documents(
        self, around: list[Row], alone: list[Row], names: QueryNames
    ) -> list[EngineDocument]:
        """Return the documents of rows; of the first ones those beside them, too."""
        return self._found(self._core.archived_documents([*around, *alone], len(around), names))

    def turns(self, documents: Sequence[EngineDocument], names: QueryNames) -> list[EngineDocument]:
        """Return all documents of the turns of some documents."""
        return self._found(self._core.archived_turns(documents, names))

    def stats(self) -> EngineStats:
        """Return the size of the archive."""
        self._follow()
        return EngineStats(len(self._list.numbers), self._list.documents, self._index.bytes())

    def holds(self, path: str) -> bool:
        """Say whether a file is in the list of archived files."""
        self._list.read()
        return path in self._list.numbers

    def _found(self, found: tuple[list[EngineDocument], list[str]]) -> list[EngineDocument]:
        documents, changed = found
        if changed:
            self._drop(changed)
        return documents

    # Files

    def _number(self) -> int:
        """Return a number for a file that no file has or had."""
        number = self._list.next
        self._list.next += 1
        return number

    def _take(self, readers: Iterable[RowReader]) -> None:
        """Add the rows of files."""
        for reader, rows in read_ahead(readers):
            if rows:
                self._index.add(reader.number, rows)
                continue
            self.remove(reader.path)
            self._added[reader.path] = found = reader.found()
            if found is None:
                # what was added of it does not count
                self._orphans.append(reader.number)

    def _drop(self, paths: Sequence[str]) -> None:
        """Remove files that have changed; what is here of them does not count in any case."""
        if paths and scarce_memory() is not None:
            # the index of the store would have to make room in the middle of a search
            return
        try:
            self._begin(timeout=0.0)
        except (Busy, MemoryLimit):
            return
        except StorageError as error:
            # on a read-only root nothing is removed
            if error.code not in ("rofs", "perm"):
                raise
            return
        for path in paths:
            self.remove(path)
        self.commit()

    # The index and its list

    def _read_list(self) -> None:
        self._list.read()
        self._index.set_deleted(deleted=self._list.deleted)

    def _follow(self) -> None:
        if not self._index.is_open or self._list.has_changed():
            self.refresh()

    def _open(self) -> None:
        """Open the index; one that is damaged, or of another version, is made again."""
        if not self._opened():
            self._index.close()
            # unless another process has made it again by the time that this one has the lock
            self._begin()
            self.commit()
        elif not self._list.is_list or (
            self._list.unfinished and self._index.rows() > self._list.documents
        ):
            # what a killed move or a lost list has left would count twice, and what the store takes
            # for archived in a damaged list would be nowhere
            self._drop([])

    def _opened(self) -> bool:
        """Open the index; say whether it has the rows that are in the list."""
        least = self._list.documents_of_parts(PARTS)
        return self._list.is_of_version and self._index.open(least)

    def _begin(self, timeout: float = LOCK_TIMEOUT, *, rebuild: bool = False) -> None:
        """Take the writer, and the lock of the archive, for the time until the commit."""
        if self._index.is_written:
            return
        self._lock = self._side.locked("lock", timeout)
        self._lock.__enter__()
        try:
            self._read_list()
            again: list[str] = []
            files = self._list.entries()
            self._is_rebuilt = rebuild or not self._opened()
            if self._is_rebuilt:
                again = self._list.unchanged()
                self._added = {path: None for path in files if path not in again}
                self._index.close()
                self._core.remove_archive_index()
                self._index.make()
                self._list.deleted = False
                self._index.set_deleted(deleted=False)
            self._index.begin(self._core.release_index)
            self._orphans = [] if again else self._unlisted()
            # a number is never used again, also not one of a killed move
            self._list.next = max([self._list.next, *(number + 1 for number in self._orphans)])
            # a forget must know that there are words of files that are not in the list yet
            # and whoever opens an index that was killed while it was made again begins anew
            self._list.write(files, unfinished=True, has_rows=not self._is_rebuilt)
            if again:
                self.add_files(again)
        except BaseException:
            self._end()
            raise

    def _unlisted(self) -> list[int]:
        """Return the numbers of files that a killed move has left."""
        self._index.reload()
        if self._index.rows() <= self._list.documents:
            return []
        return self._index.unlisted(set(self._list.numbers.values()))

    def _end(self, *, merge: bool = False) -> None:
        self._added, self._orphans = {}, []
        try:
            self._index.end(merge=merge)
        finally:
            if self._is_rebuilt and not merge:
                # the rows that it had are gone: it is opened, and made again, by the next call
                self._index.close()
            self._is_rebuilt = False
            if self._lock is not None:
                lock, self._lock = self._lock, None
                lock.__exit__(None, None, None)
