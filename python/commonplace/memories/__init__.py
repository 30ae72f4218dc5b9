"""Ways to organise a memory: each a small class over one store."""

from commonplace.memories.four_layers import FourLayers

__all__ = ["FourLayers"]
