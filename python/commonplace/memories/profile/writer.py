"""Writer of a profile: inserts an entry, replaces what it contradicts, and keeps no duplicates.

A new entry is compared (`conflict.py`) with the newest of its category and with what a search
finds for it, never with all there are. A change is read back before it is written: an entry that
does not stand by itself in a file that a person wrote is left there, and the receipt says so.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from typing import Any

from commonplace import conflict
from commonplace._core import Hit, Written
from commonplace.conflict import Verdict
from commonplace.errors import CommonplaceError, Conflict, FormatError, ModelError
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
from commonplace.memories.profile.marks import OWNER, Mark
from commonplace.memories.profile.pages import Pages
from commonplace.recall import HybridSearch
from commonplace.records import receipt
from commonplace.store import Store

# So many that a search finds, and of the newest of the category, are compared with a new entry
CANDIDATES = 20
NEWEST = 20

SPEAKERS = (OWNER, "agent", "other", "document")
"""Who may have said an entry."""

_WORD = re.compile(r"\w+")


class Writer:
    """Adds entries to the pages of one profile.

    Args:
        store: Where the files are.
        pages: Which of them.
        recall: Knows the vectors, if there are any.
    """

    def __init__(self, store: Store, pages: Pages, recall: HybridSearch) -> None:
        self._store = store
        self._pages = pages
        self._recall = recall

    def add(
        self,
        content: str,
        title: str,
        day: date | None = None,
        expected_version: str | None = None,
        *,
        follow: bool = False,
        by: str = OWNER,
    ) -> dict[str, Any]:
        """Add an entry, or put it in the place of what it contradicts; return the receipt.

        Args:
            content: Any text.
            title: The heading of its category.
            day: The day it is from, if it is to say so.
            expected_version: That of MEMORY.md.
            follow: It belongs to the category of what it replaces.
            by: Who said it. What the owner said is replaced by nobody else's words.

        Raises:
            Conflict: MEMORY.md is not the expected version; nothing was written.
            Refused: There is nothing in it.
            ValueError: Nobody is called so.
        """
        if by not in SPEAKERS:
            raise ValueError(f"by is one of {', '.join(SPEAKERS)}, not {by!r:.40}")
        near = self._near(content)
        main = self._pages.main
        for path, entry in near:
            said = by != OWNER or entry.by == OWNER
            if said and path != main and _words(entry.text) == _words(content):
                self._check(expected_version)
                return self._known(path, entry)
        here = frozenset(entry.key for path, entry in near if path == main)
        compare = self._comparer(content)
        change = _Change(content, title, Mark(since=day, by=by), here, compare, follow=follow)

        def checked(note: str) -> str:
            self._check(expected_version)
            return change.apply(note)

        written = self._store.update(main, checked)
        if change.same is not None:
            confirmed = written.version != written.previous
            return self._known(main, change.same, confirmed=confirmed)
        replaced_entries = [
            _old_entry(main, written, old, verdict) for old, verdict in change.contradicted
        ]
        notes = list(change.notes)
        for path, old in near:
            if path != main and may_replace(by, old) and (verdict := compare(old.text)).conflict:
                try:
                    replaced_entries.append(
                        _old_entry(path, self._pages.take_out(path, [old.identity]), old, verdict)
                    )
                except CommonplaceError as error:
                    notes.append(f"an older entry was left in {path}: {error}")
        try:
            written = self._pages.move_older_entries() or written
        except CommonplaceError as error:
            # the entry itself is safe
            notes.append(f"{main} has grown large: {error}")
        mine = (key_of(change.placed), content)
        try:
            places = (f"{path}#L{one.line}" for path, one in self._pages.all() if one.key == mine)
            # somebody else may have changed it since
            place = next(places, main)
        except CommonplaceError as error:
            place = main
            notes.append(f"it is written, but its line could not be read: {error}")
        stored = _receipt(written, change.placed, place)
        return {**stored, "added": True, "replaced": replaced_entries, "notes": notes}

    def _check(self, expected_version: str | None) -> None:
        main = self._pages.main
        version = self._store.version(main) or "absent"
        if expected_version not in {None, version}:
            raise Conflict(f"{main} is version {version}, not {expected_version}: read it again")

    def _known(self, path: str, entry: Entry, *, confirmed: bool = False) -> dict[str, Any]:
        """Return the receipt of what was there already; `confirmed`: the owner says it as well."""
        written = self._store.update(path, lambda text: text)
        note = f"nothing was written: {path} says this already"
        if confirmed:
            note = f"{path} says this already; it is noted now that the owner said it"
        stored = _receipt(written, entry.category, f"{path}#L{entry.line}")
        return {**stored, "added": False, "replaced": [], "notes": [note]}

    def _near(self, content: str) -> list[tuple[str, Entry]]:
        """Return the entries that a search finds for a new one, with their paths."""
        words = " ".join(_WORD.findall(content[:1000])[:32])
        main, folder = self._pages.prefixes
        hits: list[Hit] = []
        if words:
            hits += self._store.search(
                words, CANDIDATES, prefix=self._pages.prefixes, source="note"
            )
        if (vectors := self._recall.vectors) is not None:
            with contextlib.suppress(ModelError):
                hits += (
                    hit
                    for hit, _ in vectors.nearest(
                        content,
                        CANDIDATES,
                        lambda hit: hit.path == main or hit.path.startswith(f"{folder}/"),
                    )
                )
        found = {(hit.path, entry.line): entry for hit, entry in self._pages.located(hits)}
        return [(path, entry) for (path, _), entry in found.items()]

    def _comparer(self, content: str) -> Callable[[str], Verdict]:
        """Return what tells whether the content makes an older text untrue."""
        vectors = self._recall.vectors

        @cache
        def compare(old: str) -> Verdict:
            verdict = conflict.compare(old, content)
            if vectors is None or not (verdict.conflict or verdict.reason == "unsure"):
                return verdict
            try:
                return conflict.compare(
                    old, content, float(vectors.embed(old) @ vectors.embed(content))
                )
            except ModelError:
                return verdict

        return compare


@dataclass(slots=True)
class _Change:
    """How a new entry changes MEMORY.md; `apply` may run more than once.

    `near` are the keys of the entries that a search found for it.
    """

    content: str
    title: str
    mark: Mark
    near: frozenset[tuple[str, str]]
    compare: Callable[[str], Verdict]
    follow: bool
    placed: str = ""
    same: Entry | None = None
    contradicted: list[tuple[Entry, Verdict]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def apply(self, note: str) -> str:
        """Return the note with the entry in it, in the place of what it contradicts."""
        note = begun("") if not note.strip("\ufeff\r\n\t ") else note
        entries = parse(note)
        words = _words(self.content)
        self.placed, self.contradicted, self.notes = self.title, [], []
        self.same = next((entry for entry in entries if _words(entry.text) == words), None)
        if self.same is not None:
            return self._confirmed(note, self.same)
        key = key_of(self.title)
        own = [entry for entry in entries if entry.key[0] == key][-NEWEST:]
        others = [entry for entry in entries if entry.key in self.near and entry not in own]
        compared = [(entry, self.compare(entry.text)) for entry in (*own, *others)]
        found = [(entry, verdict) for entry, verdict in compared if verdict.conflict]
        self.contradicted = [one for one in found if may_replace(self.mark.by, one[0])]
        if kept := [entry.text for entry, _ in found if not may_replace(self.mark.by, entry)]:
            self.notes.append(f"what the owner said stays beside it: {'; '.join(kept)}")
        try:
            changed = self._replacing(note)
        except FormatError as error:
            if not self.contradicted:
                raise
            # a duplicate is better than a loss
            self.notes.append(f"what it contradicts was left where it is: {error}")
            self.placed, self.contradicted = self.title, []
            changed = added(note, self.title, [self.source])
        return begun(changed)

    @property
    def source(self) -> str:
        """The entry as it is written."""
        return render(self.content, self.mark)

    def _confirmed(self, note: str, same: Entry) -> str:
        """Return a note in which the owner says what somebody else said before."""
        if self.mark.by == OWNER != same.by:
            # one that does not stand by itself is left as it is
            with contextlib.suppress(FormatError):
                return replaced(note, same, render(same.text, replace(same.mark, by=OWNER)))
        return note

    def _replacing(self, note: str) -> str:
        old = [entry for entry, _ in self.contradicted]
        if self.follow and old:
            self.placed = old[0].category
        key = key_of(self.placed)
        place = next((entry for entry in old if entry.key[0] == key), None)
        if others := [entry for entry in old if entry is not place]:
            note = removed(note, others)
        if place is None:
            return added(note, self.placed, [self.source])
        again = next(entry for entry in parse(note) if entry.identity == place.identity)
        return replaced(note, again, self.source)


def may_replace(by: str, old: Entry) -> bool:
    """Return whether somebody's words may take the place of an entry."""
    return by == OWNER or old.by != OWNER


def _receipt(written: Written, category: str, citation: str) -> dict[str, Any]:
    return {**receipt(written), "category": category, "citation": citation}


def _old_entry(path: str, written: Written, old: Entry, verdict: Verdict) -> dict[str, Any]:
    """Return what the receipt says of an entry that was replaced."""
    return {
        "text": old.text,
        "category": old.category,
        "citation": f"{path}#L{old.line}",
        "version": written.previous,
        "reason": verdict.reason,
    }


def _words(text: str) -> str:
    """Return what two texts share that say exactly the same: case, spaces, last point aside."""
    return " ".join(text.casefold().split()).rstrip(".。 ")
