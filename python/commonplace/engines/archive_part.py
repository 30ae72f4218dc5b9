"""A part of the index of the archive: rows in one index of tantivy, one for each message."""

from __future__ import annotations

import math
import os
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace._core import archive_row_names
from commonplace.errors import Busy, CommonplaceError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from tempfile import TemporaryDirectory

INSTALL = "pip install 'commonplace[archive]'"
LOCK_TIMEOUT = 30.0
"""Seconds to wait for another process that changes the archive."""
# The numbers of a row, as `archived_documents` takes them: the columns of its place
NUMBERS = ("o", "l", "r", "w", "x", "h")
# Queries that may be nested in each other
MAX_NESTED = 32
# Names whose counts are kept
MAX_COUNTS = 1 << 16

Row = tuple[int, int, int, int, int, int]


class ArchivePart:
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
        self._searcher: Any = None
        self._links: TemporaryDirectory[str] | None = None
        self._counts: dict[str, int] = {}
        self._documents: dict[str, int] = {}
        self.deleted = False
        """Rows were deleted that tantivy still counts."""

    def __repr__(self) -> str:
        return f"ArchivePart({str(self._folder)!r})"

    # Opening

    @property
    def is_open(self) -> bool:
        """Whether it can be searched."""
        return self._searcher is not None

    def make(self) -> None:
        """Open the index; make it where there is none."""
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
        self._index = self._searcher = None

    def reload(self) -> None:
        """See what was committed."""
        self._index.reload()
        self._searcher = self._index.searcher()
        self._counts.clear()
        self._documents.clear()

    def rows(self) -> int:
        """Return the number of rows."""
        count: int = self._searcher.num_docs
        return count

    # Changes

    def begin(self, heap: int) -> None:
        """Take the writer, of which there can be one for all processes; it may hold `heap` bytes.

        Raises:
            Busy: Another process has it for too long.
        """
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

    def add(self, row: str) -> None:
        """Add a row, which counts when it was committed."""
        self._writer.add_json(row)

    def delete(self, number: int) -> None:
        """Remove all rows of the file with this number."""
        self._writer.delete_documents_by_query(self.number("f", number))

    def commit(self) -> None:
        """Make the changes durable."""
        self._writer.commit()

    def end(self, *, merge: bool = False) -> None:
        """Give the writer back; what is not committed is forgotten.

        Args:
            merge: Wait until segments are merged, without which there are ever more of them.
        """
        writer, self._writer = self._writer, None
        if merge and writer is not None:
            writer.wait_merging_threads()

    def last_number(self) -> int:
        """Return the greatest number of a file that has rows; -1 if there are none."""
        every = self.tantivy.Query.all_query()
        hits = self._searcher.search(every, limit=1, order_by_field="f").hits
        return hits[0][0] if hits else -1

    def has_rows_of(self, number: int) -> bool:
        """Say whether there are rows of the file with this number."""
        return bool(self._searcher.doc_freq("f", number))

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
                found = self._searcher.doc_freq("t", name)
            _keep(self._counts, name, found)
        return found

    def count_found(self, query: Any) -> int:
        """Return the number of rows that a query finds."""
        return self._searcher.search(query, limit=1).count or 0

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
        found: list[tuple[float, Any]] = self._searcher.search(query, limit=most, count=False).hits
        return found

    def numbers(self, addresses: list[Any]) -> list[Row]:
        """Return the numbers of rows."""
        return list(zip(*(self._column(name, addresses) for name in NUMBERS), strict=True))

    def rows_of(self, files: list[int]) -> list[Row]:
        """Return the numbers of all rows of the files with these numbers, in no order."""
        most = sum(self._searcher.doc_freq("f", number) for number in files)
        query = self.tantivy.Query.term_set_query(self.schema, "f", files)
        found = self._searcher.search(query, limit=max(most, 1), count=False).hits
        return self.numbers([address for _, address in found])

    def _column(self, name: str, addresses: list[Any]) -> list[int]:
        values: list[int] = self._searcher.fast_field_values(name, addresses)
        return values

    def words(self, beginning: str) -> list[tuple[str, int]]:
        """Return the names of rows with this beginning, and how many rows have each."""
        found: list[tuple[str, int]] = self._searcher.terms_with_prefix("t", beginning)
        return found

    def weighted(self, name: str, weight: float) -> Any:
        """Return the query for the rows with a name, with this weight in place of tantivy's idf."""
        idf = self._idf(self.count_rows(name))
        return self.tantivy.Query.boost_query(self.term(name), weight / idf)

    def term(self, name: str) -> Any:
        """Return the query for the rows with this very name."""
        return self.tantivy.Query.term_query(self.schema, "t", name, "freq")

    def number(self, field: str, value: int) -> Any:
        """Return the query for the rows with this number."""
        return self.tantivy.Query.term_query(self.schema, field, value)

    def _idf(self, count: int) -> float:
        """Return the idf by which tantivy scores a name that so many rows have."""
        documents = max(self.rows(), count)
        return math.log1p((documents - count + 0.5) / (count + 0.5))

    def _make_schema(self) -> Any:
        builder = self.tantivy.SchemaBuilder()
        builder.add_text_field("t", tokenizer_name="names", index_option="freq")
        builder.add_unsigned_field("f", indexed=True, fast=True)
        for name in NUMBERS:
            builder.add_unsigned_field(name, fast=True)
        builder.add_integer_field("d", fast=True)
        return builder.build()


def _keep(counts: dict[str, int], name: str, count: int) -> None:
    if len(counts) >= MAX_COUNTS:
        counts.clear()
    counts[name] = count


def _tantivy() -> Any:
    try:
        return import_module("tantivy")
    except ImportError as error:
        raise CommonplaceError(f"the archive needs tantivy; install it: {INSTALL}") from error
