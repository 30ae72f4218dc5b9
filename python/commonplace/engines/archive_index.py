"""The index of the archive: rows in tantivy, one for each message."""

from __future__ import annotations

import math
import os
import time
from importlib import import_module
from mmap import PAGESIZE
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace._core import archive_row_names
from commonplace.engines.row_reader import scarce_memory
from commonplace.errors import Busy, CommonplaceError, MemoryLimit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from tempfile import TemporaryDirectory

INSTALL = "pip install 'commonplace[archive]'"
LOCK_TIMEOUT = 30.0
"""Seconds to wait for another process that changes the archive."""
# Bytes that tantivy may hold before it writes a segment: few, for they are no part of memory_limit;
# and where the system limits memory, the least that tantivy takes
HEAP, LIMITED_HEAP = 32_000_000, 15_000_000
# Bytes that a change takes in all where memory is limited: threads, rows on their way, segments
# that are written and merged (80 MB were seen). tantivy ends the process when it gets no memory, so
# what it may need is asked for before
NEEDED = 96 << 20
# Bytes below which a change that was begun is given up
LAST = 12 << 20
# Bytes of rows after which a segment is written, where memory is limited: tantivy lets ten thousand
# rows wait, of any size
FLUSH = 4 << 20
# The numbers of a row, as `archived_documents` takes them: its file, and the columns of its place
NUMBERS = ("f", "o", "l", "p", "u", "r", "w", "h")
# Bytes of its files that may become memory of this process before it is left, and opened again
MAX_MAPPED = 256 << 20
# Queries that may be nested in each other
MAX_NESTED = 32
# Names whose counts are kept
MAX_COUNTS = 1 << 16

Row = tuple[int, int, int, int, int, int, int, int]


class ArchiveIndex:
    """Rows on the disk: opened, written, counted, found.

    Args:
        folder: Where tantivy keeps its files.

    Raises:
        CommonplaceError: tantivy is not installed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.tantivy = _tantivy()
        self.schema = self._make_schema()
        self._index: Any = None
        self._writer: Any = None
        self._unflushed = 0
        self.searcher: Any = None
        self._links: TemporaryDirectory[str] | None = None
        self._counts: dict[str, int] = {}
        self._documents: dict[str, int] = {}
        self._mapped = 0
        self.version = 0
        """Another one with each commit that was seen."""
        self.deleted = False
        """Rows were deleted that tantivy still counts."""

    def __repr__(self) -> str:
        return f"ArchiveIndex({str(self._folder)!r})"

    # Opening

    def open(self, least: int) -> bool:
        """Open the index; say whether it can be read and has at least so many rows."""
        try:
            self.make()
        except (ValueError, OSError, RuntimeError):
            self.close()
            return False
        return self.rows() >= least

    def make(self) -> None:
        """Open the index; make it where there is none."""
        self._mapped = mapped_bytes()
        self._folder.mkdir(parents=True, exist_ok=True)
        folder = self._folder if os.access(self._folder, os.W_OK) else self._linked()
        index = self.tantivy.Index(self.schema, path=str(folder))
        whitespace = self.tantivy.Tokenizer.whitespace()
        index.register_tokenizer("names", self.tantivy.TextAnalyzerBuilder(whitespace).build())
        self._index = index
        self.reload()

    def _linked(self) -> Path:
        """Return a folder with links to the files of an index that can only be read: to open it,
        tantivy writes a lock beside them.
        """
        # it is rarely needed, and each search would wait for the import
        from tempfile import TemporaryDirectory  # noqa: PLC0415

        self._links = TemporaryDirectory(prefix="commonplace-archive-")
        folder = Path(self._links.name)
        for file in self._folder.iterdir():
            if file.suffix != ".lock":
                (folder / file.name).symlink_to(file.absolute())
        return folder

    def close(self) -> None:
        """Leave the index."""
        self._index = self.searcher = None

    def reload(self) -> None:
        """See what was committed."""
        self._index.reload()
        self.searcher = self._index.searcher()
        self.version += 1
        self._counts.clear()
        self._documents.clear()

    def release_pages(self) -> None:
        """Leave the index where many pages of its files count as memory of this process.

        The system keeps them as it keeps any file, and to open it again takes little: with ten
        million rows once in some fifty searches.
        """
        if not self.is_written and mapped_bytes() > self._mapped + MAX_MAPPED:
            self.close()

    def rows(self) -> int:
        """Return the number of rows."""
        count: int = self.searcher.num_docs
        return count

    def bytes(self) -> int:
        """Return what it takes on the disk."""
        return sum(file.stat().st_size for file in self._folder.rglob("*") if file.is_file())

    # Changes

    @property
    def is_written(self) -> bool:
        """Whether there is a writer, of which there can be one for all processes."""
        return self._writer is not None

    def begin(self, release: Callable[[], None]) -> None:
        """Take the writer.

        Args:
            release: Makes room where memory is scarce.

        Raises:
            Busy: Another process has it for too long.
            MemoryLimit: The system leaves too little memory to this process.
        """
        heap = _heap(release)
        deadline = time.monotonic() + LOCK_TIMEOUT
        while self._writer is None:
            try:
                # one thread: so the rows of a file follow each other, which makes them small
                self._writer = self._index.writer(heap, num_threads=1)
            except ValueError as error:
                if "lock" not in str(error).lower():
                    raise
                if time.monotonic() > deadline:
                    raise Busy(f"{self._folder} is held by another; try again") from error
                time.sleep(0.05)

    def add(self, rows: Iterable[str]) -> None:
        """Add rows, which count when they were committed.

        Raises:
            MemoryLimit: The system leaves too little memory to this process.
        """
        add = self._writer.add_json
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
            self._writer.delete_documents_by_query(self.number("f", number))

    def commit(self) -> None:
        """Make the changes durable."""
        self._writer.commit()
        self._unflushed = 0

    def end(self, *, merge: bool = False) -> None:
        """Give the writer back; what is not committed is forgotten.

        Args:
            merge: Wait until segments are merged, without which there are ever more of them.
        """
        writer, self._writer = self._writer, None
        self._unflushed = 0
        if merge and writer is not None:
            writer.wait_merging_threads()

    def unlisted(self, listed: set[int]) -> list[int]:
        """Return the numbers of files that have rows, but are not listed."""
        self.reload()
        every = self.tantivy.Query.all_query()
        hits = self.searcher.search(every, limit=1, order_by_field="f").hits
        last = hits[0][0] if hits else -1
        numbers = (number for number in range(last + 1) if number not in listed)
        return [number for number in numbers if self.searcher.doc_freq("f", number)]

    # Search

    def count(self, name: str) -> int:
        """Return the number of documents that have a name."""
        found = self._documents.get(name)
        if found is None:
            found = sum(self.count_rows(one) for one in archive_row_names(name))
            _keep(self._documents, name, found)
        return found

    def count_rows(self, name: str) -> int:
        """Return the number of rows that have this very name."""
        found = self._counts.get(name)
        if found is None:
            if self.deleted:
                # those that are deleted still count
                found = self.count_found(self.term(name))
            else:
                found = self.searcher.doc_freq("t", name)
            _keep(self._counts, name, found)
        return found

    def count_found(self, query: Any) -> int:
        """Return the number of rows that a query finds."""
        return self.searcher.search(query, limit=1).count or 0

    def best(
        self, required: Sequence[Any], optional: Sequence[Any], most: int
    ) -> list[tuple[float, Any]]:
        """Return the rows that score best of those that pass all of some queries.

        Args:
            required: These queries.
            optional: Those that only add to the score.
            most: Most rows.

        Returns:
            Score and address of each, best first.
        """
        occur, boolean = self.tantivy.Occur, self.tantivy.Query.boolean_query
        query = boolean([(occur.Must, one) for one in required]) if required[1:] else required[0]
        # each on its own: several beside each other are a union, which scores all their rows in
        # each window of 4,096 rows in which one passes
        for one in optional[:MAX_NESTED]:
            query = boolean([(occur.Must, query), (occur.Should, one)])
        if rest := optional[MAX_NESTED:]:
            query = boolean([(occur.Must, query), *((occur.Should, one) for one in rest)])
        found: list[tuple[float, Any]] = self.searcher.search(query, limit=most, count=False).hits
        return found

    def numbers(self, addresses: list[Any]) -> list[Row]:
        """Return the numbers of rows."""
        return list(zip(*(self._column(name, addresses) for name in NUMBERS), strict=True))

    def _column(self, name: str, addresses: list[Any]) -> list[int]:
        values: list[int] = self.searcher.fast_field_values(name, addresses)
        return values

    def words(self, beginning: str) -> list[tuple[str, int]]:
        """Return the names of rows with this beginning, and how many rows have each."""
        found: list[tuple[str, int]] = self.searcher.terms_with_prefix("t", beginning)
        return found

    def term(self, name: str) -> Any:
        """Return the query for the rows with this very name."""
        return self.tantivy.Query.term_query(self.schema, "t", name, "freq")

    def union(self, names: Iterable[str]) -> Any:
        """Return the query for the rows with any of these names."""
        should = self.tantivy.Occur.Should
        return self.tantivy.Query.boolean_query([(should, self.term(name)) for name in names])

    def number(self, field: str, value: int) -> Any:
        """Return the query for the rows with this number."""
        return self.tantivy.Query.term_query(self.schema, field, value)

    def idf(self, count: int) -> float:
        """Return the idf by which tantivy scores a name that so many rows have."""
        documents = max(self.rows(), count)
        return math.log1p((documents - count + 0.5) / (count + 0.5))

    def _make_schema(self) -> Any:
        builder = self.tantivy.SchemaBuilder()
        builder.add_text_field("t", tokenizer_name="names", index_option="freq")
        builder.add_unsigned_field("f", indexed=True, fast=True)
        for name in NUMBERS[1:]:
            builder.add_unsigned_field(name, fast=True)
        builder.add_integer_field("d", fast=True)
        return builder.build()


def mapped_bytes() -> int:
    """Return how many bytes of files are memory of this process; 0 where that is not told."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[2]
        return int(pages) * PAGESIZE
    except (OSError, ValueError, IndexError):
        return 0


def _keep(counts: dict[str, int], name: str, count: int) -> None:
    if len(counts) >= MAX_COUNTS:
        counts.clear()
    counts[name] = count


def _heap(release: Callable[[], None]) -> int:
    """Return how many bytes tantivy may hold.

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


def _tantivy() -> Any:
    try:
        return import_module("tantivy")
    except ImportError as error:
        raise CommonplaceError(f"the archive needs tantivy; install it: {INSTALL}") from error
