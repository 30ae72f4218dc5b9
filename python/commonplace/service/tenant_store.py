"""Store of one tenant, whose searches go by way of the engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from commonplace.search_filter import given_filter
from commonplace.service.searcher import Searcher
from commonplace.service.stores import TenantRoot

if TYPE_CHECKING:
    from typing import Unpack

    from commonplace._core import SearchFilter
    from commonplace.search_filter import FilterFields
    from commonplace.store import Unit


class TenantStore(TenantRoot):
    """The store of one tenant, whose searches go by way of the engine where there is one.

    Args:
        root: Its folder.
        tenant: The key of the tenant.
        searcher: Asks the engine; None: the store ranks by its own index.
    """

    def __init__(self, root: Path, tenant: str, searcher: Searcher | None) -> None:
        super().__init__(root, create=True, watch=False)
        self.tenant = tenant
        self._searcher = searcher

    def search(
        self,
        query: str,
        limit: int = 10,
        *,
        unit: Unit = "turn",
        meaning: bool | None = False,
        filter: SearchFilter | None = None,
        archive: Literal["yes", "no", "only"] = "yes",
        **fields: Unpack[FilterFields],
    ) -> Any:
        """Return hits as `Store.search` does; an engine has all files, archived or not.

        Words come by way of the engine, and vectors too where it has them; else vectors are those
        of this store, beside its files.

        Raises:
            InvalidArgument: It is to search by meaning, and there is no embedder.
            EngineUnavailable: The engine does not answer.
        """
        if meaning or (meaning is None and self.embedder is not None):
            if self._searcher and self.embedder:
                # numpy is loaded by those who have an embedder only
                from commonplace.service import hybrid  # noqa: PLC0415

                own = self._core.resolved_filter(given_filter(filter, fields))
                if near := hybrid.vectors_in_engine(self._searcher, self, own):
                    found = hybrid.search_by_both
                    return found(self._searcher, self, near, query, limit, unit, own)
            return super().search(query, limit, unit=unit, meaning=True, filter=filter, **fields)
        if self._searcher is None:
            return super().search(query, limit, unit=unit, filter=filter, archive=archive, **fields)
        own = self._core.resolved_filter(given_filter(filter, fields))
        return self._searcher.search(self, query, limit, unit, own)
