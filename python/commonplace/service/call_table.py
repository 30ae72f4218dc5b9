"""Table of the calls: name, request, scope, function; and its description as OpenAPI."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from commonplace._core import __version__
from commonplace.errors import InvalidArgument
from commonplace.service import calls, writes
from commonplace.service import requests as ask
from commonplace.service.calls import Answer, Caller, Service
from commonplace.service.tokens import Scope


@dataclass(frozen=True)
class Call:
    """One call: its name, what it takes, the scope it needs, and what makes it."""

    name: str
    request: type[ask.Request]
    scope: Scope
    function: Callable[[Service, Caller, Any], Answer]
    answer: str

    @property
    def summary(self) -> str:
        """What it does, in a line."""
        return (self.request.__doc__ or "").strip()

    def run(self, service: Service, caller: Caller, body: bytes) -> Answer:
        """Make the call.

        Raises:
            Forbidden: The token lacks the scope.
            InvalidArgument: The request is not of this form.
        """
        caller.grant.needs(self.scope)
        try:
            request = msgspec.json.decode(body or b"{}", type=self.request)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidArgument(f"{self.name}: {error}") from None
        return self.function(service, caller, request)


APPENDED = "path version previous redacted fresh"
CALLS = {
    call.name: call
    for call in (
        Call("search", ask.SearchRequest, "read", calls.search, "hits freshness confidence notes"),
        Call("grep", ask.GrepRequest, "read", calls.grep, "matches more"),
        Call("list", ask.ListRequest, "read", calls.list_files, "files more"),
        Call("read", ask.ReadRequest, "read", calls.read, "path text version"),
        Call("history", ask.HistoryRequest, "read", calls.history, "versions"),
        Call("messages", ask.MessagesRequest, "read", calls.messages, "messages next"),
        Call("sessions", ask.SessionsRequest, "read", calls.sessions, "sessions"),
        Call("status", ask.StatusRequest, "read", calls.status, "notes transcripts bytes"),
        Call("write", ask.WriteRequest, "write", writes.write, "path version previous fresh"),
        Call("append", ask.AppendRequest, "write", writes.append, APPENDED),
        Call("patch", ask.PatchRequest, "write", writes.patch, "path version previous fresh"),
        Call("move", ask.MoveRequest, "write", writes.move, "path version previous fresh"),
        Call("delete", ask.DeleteRequest, "write", writes.delete, "path version previous fresh"),
        Call("log", ask.LogRequest, "write", writes.log, "path redacted fresh"),
        Call("forget", ask.ForgetRequest, "forget", writes.forget, "passages token erased"),
    )
}
STATUSES = {
    "400": "The request is wrong; the message says why.",
    "401": "No token, or one that is unknown, revoked or expired.",
    "403": "The token lacks the scope.",
    "404": "No such file, message or version.",
    "409": "The file is not the version that was expected, or the call runs elsewhere.",
    "413": "The request is too large.",
    "429": "Too many calls; `Retry-After` says when to try again.",
    "503": "The search engine does not answer; nothing is lost.",
}


def openapi() -> dict[str, Any]:
    """Return the description of the HTTP API as OpenAPI 3.1."""
    schemas, components = msgspec.json.schema_components(
        [call.request for call in CALLS.values()], ref_template="#/components/schemas/{name}"
    )
    error = {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "message"],
                "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
            }
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "commonplace",
            "version": __version__,
            "description": "Memory of many tenants. The token says whose memory a call is about.",
        },
        "security": [{"token": []}],
        "paths": {
            f"/v1/{call.name}": {"post": _operation(call, schema)}
            for call, schema in zip(CALLS.values(), schemas, strict=True)
        },
        "components": {
            "schemas": {**components, "Error": error},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(call: Call, schema: dict[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {name: {} for name in call.answer.split()}
    refused = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    operation: dict[str, Any] = {
        "operationId": call.name,
        "summary": call.summary.partition("\n")[0],
        "description": f"Needs the scope `{call.scope}`.",
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        "responses": {
            "200": {
                "description": "Done.",
                "content": {
                    "application/json": {"schema": {"type": "object", "properties": fields}}
                },
            },
            **{
                status: {"description": told, "content": refused}
                for status, told in STATUSES.items()
            },
        },
    }
    if call.scope == "write":
        operation["parameters"] = [
            {
                "name": "Idempotency-Key",
                "in": "header",
                "description": "A call that is repeated with the same key is done once.",
                "schema": {"type": "string", "maxLength": 200},
            }
        ]
    return operation
