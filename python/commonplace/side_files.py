"""Side files: logs and caches below `.commonplace`, which may be lost at any time."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BufferedWriter, FileIO
from typing import Literal

from commonplace import _core
from commonplace.errors import Busy

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

# The handles of this process's locks. A child of a fork closes what it inherits of them: it would
# keep a file locked, even against itself, when its parent has died.
_LOCKED: set[FileIO] = set()
_MODES = {"r": "rb", "a": "ab", "r+": "rb+"}


class SideFiles:
    r"""The files of one folder below `.commonplace`; made by `Files.side_files()`.

    The core opens them beneath the root, and only what is a plain file with one name. Anything
    else is never followed: to read it is refused, and where a file is to be written it is renamed
    to `….aside` first. Nothing here is synced.

    >>> import commonplace, tempfile
    >>> side = commonplace.open(tempfile.mkdtemp()).side_files("demo")
    >>> side.append("log", b"one\n")
    >>> side.append("log", b"two\n")
    >>> with side.handle("log", "r") as log:
    ...     log.read()
    b'one\ntwo\n'
    """

    def __init__(self, core: _core.Store, folder: str = "") -> None:
        self._core = core
        self._folder = f"{folder}/" if folder else ""

    def __repr__(self) -> str:
        return f"SideFiles({self._folder.rstrip('/')!r})"

    def handle(self, name: str, mode: Literal["r", "a", "r+"]) -> FileIO:
        """Open a file, unbuffered; all modes but `r` make it if it is not there.

        Raises:
            NotFound: It is not there, and is only to be read.
            Refused: It is no plain file and is only to be read, or `.commonplace` is no folder.
            StorageError: The system refused.
        """
        file = self._core.open_side(f"{self._folder}{name}", mode)
        return FileIO(file, _MODES[mode])

    def path(self, name: str) -> str:
        """Return where a file is, with the root: what messages name."""
        return f"{self._core.root}/.commonplace/{self._folder}{name}"

    @contextmanager
    def locked(self, name: str, timeout: float = 5.0) -> Iterator[None]:
        """Hold a file as a lock against all other threads and processes.

        Args:
            name: The file; what is in it does not matter.
            timeout: Seconds to wait for whoever holds it.

        Raises:
            Busy: It was held for longer.
            OSError: The system refused.
            Refused: `.commonplace` is no folder.
        """
        deadline = time.monotonic() + timeout
        with self.handle(name, "r+") as lock, _known(lock):
            while not _take(lock):
                if time.monotonic() >= deadline:
                    where = f".commonplace/{self._folder}{name}"
                    raise Busy(f"{where} is held by another for more than {timeout:g} s; try again")
                time.sleep(0.01)
            holder = os.getpid()
            try:
                yield
            finally:
                # closing is not enough, a child may be forked meanwhile that shares the handle; nor
                # is it the child's to give back
                if os.getpid() == holder:
                    _release(lock)

    def append(self, name: str, line: bytes) -> None:
        """Add a line to a file, in one write.

        Raises:
            OSError: The system refused.
            Refused: `.commonplace` is no folder.
        """
        with self.handle(name, "a") as file:
            file.write(line)

    def replace(self, name: str, pieces: Iterable[bytes]) -> None:
        """Put a new file in the place of one, all at once.

        Raises:
            OSError: The system refused; the file is as it was.
            Refused: `.commonplace` is no folder.
        """
        # of each process its own: what one has half written is not to get the name
        new = f"{name}.{os.getpid()}.new"
        fresh = FileIO(self._core.open_side(f"{self._folder}{new}", "x"), "wb")
        with BufferedWriter(fresh) as file:
            file.writelines(pieces)
        self.move(new, name)

    def move(self, name: str, target: str) -> None:
        """Give a file another name, in the place of what has that name.

        Raises:
            OSError: The system refused.
            Refused: `.commonplace` is no folder, or one has the name `target`.
        """
        self._core.rename_side(f"{self._folder}{name}", f"{self._folder}{target}")


@contextmanager
def _known(lock: FileIO) -> Iterator[None]:
    _LOCKED.add(lock)
    try:
        yield
    finally:
        _LOCKED.discard(lock)


def _close_inherited() -> None:
    while _LOCKED:
        _LOCKED.pop().close()


# not where there is no fork
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited)


if sys.platform == "win32":
    # nobody else can read or write what is locked, so that it lies where no file has any
    _LOCKED_BYTE = 1 << 30

    def _take(lock: FileIO) -> bool:
        lock.seek(_LOCKED_BYTE)
        try:
            msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

    def _release(lock: FileIO) -> None:
        lock.seek(_LOCKED_BYTE)
        msvcrt.locking(lock.fileno(), msvcrt.LK_UNLCK, 1)

else:

    def _take(lock: FileIO) -> bool:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _release(lock: FileIO) -> None:
        fcntl.flock(lock, fcntl.LOCK_UN)
