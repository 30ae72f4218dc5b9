"""The list of archived files, `.commonplace/archive/files.json`: only what is in it counts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import orjson

from commonplace._core import CollectionStats
from commonplace.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from commonplace import _core
    from commonplace.side_files import SideFiles

FOLDER = "archive"
NAME = "files.json"
# Of the layout of the rows and how words are read: an index of another version is made again
VERSION = 5


class ArchiveList:
    """The files in the archive, with what a search asks of each.

    Attributes:
        files: By path: `id` (its number in the rows), `size`, `mtime_ns`, `messages`, `fields` and
            `lengths` (statistics), `summary` (its session record), `first` and `last` (times).
        next: The number of the next file; none is used twice.
        deleted: Rows of the index were deleted, which are still counted in it.
        unfinished: A change was begun, and not ended.
        is_list: What is on the disk is such a list; else no file counts as archived.
        documents: Messages of all files.
        stamp: What changes with the list; None where there is none.
    """

    def __init__(self, core: _core.Store, side: SideFiles) -> None:
        self._core, self._side = core, side
        self.stamp: object = None
        self.is_list = True
        self._take({})

    def read(self) -> None:
        """Read the list, if it has changed."""
        stamp = self._core.archive_stamp()
        if stamp == self.stamp and stamp is not None:
            return
        try:
            known = orjson.loads(self._text() or b"{}")
        except orjson.JSONDecodeError:
            known = None
        self.is_list = _is_list(known)
        self._take(known if self.is_list else {})
        self.stamp = stamp

    def has_changed(self) -> bool:
        """Say whether the list on the disk is another one by now."""
        return self._core.archive_stamp() != self.stamp

    def write(
        self, files: Mapping[str, Any], *, unfinished: bool = False, has_rows: bool = True
    ) -> None:
        """Replace the list: written, flushed, renamed.

        Args:
            files: By path.
            unfinished: A change was begun.
            has_rows: Whether the index has the rows of these files; if not, it is made again.
        """
        text = {
            "version": VERSION if has_rows else 0,
            "next": self.next,
            "deleted": self.deleted and bool(files),
            "unfinished": unfinished,
            "files": files,
        }
        with self._side.handle(f"{NAME}.new", "r+") as file:
            file.truncate(0)
            file.write(orjson.dumps(text))
            os.fsync(file.fileno())
        self._core.rename_side(f"{FOLDER}/{NAME}.new", f"{FOLDER}/{NAME}")
        self.stamp = None
        self.read()

    def stats(self, counts: dict[str, int]) -> CollectionStats:
        """Return the statistics of all files, with the number of documents of some names."""
        return CollectionStats(self.documents, self._fields, self._lengths, counts)

    def path(self, number: int) -> str | None:
        """Return the path of the file with this number."""
        return self._paths.get(number)

    def _take(self, known: dict[str, Any]) -> None:
        self.files: dict[str, dict[str, Any]] = known.get("files", {})
        self.is_of_version = not self.files or known.get("version") == VERSION
        self.deleted = bool(known.get("deleted"))
        self.unfinished = bool(known.get("unfinished", True))
        self.documents = sum(file["messages"] for file in self.files.values())
        self._paths = {file["id"]: path for path, file in self.files.items()}
        self._fields: dict[str, int] = {}
        self._lengths: dict[str, int] = {}
        for file in self.files.values():
            for total, own in ((self._fields, file["fields"]), (self._lengths, file["lengths"])):
                for field, count in own.items():
                    total[field] = total.get(field, 0) + count
        self.next: int = max([known.get("next", 1), *(number + 1 for number in self._paths)])

    def _text(self) -> bytes:
        try:
            with self._side.handle(NAME, "r") as file:
                return file.readall()
        except NotFound:
            return b""


def _is_list(known: Any) -> bool:
    """Say whether this is a list of archived files, as it is written here."""
    files = known.get("files", {}) if isinstance(known, dict) else None
    return (
        isinstance(files, dict)
        and isinstance(known.get("next", 1), int)
        and all(map(_is_file, files.values()))
        and len({file["id"] for file in files.values()}) == len(files)
    )


def _is_file(file: Any) -> bool:
    """Say whether these are a number, stamps and counts of an archived file."""
    if not isinstance(file, dict):
        return False
    counts: list[Any] = [file.get(name) for name in ("id", "size", "messages")]
    for name in ("fields", "lengths"):
        table = file.get(name)
        counts += table.values() if isinstance(table, dict) else [None]
    # of ten thousand files, a look at each count takes as long as parsing the list
    are_numbers = {*map(type, counts), type(file.get("mtime_ns"))} == {int}
    return are_numbers and min(counts) >= 0
