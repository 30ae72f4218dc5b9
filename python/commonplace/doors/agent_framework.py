"""Providers of the Microsoft Agent Framework: history in transcripts, recall from all of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from agent_framework import ContextProvider, HistoryProvider, Message
from agent_framework._sessions import filter_new_messages
from anyio.to_thread import run_sync

from commonplace.doors.encoded_names import encode
from commonplace.doors.injection_candidates import recalled_text
from commonplace.doors.transcript_entries import extend, load_versioned

if TYPE_CHECKING:
    from agent_framework import AgentSession, SessionContext, SupportsAgentRun

    from commonplace.store import Store

FOLDER = "sessions/agent-framework"
_UNNAMED = "default"
# fields of a message, and what they are called in a transcript
_FIELDS = {"contents": "content", "message_id": "id", "author_name": "name"}


class TranscriptHistory(HistoryProvider):
    """Keeps each session in `sessions/agent-framework/<session>/messages.jsonl`.

    Pass it as `Agent(client, context_providers=[TranscriptHistory(store)])`. A message that is
    given again, as the framework does, is kept once. Each call runs in a thread.

    Args:
        store: That keeps the transcripts.
        source_id: As the framework takes it.
        folder: Of the store.
        **options: What is loaded and kept, as `HistoryProvider` takes it: `store_inputs`, ….
    """

    def __init__(
        self,
        store: Store,
        source_id: str = "commonplace_history",
        *,
        folder: str = FOLDER,
        **options: Any,
    ) -> None:
        super().__init__(source_id, **options)
        self._store = store
        self._folder = folder

    async def get_messages(
        self,
        session_id: str | None,
        *,
        state: dict[str, Any] | None = None,  # noqa: ARG002 - nothing is kept in it
        **kwargs: Any,  # noqa: ARG002 - as the framework calls it
    ) -> list[Message]:
        """Return the messages of a session, oldest first."""
        path = transcript_path(session_id, self._folder)
        entries, _ = await run_sync(load_versioned, self._store, path)
        return [_message(entry) for entry in entries]

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,  # noqa: ARG002 - nothing is kept in it
        **kwargs: Any,  # noqa: ARG002 - as the framework calls it
    ) -> None:
        """Add what is new of some messages in one durable write."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")

        def new(entries: list[Any]) -> list[dict[str, Any]]:
            known = [_message(entry) for entry in entries]
            given = [_entry(message, now) for message in messages]
            # compared as they are stored: without secrets
            stored = [_message(entry) for entry in self._store.redact(given)[0]]
            return given[len(given) - len(filter_new_messages(known, stored)) :]

        path = transcript_path(session_id, self._folder)
        await run_sync(extend, self._store, path, new)


class Recall(ContextProvider):
    """Puts before the model what fits the prompt, from all notes and sessions; mostly nothing.

    What the session itself has said is left out. The texts come with their sources, as data.

    Args:
        store: That is searched.
        source_id: As the framework takes it.
        folder: Where `TranscriptHistory` keeps the sessions.
        budget: Most characters for one prompt.
    """

    def __init__(
        self,
        store: Store,
        source_id: str = "commonplace_recall",
        *,
        folder: str = FOLDER,
        budget: int = 2400,
    ) -> None:
        super().__init__(source_id)
        self._store = store
        self._folder = folder
        self._budget = budget

    async def before_run(
        self,
        *,
        agent: SupportsAgentRun,  # noqa: ARG002 - as the framework calls it
        session: AgentSession,  # noqa: ARG002
        context: SessionContext,
        state: dict[str, Any],  # noqa: ARG002
    ) -> None:
        """Add one message with what fits, if anything does."""
        prompt = "\n".join(one.text for one in context.input_messages if one.role == "user")
        own = transcript_path(context.session_id, self._folder)
        found = await run_sync(recalled_text, self._store, prompt, self._budget, own)
        if found:
            context.extend_messages(self, [Message("user", [found])])


def transcript_path(session_id: str | None, folder: str = FOLDER) -> str:
    """Return the path of the transcript of a session."""
    return f"{folder.strip('/')}/{encode(session_id or _UNNAMED)}/messages.jsonl"


def _entry(message: Message, now: str) -> dict[str, Any]:
    """Return a message as a line of a transcript."""
    entry: dict[str, Any] = {}
    for field, value in message.to_dict(exclude={"type"}).items():
        if value or field in {"role", "contents"}:
            entry[_FIELDS.get(field, field)] = value
    return {"timestamp": now} | entry


def _message(entry: dict[str, Any]) -> Message:
    given = {field: entry[name] for field, name in _FIELDS.items() if name in entry}
    more = entry.get("additional_properties")
    return Message(entry["role"], **given, additional_properties=more)
