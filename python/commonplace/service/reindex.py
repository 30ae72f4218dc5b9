"""Reindexing of all tenants beside the index that serves, which is then exchanged at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.service.indexer import Indexer
from commonplace.service.opensearch import IndexMissing, OpenSearch
from commonplace.service.stores import Stores

if TYPE_CHECKING:
    from commonplace.protocols import Embedder


def reindex(engine: OpenSearch, stores: Stores, embedder: Embedder | None = None) -> list[str]:
    """Rebuild the index from all files, in the form of this version; return the tenants.

    Processes of this version or the one before search and write meanwhile. What they change is
    compared three times: beside, once more, for the first time may have taken hours, and after the
    exchange.

    Args:
        engine: Its index may be of another form, or gone.
        stores: Where the files are.
        embedder: Makes vectors, where the index has a field for them.

    Raises:
        EngineUnavailable: The engine does not answer. The index before serves on.
    """
    try:
        shadow = engine.shadow()
    except IndexMissing:
        engine.prepare()
    else:
        shadow.load_in_bulk(on=True)
        beside = Indexer(shadow, stores, embedder)
        for _ in range(2):
            for tenant in stores.tenants():
                beside.rebuild(tenant)
        shadow.load_in_bulk(on=False)
        # searches see all of it from the first moment on
        shadow.refresh()
        engine.swap(shadow, stores.tenants())
        shadow.close()
    indexer = Indexer(engine, stores, embedder)
    tenants = list(stores.tenants())
    for tenant in tenants:
        indexer.rebuild(tenant)
    return tenants
