"""MCP over HTTP for many tenants: the tools of the memory that the token of a request opens."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import msgspec

from commonplace.doors.mcp.http import streamable
from commonplace.doors.mcp.methods import Methods, Params, RpcError
from commonplace.doors.mcp.tools import NOTES
from commonplace.errors import CommonplaceError
from commonplace.service.answers import ROOT
from commonplace.service.calls import Service
from commonplace.service.opensearch import EngineUnavailable
from commonplace.service.tokens import Grant, Scope
from commonplace.store import Store
from commonplace.tools import Tool, Toolset

if TYPE_CHECKING:
    from starlette.applications import Starlette

GRANT: ContextVar[Grant] = ContextVar("GRANT")
"""What the token of the request that runs allows."""


class GrantedMethods(Methods):
    """Methods on the memory of one tenant, with the tools for which there is a scope.

    Args:
        service: Where the stores are.
        grant: What the token allows.
        store: Of its tenant.
    """

    def __init__(self, service: Service, grant: Grant, store: Store) -> None:
        super().__init__(lambda: store)
        self._service, self._grant, self._own = service, grant, store

    @property
    def tools(self) -> Toolset:
        """The tools that the token allows."""
        return Toolset(tuple(one for one in super().tools if _scope(one) in self._grant.scopes))

    def answer(self, method: str, params: Params) -> dict[str, Any]:
        """Return the result of a request; nothing in it says where the folder is.

        Raises:
            RpcError: The method is unknown, or its parameters are wrong.
        """
        root = str(self._own.root)
        try:
            found = msgspec.json.encode(super().answer(method, params))
        except RpcError as error:
            raise RpcError(error.code, error.message.replace(root, ROOT), error.data) from None
        return dict(msgspec.json.decode(found.replace(root.encode(), ROOT.encode())))

    def _call_tool(self, params: Params) -> dict[str, Any]:
        name = params.get("name")
        effects = {tool.name: tool for tool in self.tools}
        if not isinstance(name, str) or name not in effects or effects[name].read_only:
            return super()._call_tool(params)
        tenant, path = self._grant.key, self._changed(name, params)
        with self._service.changing(tenant, path):
            answer = super()._call_tool(params)
        # MCP has no freshness tokens: what a model has remembered it finds with its next search
        with suppress(EngineUnavailable):
            self._service.sees(tenant, [path] if path else [])
        return answer

    def _changed(self, name: str, params: Params) -> str | None:
        """Return the file that a tool changes, or None for any."""
        arguments = params.get("arguments")
        path = arguments.get("path", NOTES) if isinstance(arguments, Mapping) else None
        if name != "remember" or not isinstance(path, str):
            return None
        try:
            return self._own.spelled(path)
        except CommonplaceError:
            return None


def mcp_app(service: Service) -> Starlette:
    """Return the MCP server as an ASGI application; `GRANT` says for whom it answers."""

    def answer(method: str, params: Params) -> dict[str, Any]:
        grant = GRANT.get()
        grant.needs("read")
        with ExitStack() as held:
            store = held.enter_context(service.stores.of(grant.key))
            return GrantedMethods(service, grant, store).answer(method, params)

    return streamable(Methods(_no_store), answer)


def _no_store() -> Store:
    raise AssertionError("it only names the methods that there are")


def _scope(tool: Tool) -> Scope:
    """Return the scope that a tool needs."""
    if tool.name == "forget":
        return "forget"
    return "read" if tool.read_only else "write"
