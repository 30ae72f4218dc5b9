"""Citation of lines, `path#L10-L20`, as search results give it."""

from __future__ import annotations

from commonplace.errors import QueryError

LAST = 2**40
"""The last line that can be cited; no file has so many."""


def cite(path: str, first: int | None, last: int | None = None) -> str:
    """Return the citation of a line, or of the lines from the first to the last.

    It is the inverse of `located`: without a line it is the path.

    >>> cite("a.md", 3), cite("a.md", 3, 3), cite("a.md", 3, 9), cite("a.md", None)
    ('a.md#L3', 'a.md#L3', 'a.md#L3-L9', 'a.md')
    """
    if first is None:
        return path
    return f"{path}#L{first}" if last in {None, first} else f"{path}#L{first}-L{last}"


def is_citation(text: str) -> bool:
    """Say whether a text is a path and its lines.

    >>> [is_citation(text) for text in ("a.md#L3", "a#b.md#L3-L9", "a.md#L3-9", "a.md", "a.md#3")]
    [True, True, True, False, False]
    """
    path, _, span = text.rpartition("#")
    return bool(path) and span.startswith("L") and _digits(span) is not None


def located(where: str, lines: str | None = None) -> tuple[str, int | None, int | None]:
    """Return path, first and last line of a citation.

    Args:
        where: A path, or a citation.
        lines: A range of lines such as `10` or `10-20`, which counts before that of the citation.

    Raises:
        QueryError: It is no range of lines.

    >>> located("a#b.md#L10-L20"), located("a.md", "7"), located("a.md")
    (('a#b.md', 10, 20), ('a.md', 7, 7), ('a.md', None, None))
    """
    path, _, span = where.rpartition("#") if is_citation(where) else (where, "", "")
    span = lines or span
    if not span:
        return path, None, None
    first, last = (_line(digits) for digits in _digits(span) or ("0", "0"))
    if not 0 < first <= last:
        raise QueryError(f"{span!r} is no range of lines; write 10 or 10-20, counted from 1")
    return path, first, last


def _digits(span: str) -> tuple[str, str] | None:
    """Return the digits of the first and of the last line of `L10-L20`, `L10-20` or `L10`."""
    first, dash, last = span.removeprefix("L").partition("-")
    last = last.removeprefix("L") if dash else first
    return (first, last) if first.isdecimal() and last.isdecimal() else None


def _line(digits: str) -> int:
    # Python refuses to read a number of thousands of digits
    return min(int(digits), LAST) if len(digits) < len(str(LAST)) + 3 else LAST
