"""Vectors of a store's documents: embedded once a text, cached beside the index, searched exactly.

A vector belongs to a text, not to a place: it is kept by the hash of what the embedder was given,
so that what moves or comes back costs nothing. The files stay the truth;
`.commonplace/vectors/` may be deleted at any time. Needs `commonplace[vectors]` (numpy).
"""

# Longer than 350 lines: one class, all of whose methods work under its lock.

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

# before what is in this package, so that nothing else says it
try:
    import numpy as np
except ImportError as error:
    raise ImportError("vectors need numpy: pip install 'commonplace[vectors]'") from error

from commonplace._core import Hit
from commonplace.embedded_text import digest, embedded_text
from commonplace.errors import Conflict, ModelError, NotFound, Refused
from commonplace.file_stamp import Stamp
from commonplace.locks import Lock
from commonplace.progress import FOLDER, ProgressNotes
from commonplace.protocols import Embedder
from commonplace.recall.calibration import Calibration, calibrate
from commonplace.recall.nearest import Rows
from commonplace.recall.sensitivity import Sensitivity, known_item_query, sample
from commonplace.recall.vector_documents import (
    Change,
    File,
    smooth,
    unchanged,
)
from commonplace.recall.vector_maker import Batches, VectorMaker
from commonplace.store import Store

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]
    Progress = Callable[[int, int], None]

# Documents whose vectors are made together, so that small files share a batch
GROUP = 1024
# Beyond so many vectors, a scan of all costs more than one of their codes
EXACT = 50_000
# A file that changed so recently, in nanoseconds, may change again without its stamp showing it
RECENT = 2_000_000_000
# Seconds that a search waits for vectors that were made before to be loaded
LOADING = 2.0
# How often files are followed anew while somebody goes on changing them
ATTEMPTS = 4


class OutOfTime(Exception):
    """The time that a call of `refresh` was given is over."""


class Vectors:
    """The vectors of every document of a store, as one embedder makes them.

    Safe to share between threads; each call sees the files as they are now.

    Args:
        store: Where the documents are.
        embedder: Makes the vectors. Those of another `id` or of other `dims` are never mixed in.
        exact: Beyond so many vectors they are packed, a byte a number, and `nearest` may miss some
            of them.
        text_of: What the embedder is given of a document; default: its text, and what it is said
            under.
        background: Make vectors in a thread of its own: no search waits for it, and finds by those
            that there are. Those that were made before are loaded first.

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
        background: bool = False,
    ) -> None:
        self.revision: int | None = None
        """The revision of the store that was seen last."""
        self._store = store
        self._exact = exact
        self._text_of = text_of or embedded_text
        store.embedded_texts.add(self._text_of)
        self._maker = VectorMaker(store, embedder)
        self._sensitivity = Sensitivity(self._maker.files)
        self._background = background
        self.is_paused = False
        """While it is true, searches go by the vectors that there are, and make none."""
        self._thread: threading.Thread | None = None
        # set when nothing is left to load
        self._loaded = threading.Event()
        # of who follows the files, which may take hours; the other one guards what is there
        self._following = Lock()
        self._lock = Lock(torn=self._forget)
        self.missed: list[str] = []
        """Which files could not be read, and why."""
        self._failed: list[str] = []
        self._forget()

    @property
    def notes(self) -> list[str]:
        """What could not be read, why vectors cannot be kept, and how much has none yet."""
        notes = self.missed + self._maker.unkept + self._failed
        if self.covered < 1:
            notes.append(f"vectors cover {self.covered:.0%} of the documents so far")
        return notes

    @property
    def covered(self) -> float:
        """The share of the documents that have vectors; 1 unless they are still being made."""
        if self.revision is not None:
            return 1.0
        return min(1.0, len(self) / self._total) if self._total else 0.0

    def __len__(self) -> int:
        return len(self._hits)

    def refresh(self, progress: Progress | None = None, seconds: float | None = None) -> int:
        """Update to the files as they are: make vectors of what is new, drop those of what left.

        What is done is kept as it goes, so that after an interrupt it goes on from there.

        Args:
            progress: Told after each batch how many documents have vectors, and of how many.
            seconds: Stop after so much time, between two batches.

        Returns:
            How many texts went to the embedder; 0 when nothing changed, at the cost of a look.

        Raises:
            ModelError: The embedder failed, or answered something that is no vector.
        """
        until = None if seconds is None else time.monotonic() + seconds
        begun, made = len(self), 0
        notes = ProgressNotes(self._store.side_files(FOLDER), "embedding")

        def after_batch(count: int) -> None:
            nonlocal made
            made += count
            # those of a batch have no rows yet, those found in the cache are not made
            done = min(max(begun + made, len(self)), self._total)
            notes.note(done, self._total)
            if progress is not None:
                progress(done, self._total)

        def before_batch() -> None:
            # something is made in any case
            if until is not None and made and time.monotonic() >= until:
                raise OutOfTime

        with self._following:
            try:
                for _ in range(ATTEMPTS):
                    revision = self._store.revision()
                    if revision == self.revision:
                        break
                    self.missed, self.revision = [], None
                    self._follow(Batches(before_batch, after_batch, until is not None))
                    self._measure()
                    # a file that was missed is tried again by the next call
                    self.revision = None if self.missed else revision
            except OutOfTime:
                pass
            finally:
                notes.end()
            return made

    def catch_up(self) -> None:
        """Update to the files as they are: here and now, or in the background where that is wanted.

        Raises:
            ModelError: As for `refresh`, when it is done here.
        """
        if self.is_paused:
            return
        if not self._background:
            self.refresh()
        elif self._store.revision() != self.revision:
            with self._lock:
                if self._thread is None or not self._thread.is_alive():
                    self._loaded.clear()
                    name = "commonplace-vectors"
                    self._thread = threading.Thread(target=self._refresh, name=name, daemon=True)
                    self._thread.start()
            # a hook or a command ends soon: it finds by what others have made
            self._loaded.wait(LOADING)

    def _refresh(self) -> None:
        try:
            self.refresh()
            self._failed = []
        # ValueError: the store was closed meanwhile
        except (ModelError, OSError, Refused, ValueError) as error:
            self._failed = [f"vectors of what is new are missing: {error}"]
        finally:
            self._loaded.set()

    def embed(self, query: str) -> Matrix:
        """Return the vector of a query, with length 1.

        Raises:
            ModelError: The embedder failed, or answered something that is no vector.
        """
        return self._maker.query(query)

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
        self.catch_up()
        with self._lock:
            admits = None if keep is None else lambda row: keep(self._hits[row])
            found = [
                (self._hits[row], cosine) for row, cosine in self._rows.best(vector, k, admits)
            ]
        return sorted(found, key=lambda pair: (-pair[1], pair[0].path, pair[0].start))

    def cosines(self, query: Matrix, hits: Iterable[Hit]) -> list[float | None]:
        """Return the cosine of each hit, None where it has no vector; files are not followed.

        Of a turn it is the greatest of its messages.
        """
        with self._lock:
            found: list[float | None] = []
            for hit in hits:
                file = self._files.get(hit.path)
                rows = file.rows_of(hit) if file else []
                found.append(self._rows.greatest(rows, query) if rows else None)
            return found

    def calibration(self, query: Matrix) -> tuple[Calibration, float]:
        """Return what cosines of a query are measured against, and the best of them.

        Files are not followed. Where there are many vectors, a sample is measured against.
        """
        with self._lock:
            drawn = self._rows.sample(query)
            best = max((cosine for _, cosine in self._rows.best(query, 1)), default=0.0)
            return calibrate(drawn, len(self)), best

    @property
    def sensitivity(self) -> float:
        """How far known documents stand above the others, in levels; see `recall.sensitivity`."""
        return self._sensitivity.told()

    # Following the files

    def _follow(self, batches: Batches) -> None:
        # where our own folder is no folder there is no status, and the share is not told
        with contextlib.suppress(Refused):
            status = self._store.status()
            self._total = status.sections + status.messages
        paths = [entry.path for entry in self._store.list() if entry.kind != "other"]
        with self._lock:
            for path in self._files.keys() - set(paths):
                self._free(self._files.pop(path).rows)
        new = self._update(paths, batches, makes=False)
        self._loaded.set()
        self._update(new, batches)
        self._total = len(self)
        self._maker.drop_unneeded(len(self), self._needed)

    def _update(self, paths: Sequence[str], batches: Batches, *, makes: bool = True) -> list[str]:
        """Place the vectors of files; return the files left out, as some would have to be made."""
        left = list[str]()
        # with its neighbours, it is a batch
        group = batches.size // 2 if batches.is_timed else GROUP
        batch, size = list[tuple[Change, int, int]](), 0
        for change in self._changes(paths):
            documents = change.file.documents[
                slice(*change.with_neighbours(change.head, change.end))
            ]
            if not makes and not self._maker.has([key for key, _ in documents]):
                left.append(change.path)
                continue
            # at least once: also of a file that only lost something
            for low in range(change.head, max(change.end, change.head + 1), group):
                high = min(low + group, change.end)
                batch.append((change, low, high))
                size += high - low
                if size >= group:
                    self._make(batch, batches)
                    batch, size = [], 0
        self._make(batch, batches)
        return left

    def _needed(self) -> set[bytes]:
        documents = chain.from_iterable(file.documents for file in self._files.values())
        return {key for key, _ in documents}

    def _measure(self) -> None:
        """Ask for documents that are known to be there, where there are others than before."""
        if not self._sensitivity.is_due(len(self)):
            return
        # not in the order in which they came, which differs with what the cache holds
        rows = sorted(self._hits, key=lambda row: (self._hits[row].path, self._hits[row].start))
        levels = []
        for at in sample(len(rows)):
            query = known_item_query(self._text_of(self._hits[rows[at]]), at)
            if query is not None:
                vector = self.embed(query)
                calibration, _ = self.calibration(vector)
                levels.append(calibration.level(self._rows.cosine(rows[at], vector)))
        if levels:
            self._sensitivity.set(len(rows), sum(levels) / len(levels))

    def _forget(self) -> None:
        self.revision = None
        self._total = 0
        self._files: dict[str, File] = {}
        self._rows = Rows(self._maker.dims, self._exact)
        self._hits: dict[int, Hit] = {}

    def _stamp(self, path: str) -> Stamp | None:
        """Return what changes when a file does; None while that cannot be relied on."""
        now = time.time_ns()
        try:
            stamp = self._store.stamp(path)
        except (OSError, Refused):
            return None
        return stamp if max(stamp.changed_ns, stamp.modified_ns) <= now - RECENT else None

    def _changes(self, paths: Sequence[str]) -> Iterator[Change]:
        """Read the files that changed, or may have, and compare them with what is known."""
        for path in paths:
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
            starts = [hit.start for hit in hits]
            end = len(hits) - tail
            yield Change(path, File(stamp, documents, [], starts), hits, texts, head, end, head)

    def _make(self, batch: Sequence[tuple[Change, int, int]], batches: Batches) -> None:
        """Make the vectors of parts of files, and place what is complete with that."""
        wanted = {
            change.file.documents[at][0]: change.texts[at]
            for change, low, high in batch
            for at in range(*change.with_neighbours(low, high))
        }
        keys = list(wanted)
        vectors = self._maker.vectors(keys, list(wanted.values()), batches)
        rows = dict(zip(keys, range(len(keys)), strict=True))
        for change, low, high in batch:
            first, last = change.with_neighbours(low, high)
            documents = change.file.documents[first:last]
            near = vectors[[rows[key] for key, _ in documents]]
            if documents and change.hits[0].source != "note":
                near = smooth(near, [session for _, session in documents])
            change.made.append(near[low - first : high - first])
            if high == change.end or change.is_appended_to:
                self._place(change, high)

    def _place(self, change: Change, high: int) -> None:
        """Put a file, or what has vectors of one that grows, in the place of what it was."""
        file, hits = change.file, change.hits
        if high < change.end:
            starts = [hit.start for hit in hits[:high]]
            file = File(None, file.documents[:high], [], starts)
        with self._lock:
            before = self._files.get(change.path)
            old = before.rows if before else []
            tail = len(old) - (len(hits) - change.end)
            kept = [] if high < change.end else old[tail:]
            try:
                self._free(old[change.placed : tail])
                fresh = [self._rows.new() for _ in range(change.placed, high)]
                if change.made:
                    self._rows.put(fresh, np.concatenate(change.made))
                file.rows = [*old[: change.placed], *fresh, *kept]
                self._hits.update(zip(file.rows, hits, strict=False))
                self._files[change.path] = file
            except BaseException:
                # an interrupt between two lines; what was made is kept and soon in its place again
                self._forget()
                raise
        change.placed, change.made = high, []

    def _free(self, rows: Sequence[int]) -> None:
        for row in rows:
            del self._hits[row]
        self._rows.free(rows)
