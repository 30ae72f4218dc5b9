"""Times and titles as a page shows them."""

from __future__ import annotations

import time

TITLE = 100
"""Characters at which the store cuts a prompt that stands for a title."""


def when(seconds: float | None) -> str:
    """Return seconds since 1970 as date and time where this machine is; nothing for None."""
    if seconds is None:
        return ""
    # strftime writes a year before 1000 with fewer digits
    year, month, day, hour, minute, *_ = time.localtime(seconds)
    return f"{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}"


def title_text(title: str | None) -> str:
    """Return a title; one that was cut, from the first line of a prompt, with a mark.

    >>> title_text("Tea"), title_text(None), title_text("x" * 100)[-3:]
    ('Tea', '', 'xx…')
    """
    return f"{title}…" if title and len(title) >= TITLE else title or ""


def day(seconds: float | None) -> str:
    """Return seconds since 1970 as a date where this machine is; nothing for None."""
    return when(seconds)[:10]
