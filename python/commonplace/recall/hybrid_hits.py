"""Hits of a hybrid search, with what their scores are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

from commonplace._core import ENDED, Hit
from commonplace.recall.fusion import Channels
from commonplace.records import record

Freshness = Literal["fresh", "stale", "partial"]


@dataclass(frozen=True, slots=True)
class HybridHit:
    """A hit with its fused score and what that is made of.

    `lexical` is the BM25F score as a share of the best one, without the factor of a statement that
    no longer holds; None if the words do not find it. `cosine` is None where there is no vector.
    `explain()` says how the score comes about. What a `Hit` has, as `path` and `citation`, this has
    as well.
    """

    hit: Hit
    score: float
    lexical: float | None
    cosine: float | None
    channels: Channels | None = None

    def __getattr__(self, name: str) -> Any:
        # what a dataclass has itself never comes here; unpickling asks before there is a hit
        if name.startswith("__") or name == "hit":
            raise AttributeError(name)
        return getattr(self.hit, name)

    def to_dict(self) -> dict[str, Any]:
        """Return it as a dictionary, with the score and what that is made of."""
        own = {"score": self.score, "lexical": self.lexical, "cosine": self.cosine}
        return record(self.hit) | own

    def explain(self) -> str:
        """Return how the score comes about, as text."""
        if self.channels is None:
            how = f"{self.lexical:.3f} of the best BM25F: found by words only"
        else:
            how = self.channels.explain(self.lexical, self.cosine)
        return f"{how}\n× {ENDED:.1f} = it no longer holds" if self.hit.ended else how


class HybridHits(Sequence[HybridHit]):
    """What a recall found, best first; what is said about it is that of `Hits`."""

    def __init__(
        self,
        found: Sequence[HybridHit],
        freshness: Freshness,
        notes: list[str],
        confidence: float = 0.0,
    ) -> None:
        self._found = tuple(found)
        self.freshness = freshness
        self.notes = notes
        self.confidence = confidence

    def __len__(self) -> int:
        return len(self._found)

    @overload
    def __getitem__(self, index: int) -> HybridHit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[HybridHit, ...]: ...
    def __getitem__(self, index: int | slice) -> HybridHit | tuple[HybridHit, ...]:
        return self._found[index]

    def __iter__(self) -> Iterator[HybridHit]:
        return iter(self._found)

    def __repr__(self) -> str:
        return f"HybridHits({list(self._found)!r}, {self.freshness!r}, {self.notes!r})"
