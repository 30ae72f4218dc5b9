"""Change of a note by a new entry: what it contradicts ends, what says the same is merged.

A statement that is no longer true stays in its place, struck through and with its last day; the
rest of its entry stays word for word. What was never true, as a correction says, goes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, timedelta

from commonplace.conflict import Verdict
from commonplace.conflict.entry_choice import surely_untrue
from commonplace.conflict.entry_comparison import (
    UNCERTAIN,
    Compare,
    EntryVerdict,
    compare_entry,
    is_better,
    is_contained,
    is_paraphrase,
    readings,
)
from commonplace.conflict.statements import Statement, statements
from commonplace.errors import FormatError
from commonplace.extraction.relative_dates import day_of_change
from commonplace.memories.profile.categories import key_of
from commonplace.memories.profile.entries import (
    Entry,
    added,
    begun,
    parse,
    removed,
    render,
    replaced,
)
from commonplace.memories.profile.first_days import FirstDays
from commonplace.memories.profile.marks import OWNER, Mark
from commonplace.memories.profile.page_index import indexed

_BULLET = re.compile(r"[*+][ \t]")
_NUMBER = re.compile(r"\d{1,9}[.)][ \t]+")


@dataclass(slots=True)
class Change:
    """How a new entry changes a note; `apply` may run more than once.

    Args:
        content: The text of the new entry.
        title: The heading of its category.
        mark: What is known of it.
        today: The day on which it is said.
        compare: Compares two statements.
        days: When entries without a mark were first told.
        near: Further entries to compare it with.
        elsewhere: What it makes untrue of the entries of other notes, as far as one entry tells.
        dated: Its mark says from which day it is in any case.
        corrects: What it contradicts was never true, and says to which category it belongs.
    """

    content: str
    title: str
    mark: Mark
    today: date
    compare: Compare
    days: FirstDays
    near: frozenset[tuple[str, str, Mark]] = frozenset()
    elsewhere: tuple[EntryVerdict, ...] = ()
    dated: bool = False
    corrects: bool = False
    placed: str = ""
    same: Entry | None = None
    ended: list[tuple[Entry, EntryVerdict]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def apply(self, note: str) -> str:
        """Return the note with the entry in it, in the place of what it contradicts."""
        note = begun("") if not note.strip("\ufeff\r\n\t ") else note
        self.placed, self.notes = self.title, []
        self.same, self.ended = self.compared(note)
        if self.same is not None:
            return self._seen(note, self.same)
        try:
            changed = self._with_entry(note)
        except FormatError as error:
            if not self.ended:
                raise
            # a duplicate is better than a loss
            self.notes.append(f"what it contradicts was left where it is: {error}")
            self.placed, self.ended = self.title, []
            changed = added(note, self.title, [render(self.content, self.mark)])
        return begun(changed)

    def end(self, note: str) -> str:
        """Return another note of the profile without what the entry contradicts there."""
        _, self.ended = self.compared(note)
        for entry, verdict in self.ended:
            note = self._ended(note, entry, verdict, [])
        return note

    def compared(self, note: str) -> tuple[Entry | None, list[tuple[Entry, EntryVerdict]]]:
        """Return the entry that says the same, if one is to stay, and what ends."""
        page = indexed(note)
        if same := next(self._true(page.saying(self.content)), None):
            return same, []
        found = page.candidates(readings(self.content))
        starts = {entry.start for entry in found}
        others = (one for one in page.entries if one.identity in self.near)
        found += (one for one in others if one.start not in starts)
        ended: list[tuple[Entry, EntryVerdict]] = []
        judged: list[tuple[Entry, EntryVerdict]] = []
        for entry in self._true(found):
            stays = is_kept_from(self.mark.by, entry)
            contained = is_contained(entry.text, self.content)
            if contained and stays:
                continue
            if contained or is_paraphrase(entry.text, self.content, self.compare):
                if not contained and (stays or not self._is_better(entry)):
                    return entry, []
                whole = Statement(0, len(entry.text), *(entry.text,) * 3)
                same_verdict = Verdict(conflict=False, reason="same")
                ended.append((entry, EntryVerdict(((whole, same_verdict),))))
                continue
            verdict = compare_entry(entry.text, self.content, self.compare)
            if stays and (verdict.left or verdict.untrue):
                self.notes.append(f"what the owner said stays beside it: {entry.text!r:.200}")
                continue
            judged.append((entry, verdict))
        sure = surely_untrue([*(verdict for _, verdict in judged), *self.elsewhere])
        for (entry, verdict), ends in zip(judged, sure, strict=False):
            left = verdict.left if ends or not verdict.untrue else UNCERTAIN
            if left:
                self.notes.append(f"{entry.text!r:.60} may not be true now: {left}")
            if ends:
                ended.append((entry, verdict))
        return None, ended

    def first_day(self, told: date) -> date:
        """Return the day on which the entry, told on that day, was first told in any words."""
        same = (self._since(one) for one, verdict in self.ended if _is_same(verdict))
        return min([told, *filter(None, same)])

    def _since(self, entry: Entry) -> date | None:
        return entry.since or self.days.of(entry.text)

    def _true(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        return (entry for entry in entries if not entry.mark.is_past(self.today))

    def _is_better(self, entry: Entry) -> bool:
        """Return whether of two paraphrases the new one is to stay; the words of the owner are."""
        return self.mark.by == OWNER != entry.by or is_better(self.content, entry.text)

    def _seen(self, note: str, entry: Entry) -> str:
        """Return the note in which an entry says that it was said again today, and by the owner."""
        mark = entry.mark
        if self.dated and mark.since and mark.since < self.today:
            mark = replace(mark, seen=self.today)
        if self.mark.by == OWNER:
            mark = replace(mark, by=OWNER)
        if mark == entry.mark:
            return note
        try:
            return replaced(note, entry, _as(entry, render(entry.text, mark)))
        except FormatError:
            return note

    def _with_entry(self, note: str) -> str:
        carrier = next((entry for entry, verdict in self.ended if verdict.carries), None)
        if (self.corrects and self.ended) or carrier:
            self.placed = (carrier or self.ended[0][0]).category
        key = key_of(self.placed)
        place = carrier or next((one for one, _ in self.ended if one.key[0] == key), None)
        source = render(self.content, self._mark())
        for entry, verdict in self.ended:
            new = [source] if entry is place and not verdict.carries else []
            note = self._ended(note, entry, verdict, new)
        return note if place is not None else added(note, self.placed, [source])

    def _mark(self) -> Mark:
        """Return the mark of the entry: with the first day of what says the same."""
        merged = [one.mark for one, verdict in self.ended if _is_same(verdict)]
        if merged:
            days = [mark.since for mark in (*merged, self.mark) if mark.since]
            seen = self.today if self.dated and days and min(days) < self.today else None
            return replace(self.mark, since=min(days, default=None), seen=seen)
        return replace(self.mark, since=self._began()) if self.ended else self.mark

    def _began(self) -> date:
        """Return the day from which the entry is true: today, or what it says ("last week")."""
        said = (
            day_of_change(self.content, self.today) if len(statements(self.content)) == 1 else None
        )
        return said or self.today

    def _ended(self, note: str, entry: Entry, verdict: EntryVerdict, new: list[str]) -> str:
        """Return a note in which what is untrue of an entry has ended.

        Args:
            note: The note.
            entry: The entry as it was read, perhaps before others changed.
            verdict: What is untrue of it.
            new: What stands in its place.
        """
        entries = parse(note)
        again = next(one for one in entries if one.identity == entry.identity)
        there = {one.identity for one in entries}
        sources = list(new)
        since = self._since(entry)
        if verdict.rest:
            sources.append(render(verdict.rest, entry.mark))
            if since:
                self.days.note(verdict.rest, since)
        if not self.corrects and not _is_same(verdict):
            last = self._began() - timedelta(days=1)
            if since and since > last:
                if entry.since:
                    last = self.today - timedelta(days=1)
                else:
                    # it was told then, and began before
                    since = None
            mark = _until(replace(entry.mark, since=since), last)
            for one, _ in verdict.untrue:
                if (*again.key[:1], one.alone, mark) not in there:
                    sources.append(render(one.alone, mark, past=True))
        if not sources:
            return removed(note, [again])
        return replaced(note, again, "".join(_as(entry, source) for source in sources))


def corrected(note: str, entry: Entry, content: str) -> str:
    """Return a note with other words in the place of an entry, which the owner has said now."""
    mark = replace(entry.mark, by=OWNER)
    # with a last day, it is shown struck through
    source = render(content, mark, past=mark.until is not None)
    return replaced(note, entry, _as(entry, source))


def is_kept_from(speaker: str, entry: Entry) -> bool:
    """Return whether an entry is the owner's, which nobody else's words end."""
    return entry.by == OWNER != speaker


def ended_statements(verdict: EntryVerdict) -> Iterator[tuple[str, Verdict]]:
    """Yield what is untrue of an entry, and why."""
    return ((one.alone, why) for one, why in verdict.untrue)


def _is_same(verdict: EntryVerdict) -> bool:
    return any(why.reason == "same" for _, why in verdict.untrue)


def _until(mark: Mark, day: date) -> Mark:
    """Return the mark of what was true up to a day."""
    since = mark.since if mark.since and mark.since <= day else None
    return Mark(since=since, until=day, by=mark.by)


def _as(entry: Entry, source: str) -> str:
    """Return the source of an item with the marker of an entry of the same list."""
    if found := _BULLET.match(entry.source):
        return entry.source[0] + source[1:]
    if (found := _NUMBER.match(entry.source)) and source.count("\n") == 1:
        return found[0] + source[2:]
    return source
