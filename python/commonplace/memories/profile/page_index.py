"""Statements of one file of a profile, by claim and by word."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from commonplace.conflict.candidates import StatementIndex
from commonplace.conflict.entry_comparison import compared
from commonplace.memories.profile.entries import Entry, parse


class PageIndex:
    """Finds the entries of a file that may contradict a new one, or say the same."""

    def __init__(self, note: str) -> None:
        self.entries = parse(note)
        read = [(entry, text) for entry in self.entries for text in compared(entry.text)]
        self._owners = [entry for entry, _ in read]
        self._index = StatementIndex([text for _, text in read])
        self._same: dict[str, list[Entry]] = {}
        for entry in self.entries:
            self._same.setdefault(normalized(entry.text), []).append(entry)

    def saying(self, text: str) -> list[Entry]:
        """Return the entries that say this: case, spaces and the last point aside."""
        return self._same.get(normalized(text), [])

    def candidates(self, new: Iterable[str]) -> list[Entry]:
        """Return the entries of which a statement may be contradicted by one of the new ones."""
        found = {
            self._owners[number].start: self._owners[number]
            for number in self._index.candidates(new)
        }
        return [found[start] for start in sorted(found)]


@lru_cache(maxsize=64)
def indexed(note: str) -> PageIndex:
    """Return the statements of a note; what was read last is kept."""
    return PageIndex(note)


def normalized(text: str) -> str:
    """Return what two texts share that say exactly the same: case, spaces, last point aside."""
    return " ".join(text.casefold().split()).rstrip(".。 ")
