"""ASGI gate before all calls: token, limits, body, log and metrics, in this order.

A body is read once the caller is known and within limits, so that nobody without a token makes the
process keep anything. The log has no content: no path, query, text or name of a tenant.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import anyio
import orjson
from anyio import to_thread

from commonplace.service.answers import refusal, told_refusal
from commonplace.service.limits import Limits, TooMany
from commonplace.service.metrics import Metrics
from commonplace.service.tokens import Grant, Tokens, Unauthorized

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 4 << 20
BODY_TIMEOUT = 20.0
"""Seconds in which a body has to be there."""
MOST_WAITING = 64
"""Requests of one token that wait for its check: what comes beyond them waits for no thread."""
GUARDED = ("/v1/", "/mcp")
access = logging.getLogger("commonplace.service.access")


class TooLarge(Exception):
    """A body of more bytes than a request may have."""


class Gate:
    """Passes on requests of callers that are known and within their limits.

    Args:
        app: What answers; it finds the `grant` in the state of the request.
        tokens: Who may call.
        limits: How often.
        metrics: Where requests are counted.
        calls: Names by which requests are counted; whatever else is asked is `other`.
        largest: Bytes of a body.
        timeout: Seconds in which it has to be there.
    """

    def __init__(
        self,
        app: ASGIApp,
        tokens: Tokens,
        limits: Limits,
        metrics: Metrics,
        calls: frozenset[str],
        largest: int = LARGEST_BODY,
        timeout: float = BODY_TIMEOUT,
    ) -> None:
        self._app, self._tokens, self._limits = app, tokens, limits
        self._metrics, self._calls = metrics, calls
        self._largest, self._timeout = largest, timeout
        self._waiting: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        begun = time.perf_counter()
        told: dict[str, Any] = {"status": 500, "sent": 0}

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                told["status"] = message["status"]
            told["sent"] += len(message.get("body", b""))
            await send(message)

        try:
            await self._guarded(scope, receive, counted, told)
        finally:
            self._note(scope, told, time.perf_counter() - begun)

    async def _guarded(
        self, scope: Scope, receive: Receive, send: Send, told: dict[str, Any]
    ) -> None:
        """Answer a request that needs a token only if there is one."""
        if not scope["path"].startswith(GUARDED):
            return await self._app(scope, receive, send)
        async with AsyncExitStack() as held:
            try:
                grant = await self._grant(_token(scope))
                told["tenant"], told["token"] = grant.key[:8], grant.id
                held.enter_context(self._limits.call(grant.key))
                body = await self._body(scope, receive)
                told["received"] = len(body)
            except TimeoutError:
                slow = told_refusal(408, "slow", f"the body took over {self._timeout:g} s")
                return await slow(scope, receive, send)
            except TooLarge:
                large = f"a request has at most {self._largest} bytes"
                return await told_refusal(413, "large", large)(scope, receive, send)
            except Exception as error:  # noqa: BLE001 - told by its status
                return await refusal(error)(scope, receive, send)
            state: dict[str, Grant] = {**scope.get("state", {}), "grant": grant}
            return await self._app({**scope, "state": state}, _replayed(body, receive), send)

    async def _grant(self, token: str) -> Grant:
        """Return what a token allows.

        Raises:
            TooMany: Too many requests with this token wait for that.
            Unauthorized: It allows nothing.
        """
        if self._waiting[token] >= MOST_WAITING:
            raise TooMany(f"{MOST_WAITING} requests with this token wait already; try again")
        self._waiting[token] += 1
        try:
            return await to_thread.run_sync(self._tokens.check, token)
        finally:
            self._waiting[token] -= 1
            # so that tokens that came once take no room
            if not self._waiting[token]:
                del self._waiting[token]

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """Return the body of a request.

        Raises:
            TooLarge: It is larger than allowed; no more of it was read.
            TimeoutError: It is not there in time.
        """
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if length.isdigit() and int(length) > self._largest:
            raise TooLarge
        parts: list[bytes] = []
        size = 0
        with anyio.fail_after(self._timeout):
            while True:
                message = await receive()
                part = message.get("body", b"")
                parts.append(part)
                size += len(part)
                if size > self._largest:
                    raise TooLarge
                if message["type"] == "http.disconnect" or not message.get("more_body"):
                    return b"".join(parts)

    def _note(self, scope: Scope, told: dict[str, Any], seconds: float) -> None:
        path: str = scope["path"]
        name = path.removeprefix("/v1/").strip("/")
        call = name if name in self._calls else "other"
        self._metrics.request(call, told["status"], seconds)
        line = {"call": call, "milliseconds": round(seconds * 1000, 2), **told}
        access.info(orjson.dumps(line).decode())


def _token(scope: Scope) -> str:
    """Return the token of a request.

    Raises:
        Unauthorized: There is none.
    """
    given: str = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
    kind, _, token = given.partition(" ")
    if kind.lower() != "bearer" or not token:
        raise Unauthorized("a token is needed: Authorization: Bearer …")
    return token.strip()


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return what gives a body that was read, and then what else comes."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
