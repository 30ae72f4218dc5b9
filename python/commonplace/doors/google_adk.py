"""Memory service of the Google ADK: events of its sessions in transcripts, found by their texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from anyio.to_thread import run_sync
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.genai.types import Content, Part

from commonplace.doors.encoded_names import encode
from commonplace.doors.transcript_entries import TranscriptEntries
from commonplace.errors import QueryError

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session

    from commonplace.store import Store

_UNNAMED = "unnamed"
_MEMORIES = "memories"


class TranscriptMemoryService(BaseMemoryService):
    """A memory service: `Runner(memory_service=TranscriptMemoryService(store), …)`.

    Events lie in `sessions/google-adk/<app>/<user>/<session>/messages.jsonl`. The tools of the ADK,
    `load_memory` and `preload_memory`, then find them. Each call runs in a thread. Where the store
    has an embedder and not all has vectors yet, `custom_metadata` of each memory says how much has.

    Args:
        store: That keeps the transcripts.
        folder: Of the store.
        limit: Most memories that a search returns.
    """

    def __init__(
        self, store: Store, folder: str = "sessions/google-adk", *, limit: int = 10
    ) -> None:
        self._store = store
        self._folder = folder.strip("/")
        self._limit = limit
        self._entries = TranscriptEntries(store, "id")

    async def add_session_to_memory(self, session: Session) -> None:
        """Add what is new in a session."""
        await self.add_events_to_memory(
            app_name=session.app_name,
            user_id=session.user_id,
            events=session.events,
            session_id=session.id,
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Add events whose text is not there yet; `custom_metadata` is kept with each."""
        entries = [
            _entry(
                event.content,
                own_id=event.id,
                author=event.author,
                time=datetime.fromtimestamp(event.timestamp, UTC).isoformat(),
                metadata=custom_metadata,
            )
            for event in events
            if _text(event.content)
        ]
        path = self._path(app_name, user_id, session_id or _UNNAMED)
        await run_sync(self._entries.append, path, entries)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Add memories as they are."""
        now = datetime.now(UTC).isoformat()
        entries = [
            _entry(
                memory.content,
                own_id=memory.id,
                author=memory.author,
                time=memory.timestamp or now,
                metadata={**memory.custom_metadata, **(custom_metadata or {})},
            )
            for memory in memories
            if _text(memory.content)
        ]
        await run_sync(self._entries.append, self._path(app_name, user_id, _MEMORIES), entries)

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """Return what this user of this application said or was told that answers a query."""
        return await run_sync(self._found, self._user(app_name, user_id), query)

    def _found(self, folder: str, query: str) -> SearchMemoryResponse:
        if not self._store.holds(folder):
            return SearchMemoryResponse()
        try:
            hits = self._store.search(
                query, self._limit, meaning=None, prefix=folder, unit="message"
            )
        except QueryError:
            # no word in it
            return SearchMemoryResponse()
        covered = self._store.covered
        part = {} if covered is None or covered == 1 else {"vectors_cover": f"{covered:.0%}"}
        return SearchMemoryResponse(
            memories=[
                MemoryEntry(
                    content=Content(
                        role="user" if hit.role == "user" else "model", parts=[Part(text=hit.text)]
                    ),
                    id=hit.citation,
                    author=hit.name or hit.role,
                    timestamp=hit.time,
                    custom_metadata={**part},
                )
                for hit in hits
            ]
        )

    def _user(self, app_name: str, user_id: str) -> str:
        return f"{self._folder}/{encode(app_name)}/{encode(user_id)}"

    def _path(self, app_name: str, user_id: str, session: str) -> str:
        return f"{self._user(app_name, user_id)}/{encode(session)}/messages.jsonl"


def _entry(
    content: Content | None,
    *,
    own_id: str | None,
    author: str | None,
    time: str,
    metadata: Mapping[str, object] | None,
) -> dict[str, Any]:
    """Return a message as a line of a transcript."""
    role = "assistant" if content and content.role == "model" else "user"
    entry: dict[str, Any] = {"role": role, "content": _text(content), "timestamp": time}
    if own_id:
        entry["id"] = own_id
    if author and author != role:
        entry["name"] = author
    if metadata:
        entry["metadata"] = {name: str(value) for name, value in metadata.items()}
    return entry


def _text(content: Content | None) -> str:
    """Return what was said; calls of functions and their answers are left out."""
    parts = content.parts if content else None
    return "\n".join(part.text for part in parts or () if part.text and not part.thought)
