"""One request of the web page: what was asked, the store, and how it is answered."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from commonplace.errors import (
    Busy,
    CommonplaceError,
    Conflict,
    InvalidArgument,
    NotFound,
    QueryError,
    Refused,
)
from commonplace.web.safety import SESSION
from commonplace.web.translations import LANGUAGES, accepted, counted, translated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import Environment
    from starlette.requests import Request

    from commonplace.store import Store
    from commonplace.web.safety import Access

LARGEST_FORM = 32 << 20
"""Bytes of a form; a note that is larger is edited in an editor."""
MOST_DIGITS = 18
"""Digits of a number in an address; each such number fits into 64 bits."""
THEMES = ("auto", "light", "dark")
STATUS: tuple[tuple[type[Exception], int], ...] = (
    (NotFound, 404),
    (Refused, 403),
    (Conflict, 409),
    (Busy, 503),
    (QueryError, 400),
    (InvalidArgument, 400),
    (ValueError, 400),
)


class Frame:
    """What all requests share: the store, the templates, who may ask, and the screens.

    Args:
        store: What is shown.
        access: Who may ask.
        templates: With the texts of the pages.
        screens: Address and title of each screen, for the navigation.
    """

    def __init__(
        self,
        store: Store,
        access: Access,
        templates: Environment,
        screens: Sequence[tuple[str, str]],
    ) -> None:
        self.store, self.access, self.templates, self.screens = store, access, templates, screens
        self.shared: dict[str, Any] = {}
        """What a screen keeps from one request to the next, such as a table made once."""


class Page:
    """One request; a screen is a function of it that returns a response."""

    def __init__(self, request: Request, form: Mapping[str, str]) -> None:
        self.request = request
        self.frame: Frame = request.app.state.frame
        self.store: Store = self.frame.store
        self.read_only = self.frame.access.read_only
        self.form = form
        self.query = request.query_params
        self.path: Mapping[str, Any] = request.path_params
        given = request.cookies.get("language", "")
        self.language = (
            given if given in LANGUAGES else accepted(request.headers.get("accept-language", ""))
        )
        theme = request.cookies.get("theme", "")
        self.theme = theme if theme in THEMES else "auto"
        self.is_part = request.headers.get("x-part") is not None
        """Whether a script asks for a part of the page only."""

    def text(self, english: str, **values: object) -> str:
        """Return a text of the page in the language of the reader."""
        return translated(self.language, english, **values)

    def count(self, count: int, one: str, many: str) -> str:
        """Return how many there are, in the language of the reader; see `counted`."""
        return counted(self.language, count, one, many)

    @property
    def csrf(self) -> str:
        """What a form of this session carries in the field `csrf`."""
        return self.frame.access.csrf(self.request.scope.get(SESSION, ""))

    def render(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """Return a template as the answer.

        Every template has `page`, `t` (texts of the page), `n` (how many) and `csrf` beside these.
        """
        found = self.frame.templates.get_template(template)
        html = found.render(page=self, t=self.text, n=self.count, csrf=self.csrf, **values)
        return HTMLResponse(html, status)

    def redirect(self, address: str) -> Response:
        """Return the answer to a change: go there, by GET."""
        return RedirectResponse(own_address(address), 303)

    def address(self, **changed: str | None) -> str:
        """Return this address with other values in its query; None takes one away."""
        kept = {name: value for name, value in self.query.items() if name not in changed}
        values = kept | {name: value for name, value in changed.items() if value}
        path = quote(self.request.url.path)
        return f"{path}?{urlencode(values)}" if values else path


def whole_number(given: str) -> int:
    """Return a number that stands in an address.

    Raises:
        InvalidArgument: It is none, or larger than any line.

    >>> whole_number("12"), whole_number("-5")
    (12, -5)
    """
    digits = given.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= MOST_DIGITS):
        raise InvalidArgument(f"{given!r:.40} is no number of at most {MOST_DIGITS} digits")
    return int(given)


def own_address(given: str) -> str:
    r"""Return an address of this server; `/` for any other.

    >>> own_address("/notes?x=1"), own_address("//evil.example"), own_address("/\\evil")
    ('/notes?x=1', '/', '/')
    """
    plain = given.startswith("/") and not given.startswith(("//", "/\\"))
    return given if plain and given.isprintable() else "/"


def page_route(path: str, answer: Callable[[Page], Response], *, change: bool = False) -> Route:
    """Return the route of a screen; `answer` runs in a thread.

    Args:
        path: As Starlette writes it.
        answer: Returns the response to a page.
        change: It answers POST, which carries the CSRF token, and not GET.
    """

    async def endpoint(request: Request) -> Response:
        form: dict[str, str] = {}
        if change:
            body = await _body(request)
            if body is None:
                return PlainTextResponse("this is too large to be sent from a page", 413)
            try:
                form = dict(parse_qsl(body.decode(), keep_blank_values=True, errors="strict"))
            except ValueError:
                return PlainTextResponse("a form is UTF-8", 400)
        page = Page(request, form)
        if change and not hmac.compare_digest(form.get("csrf", "").encode(), page.csrf.encode()):
            return PlainTextResponse("the form is of another session; load its page again", 403)
        return await run_in_threadpool(_answered, page, answer)

    return Route(path, endpoint, methods=["POST"] if change else ["GET"])


def _answered(page: Page, answer: Callable[[Page], Response]) -> Response:
    """Return what a screen answers; an error of ours is a page that says it."""
    try:
        return answer(page)
    except (CommonplaceError, ValueError) as error:
        status = next((code for kind, code in STATUS if isinstance(error, kind)), 500)
        return page.render("error.html", status=status, message=str(error))


async def _body(request: Request) -> bytes | None:
    """Return the body of a request; None for one that is too large."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > LARGEST_FORM:
            return None
        parts.append(part)
    return b"".join(parts)
