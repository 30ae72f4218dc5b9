"""The service as an ASGI application: its routes."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import uvicorn
from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from commonplace.errors import CommonplaceError
from commonplace.service.answers import answer, refusal, told_refusal
from commonplace.service.call_table import CALLS, openapi
from commonplace.service.calls import Caller
from commonplace.service.gate import BODY_TIMEOUT, LARGEST_BODY, Gate
from commonplace.service.mcp import GRANT, mcp_app
from commonplace.service.process import Process

if sys.platform != "win32":
    import resource

if TYPE_CHECKING:
    import socket

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

MOST_CONNECTIONS = 1 << 14
"""Connections that are open at once; beyond it the answer is 503.

It is one number for all callers, so it has to be far above what one of them opens: the gate refuses
what a tenant asks too much by a 429, and that takes a millisecond.
"""
OTHER_FILES = 512
"""Files and sockets that are not those of callers."""
THREADS = 64
"""Calls that run at once; a tenant may have a part of them."""


def application(
    process: Process, *, largest: int = LARGEST_BODY, timeout: float = BODY_TIMEOUT
) -> ASGIApp:
    """Return the service as an ASGI application.

    Args:
        process: What it is made of, started.
        largest: Bytes of a request.
        timeout: Seconds in which the body of a request has to be there.
    """
    names = frozenset(CALLS) | {"mcp", "healthz", "metrics", "openapi.json"}
    inner = _Routes(process).app
    return Gate(inner, process.tokens, process.limits, process.metrics, names, largest, timeout)


def run(process: Process, listener: socket.socket, largest: int = LARGEST_BODY) -> None:
    """Serve until the process is told to end.

    Args:
        process: What is served, started.
        listener: Where calls come in.
        largest: Bytes of a request.
    """
    config = uvicorn.Config(
        application(process, largest=largest),
        log_level="warning",
        # to the handlers of the process, as all that is logged
        log_config=None,
        access_log=False,
        limit_concurrency=_connections(),
        timeout_keep_alive=30,
        timeout_graceful_shutdown=10,
    )
    uvicorn.Server(config).run(sockets=[listener])


def _connections() -> int:
    """Return how many connections there may be, after asking for as many open files as allowed."""
    if sys.platform == "win32":
        return MOST_CONNECTIONS
    files, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + OTHER_FILES
    if resource.RLIM_INFINITY != files < wanted:
        files = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    return min(MOST_CONNECTIONS, max(files - OTHER_FILES, files // 2))


class _Mcp:
    """The MCP server, told whose token a request has."""

    def __init__(self, app: Starlette) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        GRANT.set(scope["state"]["grant"])
        await self.app(scope, receive, send)


class _Routes:
    """What answers to each path."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._threads = CapacityLimiter(THREADS)
        self._description = openapi()
        self._mcp = _Mcp(mcp_app(process.service))
        routes = [
            Route("/v1/{call}", self._call, methods=["POST"]),
            Route("/mcp", self._mcp),
            Route("/healthz", self._health),
            Route("/metrics", self._metrics),
            Route("/openapi.json", self._described),
        ]
        told = {HTTPException: _told, Exception: _failed}
        self.app = Starlette(routes=routes, lifespan=self._lifespan, exception_handlers=told)

    async def _call(self, request: Request) -> Response:
        name = request.path_params["call"]
        if name not in CALLS:
            return told_refusal(404, "call", f"there is no call {name!r:.100}: see /openapi.json")
        caller = Caller(request.state.grant, request.headers.get("idempotency-key"))
        body = await request.body()
        try:
            found = await to_thread.run_sync(
                lambda: CALLS[name].run(self._process.service, caller, body), limiter=self._threads
            )
        except Exception as error:  # noqa: BLE001 - told by its status, and ours are logged
            if not isinstance(error, CommonplaceError | ValueError | TypeError):
                self._process.metrics.failed(name, error)
            return refusal(error, str(self._process.stores.root(caller.tenant)))
        if found.get("freshness") == "stale":
            self._process.metrics.stale()
        return answer(found)

    async def _health(self, _: Request) -> Response:
        state = "none"
        if self._process.engine:
            state = await to_thread.run_sync(self._process.engine.state)
        return answer({"status": "ok", "engine": state})

    async def _metrics(self, _: Request) -> Response:
        return Response(self._process.metrics.text(), media_type="text/plain; version=0.0.4")

    async def _described(self, _: Request) -> Response:
        return answer(self._description)

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        inner = self._mcp.app
        async with inner.router.lifespan_context(inner):
            yield


async def _told(request: Request, error: Exception) -> Response:
    """Answer what no route takes, in the form of all errors."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    why = {
        404: f"there is nothing at {request.url.path!r:.100}: see /openapi.json",
        405: f"{request.url.path:.100} takes another method than {request.method}",
    }
    headers = dict(getattr(error, "headers", None) or {})
    code = {404: "call", 405: "method"}.get(status, "http")
    return told_refusal(status, code, why.get(status, str(error)), headers)


async def _failed(_: Request, error: Exception) -> Response:
    return refusal(error)
