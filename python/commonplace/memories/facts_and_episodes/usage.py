"""What we note about the files of a memory beside their text: reads, and the line we made."""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import dataclass, replace
from pathlib import Path

import orjson


@dataclass(frozen=True, slots=True)
class Use:
    """How a file was used: how often it was read, when last, and the summary line we made for it.

    `last` is in seconds since 1970.
    """

    reads: int = 0
    last: float = 0.0
    line: str | None = None


class Usage:
    """A small file of ours under `.commonplace/`.

    Without it nothing is lost but the order of use. Two processes that count at the same moment
    may lose a count.

    Args:
        path: Where it lies.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def all(self) -> dict[str, Use]:
        """Return the use of every file that we know of, by its path in the store."""
        try:
            uses = orjson.loads(self._path.read_bytes())
            return {path: Use(**use) for path, use in uses.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            # there is none yet, or it is not as we write it: begin again
            return {}

    def of(self, path: str) -> Use:
        """Return the use of one file."""
        return self.all().get(path, Use())

    def note_read(self, path: str, when: float) -> None:
        """Note that a file was read."""
        with self._lock:
            uses = self.all()
            use = uses.get(path, Use())
            self._save({**uses, path: replace(use, reads=use.reads + 1, last=when)})

    def note_line(self, path: str, line: str | None) -> None:
        """Note the summary line that we made for a file."""
        with self._lock:
            uses = self.all()
            use = uses.get(path, Use())
            if use.line != line:
                self._save({**uses, path: replace(use, line=line)})

    def _save(self, uses: dict[str, Use]) -> None:
        beside = self._path.with_name(f"{self._path.name}.{os.getpid()}.tmp")
        # a folder that cannot be written is no reason to refuse a read
        with contextlib.suppress(OSError):
            beside.write_bytes(orjson.dumps(uses))
            beside.replace(self._path)
