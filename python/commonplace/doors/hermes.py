"""Memory provider of Hermes Agent: each turn in a transcript, what fits before each call.

Hermes runs in an environment of its own, and its `MemoryProvider` is no module of a library: the
plugin that `commonplace plugin hermes` writes brings the two together.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from commonplace.doors.encoded_names import encode
from commonplace.doors.hook import PROMPT_BUDGET, memory_root
from commonplace.doors.injection_candidates import MIN_CONFIDENCE, recalled_text
from commonplace.doors.mcp.tools import MemoryTools, memory_toolset
from commonplace.errors import CommonplaceError
from commonplace.store import open as open_store

if TYPE_CHECKING:
    from commonplace.store import Store

FOLDER = "sessions/hermes"
# Hermes has tools of its own, called as ours are
_PREFIX = "memory_"


class HermesMemory:
    """The methods of a `MemoryProvider` of Hermes.

    Turns lie in `sessions/hermes/<session>/messages.jsonl`, those of subagents and of scheduled
    runs nowhere.

    Args:
        root: Of the memory; what a bare command means at home, if none is given.
        min_confidence: The least confidence of a hit that is put before a prompt.
    """

    def __init__(self, root: str | None = None, *, min_confidence: float = MIN_CONFIDENCE) -> None:
        self._root, self._min_confidence = root, min_confidence
        self._tools = MemoryTools(self._open)
        self._toolset = memory_toolset(self._tools, _PREFIX)
        self._session = ""
        self._is_primary = True

    @property
    def name(self) -> str:
        """The name by which Hermes knows it."""
        return "commonplace"

    def is_available(self) -> bool:
        """Say that it can be used: nothing needs to be configured."""
        return True

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        """Begin a session."""
        self._session = session_id
        self._is_primary = kwargs.get("agent_context", "primary") == "primary"

    def system_prompt_block(self) -> str:
        """Return what the model is told about the memory."""
        return (
            "Notes and past sessions are searched before each turn, and what fits is shown. "
            f"Use {_PREFIX}search and {_PREFIX}read for more, {_PREFIX}remember for what will hold."
        )

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """Return what fits a prompt, of its own session none; mostly nothing."""
        return recalled_text(
            self._tools.store, query, PROMPT_BUDGET, self.path(session_id), self._min_confidence
        )

    def sync_turn(
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",
        messages: list[dict[str, Any]] | None = None,  # noqa: ARG002 - the whole session again
    ) -> None:
        """Add a turn in one durable write."""
        if not self._is_primary:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        said = (("user", user_content), ("assistant", assistant_content))
        entries = [{"role": role, "content": text, "timestamp": now} for role, text in said if text]
        if entries:
            self._tools.store.transcript(self.path(session_id)).extend(entries)

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Return the tools that the model gets, as functions of OpenAI."""
        return self._toolset.schemas()

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **_: Any) -> str:
        """Call a tool and return its answer as JSON; an error is one too."""
        try:
            return self._toolset.call(tool_name, args)
        except CommonplaceError as error:
            return json.dumps({"error": str(error)}, ensure_ascii=False)

    def on_session_switch(self, new_session_id: str, **_: Any) -> None:
        """Go on in another session."""
        self._session = new_session_id

    def backup_paths(self) -> list[str]:
        """Return the folder that a backup is to hold."""
        return [str(memory_root(self._root))]

    def shutdown(self) -> None:
        """Close the store."""
        self._tools.close()

    def path(self, session_id: str = "") -> str:
        """Return the path of the transcript of a session, of this one if none is named."""
        return f"{FOLDER}/{encode(session_id or self._session or 'default')}/messages.jsonl"

    def _open(self) -> Store:
        return open_store(memory_root(self._root))
