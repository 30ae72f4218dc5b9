"""Memory systems: five file layouts over one store, and their tools."""

from commonplace.memories.facts_and_episodes import FactsAndEpisodes
from commonplace.memories.four_layers import FourLayers
from commonplace.memories.four_layers.run_hooks import AgentRuns
from commonplace.memories.overview_and_detail import OverviewAndDetail
from commonplace.memories.profile import Profile
from commonplace.memories.registry import find_system, memory_system, system_names
from commonplace.memories.world_and_agents import WorldAndAgents

__all__ = [
    "AgentRuns",
    "FactsAndEpisodes",
    "FourLayers",
    "OverviewAndDetail",
    "Profile",
    "WorldAndAgents",
    "find_system",
    "memory_system",
    "system_names",
]
