"""Conformance of the search engine of the service: the tests of all engines, by way of HTTP."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from commonplace import Store
from commonplace.engines import Engine
from tests.opensearch.tenant_engine import WholeEngine
from tests.opensearch.tenants import Tenants
from tests.test_engines import (
    stores,
    test_changes_and_removals,
    test_exclusions_do_not_hide_what_is_behind_them,
    test_filters,
    test_it_ranks_as_the_store,
    test_nothing_is_found_in_an_empty_engine,
    test_odd_queries,
    test_ties_go_by_path_and_position,
)

__all__ = [
    "stores",
    "test_changes_and_removals",
    "test_exclusions_do_not_hide_what_is_behind_them",
    "test_filters",
    "test_it_ranks_as_the_store",
    "test_nothing_is_found_in_an_empty_engine",
    "test_odd_queries",
    "test_ties_go_by_path_and_position",
]


@pytest.fixture
def new_engine(url: str, tmp_path: Path) -> Callable[[Store], Engine]:
    """Return the maker of an engine, a tenant for each."""
    tenants = Tenants(tmp_path / "service", url, f"c{uuid4().hex[:8]}")
    return lambda _: WholeEngine(tenants, uuid4().hex)
