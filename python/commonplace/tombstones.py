"""Tombstones of statements: hashes of what was forgotten, so that no conversation brings it back.

A line of `.commonplace/tombstones.jsonl` is `{"date":…,"statements":[…]}`. By those of the core, in
`forgotten.jsonl`, an import knows messages; a statement that was kept is not the message in which
it was said, and is often shorter than what the core tells by its hash.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime

import msgspec

from commonplace.embedded_text import digest
from commonplace.errors import NotFound
from commonplace.side_files import SideFiles

FILE = "tombstones.jsonl"
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
# The words of a conversation behind a clean statement. Only they are the same on another day: of
# "last month" the statement names the month.
_SOURCE = re.compile(r" — (?:\"(?P<ascii>.*)\"|“(?P<curved>.*)”)\Z", re.DOTALL)


class _Line(msgspec.Struct):
    date: date
    statements: list[str]


_decode = msgspec.json.Decoder(_Line).decode


class Tombstones:
    """Hashes of the statements that were forgotten in one root.

    Args:
        side: The folder `.commonplace`.

    >>> import commonplace, tempfile
    >>> tombstones = Tombstones(commonplace.open(tempfile.mkdtemp()).side_files())
    >>> tombstones.add(["- I use vim. <!-- 2026-11-02 -->"])
    >>> "i use vim" in tombstones, "I use Emacs." in tombstones
    (True, False)
    """

    def __init__(self, side: SideFiles) -> None:
        self._side = side
        self._known = frozenset(_read(side))

    def __contains__(self, text: str) -> bool:
        """Return whether a statement was forgotten: case, spaces and the last mark aside."""
        if not self._known:
            return False
        bare = _bare(text)
        # earlier versions kept a last "!"
        return _hash(bare) in self._known or _hash(bare, ".。 ") in self._known

    def add(self, passages: Iterable[str]) -> None:
        """Add what passages say: with marks of lists and comments as a note has them."""
        said = (text for passage in passages for text in _statements(_bare(passage)))
        new = {_hash(text) for text in said} - self._known
        if not new:
            return
        line = msgspec.json.encode(_Line(datetime.now(UTC).date(), sorted(new)))
        # a line that was torn before it stays apart
        self._side.append(FILE, b"\n" + line + b"\n")
        self._known |= new


def _read(side: SideFiles) -> Iterator[str]:
    """Yield the hashes; what is no record of them is passed over."""
    try:
        with side.handle(FILE, "r") as file:
            lines = file.readall().splitlines()
    except NotFound:
        return
    for line in lines:
        with contextlib.suppress(msgspec.DecodeError):
            yield from _decode(line).statements


def _bare(text: str) -> str:
    """Return a text without comments, marks of lists, and strokes through it."""
    return _COMMENT.sub("", text).strip().lstrip("-*+#>~ ").rstrip("~ ")


def _statements(text: str) -> Iterator[str]:
    """Yield a text, and the words of a conversation that it was made of."""
    if text:
        yield text
    if source := _SOURCE.search(text):
        yield source["ascii"] or source["curved"]


def _hash(text: str, marks: str = ".!。！ ") -> str:
    same = " ".join(text.casefold().split()).rstrip(marks)
    return digest(same.encode(errors="replace").decode()).hex()
