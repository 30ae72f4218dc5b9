"""Hooks of Claude Code."""

from __future__ import annotations

from commonplace.doors.hosts.host import Host, Settings

HOST = Host(
    "claude-code",
    "Claude Code",
    {
        "SessionStart": "session start",
        "UserPromptSubmit": "prompt",
        "PreCompact": "compaction",
        "PostCompact": "compaction",
        "Stop": "stop",
        "SessionEnd": "session end",
    },
    injects=("SessionStart", "UserPromptSubmit"),
    # beyond it the text goes to a file, and the model sees its name only
    limit=10_000,
    settings=Settings(
        ".claude",
        "CLAUDE_CONFIG_DIR",
        "settings.json",
        ("../.claude.json", "../.mcp.json"),
        second=1,
    ),
)
