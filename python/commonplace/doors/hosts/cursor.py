"""Settings of Cursor, which gets the MCP server and the skill."""

from __future__ import annotations

from commonplace.doors.hosts.host import Host, Settings

HOST = Host(
    "cursor",
    "Cursor",
    {},
    injects=(),
    limit=0,
    settings=Settings(".cursor", "", "", ("mcp.json", "mcp.json")),
)
