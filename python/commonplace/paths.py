"""Paths as callers give them: text, or objects such as `pathlib.Path`."""

from __future__ import annotations

import os

from commonplace.errors import InvalidArgument

GivenPath = str | os.PathLike[str]
"""A path in a store, relative to its root or absolute: text or an object such as `pathlib.Path`."""


def path_text(path: object) -> str:
    """Return a path as text.

    Raises:
        InvalidArgument: It is no path.

    >>> from pathlib import Path
    >>> path_text("facts"), path_text(Path("facts") / "user.md")
    ('facts', 'facts/user.md')
    """
    if isinstance(path, str):
        return path
    given = os.fspath(path) if isinstance(path, os.PathLike) else None
    if not isinstance(given, str):
        kind = type(path).__name__
        raise InvalidArgument(f"a path is text (str) or os.PathLike[str], not {kind}")
    return given
