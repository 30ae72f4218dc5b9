"""Hybrid search: BM25F scores and vectors of a store in one ranking."""

from commonplace.recall.hybrid import HybridHit, HybridHits, HybridSearch

__all__ = ["HybridHit", "HybridHits", "HybridSearch"]
