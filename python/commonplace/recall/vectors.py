"""Vectors of a store's documents: embedded once a text, cached beside the index, searched exactly.

A vector belongs to a text, not to a place: it is kept by the hash of what the embedder was given,
so that what moves or comes back costs nothing. The files stay the truth;
`.commonplace/vectors/` may be deleted at any time. Needs `commonplace[vectors]` (numpy).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

# before what is in this package, so that nothing else says it
try:
    import numpy as np
except ImportError as error:
    raise ImportError("vectors need numpy: pip install 'commonplace[vectors]'") from error

import orjson

from commonplace._core import Hit
from commonplace.embedded_text import digest, embedded_text
from commonplace.errors import Conflict, ModelError, NotFound, Refused
from commonplace.locks import Lock
from commonplace.progress import FOLDER, ProgressNotes
from commonplace.protocols import Embedder
from commonplace.recall.nearest import Rows, normal
from commonplace.recall.vector_cache import Cache
from commonplace.recall.vector_documents import (
    Change,
    File,
    smooth,
    unchanged,
)
from commonplace.stamp import Stamp
from commonplace.store import Store

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

# Texts that an embedder gets at once
BATCH = 64
# Documents whose vectors are made together, so that small files share a batch
GROUP = 1024
# Beyond so many vectors, exact search costs more than an index of neighbours
EXACT = 1_000_000
# A file that changed so recently, in nanoseconds, may change again without its stamp showing it
RECENT = 2_000_000_000
# The cache is made anew when it holds so many vectors more than twice those that are needed
WASTE = 1024
# How often files are followed anew while somebody goes on changing them
ATTEMPTS = 4


class Vectors:
    """The vectors of every document of a store, as one embedder makes them.

    Safe to share between threads; each call sees the files as they are now.

    Args:
        store: Where the documents are.
        embedder: Makes the vectors. Those of another `id` or of other `dims` are never mixed in.
        exact: Beyond so many vectors `nearest` asks an index of neighbours (usearch), which may
            miss some; it is made in memory when first needed.
        text_of: What the embedder is given of a document; default: its text, and what it is said
            under.

    >>> import commonplace, tempfile
    >>> from commonplace.adapters.embedders import CallableEmbedder
    >>> letters = CallableEmbedder(
    ...     lambda texts: [[t.count(c) for c in "abcdefghijklmnop"] for t in texts], "letters", 16
    ... )
    >>> store = commonplace.open(tempfile.mkdtemp())
    >>> _ = store.write("a.md", "abba")
    >>> _ = store.write("b.md", "pokemon")
    >>> [(hit.path, round(cosine, 2)) for hit, cosine in Vectors(store, letters).nearest("aabb", 1)]
    [('a.md', 1.0)]
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        *,
        exact: int = EXACT,
        text_of: Callable[[Hit], str] | None = None,
    ) -> None:
        if embedder.dims < 1:
            raise ModelError(f"the embedder {embedder.id!r} says that it has {embedder.dims} dims")
        self.revision: int | None = None
        """The revision of the store that was seen last."""
        self._store = store
        self._embedder = embedder
        self._dims = embedder.dims
        self._exact = exact
        self._text_of = text_of or embedded_text
        store.embedded_texts.add(self._text_of)
        folder, header, size = cache_file(embedder)
        self._cache = Cache(store.side_files(folder), header, size)
        self._lock = Lock(torn=self._forget)
        self.missed: list[str] = []
        """Which files could not be read, and why."""
        self._unkept: list[str] = []
        self._forget()

    @property
    def notes(self) -> list[str]:
        """What could not be read, and why vectors cannot be kept."""
        return self.missed + self._unkept

    def __len__(self) -> int:
        return len(self._hits)

    def refresh(self) -> int:
        """Update to the files as they are: make vectors of what is new, drop those of what left.

        What is done is kept as it goes, so that after an interrupt it goes on from there.

        Returns:
            How many texts went to the embedder; 0 when nothing changed, at the cost of a look.

        Raises:
            ModelError: The embedder failed, or answered something that is no vector.
        """
        made = 0
        with self._lock:
            for _ in range(ATTEMPTS):
                revision = self._store.revision()
                if revision == self.revision:
                    break
                self.missed = []
                made += self._follow()
                # a file that was missed is tried again by the next call
                self.revision = None if self.missed else revision
            return made

    def embed(self, query: str) -> Matrix:
        """Return the vector of a query, with length 1.

        Raises:
            ModelError: The embedder failed, or answered something that is no vector.
        """
        return np.asarray(self._asked(lambda: [self._embedder.embed_query(query)], 1)[0])

    def nearest(
        self, query: str | Matrix, k: int, keep: Callable[[Hit], bool] | None = None
    ) -> list[tuple[Hit, float]]:
        """Return the `k` documents nearest to a text or a vector, with their cosines.

        Args:
            query: A query, or its vector from `embed`.
            k: Most documents to return.
            keep: Only documents of which this is true; the search is exact then.

        Returns:
            Documents and cosines, nearest first, ties by path and position. Their snippet is
            their beginning.

        Raises:
            ModelError: As for `refresh`.
        """
        vector = self.embed(query) if isinstance(query, str) else query
        with self._lock:
            self.refresh()
            admits = None if keep is None else lambda row: keep(self._hits[row])
            found = [
                (self._hits[row], cosine) for row, cosine in self._rows.best(vector, k, admits)
            ]
        return sorted(found, key=lambda pair: (-pair[1], pair[0].path, pair[0].start))

    def cosines(self, query: Matrix, hits: Iterable[Hit]) -> list[float | None]:
        """Return the cosine of each hit, None where it has no vector; files are not followed."""
        with self._lock:
            found: list[float | None] = []
            for hit in hits:
                file = self._files.get(hit.path)
                at = file.starts.get(hit.start) if file else None
                row = file.rows[at] if file and at is not None else None
                found.append(None if row is None else self._rows.cosine(row, query))
            return found

    # Following the files

    def _follow(self) -> int:
        paths = [entry.path for entry in self._store.list() if entry.kind != "other"]
        for path in self._files.keys() - set(paths):
            self._free(self._files.pop(path).rows)
        made, batch, size = 0, list[tuple[Change, int, int]](), 0
        progress = ProgressNotes(self._store.side_files(FOLDER), "embedding")
        for change in self._changes(paths, progress):
            # at least once: also of a file that only lost something
            for low in range(change.head, max(change.end, change.head + 1), GROUP):
                high = min(low + GROUP, change.end)
                batch.append((change, low, high))
                size += high - low
                if size >= GROUP:
                    made += self._make(batch)
                    batch, size = [], 0
        made += self._make(batch)
        progress.end()
        if len(self._cache) > 2 * len(self) + WASTE:
            needed = {key for file in self._files.values() for key, _ in file.documents}
            with self._keeping():
                self._cache.shrink(needed)
        return made

    def _forget(self) -> None:
        self.revision = None
        self._files: dict[str, File] = {}
        self._rows = Rows(self._dims, self._exact)
        self._hits: dict[int, Hit] = {}

    def _stamp(self, path: str) -> Stamp | None:
        """Return what changes when a file does; None while that cannot be relied on."""
        now = time.time_ns()
        try:
            stamp = self._store.stamp(path)
        except (OSError, Refused):
            return None
        return stamp if max(stamp.changed_ns, stamp.modified_ns) <= now - RECENT else None

    def _changes(self, paths: Sequence[str], progress: ProgressNotes) -> Iterator[Change]:
        """Read the files that changed, or may have, and compare them with what is known."""
        for number, path in enumerate(paths):
            progress.note(number, len(paths))
            stamp = self._stamp(path)
            known = self._files.get(path)
            if known and stamp and known.stamp == stamp:
                continue
            try:
                hits = self._store.documents(path)
            except NotFound:
                continue
            except Conflict as error:
                self.missed.append(f"vectors miss what is new in {path}: {error}")
                continue
            texts = [self._text_of(hit) for hit in hits]
            documents = [(digest(text), hit.session) for text, hit in zip(texts, hits, strict=True)]
            head, tail = unchanged(known.documents if known else [], documents)
            starts = {hit.start: at for at, hit in enumerate(hits)}
            end = len(hits) - tail
            vectors = np.empty((end - head, self._dims), np.float32)
            yield Change(path, File(stamp, documents, [], starts), hits, texts, head, end, vectors)

    def _make(self, batch: Sequence[tuple[Change, int, int]]) -> int:
        """Make the vectors of parts of files, and place the files that are complete with that."""
        wanted = {
            change.file.documents[at][0]: change.texts[at]
            for change, low, high in batch
            for at in range(*change.with_neighbours(low, high))
        }
        keys = list(wanted)
        vectors, made = self._vectors(keys, list(wanted.values()))
        rows = dict(zip(keys, range(len(keys)), strict=True))
        for change, low, high in batch:
            first, last = change.with_neighbours(low, high)
            documents = change.file.documents[first:last]
            near = vectors[[rows[key] for key, _ in documents]]
            if documents and change.hits[0].source != "note":
                near = smooth(near, [session for _, session in documents])
            change.vectors[low - change.head : high - change.head] = near[
                low - first : high - first
            ]
            if high == change.end:
                self._place(change)
        return made

    def _place(self, change: Change) -> None:
        """Put a file in the place of what it was."""
        before = self._files.get(change.path)
        old = before.rows if before else []
        tail = len(old) - (len(change.hits) - change.end)
        try:
            self._free(old[change.head : tail])
            fresh = [self._rows.new() for _ in range(change.head, change.end)]
            self._rows.put(fresh, change.vectors)
            change.file.rows = [*old[: change.head], *fresh, *old[tail:]]
            self._hits.update(zip(change.file.rows, change.hits, strict=True))
            self._files[change.path] = change.file
        except BaseException:
            # an interrupt between two lines; what was made is kept and soon in its place again
            self._forget()
            raise

    def _free(self, rows: Sequence[int]) -> None:
        for row in rows:
            del self._hits[row]
        self._rows.free(rows)

    # Making vectors

    def _vectors(self, keys: Sequence[bytes], texts: Sequence[str]) -> tuple[Matrix, int]:
        """Return the vector of each text, and how many of them the embedder had to make."""
        vectors = np.full((len(keys), self._dims), np.nan, np.float32)
        with self._keeping():
            found = self._cache.find(keys)
            for at, key in enumerate(keys):
                if key in found:
                    vectors[at] = np.frombuffer(found[key], "<f4")
        missing = np.flatnonzero(~np.isfinite(vectors).all(axis=1)).tolist()
        for first in range(0, len(missing), BATCH):
            batch = missing[first : first + BATCH]
            asked = [texts[at] for at in batch]
            made = self._asked(partial(self._embedder.embed_documents, asked), len(asked))
            vectors[batch] = made
            with self._keeping():
                kept = [vector.astype("<f4").tobytes() for vector in made]
                self._cache.add(dict(zip((keys[at] for at in batch), kept, strict=True)))
        return vectors, len(missing)

    @contextmanager
    def _keeping(self) -> Iterator[None]:
        """Go on without the cache where it cannot be used, and say so."""
        try:
            yield
            self._unkept = []
        except (OSError, Refused) as error:
            self._unkept = [f"vectors are not kept for the next time: {error}"]

    def _asked(self, ask: Callable[[], Any], count: int) -> Matrix:
        """Return what the embedder answers as `count` vectors of length 1, or say what is wrong."""
        name = f"the embedder {self._embedder.id!r}"
        try:
            answer = ask()
        except Exception as error:
            raise ModelError(f"{name} failed: {error}") from error
        try:
            with np.errstate(over="ignore"):
                vectors = np.array(answer, np.float32)
        except (TypeError, ValueError) as error:
            raise ModelError(f"{name} answered {answer!r:.60}, which is no matrix") from error
        if vectors.shape != (count, self._dims):
            raise ModelError(
                f"{name} answered numbers of the shape {vectors.shape} to {count} texts, "
                f"and its dims are {self._dims}: expected {(count, self._dims)}"
            )
        if not np.isfinite(vectors).all():
            raise ModelError(f"{name} answered a vector with NaN or infinity in it")
        return normal(vectors)


def cache_file(embedder: Embedder) -> tuple[str, bytes, int]:
    """Return where the vectors of an embedder are kept, under what header, in how many bytes."""
    # two names may read the same without what no file name can hold
    short = re.sub(r"[^A-Za-z0-9._]+", "-", embedder.id).strip("-.")[:60]
    folder = f"{short}-{embedder.dims}-{digest(embedder.id)[:4].hex()}"
    header = orjson.dumps({"embedder": embedder.id, "dims": embedder.dims, "form": 1})
    return f"vectors/{folder}", header, 4 * embedder.dims
