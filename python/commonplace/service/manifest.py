"""Manifest of a tenant in an object store: its files, and the segments that each is made of."""

from __future__ import annotations

import msgspec

from commonplace.errors import FormatError

MOST_SEGMENTS = 32
"""Segments of a file; beyond them the last ones are written again as one."""


class File(msgspec.Struct, array_like=True, frozen=True):
    """A file: an id, the same as long as it only grows, and its segments with their sizes."""

    id: str
    segments: tuple[tuple[str, int], ...]

    @property
    def size(self) -> int:
        """Its bytes."""
        return sum(size for _, size in self.segments)


class Manifest(msgspec.Struct, frozen=True):
    """The files of a tenant by path; `commit` tells each manifest from all others.

    The commits before it, the last one first, say whether a change without an answer was made.
    """

    commit: str = ""
    files: dict[str, File] = {}
    earlier: tuple[str, ...] = ()

    @classmethod
    def read(cls, data: bytes) -> Manifest:
        """Return a manifest, empty where there is none.

        Raises:
            FormatError: It is none.
        """
        try:
            return msgspec.json.decode(data, type=cls) if data else cls()
        except msgspec.MsgspecError as error:
            raise FormatError(f"the manifest of this memory cannot be read: {error}") from None

    def segments(self) -> set[str]:
        """Return the names of all objects that it names."""
        return {name for file in self.files.values() for name, _ in file.segments}


def first_rewritten(sizes: list[int], added: int) -> int:
    """Return from which segment on a file that has grown is written again, as one with what is new.

    Each byte is written again a number of times that grows with the logarithm of the file.

    >>> first_rewritten([5, 1], 1)
    2
    >>> first_rewritten([900, 100, *[1] * 30], 1)
    2
    """
    if len(sizes) < MOST_SEGMENTS:
        return len(sizes)
    after = added + sum(sizes)
    for at, size in enumerate(sizes):
        after -= size
        if size <= after:
            return at
    return len(sizes)
