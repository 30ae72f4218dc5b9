"""Page of a long text: from a character on, cut at a line end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class TextPage(NamedTuple):
    """A page; `following` is the character at which the next one begins, None at the end."""

    text: str
    following: int | None = None


def page_of(parts: Iterable[tuple[str, str]], start: int, length: int) -> TextPage:
    r"""Return a page of a text that is made of parts, of which no more are asked for than needed.

    Args:
        parts: A separator and a text each; the separator is left out where nothing stands before.
        start: The first character of the page.
        length: The most characters of it; it ends with a line, unless a line is half as long.

    Returns:
        The page, empty for a text that is empty; behind the end of a text the page says so.

    >>> page_of([("", "one\n"), ("--\n", "two\n")], 0, 8)
    TextPage(text='one\n--\n', following=7)
    >>> page_of([("", "one\n"), ("--\n", "two\n")], 7, 8)
    TextPage(text='two\n', following=None)
    """
    shown = ""
    for separator, text in parts:
        shown += f"{separator}{text}" if shown else text
        if len(shown) > start + length:
            break
    page = shown[start : start + length]
    if len(shown) <= start + length:
        return TextPage(
            page or (f"There is nothing after character {len(shown)}." if shown else "")
        )
    if (cut := page.rfind("\n") + 1) > length // 2:
        page = page[:cut]
    return TextPage(page, start + len(page))
