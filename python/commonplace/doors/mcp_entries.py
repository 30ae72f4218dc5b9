"""MCP server in the settings of a host, which runs `commonplace mcp`: JSON, or TOML for Codex."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from commonplace.doors import jsonc

NAME = "commonplace"
# Keys of hosts that write a server in a way of their own
IN_TOML, IN_OPENCODE, IN_VSCODE = "mcp_servers", "mcp", "servers"
# what is below the header of a table, up to the last line that is a key or belongs to one
_BODY = r"(?:(?:[ \t]*(?:#[^\n]*)?\r?\n)*(?![ \t]*[\[#\r\n])[^\n]+(?:\n|\Z))*"
_TABLE = re.compile(rf"^\[mcp_servers\.{NAME}\][^\n]*\n{_BODY}", re.MULTILINE)
# with the blank line before it, and the tables below it: Codex notes there what it may call unasked
_TABLES = re.compile(
    rf"(?:(?<=\n)\r?\n)?^\[mcp_servers\.{NAME}(?:\.[^\]\n]+)?\][^\n]*\n{_BODY}", re.MULTILINE
)
_SERVERS = re.compile(r"""^[\ufeff \t\["']*(mcp_servers)\b""", re.MULTILINE)
# our keys of it; a list may have several lines
_KEYS = re.compile(r"^(?:command|args)[ \t]*=[ \t]*(?:\[[^\]]*\])?[^\n]*(?:\n|\Z)", re.MULTILINE)


def add_server(text: str, command: list[str], key: str) -> str:
    """Return a settings text with our server, or as it is where another one has its name.

    Args:
        text: JSON or TOML, or nothing. Of a server of ours that is there only the command is
            changed: a person or the host may have added what it may do.
        command: The program and its arguments.
        key: Under which the host names servers; `mcp_servers` is that of TOML.

    Raises:
        ValueError: The text is broken.
    """
    entry: dict[str, Any] = {"command": command[0], "args": command[1:]}
    if key == IN_TOML:
        return _add_table(text, entry)
    if key == IN_OPENCODE:
        entry = {"type": "local", "command": command, "enabled": True}
    if key == IN_VSCODE:
        entry = {"type": "stdio"} | entry
    servers = jsonc.parse(text).member(key)
    if old := servers.member(NAME) if servers else None:
        if not _is_ours(old.value) or _command(old.value) == command:
            return text
        ours = {name: entry[name] for name in ("command", "args") if name in entry}
        entry |= old.value | ours
        text = drop_server(text, key)
    return jsonc.insert(text, [key, NAME], entry)


def drop_server(text: str, key: str) -> str:
    """Return a settings text without our server.

    Raises:
        ValueError: The text is broken.
    """
    if key == IN_TOML:
        return _drop_table(text)
    return jsonc.remove(text, lambda path, value: path == (key, NAME) and _is_ours(value))


def installed_server(text: str, key: str) -> list[str] | None:
    """Return the command of our server in a settings text; None where it is not named.

    Raises:
        ValueError: The text is broken.
    """
    settings = load_toml(text) if key == IN_TOML else jsonc.parse(text).value
    if not isinstance(settings, dict):
        return None
    servers = settings.get(key)
    entry = servers.get(NAME) if isinstance(servers, dict) else None
    return _command(entry) if _is_ours(entry) else None


def has_other_server(text: str, key: str) -> bool:
    """Say whether somebody else's server has our name in a settings text.

    Raises:
        ValueError: The text is broken.
    """
    settings = load_toml(text) if key == IN_TOML else jsonc.parse(text).value
    servers = settings.get(key) if isinstance(settings, dict) else None
    return isinstance(servers, dict) and NAME in servers and not _is_ours(servers[NAME])


def load_toml(text: str) -> dict[str, Any]:
    """Return what a text of TOML holds.

    Raises:
        ValueError: It is broken; the message has line and column.
    """
    try:
        # Windows programs begin a file with the mark of UTF-8, which Codex reads over
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        lines = text.split("\n")
        end = f"at line {len(lines)}, column {len(lines[-1]) + 1}"
        raise ValueError(str(error).replace("at end of document", end)) from None


def _is_ours(entry: Any) -> bool:
    program, *arguments = _command(entry) or [""]
    return Path(program).name == "commonplace" and "mcp" in arguments


def _command(entry: Any) -> list[str]:
    """Return the program and the arguments of a server; nothing where it has none."""
    if not isinstance(entry, dict):
        return []
    command, arguments = entry.get("command"), entry.get("args")
    words = command if isinstance(command, list) else [command, *(arguments or [None])]
    return words if all(isinstance(word, str) for word in words) else []


def _add_table(text: str, entry: dict[str, Any]) -> str:
    expected = load_toml(text)
    servers = expected.setdefault("mcp_servers", {})
    if not isinstance(servers, dict):
        raise jsonc.Invalid(text, _servers_at(text), "mcp_servers is no table of servers")
    newline = "\r\n" if "\r\n" in text else "\n"
    # a string of JSON is one of TOML
    lines = [f"{key} = {json.dumps(value)}" for key, value in entry.items()]
    by_hand = f"put into it {NAME} = {{ {', '.join(lines)} }}"
    table = newline.join([f"[mcp_servers.{NAME}]", *lines, ""])
    if NAME in servers:
        old = servers[NAME]
        if not _is_ours(old) or _command(old) == _command(entry):
            return text
        servers[NAME] = old | entry
        new = _TABLE.sub(lambda found: table + _other_keys(found[0]), text)
        return _proved(text, new, expected, by_hand)
    servers[NAME] = entry
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    return _proved(text, text + gap + table, expected, by_hand)


def _other_keys(table: str) -> str:
    """Return what stands below the header of our table besides our keys."""
    return _KEYS.sub("", table.partition("\n")[2])


def _drop_table(text: str) -> str:
    expected = load_toml(text)
    servers = expected.get("mcp_servers")
    if not isinstance(servers, dict) or not _is_ours(servers.get(NAME)):
        return text
    del servers[NAME]
    if not servers:
        del expected["mcp_servers"]
    return _proved(text, _TABLES.sub("", text), expected, f"take {NAME} out of it")


def _proved(text: str, new: str, expected: dict[str, Any], by_hand: str) -> str:
    """Return the new text, if it says what was meant: an inline table takes no other."""
    try:
        found = load_toml(new)
    except ValueError:
        found = {}
    if found != expected:
        told = f"mcp_servers cannot be edited by a program here; edit it by hand: {by_hand}"
        raise jsonc.Invalid(text, _servers_at(text), told)
    return new


def _servers_at(text: str) -> int:
    """Return where a text of TOML first names servers."""
    found = _SERVERS.search(text)
    return found.start(1) if found else 0
