"""Ways to organise a memory: each a small class over one store."""

from commonplace.memories.overview_and_detail import OverviewAndDetail

__all__ = ["OverviewAndDetail"]
