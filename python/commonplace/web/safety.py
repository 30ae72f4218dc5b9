"""Request checks of the web page: host, origin, session cookie, read-only mode, response headers.

A page on another site can make a browser send requests here, and a name that it owns can be bent to
127.0.0.1 (DNS rebinding). So each request names this server as its host; a request that changes
something also comes from its own pages (`Origin`, and the CSRF token that `web.page` checks). Other
users of the machine have no cookie, which only the printed link gives.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

OPEN = "/open"
"""The path of the printed link."""
STATIC = "/static/"
PREFERENCES = "/preferences"
"""Language and theme: a change of the browser's cookies alone."""
SESSION = "commonplace.session"
"""The key of the scope of a request that has its session."""
SAFE_METHODS = {"GET", "HEAD"}
MOST_SESSIONS = 1000

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    # other sites get none; with `no-referrer` a form of ours would send `Origin: null`
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "X-Frame-Options": "DENY",
}


class Access:
    """Who may ask: the token of the printed link and the sessions that it has opened.

    Args:
        token: Of the printed link; default: a new one.
        port: The port that the server listens on, part of the names it is called by.
        read_only: Refuse every change of the memory.
    """

    def __init__(self, port: int, token: str | None = None, *, read_only: bool = False) -> None:
        self.token = token or secrets.token_urlsafe(32)
        self.read_only = read_only
        self.hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        # cookies know no ports: two servers of one machine must not share one
        self.cookie = f"commonplace-{port}"
        self._key = secrets.token_bytes(32)
        self._sessions: dict[str, None] = {}

    def open_session(self) -> str:
        """Return a new session; the oldest of very many ends."""
        session = secrets.token_urlsafe(32)
        self._sessions[session] = None
        while len(self._sessions) > MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return session

    def knows(self, session: str) -> bool:
        """Say whether the link has opened this session."""
        return session in self._sessions

    def csrf(self, session: str) -> str:
        """Return what a form of this session carries."""
        return hmac.new(self._key, session.encode(), hashlib.sha256).hexdigest()

    def refusal(self, method: str, path: str, headers: Headers) -> Response | None:
        """Return the answer to a request that may not be answered; None for others."""
        if headers.get("host", "").lower() not in self.hosts:
            return PlainTextResponse("this server is not called so; open the printed link", 421)
        changes = method not in SAFE_METHODS
        origin = headers.get("origin")
        own = origin is not None and origin.removeprefix("http://") in self.hosts
        site = headers.get("sec-fetch-site", "same-origin")
        if changes and not own:
            return PlainTextResponse("a change comes from a page of this server", 403)
        if origin is not None and not own:
            return PlainTextResponse("another site may not ask", 403)
        navigates = headers.get("sec-fetch-mode") == "navigate" and not changes
        if site not in {"same-origin", "none"} and not navigates:
            return PlainTextResponse("another site may not ask", 403)
        if changes and self.read_only and path != PREFERENCES:
            return PlainTextResponse("this page is read-only", 403)
        return None


class Guard:
    """ASGI middleware that lets pass what `Access` allows, and sets the headers of each answer."""

    def __init__(self, app: ASGIApp, access: Access, locked: Callable[[Scope], Response]) -> None:
        self._app, self._access, self._locked = app, access, locked

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] != "http":
            raise RuntimeError(f"no {scope['type']} is served")
        started = False

        async def guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                if "cache-control" not in headers:
                    headers["Cache-Control"] = "no-store"
            await send(message)

        try:
            return await (self._refusal(scope) or self._app)(scope, receive, guarded)
        except Exception:
            if not started:
                # else an answer without these headers would be made further out
                await PlainTextResponse("internal error", 500)(scope, receive, guarded)
            raise

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that goes no further; None lets it pass."""
        path, headers = scope["path"], Headers(scope=scope)
        refused = self._access.refusal(scope["method"], path, headers)
        if refused is not None or path.startswith(STATIC):
            return refused
        if path == OPEN:
            return self._opened(scope)
        session = cookie_parser(headers.get("cookie", "")).get(self._access.cookie, "")
        if not self._access.knows(session):
            return self._locked(scope)
        scope[SESSION] = session
        return None

    def _opened(self, scope: Scope) -> Response:
        """Return the answer to the printed link: the cookie, and the first page."""
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not hmac.compare_digest(given.encode(), self._access.token.encode()):
            return self._locked(scope)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            self._access.cookie, self._access.open_session(), httponly=True, samesite="strict"
        )
        return answer
