"""The index of the archive: parts with the rows of some files each, searched at the same time."""

from __future__ import annotations

import math
from collections import Counter
from contextlib import ExitStack
from mmap import PAGESIZE
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.engines.archive_part import ArchivePart
from commonplace.engines.row_reader import scarce_memory
from commonplace.errors import MemoryLimit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from commonplace.engines.archive_part import Row

    PartSearch = Callable[[ArchivePart, int], list[tuple[float, Any]]]

# Parts: with one processor for each, a search takes half of its time
PARTS = 2
# Share of the wanted rows that each part of a large index is asked for at first: files are spread
# over the parts, so one of them rarely has more of the best
SHARE = 0.7
# Rows from which on parts are searched at the same time: to begin a thread takes as long as to
# search some ten thousand
MANY = 100_000
# Bytes that tantivy may hold in each part before it writes a segment, which is to be merged with
# others; and where the system limits memory, the least that tantivy takes. They are no part of
# memory_limit
HEAP, LIMITED_HEAP = 64_000_000, 15_000_000
# Bytes that a change takes in all where memory is limited: threads, rows on their way, segments
# that are written and merged. tantivy ends the process when it gets no memory, so what it may need
# is asked for before
NEEDED = 128 << 20
# Bytes below which a change that was begun is given up
LAST = 12 << 20
# Bytes of rows after which a segment is written, where memory is limited: tantivy lets ten thousand
# rows wait, of any size
FLUSH = 4 << 20
# Bytes of its files that may become memory of this process before it is left, and opened again
MAX_MAPPED = 256 << 20

Place = tuple[int, Any]
"""Where a row is: its part, and its address there."""


class ArchiveIndex:
    """Rows on the disk in parts: opened, written, counted, found as in one index.

    Args:
        folder: Where the parts have their folders.

    Raises:
        CommonplaceError: tantivy is not installed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._parts = [ArchivePart(folder / str(part)) for part in range(PARTS)]
        # queries are for all parts, which have the same fields
        self.tantivy, self.schema = self._parts[0].tantivy, self._parts[0].schema
        self.term = self._parts[0].term
        self._is_written = False
        self._unflushed = 0
        self._mapped = 0
        self.version = 0
        """Another one with each commit that was seen."""

    def __repr__(self) -> str:
        return f"ArchiveIndex({str(self._folder)!r})"

    # Opening

    @property
    def is_open(self) -> bool:
        """Whether it can be searched."""
        return all(part.is_open for part in self._parts)

    def open(self, least: Sequence[int]) -> bool:
        """Open the index; say whether it can be read and has at least so many rows in each part.

        One of before there were parts cannot: its files are to be removed.
        """
        if (self._folder / "meta.json").exists():
            return False
        try:
            self.make()
        except (ValueError, OSError, RuntimeError):
            self.close()
            return False
        return all(part.rows() >= own for part, own in zip(self._parts, least, strict=True))

    def make(self) -> None:
        """Open the index; make it where there is none."""
        self._mapped = mapped_bytes()
        for part in self._parts:
            part.make()
        self.version += 1

    def close(self) -> None:
        """Leave the index."""
        for part in self._parts:
            part.close()

    def reload(self) -> None:
        """See what was committed."""
        for part in self._parts:
            part.reload()
        self.version += 1

    def release_pages(self) -> None:
        """Leave the index where many pages of its files count as memory of this process.

        The system keeps them as it keeps any file, and to open it again takes little: with ten
        million rows once in some fifty searches.
        """
        if not self.is_written and mapped_bytes() > self._mapped + MAX_MAPPED:
            self.close()

    def rows(self) -> int:
        """Return the number of rows."""
        return sum(part.rows() for part in self._parts)

    def bytes(self) -> int:
        """Return what it takes on the disk."""
        return sum(file.stat().st_size for file in self._folder.rglob("*") if file.is_file())

    # Changes

    @property
    def is_written(self) -> bool:
        """Whether a change is under way."""
        return self._is_written

    def set_deleted(self, *, deleted: bool) -> None:
        """Say whether rows were deleted that tantivy still counts."""
        for part in self._parts:
            part.deleted = deleted

    def begin(self, release: Callable[[], None]) -> None:
        """Take the writers, of which there can be one of each part for all processes.

        Args:
            release: Makes room where memory is scarce.

        Raises:
            Busy: Another process has them for too long.
            MemoryLimit: The system leaves too little memory to this process.
        """
        heap = _heap(release)
        self._is_written = True
        for part in self._parts:
            part.begin(heap)

    def add(self, number: int, rows: Iterable[str]) -> None:
        """Add rows of the file with this number, which count when they were committed.

        Raises:
            MemoryLimit: The system leaves too little memory to this process.
        """
        add = self._part_of(number).add
        for row in rows:
            add(row)
            self._unflushed += len(row)
        left = scarce_memory()
        if left is not None:
            if self._unflushed > FLUSH:
                self.commit()
            if left < LAST:
                raise _too_little(left, LAST)

    def delete(self, numbers: Iterable[int]) -> None:
        """Remove all rows of the files with these numbers."""
        for number in numbers:
            self._part_of(number).delete(number)

    def commit(self) -> None:
        """Make the changes durable."""
        for part in self._parts:
            part.commit()
        self._unflushed = 0

    def end(self, *, merge: bool = False) -> None:
        """Give the writers back; what is not committed is forgotten.

        Args:
            merge: Wait until segments are merged, without which there are ever more of them.
        """
        self._unflushed = 0
        self._is_written = False
        with ExitStack() as ends:
            # each one, also if another fails
            for part in self._parts:
                ends.callback(part.end, merge=merge)

    def unlisted(self, listed: set[int]) -> list[int]:
        """Return the numbers of files that have rows, but are not listed."""
        self.reload()
        last = max(part.last_number() for part in self._parts)
        numbers = (number for number in range(last + 1) if number not in listed)
        return [number for number in numbers if self._part_of(number).has_rows_of(number)]

    def _part_of(self, number: int) -> ArchivePart:
        """Return the part that has the rows of the file with this number."""
        return self._parts[number % PARTS]

    # Search

    def count(self, name: str) -> int:
        """Return the number of documents that have a name."""
        return sum(part.count(name) for part in self._parts)

    def count_rows(self, name: str) -> int:
        """Return the number of rows that have this very name."""
        return sum(part.count_rows(name) for part in self._parts)

    def count_found(self, query: Any) -> int:
        """Return the number of rows that a query finds."""
        return sum(part.count_found(query) for part in self._parts)

    def words(self, beginning: str) -> list[tuple[str, int]]:
        """Return the names of rows with this beginning, and how many rows have each."""
        counts: Counter[str] = Counter()
        for part in self._parts:
            counts.update(dict(part.words(beginning)))
        return list(counts.items())

    def best(self, search: PartSearch, most: int) -> list[tuple[float, Place]]:
        """Return the best rows of all parts, at most so many, best first.

        Args:
            search: Returns the best rows of a part, best first, at most so many.
            most: Most rows.
        """
        share = most if self.rows() < MANY else math.ceil(SHARE * most)
        found = self._searched(search, share)
        rows = _ranked(found)[:most]
        least = rows[-1][0] if len(rows) == most else -math.inf
        # a part that gave all it was asked for may have more of the best: with a filter by session
        # all rows may be in one file
        for at, own in enumerate(found):
            if len(own) == share and own[-1][0] > least:
                found[at] = search(self._parts[at], most)
        return _ranked(found)[:most]

    def _searched(self, search: PartSearch, most: int) -> list[list[tuple[float, Any]]]:
        """Return what is found in each part; of many rows by a thread for each."""
        if self.rows() < MANY or scarce_memory() is not None:
            return [search(part, most) for part in self._parts]
        # it takes as long to import as to search a small archive
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

        # begun for each search: those of a parent are no threads of its child
        with ThreadPoolExecutor(PARTS - 1) as threads:
            others = [threads.submit(search, part, most) for part in self._parts[1:]]
            return [search(self._parts[0], most), *(one.result() for one in others)]

    def numbers(self, places: Sequence[Place]) -> list[Row]:
        """Return the numbers of rows."""
        found: dict[int, Row] = {}
        for number, part in enumerate(self._parts):
            own = [at for at, place in enumerate(places) if place[0] == number]
            if own:
                numbers = part.numbers([places[at][1] for at in own])
                found.update(zip(own, numbers, strict=True))
        return [found[at] for at in range(len(places))]

    def rows_of(self, files: Sequence[int]) -> list[Row]:
        """Return the numbers of all rows of the files with these numbers, in no order."""
        rows: list[Row] = []
        for at, part in enumerate(self._parts):
            rows += part.rows_of([number for number in files if number % PARTS == at])
        return rows

    def union(self, names: Iterable[str]) -> Any:
        """Return the query for the rows with any of these names."""
        should = self.tantivy.Occur.Should
        return self.tantivy.Query.boolean_query([(should, self.term(name)) for name in names])


def _ranked(found: Sequence[list[tuple[float, Any]]]) -> list[tuple[float, Place]]:
    """Return the rows of all parts, best first; of the same score by part, in their order."""
    rows = [(score, (part, address)) for part, own in enumerate(found) for score, address in own]
    return sorted(rows, key=lambda row: -row[0])


def mapped_bytes() -> int:
    """Return how many bytes of files are memory of this process; 0 where that is not told."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[2]
        return int(pages) * PAGESIZE
    except (OSError, ValueError, IndexError):
        return 0


def _heap(release: Callable[[], None]) -> int:
    """Return how many bytes tantivy may hold in each part.

    Raises:
        MemoryLimit: Too few are left.
    """
    if scarce_memory() is None:
        return HEAP
    release()
    left = scarce_memory()
    if left is not None and left < NEEDED:
        raise _too_little(left, NEEDED)
    return LIMITED_HEAP


def _too_little(left: int, needed: int) -> MemoryLimit:
    return MemoryLimit(
        f"to change the archive takes {needed >> 20} MB of memory, and the limit of this process"
        f" leaves {left >> 20} MB; raise the limit, or archive from a process without it"
    )
