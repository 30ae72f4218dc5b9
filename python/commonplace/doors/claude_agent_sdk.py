"""Session store of the Claude Agent SDK: transcripts of its sessions, searched like any other.

There is no `delete`: transcripts of a store only grow. The SDK then leaves them as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio.to_thread import run_sync

from commonplace.doors.encoded_names import decode, encode
from commonplace.doors.transcript_entries import TranscriptEntries

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_agent_sdk.types import (
        SessionKey,
        SessionListSubkeysKey,
        SessionStoreEntry,
        SessionStoreListEntry,
    )

    from commonplace.store import Store

_FILE = "/messages.jsonl"


class SessionStore:
    """Keeps each session in `sessions/<project>/<id>/messages.jsonl`.

    Pass it as `ClaudeAgentOptions(session_store=…)`. Each call runs in a thread. It is no subclass
    of the SDK's protocol, where `delete` would count as there.

    Args:
        store: That keeps the transcripts.
        folder: Of the store.
    """

    def __init__(self, store: Store, folder: str = "sessions") -> None:
        self._store = store
        self._folder = folder.strip("/")
        self._entries = TranscriptEntries(store, "uuid")

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Add entries in one durable write; one whose `uuid` is there is not added again."""
        await run_sync(self._entries.append, self._path(key), entries)

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Return the entries of a session, oldest first; None when there is none."""
        return await run_sync(self._entries.load, self._path(key))

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """Return the sessions of a project."""

        def found() -> list[SessionStoreListEntry]:
            return [
                {"session_id": names[0], "mtime": int(modified * 1000)}
                for names, modified in self._below(encode(project_key))
                if len(names) == 1
            ]

        return await run_sync(found)

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """Return the subpaths of a session, such as those of its subagents."""
        inner = f"{encode(key['project_key'])}/{encode(key['session_id'])}"

        def found() -> list[str]:
            return [names[0] for names, _ in self._below(inner) if len(names) == 1]

        return await run_sync(found)

    def _path(self, key: SessionKey) -> str:
        """Return the path of the transcript of a key."""
        names = [key["project_key"], key["session_id"]]
        if "subpath" in key:
            names.append(key["subpath"])
        return "/".join([self._folder, *map(encode, names)]) + _FILE

    def _below(self, inner: str) -> Iterator[tuple[list[str], float]]:
        """Yield the names between a folder and each transcript below it, and when it changed."""
        above = f"{self._folder}/{inner}/"
        for entry in self._store.list(above.rstrip("/")):
            if entry.path.endswith(_FILE) and len(entry.path) > len(above + _FILE):
                yield decode(entry.path[len(above) :].removesuffix(_FILE)), entry.modified
