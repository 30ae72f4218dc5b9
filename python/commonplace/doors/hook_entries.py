"""Hooks in the settings of a host, which call `commonplace hook HOST`."""

from __future__ import annotations

import shlex
from itertools import dropwhile
from pathlib import Path
from typing import Any

from commonplace.doors import jsonc
from commonplace.doors.hosts.host import Host


def add_hooks(host: Host, text: str, command: list[str]) -> str:
    """Return a settings text with a hook for each event of a host.

    Args:
        host: The host.
        text: JSON, or nothing. Where each event has a hook that runs this command, it stays as it
            is, with another timeout or matcher that somebody gave it; else all of ours are written
            again.
        command: What each of them runs.

    Raises:
        ValueError: The text is broken.
    """
    if _has_hooks(host, text, command):
        return text
    text = drop_hooks(host, text)
    version = host.settings.version
    if version is not None and jsonc.parse(text).member("version") is None:
        text = jsonc.insert(text, ["version"], version)
    for event in host.events:
        group = _group(host, event, command)
        text = jsonc.insert(text, ["hooks", event], group, element=True)
    return text


def _has_hooks(host: Host, text: str, command: list[str]) -> bool:
    """Say whether a text has a hook with this command for each event, and no others of ours."""
    settings = jsonc.parse(text).value
    hooks = settings.get("hooks") if isinstance(settings, dict) else None
    if not isinstance(hooks, dict):
        return False
    line = shlex.join(command)
    ours = [
        (event, found) for event, groups in hooks.items() for found in _our_commands(host, groups)
    ]
    return sorted(ours) == sorted((event, line) for event in host.events)


def drop_hooks(host: Host, text: str) -> str:
    """Return a settings text without our hooks.

    Raises:
        ValueError: The text is broken.
    """
    return jsonc.remove(text, lambda path, value: _is_ours(host, path, value))


def hook_command(
    program: str,
    host: Host,
    root: str | None,
    *,
    in_project: bool,
    min_confidence: float | None = None,
) -> list[str]:
    """Return the command of a hook.

    Args:
        program: How `commonplace` is called: its path, or in a project, which others share, its
            name.
        host: The host that calls it.
        root: A root in place of the default, as an absolute path.
        in_project: The memory is that of the project.
        min_confidence: The least confidence of a hit that is injected, in place of the default.
    """
    before = ["--root", root] if root else []
    least = [] if min_confidence is None else ["--min-confidence", f"{min_confidence:g}"]
    return [program, *before, "hook", host.name, *(["--project"] if in_project else []), *least]


def installed_commands(host: Host, text: str) -> list[str]:
    """Return our command lines in a settings text, each once.

    Raises:
        ValueError: The text is broken.
    """
    return [*dict.fromkeys(_our_commands(host, jsonc.parse(text).value))]


def events_without_hook(host: Host, text: str) -> list[str]:
    """Return the events of a host for which a settings text has no hook of ours.

    Raises:
        ValueError: The text is broken.
    """
    hooks = jsonc.parse(text).value.get("hooks", {})
    return [event for event in host.events if not _our_commands(host, hooks.get(event))]


def _our_commands(host: Host, value: Any) -> list[str]:
    """Return our command lines in a value of JSON."""
    found: list[str] = []
    if isinstance(value, dict):
        if is_our_command(host, value.get("command")):
            found.append(value["command"])
        value = [*value.values()]
    for inner in value if isinstance(value, list) else ():
        found += _our_commands(host, inner)
    return found


def _group(host: Host, event: str, command: list[str]) -> dict[str, Any]:
    line = shlex.join(command)
    if host.settings.version is not None:
        return {"command": line}
    # at its end no host waits for long, and Codex warns of who would
    seconds = 3 if host.events[event] == "session end" else 10
    timeout = seconds * host.settings.second
    return {"hooks": [{"type": "command", "command": line, "timeout": timeout}]}


def _is_ours(host: Host, path: tuple[str | int, ...], value: Any) -> bool:
    """Say whether an item below `hooks` is an entry of ours, or a group of such only."""
    if path[:1] != ("hooks",) or not isinstance(value, dict):
        return False
    inner = value.get("hooks")
    if isinstance(inner, list) and inner:
        return all(_is_ours(host, path, one) for one in inner)
    return is_our_command(host, value.get("command"))


def is_our_command(host: Host, command: Any) -> bool:
    """Say whether a command line calls `commonplace hook` for this host.

    People put variables before it, as `env LANG=C commonplace hook codex`.

    >>> from commonplace.doors.hosts import find_host
    >>> is_our_command(find_host("codex"), "/opt/my tools/commonplace hook codex --project")
    False
    >>> is_our_command(find_host("codex"), "'/opt/my tools/commonplace' hook codex --project")
    True
    """
    if not isinstance(command, str):
        return False
    try:
        words = [*dropwhile(_is_before_program, shlex.split(command))]
    except ValueError:
        return False
    return (
        bool(words)
        and Path(words[0]).name == "commonplace"
        and ["hook", host.name] == [word for word in words[1:] if word in {"hook", host.name}]
    )


def _is_before_program(word: str) -> bool:
    return word == "env" or ("=" in word and word.partition("=")[0].isidentifier())
