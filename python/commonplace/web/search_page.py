"""Search screen: notes, turns and statements in one list, as the reader types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.web.page import Page, page_route

if TYPE_CHECKING:
    from starlette.responses import Response

TITLE, ADDRESS = "Search", "/"


def search(page: Page) -> Response:
    """Return the hits of a query, or the empty form."""
    query = page.query.get("q", "").strip()
    hits = page.store.search(query, 20) if query else None
    return page.render("search.html", query=query, hits=hits)


ROUTES = [page_route(ADDRESS, search)]
