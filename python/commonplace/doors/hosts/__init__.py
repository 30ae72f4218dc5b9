"""Agent programs that can be connected, by name; a host is loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from commonplace.doors.hosts.host import Host

NAMES = ("claude-code", "codex", "gemini", "opencode", "cursor", "vscode", "hermes")


def find_host(name: str) -> Host:
    """Return the host of this name.

    Raises:
        ValueError: There is no such host.

    >>> find_host("claude-code").title
    'Claude Code'
    """
    if name not in NAMES:
        raise ValueError(f"there is no host {name!r:.40}; hosts are {', '.join(NAMES)}")
    module = import_module(f"commonplace.doors.hosts.{name.replace('-', '_')}")
    host: Host = module.HOST
    return host
