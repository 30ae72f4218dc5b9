"""Settings of Visual Studio Code, which gets the MCP server and the skill."""

from __future__ import annotations

import sys

from commonplace.doors.hosts.host import Host, Settings

# the folder of a user who has no further profiles
_USER = {
    "darwin": "Library/Application Support/Code/User",
    "win32": "AppData/Roaming/Code/User",
}

HOST = Host(
    "vscode",
    "VS Code",
    {},
    injects=(),
    limit=0,
    settings=Settings(
        _USER.get(sys.platform, ".config/Code/User"),
        "",
        "",
        ("mcp.json", "mcp.json"),
        servers="servers",
        project_folder=".vscode",
        skills=(".copilot/skills", ".github/skills"),
    ),
)
