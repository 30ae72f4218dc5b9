"""Checks of the archive: the bytes of its index, and its rows against the transcripts."""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from commonplace.engines.archive_index import PARTS
from commonplace.engines.archive_list import FOLDER, NAME
from commonplace.engines.archive_part import LOCK_TIMEOUT
from commonplace.errors import NotFound, StorageError

if TYPE_CHECKING:
    from commonplace import _core
    from commonplace.engines.archive_index import ArchiveIndex
    from commonplace.engines.archive_list import ArchiveList
    from commonplace.side_files import SideFiles

# The end of each file of tantivy: how long its footer is, and a number that says that there is one.
# The footer is JSON, with the checksum of all bytes before it
END, MAGIC = struct.Struct("<II"), 1337
# The files of a segment, by their endings
KINDS = ("fast", "fieldnorm", "idx", "pos", "store", "term")
# Bytes that are read at a time
PIECE = 1 << 20
# Messages whose rows are compared at once: to open the columns takes as long as to read thousands
BATCH = 20_000


@dataclass(slots=True)
class ArchiveCheck:
    """What a check of the archive found.

    Attributes:
        differences: What was damaged, one sentence each.
        unread: What could not be read, and why.
        notes: Malformed lines, and files that have left the archive.
        is_damaged: The index is to be made again.
        differing: Paths of the files whose rows are to be made again.
        changed: Paths of those that have left the archive.
    """

    differences: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    is_damaged: bool = False
    differing: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)


def check(
    found: ArchiveCheck,
    core: _core.Store,
    side: SideFiles,
    listed: ArchiveList,
    index: ArchiveIndex,
) -> None:
    """Compare the files of the index with their checksums, and its rows with the transcripts.

    Args:
        found: Takes what was found.
        core: The store of the transcripts.
        side: The folder of the archive.
        listed: The list of its files, which is read.
        index: Its index, which is opened.

    Raises:
        Busy: Another process changes the archive for too long.
    """
    with _locked(side):
        listed.read()
        _check(found, core, side, listed, index)


@contextmanager
def _locked(side: SideFiles) -> Iterator[None]:
    """Hold the archive against those who change it; whoever may only read it holds nothing."""
    with ExitStack() as held:
        try:
            held.enter_context(side.locked("lock", LOCK_TIMEOUT))
        except StorageError as error:
            if error.code not in ("rofs", "perm"):
                raise
        yield


def _check(
    found: ArchiveCheck,
    core: _core.Store,
    side: SideFiles,
    listed: ArchiveList,
    index: ArchiveIndex,
) -> None:
    found.changed = core.no_longer_archived()
    found.notes += [_departure(core, path) for path in found.changed]
    where = f".commonplace/{FOLDER}"
    if not listed.is_list:
        found.differences.append(
            f"{where}/{NAME}: it was damaged; what was archived is indexed in memory again, so"
            " archive it once more"
        )
    if not listed.numbers:
        return
    if listed.is_of_version:
        damaged = [name for name in _segment_files(side) if not _is_whole(side, name)]
        found.differences += [f"{where}/{name}: it was damaged" for name in damaged]
        if not damaged and not index.open(listed.documents_of_parts(PARTS)):
            found.differences.append(f"{where}/index: files or rows of it were missing")
        found.is_damaged = bool(found.differences)
    # one that is damaged, or of another version, is made again from the transcripts
    has_rows = listed.is_of_version and not found.is_damaged
    for paths in _batches(listed, set(found.changed)):
        rows = index.rows_of([listed.numbers[path] for path in paths]) if has_rows else []
        differing, unread, notes = core.check_archived(paths, rows)
        found.differing += differing if has_rows else []
        found.unread += unread
        found.notes += notes
    found.differences += [
        f"{path}: the archive did not hold its messages" for path in found.differing
    ]


def _departure(core: _core.Store, path: str) -> str:
    """Return why a file has left the archive, and what to do."""
    try:
        core.stamp(path)
    except NotFound:
        return f"{path}: it was archived, and is gone"
    return (
        f"{path}: it has changed since it was archived, so it is indexed in memory; archive it"
        " again when it no longer changes"
    )


def _batches(listed: ArchiveList, changed: set[str]) -> Iterator[list[str]]:
    """Yield the paths of the files that have not changed, sorted, some at a time."""
    batch: list[str] = []
    held = 0
    for path, entry in sorted(listed.entries().items()):
        if path in changed:
            continue
        batch.append(path)
        held += entry["messages"]
        if held > BATCH:
            yield batch
            batch, held = [], 0
    yield batch


def _segment_files(side: SideFiles) -> Iterator[str]:
    """Yield the names of the files that hold rows, without what a killed change has left."""
    for part in range(PARTS):
        folder = f"index/{part}"
        try:
            with side.handle(f"{folder}/meta.json", "r") as file:
                segments = json.loads(file.readall())["segments"]
            names = [one["segment_id"].replace("-", "") for one in segments]
        except (NotFound, OSError, ValueError, KeyError, TypeError, AttributeError):
            # the index cannot be opened
            continue
        for name in names:
            yield from (f"{folder}/{name}.{kind}" for kind in KINDS)


def _is_whole(side: SideFiles, name: str) -> bool:
    """Say whether a file of tantivy has the checksum that is written at its end."""
    try:
        with side.handle(name, "r") as file:
            end = file.seek(-END.size, os.SEEK_END)
            length, magic = END.unpack(file.read(END.size))
            if magic != MAGIC or length > end:
                return False
            left = file.seek(end - length)
            footer = json.loads(file.read(length))
            file.seek(0)
            checksum = 0
            while left and (piece := file.read(min(PIECE, left))):
                checksum, left = zlib.crc32(piece, checksum), left - len(piece)
            return bool(left == 0 and checksum == footer["crc"])
    except (NotFound, OSError, struct.error, ValueError, KeyError, TypeError):
        return False
