"""Session store of the Claude Agent SDK: transcripts of its sessions, searched like any other.

There is no `delete`: transcripts of a store only grow. The SDK then leaves them as they are.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from anyio.to_thread import run_sync

from commonplace.doors.names import decode, encode
from commonplace.errors import FormatError, NotFound
from commonplace.locks import Lock

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
        self._turn = Lock()
        # of each transcript its size, and the ids of its entries
        self._known: dict[str, tuple[int, set[str]]] = {}

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Add entries in one durable write; one whose `uuid` is there is not added again."""
        await run_sync(self._append, self._path(key), entries)

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Return the entries of a session, oldest first; None when there is none."""
        return await run_sync(self._load, self._path(key))

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

    def _append(self, path: str, entries: list[SessionStoreEntry]) -> None:
        with self._turn:
            known = self._ids(path)
            lines = []
            for entry in entries:
                own = entry.get("uuid")
                if own is None or own not in known:
                    lines.append(json.dumps(entry, ensure_ascii=False, separators=(",", ":")))
                    known |= {own} if own is not None else set()
            if lines:
                # forgotten when it fails: what stands there is then read again
                self._known.pop(path, None)
                self._store.append(path, "\n".join(lines))
                self._known[path] = (self._store.stamp(path).size, known)

    def _ids(self, path: str) -> set[str]:
        """Return the ids of a transcript; it is read again when somebody else has added to it."""
        try:
            size = self._store.stamp(path).size
        except NotFound:
            return set()
        if path not in self._known or self._known[path][0] != size:
            entries = self._load(path) or []
            self._known[path] = (size, {one["uuid"] for one in entries if "uuid" in one})
        return self._known[path][1]

    def _load(self, path: str) -> list[Any] | None:
        try:
            text = self._store.read(path)
        except NotFound:
            return None
        found = []
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                try:
                    found.append(json.loads(line))
                except ValueError as error:
                    raise FormatError(f"{path}#L{number} is no JSON: {error}") from None
        return found

    def _below(self, inner: str) -> Iterator[tuple[list[str], float]]:
        """Yield the names between a folder and each transcript below it, and when it changed."""
        above = f"{self._folder}/{inner}/"
        for entry in self._store.list(above.rstrip("/")):
            if entry.path.endswith(_FILE) and len(entry.path) > len(above + _FILE):
                yield decode(entry.path[len(above) :].removesuffix(_FILE)), entry.modified
