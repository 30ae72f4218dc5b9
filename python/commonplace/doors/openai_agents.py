"""Session and tools of the OpenAI Agents SDK: conversations in transcripts, memory as functions."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from agents import FunctionTool
from agents.memory.session_settings import SessionSettings, resolve_session_limit
from anyio.to_thread import run_sync

from commonplace.doors.encoded_names import encode
from commonplace.doors.mcp.tools import MemoryTools, memory_toolset
from commonplace.doors.transcript_entries import extend, load_versioned
from commonplace.errors import CommonplaceError
from commonplace.tools import Toolset

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents import RunContextWrapper
    from agents.items import TResponseInputItem

    from commonplace.store import Store

# Lines of a transcript that take items away; it only grows
_POP, _CLEAR = {"type": "session_pop"}, {"type": "session_clear"}


class TranscriptSession:
    """A `Session` that lies in `sessions/openai-agents/<session_id>/messages.jsonl`.

    Pass it as `Runner.run(agent, text, session=…)`. What is popped or cleared is no longer part of
    the conversation, but stays in the transcript, where a search finds it.

    Args:
        store: That keeps the transcript.
        session_id: Any text.
        folder: Of the store.
        session_settings: As the SDK takes them, such as a limit.
    """

    def __init__(
        self,
        store: Store,
        session_id: str,
        folder: str = "sessions/openai-agents",
        *,
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = session_settings or SessionSettings()
        self._store = store
        self.path = f"{folder.strip('/')}/{encode(session_id)}/messages.jsonl"

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the items, or the latest so many of them, oldest first."""
        most = resolve_session_limit(limit, self.session_settings)
        items = await run_sync(self._load)
        return items if most is None else items[max(len(items) - max(most, 0), 0) :]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items in one durable write."""
        if items:
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            entries = [_entry(dict(item), now) for item in items]
            await run_sync(self._store.transcript(self.path).extend, entries)

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the latest item away and return it; None when there is none."""
        return await run_sync(self._shortened, _POP)

    async def clear_session(self) -> None:
        """Begin anew."""
        await run_sync(self._shortened, _CLEAR)

    def _shortened(self, mark: dict[str, str]) -> TResponseInputItem | None:
        """Add a line that takes items away, and return the latest of them."""
        last: list[TResponseInputItem] = []

        def marked(entries: list[Any]) -> list[dict[str, str]]:
            last[:] = _items(entries)[-1:]
            return [mark] if last else []

        # two that pop at once are to get two items
        extend(self._store, self.path, marked)
        return last[0] if last else None

    def _load(self) -> list[Any]:
        """Return the items that stand."""
        return _items(load_versioned(self._store, self.path)[0])


def memory_tools(store: Store) -> list[FunctionTool]:
    """Return search, read, sessions, remember, forget and status as tools of an `Agent`."""
    return function_tools(memory_toolset(MemoryTools(lambda: store)))


def function_tools(toolset: Toolset) -> list[FunctionTool]:
    """Return the tools of a memory system as tools of an `Agent`.

    An error is an answer that the model reads. Each call runs in a thread.
    """

    def invoker(name: str) -> Callable[[RunContextWrapper[Any], str], Any]:
        async def invoke(_: RunContextWrapper[Any], arguments: str) -> str:
            try:
                return await run_sync(toolset.call, name, arguments)
            except CommonplaceError as error:
                return f"Error: {error}"

        return invoke

    return [
        FunctionTool(
            name=tool.name,
            description=tool.description,
            params_json_schema=tool.parameters,
            on_invoke_tool=invoker(tool.name),
            # a strict schema has no optional parameters
            strict_json_schema=False,
        )
        for tool in toolset
    ]


def _entry(item: dict[str, Any], now: str) -> dict[str, Any]:
    """Return an item with the time that it came unless it has one."""
    own = {"own_timestamp": True} if "timestamp" in item else {"timestamp": now}
    return {**item, **own}


def _items(entries: list[Any]) -> list[Any]:
    items: list[Any] = []
    for item in entries:
        if item == _CLEAR:
            items.clear()
        elif item == _POP:
            del items[-1:]
        else:
            if not item.pop("own_timestamp", False):
                item.pop("timestamp", None)
            items.append(item)
    return items
