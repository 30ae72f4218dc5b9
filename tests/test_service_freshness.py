"""What a search of the service waits for, and what it says of writes that it does not see."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from commonplace.service.opensearch import EngineUnavailable
from tests.opensearch.double import Double
from tests.opensearch.tenants import Tenants, wait_until


def test_a_search_of_an_engine_that_hangs_fails_before_other_calls(
    fake: Double, tmp_path: Path
) -> None:
    with Tenants(tmp_path, fake.url, search_timeout=0.5) as tenants:
        tenants.call("acme", "write", path="a.md", content="oolong\n")
        hangs = threading.Event()

        def hang(_path: str, _body: bytes) -> None:
            hangs.wait(60)

        for _ in ("the alias is not known", "the alias is known"):
            fake.fault = hang
            begun = time.monotonic()
            with pytest.raises(EngineUnavailable, match="does not answer"):
                tenants.call("other", "search", query="oolong")
            assert time.monotonic() - begun < 10
            hangs.set()
            fake.fault = lambda _path, _body: None
            tenants.call("other", "search", query="oolong")
            hangs.clear()
        hangs.set()


def test_a_search_says_that_a_write_is_not_indexed_yet(fake: Double, tmp_path: Path) -> None:
    with Tenants(tmp_path, fake.url) as tenants:

        def freshness(tenant: str) -> str:
            return str(tenants.call(tenant, "search", query="oolong")["freshness"])

        for tenant in ("acme", "other"):
            tenants.call(tenant, "write", path="a.md", content="oolong\n")
        wait_until(lambda: (freshness("acme"), freshness("other")) == ("fresh", "fresh"))
        fake.fault = lambda path, _: (429, b"{}") if path == "/_bulk" else None
        tenants.call("acme", "write", path="b.md", content="sencha\n")
        assert (freshness("acme"), freshness("other")) == ("stale", "fresh")
        fake.fault = lambda _path, _body: None
        # the double refreshes only when it is told to
        wait_until(lambda: tenants.process.changes and not tenants.process.changes.waiting())
        assert freshness("acme") == "stale"
        wait_until(lambda: freshness("acme") == "fresh")


def test_a_search_waits_no_longer_for_a_write_than_it_says(fake: Double, tmp_path: Path) -> None:
    with Tenants(tmp_path, fake.url) as tenants:
        first = tenants.call("acme", "write", path="a.md", content="oolong\n")
        assert tenants.found("acme", "oolong", fresh=[first["fresh"]])
        goes_on = threading.Event()

        def slow(path: str, _: bytes) -> None:
            if path == "/_bulk":
                goes_on.wait(60)

        fake.fault = slow
        written = tenants.call("acme", "write", path="b.md", content="sencha\n")
        begun = time.monotonic()
        answer = tenants.call("acme", "search", query="oolong", fresh=[written["fresh"]])
        assert time.monotonic() - begun < 30
        goes_on.set()
        assert answer["freshness"] == "stale"
        assert tenants.found("acme", "sencha", fresh=[written["fresh"]]) == ["b.md#L1"]
