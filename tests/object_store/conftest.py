"""A bucket for each test, and two processes of the service over it."""

from __future__ import annotations

import logging
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from moto.server import ThreadedMotoServer

from commonplace.service.s3 import S3Objects
from tests.opensearch.tenants import Tenants


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """An S3 server with an empty bucket."""
    logging.getLogger("werkzeug").setLevel("ERROR")
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    bucket = urllib.request.Request(f"{url}/memories", method="PUT")  # noqa: S310 - loopback
    urllib.request.urlopen(bucket).close()  # noqa: S310 - loopback
    yield url
    server.stop()


@pytest.fixture
def url(server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of objects of this test alone."""
    given = {"ENDPOINT_URL": server, "ACCESS_KEY_ID": "x", "SECRET_ACCESS_KEY": "y"}
    for name, value in (given | {"REGION": "us-east-1"}).items():
        monkeypatch.setenv(f"AWS_{name}", value)
    return f"s3://memories/{uuid4().hex}"


@pytest.fixture
def objects(url: str) -> S3Objects:
    return S3Objects(url)


@pytest.fixture
def two(objects: S3Objects, tmp_path: Path) -> Iterator[tuple[Tenants, Tenants]]:
    """Two processes, each with copies of its own."""
    with (
        Tenants(tmp_path / "one", None, objects=objects) as one,
        Tenants(tmp_path / "two", None, objects=objects) as other,
    ):
        yield one, other
