"""Memory block of LlamaIndex: what leaves the short-term memory, and recall from everything."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from anyio.to_thread import run_sync
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.memory import BaseMemoryBlock

from commonplace.doors.encoded_names import encode
from commonplace.doors.injection_candidates import ANSWERED, recalled_text
from commonplace.doors.transcript_entries import TranscriptEntries
from commonplace.entries.injection import pack, unframe

if TYPE_CHECKING:
    from llama_index.core.llms import ChatMessage

    from commonplace.store import Store

_UNNAMED = "default"
# a token is about so many characters
_TOKEN = 4


class TranscriptMemoryBlock(BaseMemoryBlock[str]):
    """A block: `Memory.from_defaults(session_id=…, memory_blocks=[TranscriptMemoryBlock(store)])`.

    Messages that leave the short-term memory lie in
    `sessions/llama-index/<session>/messages.jsonl`. Before the model is asked, what fits the
    last message of the user is put in, from all notes and sessions; mostly nothing. Each call runs
    in a thread.

    Args:
        store: That keeps the transcripts, and is searched.
        folder: Of the store, for the transcripts.
        budget: Most characters that are put in.
        **fields: Those of a block: `name`, `priority`, ….
    """

    _store: Store = PrivateAttr()
    _entries: TranscriptEntries = PrivateAttr()
    _folder: str = PrivateAttr()
    _budget: int = PrivateAttr()

    def __init__(
        self,
        store: Store,
        folder: str = "sessions/llama-index",
        *,
        budget: int = 2400,
        **fields: Any,
    ) -> None:
        super().__init__(**{"name": "commonplace"} | fields)
        self._store = store
        self._entries = TranscriptEntries(store, "id")
        self._folder = folder.strip("/")
        self._budget = budget

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Add the texts of messages to the transcripts of their sessions."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        sessions: dict[str, list[dict[str, str]]] = {}
        for message in messages:
            if message.content:
                entry = {"role": message.role.value, "content": message.content, "timestamp": now}
                session = str(message.additional_kwargs.get("session_id") or _UNNAMED)
                sessions.setdefault(session, []).append(entry)
        for session, entries in sessions.items():
            await run_sync(self._entries.append, self.path(session), entries)

    async def _aget(
        self,
        messages: list[ChatMessage] | None = None,
        **block_kwargs: Any,  # noqa: ARG002 - as LlamaIndex calls it
    ) -> str:
        """Return what fits the last message of the user, empty for nothing."""
        asked = [one.content or "" for one in messages or [] if one.role.value == "user"]
        return await run_sync(recalled_text, self._store, "".join(asked[-1:]), self._budget)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Return less of what was put in, the best of it; None when nothing is left."""
        budget = max(len(content) - _TOKEN * tokens_to_truncate, 0)
        return pack(unframe(content), budget, cut=True, cut_after=ANSWERED).text or None

    def path(self, session_id: str) -> str:
        """Return the path of the transcript of a session."""
        return f"{self._folder}/{encode(session_id)}/messages.jsonl"
