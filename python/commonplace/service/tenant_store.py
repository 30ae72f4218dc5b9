"""Store of one tenant, whose searches go by way of the engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.service.searcher import Searcher
from commonplace.service.stores import TenantRoot

if TYPE_CHECKING:
    from commonplace._core import SearchFilter
    from commonplace.recall.hybrid_hits import HybridHits
    from commonplace.store import Archive, Unit


class TenantStore(TenantRoot):
    """The store of one tenant, whose searches go by way of the engine where there is one.

    The engine has all files, archived or not. Words come by way of it, and vectors too where it
    has them; else vectors are those of this store, beside its files.

    Args:
        root: Its folder.
        tenant: The key of the tenant.
        searcher: Asks the engine; None: the store ranks by its own index.
        keep_secrets: Do not redact what is logged and what tools write.
    """

    def __init__(
        self, root: Path, tenant: str, searcher: Searcher | None, *, keep_secrets: bool = False
    ) -> None:
        super().__init__(root, create=True, watch=False, keep_secrets=keep_secrets)
        self.tenant = tenant
        self._searcher = searcher

    def _search_by_meaning(
        self, query: str, limit: int, unit: Unit, given: SearchFilter, archive: Archive
    ) -> HybridHits:
        if self._searcher and self.embedder:
            # numpy is loaded by those who have an embedder only
            from commonplace.service import hybrid  # noqa: PLC0415

            own = self._core.resolved_filter(given)
            if near := hybrid.vectors_in_engine(self._searcher, self, own):
                return hybrid.search_by_both(self._searcher, self, near, query, limit, unit, own)
        return super()._search_by_meaning(query, limit, unit, given, archive)

    def _search_by_words(
        self, query: str, limit: int, unit: Unit, given: SearchFilter, archive: Archive
    ) -> Any:
        if self._searcher is None:
            return super()._search_by_words(query, limit, unit, given, archive)
        own = self._core.resolved_filter(given)
        return self._searcher.search(self, query, limit, unit, own)
