"""Hybrid recall: BM25F scores and vectors of a store in one ranking."""

from commonplace.recall.hybrid import Answer, Recall, Recalled

__all__ = ["Answer", "Recall", "Recalled"]
