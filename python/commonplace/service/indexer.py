"""Indexing of files: brings what the engine has of a file to what the file says now.

A file is the unit. Its documents are numbered; a record beside them says of which state of the file
they are, in which generation, and how many there are. Each change of a file takes the next
generation, and the engine refuses what an earlier one still writes, so that processes which index
the same file at once cannot mix its states.
"""

# Longer than 350 lines: one algorithm, of which each step leans on the one before.

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from commonplace._core import CollectionStats, EngineDocument
from commonplace.errors import Conflict, ModelError, NotFound, Refused
from commonplace.service.documents import (
    documents_of,
    drift,
    source_of,
    stats_from,
    stats_record,
)
from commonplace.service.engine_query import TENANT
from commonplace.service.opensearch import MAPPING_VERSION, IndexMissing, OpenSearch
from commonplace.service.scope import Put, Remove
from commonplace.service.stores import GONE, Stores, TenantRoot
from commonplace.service.vector_field import REACH, VectorField, drawn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from commonplace.protocols import Embedder

FILES_AT_ONCE, BYTES_AT_ONCE = 128, 8 << 20
ROUNDS = 20
Records = Mapping[str, dict[str, Any] | None]
"""Records of files in the engine, by path."""
NO_RECORDS: Records = MappingProxyType({})
FEW = 64
"""Vectors of a file that are made while somebody waits for its words to be found."""
log = logging.getLogger(__name__)
MOST_DRIFT = 0.1
"""By which an average length may have moved before all documents are encoded anew."""


@dataclass(frozen=True)
class _Encoding:
    """How documents of a tenant are encoded: by which averages, of the text and of tools."""

    number: int
    stats: CollectionStats
    tool_stats: CollectionStats
    complete: bool
    """Whether all files are indexed."""
    even: bool
    """Whether all of them are in this encoding."""
    generation: int = 0
    sensitivity: dict[str, Any] | None = None
    """Of its vectors in the engine, as it was measured last."""

    def record(self, *, done: bool) -> Put:
        """Return the call that writes it; once it is done, all files are in this encoding."""
        generation = next_generation(self.generation)
        source = {
            "generation": generation,
            "kind": TENANT,
            "encoding": self.number,
            "stats": stats_record(self.stats),
            "tool_stats": stats_record(self.tool_stats),
            "complete": done or self.complete,
            "even": done,
            "sensitivity": self.sensitivity,
        }
        return Put(TENANT, generation, source)

    @classmethod
    def of(cls, record: dict[str, Any]) -> _Encoding:
        """Return what a record says."""
        stats = [stats_from(record[name]) for name in ("stats", "tool_stats")]
        number, generation = record["encoding"], record["generation"]
        whole, told = (record["complete"], record["even"]), record.get("sensitivity")
        return cls(number, stats[0], stats[1], *whole, generation, told)


@dataclass(eq=False)
class _Work:
    """A file that is indexed: its record in the engine, and what it has now."""

    path: str
    record: dict[str, Any]
    encoding: _Encoding
    version: str = GONE
    documents: list[list[EngineDocument]] = field(default_factory=lambda: [[], []])
    generation: int = 0
    near: NDArray[np.float32] | None = None
    """Vectors of the documents of text that are written."""
    vectors: str | None = None
    """The field where they go; None where there are none."""

    def __post_init__(self) -> None:
        self.generation = next_generation(self.record.get("generation", 0))

    @property
    def id(self) -> str:
        return file_id(self.path)

    @property
    def counts(self) -> list[int]:
        """How many documents of text and of tools the engine may have."""
        return list(self.record.get("counts", (0, 0)))

    def is_indexed(self, vectors: str | None) -> bool:
        """Say whether the engine has the file as it is, in this encoding, and with vectors."""
        told = self.record
        if self.version == GONE and not told:
            # what never was there needs no record
            return True
        return (
            bool(told.get("done"))
            and told["version"] == self.version
            and told["encoding"] == self.encoding.number
            # in a rolling upgrade an older version may still write
            and told.get("form") == MAPPING_VERSION
            and vectors in {None, told.get("vectors")}
        )

    def unchanged(self, corpus: int) -> int:
        """Return how many of its first documents the engine has as they are.

        That can be told of a transcript that has grown: the file is the same, and so is the message
        that was the last one.
        """
        told, count = self.record, self.counts[corpus]
        grown = (
            self.path.endswith(".jsonl")
            and told.get("done")
            and told["encoding"] == self.encoding.number
            and told["version"].partition("-")[0] == self.version.partition("-")[0]
            and self.vectors in {None, told.get("vectors")}
        )
        documents = self.documents[corpus]
        if not grown or not 0 < count <= len(documents):
            return 0
        if told["last_keys"][corpus] != f"{documents[count - 1].key:x}":
            return 0
        # vectors of the last ones depend on those that have come
        return max(0, count - REACH) if self.vectors and corpus == 0 else count

    def put_record(self, *, done: bool) -> Put:
        """Return the call that writes its record."""
        now = [len(documents) for documents in self.documents]
        most = [max(pair) for pair in zip(now, self.counts, strict=True)]
        source = {
            "kind": "file",
            "path": self.path,
            "version": self.version,
            "encoding": self.encoding.number,
            "form": MAPPING_VERSION,
            "vectors": self.vectors,
            "generation": self.generation,
            # until it is done, as many as there may be
            "counts": now if done else most,
            "last_keys": [f"{one[-1].key:x}" if one else "" for one in self.documents],
            "done": done,
        }
        return Put(self.id, self.generation, source, claims=not done)

    def changes(self) -> Iterator[Put | Remove]:
        """Yield the calls that write its documents, and remove those it no longer has."""
        stats = (self.encoding.stats, self.encoding.tool_stats)
        for corpus, documents in enumerate(self.documents):
            start = f"{self.id}/{'mt'[corpus]}"
            first = self.unchanged(corpus)
            for number, document in enumerate(documents[first:], first):
                source = {**source_of(document, stats[corpus]), "kind": "document"}
                if self.vectors and self.near is not None and corpus == 0:
                    source["draw"] = drawn(f"{start}{number}")
                    source[self.vectors] = self.near[number - first]
                yield Put(f"{start}{number}", self.generation, {**source, "path": self.path})
            for number in range(len(documents), self.counts[corpus]):
                yield Remove(f"{start}{number}", self.generation)


def next_generation(last: int) -> int:
    """Return the generation after `last`: the time, so that it is later than what was removed."""
    return max(last + 1, time.time_ns() // 1_000_000)


def file_id(path: str) -> str:
    """Return what the ids of a file's documents begin with."""
    return hashlib.sha256(path.encode()).hexdigest()[:24]


class Indexer:
    """Indexes the files of tenants.

    Args:
        engine: Where documents go.
        stores: Where the files are.
        embedder: Makes vectors, where the index has a field for them.
    """

    def __init__(
        self, engine: OpenSearch, stores: Stores, embedder: Embedder | None = None
    ) -> None:
        self._engine, self._stores, self._embedder = engine, stores, embedder

    def index(self, tenant: str, paths: Iterable[str]) -> None:
        """Index files as they are now; those that are gone lose their documents.

        Raises:
            EngineUnavailable: Not all were indexed.
            Conflict: One changed each time it was read.
        """
        left = [*dict.fromkeys(paths)]
        # both in one request: most changes are of one file
        few = left[:FILES_AT_ONCE]
        with self._stores.of(tenant) as store:
            (record, *known) = self._engine.read(tenant, [TENANT, *map(file_id, few)])
            if record is not None:
                records: Records = dict(zip(few, known, strict=True))
                for some in _in_parts(store, left):
                    self._index_some(tenant, store, _Encoding.of(record), some, FEW, records)
                    # what was read before another part may have changed
                    records = NO_RECORDS
                return
        self.rebuild(tenant)

    def rebuild(self, tenant: str) -> int:
        """Index all files of a tenant that changed, remove those that are gone, and say how many.

        Documents are encoded anew where the average lengths have moved. At the end it is noted that
        the tenant is complete. Words are indexed first, and then vectors that have to be made.

        Raises:
            EngineUnavailable: Not all were indexed.
            Conflict: A file changed each time it was read.
        """
        (record,) = self._engine.read(tenant, [TENANT])
        with self._stores.of(tenant) as store:
            paths = [entry.path for entry in store.list()]
            encoding = self._encoding(tenant, store, paths, record)
            known = set(paths)
            # of a new tenant there is nothing to remove
            gone = [one for one in self._indexed(tenant) if one not in known] if record else []
            for some in _in_parts(store, paths + gone):
                self._index_some(tenant, store, encoding, some, 0)
            if not encoding.even:
                self._note(tenant, encoding, encoding.sensitivity)
            if self._vectors_field():
                for some in _in_parts(store, paths):
                    self._index_some(tenant, store, encoding, some, None)
                self._measure(tenant, store, encoding)
        return len(paths)

    def _note(self, tenant: str, encoding: _Encoding, sensitivity: dict[str, Any] | None) -> None:
        """Note that all files are indexed, in one encoding, and how good their vectors are."""
        (record,) = self._engine.read(tenant, [TENANT])
        now = _Encoding.of(record) if record else encoding
        self._engine.write(tenant, [replace(now, sensitivity=sensitivity).record(done=True)])

    def _vectors_field(self) -> VectorField | None:
        return self._engine.vectors if self._embedder else None

    def _add_vectors(self, store: TenantRoot, work: _Work, most: int | None) -> None:
        """Give a file its vectors, unless more than `most` would have to be made."""
        if self._embedder is None or not (field := self._vectors_field()):
            return
        # numpy is loaded by those who have an embedder only
        from commonplace.service.vector_writer import maker_of, vectors_of  # noqa: PLC0415

        work.vectors = field.name
        try:
            maker = maker_of(store, self._embedder)
            work.near = vectors_of(maker, work.documents[0], work.unchanged(0), most)
        except ModelError as error:
            log.warning("%s", error)
        if work.near is None:
            work.vectors = None

    def _measure(self, tenant: str, store: TenantRoot, encoding: _Encoding) -> None:
        """Note how good the vectors of a tenant are, if there are others than before."""
        from commonplace.service.vector_writer import maker_of  # noqa: PLC0415
        from commonplace.service.vectors import TenantVectors  # noqa: PLC0415

        if self._embedder is None or not (field := self._vectors_field()):
            return
        self._engine.refresh()
        maker = maker_of(store, self._embedder)
        vectors = TenantVectors(partial(self._engine.search, tenant), field, maker)
        try:
            measured = vectors.measured(encoding.sensitivity)
        except ModelError as error:
            log.warning("%s", error)
            return
        if measured != encoding.sensitivity:
            self._note(tenant, encoding, measured)

    def drop(self, tenant: str) -> None:
        """Remove what the engine has of a tenant; its files stay."""
        for path in list(self._indexed(tenant)):
            (record,) = self._engine.read(tenant, [file_id(path)])
            generation = next_generation((record or {}).get("generation", 0))
            counts = (record or {}).get("counts", (0, 0))
            ids = [
                f"{file_id(path)}/{'mt'[corpus]}{number}"
                for corpus, count in enumerate(counts)
                for number in range(count)
            ]
            self._engine.write(tenant, [Remove(one, generation) for one in ids])
            # the record last: as long as it is there, the rest can be found
            self._engine.write(tenant, [Remove(file_id(path), generation)])
        (record,) = self._engine.read(tenant, [TENANT])
        if record:
            generation = next_generation(record["generation"])
            self._engine.write(tenant, [Remove(TENANT, generation)])
        self._engine.refresh()

    def _encoding(
        self, tenant: str, store: TenantRoot, paths: Sequence[str], record: dict[str, Any] | None
    ) -> _Encoding:
        """Return how a tenant is to be encoded, noted in the engine if that is new."""
        totals = [CollectionStats(), CollectionStats()]
        for path in paths:
            documents = _documents(store, path)
            totals = [
                total.merged(CollectionStats.of(some))
                for total, some in zip(totals, documents, strict=True)
            ]
        old = _Encoding.of(record) if record else None
        if old and drift(old.stats, totals[0]) <= MOST_DRIFT:
            return old
        new = _Encoding(1, totals[0], totals[1], complete=False, even=False)
        if old:
            new = replace(
                new, number=old.number + 1, complete=old.complete, generation=old.generation
            )
        self._engine.write(tenant, [new.record(done=False)])
        return new

    def _index_some(
        self,
        tenant: str,
        store: TenantRoot,
        encoding: _Encoding,
        paths: Sequence[str],
        most: int | None,
        records: Records = NO_RECORDS,
    ) -> None:
        """Index files, with vectors where no more than `most` of one have to be made.

        `records` has those that were read just now.
        """
        left = list(paths)
        for _ in range(ROUNDS):
            left = self._round(tenant, store, encoding, left, most, records)
            if not left:
                return
            records = NO_RECORDS
        raise Conflict(f"{left[0]!r:.200} changed each time it was indexed; it is tried later")

    def _round(
        self,
        tenant: str,
        store: TenantRoot,
        encoding: _Encoding,
        paths: Sequence[str],
        most: int | None,
        records: Records,
    ) -> list[str]:
        """Index files once, and return those for which it has to be done again."""
        unread = [path for path in paths if path not in records]
        read_now = self._engine.read(tenant, [file_id(path) for path in unread])
        records = {**records, **dict(zip(unread, read_now, strict=True))}
        works = [
            _Work(path, records[path] or {}, encoding, store.file_version(path)) for path in paths
        ]
        field = self._vectors_field() if most is None else None
        works = [work for work in works if not work.is_indexed(field.name if field else None)]
        read = [work for work in works if _read(store, work)]
        for work in read:
            self._add_vectors(store, work, most)
        again = [work.path for work in works if work not in read]
        # from here on a later generation is written by whoever takes the file after us
        lost = self._write(tenant, read, lambda one: [one.put_record(done=False)])
        ready = [
            work
            for work in read
            if work not in lost and store.file_version(work.path) == work.version
        ]
        lost = self._write(tenant, ready, lambda one: one.changes())
        ready = [work for work in ready if work not in lost]
        late = self._write(tenant, ready, lambda one: [one.put_record(done=True)])
        done = [work for work in ready if work not in late]
        return again + [work.path for work in read if work not in done]

    def _write(
        self,
        tenant: str,
        works: Sequence[_Work],
        calls: Callable[[_Work], Iterable[Put | Remove]],
    ) -> list[_Work]:
        """Make the calls for some files, and return those that another process has taken."""
        made: list[tuple[_Work, bool]] = []

        def each() -> Iterator[Put | Remove]:
            for work in works:
                for call in calls(work):
                    made.append((work, isinstance(call, Put)))
                    yield call

        statuses = self._engine.write(tenant, each())
        if any(is_put and at == 404 for at, (_, is_put) in zip(statuses, made, strict=True)):
            raise IndexMissing("the index is gone; it is made anew from the files")
        lost = {work for status, (work, _) in zip(statuses, made, strict=True) if status == 409}
        return [work for work in works if work in lost]

    def _indexed(self, tenant: str) -> Iterator[str]:
        """Yield the paths of which the engine has a record, as searches see them."""
        self._engine.refresh()
        after: list[str] | None = None
        while True:
            body: dict[str, Any] = {
                "query": {"term": {"kind": "file"}},
                "size": 1000,
                "sort": [{"path": "asc"}],
                "_source": ["tenant", "path"],
            }
            if after:
                body["search_after"] = after
            hits = self._engine.search(tenant, [body])[0]["hits"]["hits"]
            if not hits:
                return
            yield from (hit["_source"]["path"] for hit in hits)
            after = hits[-1]["sort"]


def _read(store: TenantRoot, work: _Work) -> bool:
    """Read the documents of a file; say whether it stood still meanwhile."""
    try:
        work.documents = [[], []] if work.version == GONE else _documents(store, work.path)
    except Conflict:
        return False
    return store.file_version(work.path) == work.version


def _documents(store: TenantRoot, path: str) -> list[list[EngineDocument]]:
    """Return the documents of a file, of text and of tools; none of one that is gone."""
    try:
        data = store.data(path)
    except (NotFound, Refused):
        return [[], []]
    return documents_of(path, data)


def _in_parts(store: TenantRoot, paths: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield paths in parts that can be held at once."""
    part: list[str] = []
    size = 0
    for path in paths:
        version = store.file_version(path)
        own = 0 if version == GONE else int(version.split("-")[1], 16)
        if part and (len(part) >= FILES_AT_ONCE or size + own > BYTES_AT_ONCE):
            yield part
            part, size = [], 0
        part.append(path)
        size += own
    if part:
        yield part
