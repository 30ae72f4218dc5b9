"""Damage to cache files for the campaigns: random bytes, or crafted with valid checksums."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from random import Random

import xxhash

# The layout of the snapshot (`catalog/snapshot/mod.rs`): a head of 40 bytes, then the directory,
# whose entries are the first byte of an array, its length, and XXH3 of it. Some arrays hold such
# entries themselves, for their pages.
HEAD, ENTRY = 40, 24
MAGIC, GRAM_INDEX = b"CMNPLACE", b"cmngrams"
FOOT = 32
EDGES = (0, 1, 2, 3, 7, 8, 127, 128, 255, 256, 2**15, 2**16 - 1, 2**24, 2**31 - 1, 2**31, 2**32 - 1)


def damaged(random: Random, data: bytes) -> tuple[str, bytes]:
    """Return how some bytes were damaged, and what came of them."""
    size, at = len(data), random.randrange(max(1, len(data)))
    length = min(random.choice([1, 8, 64, 512, 4096]), size - at)
    match random.randrange(8):
        case 0 | 1 | 2:
            bit = 1 << random.randrange(8)
            flipped = bytes([data[at] ^ bit]) if data else b""
            return f"bit {bit} of byte {at} flipped", data[:at] + flipped + data[at + 1 :]
        case 3:
            return f"cut to {at} of {size} bytes", data[:at]
        case 4:
            return f"{length} zeros at {at}", data[:at] + bytes(length) + data[at + length :]
        case 5:
            noise = random.randbytes(length)
            return f"{length} random bytes at {at}", data[:at] + noise + data[at + length :]
        case 6:
            return "longer by zeros", data + bytes(length or 1)
        case _:
            other = random.randrange(max(1, size - length + 1))
            moved = data[:at] + data[other : other + length] + data[at + length :]
            return f"{length} bytes of {other} at {at}", moved


def replaced(random: Random, path: Path) -> str:
    """Put something else in the place of a file."""
    path.unlink()
    match random.randrange(5):
        case 0:
            path.mkdir()
            (path / "x").write_text("x")
            return "a folder"
        case 1:
            os.mkfifo(path)
            return "a FIFO"
        case 2:
            path.symlink_to("/dev/zero")
            return "a link to /dev/zero"
        case 3:
            with path.open("wb") as file:
                file.truncate(1 << 40)
            return "a file of 1 TB of nothing"
        case _:
            path.write_bytes(b"")
            return "an empty file"


def crafted(random: Random, data: bytes) -> tuple[str, bytes]:
    """Change one number of a snapshot or of a gram index, and make all checksums right again."""
    if data[:8] == MAGIC:
        return crafted_snapshot(random, bytearray(data))
    if data[-FOOT : -FOOT + 8] == GRAM_INDEX:
        return crafted_gram_index(random, bytearray(data))
    raise ValueError("this is a cache in a form that `damage.py` does not know")


def entries(data: bytearray, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield where the entries of a directory stand, and what they name."""
    for at in range(start, end - ENTRY + 1, ENTRY):
        first, length, _ = struct.unpack_from("<QQQ", data, at)
        yield at, first, length


def is_directory(data: bytearray, start: int, length: int) -> bool:
    """Return whether an array holds entries for pages."""
    if not length or length % ENTRY:
        return False
    for at, first, size in entries(data, start, start + length):
        if first + size > len(data):
            return False
        (digest,) = struct.unpack_from("<Q", data, at + 16)
        if xxhash.xxh3_64_intdigest(bytes(data[first : first + size])) != digest:
            return False
    return True


def number_at(random: Random, data: bytearray, start: int, length: int) -> str:
    """Change one number between two bytes."""
    width = random.choice([width for width in (1, 2, 4, 8) if width <= length])
    at = start + random.randrange(length // width) * width
    old = int.from_bytes(data[at : at + width], "little")
    new = random.choice(
        [*EDGES, old + 1, old - 1, old * 2, random.getrandbits(8 * width), 2**64 - 1]
    )
    data[at : at + width] = (new % (1 << 8 * width)).to_bytes(width, "little")
    return f"{width} bytes at {at}: {old} → {new % (1 << 8 * width)}"


def sign(data: bytearray, entry: int) -> None:
    """Make the checksum of what an entry names right."""
    first, length, _ = struct.unpack_from("<QQQ", data, entry)
    piece = bytes(data[first : first + length])
    struct.pack_into("<Q", data, entry + 16, xxhash.xxh3_64_intdigest(piece))


def crafted_snapshot(random: Random, data: bytearray) -> tuple[str, bytes]:
    # the arrays begin where the directory ends
    end = min(first for _, first, length in entries(data, HEAD, HEAD + ENTRY) if length)
    top = list(enumerate(entries(data, HEAD, end)))
    number, (entry, first, length) = random.choice([one for one in top if one[1][2]])
    if random.random() < 0.05:
        message = f"entry {number}: {number_at(random, data, entry, 16)}"
    elif is_directory(data, first, length) and random.random() < 0.9:
        pages = list(entries(data, first, first + length))
        page, start, size = random.choice(pages)
        message = f"array {number}, page at {start}: {number_at(random, data, start, size)}"
        sign(data, page)
        sign(data, entry)
    else:
        message = f"array {number}: {number_at(random, data, first, length)}"
        sign(data, entry)
    struct.pack_into("<Q", data, 32, xxhash.xxh3_64_intdigest(bytes(data[HEAD:end])))
    return message, bytes(data)


def crafted_gram_index(random: Random, data: bytearray) -> tuple[str, bytes]:
    foot = len(data) - FOOT
    (length,) = struct.unpack_from("<Q", data, foot + 16)
    message = number_at(random, data, foot - length, length)
    head = bytes(data[foot - length : foot])
    struct.pack_into("<Q", data, foot + 24, xxhash.xxh3_64_intdigest(head))
    return f"the head: {message}", bytes(data)
