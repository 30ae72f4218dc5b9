"""Log of hook runs and errors, read back so that nothing is injected twice into a session."""

from __future__ import annotations

import hashlib
import json
import os
import time
from contextlib import ExitStack, contextmanager, suppress

from commonplace.errors import CommonplaceError, NotFound
from commonplace.side_files import SideFiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from commonplace.store import Store

LOG, OLDER, ERRORS = "log.jsonl", "log.1.jsonl", "errors.jsonl"
CAPTURES, LOCK = "captures.jsonl", "lock"
LARGEST = 1 << 20
"""Bytes at which the log is put aside for a new one; the one before that is dropped."""
LONGEST_WAIT = 0.5
"""Seconds for which a hook waits for others of its memory that decide what is shown."""


class HookLog:
    """The log of a root. A line that is lost costs a repeated injection, and nothing else."""

    def __init__(self, store: Store) -> None:
        self._files: SideFiles = store.side_files("hooks")

    def create(self) -> None:
        """Make an empty log where there is none, and with it the mark of a root."""
        self._files.handle(LOG, "a").close()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other hooks from reading what was shown until this one has added to it.

        Where the lock cannot be had soon, it is not held: something may then be injected twice, but
        no host has to wait.
        """
        with ExitStack() as held:
            with suppress(CommonplaceError, OSError):
                held.enter_context(self._files.locked(LOCK, LONGEST_WAIT))
            yield

    def add(self, **entry: Any) -> None:
        """Add an entry with the time."""
        self._append(LOG, entry)
        if self._size(LOG) > LARGEST:
            self._files.move(LOG, OLDER)

    def captured(self, **entry: Any) -> None:
        """Note what was taken from a host; a large file of it begins anew."""
        self._append_bounded(CAPTURES, entry)

    def fail(self, **entry: Any) -> None:
        """Note an error; a large file of them begins anew."""
        self._append_bounded(ERRORS, entry)

    def entries(self) -> Iterator[dict[str, Any]]:
        """Yield the entries, the oldest first."""
        for name in (OLDER, LOG):
            yield from self._lines(name)

    def newest(self, limit: int, before: str = "") -> list[dict[str, Any]]:
        """Return injections and captures, the newest first, each with an `id`.

        Args:
            limit: Most entries to return.
            before: The `id` of an entry: only older ones. Of one that is gone there are none.
        """
        lines = [line for name in (OLDER, LOG, CAPTURES) for line in self._raw(name)]
        # each line begins with its time
        newest = sorted(lines, key=lambda line: line[:32])[::-1]
        found: list[dict[str, Any]] = []
        reached = not before
        for line in newest:
            if len(found) == limit:
                break
            name = _id(line)
            if reached and (entry := _parsed(line)) is not None:
                found.append({**entry, "id": name})
            reached = reached or name == before
        return found

    def entry(self, name: str) -> dict[str, Any] | None:
        """Return the injection with an `id` of `newest`; None where it is gone."""
        lines = (line for file in (OLDER, LOG) for line in self._raw(file))
        return next((_parsed(line) for line in lines if _id(line) == name), None)

    def errors(self) -> list[dict[str, Any]]:
        """Return the errors, the oldest first."""
        return [*self._lines(ERRORS)]

    def shown(self, session: str) -> set[str]:
        """Return the keys of what a session has in its context.

        After a compaction, or when the context was cleared, it has none of them any more.
        """
        found = set[str]()
        for entry in self._lines(LOG, containing=session):
            if entry.get("session") == session:
                if entry.get("source") in {"compact", "clear"}:
                    found.clear()
                # those of an earlier version have none
                found.update(one.get("key", one["citation"]) for one in entry.get("shown", ()))
        return found

    def prompted(self, session: str) -> bool:
        """Say whether a person has given a prompt in a session."""
        known = self._lines(LOG, containing=session)
        return any(one.get("session") == session and one.get("event") == "prompt" for one in known)

    def _append(self, name: str, entry: dict[str, Any]) -> None:
        stamped = {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **entry}
        self._files.append(name, json.dumps(stamped, ensure_ascii=False).encode() + b"\n")

    def _append_bounded(self, name: str, entry: dict[str, Any]) -> None:
        if self._size(name) > LARGEST:
            self._files.replace(name, [])
        self._append(name, entry)

    def _lines(self, name: str, containing: str = "") -> Iterator[dict[str, Any]]:
        wanted = containing.encode()
        for line in self._raw(name):
            if wanted in line and (entry := _parsed(line)) is not None:
                yield entry

    def _raw(self, name: str) -> list[bytes]:
        try:
            with self._files.handle(name, "r") as file:
                return file.read().splitlines()
        except NotFound:
            return []

    def _size(self, name: str) -> int:
        try:
            with self._files.handle(name, "r") as file:
                return os.fstat(file.fileno()).st_size
        except NotFound:
            return 0


def _parsed(line: bytes) -> dict[str, Any] | None:
    """Return an entry; None for a line that is torn by a crash, or two of them in one."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None


def _id(line: bytes) -> str:
    return hashlib.blake2s(line, digest_size=8).hexdigest()
