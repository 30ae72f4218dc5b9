"""Conversion of timestamps as callers write them: moments, ISO 8601, and words such as `3d`."""

from __future__ import annotations

import re
import time
from datetime import UTC, date, datetime, timedelta

from commonplace.errors import InvalidArgument

When = datetime | date | str | float

KNOWN = "2026-02-01, 2026-02-01T10:30, today, yesterday, this week, last month, 12h, 3d, 2w or 1y"

_SPAN = re.compile(
    r"(\d{1,6}) ?(?:(min|minutes?)|(h|hours?)|(d|days?)|(w|weeks?)|(y|years?))(?: ago)?",
    re.IGNORECASE,
)
_SPAN_SECONDS = (60, 3600, 86_400, 7 * 86_400, 365 * 86_400)


def seconds(moment: When | None) -> float | None:
    """Return a moment as seconds since 1970; one without a zone is read as UTC.

    Args:
        moment: A datetime, a date (its first instant), seconds since 1970, or text: ISO 8601, or
            `now`, `today`, `yesterday`, `this` or `last` with `week`, `month` or `year` (the first
            instant of these days where this machine is), or how long ago, as `30min`, `12h`,
            `3d`, `2w`, `1y` (365 days) or `3 days ago`.

    Raises:
        InvalidArgument: The text is none of these, or it is of another type.

    >>> seconds("2026-02-01")
    1769904000.0
    >>> seconds("3d") - seconds("4 days ago") > 86_399
    True
    """
    if moment is None or isinstance(moment, (int, float)):
        return moment
    if isinstance(moment, str):
        relative = seconds_of_words(moment, time.time())
        if relative is not None:
            return relative
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError:
            raise InvalidArgument(f"{moment!r:.40} is no date or time; write {KNOWN}") from None
    elif not isinstance(moment, date):
        raise InvalidArgument(f"a time is a datetime, a date, text or a number, not {moment!r:.40}")
    elif not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def seconds_of_words(text: str, now: float) -> float | None:
    """Return the moment that words name at `now`, both as seconds since 1970; None for others.

    >>> seconds_of_words("12h", 1_769_904_000), seconds_of_words("noon", 1_769_904_000)
    (1769860800, None)
    """
    words = " ".join(text.lower().split())
    if span := _SPAN.fullmatch(words):
        units = zip(span.groups()[1:], _SPAN_SECONDS, strict=True)
        return now - int(span[1]) * sum(length for unit, length in units if unit)
    today = datetime.fromtimestamp(now).date()  # noqa: DTZ006 - days are those of this machine
    before = timedelta(days=1)
    monday, first = today - timedelta(days=today.weekday()), today.replace(day=1)
    begins = {
        "today": today,
        "yesterday": today - before,
        "this week": monday,
        "last week": monday - timedelta(days=7),
        "this month": first,
        "last month": (first - before).replace(day=1),
        "this year": first.replace(month=1),
        "last year": first.replace(month=1, year=first.year - 1),
    }
    if words == "now":
        return now
    day = begins.get(words)
    # without a zone it is read as a time of this machine
    return datetime(day.year, day.month, day.day).timestamp() if day else None  # noqa: DTZ001
