"""Note screens: the tree, a note with its links, editing, and the history of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.web.page import Page, page_route

if TYPE_CHECKING:
    from starlette.responses import Response

TITLE, ADDRESS = "Notes", "/notes"


def notes(page: Page) -> Response:
    """Return the tree of notes."""
    return page.render("notes.html", entries=page.store.list()[:200])


ROUTES = [page_route(ADDRESS, notes)]
