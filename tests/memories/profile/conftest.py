"""Fixtures for the tests of profile."""

from __future__ import annotations

import pytest

from commonplace.adapters.embedders import CallableEmbedder
from commonplace.memories.profile import Profile
from commonplace.store import Store
from tests.doubles import Clock
from tests.memories.profile.helpers import topical


@pytest.fixture
def memory(opened: Store, clock: Clock) -> Profile:
    return Profile(opened, clock=clock)


@pytest.fixture
def embedder() -> CallableEmbedder:
    return CallableEmbedder(topical, "topical", 4)
