"""Check of connected hosts: run each hook and MCP server as its host would, and time the answer."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
from pathlib import Path
from typing import Any

from commonplace.doors.hermes_plugin import FOLDER, NAME, SETTINGS, provider_of
from commonplace.doors.hook_entries import events_without_hook, installed_commands
from commonplace.doors.hosts.host import Host
from commonplace.doors.install import folder, hooks_file, hooks_off, mcp_path, other_server
from commonplace.doors.mcp_entries import installed_server
from commonplace.doors.opencode_plugin import plugin_command
from commonplace.doors.settings_file import read_settings

HOST_TIMEOUT = 10.0
"""Seconds after which a host would have given up."""


class Finding:
    """What was found of one host in one file: `problem` is empty when all is well."""

    in_project = False

    def __init__(
        self, host: Host, place: Path, *, connected: bool, problem: str = "", detail: str = ""
    ) -> None:
        self.host, self.place, self.connected = host, place, connected
        self.problem, self.detail = problem, detail


def check(host: Host, project: Path | None) -> list[Finding]:
    """Return what is to be known of a host in the user's settings, or in those of a project."""
    found = _check(host, project)
    for one in found:
        one.in_project = project is not None
    return found


def _check(host: Host, project: Path | None) -> list[Finding]:
    if host.is_provider:
        return [] if project else [_check_provider(host)]
    found = [_check_hooks(host, project)] if host.events else []
    path = mcp_path(host, folder(host, project), in_project=project is not None)
    try:
        server = installed_server(read_settings(path) or "", host.settings.servers)
    except (ValueError, OSError) as error:
        # the same file may have been looked at for hooks
        if not any(one.place == path for one in found):
            found.append(Finding(host, path, connected=False, problem=str(error)))
        return found
    if server and project and not _is_as_installed(server):
        found.append(Finding(host, path, connected=True, problem=_not_run(server)))
    elif server:
        problem, detail = _check_server(server, project)
        found.append(Finding(host, path, connected=True, problem=problem, detail=detail))
    elif other_server(host, project):
        detail = "another MCP server is called commonplace here; it was not tried"
        found.append(Finding(host, path, connected=False, detail=detail))
    elif not found:
        found.append(Finding(host, path, connected=False, detail="not connected"))
    return found


def _check_hooks(host: Host, project: Path | None) -> Finding:
    file = hooks_file(host, [], project)
    try:
        text = file.text() or ""
        is_plugin = file.path.suffix == ".js"
        commands = (plugin_command if is_plugin else installed_commands)(host, text)
        off = hooks_off(host, project)
    except (ValueError, OSError) as error:
        return Finding(host, file.path, connected=False, problem=str(error))
    if not commands:
        return Finding(host, file.path, connected=False, detail="not connected")
    if len(commands) > 1:
        problem = f"it is connected {len(commands)} times: uninstall it, and install it again"
        return Finding(host, file.path, connected=True, problem=problem)
    if project and not _is_as_installed(commands[0]):
        return Finding(host, file.path, connected=True, problem=_not_run(commands[0]))
    problem, detail = _check_hook(host, commands[0], project)
    problem = off or problem
    if not is_plugin and (left := events_without_hook(host, text)):
        detail += f"; not called at {', '.join(left)}, which `commonplace install` adds"
    return Finding(host, file.path, connected=True, problem=problem, detail=detail)


def _is_as_installed(command: str | list[str]) -> bool:
    """Say whether a command of a project is one that `install --project` writes.

    A project may come from elsewhere: what else stands there may run anything.
    """
    try:
        words = shlex.split(command) if isinstance(command, str) else command
    except ValueError:
        return False
    is_plain = isinstance(command, list) or shlex.join(words) == command
    return is_plain and words[0] == "commonplace"


def _not_run(command: str | list[str]) -> str:
    shown = command if isinstance(command, str) else shlex.join(command)
    return f"not run, for `install --project` does not write it: {shown!r:.200}"


def _check_hook(host: Host, command: str, project: Path | None) -> tuple[str, str]:
    """Run a hook for a session that starts; return what is wrong, or how it went."""
    starts = next(name for name, kind in host.events.items() if kind == "session start")
    payload = {
        "session_id": "doctor",
        "conversation_id": "doctor",
        "cwd": str(project or Path.cwd()),
        "hook_event_name": starts,
        "source": "clear",
    }
    problem, out, milliseconds = _run(command, [payload], project)
    if not problem and out:
        problem = "" if isinstance(_parsed(out), dict) else "the answer is no JSON object"
    return problem, f"answers in {milliseconds} ms: {command}"


def _check_server(command: list[str], project: Path | None) -> tuple[str, str]:
    """Ask an MCP server for its tools; return what is wrong, or how it went."""
    client = {"name": "commonplace-doctor", "version": "1"}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    requests: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    problem, out, milliseconds = _run(command, requests, project)
    answers = [answer for line in out.splitlines() if isinstance(answer := _parsed(line), dict)]
    tools = next((one["result"]["tools"] for one in answers if _lists_tools(one)), None)
    if tools is None:
        return problem or "it does not list its tools", ""
    names = ", ".join(str(tool.get("name")) for tool in tools)
    return "", f"answers in {milliseconds} ms: {len(tools)} tools ({names})"


def _check_provider(host: Host) -> Finding:
    """Ask Hermes whether it can use the plugin, which it loads in its own environment."""
    own = folder(host, None)
    place = own / SETTINGS
    try:
        chosen = provider_of(read_settings(place) or "")
    except (ValueError, OSError) as error:
        return Finding(host, place, connected=False, problem=str(error))
    if chosen != NAME:
        is_left = read_settings(own / FOLDER / "plugin.yaml") is not None
        detail = f"not connected: memory.provider is {chosen!r}" if is_left else "not connected"
        return Finding(host, place, connected=False, detail=detail)
    problem, out, milliseconds = _run(["hermes", "memory", "status"], [], None)
    detail = f"Hermes has it as its memory, and says so in {milliseconds} ms"
    if b"available \xe2\x9c\x93" in out:
        problem = ""
    elif out:
        problem = "Hermes cannot use the plugin: pip install commonplace in its environment"
    else:
        problem = f"`hermes memory status`: {problem or 'it says nothing'}"
    return Finding(host, place, connected=True, problem=problem, detail=detail)


def _lists_tools(answer: dict[str, Any]) -> bool:
    result = answer.get("result")
    return isinstance(result, dict) and isinstance(result.get("tools"), list)


def _run(
    command: str | list[str], lines: list[dict[str, Any]], project: Path | None
) -> tuple[str, bytes, int]:
    """Run a command with JSON lines on stdin; return what is wrong, its output, milliseconds."""
    before = time.monotonic()
    try:
        done = subprocess.run(  # noqa: S603 - it stands in the settings of the user
            command,
            # hosts run a line by a shell, too
            shell=isinstance(command, str),
            input="".join(f"{json.dumps(line)}\n" for line in lines).encode(),
            capture_output=True,
            timeout=HOST_TIMEOUT,
            check=False,
            cwd=project,
            # a host that a desktop has started knows little of the shell of its user
            env={name: os.environ[name] for name in _KNOWN if name in os.environ},
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {HOST_TIMEOUT:g} s", b"", int(HOST_TIMEOUT * 1000)
    except OSError as error:
        return f"it does not start: {error.strerror}", b"", 0
    milliseconds = int((time.monotonic() - before) * 1000)
    said = done.stderr.decode(errors="replace").strip()
    is_wrong = done.returncode or said
    problem = f"exit code {done.returncode}: {said or 'it says nothing'}" if is_wrong else ""
    return problem, done.stdout, milliseconds


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


_KNOWN = ("HOME", "PATH", "LANG", "LC_ALL", "COMMONPLACE_ROOT", "HERMES_HOME")
