"""Fixtures for the tests of facts and episodes."""

from __future__ import annotations

import pytest

from commonplace import Store
from commonplace.memories.facts_and_episodes import FactsAndEpisodes
from tests.doubles import Clock


@pytest.fixture
def memory(store: Store) -> FactsAndEpisodes:
    return FactsAndEpisodes(store, "data/memory", clock=Clock())
