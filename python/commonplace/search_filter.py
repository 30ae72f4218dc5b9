"""Conversion of a caller's search filter: a `SearchFilter`, or its fields as keyword arguments."""

from __future__ import annotations

import os

from commonplace._core import SearchFilter

# for types only: a command starts without `typing`
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
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
        exclude: Iterable[tuple[str, int, int]] | None
        tools: bool | None


def given_filter(
    filter: SearchFilter | None, fields: FilterFields, relative: Callable[[GivenPath], str]
) -> SearchFilter:
    """Return the filter that a caller gave, in either form.

    Args:
        filter: The one form.
        fields: The other.
        relative: Makes a path relative to the root (`Files.relative`).

    Raises:
        TypeError: Both were given, or there is no such field.
        QueryError: Nothing can pass.
        ValueError: A field has no such value.

    >>> given_filter(None, {"role": "user"}, str) == SearchFilter(role="user")
    True
    """
    if filter is None:
        prefix = fields.get("prefix")
        if isinstance(prefix, os.PathLike):
            fields["prefix"] = relative(prefix)
        elif prefix is not None and not isinstance(prefix, str):
            fields["prefix"] = [relative(one) for one in prefix]
        return SearchFilter(**fields)
    if fields:
        named = ", ".join(fields)
        raise TypeError(f"{named} beside filter: put it into the SearchFilter")
    return filter
