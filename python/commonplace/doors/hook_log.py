"""Log of hook runs and errors, read back so that nothing is injected twice into a session."""

from __future__ import annotations

import json
import os
import time

from commonplace.errors import NotFound
from commonplace.side_files import SideFiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from commonplace.store import Store

LOG, OLDER, ERRORS = "log.jsonl", "log.1.jsonl", "errors.jsonl"
LARGEST = 1 << 20
"""Bytes at which the log is put aside for a new one; the one before that is dropped."""


class HookLog:
    """The log of a root. A line that is lost costs a repeated injection, and nothing else."""

    def __init__(self, store: Store) -> None:
        self._files: SideFiles = store.side_files("hooks")

    def create(self) -> None:
        """Make an empty log where there is none, and with it the mark of a root."""
        self._files.handle(LOG, "a").close()

    def add(self, **entry: Any) -> None:
        """Add an entry with the time."""
        self._append(LOG, entry)
        if self._size(LOG) > LARGEST:
            self._files.move(LOG, OLDER)

    def fail(self, **entry: Any) -> None:
        """Note an error; a large file of them begins anew."""
        if self._size(ERRORS) > LARGEST:
            self._files.replace(ERRORS, [])
        self._append(ERRORS, entry)

    def entries(self) -> Iterator[dict[str, Any]]:
        """Yield the entries, the oldest first."""
        for name in (OLDER, LOG):
            yield from self._lines(name)

    def errors(self) -> list[dict[str, Any]]:
        """Return the errors, the oldest first."""
        return [*self._lines(ERRORS)]

    def shown(self, session: str) -> set[str]:
        """Return the citations that a session has in its context.

        After a compaction, or when the context was cleared, it has none of them any more.
        """
        found = set[str]()
        for entry in self._lines(LOG, containing=session):
            if entry.get("session") == session:
                if entry.get("source") in {"compact", "clear"}:
                    found.clear()
                found.update(one["citation"] for one in entry.get("shown", ()))
        return found

    def prompted(self, session: str) -> bool:
        """Say whether a person has given a prompt in a session."""
        known = self._lines(LOG, containing=session)
        return any(one.get("session") == session and one.get("event") == "prompt" for one in known)

    def _append(self, name: str, entry: dict[str, Any]) -> None:
        stamped = {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **entry}
        self._files.append(name, json.dumps(stamped, ensure_ascii=False).encode() + b"\n")

    def _lines(self, name: str, containing: str = "") -> Iterator[dict[str, Any]]:
        try:
            with self._files.handle(name, "r") as file:
                lines = file.read().splitlines()
        except NotFound:
            return
        wanted = containing.encode()
        for line in lines:
            if wanted in line:
                try:
                    yield json.loads(line)
                except ValueError:
                    # torn by a crash, or two of them in one
                    continue

    def _size(self, name: str) -> int:
        try:
            with self._files.handle(name, "r") as file:
                return os.fstat(file.fileno()).st_size
        except NotFound:
            return 0
