"""Memory store of the Pydantic AI harness: its notebook as notes, searched by the store."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anyio.to_thread import run_sync
from pydantic_ai_harness.memory import (
    MemoryConflictError,
    MemoryFile,
    MemoryMutation,
    MemoryOperation,
    MemoryOperationConflictError,
    MemorySearchMatch,
    MemorySearchResult,
)

from commonplace.doors.virtual_files import VirtualFiles
from commonplace.errors import Conflict, NotFound, QueryError
from commonplace.locks import Lock

if TYPE_CHECKING:
    from commonplace.store import Store

MOST_RECEIPTS = 1024
"""How many operations are known again when they are repeated."""
_PART = re.compile(r"[A-Za-z0-9_.-]{1,200}")
_RECEIPTS, _LOCK = "receipts.jsonl", "lock"
_Receipt = dict[str, str | bool | None]


class NoteStore:
    """A `MemoryStore` with search: `Agent(model, capabilities=[Memory(NoteStore(store))])`.

    Versions are those of the files, so a change by hand is a conflict too. What is known of
    repeated operations lies in `.commonplace/pydantic_ai/`; if it is lost, a repetition is a
    conflict. Each call runs in a thread. Where the store has an embedder, searches go by vectors
    too, and `store.covered` says how much has them so far.

    Args:
        store: That keeps the notes.
        folder: Of the store.
    """

    def __init__(self, store: Store, folder: str = "notebook") -> None:
        self._store = store
        self._folder = folder.strip("/")
        self._files = VirtualFiles(store, self._folder)
        self._side = store.side_files("pydantic_ai")
        self._turn = Lock()

    async def read(self, path: str, *, max_chars: int) -> MemoryFile | None:
        """Return a file, or as much of it as is wanted; None when there is none."""
        _check(path)
        if max_chars <= 0:
            raise ValueError("max_chars is 1 or more")

        def found() -> MemoryFile | None:
            try:
                text, version = self._files.read_versioned(path)
            except NotFound:
                return None
            ids = [
                str(one["id"])
                for one in self._receipts()
                if one["file"] == self._files.path(path) and one["version"] == version
            ]
            latest = ids[-1] if ids else None
            return MemoryFile(text[:max_chars], version, latest, len(text) > max_chars)

        return await run_sync(found)

    async def get_operation(self, operation: MemoryOperation) -> MemoryMutation | None:
        """Return what an operation did before; None when it was never run.

        Raises:
            MemoryOperationConflictError: Another one had its id.
        """
        return await run_sync(self._replayed, operation)

    async def write(
        self,
        path: str,
        content: str,
        *,
        expected_version: str | None,
        operation: MemoryOperation | None = None,
    ) -> MemoryMutation:
        """Write a file whose version is as expected; None is for a new one.

        Raises:
            MemoryConflictError: Its version is another one; nothing was changed.
            MemoryOperationConflictError: Another operation had the id of this one.
        """
        _check(path)

        def written(_: str) -> str | None:
            return self._files.write(path, content, expected_version or "absent")

        return await run_sync(self._changed, path, written, expected_version, operation)

    async def delete(
        self,
        path: str,
        *,
        expected_version: str | None,
        operation: MemoryOperation | None = None,
    ) -> MemoryMutation:
        """Delete a file whose version is as expected.

        Raises:
            MemoryConflictError: Its version is another one; nothing was changed.
            MemoryOperationConflictError: Another operation had the id of this one.
        """
        _check(path)

        def deleted(file: str) -> str | None:
            if expected_version is not None:
                self._store.delete(file, expected_version=expected_version)
            return None

        return await run_sync(self._changed, path, deleted, expected_version, operation)

    async def list_paths(self, prefix: str = "", *, limit: int) -> list[str]:
        """Return the paths that begin with a text, in order."""
        if prefix:
            _check(prefix.removesuffix("/"))
        if limit <= 0:
            raise ValueError("limit is 1 or more")

        def found() -> list[str]:
            return [name for name in self._files.below() if name.startswith(prefix)][:limit]

        return await run_sync(found)

    async def search(
        self,
        prefix: str,
        query: str,
        *,
        limit: int,
        max_files: int,
        max_chars: int,
        max_file_chars: int,
    ) -> MemorySearchResult:
        """Return the files directly below a prefix that answer a query, best first.

        The index holds every file whole, so `max_file_chars` bounds nothing more.
        """
        if prefix:
            _check(prefix.removesuffix("/"))
        if not query.split() or min(limit, max_files, max_chars, max_file_chars) <= 0:
            return MemorySearchResult([], scanned=0, truncated=False)
        return await run_sync(self._found, prefix, query, limit, max_files, max_chars)

    def _found(
        self, prefix: str, query: str, limit: int, max_files: int, max_chars: int
    ) -> MemorySearchResult:
        names = {
            self._files.path(name): name
            for name in self._files.below()
            if name.startswith(prefix) and "/" not in name[len(prefix) :]
        }
        if not names:
            return MemorySearchResult([], scanned=0, truncated=False)
        searched = [*names][:max_files]
        try:
            # a file has several sections, and each may be a hit
            asked = 8 * limit + 32
            hits = self._store.search(query, asked, meaning=None, prefix=searched, source="note")
        except QueryError:
            return MemorySearchResult([], scanned=len(searched), truncated=False)
        matches: dict[str, MemorySearchMatch] = {}
        left, cut = max_chars, len(names) > max_files
        for hit in hits:
            name = names[hit.path]
            if name in matches:
                continue
            room = left - len(name[len(prefix) :])
            if len(matches) == limit or room <= 0:
                cut = True
                break
            snippet = hit.snippet[:room]
            matches[name] = MemorySearchMatch(name, snippet, hit.score)
            left = room - len(snippet)
        return MemorySearchResult([*matches.values()], scanned=len(searched), truncated=cut)

    def _changed(
        self,
        path: str,
        change: Callable[[str], str | None],
        expected: str | None,
        operation: MemoryOperation | None,
    ) -> MemoryMutation:
        """Run a change once, and note that it was."""
        with self._alone():
            if operation and (before := self._replayed(operation)):
                return before
            file = self._files.path(path)
            now = self._store.version(file)
            # what is no version of ours is another one too
            if now != expected:
                told = (
                    f"memory path {path!r} has changed: its version is {now}, not {expected!r:.40}"
                )
                raise MemoryConflictError(told)
            try:
                version = change(file)
            except (Conflict, NotFound) as error:
                raise MemoryConflictError(f"memory path {path!r} has changed: {error}") from error
            existed = expected is not None
            if operation:
                self._note(
                    {
                        "id": operation.id,
                        "fingerprint": operation.fingerprint,
                        "file": file,
                        "version": version,
                        "existed": existed,
                    }
                )
            return MemoryMutation(version=version, replayed=False, existed=existed)

    def _replayed(self, operation: MemoryOperation) -> MemoryMutation | None:
        for receipt in self._receipts():
            if receipt["id"] == operation.id:
                if receipt["fingerprint"] != operation.fingerprint:
                    told = f"operation id {operation.id!r} was used for another operation"
                    raise MemoryOperationConflictError(told)
                version = receipt["version"]
                return MemoryMutation(
                    version=None if version is None else str(version),
                    replayed=True,
                    existed=bool(receipt["existed"]),
                )
        return None

    def _receipts(self) -> list[_Receipt]:
        """Return what is known of the last operations in this folder."""
        found = []
        for line in self._lines():
            try:
                receipt = json.loads(line)
            except ValueError:
                # an end that a crash cut off
                continue
            if str(receipt.get("file", "")).startswith(f"{self._folder}/"):
                found.append(receipt)
        return found[-MOST_RECEIPTS:]

    def _note(self, receipt: _Receipt) -> None:
        lines = self._lines()
        if len(lines) > 2 * MOST_RECEIPTS:
            self._side.replace(_RECEIPTS, [line + b"\n" for line in lines[-MOST_RECEIPTS:]])
        self._side.append(_RECEIPTS, json.dumps(receipt).encode() + b"\n")

    def _lines(self) -> list[bytes]:
        try:
            with self._side.handle(_RECEIPTS, "r") as file:
                return file.readall().split(b"\n")[:-1]
        except NotFound:
            return []

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other threads and processes from changing anything here."""
        with self._turn, self._side.locked(_LOCK, timeout=30.0):
            yield


def _check(path: str) -> None:
    """Refuse a path that the stores of the harness refuse."""
    parts = path.split("/")
    if not all(_PART.fullmatch(part) and ".." not in part and part != "." for part in parts):
        raise ValueError(f"invalid memory path: {path!r:.200}")
