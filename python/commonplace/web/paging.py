"""Keyset pagination: the next part of a list begins behind the last entry, named in the address."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from commonplace.citation import is_citation, located

if TYPE_CHECKING:
    from commonplace.web.page import Page

Listed = TypeVar("Listed")


@dataclass(frozen=True)
class Part(Generic[Listed]):
    """A part of a list, with the addresses of the next part and of the first."""

    entries: Sequence[Listed]
    following: str | None
    """None where the list ends."""
    first: str | None
    """None where this is the first part."""

    @property
    def is_all(self) -> bool:
        """Whether the list has no other parts."""
        return not (self.following or self.first)


def part(
    page: Page,
    found: Sequence[Listed],
    most: int,
    key: Callable[[Listed], str],
    *,
    name: str = "after",
    start: int | None = None,
) -> Part[Listed]:
    """Return the part of a list that an address asks for.

    Args:
        page: Its query has the key of the last entry that was shown.
        found: The whole list, or what of it is not before the part, and one entry more than that.
        most: Entries of a part.
        key: Returns the key of an entry, by which it is found again.
        name: The field of the query.
        start: Where the part begins in the list; default: behind the entry of the key, and at the
            beginning where that is gone.
    """
    cursor = page.query.get(name, "")
    if start is None:
        keys = enumerate(found, 1) if cursor else ()
        start = next((at for at, one in keys if key(one) == cursor), 0)
    entries = found[start : start + most]
    following = {name: key(entries[-1])} if entries and len(found) > start + most else None
    return Part(
        entries,
        page.address(**following) if following else None,
        page.address(**{name: None}) if cursor else None,
    )


def after(
    found: Iterable[Listed],
    citation: str,
    cite: Callable[[Listed], str],
    *,
    newest_first: bool = False,
) -> int:
    """Return where the entries behind a citation begin.

    Where it is gone, those behind its line begin there; where its file has no entries any more, the
    list begins anew.

    Args:
        found: All entries.
        citation: Of the last one that was shown.
        cite: Returns the citation of an entry.
        newest_first: The last lines of a file come first.

    >>> after(["a.md#L1", "a.md#L5", "b.md#L1"], "a.md#L3", str)
    1
    >>> after(["a.md#L1", "a.md#L5", "b.md#L1"], "a.md#L7", str)
    2
    >>> after(["b.md#L1", "a.md#L5", "a.md#L1"], "a.md#L3", str, newest_first=True)
    2
    """
    places = {cite(one): at for at, one in enumerate(found, 1)}
    if citation in places or not is_citation(citation):
        return places.get(citation, 0)
    path, line, _ = located(citation)
    lines = [(at, located(one)[1] or 0) for one, at in places.items() if located(one)[0] == path]
    for before, first in lines:
        if (first < (line or 0)) if newest_first else (first > (line or 0)):
            return before - 1
    return lines[-1][0] if lines else 0
