"""Search over any engine: candidates of the engine, exact ranking by the core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from commonplace._core import CollectionStats, QueryNames, SearchFilter, best_first, rank_candidates
from commonplace.engines.protocol import CANDIDATES, FEWEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace._core import EngineDocument, Hits, Weights
    from commonplace.engines.protocol import Engine

Unit = Literal["turn", "message"]

# Best turns that the core ranks by their neighbours; 30 messages are always among the candidates
WINDOW = 20
# So often more candidates are asked for, each time this many times as many
ROUNDS = 3
GROWTH = 6


def search(
    engine: Engine,
    query: str,
    limit: int = 10,
    *,
    unit: Unit = "turn",
    filter: SearchFilter | None = None,
    stats: CollectionStats | None = None,
    weights: Weights | None = None,
    languages: Sequence[str] | None = None,
    fallback: bool = True,
    candidates: int = CANDIDATES,
) -> Hits:
    """Return up to `limit` sections and turns of an engine that answer `query`, best first.

    Args:
        engine: Where the documents are.
        query: As for `Store.search`.
        limit: Most hits.
        unit: What a hit of a transcript is.
        filter: Which documents may be found; sessions by their full ids.
        stats: The statistics to score by; default: those of the engine.
        weights: Those of the ranking.
        languages: Codes of those that the words of the query are read in; default: all.
        fallback: Look for the words of a phrase that no text holds, as `Store.search` does.
        candidates: How many of the engine are ranked for up to 20 hits; for more hits, more.

    Raises:
        QueryError: The query is empty.
    """
    names = QueryNames(query, weights, languages)
    given = filter or SearchFilter()
    restricted = names.restricted(given)
    stats = stats or engine.statistics(names)
    asked = _Asked(engine, names, stats, given, weights, candidates)
    if isinstance(restricted, str) or limit == 0:
        return asked.ranked([], limit, unit)
    hits = asked.best(restricted, limit, unit)
    if fallback and not hits and names.phrases:
        # as the store does it, which says so in a note
        asked.names = names.without_phrases()
        hits = asked.best(restricted, limit, unit)
    return hits


@dataclass(slots=True)
class _Asked:
    """A query to an engine."""

    engine: Engine
    names: QueryNames
    stats: CollectionStats
    filter: SearchFilter
    weights: Weights | None
    count: int

    def ranked(self, documents: list[EngineDocument], limit: int, unit: Unit) -> Hits:
        """Return the best of some documents."""
        return rank_candidates(
            documents,
            self.names,
            self.stats,
            limit=limit,
            filter=self.filter,
            unit=unit,
            weights=self.weights,
        )

    def best(self, filter: SearchFilter, limit: int, unit: Unit) -> Hits:
        """Return the best documents of the engine."""
        wanted = max(limit, WINDOW)
        documents, ranked = self._candidates(filter, wanted, unit)
        if unit == "message":
            return self.ranked(documents, limit, unit)
        turns: dict[tuple[str, int], EngineDocument] = {}
        sections: list[EngineDocument] = []
        for document in ranked:
            if len(turns) + len(sections) >= wanted:
                break
            if document.source == "note":
                sections.append(document)
            else:
                turns.setdefault((document.path, document.position[1]), document)
        whole = self.engine.turns(list(turns.values()), self.names) if turns else []
        return self.ranked([*sections, *whole], limit, unit)

    def _candidates(
        self, filter: SearchFilter, wanted: int, unit: Unit
    ) -> tuple[list[EngineDocument], list[EngineDocument]]:
        """Return candidates, and those that are found, best first by message."""
        count = self.count * wanted // WINDOW
        for rounds in range(1, ROUNDS + 1):
            documents = self.engine.candidates(self.names, self.stats, filter, count)
            best = best_first(
                documents, self.names, self.stats, filter=self.filter, weights=self.weights
            )
            ranked = [documents[at] for at in best]
            # what is left out by its text or by the filter makes room for others
            if (
                rounds == ROUNDS
                or len(documents) < min(count, FEWEST)
                or _enough(ranked, wanted, unit)
            ):
                break
            count *= GROWTH
        return documents, ranked


def _enough(ranked: list[EngineDocument], wanted: int, unit: Unit) -> bool:
    """Say whether the best are sure to be among the messages that were ranked."""
    if unit == "message":
        return len(ranked) >= wanted
    turns = {(one.path, one.position[1], one.source) for one in ranked}
    return len(turns) >= wanted
