"""Commit log of a session: `commits.md`, append-only.

    ## Decided on JWT
    <!--
    META:
    - id: "6f1c09b2aa"
    - kind: "commit"
    - time: "2026-02-24T10:30:00Z"
    - branch: "main"
    - parent: null
    - files: {"overview.md":"0c1d…","detail/auth-design.md":"77ab…"}
    -->

The texts of the files are in `.commonplace/history/`, by their versions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import orjson

from commonplace.entries.blocks import Block, parse, render, title_for
from commonplace.errors import Conflict, EncodingError, FormatError, InvalidArgument, NotFound
from commonplace.files import UPDATES
from commonplace.records import receipt
from commonplace.store import Store

Kind = Literal["commit", "branch", "switch", "merge"]


@dataclass(frozen=True, slots=True)
class Commit:
    """One entry of the log; `files` maps a note of the branch to its version at that time.

    `line` and `start` say where its heading is in the log: a line from 1, a character from 0.
    """

    id: str
    kind: Kind
    branch: str
    message: str
    time: str
    parent: str | None
    files: Mapping[str, str]
    meta: Mapping[str, Any]
    line: int
    start: int


class Commits:
    """The entries of a log, oldest first; what others added is seen at the next call."""

    def __init__(self, store: Store, path: str, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._path = path
        self._clock = clock
        self._seen: list[tuple[int, float]] = []
        self._text = ""
        self._known: list[Commit] = []

    def all(self) -> list[Commit]:
        """Return every entry, oldest first; the list is not to be changed."""
        seen = [(entry.size, entry.modified) for entry in self._store.list(self._path)]
        if seen != self._seen:
            text = self._store.read(self._path) if seen else ""
            # what stands before the last entry is done with; a fence may be open behind it
            start = self._known[-1].start if self._known else 0
            start = start if text.startswith(self._text) else 0
            lines = text.count("\n", 0, start)
            read = (_commit(block, start, lines) for block in parse(text[start:]))
            kept = [commit for commit in self._known if commit.start < start]
            self._known = kept + [commit for commit in read if commit]
            self._seen, self._text = seen, text
        return self._known

    def find(self, start: str) -> Commit:
        """Return the one commit whose id begins with `start`.

        Raises:
            NotFound: There is none, or more than one.
        """
        found = [commit for commit in self.all() if start and commit.id.startswith(start)]
        if len(found) != 1:
            known = ", ".join(commit.id for commit in (found or self.all())[-8:]) or "none"
            raise NotFound(f"{len(found)} commits begin with {start!r:.40}; there are: {known}")
        return found[0]

    @property
    def version(self) -> str:
        """The version of the log, `absent` when there is none."""
        return self._store.version(self._path) or "absent"

    def check(self, expected: str | None, message: str = "") -> None:
        """Look whether the log is at the version that was seen; adding to it looks again.

        Raises:
            Conflict: Somebody added to it.
            EncodingError: The message cannot be written.
        """
        if expected not in {None, self.version}:
            raise Conflict(f"{self._path} is not as you saw it: read context() again")
        try:
            message.encode()
        except UnicodeEncodeError:
            raise EncodingError(f"the message {message!r:.60} is not UTF-8") from None

    def add(
        self,
        kind: Kind,
        branch: str,
        message: str,
        files: Mapping[str, str],
        expected: str | None,
        **more: Any,
    ) -> dict[str, Any]:
        """Add an entry and return the receipt of the write, with its id as `commit`.

        Raises:
            InvalidArgument: The message says nothing.
            Conflict: The log is not the expected version, or others added to it each of 64 times.
            FormatError: The log does not give back what was added.
        """
        if not message.strip():
            raise InvalidArgument("say in a few words what this checkpoint is about")
        for left in reversed(range(UPDATES)):
            # the id, the parent and the title of the log follow from what is there
            seen = self.version
            text, commit = self._entry(kind, branch, message, files, more)
            try:
                written = self._store.append(self._path, text, expected_version=expected or seen)
            except Conflict:
                if expected is not None or not left:
                    raise
            else:
                break
        if commit not in {known.id for known in self.all()[-8:]}:
            raise FormatError(
                f"{self._path} does not give back what was added to it: look whether a fence or "
                "comment is left open in it"
            )
        return {**receipt(written), "commit": commit, "branch": branch, "files": list(files)}

    def _entry(
        self,
        kind: Kind,
        branch: str,
        message: str,
        files: Mapping[str, str],
        more: Mapping[str, Any],
    ) -> tuple[str, str]:
        """Return what is to be added to the log as it is now, and the id of the entry."""
        known = self.all()
        parents = (commit.id for commit in reversed(known) if commit.branch == branch)
        fields = {
            "kind": kind,
            "time": self._clock().isoformat(timespec="seconds").replace("+00:00", "Z"),
            "branch": branch,
            "parent": next(parents, None),
            "files": dict(files),
            **more,
        }
        unique = orjson.dumps([len(known), message, fields])
        meta = {"id": hashlib.sha256(unique).hexdigest()[:10], **fields}
        start = "\n" if self._text else "# Commits\n\n"
        return start + render(title_for(message), message, meta).rstrip("\n"), meta["id"]


def _commit(block: Block, start: int, lines: int) -> Commit | None:
    """Return what a block of the log says; `start` and `lines` are what stands before the text."""
    meta = block.meta
    files = meta.get("files")
    known = (meta.get("id"), meta.get("kind"), meta.get("branch"))
    if not all(isinstance(value, str) for value in known) or not isinstance(files, dict):
        return None
    return Commit(
        str(meta["id"]), meta["kind"], str(meta["branch"]), block.text, str(meta.get("time", "")),
        meta.get("parent"), files, meta, lines + block.line, start + block.start,
    )  # fmt: skip
