"""The archive: an index on the disk, kept by tantivy, for transcripts that are rarely asked for.

tantivy stores the names of each message, and the numbers by which it is found in its file. It
chooses candidates by its own BM25, weighted as the core weights them; the core reads these back
from their files and ranks them. `.commonplace/archive/files.json` says which files are archived:
what tantivy holds of others does not count, so a crash at any point leaves each message in the
archive or in the index of the store, never in both. The index is made of the files, and made again
from them when it is damaged or gone.

(Longer than 350 lines: all that knows tantivy.)
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import orjson

from commonplace._core import CollectionStats, archive_label, archive_rows
from commonplace.engines.protocol import EngineStats
from commonplace.errors import Busy, CommonplaceError, NotFound

if TYPE_CHECKING:
    from pathlib import Path

    from commonplace._core import EngineDocument, QueryNames, SearchFilter
    from commonplace.store import Store

INSTALL = "pip install 'commonplace[archive]'"
FOLDER = "archive"
LIST = "files.json"
# Of the layout of the rows: an index of another version is made again
VERSION = 1
# Bytes that tantivy may hold before it writes a segment
HEAP = 96_000_000
PATIENCE = 30.0
"""Seconds to wait for another process that changes the archive."""
# k1 of tantivy, and its norm of length
K1, B = 1.2, 0.75
NUMBERS = ("f", "o", "n", "l", "p", "u", "r", "w", "b", "a", "h")
# The letters of names that are in the text field; all others are in the side field
TEXT = "cw"
# Candidates whose neighbours are candidates too
NEAR = 64
# Words of one pattern, as in the index of a store
MAX_WORDS = 256

Row = tuple[int, int, int, int, int, int, int, int, int, int, int]


class ArchiveEngine:
    """Documents on the disk, found by tantivy; safe to share between processes, not threads.

    Args:
        store: The store of the files.

    Raises:
        CommonplaceError: tantivy is not installed.
    """

    def __init__(self, store: Store) -> None:
        self._tantivy = _tantivy()
        self._store = store
        self._core = store._core  # noqa: SLF001
        self.weights = store._weights  # noqa: SLF001
        self._side = store.side_files(FOLDER)
        self._folder: Path = store.root / ".commonplace" / FOLDER
        self._schema = self._make_schema()
        self._index: Any = None
        self._searcher: Any = None
        self._files: dict[str, dict[str, Any]] = {}
        self._known: dict[str, Any] = {}
        self._stamp: object = None
        self._added: dict[str, dict[str, Any] | None] = {}
        self._writer: Any = None
        self._lock: Any = None

    def __repr__(self) -> str:
        return f"ArchiveEngine({str(self._folder)!r})"

    # Changes

    def add(self, path: str, data: bytes) -> int:
        """Index a file, in place of what is indexed of it; return its documents."""
        writer = self._begin()
        self.remove(path)
        number = self._next
        self._next += 1
        size, mtime = self._stat(path)
        if size != len(data):
            # it is being written: the index of the store follows it
            return 0
        rows, stats, summary, (first, last) = archive_rows(path, data, number)
        for row in rows:
            writer.add_json(row)
        self._added[path] = {
            "id": number,
            "size": size,
            "mtime_ns": mtime,
            "messages": len(rows),
            "fields": stats.docs_with_field,
            "lengths": stats.lengths,
            "summary": summary,
            "first": first,
            "last": last,
        }
        return len(rows)

    def remove(self, path: str) -> None:
        """Remove the documents of a file; nothing happens where there are none."""
        self._begin()
        if file := self._added.get(path):
            self._orphans = [*self._orphans, file["id"]]
        self._added[path] = None

    def commit(self) -> None:
        """Make the changes durable: first the documents, then the list that makes them count."""
        if self._writer is None:
            return
        try:
            self._read_list()
            old = {self._files[path]["id"] for path in self._added if path in self._files}
            self._writer.commit()
            files = {path: file for path, file in self._files.items() if path not in self._added}
            files |= {path: file for path, file in self._added.items() if file is not None}
            self._deleted |= bool(old or self._orphans)
            self._write_list(files)
            # they count no more; what a crash leaves of them goes with the next commit
            for number in [*old, *self._orphans]:
                self._writer.delete_documents_by_query(self._number("f", number))
            if old or self._orphans:
                self._writer.commit()
        finally:
            self._end()
        self.refresh()

    def rollback(self) -> None:
        """Forget the changes since the last commit."""
        if self._writer is not None:
            self._writer.rollback()
            self._end()

    def refresh(self) -> None:
        """See what others have committed, and make the index again if it is damaged."""
        before = self._stamp
        self._read_list()
        if self._index is None or before != self._stamp:
            self._open()
        self._index.reload()
        self._searcher = self._index.searcher()

    def rebuild(self) -> None:
        """Make the index again from the files in the list; those that have changed leave it."""
        self.rollback()
        self._searcher = self._index = None
        self._is_damaged = True
        self._begin()
        self.commit()

    # Search

    def statistics(self, names: QueryNames) -> CollectionStats:
        """Return the statistics of the archived documents for a query."""
        self._follow()
        # once a search: each time the store looks at its files
        if changed := self._core.no_longer_archived():
            self._drop(changed)
        counts = {name: self._count(name) for name in names.names}
        for name, kind, typos, terms in names.patterns:
            counted = _field_names(name, terms) if kind == "field" else terms
            query = self._union(self._expanded(kind, typos, counted))
            counts["~" + name] = self._searcher.search(query, limit=1).count or 0
        fields: dict[str, int] = {}
        lengths: dict[str, int] = {}
        documents = 0
        for file in self._files.values():
            documents += file["messages"]
            for total, own in ((fields, file["fields"]), (lengths, file["lengths"])):
                for field, count in own.items():
                    total[field] = total.get(field, 0) + count
        return CollectionStats(documents, fields, lengths, counts)

    def candidates(
        self, names: QueryNames, stats: CollectionStats, filter: SearchFilter, count: int
    ) -> list[EngineDocument]:
        """Return the documents that score best by tantivy's BM25 with the weights of the core."""
        self._follow()
        asked = self._asked(names, stats)
        if asked is None or not self._files:
            return []
        places = list(self._places(filter))
        fields = list(self._fields(filter))
        phrases = [self._union(word) for phrase in names.phrases for word in phrase]
        best = self._best([asked, *phrases, *places, *fields], count)
        # the neighbours of what does not pass may pass
        near = self._best([asked, *places], NEAR) if fields or phrases else best[:NEAR]
        return self._documents(best + self._neighbours(near))

    def _best(self, parts: list[Any], count: int) -> list[Any]:
        """Return the documents that score best of those that all parts find."""
        occur = self._tantivy.Occur.Must
        query = self._tantivy.Query.boolean_query([(occur, part) for part in parts])
        found = self._searcher.search(
            query if parts[1:] else parts[0], limit=count, count=False
        ).hits
        return [address for _, address in found]

    def _neighbours(self, addresses: list[Any]) -> list[Any]:
        """Return the messages beside some: of their words they have no names, but a context."""
        if not addresses:
            return []
        files, places = (self._searcher.fast_field_values(name, addresses) for name in "fp")
        own = set(zip(files, places, strict=True))
        beside = {
            (file, place + step) for file, place in own for step in (-1, 1) if place + step >= 0
        }
        return self._with([{"f": file, "p": place} for file, place in sorted(beside - own)])

    def _with(self, wanted: list[dict[str, int]], most: int | None = None) -> list[Any]:
        """Return the documents that have all numbers of one of some rows."""
        if not wanted:
            return []
        occur, query = self._tantivy.Occur, self._tantivy.Query
        either = []
        for row in wanted:
            parts = [(occur.Must, self._number(field, value)) for field, value in row.items()]
            either.append((occur.Should, query.boolean_query(parts)))
        union = query.boolean_query(either)
        found = self._searcher.search(union, limit=most or len(wanted), count=False).hits
        return [address for _, address in found]

    def turns(self, keys: Sequence[tuple[str, int]]) -> list[EngineDocument]:
        """Return all documents of some turns."""
        self._follow()
        known = [(path, turn) for path, turn in keys if path in self._files]
        wanted = [{"f": self._files[path]["id"], "u": turn} for path, turn in known]
        most = sum(self._files[path]["messages"] for path in {path for path, _ in known})
        return self._documents(self._with(wanted, most))

    def stats(self) -> EngineStats:
        """Return the size of the archive."""
        self._follow()
        documents = sum(file["messages"] for file in self._files.values())
        size = sum(file.stat().st_size for file in self._folder.rglob("*") if file.is_file())
        return EngineStats(len(self._files), documents, size)

    def holds(self, path: str) -> bool:
        """Say whether a file is in the list of archived files."""
        self._read_list()
        return path in self._files

    # Queries

    def _asked(self, names: QueryNames, stats: CollectionStats) -> Any:
        """Return the query that chooses candidates; None if nothing can be found."""
        query, occur = self._tantivy.Query, self._tantivy.Occur
        weighted = dict(names.weights(stats))
        parts: list[Any] = []
        for name, weight in weighted.items():
            if name[0] == "~":
                continue
            # what stands beside the text has a name of its own
            for own in (name, _beside(name)) if name[0] in TEXT else (name,):
                parts += self._weighted(own, weight)
        for name, kind, typos, terms in names.patterns:
            for own in self._expanded(kind, typos, terms):
                parts += self._weighted(own, weighted.get("~" + name, 1.0))
        if not parts:
            return None
        return query.boolean_query([(occur.Should, part) for part in parts])

    def _weighted(self, name: str, weight: float) -> Iterator[Any]:
        """Yield the query for a name, if any document has it, with our weight for tantivy's idf."""
        if found := self._count(name):
            yield self._tantivy.Query.boost_query(self._term(name), weight / self._idf(found))

    def _fields(self, filter: SearchFilter) -> Iterator[Any]:
        """Yield a query for each field of a filter that only messages have."""
        query, kind = self._tantivy.Query, self._tantivy.FieldType.Integer
        if filter.role is not None:
            yield self._term(archive_label("R", filter.role))
        if filter.since is not None or filter.until is not None:
            bounds = [filter.since, filter.until]
            low, high = [None if at is None else round(at * 1000) for at in bounds]
            yield query.range_query(self._schema, "d", kind, low, high, include_upper=False)

    def _places(self, filter: SearchFilter) -> Iterator[Any]:
        """Yield a query for each field that neighbours have in common."""
        if filter.session is not None:
            session = self._term(archive_label("S", filter.session))
            files = self._in_files(filter.session_transcripts)
            either = [(self._tantivy.Occur.Should, part) for part in (session, files)]
            yield self._tantivy.Query.boolean_query(either)
        if filter.prefix is not None and "" not in filter.prefix:
            below = [
                path
                for path in self._files
                if any(
                    path == one or path.startswith(f"{one.rstrip('/')}/") for one in filter.prefix
                )
            ]
            yield self._in_files(below)
        if filter.source is not None:
            suffix = ".jsonl"
            wanted = filter.source == "message"
            yield self._in_files([p for p in self._files if p.lower().endswith(suffix) == wanted])

    def _in_files(self, paths: Sequence[str]) -> Any:
        numbers = [self._files[path]["id"] for path in paths if path in self._files]
        return self._tantivy.Query.term_set_query(self._schema, "f", numbers)

    def _expanded(self, kind: str, typos: int, terms: list[str]) -> list[str]:
        """Return the names of the words that a pattern stands for, most frequent first."""
        if kind == "field":
            return [name for name in terms if self._count(name)]
        words: dict[str, int] = {}
        for term in terms:
            for letter, field in (("w", "t"), ("v", "s")):
                if kind == "prefix":
                    found = self._searcher.terms_with_prefix(field, letter + term)
                else:
                    # a typo may be in the first letter: all words are compared
                    found = self._searcher.terms_with_prefix(field, letter)
                    found = [one for one in found if _is_near(one[0][1:], term, typos)]
                words |= dict(found)
        return sorted(words, key=lambda name: (-words[name], name))[:MAX_WORDS]

    def _union(self, names: list[str]) -> Any:
        occur = self._tantivy.Occur.Should
        return self._tantivy.Query.boolean_query([(occur, self._term(name)) for name in names])

    def _term(self, name: str) -> Any:
        return self._tantivy.Query.term_query(self._schema, _field(name), name, "freq")

    def _number(self, field: str, value: int) -> Any:
        return self._tantivy.Query.term_query(self._schema, field, value)

    def _count(self, name: str) -> int:
        if self._deleted:
            # those that are deleted still count
            found = self._searcher.search(self._term(name), limit=1).count
            return found or 0
        count: int = self._searcher.doc_freq(_field(name), name)
        return count

    def _idf(self, count: int) -> float:
        documents = max(self._searcher.num_docs, count)
        return math.log1p((documents - count + 0.5) / (count + 0.5))

    def _documents(self, addresses: list[Any]) -> list[EngineDocument]:
        """Read documents back from their files; a file that has changed leaves the archive."""
        if not addresses:
            return []
        columns = [self._searcher.fast_field_values(name, addresses) for name in NUMBERS]
        rows: list[Row] = list(zip(*columns, strict=True))
        documents, changed = self._core.archived_documents(rows)
        if changed:
            self._drop(changed)
        return documents

    def _drop(self, paths: list[str]) -> None:
        """Remove files that have changed; what is here of them does not count in any case."""
        try:
            self._begin(patience=0.0)
        except Busy:
            return
        for path in paths:
            self.remove(path)
        self.commit()

    # The index and its list

    def _follow(self) -> None:
        if self._searcher is None or self._core.archive_stamp() != self._stamp:
            self.refresh()

    def _open(self) -> None:
        """Open the index; one that is damaged, or of another version, is made again."""
        self._index = self._open_whole()
        if self._index is None:
            self.rebuild()
        elif (
            self._known.get("unfinished", True) and self._index.searcher().num_docs > self._listed()
        ):
            # what a killed move or a lost list has left would count twice
            self._drop([])

    def _listed(self) -> int:
        """Return the number of documents of the files in the list."""
        return sum(file["messages"] for file in self._files.values())

    def _open_whole(self) -> Any:
        """Return the index; None if it lacks rows that are in the list."""
        if self._is_damaged:
            return None
        try:
            index = self._open_index()
            held = index.searcher().num_docs
        except (ValueError, OSError, RuntimeError):
            return None
        return index if held >= self._listed() else None

    def _open_index(self) -> Any:
        folder = self._folder / "index"
        folder.mkdir(parents=True, exist_ok=True)
        index = self._tantivy.Index(self._schema, path=str(folder))
        analyzer = self._tantivy.TextAnalyzerBuilder(self._tantivy.Tokenizer.whitespace()).build()
        index.register_tokenizer("names", analyzer)
        return index

    _is_damaged = False
    _deleted = False
    _next = 1
    _orphans: Sequence[int] = ()

    def _begin(self, patience: float = PATIENCE) -> Any:
        """Return the writer; take the lock of the archive for the time until the commit."""
        if self._writer is not None:
            return self._writer
        self._lock = self._side.locked("lock", patience)
        self._lock.__enter__()
        try:
            self._read_list()
            self._index = self._open_whole()
            again: list[str] = []
            if self._index is None:
                again = [path for path, file in self._files.items() if self._is_same(path, file)]
                self._added = {path: None for path in self._files if path not in again}
                self._core.remove_archive_index()
                self._index, self._is_damaged, self._deleted = self._open_index(), False, False
            self._writer = self._make_writer()
            self._orphans = [] if again else self._unlisted()
            # a number is never used again, also not one of a killed move
            used = [*self._orphans, *(file["id"] for file in self._files.values())]
            self._next = max([self._known.get("next", 1), *(number + 1 for number in used)])
            # a forget must know that there are words of files that are not in the list yet
            self._write_list(self._files, unfinished=True)
            for path in again:
                self.add(path, self._core.read_bytes(path))
        except BaseException:
            self._end()
            raise
        return self._writer

    def _make_writer(self) -> Any:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self._index.writer(HEAP, num_threads=2)
            except ValueError as error:
                if "LockBusy" not in str(error) and "lock" not in str(error).lower():
                    raise
                if time.monotonic() > deadline:
                    raise Busy(f"{self._folder} is held by another; try again") from error
                time.sleep(0.05)

    def _unlisted(self) -> list[int]:
        """Return the numbers of files that a killed move has left."""
        self._index.reload()
        searcher = self._index.searcher()
        if searcher.num_docs <= self._listed():
            return []
        every = self._tantivy.Query.all_query()
        (last, _), *_ = searcher.search(every, limit=1, order_by_field="f").hits
        listed = {file["id"] for file in self._files.values()}
        numbers = (number for number in range(last + 1) if number not in listed)
        return [number for number in numbers if searcher.doc_freq("f", number)]

    def _end(self) -> None:
        self._writer, self._added, self._orphans = None, {}, ()
        if self._lock is not None:
            lock, self._lock = self._lock, None
            lock.__exit__(None, None, None)

    def _stat(self, path: str) -> tuple[int, int]:
        _, size, mtime, _ = self._core.stamp(path)
        return size, mtime

    def _is_same(self, path: str, file: dict[str, Any]) -> bool:
        try:
            return self._stat(path) == (file["size"], file["mtime_ns"])
        except NotFound:
            return False

    def _text(self) -> bytes:
        try:
            with self._side.handle(LIST, "r") as file:
                return file.readall()
        except NotFound:
            return b""

    def _read_list(self) -> None:
        stamp = self._core.archive_stamp()
        if stamp == self._stamp and stamp is not None:
            return
        try:
            known = orjson.loads(self._text() or b"{}")
        except orjson.JSONDecodeError:
            known = {}
        self._known = known if _is_list(known) else {}
        self._files = self._known.get("files", {})
        self._is_damaged |= bool(self._files) and self._known.get("version") != VERSION
        self._deleted = bool(self._known.get("deleted"))
        self._stamp = stamp

    def _write_list(self, files: dict[str, dict[str, Any]], *, unfinished: bool = False) -> None:
        text = {
            "version": VERSION,
            "next": self._next,
            "deleted": self._deleted and bool(files),
            "unfinished": unfinished,
            "files": files,
        }
        with self._side.handle(f"{LIST}.new", "r+") as file:
            file.truncate(0)
            file.write(orjson.dumps(text))
            os.fsync(file.fileno())
        self._core.rename_side(f"{FOLDER}/{LIST}.new", f"{FOLDER}/{LIST}")
        self._stamp = None
        self._read_list()

    def _make_schema(self) -> Any:
        builder = self._tantivy.SchemaBuilder()
        builder.add_text_field("t", tokenizer_name="names", index_option="freq")
        builder.add_text_field("s", tokenizer_name="names", index_option="freq")
        builder.add_unsigned_field("f", indexed=True, fast=True)
        builder.add_unsigned_field("p", indexed=True, fast=True)
        builder.add_unsigned_field("u", indexed=True, fast=True)
        for name in ("o", "n", "l", "r", "w", "b", "a", "h"):
            builder.add_unsigned_field(name, fast=True)
        builder.add_integer_field("d", fast=True)
        return builder.build()


def _tantivy() -> Any:
    try:
        return import_module("tantivy")
    except ImportError as error:
        raise CommonplaceError(f"the archive needs tantivy; install it: {INSTALL}") from error


def _is_list(known: Any) -> bool:
    """Say whether this is a list of archived files, as it is written here."""
    files = known.get("files", {}) if isinstance(known, dict) else None
    numbers = dict.fromkeys(("id", "size", "mtime_ns", "messages"), int)
    kinds = {**numbers, "fields": dict, "lengths": dict}
    return isinstance(files, dict) and all(
        isinstance(file, dict)
        and all(isinstance(file.get(name), kind) for name, kind in kinds.items())
        for file in files.values()
    )


def _field(name: str) -> str:
    return "t" if name[0] in TEXT else "s"


def _beside(name: str) -> str:
    return ("b" if name[0] == "c" else "v") + name[1:]


def _field_names(pattern: str, terms: list[str]) -> list[str]:
    """Return the names that are counted for `field:word`: of most fields those of all text."""
    letter = {"heading": "h", "title": "h", "speaker": "p"}.get(pattern.partition(":")[0])
    return [letter + name for name in terms if name[0] in TEXT] if letter else terms


def _is_near(word: str, term: str, typos: int) -> bool:
    """Say whether a word is at most so many insertions, deletions or changes away from another."""
    if abs(len(word) - len(term)) > typos:
        return False
    row = list(range(len(term) + 1))
    for at, letter in enumerate(word, 1):
        before, row = row, [at]
        for place, other in enumerate(term, 1):
            change = before[place - 1] + (letter != other)
            row.append(min(before[place] + 1, row[place - 1] + 1, change))
        if min(row) > typos:
            return False
    return row[-1] <= typos
