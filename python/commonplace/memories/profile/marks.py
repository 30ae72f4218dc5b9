"""Mark at the end of an entry: since when it holds and until when, and who said it.

    - User lives in Lisbon <!-- 2026-11-02 -->
    - ~~User lives in Berlin~~ <!-- META: since=2026-02-24 until=2026-11-01 -->

A day alone is `since`. All days are inclusive: `until` is the last day on which the entry is true.
What is no longer true is struck through as well, for whoever reads the rendered note. A comment
with another key or value is no mark: it stays part of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from commonplace import _core

OWNER = "owner"

_MARK = re.compile(
    r"(?P<gap>[ \n])(?P<comment><!-- (?:(?P<day>\d{4}-\d{2}-\d{2})|META: [^<>\n]+) -->)\Z"
)
_AUTHOR = re.compile(r"[a-z]{1,20}")


@dataclass(frozen=True, slots=True)
class Mark:
    """What is known of an entry besides its text.

    `since` is the day from which it is true, or on which it was first said; `seen` the last day on
    which it was said again; `until` the last day on which it is true. `by` is who said it: "owner",
    "agent", "other" or "document".
    """

    since: date | None = None
    seen: date | None = None
    until: date | None = None
    by: str = OWNER

    def holds(self, day: date) -> bool:
        """Return whether the entry is true on a day.

        >>> Mark(until=date(2026, 11, 1)).holds(date(2026, 11, 2))
        False
        """
        return (self.since is None or self.since <= day) and not self.is_past(day)

    def holds_in(self, year: int) -> bool:
        """Return whether the entry is true on any day of a year."""
        begins = self.since is None or self.since.year <= year
        return begins and (self.until is None or self.until.year >= year)

    def is_past(self, day: date) -> bool:
        """Return whether the entry is no longer true on a day."""
        return self.until is not None and self.until < day

    def __str__(self) -> str:
        """Return the comment that says this; empty where there is nothing to say."""
        if self == Mark(since=self.since):
            return f"<!-- {self.since.isoformat()} -->" if self.since else ""
        days = {"since": self.since, "seen": self.seen, "until": self.until}
        fields = [f"{key}={day.isoformat()}" for key, day in days.items() if day]
        if self.by != OWNER:
            fields.append(f"by={self.by}")
        return f"<!-- META: {' '.join(fields)} -->"


def split_mark(text: str) -> tuple[str, Mark]:
    """Return a text without the mark at its end, and the mark.

    >>> split_mark("Tea <!-- META: until=2026-11-01 by=agent -->")
    ('Tea', Mark(since=None, seen=None, until=datetime.date(2026, 11, 1), by='agent'))
    """
    found = _MARK.search(text)
    # within a quotation it is part of what is quoted
    if not found or (text.startswith(">") and found["gap"] != "\n"):
        return text, Mark()
    comment = _core.meta_comment(found["comment"])
    mark = _read(dict(comment.fields) if comment else {"since": found["day"]})
    if mark is None:
        return text, Mark()
    text = text[: found.start()]
    return (unstruck(text) if mark.until else text), mark


def struck(text: str) -> str:
    """Return a text of one line as it is written when it is no longer true."""
    plain = "\n" not in text and "~" not in text and not text.startswith(">")
    return f"~~{text}~~" if plain else text


def unstruck(text: str) -> str:
    """Return what `struck()` was given."""
    bare = text.removeprefix("~~").removesuffix("~~")
    return bare if bare.strip() and struck(bare) == text else text


def _read(fields: dict[str, str]) -> Mark | None:
    """Return the mark with these fields; None where one of them is no field of a mark."""
    by = fields.pop("by", OWNER)
    try:
        days = {key: date.fromisoformat(value) for key, value in fields.items()}
    except ValueError:
        return None
    if not days.keys() <= {"since", "seen", "until"} or not _AUTHOR.fullmatch(by):
        return None
    mark = Mark(**days, by=by)
    return mark if mark != Mark() else None
