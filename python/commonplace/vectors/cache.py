"""One file of checked records under `.commonplace/`: what is costly to make, kept by its key.

Nothing in it is trusted: a record carries a sum over itself and over the header, so that one that
is damaged, or comes from the cache of something else, is simply not there and is made again. So
nothing needs to be synced, and the file may be deleted at any time. Processes share it: a lock
beside it is held for the moment of each call.
"""

from __future__ import annotations

import fcntl
import os
import stat
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

KEY = 16
SUM = 4
# Records that are read at once to learn their keys
MANY = 1024
FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Cache:
    r"""Values of one size by keys of 16 bytes.

    Args:
        root: The folder of the store.
        folders: Where below it the cache lies; made if needed, and never through a link.
        header: What the values are made by. A file with another header is set aside.
        size: Bytes of a value.

    >>> import tempfile
    >>> cache = Cache(Path(tempfile.mkdtemp()), (".commonplace", "demo"), b"doubled", 4)
    >>> cache.add({b"k" * 16: b"kkkk"})
    >>> cache.find([b"k" * 16, b"x" * 16])
    {b'kkkkkkkkkkkkkkkk': b'kkkk'}
    """

    def __init__(self, root: Path, folders: tuple[str, ...], header: bytes, size: int) -> None:
        self._root = root
        self._folders = folders
        self._header = header + b"\n"
        self._record = KEY + size + SUM
        self._places: dict[bytes, int] = {}
        self._seen = (0, 0)
        self._end = 0

    def find(self, keys: Collection[bytes]) -> dict[bytes, bytes]:
        """Return the values that are there and whole.

        Raises:
            OSError: The cache cannot be opened or read.
        """
        found = {}
        with self._opened() as (file, _):
            for key in dict.fromkeys(keys):
                if (place := self._places.get(key)) is None:
                    continue
                record = os.pread(file, self._record, place)
                if record[:KEY] == key and self._sum(record[:-SUM]) == record[-SUM:]:
                    found[key] = record[KEY:-SUM]
        return found

    def add(self, values: Mapping[bytes, bytes]) -> None:
        """Keep these values.

        Raises:
            OSError: The cache cannot be opened or written.
        """
        records = b"".join(key + value + self._sum(key + value) for key, value in values.items())
        with self._opened() as (file, _):
            data, end = memoryview(records), self._end
            while data:
                # what is cut short by a full disk or a crash is cut off when next opened
                written = os.pwrite(file, data, end)
                data, end = data[written:], end + written

    def __len__(self) -> int:
        """Count the records that were there when last looked, needed or not."""
        return max(0, self._end - len(self._header)) // self._record

    def shrink(self, needed: Collection[bytes]) -> None:
        """Make the file anew, of the records with these keys.

        Raises:
            OSError: The cache cannot be opened or written; it is as it was.
        """
        with self._opened() as (file, folder):
            places = sorted(self._places[key] for key in needed if key in self._places)
            with suppress(FileNotFoundError):
                os.unlink("records.new", dir_fd=folder)
            fresh = os.open("records.new", FLAGS | os.O_EXCL, 0o600, dir_fd=folder)
            with os.fdopen(fresh, "wb") as out:
                out.write(self._header)
                for place in places:
                    out.write(os.pread(file, self._record, place))
            os.rename("records.new", "records", src_dir_fd=folder, dst_dir_fd=folder)

    def _sum(self, record: bytes) -> bytes:
        return zlib.crc32(record, zlib.crc32(self._header)).to_bytes(SUM, "little")

    @contextmanager
    def _opened(self) -> Iterator[tuple[int, int]]:
        """Lock the cache, catch up with what other processes added, and yield file and folder."""
        with ExitStack() as stack:
            folder = beneath(self._root, self._folders)
            stack.callback(os.close, folder)
            lock = os.open("lock", FLAGS, 0o600, dir_fd=folder)
            stack.callback(os.close, lock)
            fcntl.flock(lock, fcntl.LOCK_EX)
            # closing is not enough: a child forked meanwhile shares the handle
            stack.callback(fcntl.flock, lock, fcntl.LOCK_UN)
            file = self._file(folder)
            stack.callback(os.close, file)
            self._catch_up(file)
            yield file, folder

    def _file(self, folder: int) -> int:
        file = os.open("records", FLAGS | os.O_NONBLOCK, 0o600, dir_fd=folder)
        state = os.fstat(file)
        begins = os.pread(file, len(self._header), 0) if stat.S_ISREG(state.st_mode) else None
        if begins is None or state.st_nlink != 1 or not self._header.startswith(begins):
            os.close(file)
            os.rename("records", "records.aside", src_dir_fd=folder, dst_dir_fd=folder)
            return self._file(folder)
        if begins != self._header:
            # new, or a crash came while it was
            os.pwrite(file, self._header, 0)
        return file

    def _catch_up(self, file: int) -> None:
        state = os.fstat(file)
        if (state.st_dev, state.st_ino) != self._seen or state.st_size < self._end:
            self._seen, self._end = (state.st_dev, state.st_ino), len(self._header)
            self._places.clear()
        torn = (state.st_size - self._end) % self._record
        if torn:
            os.ftruncate(file, state.st_size - torn)
        end = state.st_size - torn
        while self._end < end:
            length = min(end - self._end, MANY * self._record)
            records = os.pread(file, length, self._end)
            for at in range(0, len(records), self._record):
                self._places[records[at : at + KEY]] = self._end + at
            self._end += length


def beneath(root: Path, folders: tuple[str, ...]) -> int:
    """Open a folder below `root`, made if needed; a link on the way is an error, not a way out."""
    opened = os.open(root, FOLDER)
    for name in folders:
        try:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=opened)
            inner = os.open(name, FOLDER, dir_fd=opened)
        finally:
            os.close(opened)
        opened = inner
    return opened
