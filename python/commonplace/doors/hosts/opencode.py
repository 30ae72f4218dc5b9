"""Settings of opencode, which gets the MCP server and the skill."""

from __future__ import annotations

from commonplace.doors.hosts.host import Host, Settings

HOST = Host(
    "opencode",
    "opencode",
    {},
    injects=(),
    limit=0,
    settings=Settings(
        ".config/opencode",
        "OPENCODE_CONFIG_DIR",
        "",
        ("opencode.json", "../opencode.json"),
        servers="mcp",
        project_folder=".opencode",
    ),
)
