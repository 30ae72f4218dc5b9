"""Progress of long calls, as other processes of the same root can see it.

A call notes now and then how far it is in `.commonplace/progress/`. What has noted nothing for a
while has ended, or was killed.
"""

from __future__ import annotations

import json
import time

from commonplace.errors import CommonplaceError, NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from commonplace.side_files import SideFiles

    Kind = Literal["import", "embedding"]

FOLDER = "progress"
KINDS: tuple[Kind, ...] = ("import", "embedding")
INTERVAL = 0.25
"""Seconds between two notes; what takes less leaves none."""
LOST = 20.0
"""Seconds without a note after which a call counts as ended."""


class ProgressNotes:
    """The notes of one call.

    Args:
        files: The side files in `FOLDER`.
        kind: What is done.
    """

    def __init__(self, files: SideFiles, kind: Kind) -> None:
        self._files, self._kind = files, kind
        self._last = time.monotonic()
        self._noted = False

    def note(self, done: int, total: int) -> None:
        """Note how much of it is done, if the last note is old."""
        if time.monotonic() - self._last >= INTERVAL:
            self._last = time.monotonic()
            self._noted = True
            self._write(done, total, running=True)

    def end(self) -> None:
        """Note that it has ended, if anything was noted."""
        if self._noted:
            self._write(0, 0, running=False)

    def _write(self, done: int, total: int, *, running: bool) -> None:
        entry = {"time": time.time(), "done": done, "total": total, "running": running}
        try:
            self._files.replace(f"{self._kind}.json", [json.dumps(entry).encode()])
        except (CommonplaceError, OSError):
            # nobody can look, and the call goes on
            return


def running(files: SideFiles) -> dict[Kind, tuple[int, int]]:
    r"""Return what runs: how much is done, and how much there is.

    >>> import commonplace, tempfile
    >>> running(commonplace.open(tempfile.mkdtemp()).side_files(FOLDER))
    {}
    """
    found: dict[Kind, tuple[int, int]] = {}
    for kind in KINDS:
        try:
            with files.handle(f"{kind}.json", "r") as file:
                entry = json.loads(file.read())
            if entry["running"] and time.time() - entry["time"] < LOST:
                found[kind] = int(entry["done"]), int(entry["total"])
        except (NotFound, ValueError, KeyError, TypeError):
            continue
    return found
