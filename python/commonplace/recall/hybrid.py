"""Hybrid search: BM25F scores and cosines of a store in one ranking, without near duplicates.

`fusion` says how the two are added, docs/explanation/fusion.md what was measured and tried.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal, Protocol, Unpack

from commonplace._core import ENDED, Hit, Hits, SearchFilter
from commonplace.arguments import checks_arguments
from commonplace.citation import located
from commonplace.errors import InvalidArgument, ModelError, Refused
from commonplace.protocols import Embedder
from commonplace.recall.calibration import Calibration, level_of
from commonplace.recall.fusion import Channels
from commonplace.recall.hybrid_hits import Freshness, HybridHit, HybridHits
from commonplace.recall.near_duplicates import distinct
from commonplace.search_filter import given_filter
from commonplace.store import Store

if TYPE_CHECKING:
    from commonplace.recall.vectors import Matrix, Vectors
    from commonplace.search_filter import FilterFields

Unit = Literal["turn", "message"]
Archive = Literal["yes", "no", "only"]

# So many of the best by words, and by vectors, are looked at; a hundred gain nothing
DEPTH = 50
# Among so many hits of its file is what is explained
EXPLAINED = 1000
# How often a search is run again when files change under it
ATTEMPTS = 4
DAY = 86_400
# A phrase that must stand there, a word that must not, or a filter: vectors know nothing of them
STRICT = re.compile(
    r'(?:^|\s)-?"[^"]*[^"\s][^"]*"|(?:^|\s)-\w{3}|(?:^|\s)(?:role|session|category):\S*\w'
)


class VectorIndex(Protocol):
    """What a hybrid search asks of vectors: those of a store, as `Vectors`, or of an engine."""

    missed: list[str]

    @property
    def notes(self) -> list[str]:
        """What could not be taken in, and how much has no vectors yet."""

    @property
    def covered(self) -> float:
        """The share of the documents that have vectors."""

    @property
    def sensitivity(self) -> float:
        """How far known documents stand above the others, in levels."""

    def embed(self, query: str) -> Matrix:
        """Return the vector of a query, with length 1."""

    def nearest(
        self, query: Matrix, k: int, keep: Callable[[Hit], bool] | None = None
    ) -> list[tuple[Hit, float]]:
        """Return the `k` documents nearest to a vector that pass, and their cosines."""

    def cosines(self, query: Matrix, hits: Iterable[Hit]) -> list[float | None]:
        """Return the cosine of each hit, None where it has no vector."""

    def calibration(self, query: Matrix) -> tuple[Calibration, float]:
        """Return what cosines of a query are measured against, and the best of them."""


class HybridSearch:
    r"""Hybrid search over a store: words and, with an embedder, vectors; safe to share by threads.

    Args:
        store: What is searched.
        embedder: Makes the vectors. Without one, and while it fails, words alone find; the notes
            of an answer say so.
        weights: Of words and of vectors, beside what the store itself tells of them (`fusion`);
            `(1, 0)` is words alone.
        floor: What only the vectors find must be nearer than this share of what does not resemble
            the query, a quantile in 0…1.
        duplicates: Of two texts whose terms overlap more than this (Jaccard), and have the same
            numbers, the better stays.
        half_life: Days after which a score counts half; None: age does not matter. Of a note it
            is the time since its file was last changed.
        text_of: What the embedder is given of a document; see `Vectors`.
        background: Make vectors in a thread of its own: no search waits for it, and the notes say
            how much of the memory has vectors so far.
        index: Has the vectors, in place of an embedder.

    Raises:
        InvalidArgument: A weight is negative or no number, or both are 0, or another argument is of
            another type or out of its range.

    >>> import commonplace, tempfile
    >>> store = commonplace.open(tempfile.mkdtemp())
    >>> _ = store.write("user.md", "# User\n\n- Prefers dark mode\n")
    >>> answer = HybridSearch(store).search("dark mode")
    >>> [(one.hit.citation, one.score) for one in answer], answer.notes
    ([('user.md#L3', 1.0)], ['found by words only: there is no embedder'])
    """

    @checks_arguments
    def __init__(
        self,
        store: Store,
        embedder: Embedder | None = None,
        *,
        weights: tuple[float, float] = (1.0, 1.0),
        floor: float = 0.98,
        duplicates: float = 0.7,
        half_life: float | None = None,
        text_of: Callable[[Hit], str] | None = None,
        background: bool = False,
        index: VectorIndex | None = None,
    ) -> None:
        if not all(0 <= weight < math.inf for weight in weights):
            raise InvalidArgument(f"weights are two numbers of 0 or more, not {weights!r}")
        if not any(weights):
            raise InvalidArgument("one of the weights must be above 0")
        if half_life is not None and not 0 < half_life < math.inf:
            raise InvalidArgument(f"a half-life is a number of days above 0, not {half_life!r}")
        if math.isnan(floor) or math.isnan(duplicates):
            raise InvalidArgument("floor and duplicates must be numbers")
        self._store = store
        self._weights = weights
        self._floor = floor
        self._duplicates = duplicates
        self._half_life = half_life
        self.vectors: Vectors | None = None
        """The vectors of the store, None without an embedder; `refresh()` makes them ahead."""
        if embedder is not None:
            # numpy is loaded by those who have an embedder only
            from commonplace.recall.vectors import Vectors  # noqa: PLC0415

            self.vectors = Vectors(store, embedder, text_of=text_of, background=background)
        self._index = self.vectors if index is None else index

    def __repr__(self) -> str:
        return f"HybridSearch({self._store!r}{', words only' if self.vectors is None else ''})"

    def search(
        self,
        query: str,
        limit: int = 10,
        *,
        unit: Unit = "message",
        filter: SearchFilter | None = None,
        keep: Callable[[Hit], bool] | None = None,
        archive: Archive = "yes",
        **fields: Unpack[FilterFields],
    ) -> HybridHits:
        """Return up to `limit` documents that answer `query`, best first.

        Ties go by path, then by position. Filter, fields, archive and query language are those of
        `Store.search`. Where the query holds a phrase, an exclusion or a filter, vectors only
        order what the words find. What is of tools, and what is archived, has no vectors: the words
        find it.
        Of a transcript it finds messages, or turns: then the cosine of a turn is the greatest of
        its messages. `exclude` leaves out what an agent has in its context.
        Of what is found, that for which `keep` returns false is left out before duplicates are.

        Raises:
            QueryError: The query is empty or not text, or nothing can pass the filter.
            TypeError, ValueError: As for `Store.search`.
        """
        depth = max(DEPTH, 3 * limit)
        filter = given_filter(filter, fields)
        words = partial(self._store.search, query, depth, unit=unit, filter=filter, archive=archive)
        why = "there is no embedder"
        if self._index is not None:
            admits = _none if archive == "only" else self._store.predicate(filter)
            try:
                both = self._both(self._index, query, depth, words, admits, unit)
                return self._finish(limit, keep, *both)
            except ModelError as error:
                why = str(error)
        hits = words()
        found = [HybridHit(hit, share, share, None) for hit, share in shares(hits)]
        notes = [*hits.notes, f"found by words only: {why}"]
        return self._finish(limit, keep, found, hits.freshness, notes, hits.confidence)

    def explain(self, query: str, citation: str) -> str:
        """Return how the score of a section, a message or a turn for `query` comes about, as text.

        A turn is cited by the range of its lines.

        Raises:
            QueryError: The query or the citation is not understood, or nothing is cited.
        """
        path, first, _ = located(citation)
        unit: Unit = "turn" if "-" in citation.rpartition("#")[2] else "message"
        for one in replace_floor(self, 0.0).search(query, EXPLAINED, unit=unit, prefix=path):
            if first is None or one.hit.first_line <= first <= one.hit.end_line:
                return f"{one.hit.citation}\n{one.explain()}"
        return f"{citation} is not among the best {EXPLAINED} hits in {path}"

    def _both(
        self,
        vectors: VectorIndex,
        query: str,
        depth: int,
        words: Callable[[], Hits],
        admits: Callable[[Hit], bool] | None,
        unit: Unit,
    ) -> tuple[list[HybridHit], Freshness, list[str], float]:
        """Return what words and vectors find of one state of the files."""
        vector = None
        for _ in range(ATTEMPTS):
            revision = self._store.revision()
            hits = words()
            if vector is None:
                vector = vectors.embed(query)
            near = self._in_units(vectors.nearest(vector, depth, admits), unit)
            cosines = vectors.cosines(vector, hits)
            calibration, best = vectors.calibration(vector)
            changed = revision != self._store.revision()
            if not changed:
                break
        freshness, notes = hits.freshness, hits.notes + vectors.notes
        if changed:
            freshness = "stale"
            notes.append("files kept changing while they were searched")
        elif vectors.missed and freshness == "fresh":
            freshness = "partial"
        if STRICT.search(query):
            near = []
        channels = Channels(
            confidence=hits.confidence,
            calibration=calibration,
            excess=calibration.excess(best),
            sensitivity=vectors.sensitivity,
            covered=vectors.covered,
            weights=self._weights,
        )
        least = level_of(self._floor)
        fused = [
            HybridHit(hit, channels.score(share, cosine), share, cosine, channels)
            for (hit, share), cosine in zip(shares(hits), cosines, strict=True)
        ]
        known = {(hit.path, hit.start) for hit in hits}
        fused += [
            HybridHit(hit, channels.score(None, cosine), None, cosine, channels)
            for hit, cosine in near
            if (hit.path, hit.start) not in known and calibration.resembles(cosine, least)
        ]
        return fused, freshness, notes, hits.confidence

    def _in_units(self, near: list[tuple[Hit, float]], unit: Unit) -> list[tuple[Hit, float]]:
        """Return what is near by turn: each turn once, with its nearest message."""
        if unit == "message":
            return near
        turns = self._store.turns_of([hit for hit, _ in near])
        found = dict[tuple[str, int], tuple[Hit, float]]()
        for (hit, cosine), turn in zip(near, turns, strict=True):
            one = turn or hit
            found.setdefault((one.path, one.start), (one, cosine))
        return list(found.values())

    def _finish(
        self,
        limit: int,
        keep: Callable[[Hit], bool] | None,
        found: list[HybridHit],
        freshness: Freshness,
        notes: list[str],
        confidence: float,
    ) -> HybridHits:
        """Weigh by age, sort, and leave out what says the same."""
        if keep is not None:
            found = [one for one in found if keep(one.hit)]
        if self._half_life is not None:
            found = [self._aged(one, self._half_life) for one in found]
        found = [_ended(one) for one in found]
        found = sorted(found, key=lambda one: (-one.score, one.hit.path, one.hit.start))
        kept, alike = distinct(found, limit, self._duplicates)
        if alike:
            notes = [*notes, f"{alike} left out that say nearly the same as a better one"]
        return HybridHits(kept, freshness, notes, confidence)

    def _aged(self, one: HybridHit, half_life: float) -> HybridHit:
        moment = self._moment(one.hit)
        days = max(0.0, time.time() - moment) / DAY if moment is not None else 0.0
        return replace(one, score=one.score * 0.5 ** (days / half_life))

    def _moment(self, hit: Hit) -> float | None:
        """Return when a message was said, or when a note was last changed."""
        if hit.source == "note":
            try:
                return self._store.stamp(hit.path).modified_ns / 1e9
            except (OSError, Refused):
                return None
        return self._store.transcript(hit.path)[hit.first_line].timestamp


def _none(_: Hit) -> bool:
    """Admit nothing: what is archived has no vectors."""
    return False


def _ended(one: HybridHit) -> HybridHit:
    """Return a hit with less of its score if it no longer holds."""
    return replace(one, score=one.score * ENDED) if one.hit.ended else one


def replace_floor(search: HybridSearch, floor: float) -> HybridSearch:
    """Return the same search with another floor, and with what says nearly the same."""
    other = copy(search)
    other._floor, other._duplicates = floor, 1.0  # noqa: SLF001 - a copy of its own class
    return other


def shares(hits: Hits) -> list[tuple[Hit, float]]:
    """Return hits with their scores as shares of the best one, as if all still held.

    What no longer holds has less once words and vectors are fused. If it had less here already, it
    would have all of the share where it is itself the best.
    """
    scores = [hit.score / ENDED if hit.ended else hit.score for hit in hits]
    best = max(scores, default=0.0) or 1.0
    return [(hit, score / best) for hit, score in zip(hits, scores, strict=True)]
