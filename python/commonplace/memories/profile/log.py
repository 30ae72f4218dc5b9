"""Daily log of a profile: what each session left, and how far it was processed.

    ## 17:30:00
    <!--
    META:
    - session: "standup"
    - flushed: "5c1f0a3e9b7d2c44 12 0a9be14f2d6c8857"
    -->

    - Preference: I prefer dark mode
    - left out (ephemeral:this-time): Don't use PPT this time

A session is known by its first message (and its name, if it has one), and how far it was flushed
by a hash of everything up to there. So a session that is flushed twice leaves nothing the second
time, and one that has gone on only what is new.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Sequence
from datetime import datetime

from commonplace._core import Written
from commonplace.entries.blocks import render
from commonplace.errors import Conflict, NotFound
from commonplace.store import Store

Message = tuple[str, str]
"""Role and text."""


class Log:
    """The files `daily/YYYY-MM-DD.md` of one profile; they are only appended to.

    Args:
        store: Where they are.
        base: The folder of the profile with a `/` at its end; `""` is the root.
    """

    def __init__(self, store: Store, base: str) -> None:
        self._store = store
        self._folder = f"{base}daily"

    @property
    def folder(self) -> str:
        """The folder of the files."""
        return self._folder

    def flushed(self, messages: Sequence[Message], session: str | None) -> int:
        """Return how many of these messages have been flushed before."""
        if not messages:
            return 0
        digests = _digests(messages, session)
        done = 0
        with contextlib.suppress(NotFound):
            marks = self._store.grep(f'flushed: "{digests[0]} ', prefix=self._folder, fixed=True)
            for mark in marks:
                count, _, digest = mark.snippet.rpartition(f"{digests[0]} ")[2].partition(" ")
                with contextlib.suppress(ValueError, IndexError):
                    if digest.startswith(f'{digests[int(count) - 1]}"'):
                        done = max(done, int(count))
        return done

    def add(
        self, now: datetime, messages: Sequence[Message], session: str | None, lines: Sequence[str]
    ) -> Written:
        """Append what the session left: one line each."""
        digests = _digests(messages, session)
        meta = {"session": session} if session else {}
        meta["flushed"] = f"{digests[0]} {len(messages)} {digests[-1]}"
        entry = render(f"{now:%H:%M:%S}", "\n".join(f"- {line}" for line in lines), meta)
        path = f"{self._folder}/{now.date().isoformat()}.md"
        if self._store.version(path) is None:
            head = f"# {now.date().isoformat()}\n\n"
            with contextlib.suppress(Conflict):  # somebody else began the page
                return self._store.append(path, head + entry, expected_version="absent")
        return self._store.append(path, f"\n{entry}")


def _digests(messages: Sequence[Message], session: str | None) -> list[str]:
    """Return for each message a hash of everything up to it."""
    whole = hashlib.sha256((session or "").encode(errors="replace"))
    digests = []
    for role, text in messages:
        whole.update(f"\0{role}\0{text}".encode(errors="replace"))
        digests.append(whole.hexdigest()[:16])
    return digests
