"""MCP server in the settings of a host, which runs `commonplace mcp`: JSON, or TOML for Codex."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from commonplace.doors import jsonc

NAME = "commonplace"
# the blank line before our table, its header, and the keys below it
_TABLE = re.compile(
    rf"(?:(?<=\n)\r?\n)?^\[mcp_servers\.{NAME}\][^\n]*\n(?:[\w-]+[ \t]*=[^\n]*(?:\n|\Z))*",
    re.MULTILINE,
)


def add_server(text: str, command: list[str], *, is_toml: bool) -> str:
    """Return a settings text with our server, or as it is where another one has its name.

    Args:
        text: JSON or TOML without our server, or nothing.
        command: The program and its arguments.
        is_toml: It is TOML.

    Raises:
        ValueError: The text is broken.
    """
    entry = {"command": command[0], "args": command[1:]}
    if is_toml:
        return _add_table(text, entry)
    servers = jsonc.parse(text).member("mcpServers")
    if servers and servers.member(NAME):
        return text
    return jsonc.insert(text, ["mcpServers", NAME], entry)


def drop_server(text: str, *, is_toml: bool) -> str:
    """Return a settings text without our server.

    Raises:
        ValueError: The text is broken.
    """
    if is_toml:
        return _drop_table(text)
    return jsonc.remove(text, lambda path, value: path == ("mcpServers", NAME) and _is_ours(value))


def installed_server(text: str, *, is_toml: bool) -> list[str] | None:
    """Return the command of our server in a settings text; None where it is not named.

    Raises:
        ValueError: The text is broken.
    """
    settings = _loaded(text) if is_toml else jsonc.parse(text).value
    if not isinstance(settings, dict):
        return None
    servers = settings.get("mcp_servers" if is_toml else "mcpServers")
    entry = servers.get(NAME) if isinstance(servers, dict) else None
    if not isinstance(entry, dict) or not _is_ours(entry):
        return None
    return [entry["command"], *map(str, entry["args"])]


def _is_ours(entry: Any) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("args"), list):
        return False
    command = entry.get("command")
    if not isinstance(command, str):
        return False
    return Path(command).name == "commonplace" and "mcp" in entry["args"]


def _add_table(text: str, entry: dict[str, Any]) -> str:
    expected = _loaded(text)
    servers = expected.setdefault("mcp_servers", {})
    if not isinstance(servers, dict) or NAME in servers:
        return text
    servers[NAME] = entry
    newline = "\r\n" if "\r\n" in text else "\n"
    # a string of JSON is one of TOML
    lines = [f"{key} = {json.dumps(value)}" for key, value in entry.items()]
    table = newline.join([f"[mcp_servers.{NAME}]", *lines, ""])
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    return _proved(text + gap + table, expected)


def _drop_table(text: str) -> str:
    expected = _loaded(text)
    servers = expected.get("mcp_servers")
    if not isinstance(servers, dict) or not _is_ours(servers.get(NAME)):
        return text
    del servers[NAME]
    if not servers:
        del expected["mcp_servers"]
    return _proved(_TABLE.sub("", text), expected)


def _loaded(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        lines = text.split("\n")
        end = f"at line {len(lines)}, column {len(lines[-1]) + 1}"
        raise ValueError(str(error).replace("at end of document", end)) from None


def _proved(new: str, expected: dict[str, Any]) -> str:
    try:
        found = tomllib.loads(new)
    except ValueError:
        found = {}
    if found != expected:
        raise ValueError(f"mcp_servers.{NAME} cannot be edited by a program; edit it by hand")
    return new
