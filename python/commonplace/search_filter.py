"""Conversion of a caller's search filter: a `SearchFilter`, or its fields as keyword arguments."""

from __future__ import annotations

from commonplace._core import SearchFilter

# for types only: a command starts without `typing`
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal, TypedDict

    from commonplace.paths import GivenPath
    from commonplace.timestamps import When

    class FilterFields(TypedDict, total=False):
        """The keyword arguments of `SearchFilter`, which has their meaning."""

        prefix: GivenPath | Iterable[GivenPath] | None
        source: Literal["note", "message"] | None
        since: When | None
        until: When | None
        role: str | None
        session: str | None
        category: str | None
        exclude: Iterable[tuple[GivenPath, int, int]] | None
        tools: bool | None


def given_filter(filter: SearchFilter | None, fields: FilterFields) -> SearchFilter:
    """Return the filter that a caller gave, in either form.

    Args:
        filter: The one form.
        fields: The other.

    Raises:
        TypeError: Both were given, or there is no such field.
        QueryError: Nothing can pass.
        ValueError: A field has no such value.

    >>> given_filter(None, {"role": "user"}) == SearchFilter(role="user")
    True
    """
    if unknown := [name for name in fields if not hasattr(SearchFilter, name)]:
        raise TypeError(f"there is no argument {unknown[0]!r}, and a filter has no such field")
    if filter is None:
        return SearchFilter(**fields)
    if fields:
        named = ", ".join(fields)
        raise TypeError(f"{named} beside filter: put it into the SearchFilter")
    return filter
