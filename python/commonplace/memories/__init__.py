"""Ways to organise a memory: each a small class over one store."""

from commonplace.memories.facts_and_episodes import FactsAndEpisodes

__all__ = ["FactsAndEpisodes"]
