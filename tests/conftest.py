"""Pytest fixtures: a store in an empty folder, and the folder of the shared data."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import commonplace
from tests.doubles import Clock
from tests.opensearch.cluster import Cluster, Unavailable, running
from tests.opensearch.double import Double, double

# no test is timed: a busy machine takes long for any example. The examples of `make test` are the
# same each time, so what fails there fails by the change; `make test-random` draws others
settings.register_profile("fixed", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None)
settings.load_profile("fixed")

# numpy's threads wait for each other where programs share the machine, and the model is small
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

SHARED = Path(__file__).parents[2] / "shared"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs a part of Linux elsewhere; why is in the summary (`-ra`)."""
    if (mark := item.get_closest_marker("linux")) and sys.platform != "linux":
        pytest.skip(f"needs {mark.args[0]}, which only Linux has")
    if item.get_closest_marker("fleet") and "fleet" not in str(item.config.option.markexpr):
        pytest.skip("runs a search engine, for minutes: make test-fleet")


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A search engine of one node, for tests with the marker `fleet`."""
    try:
        with running(1, tmp_path_factory.mktemp("engine")) as started:
            yield started
    except Unavailable as why:
        pytest.skip(str(why))


@pytest.fixture(scope="session")
def knn_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A search engine of one node with k-NN, for tests with the marker `fleet`."""
    try:
        with running(1, tmp_path_factory.mktemp("knn"), knn=True) as started:
            yield started
    except Unavailable as why:
        pytest.skip(str(why))


@pytest.fixture(params=["double", pytest.param("real", marks=pytest.mark.fleet)])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of an engine: of the double, and with the marker `fleet` of a real one."""
    if request.param == "real":
        yield request.getfixturevalue("cluster").url
        return
    with double() as fake:
        yield fake.url


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "memory"
    folder.mkdir()
    return folder


@pytest.fixture(params=[True, False], ids=["watch", "stat"])
def store(root: Path, request: pytest.FixtureRequest) -> Iterator[commonplace.Store]:
    with commonplace.open(root, watch=request.param) as opened:
        yield opened


@pytest.fixture
def opened(root: Path) -> Iterator[commonplace.Store]:
    """A store that is opened one way only, for tests with many writes."""
    with commonplace.open(root) as opened:
        yield opened


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def shared() -> Path:
    if not SHARED.is_dir():
        pytest.skip("no shared data beside the repository")
    return SHARED


@pytest.fixture
def fake() -> Iterator[Double]:
    """Run a double of the search engine."""
    with double() as server:
        yield server
