"""MCP over stdio: JSON-RPC messages, one a line, in both eras of the protocol.

The official SDK takes 1.5 s to import, and a host waits for the list of tools. This loop starts in
a tenth of that; over HTTP, where one server runs for long, the SDK does the same work (`http`).
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from commonplace.doors.mcp.methods import (
    INSTRUCTIONS,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Methods,
    RpcError,
    log,
    stateless_fields,
)

if TYPE_CHECKING:
    from typing import BinaryIO

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Versions that begin with `initialize`, oldest first."""
STATELESS_VERSIONS = ("2026-07-28",)
"""Versions whose requests each carry what the handshake told."""
LONGEST_LINE = 16 << 20
PARSE_ERROR, INVALID_REQUEST, UNSUPPORTED_VERSION = -32700, -32600, -32022
_META = "io.modelcontextprotocol/"


def serve(methods: Methods) -> None:
    """Answer requests of standard input on standard output until its end."""
    # what anything prints must not get between the answers; when the host has gone, SIGPIPE ends us
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        run(methods, sys.stdin.buffer, answers)
    finally:
        methods.close()


def run(methods: Methods, requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer the messages of one stream on another, line by line."""
    reply: dict[str, Any] | None
    while line := requests.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            while not line.endswith(b"\n") and (line := requests.readline(LONGEST_LINE)):
                pass
            reply = _error(None, RpcError(PARSE_ERROR, f"a line has at most {LONGEST_LINE} bytes"))
        elif not line.strip():
            continue
        else:
            reply = reply_to(methods, line)
        if reply is not None:
            answers.write(json.dumps(reply, separators=(",", ":")).encode() + b"\n")
            answers.flush()


def reply_to(methods: Methods, line: bytes) -> dict[str, Any] | None:
    """Return the reply to a message; None to what wants none."""
    number = None
    try:
        message = _message(line)
        if "id" not in message or "method" not in message:
            # a notification, or a reply to a request that we never make
            return None
        number, method, params = _request(message)
        return {"jsonrpc": "2.0", "id": number, "result": _result(methods, method, params)}
    except RpcError as error:
        return _error(number, error)
    except Exception as error:  # noqa: BLE001 - a request that fails must not end the server
        log.exception("a request failed")
        told = f"{type(error).__name__}: {error!s:.500}"
        return _error(number, RpcError(INTERNAL_ERROR, told))


def _message(line: bytes) -> dict[str, Any]:
    """Return the message on a line."""
    try:
        message = json.loads(line, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise RpcError(PARSE_ERROR, f"the message is no JSON: {error!s:.200}") from None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, "a message is one object with `jsonrpc` 2.0")
    return message


def _request(message: dict[str, Any]) -> tuple[str | int, str, dict[str, Any]]:
    """Return id, method and parameters of a request."""
    number, method, params = message["id"], message["method"], message.get("params", {})
    if not isinstance(number, str | int) or isinstance(number, bool):
        raise RpcError(INVALID_REQUEST, "`id` is text or a whole number")
    if not isinstance(method, str) or not isinstance(params, dict):
        raise RpcError(INVALID_REQUEST, "`method` is text, and `params` an object")
    return number, method, params


def _result(methods: Methods, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a request in the era that it belongs to."""
    meta = params.get("_meta")
    if isinstance(meta, dict) and f"{_META}protocolVersion" in meta:
        return _stateless_result(methods, method, params, meta)
    if method == "initialize":
        wanted = params.get("protocolVersion")
        return {
            "protocolVersion": wanted if wanted in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1],
            "capabilities": methods.capabilities,
            "serverInfo": methods.info,
            "instructions": INSTRUCTIONS,
        }
    if method == "ping":
        return {}
    return methods.answer(method, params)


def _stateless_result(
    methods: Methods, method: str, params: dict[str, Any], meta: dict[str, Any]
) -> dict[str, Any]:
    """Return the result of a request that carries its version and capabilities."""
    version = meta[f"{_META}protocolVersion"]
    if not isinstance(version, str) or f"{_META}clientCapabilities" not in meta:
        told = f"params._meta needs {_META}protocolVersion (text) and {_META}clientCapabilities"
        raise RpcError(INVALID_PARAMS, told)
    if version not in STATELESS_VERSIONS or method == "initialize":
        versions = {"supported": [*STATELESS_VERSIONS], "requested": version}
        raise RpcError(UNSUPPORTED_VERSION, "Unsupported protocol version", versions)
    if method == "ping":
        raise RpcError(METHOD_NOT_FOUND, "this version of the protocol has no ping")
    if method == "server/discover":
        found = {
            "supportedVersions": [*STATELESS_VERSIONS],
            "capabilities": methods.capabilities,
            "instructions": INSTRUCTIONS,
        }
    else:
        found = methods.answer(method, params)
    own = {f"{_META}serverInfo": methods.info}
    return {**stateless_fields(method), **found, "_meta": own}


def _error(number: Any, error: RpcError) -> dict[str, Any]:
    """Return the reply that tells an error."""
    told: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        told["data"] = error.data
    return {"jsonrpc": "2.0", "id": number, "error": told}


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")
