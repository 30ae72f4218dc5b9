"""Hooks of Claude Code."""

from __future__ import annotations

from commonplace.doors.hosts.host import HookEvent, HookSwitch, Host, Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ClaudeCode(Host):
    """Claude Code."""

    def event(self, payload: dict[str, Any]) -> HookEvent | None:
        """Return the event of a payload; None for one of Cursor, which can run these hooks too.

        Its transcripts are others, and it has hooks of its own.
        """
        return None if "cursor_version" in payload else super().event(payload)


HOST = ClaudeCode(
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
        hook_switch=HookSwitch("settings.json", {"disableAllHooks": True}, "settings.local.json"),
    ),
)
