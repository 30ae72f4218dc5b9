"""Usage log of notes: read counts, times of last reads, last summary lines made by rules."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, replace

import orjson

from commonplace.errors import Refused
from commonplace.locks import Lock
from commonplace.side_files import SideFiles

_NAME = "usage.jsonl"
_SPARE = 256
"""How many notes more than there are files may lie in the log before it is written anew."""
_MOST = 64 << 20
"""How many bytes of the log are read: those of 100,000 files and more."""


@dataclass(frozen=True, slots=True)
class FileUsage:
    """How a file was used: how often it was read, when last, and the summary line we made for it.

    `last` is in seconds since 1970.
    """

    reads: int = 0
    last: float = 0.0
    line: str | None = None


class Usage:
    """A small log of ours under `.commonplace/`, one JSON list a line: path, reads, last, line.

    The last one of a path counts. A note costs the same however many files there are: it is one
    line more, and what others have added is read from where we had come to. Without the log
    nothing is lost but the order of use. Two processes that count at the same moment may lose a
    count.

    What is there and is no plain file of ours is not followed; notes are then made in a new one.
    Nor is what is larger than we would write it read.

    Args:
        files: Where it lies.
    """

    def __init__(self, files: SideFiles) -> None:
        self._files = files
        self._lock = Lock()
        self._uses: dict[str, FileUsage] = {}
        # which file was read, and up to which byte
        self._read = (0, 0)
        self._lines = 0

    def all(self) -> dict[str, FileUsage]:
        """Return the use of every file that we know of, by its path in the store."""
        with self._lock:
            return dict(self._known())

    def of(self, path: str) -> FileUsage:
        """Return the use of one file."""
        with self._lock:
            return self._known().get(path, FileUsage())

    def note_read(self, path: str, when: float) -> None:
        """Note that a file was read."""
        with self._lock:
            use = self._known().get(path, FileUsage())
            self._add(path, replace(use, reads=use.reads + 1, last=when))

    def note_line(self, path: str, line: str | None) -> None:
        """Note the summary line that we made for a file."""
        with self._lock:
            use = self._known().get(path, FileUsage())
            if use.line != line:
                self._add(path, replace(use, line=line))

    def _known(self) -> dict[str, FileUsage]:
        """Return what the log says, of which only what is new is read."""
        try:
            with self._files.handle(_NAME, "r") as log:
                about = os.fstat(log.fileno())
                file, at = self._read
                if about.st_ino != file or about.st_size < at:
                    # there is none of ours, or it was written anew
                    self._uses, self._lines, at = {}, 0, 0
                if (size := about.st_size - at) > _MOST:
                    # passed over; as if each byte were a line, so that the next note begins anew
                    self._lines, at, size = size, about.st_size, 0
                log.seek(at)
                new = log.read(size)
            # a line that is being written is read when it is whole
            new = new[: new.rfind(b"\n") + 1]
        except (OSError, Refused):
            self._uses, self._lines, self._read = {}, 0, (0, 0)
            return self._uses
        for line in new.splitlines():
            # what a crash or a person left there is passed over
            with contextlib.suppress(ValueError, TypeError, OverflowError):
                path, reads, last, made = orjson.loads(line)
                self._uses[path] = FileUsage(int(reads), float(last), made)
        self._lines += new.count(b"\n")
        self._read = (about.st_ino, at + len(new))
        return self._uses

    def _add(self, path: str, use: FileUsage) -> None:
        # a folder that cannot be written is no reason to refuse a read
        with contextlib.suppress(OSError, Refused):
            if self._lines > 2 * len(self._uses) + _SPARE:
                self._files.replace(_NAME, (_line(*one) for one in self._uses.items()))
            self._files.append(_NAME, _line(path, use))


def _line(path: str, use: FileUsage) -> bytes:
    return orjson.dumps([path, use.reads, use.last, use.line], option=orjson.OPT_APPEND_NEWLINE)
