"""Settings of Hermes Agent, which has the memory as a plugin of its own kind."""

from __future__ import annotations

import sys

from commonplace.doors.hosts.host import Host, Settings

HOST = Host(
    "hermes",
    "Hermes Agent",
    {},
    injects=(),
    limit=0,
    settings=Settings(
        "AppData/Local/hermes" if sys.platform == "win32" else ".hermes",
        "HERMES_HOME",
        "",
        ("", ""),
        advice="Hermes needs commonplace in its own environment: pip install commonplace there.",
    ),
)
