"""Counts of a store for the health screen: what the index holds, and its growth by month.

A count goes over all files. One that takes long is shown while a thread makes the next: stale while
revalidating (RFC 5861).
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock, Thread
from typing import TYPE_CHECKING, NamedTuple

from commonplace.errors import CommonplaceError
from commonplace.web.note_index import shared_index
from commonplace.web.session_table import shared_sessions

if TYPE_CHECKING:
    from commonplace._core import Status
    from commonplace.web.page import Frame

FRESH = 10.0
"""Seconds for which a count is shown again although files have changed."""
AT_ONCE = 0.02
"""A page waits for a new count where the last one took at most so many seconds."""
MONTHS = 36
"""Months that a plot shows."""
DAY = 86_400


class Growth(NamedTuple):
    """How many came month by month, oldest first, and how many before."""

    months: tuple[tuple[str, int], ...]
    before: int


@dataclass(frozen=True, slots=True)
class Count:
    """What was counted, at which revision of the store, when, and in how many seconds."""

    revision: int
    time: float
    seconds: float
    status: Status
    messages: Growth
    notes: Growth


class StoreCounts:
    """The last count of a store; safe to share between threads."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._lock = Lock()
        self._last: Count | None = None
        self._thread: Thread | None = None

    def latest(self) -> Count:
        """Return the last count, or a new one if files have changed and it is quick."""
        with self._lock:
            last = self._last
            if last is None or (self._is_old(last) and last.seconds <= AT_ONCE):
                last = self._last = self._count()
            elif self._is_old(last) and self._thread is None:
                self._thread = Thread(target=self._count_in_background, daemon=True)
                self._thread.start()
            return last

    def _is_old(self, count: Count) -> bool:
        changed = self._frame.store.revision() != count.revision
        return changed and time.time() - count.time >= FRESH

    def _count_in_background(self) -> None:
        try:
            # a store that is closed meanwhile needs no count
            with suppress(CommonplaceError):
                self._last = self._count()
        finally:
            self._thread = None

    def _count(self) -> Count:
        began, store = time.perf_counter(), self._frame.store
        revision = store.revision()
        said, changed = Counter[str](), Counter[str]()
        for day, (_, messages) in shared_sessions(self._frame).of().by_day.items():
            said[day[:7]] += messages
        for number, notes in shared_index(self._frame).days().items():
            changed[_month(number * DAY)] += notes
        status, spent = store.status(), time.perf_counter() - began
        return Count(revision, time.time(), spent, status, _growth(said), _growth(changed))


def shared_counts(frame: Frame) -> StoreCounts:
    """Return the counts that the pages of a server share."""
    found: StoreCounts = frame.shared.setdefault("counts", StoreCounts(frame))
    return found


def _growth(counted: Counter[str]) -> Growth:
    """Return the last months that have anything, with those between them."""
    if not counted:
        return Growth((), 0)
    first, last = min(counted), max(counted)
    months = [last]
    while months[-1] > first and len(months) < MONTHS:
        year, month = map(int, months[-1].split("-"))
        months.append(f"{year - (month == 1):04}-{(month - 2) % 12 + 1:02}")
    shown = tuple((month, counted[month]) for month in reversed(months))
    return Growth(shown, sum(count for month, count in counted.items() if month < months[-1]))


def _month(seconds: float) -> str:
    return time.strftime("%Y-%m", time.gmtime(min(max(seconds, 0), 253_402_300_799)))
