"""Search of a store by meaning: with the embedder it was opened with, or the bundled one."""

from __future__ import annotations

from functools import cache

from commonplace.errors import InvalidArgument
from commonplace.protocols import Embedder
from commonplace.recall.hybrid import HybridSearch
from commonplace.store import Store


def search_by_meaning(store: Store) -> HybridSearch:
    """Return the hybrid search of a store, the same one each time.

    Its vectors are made in the background: a search finds by those that there are.

    Raises:
        InvalidArgument: The store has no embedder, and `commonplace[embed]` is not installed.
    """
    if store.hybrid is None:
        embedder = store.embedder or bundled()
        store.hybrid = HybridSearch(store, embedder, background=True)
    hybrid: HybridSearch = store.hybrid
    return hybrid


@cache
def bundled() -> Embedder:
    """Return the embedder of `commonplace[embed]`, the same one for all stores of this process.

    Raises:
        InvalidArgument: It is not installed.
    """
    try:
        # its weights are loaded by those who search by meaning only
        from commonplace.adapters.bundled import BundledEmbedder  # noqa: PLC0415
    except ImportError as error:
        raise InvalidArgument(str(error)) from error
    return BundledEmbedder()
