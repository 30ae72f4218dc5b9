"""MCP over HTTP (streamable), with the official SDK; stateless, so any number of hosts share it."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp.types import RequestParams
from starlette.responses import PlainTextResponse

from commonplace.doors.mcp.methods import INSTRUCTIONS, Methods, Params, RpcError, stateless_fields
from commonplace.doors.sockets import address_of, listening
from commonplace.errors import Refused

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "::1")
PATH = "/mcp"
LARGEST_REQUEST = 4 << 20


class AnyParams(RequestParams, extra="allow"):
    """Parameters as they were sent; `Methods` checks them."""


class BearerToken:
    """ASGI middleware that asks each request for a token (`Authorization: Bearer …`)."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        # spaces around it are no part of the value of a header
        self._token = token.strip().encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 401."""
        header = dict(scope.get("headers", ())).get(b"authorization", b"")
        # the name of a scheme has no case (RFC 9110, 11.1)
        scheme, _, given = header.partition(b" ")
        is_bearer = scheme.lower() == b"bearer"
        is_right = hmac.compare_digest(given.strip(), self._token)
        if scope["type"] != "http" or (is_bearer and is_right):
            return await self._app(scope, receive, send)
        why = "the token is not that of $COMMONPLACE_MCP_TOKEN where the server was started"
        why = why if is_bearer else "a token is needed: send `Authorization: Bearer TOKEN`"
        told = PlainTextResponse(f"{why}\n", 401, {"WWW-Authenticate": "Bearer"})
        return await told(scope, receive, send)


class ExplainedRefusals:
    """ASGI middleware that says what a refused `Host` or `Origin` was, and what to do."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and the answer, but for the text of a refusal."""
        given = {name: value.decode("latin-1") for name, value in scope.get("headers", ())}
        host, origin = given.get(b"host", ""), given.get(b"origin", "")
        why = {
            421: f"the server is not known as {host!r:.200}; --name HOST:PORT adds a name",
            403: f"a page from {origin!r:.200} may not call the server",
        }
        refused = ""

        async def explained(message: Message) -> None:
            nonlocal refused
            if message["type"] == "http.response.start":
                refused = why.get(message["status"], "")
                if refused:
                    told = PlainTextResponse(f"{refused}\n", message["status"])
                    await told(scope, receive, send)
            if not refused:
                await send(message)

        await self._app(scope, receive, explained)


def app(
    methods: Methods, host: str, *, token: str | None = None, names: Sequence[str] = ()
) -> ASGIApp:
    """Return the server as an ASGI application at `/mcp`.

    Args:
        methods: What it answers.
        host: The address that it will listen on.
        token: What each request must carry; needed where `host` is not loopback.
        names: Further names by which hosts may call it: `memory.example` at any port, or
            `memory.example:8000`.

    Raises:
        Refused: The token is blank; or there is none, and others than this machine could reach the
            server.
    """
    if token and not token.strip():
        raise Refused("the token in COMMONPLACE_MCP_TOKEN is blank: set another one, or unset it")
    if host not in LOOPBACK and not token:
        raise Refused(
            f"{host} can be reached from other machines: give a token in "
            "COMMONPLACE_MCP_TOKEN, or listen on 127.0.0.1"
        )
    # a page of a browser may not call it, nor a name that was bent to this address
    own = [f"{name}:*" for name in ("127.0.0.1", "localhost", "[::1]")]
    known = [f"[{host}]:*" if ":" in host else f"{host}:*"]
    known += [spelled for name in names for spelled in _spellings(name)]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[*own, *known],
        allowed_origins=[f"http://{name}" for name in own],
    )
    served: ASGIApp = ExplainedRefusals(streamable(methods, methods.answer, security))
    return BearerToken(served, token) if token else served


def _spellings(name: str) -> list[str]:
    """Return a name as `Host` may have it, which leaves out the port of http and https."""
    bare, _, port = name.rpartition(":")
    if not port.isdigit():
        return [name, f"{name}:*"]
    return [name, bare] if port in {"80", "443"} else [name]


def streamable(
    methods: Methods,
    answer: Callable[[str, Params], dict[str, Any]],
    security: TransportSecuritySettings | None = None,
) -> Starlette:
    """Return an ASGI application of the SDK at `/mcp`, stateless, whose answers are JSON.

    Args:
        methods: Says which methods there are, and who answers.
        answer: Gives the result of a request, in a thread.
        security: Who may call, by `Host` and `Origin`; None: anybody, as where a token is asked.
    """
    server: Server[Any] = Server(
        methods.info["name"],
        version=methods.info["version"],
        title=methods.info["title"],
        instructions=INSTRUCTIONS,
    )
    for method in methods.table:
        server.add_request_handler(method, AnyParams, _handler(answer, method))
    return server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=LARGEST_REQUEST,
        transport_security=security
        or TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )


def serve(
    methods: Methods,
    host: str,
    port: int,
    *,
    token: str | None = None,
    names: Sequence[str] = (),
    told: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve until the process is told to end.

    Args:
        methods: What it answers.
        host: The address to listen on.
        port: 0 for one that is free.
        token: As for `app`.
        names: As for `app`.
        told: Called with the address once the port is taken.

    Raises:
        Refused: As for `app`.
        OSError: The address is in use, or is none of this machine.
    """
    served = app(methods, host, token=token, names=names)
    try:
        with listening(port, host) as listener:
            told(f"http://{address_of(listener)}{PATH}")
            config = uvicorn.Config(served, log_level="warning", access_log=False)
            uvicorn.Server(config).run(sockets=[listener])
    finally:
        methods.close()


def _handler(answer: Callable[[str, Params], dict[str, Any]], method: str) -> Any:
    """Return the handler of a method; the answer is made in a thread."""

    async def handle(_: Any, params: AnyParams) -> dict[str, Any]:
        given = params.model_dump(by_alias=True, exclude_unset=True)
        try:
            found = await anyio.to_thread.run_sync(answer, method, given)
        except RpcError as error:
            raise MCPError(error.code, error.message, error.data) from error
        # the SDK takes away what the version of the request does not have
        return {**stateless_fields(method), **found}

    return handle
