"""Hooks of Gemini CLI, which has names of its own for events and counts in milliseconds."""

from __future__ import annotations

import re

from commonplace.doors.hosts.host import HookEvent, HookSwitch, Host, Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# what hooks have put before the prompt, which it hands to the next one
_INJECTED = re.compile(r"<hook_context>.*?</hook_context>", re.DOTALL)


class Gemini(Host):
    """Gemini CLI."""

    def event(self, payload: dict[str, Any]) -> HookEvent | None:
        """Return the event of a payload, with what a person wrote as its prompt."""
        event = super().event(payload)
        if event is not None:
            event.prompt = _INJECTED.sub(" ", event.prompt)
        return event


HOST = Gemini(
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
        ".gemini",
        "",
        "settings.json",
        ("settings.json", "settings.json"),
        second=1000,
        hook_switch=HookSwitch("settings.json", {"hooksConfig.enabled": False}),
    ),
)
