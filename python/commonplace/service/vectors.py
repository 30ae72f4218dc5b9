"""Vectors of a tenant in the engine, as k-NN: what a hybrid search asks of them.

The engine finds the neighbours of a query within one tenant. What a cosine is worth is told by the
code of `recall`, as for a store: so a sample of the tenant's cosines is asked for too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from commonplace._core import EngineDocument, Hit, SearchFilter, document_hits
from commonplace.embedded_text import embedded_text
from commonplace.recall.calibration import Calibration, calibrate
from commonplace.recall.nearest import SAMPLE
from commonplace.recall.sensitivity import (
    CHANGED,
    LEAST_DOCUMENTS,
    MOST,
    TYPICAL,
    known_item_query,
    sample,
)
from commonplace.recall.vector_maker import VectorMaker
from commonplace.service import engine_query as engine
from commonplace.service.documents import read_record
from commonplace.service.engine_query import TENANT, Json
from commonplace.service.vector_field import DRAWS, VectorField

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

MOST_FOUND = 10_000
"""Documents that an engine returns at once."""
Ask = Callable[[list[Json]], list[Json]]


class TenantVectors:
    """The vectors of one tenant in the engine, for one `HybridSearch`.

    Args:
        ask: Puts search requests of the tenant to the engine.
        field: Where they are.
        maker: Makes the vector of a query.
        filter: Which documents may be nearest.
        stands: Says whether a file still has what a record of it says.
    """

    def __init__(
        self,
        ask: Ask,
        field: VectorField,
        maker: VectorMaker,
        filter: SearchFilter | None = None,
        stands: Callable[[str, int, str], bool] = lambda _path, _start, _record: True,
    ) -> None:
        self._ask, self._field, self._maker = ask, field, maker
        self._filter = filter or SearchFilter()
        self._stands = stands
        self.documents: dict[tuple[str, int], EngineDocument] = {}
        """Those that were nearest, by path and first byte."""
        self.missed: list[str] = []
        """What could not be taken as it is in the index."""
        self.covered = 1.0
        """The share of the documents that have vectors; known once a query was calibrated."""
        self.sensitivity = TYPICAL
        """How far known documents stand above the others, as far as it was measured."""
        self.is_due = False
        """Whether some have no vector, or it has to be measured; known once one was calibrated."""

    @property
    def notes(self) -> list[str]:
        """What was missed, and how much has no vectors yet."""
        told = f"vectors cover {self.covered:.0%} of the documents so far"
        return self.missed + ([told] if self.covered < 1 else [])

    def embed(self, query: str) -> Matrix:
        """Return the vector of a query, with length 1.

        Raises:
            ModelError: The embedder failed, or answered something that is no vector.
        """
        return self._maker.query(query)

    def nearest(
        self, query: Matrix, k: int, keep: Callable[[Hit], bool] | None = None
    ) -> list[tuple[Hit, float]]:
        """Return the `k` documents nearest to a vector that pass the filter, with their cosines.

        Args:
            query: From `embed`.
            k: Most documents to return.
            keep: Only documents of which this is true, besides.

        Returns:
            Documents and cosines, nearest first, ties by path and position.

        Raises:
            EngineUnavailable: The engine does not answer as a whole.
        """
        count = k
        while True:
            body = self._body(query, count, _passing(self._filter), ["tenant", "record"])
            (answer,) = self._ask([body])
            hits = answer["hits"]["hits"]
            found = self._found(hits, keep)
            if len(found) >= k or len(hits) < count or count == MOST_FOUND:
                return sorted(found, key=lambda one: (-one[1], one[0].path, one[0].start))[:k]
            count = min(8 * count, MOST_FOUND)

    def _found(
        self, hits: list[Json], keep: Callable[[Hit], bool] | None
    ) -> list[tuple[Hit, float]]:
        documents = [read_record(hit["_source"]) for hit in hits]
        found: list[tuple[Hit, float]] = []
        gone = 0
        self.documents = {}
        made = document_hits(documents, "message")
        for answer, document, hit in zip(hits, documents, made, strict=True):
            if keep is not None and not keep(hit):
                continue
            if not self._stands(document.path, document.start, answer["_source"]["record"]):
                gone += 1
                continue
            self.documents[document.path, document.start] = document
            found.append((hit, _cosine(answer)))
        told = f"vectors left out, for they have changed since they were indexed: {gone}"
        self.missed = [told] if gone else []
        return found

    def cosines(self, query: Matrix, hits: Iterable[Hit]) -> list[float | None]:
        """Return the cosine of each hit, None where it has no vector; of a turn the greatest."""
        wanted = list(hits)
        if not wanted:
            return []
        ranges = [
            {"bool": {"filter": [{"term": {"path": hit.path}}, _bytes_of(hit)]}} for hit in wanted
        ]
        among = {"bool": {"filter": [_passing(SearchFilter()), engine.any_of(ranges)]}}
        body = self._body(query, MOST_FOUND, among, ["tenant", "path", "start"])
        (answer,) = self._ask([body])
        by_path: dict[str, list[tuple[int, float]]] = {}
        for one in answer["hits"]["hits"]:
            source = one["_source"]
            by_path.setdefault(source["path"], []).append((source["start"], _cosine(one)))
        return [
            max(
                (
                    cosine
                    for start, cosine in by_path.get(hit.path, ())
                    if hit.start <= start < max(hit.end, hit.start + 1)
                ),
                default=None,
            )
            for hit in wanted
        ]

    def calibration(self, query: Matrix) -> tuple[Calibration, float]:
        """Return what cosines of a query are measured against, and the best of them.

        Of a tenant with many documents a sample is measured against.
        """
        everything = _passing(SearchFilter())
        has = {"exists": {"field": self._field.name}}
        count = {
            "size": 0,
            "track_total_hits": True,
            "query": everything,
            "aggs": {"vectors": {"filters": {"filters": {"all": has}}}},
        }
        about = {"size": 1, "query": {"term": {"kind": TENANT}}}
        best_body = self._body(query, 1, everything, ["tenant"])
        counted, told, best = self._ask([count, about, best_body])
        total = counted["hits"]["total"]["value"]
        vectors = counted["aggregations"]["vectors"]["buckets"]["all"]["doc_count"]
        self.covered = vectors / total if total else 1.0
        records = told["hits"]["hits"]
        kept = records[0]["_source"].get("sensitivity") if records else None
        if kept:
            self.sensitivity = min(max(kept["level"], 0.0), MOST)
        self.is_due = self.covered < 1 or is_due(kept, self._field, vectors)
        return self._calibrated(query, vectors), max(map(_cosine, best["hits"]["hits"]), default=0)

    def _calibrated(self, query: Matrix, vectors: int) -> Calibration:
        among = _passing(SearchFilter())
        if vectors > SAMPLE:
            below = DRAWS * SAMPLE // vectors
            among = {"bool": {"filter": [among, {"range": {"draw": {"lt": below}}}]}}
        (answer,) = self._ask([self._body(query, MOST_FOUND, among, ["tenant"])])
        cosines = np.array([_cosine(one) for one in answer["hits"]["hits"]], np.float32)
        return calibrate(cosines, vectors)

    def measured(self, before: Json | None) -> Json | None:
        """Return the sensitivity of the vectors, measured anew if there are others than before.

        Documents that are known to be there are asked for (`recall.sensitivity`).
        """
        everything = _passing(SearchFilter())
        has = {"exists": {"field": self._field.name}}
        with_vectors = {"bool": {"filter": [everything, has]}}
        body = {"size": 0, "track_total_hits": True, "query": with_vectors}
        count = self._ask([body])[0]["hits"]["total"]["value"]
        if not is_due(before, self._field, count):
            return before
        if count > MOST_FOUND:
            below = {"range": {"draw": {"lt": DRAWS * MOST_FOUND // (2 * count)}}}
            with_vectors = {"bool": {"filter": [everything, has, below]}}
        order = [{"path": "asc"}, {"start": "asc"}]
        body = {"size": MOST_FOUND, "query": with_vectors, "sort": order, "_source": ["tenant"]}
        drawn = sample(len(self._ask([body])[0]["hits"]["hits"]))
        one = {**body, "size": 1, "_source": ["tenant", "record"]}
        levels = []
        for at, answer in zip(drawn, self._ask([{**one, "from": at} for at in drawn]), strict=True):
            (found,) = answer["hits"]["hits"]
            (hit,) = document_hits([read_record(found["_source"])], "message")
            text = known_item_query(embedded_text(hit), at)
            if text is not None:
                vector = self.embed(text)
                (cosine,) = self.cosines(vector, [hit])
                levels.append(self._calibrated(vector, count).level(cosine or 0.0))
        level = round(sum(levels) / len(levels), 3) if levels else TYPICAL
        return {"field": self._field.name, "documents": count, "level": level}

    def _body(self, query: Matrix, k: int, among: Json, source: list[str]) -> Json:
        """Return the request for the nearest of some documents; of few it is exact."""
        near = {"vector": query, "k": k, "filter": among}
        return {
            "size": k,
            "query": {"knn": {self._field.name: near}},
            "_source": source,
            "track_total_hits": False,
        }


def is_due(before: Json | None, field: VectorField, count: int) -> bool:
    """Say whether a tenant with so many vectors is another one than that which was measured."""
    if count < LEAST_DOCUMENTS:
        return False
    if not before or before["field"] != field.name:
        return True
    return bool(abs(count - before["documents"]) > CHANGED * before["documents"])


def _passing(filter: SearchFilter) -> Json:
    """Return the query for documents that pass a filter; what is of tools has no vectors."""
    must, must_not = engine.filters_of(filter)
    return {"bool": {"filter": must, "must_not": must_not}}


def _bytes_of(hit: Hit) -> Json:
    return {"range": {"start": {"gte": hit.start, "lt": max(hit.end, hit.start + 1)}}}


def _cosine(answer: Json) -> float:
    """Return the inner product that an engine has made a score of."""
    score = float(answer["_score"])
    return score - 1.0 if score >= 1.0 else 1.0 - 1.0 / score
