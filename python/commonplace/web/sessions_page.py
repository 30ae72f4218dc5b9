"""Session screens: sessions by project and day, and one session as a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.web.page import Page, page_route

if TYPE_CHECKING:
    from starlette.responses import Response

TITLE, ADDRESS = "Sessions", "/sessions"


def sessions(page: Page) -> Response:
    """Return the list of sessions, newest first."""
    return page.render("sessions.html", sessions=page.store.sessions()[:50])


ROUTES = [page_route(ADDRESS, sessions)]
