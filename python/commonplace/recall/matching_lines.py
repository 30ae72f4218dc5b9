r"""Substring search: the lines and messages that hold a text, with the lines around each.

Words of a search are whole words; a text is found wherever it stands, also within one.

    1. facts/user.md#L4
       3-Role: developer
       4:Wrote the authentication of the billing service
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Unpack

from commonplace._core import Match
from commonplace.errors import NotFound, QueryError
from commonplace.store import Store

if TYPE_CHECKING:
    from commonplace.search_filter import FilterFields

MOST_CONTEXT = 20
"""The most lines that are shown before, and after, a match."""


def find_text(
    store: Store,
    text: str,
    prefixes: Iterable[str],
    limit: int,
    *,
    context: int = 0,
    keep: Callable[[Match], bool] | None = None,
    **fields: Unpack[FilterFields],
) -> list[Match]:
    r"""Return the first lines of notes, and messages, that hold a text, in file order.

    Args:
        store: Where to look.
        text: Taken literally; upper and lower case are one.
        prefixes: Files and folders to look into, one after the other; one that is not there holds
            nothing.
        limit: Most matches to show; one more is returned where there are more.
        context: Neighbouring lines or messages to have with each match, 0 to 20 on each side.
        keep: Only matches of which this is true.
        **fields: Of a filter, as for `Store.grep`.

    Raises:
        QueryError: The text is empty, the limit below 1, or the context out of its range.

    >>> import commonplace, tempfile
    >>> store = commonplace.open(tempfile.mkdtemp())
    >>> _ = store.write("user.md", "# User\n\nWrote the authentication\n")
    >>> found = find_text(store, "AUTHENTICAT", [""], 5, context=1)
    >>> print(listed(found, "AUTHENTICAT", 5))
    1. user.md#L3
       2-
       3:Wrote the authentication
    """
    if limit < 1:
        raise QueryError(f"a limit is 1 or more, not {limit}")
    check_context(context)
    if not text.strip():
        raise QueryError("there is no text to look for: give at least one word")
    found: list[Match] = []
    for prefix in prefixes:
        fields["prefix"] = prefix or None
        with suppress(NotFound):
            matches = store.grep(
                text, fixed=True, ignore_case=True, before=context, after=context, **fields
            )
            for match in matches:
                if keep is None or keep(match):
                    found.append(match)
                if len(found) > limit:
                    return found
    return found


def check_context(context: int) -> None:
    """Check how many neighbours are asked for.

    Raises:
        QueryError: They are less than 0, or more than `MOST_CONTEXT`.
    """
    if not 0 <= context <= MOST_CONTEXT:
        raise QueryError(f"a context is 0 to {MOST_CONTEXT} lines, not {context}")


def listed(found: Sequence[Match], text: str, limit: int, cite: Callable[[str], str] = str) -> str:
    """Return matches as text for a model: of each its citation, and its lines as grep shows them.

    Args:
        found: One more than `limit`, where there are more.
        text: What was looked for.
        limit: Most matches to show.
        cite: Makes of a citation what is shown.
    """
    if not found:
        return f"No line holds {text!r:.200}."
    shown = [f"{number}. {_shown(one, cite)}" for number, one in enumerate(found[:limit], 1)]
    if len(found) > limit:
        shown.append(f"[There is more: the same call with limit={limit * 2}.]")
    return "\n".join(shown)


def _shown(match: Match, cite: Callable[[str], str]) -> str:
    lines = [
        *(_line(line, "-", role, text) for line, role, text in match.before),
        _line(match.line, ":", match.role, match.snippet),
        *(_line(line, "-", role, text) for line, role, text in match.after),
    ]
    return "\n".join([cite(match.citation), *lines])


def _line(number: int, mark: str, role: str | None, text: str) -> str:
    said = f"{role}: " if role else ""
    return f"   {number}{mark}{said}{' '.join(text.split())}"
