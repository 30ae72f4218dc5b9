"""Hooks of Codex CLI, which rejects an answer with a key that it does not know."""

from __future__ import annotations

from commonplace.doors.hosts.host import HookSwitch, Host, Settings

HOST = Host(
    "codex",
    "Codex CLI",
    {
        "SessionStart": "session start",
        "UserPromptSubmit": "prompt",
        "PreCompact": "compaction",
        "PostCompact": "compaction",
        "Stop": "stop",
        "SessionEnd": "session end",
    },
    injects=("SessionStart", "UserPromptSubmit"),
    limit=10_000,
    settings=Settings(
        ".codex",
        "CODEX_HOME",
        "hooks.json",
        ("config.toml", "config.toml"),
        second=1,
        servers="mcp_servers",
        # the second is its older name
        hook_switch=HookSwitch(
            "config.toml", {"features.hooks": False, "features.codex_hooks": False}
        ),
        advice="Codex runs new hooks when you have trusted them: type /hooks there, once.",
    ),
    mixes_projects=True,
)
