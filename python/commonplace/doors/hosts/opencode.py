"""Hooks of opencode, whose plugin gives them payloads with the names of Claude Code."""

from __future__ import annotations

from commonplace.doors.hosts.host import Host, Settings

HOST = Host(
    "opencode",
    "opencode",
    {
        "SessionStart": "session start",
        "UserPromptSubmit": "prompt",
        "PostCompact": "compaction",
        "Stop": "stop",
    },
    injects=("SessionStart", "UserPromptSubmit"),
    limit=10_000,
    settings=Settings(
        ".config/opencode",
        "OPENCODE_CONFIG_DIR",
        "plugins/commonplace.js",
        ("opencode.json", "../opencode.json"),
        servers="mcp",
        project_folder=".opencode",
    ),
    mixes_projects=True,
)
