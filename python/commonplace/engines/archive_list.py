"""The list of archived files, `.commonplace/archive/files.json`: only what is in it counts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from commonplace._core import ArchivedFiles, CollectionStats
from commonplace.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from commonplace import _core
    from commonplace.side_files import SideFiles

FOLDER = "archive"
NAME = "files.json"
# Of the layout of the rows and how words are read: an index of another version is made again
VERSION = 7


class ArchiveList:
    """The files in the archive: the core reads their list, changes are written here.

    Attributes:
        numbers: The number of each file in the rows, by path.
        next: The number of the next file; none is used twice.
        deleted: Rows of the index were deleted, which are still counted in it.
        unfinished: A change was begun, and not ended.
        is_list: What is on the disk is such a list; else no file counts as archived.
        is_of_version: The rows are of this version.
        documents: Messages of all files.
        fields: How many of them have each field.
        stamp: What changes with the list; None where there is none.
    """

    def __init__(self, core: _core.Store, side: SideFiles) -> None:
        self._core, self._side = core, side
        self.stamp: object = None
        self._take(ArchivedFiles())

    def read(self) -> None:
        """Read the list, if it has changed."""
        stamp = self._core.archive_stamp()
        if stamp != self.stamp or stamp is None:
            self._take(self._core.archive_list())
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
        # only changes need it, and to import it takes 10 ms
        import orjson  # noqa: PLC0415

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

    def entries(self) -> dict[str, dict[str, Any]]:
        """Return what is written of each file, by path."""
        return self._known.entries()

    def unchanged(self) -> list[str]:
        """Return the paths of the files that are as they were when they were archived."""
        return [path for path, file in self.entries().items() if self._is_same(path, file)]

    def _is_same(self, path: str, file: Mapping[str, Any]) -> bool:
        try:
            _, size, mtime, _ = self._core.stamp(path)
        except NotFound:
            return False
        return (size, mtime) == (file["size"], file["mtime_ns"])

    def documents_of_parts(self, parts: int) -> list[int]:
        """Return the messages of the files in each part of the index."""
        return self._known.documents_of_parts(parts)

    def stats(self, counts: dict[str, int]) -> CollectionStats:
        """Return the statistics of all files, with the number of documents of some names."""
        return CollectionStats(self.documents, self.fields, self._known.stats.lengths, counts)

    def _take(self, known: ArchivedFiles) -> None:
        self.is_list = not known.is_damaged
        self._known = known = known if self.is_list else ArchivedFiles()
        self.numbers = known.numbers()
        self.is_of_version = not self.numbers or known.version == VERSION
        self.deleted, self.unfinished = known.has_deleted, not known.is_finished
        self.documents = known.stats.documents
        self.fields = known.stats.docs_with_field
        self.next = known.next
