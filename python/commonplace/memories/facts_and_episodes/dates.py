"""Dates as people and models write them at the beginning of a line."""

from __future__ import annotations

import re
from datetime import date

from commonplace.calendar_names import MONTHS

_MONTHS = [name[:3] for name in MONTHS]
_MONTH = rf"(?P<name>{'|'.join(_MONTHS)})[a-z]*\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_BEFORE = r"[\[(【（]?(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,? )?"
# What ends a stamp: without a year "May 3 of us met" is none
_BEHIND = r"(?=[\])】）:：])"
_FORMS = [
    re.compile(rf"{_BEFORE}{form}(?!\d)", re.IGNORECASE)
    for form in (
        r"(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})",
        r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})",
        r"(?P<year>\d{4}) ?年 ?(?P<month>\d{1,2}) ?月 ?(?P<day>\d{1,2})(?: ?[日号])?",
        rf"{_DAY} {_MONTH},? (?P<year>\d{{4}})",
        rf"{_MONTH} {_DAY},? (?P<year>\d{{4}})",
        r"(?P<month>\d{1,2}) ?月 ?(?P<day>\d{1,2}) ?[日号]",
        rf"{_MONTH} {_DAY}{_BEHIND}",
        rf"{_DAY} {_MONTH}{_BEHIND}",
    )
]


def written_date(text: str, until: date | None = None) -> date | None:
    """Return the date that a text begins with, or None.

    One of numbers alone begins with the year, or has points between them: `02/03/2026` is February
    in one country and March in another.

    Args:
        text: What a line says.
        until: Of a date without a year the last up to this day is meant; default: it is none.

    >>> written_date("[2026-02-24] logger fix"), written_date("02/03/2026")
    (datetime.date(2026, 2, 24), None)
    >>> written_date("2026年2月4日") == written_date("Feb 4th, 2026") == written_date("4.2.2026")
    True
    >>> written_date("12月30日吃饭", date(2026, 2, 4))
    datetime.date(2025, 12, 30)
    """
    found = next(filter(None, (form.match(text) for form in _FORMS)), None)
    if found is None:
        return None
    parts = found.groupdict()
    month = int(parts.get("month") or 1 + _MONTHS.index(parts["name"][:3].lower()))
    if "year" in parts:
        return _day(int(parts["year"]), month, int(parts["day"]))
    years = [until.year, until.year - 1] if until else []
    days = (_day(year, month, int(parts["day"])) for year in years)
    return next((day for day in days if day and until and day <= until), None)


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
