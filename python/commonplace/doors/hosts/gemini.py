"""Hooks of Gemini CLI, which has names of its own for events and counts in milliseconds."""

from __future__ import annotations

from commonplace.doors.hosts.host import Host, Settings

HOST = Host(
    "gemini",
    "Gemini CLI",
    {
        "SessionStart": "session start",
        "BeforeAgent": "prompt",
        "PreCompress": "compaction",
        "AfterAgent": "stop",
        "SessionEnd": "session end",
    },
    injects=("SessionStart", "BeforeAgent"),
    limit=10_000,
    settings=Settings(
        ".gemini", "", "settings.json", ("settings.json", "settings.json"), second=1000
    ),
)
