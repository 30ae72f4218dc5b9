"""File stamp: inode, size and times, which tell whether a file has changed."""

from __future__ import annotations

from typing import NamedTuple


class Stamp(NamedTuple):
    """What tells one state of a file from another without reading it; times in ns since 1970."""

    inode: int
    size: int
    modified_ns: int
    changed_ns: int
