"""Recording disk: a FUSE file whose writes and flushes are kept in order, to replay power cuts.

A loop device on that file passes every block that a file system writes on to us, in order, and
every flush. From the record any state can be made in which a power cut could have left the disk:
all that was written before the last flush, and of what came after it anything.

The protocol (linux/fuse.h) is spoken directly: of one file it is little, and neither libfuse nor a
binding has to be installed. Mounts are in a namespace of their own, so they end with the process
whatever becomes of it; so does a loop device that `mount` made.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

NAME = b"disk"
# What disks write at once, or not at all, in bytes.
SECTORS = (512, 4096)

_HEAD = struct.Struct("<IIQQIIIHH")
_ANSWER = struct.Struct("<IiQ")
_ATTRIBUTES = struct.Struct("<6Q10I")
_PLACE = struct.Struct("<QQII")
_RECORD = struct.Struct("<QQ")
_COUNT = struct.Struct("<Q")
_LARGEST = 128 << 10
_NODE = 2
_FLUSH = (1 << 64) - 1
_LOOKUP, _FORGET, _GETATTR, _SETATTR, _OPEN, _READ, _WRITE = 1, 2, 3, 4, 14, 15, 16
_STATFS, _RELEASE, _FSYNC, _CLOSED, _INIT, _OPENDIR = 17, 18, 20, 25, 26, 27
_RELEASEDIR, _INTERRUPT, _BATCH_FORGET = 29, 36, 42
_FUSE_BIG_WRITES = 1 << 5
_NEWNS, _PRIVATE = 0x20000, (1 << 18) | 0x4000

_libc = ctypes.CDLL(None, use_errno=True)


class Written(NamedTuple):
    """One entry of the record: bytes at a place, or a flush of everything before (`offset` < 0)."""

    offset: int
    data: bytes


def own_mounts() -> None:
    """Give this process mounts of its own, which end with it.

    Raises:
        OSError: This process may not.
    """
    if _libc.unshare(_NEWNS) or _libc.mount(b"none", b"/", None, _PRIVATE, None):
        number = ctypes.get_errno()
        raise OSError(number, f"no mounts of its own: {os.strerror(number)}")


def mounted(image: Path, folder: Path) -> None:
    """Mount an image on a new folder, through a loop device that ends with the mount.

    Raises:
        OSError: It cannot be mounted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    command = ["/bin/mount", "-o", "loop", str(image), str(folder)]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise OSError(done.stderr.decode(errors="replace").strip())


def unmount(folder: Path) -> None:
    """Unmount a folder; what is still busy goes as soon as it is not."""
    command = ["/bin/umount", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        subprocess.run([*command, "--lazy"], capture_output=True, check=False)


class RecordedDisk:
    """The image file as a disk, at `self.path`, with a record beside it.

    Its server is a child of this process. `position` is how much the record holds: what was
    acknowledged at a position must survive a power cut at that position or later.
    """

    def __init__(self, image: Path, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.path = folder / os.fsdecode(NAME)
        self.record = image.with_suffix(".record")
        self._count = mmap.mmap(-1, mmap.PAGESIZE)
        device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={device},rootmode=40000,user_id=0,group_id=0"
        if _libc.mount(b"recorded", os.fsencode(folder), b"fuse", 0, options.encode()):
            number = ctypes.get_errno()
            os.close(device)
            raise OSError(number, f"no FUSE file system: {os.strerror(number)}")
        self.pid = os.fork()
        if self.pid == 0:
            try:
                _Server(device, image, self.record, self._count).serve()
            finally:
                os._exit(0)
        os.close(device)

    @property
    def position(self) -> int:
        """Return how many entries the record has."""
        (count,) = _COUNT.unpack_from(self._count, 0)
        return int(count)

    def close(self) -> None:
        """End the file system and its server; the record stays."""
        unmount(self.folder)
        os.waitpid(self.pid, 0)

    def entries(self) -> Iterator[Written]:
        """Yield the record from its beginning."""
        with self.record.open("rb") as record:
            while head := record.read(_RECORD.size):
                offset, length = _RECORD.unpack(head)
                yield Written(-1 if offset == _FLUSH else offset, record.read(length))


class _Server:
    """Answers the kernel's requests, one after another."""

    def __init__(self, device: int, image: Path, record: Path, count: mmap.mmap) -> None:
        self.device = device
        self.image = os.open(image, os.O_RDWR | os.O_CLOEXEC)
        self.record = record.open("wb", buffering=0)
        self.count = count

    def serve(self) -> None:
        while True:
            try:
                request = os.read(self.device, _LARGEST + 8192)
            except InterruptedError:
                continue
            except OSError:
                # unmounted
                return
            _, code, unique, node, *_ = _HEAD.unpack_from(request)
            if code in {_FORGET, _BATCH_FORGET, _INTERRUPT}:
                continue
            try:
                answer, error = self.answer(code, node, request[_HEAD.size :]), 0
            except OSError as failed:
                answer, error = b"", failed.errno or errno.EIO
            head = _ANSWER.pack(_ANSWER.size + len(answer), -error, unique)
            os.write(self.device, head + answer)

    def answer(self, code: int, node: int, body: bytes) -> bytes:
        answers: dict[int, Callable[[int, bytes], bytes]] = {
            _INIT: self.init,
            _LOOKUP: self.lookup,
            _GETATTR: self.stat,
            _SETATTR: self.stat,
            _OPEN: self.opened,
            _OPENDIR: self.opened,
            _READ: self.read,
            _WRITE: self.write,
            _FSYNC: self.flush,
            _STATFS: lambda *_: struct.pack("<5Q10I", *[1 << 20] * 3, 1, 1, 4096, 255, *[0] * 8),
            **dict.fromkeys((_RELEASE, _RELEASEDIR, _CLOSED), lambda *_: b""),
        }
        if code not in answers:
            raise OSError(errno.ENOSYS, "")
        return answers[code](node, body)

    def lookup(self, _node: int, body: bytes) -> bytes:
        if body.rstrip(b"\0") != NAME:
            raise OSError(errno.ENOENT, "")
        return struct.pack("<4Q2I", _NODE, 0, 3600, 3600, 0, 0) + self.attributes(_NODE)

    def stat(self, node: int, _body: bytes) -> bytes:
        return struct.pack("<QII", 3600, 0, 0) + self.attributes(node)

    def opened(self, _node: int, _body: bytes) -> bytes:
        return struct.pack("<QII", 0, 0, 0)

    def read(self, _node: int, body: bytes) -> bytes:
        _, offset, size, _ = _PLACE.unpack_from(body)
        return os.pread(self.image, size, offset)

    def write(self, _node: int, body: bytes) -> bytes:
        _, offset, size, _ = _PLACE.unpack_from(body)
        data = body[-size:]
        os.pwrite(self.image, data, offset)
        self.note(offset, data)
        return struct.pack("<II", size, 0)

    def flush(self, _node: int, _body: bytes) -> bytes:
        self.note(_FLUSH, b"")
        return b""

    def init(self, _node: int, body: bytes) -> bytes:
        _, minor, ahead = struct.unpack_from("<III", body)
        flags = _FUSE_BIG_WRITES
        limits = struct.pack("<HHIIHHI7I", 16, 12, _LARGEST, 1, 0, 0, 0, *[0] * 7)
        return struct.pack("<IIII", 7, min(minor, 31), ahead, flags) + limits

    def attributes(self, node: int) -> bytes:
        size, mode = (0, 0o40755) if node == 1 else (os.fstat(self.image).st_size, 0o100600)
        return _ATTRIBUTES.pack(
            node, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0
        )

    def note(self, offset: int, data: bytes) -> None:
        self.record.write(_RECORD.pack(offset, len(data)) + data)
        (count,) = _COUNT.unpack_from(self.count, 0)
        _COUNT.pack_into(self.count, 0, count + 1)


def survivors(
    late: list[Written], random: Random, sectors: tuple[int, ...] = SECTORS
) -> Iterator[Written]:
    """Yield what of the writes since the last flush reached the disk: anything, in any order.

    A write may be torn between sectors of one of these sizes, in bytes. Most cuts come in the
    middle of much that is under way, so the share that survives is drawn first.
    """
    share = random.choice((0.0, 0.1, 0.5, 0.9, 1.0))
    for offset, data in late:
        if random.random() >= share:
            continue
        if random.random() < 0.7:
            yield Written(offset, data)
            continue
        sector = random.choice(sectors)
        start = 0
        while start < len(data):
            end = start + sector - (offset + start) % sector
            if random.random() < 0.5:
                yield Written(offset + start, data[start:end])
            start = end
