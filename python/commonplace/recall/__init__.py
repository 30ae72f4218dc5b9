"""Hybrid search: BM25F scores and vectors of a store in one ranking."""

from commonplace.recall.hybrid import HybridSearch
from commonplace.recall.hybrid_hits import HybridHit, HybridHits

__all__ = ["HybridHit", "HybridHits", "HybridSearch"]
