"""Plugin file of opencode, which calls `commonplace hook opencode`."""

from __future__ import annotations

import json
import re
import shlex
from importlib import resources

from commonplace.doors.hook_entries import is_our_command
from commonplace.doors.hosts.host import Host

_COMMAND = re.compile(r"^const COMMAND = (\[.*\])$", re.MULTILINE)


def plugin_text(command: list[str]) -> str:
    """Return the plugin.

    Args:
        command: What it runs for each event.
    """
    text = resources.files("commonplace.doors").joinpath("opencode_plugin.js").read_text("utf-8")
    # a string of JSON is one of JavaScript
    return _COMMAND.sub(lambda _: f"const COMMAND = {json.dumps(command)}", text, count=1)


def plugin_command(host: Host, text: str) -> list[str]:
    """Return the command line of a plugin, as a list of one; none where it has no such line."""
    found = _COMMAND.search(text)
    try:
        words = json.loads(found[1]) if found else []
    except ValueError:
        words = []
    line = shlex.join(word for word in words if isinstance(word, str))
    return [line] if is_our_command(host, line) else []
