"""Rows of files for the archive, read piece by piece and some files ahead of who takes them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from commonplace._core import memory_left
from commonplace.errors import MemoryLimit, NotFound, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Future

    from commonplace import _core
    from commonplace._core import ArchiveRows

# Threads that read files and make their rows, and files that they may be ahead
THREADS, AHEAD = 2, 4
# Bytes of memory that may be taken without a thought. With less nothing is read ahead: the stack of
# each thread counts as taken
ENOUGH = 512 << 20


class RowReader:
    """The rows of one file.

    Args:
        core: The store of the file.
        path: Where it is.
        number: Its number in the archive.
        rows: Of these bytes, in place of those that are there.
    """

    def __init__(
        self, core: _core.Store, path: str, number: int, rows: ArchiveRows | None = None
    ) -> None:
        self.path, self.number, self.messages = path, number, 0
        self._core, self._rows = core, rows
        self._stat = None if rows is None else self._stamp()
        self._is_whole = False

    def __repr__(self) -> str:
        return f"RowReader({self.path!r})"

    @property
    def size(self) -> int | None:
        """The bytes of the file, when it was looked at first; None before that."""
        return self._stat and self._stat[0]

    def read(self) -> list[str]:
        """Return the next rows; none at the end, and none of a file that cannot be read."""
        try:
            if self._rows is None:
                self._stat = self._stamp()
                self._rows = self._core.archive_rows(self.path, self.number)
            rows = self._rows.next_rows()
            self._is_whole = not rows and self._stamp() == self._stat
        except (MemoryLimit, NotFound, StorageError):
            return []
        self.messages += len(rows)
        return rows

    def found(self) -> dict[str, Any] | None:
        """Return what is listed of the file, when all rows were read; None if it has changed
        meanwhile, is gone, or cannot be read: then the index of the store says why.
        """
        if not self._is_whole or self._rows is None or self._stat is None:
            return None
        stats, (first, last) = self._rows.stats, self._rows.times
        return {
            "id": self.number,
            "size": self._stat[0],
            "mtime_ns": self._stat[1],
            "messages": self.messages,
            "fields": stats.docs_with_field,
            "lengths": stats.lengths,
            "summary": self._rows.summary,
            "first": first,
            "last": last,
        }

    def _stamp(self) -> tuple[int, int]:
        _, size, mtime, _ = self._core.stamp(self.path)
        return size, mtime


def scarce_memory() -> int | None:
    """Return how many bytes the system leaves to this process, where these are few."""
    left = memory_left()
    return None if left is None or left >= ENOUGH else left


def read_ahead(readers: Iterable[RowReader]) -> Iterator[tuple[RowReader, list[str]]]:
    """Yield the rows of files piece by piece, file after file; of each no rows at its end."""
    return _by_threads(readers) if scarce_memory() is None else _in_turn(readers)


def _in_turn(readers: Iterable[RowReader]) -> Iterator[tuple[RowReader, list[str]]]:
    for reader in readers:
        while rows := reader.read():
            yield reader, rows
        yield reader, []


def _by_threads(readers: Iterable[RowReader]) -> Iterator[tuple[RowReader, list[str]]]:
    # only changes need it, and a search would wait for the import
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    waiting: deque[tuple[RowReader, Future[list[str]]]] = deque()
    with ThreadPoolExecutor(THREADS) as threads:

        def first() -> Iterator[tuple[RowReader, list[str]]]:
            reader, read = waiting.popleft()
            while rows := read.result():
                read = threads.submit(reader.read)
                yield reader, rows
            yield reader, []

        for reader in readers:
            waiting.append((reader, threads.submit(reader.read)))
            if len(waiting) > AHEAD:
                yield from first()
        while waiting:
            yield from first()
