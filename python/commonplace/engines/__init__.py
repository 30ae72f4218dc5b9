"""Engines: the index of a store, an archive on the disk, and whatever else finds candidates.

An engine stores documents that the core has cut and analysed, counts their names, and finds
candidates for a query. It cuts no text into terms, and its scores only choose the candidates: the
core ranks them, by the same code and the same formula for each engine.
"""

from __future__ import annotations

from commonplace.engines.protocol import CANDIDATES, Engine, EngineStats
from commonplace.engines.search import search

__all__ = ["CANDIDATES", "Engine", "EngineStats", "search"]
