"""Fixtures for the tests of world and agents."""

from __future__ import annotations

import pytest

from commonplace.memories.world_and_agents import WorldAndAgents
from commonplace.store import Store
from tests.doubles import Clock


@pytest.fixture
def memory(opened: Store, clock: Clock) -> WorldAndAgents:
    return WorldAndAgents(opened, "planner", clock=clock)
