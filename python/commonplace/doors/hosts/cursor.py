"""Hooks of Cursor: capture of prompts and answers, injection at session start only.

Source: cursor.com/docs/hooks. `beforeSubmitPrompt` takes no text for the model.
"""

from __future__ import annotations

from commonplace.doors.hosts.host import HookEvent, Host, Settings, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# who says what an event has, and in which field
_SAID = {"beforeSubmitPrompt": ("user", "prompt"), "afterAgentResponse": ("assistant", "text")}


class Cursor(Host):
    """Cursor."""

    def event(self, payload: dict[str, Any]) -> HookEvent | None:
        """Return the event of a payload.

        Raises:
            ValueError: The payload lacks what every event has.
        """
        name = text_of(payload, "hook_event_name")
        if name not in self.events:
            return None
        folders = payload.get("workspace_roots")
        cwd = folders[0] if isinstance(folders, list) and folders else ""
        event = HookEvent(self.events[name], text_of(payload, "conversation_id"), str(cwd))
        if name in _SAID:
            role, field = _SAID[name]
            text = text_of(payload, field).encode(errors="replace").decode()
            event.said = (role, text) if text.strip() else None
        return event

    def answer(self, payload: dict[str, Any], context: str) -> dict[str, Any]:
        """Return the JSON of an answer, which each event has."""
        if payload["hook_event_name"] == "beforeSubmitPrompt":
            return {"continue": True}
        return {"additional_context": context} if context else {}


HOST = Cursor(
    "cursor",
    "Cursor",
    {
        "sessionStart": "session start",
        "beforeSubmitPrompt": "message",
        "afterAgentResponse": "message",
    },
    injects=("sessionStart",),
    limit=10_000,
    settings=Settings(".cursor", "", "hooks.json", ("mcp.json", "mcp.json"), version=1),
)
