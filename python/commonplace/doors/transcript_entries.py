"""Entries of a transcript that a framework adds, each with an id that comes in once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from commonplace.citation import cite
from commonplace.errors import Conflict, FormatError, NotFound
from commonplace.locks import Lock

if TYPE_CHECKING:
    from commonplace.store import Store

_TRIES = 64


class TranscriptEntries:
    """Adds JSON objects to transcripts, and reads them back.

    Args:
        store: That keeps the transcripts.
        id_field: The field of an entry that holds its id; an entry without one is always added.
    """

    def __init__(self, store: Store, id_field: str) -> None:
        self._store = store
        self._id_field = id_field
        self._turn = Lock()
        # of each transcript its size, and the ids of its entries
        self._known: dict[str, tuple[int, set[str]]] = {}

    def append(self, path: str, entries: Sequence[Mapping[str, Any]]) -> None:
        """Add entries in one durable write, without those whose id is there."""
        with self._turn:
            known = self._ids(path)
            new = []
            for entry in entries:
                own = entry.get(self._id_field)
                if own is None or own not in known:
                    new.append(entry)
                    known |= {own} if own is not None else set()
            if new:
                # forgotten when it fails: what stands there is then read again
                self._known.pop(path, None)
                self._store.transcript(path).extend(new)
                self._known[path] = (self._store.stamp(path).size, known)

    def load(self, path: str) -> list[Any] | None:
        """Return the entries, oldest first; None when there is no transcript."""
        try:
            return parsed(self._store.read(path), path)
        except NotFound:
            return None

    def _ids(self, path: str) -> set[str]:
        """Return the ids of a transcript; it is read again when somebody else has added to it."""
        try:
            size = self._store.stamp(path).size
        except NotFound:
            return set()
        if path not in self._known or self._known[path][0] != size:
            entries = self.load(path) or []
            ids = {one[self._id_field] for one in entries if self._id_field in one}
            self._known[path] = (size, ids)
        return self._known[path][1]


def extend(
    store: Store, path: str, more: Callable[[list[Any]], Sequence[Mapping[str, Any]]]
) -> None:
    """Add entries that follow from those which are there, in one durable write.

    Args:
        store: That keeps the transcript.
        path: Of the transcript.
        more: Given all entries, returns those to add; it may run several times.

    Raises:
        Conflict: Others write it all the time.
        FormatError: A line is no JSON.
    """
    for _ in range(_TRIES):
        entries, version = load_versioned(store, path)
        added = more(entries)
        if not added:
            return
        try:
            store.transcript(path).extend(added, expected_version=version)
        except Conflict:
            continue
        return
    raise Conflict(f"{path} is being added to by others; try again")


def load_versioned(store: Store, path: str) -> tuple[list[Any], str]:
    """Return the entries of a transcript and its version, `"absent"` when there is none.

    Raises:
        FormatError: A line is no JSON.
    """
    while True:
        version = store.version(path)
        if version is None:
            return [], "absent"
        try:
            text = store.read(path)
        except NotFound:
            continue
        # written meanwhile: what was read may be of either
        if store.version(path) == version:
            return parsed(text, path), version


def parsed(text: str, path: str) -> list[Any]:
    """Return the JSON objects of a transcript.

    Raises:
        FormatError: A line is no JSON.
    """
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                found.append(json.loads(line))
            except ValueError as error:
                raise FormatError(f"{cite(path, number)} is no JSON: {error}") from None
    return found
