"""What happens to processes that share an object store."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from commonplace.service.s3 import S3Objects
from commonplace.service.tokens import tenant_key
from tests.opensearch.tenants import Tenants


def current(tenants: Tenants, tenant: str = "acme") -> None:
    """See what others have changed to this moment."""
    with tenants.process.stores.of(tenant_key(tenant), now=True):
        pass


def between(objects: S3Objects, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Have something happen once, right before a manifest is replaced."""
    plain = objects.exchange

    def exchange(name: str, data: bytes, version: str) -> str | None:
        if name.startswith("manifests/"):
            monkeypatch.setattr(objects, "exchange", plain)
            act()
        return plain(name, data, version)

    monkeypatch.setattr(objects, "exchange", exchange)
