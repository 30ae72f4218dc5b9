"""Writer of a profile: inserts an entry, ends what it contradicts, and keeps no duplicates.

A new entry is compared with all statements of the profile, whatever their category: an index by
claim and by word (`page_index.py`) leaves out those that it cannot contradict. A change is read
back before it is written: an entry that does not stand by itself in a file that a person wrote is
left there, and the receipt says so.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import cache
from typing import Any

from commonplace import conflict
from commonplace._core import Written
from commonplace.arguments import is_blank
from commonplace.citation import cite, located
from commonplace.conflict import Verdict, corrections
from commonplace.conflict.conditions import ends_by_name
from commonplace.conflict.entry_comparison import (
    Compare,
    EntryVerdict,
    compare_entry,
    is_better,
    is_paraphrase,
    readings,
)
from commonplace.errors import (
    CommonplaceError,
    Conflict,
    InvalidArgument,
    ModelError,
    NotFound,
    Refused,
)
from commonplace.memories.profile.categories import key_of
from commonplace.memories.profile.change import (
    Change,
    corrected,
    ended_statements,
    is_kept_from,
)
from commonplace.memories.profile.ends import end_of
from commonplace.memories.profile.entries import Entry, parse
from commonplace.memories.profile.first_days import FirstDays
from commonplace.memories.profile.marks import OWNER, Mark
from commonplace.memories.profile.page_index import normalized
from commonplace.memories.profile.pages import Pages
from commonplace.recall import HybridSearch
from commonplace.records import receipt
from commonplace.store import Store

SPEAKERS = (OWNER, "agent", "other", "document")
"""Who may have said an entry."""

# So many that the vectors find are compared with a new entry too
CANDIDATES = 20
# From this likelihood on a text surely ends an entry
SURE = 0.8


class Writer:
    """Adds entries to the pages of one profile.

    Args:
        store: Where the files are.
        pages: Which of them.
        recall: Knows the vectors, if there are any.
        today: Gives the day.
        dated: New entries say from which day they are.
    """

    def __init__(
        self,
        store: Store,
        pages: Pages,
        recall: HybridSearch,
        today: Callable[[], date],
        *,
        dated: bool = False,
    ) -> None:
        self._store = store
        self._pages = pages
        self._recall = recall
        self._today = today
        self._dated = dated
        self._days = FirstDays(store.side_files(), pages.main)

    def add(
        self,
        content: str,
        title: str,
        expected_version: str | None = None,
        *,
        follow: bool = False,
        by: str = OWNER,
        said: date | None = None,
    ) -> dict[str, Any]:
        """Add an entry, or put it in the place of what it contradicts; return the receipt.

        Args:
            content: Any text.
            title: The heading of its category.
            expected_version: That of MEMORY.md.
            follow: It corrects what was never true, and belongs to the category of that.
            by: Who said it. What the owner said is replaced by nobody else's words.
            said: The day it was said on, which "until Friday" counts from; default: today.

        Raises:
            Conflict: MEMORY.md is not the expected version; nothing was written.
            Refused: There is nothing in it.
            InvalidArgument: Nobody is called so.
        """
        if by not in SPEAKERS:
            raise InvalidArgument(f"by is one of {', '.join(SPEAKERS)}, not {by!r:.40}")
        today = self._today()
        said = said or today
        given, content = content, self._completed(content) if by == OWNER else content
        follow = follow or content != given
        near = self._near(content)
        compare = self._comparer()
        main = self._pages.main
        for path, entry in near:
            if path != main and self._is_known(entry, content, compare, by):
                self._check(expected_version)
                return self._known(path, entry, content)
        # what says the same on a page is taken out there
        days = [said] if self._dated else []
        days += [
            one.since
            for path, one in near
            if path != main and one.since and is_paraphrase(one.text, content, compare)
        ]
        mark = Mark(min(days, default=None), None, end_of(content, said), by)
        here = frozenset(entry.identity for path, entry in near if path == main)
        elsewhere = self._elsewhere(main, near, content, by, compare)
        change = Change(
            content, title, mark, today, compare, self._days, here, elsewhere, self._dated, follow
        )

        def checked(note: str) -> str:
            self._check(expected_version)
            return change.apply(note)

        written = self._store.update(main, checked)
        if change.same is not None:
            confirmed = by == OWNER != change.same.by and written.version != written.previous
            return self._known(main, change.same, content, confirmed=confirmed)
        self._days.note(content, change.first_day(said))
        ended = _old_entries(main, written, change.ended)
        notes = list(change.notes)
        self._end_elsewhere(change, near, ended, notes)
        try:
            written = self._pages.move_older_entries() or written
        except CommonplaceError as error:
            # the entry itself is safe
            notes.append(f"{main} has grown large: {error}")
        place = self._place(change, notes)
        stored = _receipt(written, change.placed, place)
        done = {**stored, "added": True, "replaced": ended, "notes": notes}
        return done if content == given else {**done, "text": content}

    def correct(
        self, citation: str, content: str, expected_version: str | None = None
    ) -> dict[str, Any]:
        """Put other words in the place of one entry; see `Profile.correct`."""
        path, first, _ = located(citation)
        if path not in self._pages.paths():
            raise Refused(f"{citation!r:.200} is not of this profile")
        if is_blank(content):
            raise Refused("there is nothing to remember: the content is empty")
        found: list[Entry] = []

        def change(note: str) -> str:
            found[:] = [one for one in parse(note) if one.line == first]
            if not found:
                raise NotFound(f"no entry begins at {citation}: read it again")
            return corrected(note, found[0], content)

        if expected_version is None:
            written = self._store.update(path, change)
        else:
            text = change(self._store.read(path))
            written = self._store.write(path, text, expected_version=expected_version)
        if day := self._days.of(found[0].text):
            self._days.note(content, day)
        return _receipt(written, found[0].category, cite(path, first))

    def ends(self, content: str) -> bool:
        """Return whether a text surely makes something untrue that the profile tells.

        What is not worth keeping for itself must not end anything on a mere likelihood.
        """
        compare = self._comparer(strict=True)
        content = self._completed(content)
        return any(
            compare_entry(entry.text, content, compare).untrue for _, entry in self._near(content)
        )

    def _completed(self, content: str) -> str:
        """Return a correction that names only values as the statement that it corrects."""
        if corrections.read(content) is None:
            return content
        today = self._today()
        known = (one.text for _, one in self._pages.all() if not one.mark.is_past(today))
        return corrections.completed(content, known) or content

    def _end_elsewhere(
        self,
        change: Change,
        near: list[tuple[str, Entry]],
        ended: list[dict[str, Any]],
        notes: list[str],
    ) -> None:
        """End on other pages what a new entry contradicts; add to the receipt's lists."""
        paths = dict.fromkeys(path for path, _ in near if path != self._pages.main)
        for path in paths:
            there = frozenset(entry.identity for at, entry in near if at == path)
            elsewhere = self._elsewhere(path, near, change.content, change.mark.by, change.compare)
            other = replace(change, near=there, elsewhere=elsewhere, ended=[], notes=[])
            try:
                if other.compared(self._pages.text(path))[1]:
                    other.notes.clear()
                    written = self._store.update(path, other.end)
                    ended += _old_entries(path, written, other.ended)
                notes += other.notes
            except CommonplaceError as error:
                notes.append(f"an older entry was left in {path}: {error}")

    @staticmethod
    def _elsewhere(
        path: str, near: list[tuple[str, Entry]], content: str, by: str, compare: Compare
    ) -> tuple[EntryVerdict, ...]:
        """Return what a new text makes untrue of entries that are not on a page and may end."""
        others = (entry for at, entry in near if at != path and not is_kept_from(by, entry))
        return tuple(compare_entry(entry.text, content, compare) for entry in others)

    def _place(self, change: Change, notes: list[str]) -> str:
        """Return the citation of a new entry."""
        mine = (key_of(change.placed), change.content)
        holding = None
        try:
            for path, one in self._pages.all():
                if one.key == mine and not one.mark.is_past(change.today):
                    return cite(path, one.line)
                # in a line with others below it
                if one.key[0] == mine[0] and change.content.strip() in one.text:
                    holding = holding or cite(path, one.line)
        except CommonplaceError as error:
            notes.append(f"it is written, but its line could not be read: {error}")
        # somebody else may have changed it since
        return holding or self._pages.main

    def _check(self, expected_version: str | None) -> None:
        main = self._pages.main
        version = self._store.version(main) or "absent"
        if expected_version not in {None, version}:
            raise Conflict(
                f"{main} is version {version}, not {expected_version:.60}: read it again"
            )

    def _is_known(self, entry: Entry, content: str, compare: Compare, by: str) -> bool:
        """Return whether an entry says what a new one would."""
        if by == OWNER != entry.by:
            return False
        if normalized(entry.text) == normalized(content):
            return True
        same = is_paraphrase(entry.text, content, compare)
        return same and not is_better(content, entry.text)

    def _known(
        self, path: str, entry: Entry, content: str, *, confirmed: bool = False
    ) -> dict[str, Any]:
        """Return the receipt of what was there already; `confirmed`: the owner says it as well."""
        written = self._store.update(path, lambda text: text)
        note = f"nothing was written: {path} says this already"
        if confirmed:
            note = f"{path} says this already; it is noted now that the owner said it"
        elif normalized(entry.text) != normalized(content):
            note += f", in other words: {entry.text!r:.200}"
        stored = _receipt(written, entry.category, cite(path, entry.line))
        return {**stored, "added": False, "replaced": [], "notes": [note]}

    def _near(self, content: str) -> list[tuple[str, Entry]]:
        """Return the entries that are compared with a new one, with their paths."""
        today = self._today()
        main, folder = self._pages.prefixes
        found: dict[tuple[str, int], Entry] = {}
        for path, index in self._pages.indexes():
            same = index.saying(content)
            found |= {(path, one.line): one for one in same + index.candidates(readings(content))}
        if (vectors := self._recall.vectors) is not None:
            with contextlib.suppress(ModelError):
                nearest = vectors.nearest(
                    content,
                    CANDIDATES,
                    lambda hit: hit.path == main or hit.path.startswith(f"{folder}/"),
                )
                hits = (hit for hit, _ in nearest)
                found |= {(hit.path, one.line): one for hit, one in self._pages.located(hits)}
        return [(path, one) for (path, _), one in found.items() if not one.mark.is_past(today)]

    def _comparer(self, *, strict: bool = False) -> Compare:
        """Return what tells whether a new text makes an older one untrue.

        Args:
            strict: A mere likelihood decides only from `SURE` on, unless the text says by name of
                what it ends that it ended or changed.
        """
        vectors = self._recall.vectors

        def judged(old: str, new: str) -> Verdict:
            verdict = conflict.compare(old, new)
            if vectors is None or not (verdict.conflict or verdict.reason == "unsure"):
                return verdict
            try:
                return conflict.compare(old, new, float(vectors.embed(old) @ vectors.embed(new)))
            except ModelError:
                return verdict

        @cache
        def compare(old: str, new: str) -> Verdict:
            verdict = judged(old, new)
            if not (strict and verdict.conflict):
                return verdict
            if verdict.likelihood >= SURE or ends_by_name(old, new):
                return verdict
            return replace(verdict, conflict=False, reason="unsure")

        return compare


def _receipt(written: Written, category: str, citation: str) -> dict[str, Any]:
    return {**receipt(written), "category": category, "citation": citation}


def _old_entries(
    path: str, written: Written, ended: list[tuple[Entry, EntryVerdict]]
) -> list[dict[str, Any]]:
    """Return what the receipt says of what is no longer true."""
    return [
        {
            "text": text,
            "category": old.category,
            "citation": cite(path, old.line),
            "version": written.previous,
            "reason": verdict.reason,
        }
        for old, untrue in ended
        for text, verdict in ended_statements(untrue)
    ]
