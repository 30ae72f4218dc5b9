"""Ways to organise a memory: each a small class over one store."""

from commonplace.memories.facts_and_episodes import FactsAndEpisodes
from commonplace.memories.four_layers import FourLayers

__all__ = ["FactsAndEpisodes", "FourLayers"]
