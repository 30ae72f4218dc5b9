"""Paths as callers give them: text, or `pathlib` objects, of which absolute ones may be given."""

from __future__ import annotations

import os

from commonplace.errors import Refused

GivenPath = str | os.PathLike[str]
"""A path in a store: text relative to its root, or an object such as `pathlib.Path`."""


def relative(path: object, *roots: str) -> str:
    """Return a path as the core takes it.

    Args:
        path: Text is left as it is, and the core checks it. Of an object an absolute path is made
            relative to the root, and a relative one begins there.
        roots: The names of the root; one that is not absolute is no name for long. They are
            compared as names: what a link on the way leads to is for the core to see.

    Raises:
        Refused: An absolute path is not in the root.
        TypeError: It is neither.

    >>> from pathlib import Path
    >>> relative(Path("facts") / "user.md", "/notes")
    'facts/user.md'
    >>> relative(Path("/notes/facts"), "/notes")
    'facts'
    """
    if isinstance(path, str):
        return path
    given = os.fspath(path) if isinstance(path, os.PathLike) else None
    if not isinstance(given, str):
        raise TypeError(f"a path is text (str) or os.PathLike[str], not {type(path).__name__}")
    from pathlib import Path  # noqa: PLC0415 - a command starts without it

    inner = Path(given)
    if inner.is_absolute():
        above = next((root for root in roots if inner.is_relative_to(root)), None)
        if above is None:
            error = Refused(
                f"{given[:120]!r} is refused (absolute): it is not in the memory at "
                f"{roots[0]!r}; give a path in it, or one relative to it"
            )
            error.code = "absolute"
            raise error
        inner = inner.relative_to(above)
    return "" if inner == Path() else inner.as_posix()
