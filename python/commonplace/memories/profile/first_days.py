"""Days on which entries were first told, kept beside the notes until an entry ends.

An entry that is true has no mark in its note, which people read. When it ends, its mark has to say
since when it was true, and the history of the file tells when it was written, not when it was said.
A line of `.commonplace/first_told.jsonl` is `["hash of profile and text", "2020-01-05"]`; the last
one of a text counts. Without the file nothing is lost but the first day of what ends later.
"""

from __future__ import annotations

import contextlib
from datetime import date

import msgspec

from commonplace.embedded_text import digest
from commonplace.errors import Refused
from commonplace.memories.profile.page_index import normalized
from commonplace.side_files import SideFiles

FILE = "first_told.jsonl"

_decode = msgspec.json.Decoder(tuple[str, date]).decode


class FirstDays:
    """The days of one profile.

    Args:
        side: The folder `.commonplace`.
        main: The path of its MEMORY.md, which tells it from other profiles.

    >>> import commonplace, tempfile
    >>> days = FirstDays(commonplace.open(tempfile.mkdtemp()).side_files(), "MEMORY.md")
    >>> days.note("I live in Berlin", date(2020, 1, 5))
    >>> days.of("I live in Berlin."), days.of("I live in Lisbon")
    (datetime.date(2020, 1, 5), None)
    """

    def __init__(self, side: SideFiles, main: str) -> None:
        self._side = side
        self._main = main

    def note(self, text: str, day: date) -> None:
        """Note that an entry was first told on a day."""
        line = msgspec.json.encode([self._key(text), day]) + b"\n"
        # a folder that cannot be written is no reason to refuse the entry
        with contextlib.suppress(OSError, Refused):
            self._side.append(FILE, line)

    def of(self, text: str) -> date | None:
        """Return the day on which an entry was first told, None where that is not known."""
        key = self._key(text)
        try:
            with self._side.handle(FILE, "r") as file:
                lines = file.readall().splitlines()
        except (OSError, Refused):
            return None
        for line in reversed(lines):
            if key.encode() in line:
                # what a crash or a person left there is passed over
                with contextlib.suppress(msgspec.DecodeError):
                    return _decode(line)[1]
        return None

    def _key(self, text: str) -> str:
        return digest(f"{self._main}\0{normalized(text)}").hex()
