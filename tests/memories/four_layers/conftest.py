"""Fixtures for the tests of four layers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import commonplace
from commonplace.memories import FourLayers
from tests.doubles import Clock
from tests.memories.four_layers.helpers import FEBRUARY, MICROSECOND


@pytest.fixture
def memory(store: commonplace.Store) -> FourLayers:
    return FourLayers(store, clock=Clock(FEBRUARY, MICROSECOND))


@pytest.fixture(scope="module")
def roomy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[commonplace.Store]:
    """Yield a store for many examples; each takes a folder of its own."""
    with commonplace.open(tmp_path_factory.mktemp("roomy")) as opened:
        yield opened
