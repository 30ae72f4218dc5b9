"""Dates as people and models write them at the beginning of a line."""

from __future__ import annotations

import re
from datetime import date

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = rf"(?P<name>{'|'.join(_MONTHS)})[a-z]*\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_FORMS = [
    re.compile(rf"(?:[a-z]{{3,9}},? )?{form}(?!\d)", re.IGNORECASE)
    for form in (
        r"(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})",
        r"(?P<year>\d{4}) ?年 ?(?P<month>\d{1,2}) ?月 ?(?P<day>\d{1,2})(?: ?[日号])?",
        rf"{_DAY} {_MONTH},? (?P<year>\d{{4}})",
        rf"{_MONTH} {_DAY},? (?P<year>\d{{4}})",
    )
]


def written_date(text: str) -> date | None:
    """Return the date that a text begins with, or None.

    One of numbers alone begins with the year: `02/03/2026` is February in one country and March
    in another.

    >>> written_date("2026-02-24: logger fix"), written_date("02/03/2026")
    (datetime.date(2026, 2, 24), None)
    >>> written_date("2026年2月4日") == written_date("Feb 4th, 2026") == written_date("4 Feb 2026")
    True
    """
    for form in _FORMS:
        if found := form.match(text):
            parts = found.groupdict()
            month = parts.get("month") or 1 + _MONTHS.index(parts["name"][:3].lower())
            try:
                return date(int(parts["year"]), int(month), int(parts["day"]))
            except ValueError:
                return None
    return None
