"""Monthly episode files: append, split of large months into weeks, archiving, yearly summary.

`2026-02.md` holds a month. Its weeks are `2026-02-W1.md` (the 1st to the 7th) to `2026-02-W5.md`
(from the 29th on), counted within the month, so that a week belongs to one month; a week that
grows large goes on in `2026-02-W1-2.md`. The month's own file then lists its weeks. Because no
file grows without end, adding an entry costs the same however many there are.
"""

from __future__ import annotations

import calendar
import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Self

from commonplace._core import Written
from commonplace.entries.blocks import parse, preamble
from commonplace.entries.compaction import archive_blocks
from commonplace.entries.summaries import summarise
from commonplace.errors import CompactionFailed, Conflict, NotFound
from commonplace.memories.facts_and_episodes import summary_line
from commonplace.memories.facts_and_episodes.entries import (
    added,
    day_of,
    difference,
    entry_of,
    own,
    removed,
    split,
)
from commonplace.memories.facts_and_episodes.notes import ARCHIVE, EPISODES, Notes
from commonplace.protocols import ChatModel

# How often a file is read anew while others change it.
_TRIES = 64

_NAME = re.compile(
    r"(?P<month>\d{4}-(?:0[1-9]|1[0-2]))(?:-W(?P<week>[1-5])(?:-(?P<part>[2-9]|[1-9]\d+))?)?\.md"
)
_LINK = re.compile(
    r"^- \[(?P<name>\d{4}-\d{2}-W[^\]\n]*)\]\((?P=name)\.md\).*(?:\n|\Z)", re.MULTILINE
)

_HEAD = re.compile(r"- (?:Summary|Originals): ")


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """The time that an episode file is about: a month, or a part of a week of it."""

    month: str
    week: int = 0
    part: int = 1

    @classmethod
    def of(cls, path: str) -> Self | None:
        """Return the span that a path such as `episodes/2026-02-W1.md` names, or None."""
        found = _NAME.fullmatch(path.removeprefix(EPISODES)) if path.startswith(EPISODES) else None
        return (
            cls(found["month"], int(found["week"] or 0), int(found["part"] or 1)) if found else None
        )

    @property
    def name(self) -> str:
        """The name of its file, without `.md`.

        >>> Span("2026-02", 1, 2).name
        '2026-02-W1-2'
        """
        week = f"-W{self.week}" if self.week else ""
        return self.month + week + (f"-{self.part}" if self.part > 1 else "")

    @property
    def path(self) -> str:
        """The path of its file in the memory."""
        return f"{EPISODES}{self.name}.md"

    @property
    def last_day(self) -> date:
        """The last day of its month."""
        return _last_day(self.month)


class Months:
    """Puts entries into the file of their month or week, and divides a month that grew large.

    Nothing is lost at any moment: entries are written into the files of their weeks, read there
    again, and only then taken out of the file of the month. What stops in between is finished by
    the next entry. Entries that a person writes into the file of a divided month go the same way.
    """

    def __init__(self, notes: Notes, limit: int) -> None:
        self._notes = notes
        self._limit = limit

    def append(
        self, span: Span, entry: str, day: date, summary: str | None, expected: str | None
    ) -> list[Written]:
        """Add entries to the file of a month or week, or to where that goes on.

        An entry that says it is of another month goes to the file of that one. Returns the writes,
        that of the named month last.
        """
        by_month = _by_month(entry, span.month)
        own = by_month.pop(span.month, None)
        if by_month:
            self._check(span, expected)
        done = [
            self._append(Span(month), some, day, None, None) for month, some in by_month.items()
        ]
        if own is not None:
            done.append(self._append(span, own, day, summary, expected))
        return done

    def _check(self, span: Span, expected: str | None) -> None:
        found = self._notes.version(span.path)
        if expected not in {None, found}:
            raise Conflict(f"{span.path} is version {found}, not {expected}: read it again")

    def _append(
        self, span: Span, entry: str, day: date, summary: str | None, expected: str | None
    ) -> Written:
        """Add entries of one month."""
        if not span.week and not self.files(span.month):
            note = self._notes.text(span.path)
            if _size(note) + _size(entry) <= self._limit or not split(note):
                return self._add(span, entry, summary, expected)
        self._check(span, expected)
        if split(self._notes.text(Span(span.month).path)):
            # what could not be moved stands where it stood, and the next entry tries again
            with contextlib.suppress(CompactionFailed):
                self.divide(span.month)
        week = span.week or _week(span.month, day_of(entry) or day)
        target = self._place(span.month, week, _size(entry))
        written = self._add(target, entry, summary, expected if target == span else None)
        self._list_weeks(span.month)
        return written

    def files(self, month: str) -> list[Span]:
        """Return the files that there are of the weeks of a month, in order."""
        return [span for span in self._spans("") if span.week and span.month == month]

    def divide(self, month: str) -> None:
        """Move the entries of a month into the files of its weeks.

        An entry without a date belongs to the week of the one before it.

        Raises:
            CompactionFailed: An entry does not read back; the file of the month is as it was.
        """
        page = Span(month)
        moving = split(self._notes.text(page.path))
        week = next(filter(None, (_week(month, day_of(entry)) for entry in moving)), 1)
        by_week: dict[int, list[str]] = {}
        for entry in moving:
            week = _week(month, day_of(entry)) or week
            by_week.setdefault(week, []).append(entry)
        for week, some in sorted(by_week.items()):
            self._fill(month, week, some)
        _check_none_lost(moving, self._held(self.files(month)), page.path)
        names = [span.name for span in self.files(month)]
        self._notes.change(page.path, lambda note: with_links(removed(note, moving), names))

    def summarise(self, older_than: date, model: ChatModel | None) -> list[str]:
        """Archive what is older; see `FactsAndEpisodes.summarise_months()`."""
        old = [span for span in self._spans("") if _last_day(span.month) < older_than]
        cited = []
        for month in dict.fromkeys(span.month for span in old):
            if self.files(month) and split(self._notes.text(Span(month).path)):
                # a division that was stopped: its entries stand in two files
                with contextlib.suppress(CompactionFailed):
                    self.divide(month)
            spans = [span for span in self._spans("") if span.month == month]
            notes = {span.path: self._notes.text(span.path) for span in spans}
            archived = []
            for path, note in notes.items():
                here, there = self._notes.full(path), self._notes.full(ARCHIVE + path)
                archived += archive_blocks(self._notes.store, here, own(note), there)
            if archived:
                self._put_on_year(month, model)
            # the page of the month last: it lists its weeks
            for path in reversed(notes):
                self._leave(path, split(notes[path]))
            cited += archived
        return cited

    def _put_on_year(self, month: str, model: ChatModel | None) -> None:
        """Write the summary of all that is archived of a month onto the page of its year."""
        kept = [span for span in self._spans(ARCHIVE) if span.month == month]
        texts = [self._notes.text(ARCHIVE + span.path) for span in kept]
        summary = summarise([entry for text in texts for entry in split(text)], model=model)
        links = ", ".join(f"[{span.name}](../{ARCHIVE}{span.path})" for span in kept)
        line = summary_line.make("\n".join(texts), newest_first=True)
        entry = entry_of(month, f"- Summary: {line}\n- Originals: {links}\n\n{summary}")

        year = f"{EPISODES}{month[:4]}.md"
        there = [block for block in parse(self._notes.text(year)) if block.title == month]
        # what somebody wrote there is in no other file; no summary of a model is like the one
        # before, and there it is in the history
        changed = [block for block in there if model is None and _says_more(block.text, entry)]
        archive_blocks(
            self._notes.store, self._notes.full(year), changed, self._notes.full(ARCHIVE + year)
        )

        def with_month(note: str) -> str:
            old = [note[block.start : block.end] for block in parse(note) if block.title == month]
            return added(removed(note, old), entry)

        self._notes.change(year, with_month)

    def _leave(self, path: str, some: Sequence[str]) -> None:
        """Take entries out of a file, and the file away when nothing else is in it."""
        for _ in range(_TRIES):
            version = self._notes.version(path)
            if version == "absent":
                # somebody else, who had the same to do, has taken it away
                return
            with contextlib.suppress(Conflict, NotFound):
                rest = without_links(removed(self._notes.read(path), some))
                if summary_line.without(rest).strip():
                    self._notes.change(
                        path, lambda note: without_links(removed(note, some)), expected=version
                    )
                else:
                    self._notes.delete(path, expected=version)
                return
        raise Conflict(f"{path} kept changing while entries were taken out of it; try again")

    def _add(self, span: Span, entry: str, summary: str | None, expected: str | None) -> Written:
        return self._notes.change(
            span.path, lambda note: added(note, entry), summary=summary, expected=expected
        )

    def _fill(self, month: str, week: int, some: Sequence[str]) -> None:
        """Add entries to a week, as many at once as a file takes; not those that it holds."""
        while left := difference(some, self._held(self._parts(month, week))):
            target = self._place(month, week, _size(left[0]))
            held = self._notes.text(target.path)
            room = self._limit - _size(held)
            count = 0
            while count < len(left) and (room >= _size(left[count]) or not count):
                room -= _size(left[count]) + 1
                count += 1
            self._move(target, left[:count], split(held))

    def _parts(self, month: str, week: int) -> list[Span]:
        return [span for span in self.files(month) if span.week == week]

    def _move(self, span: Span, some: Sequence[str], held: Sequence[str]) -> None:
        """Add entries to a file that held some, only if each of them will be seen there."""

        def change(note: str) -> str:
            # another process that divides the same month may have been here since
            fresh = difference(some, difference(split(note), held))
            whole = added(note, *fresh) if fresh else note
            _check_none_lost(some, split(whole), span.path)
            return whole

        self._notes.change(span.path, change)

    def _place(self, month: str, week: int, size: int) -> Span:
        """Return the file that `size` bytes go to; `week` 0 is the last week that there is."""
        spans = self.files(month)
        week = week or (spans[-1].week if spans else 1)
        parts = [span for span in spans if span.week == week]
        if not parts:
            return Span(month, week)
        full = _size(self._notes.text(parts[-1].path)) + size > self._limit
        return Span(month, week, parts[-1].part + full)

    def _list_weeks(self, month: str) -> None:
        """See to it that the file of a month lists the files of its weeks."""
        page, names = Span(month).path, [span.name for span in self.files(month)]
        note = self._notes.text(page)
        if with_links(note, names) != note:
            self._notes.change(page, lambda note: with_links(note, names))

    def _spans(self, above: str) -> list[Span]:
        """Return the files of months and weeks that there are, in order of time."""
        listed = self._notes.files(above + EPISODES)
        names = (self._notes.relative(entry.path).removeprefix(above) for entry in listed)
        return sorted(span for name in names if (span := Span.of(name)))

    def _held(self, spans: Sequence[Span]) -> list[str]:
        return [entry for span in spans for entry in split(self._notes.text(span.path))]


def with_links(note: str, names: Sequence[str]) -> str:
    r"""Return the note of a month with one line for each file of its weeks, in this order.

    What a person has written behind a link stays.

    >>> with_links("# 2026-02\n", ["2026-02-W1", "2026-02-W2"])
    '# 2026-02\n\n- [2026-02-W1](2026-02-W1.md)\n- [2026-02-W2](2026-02-W2.md)\n'
    """
    found = {line["name"]: line[0].rstrip("\n") for line in _LINK.finditer(note)}
    if list(found) == list(names):
        return note
    lines = "".join(found.get(name, f"- [{name}]({name}.md)") + "\n" for name in names)
    if first := _LINK.search(note):
        head, rest = note[: first.start()], _LINK.sub("", note[first.start() :])
        return head + lines + rest
    head = preamble(note)
    rest = note[len(head) :]
    return head.rstrip("\n") + "\n\n" + lines + (f"\n{rest}" if rest else "")


def without_links(note: str) -> str:
    """Return the note of a month without the lines that `with_links()` adds."""
    return _LINK.sub("", note)


def _by_month(text: str, month: str) -> dict[str, str]:
    """Return entries by the month of their date; those without one are of `month`."""
    blocks = parse(text)
    if not blocks or blocks[0].start > 0:
        return {month: text}
    found: dict[str, list[str]] = {}
    for block in blocks:
        entry = text[block.start : block.end]
        day = day_of(entry)
        found.setdefault(f"{day:%Y-%m}" if day else month, []).append(entry)
    return {name: "".join(some) for name, some in sorted(found.items())}


def _check_none_lost(some: Sequence[str], held: Sequence[str], path: str) -> None:
    if lost := difference(some, held):
        raise CompactionFailed(
            f"{len(lost)} entries could not be moved: they would not be seen in {path} or its "
            f"weeks, where something was left open; the first is {lost[0]!r:.60}"
        )


def _says_more(old: str, new: str) -> bool:
    """Return whether a summary of a month has lines that a new one has not, its head aside."""
    lines = set(old.splitlines()) - set(new.splitlines())
    return any(line.strip() and not _HEAD.match(line) for line in lines)


def _week(month: str, day: date | None) -> int:
    """Return the week of a month that a day is in, 0 for a day of another month."""
    return (day.day - 1) // 7 + 1 if day and f"{day:%Y-%m}" == month else 0


def _last_day(month: str) -> date:
    year, number = map(int, month.split("-"))
    return date(year, number, calendar.monthrange(year, number)[1])


def _size(text: str) -> int:
    return len(text.encode())
