"""Paths as callers give them: text, or objects such as `pathlib.Path`."""

from __future__ import annotations

import os

GivenPath = str | os.PathLike[str]
"""A path in a store, relative to its root or absolute: text or an object such as `pathlib.Path`."""


def path_text(path: object) -> str:
    """Return a path as text.

    Raises:
        TypeError: It is no path.

    >>> from pathlib import Path
    >>> path_text("facts"), path_text(Path("facts") / "user.md")
    ('facts', 'facts/user.md')
    """
    if isinstance(path, str):
        return path
    given = os.fspath(path) if isinstance(path, os.PathLike) else None
    if not isinstance(given, str):
        raise TypeError(f"a path is text (str) or os.PathLike[str], not {type(path).__name__}")
    return given
