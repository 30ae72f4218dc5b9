"""ASGI application of the web page: request checks, then screens, templates and static files."""

from __future__ import annotations

import hashlib
import mimetypes
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from commonplace.byte_sizes import size
from commonplace.web import (
    health_page,
    log_page,
    memory_page,
    notes_page,
    search_page,
    sessions_page,
)
from commonplace.web.citations import citation_address
from commonplace.web.formats import day, title_text, when
from commonplace.web.highlights import marked
from commonplace.web.markdown import rendered
from commonplace.web.memory_folders import folder_chips, memory_address
from commonplace.web.page import THEMES, Frame, Page, page_route
from commonplace.web.safety import PREFERENCES, STATIC, Access, Guard
from commonplace.web.timings import Timer, Timings
from commonplace.web.translations import LANGUAGES, accepted, translated

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Scope

    from commonplace.store import Store

SCREENS = (search_page, sessions_page, notes_page, memory_page, log_page, health_page)
"""Each has a `TITLE`, the `ADDRESS` of its first page, and its `ROUTES`."""
YEAR = 365 * 86_400


def application(
    store: Store, *, port: int, token: str | None = None, read_only: bool = False
) -> Starlette:
    """Return the web page of a store as an ASGI application.

    Args:
        store: What is shown; it stays the caller's to close.
        port: The port of 127.0.0.1 at which it will be served: requests by another name are
            refused.
        token: Of the link `/open?token=…` that gives a browser its cookie; default: a new one,
            `app.state.frame.access.token`.
        read_only: Refuse every change.
    """
    access = Access(port, token, read_only=read_only)
    templates = _templates()
    timings = Timings()
    screens = [(screen.ADDRESS, screen.TITLE) for screen in SCREENS]

    def locked(scope: Scope) -> Response:
        given = dict(scope["headers"]).get(b"accept-language", b"").decode("latin-1")
        language = accepted(given)

        def text(english: str, **values: object) -> str:
            return translated(language, english, **values)

        page = templates.get_template("locked.html")
        return HTMLResponse(page.render(t=text, language=language), 401)

    app = Starlette(
        routes=[
            *(route for screen in SCREENS for route in screen.ROUTES),
            page_route(PREFERENCES, _set_preferences, change=True),
            Route(STATIC + "{name}", _static),
        ],
        middleware=[
            Middleware(Guard, access=access, locked=locked),
            Middleware(Timer, timings=timings, left_out=(STATIC, health_page.PROGRESS)),
        ],
        exception_handlers={404: _missing},
    )
    app.state.frame = Frame(store, access, templates, screens)
    app.state.frame.shared["timings"] = timings
    return app


def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("commonplace.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    templates.globals |= {
        "static": static_address,
        "languages": LANGUAGES,
        "marked": marked,
        "memory_address": memory_address,
        "memory_folders": folder_chips,
        "citation_address": citation_address,
        "rendered": rendered,
    }
    templates.filters |= {
        "size": size,
        "when": when,
        "day": day,
        "path": quote,
        "title_text": title_text,
    }
    return templates


def static_address(name: str) -> str:
    """Return the address of a static file, which changes with what it says."""
    return f"{STATIC}{name}?v={_static_file(name)[1]}"


@cache
def _static_file(name: str) -> tuple[bytes, str]:
    """Return a static file and a hash of it.

    Raises:
        FileNotFoundError: There is none of this name.
    """
    content = files(__package__).joinpath("static", name).read_bytes()
    return content, hashlib.sha256(content).hexdigest()[:12]


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    known = {one.name for one in files(__package__).joinpath("static").iterdir()}
    if name not in known:
        return PlainTextResponse("there is no such file", 404)
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    headers = {"Cache-Control": f"public, max-age={YEAR}, immutable"}
    return Response(_static_file(name)[0], media_type=kind, headers=headers)


def _missing(request: Request, _: Exception) -> Response:
    page = Page(request, {})
    return page.render("error.html", status=404, message=page.text("There is no such page."))


def _set_preferences(page: Page) -> Response:
    answer = page.redirect(page.form.get("back", "/"))
    for name, known in (("language", tuple(LANGUAGES)), ("theme", THEMES)):
        if page.form.get(name) in known:
            answer.set_cookie(name, page.form[name], max_age=YEAR, httponly=True, samesite="strict")
    return answer
