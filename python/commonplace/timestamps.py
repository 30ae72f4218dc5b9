"""Conversion of a caller's timestamp to seconds since 1970."""

from __future__ import annotations

from datetime import UTC, date, datetime

When = datetime | date | str | float


def seconds(moment: When | None) -> float | None:
    """Return a moment as seconds since 1970; one without a zone is read as UTC.

    Args:
        moment: A datetime, a date (its first instant), ISO 8601 text, or seconds since 1970.

    Raises:
        ValueError: The text is not ISO 8601, such as `2026-02-01` or `2026-02-01T10:30`.
        TypeError: It is none of these.

    >>> seconds("2026-02-01")
    1769904000.0
    """
    if moment is None or isinstance(moment, (int, float)):
        return moment
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError:
            told = f"{moment!r:.40} is no date or time; write 2026-02-01 or 2026-02-01T10:30"
            raise ValueError(told) from None
    elif not isinstance(moment, date):
        raise TypeError(f"a time is a datetime, a date, text or a number, not {moment!r:.40}")
    elif not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
