"""Episodes by month, for a person who looks at all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from commonplace.citation import cite
from commonplace.entries.blocks import parse
from commonplace.errors import NotFound
from commonplace.memories.facts_and_episodes.entries import day_of
from commonplace.memories.facts_and_episodes.months import Span
from commonplace.memories.facts_and_episodes.notes import ARCHIVE, EPISODES
from commonplace.store import Store


@dataclass(frozen=True, slots=True)
class Month:
    """The files of a month: its own, those of its weeks, and what of it was archived."""

    name: str
    paths: tuple[str, ...]
    archived: tuple[str, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Episode:
    """An entry of a month; `day` is the date that it gives."""

    title: str
    text: str
    day: date | None
    citation: str
    archived: bool


def months(store: Store, folder: str = "") -> list[Month]:
    r"""Return the months that have episodes, newest first.

    >>> import commonplace, tempfile
    >>> from commonplace.memories import FactsAndEpisodes
    >>> store = commonplace.open(tempfile.mkdtemp())
    >>> memory = FactsAndEpisodes(store)
    >>> _ = memory.memory_append("episodes/2026-02.md", "The ferry was late.")
    >>> [month.name for month in months(store)]
    ['2026-02']
    """
    base = f"{folder.strip('/')}/".lstrip("/")
    places: dict[str, tuple[list[str], list[str]]] = {}
    sizes: dict[str, int] = {}
    for place, inside in enumerate((base, base + ARCHIVE)):
        for entry in store.list(f"{inside}{EPISODES}"):
            if span := Span.of(entry.path.removeprefix(inside)):
                places.setdefault(span.month, ([], []))[place].append(entry.path)
                sizes[span.month] = sizes.get(span.month, 0) + entry.size
    return [
        Month(name, tuple(paths), tuple(archived), sizes[name])
        for name, (paths, archived) in sorted(places.items(), reverse=True)
    ]


def episodes(store: Store, month: Month) -> Iterator[Episode]:
    """Yield the entries of a month in the order of its files, those of the archive last."""
    for path in (*month.paths, *month.archived):
        try:
            note = store.read(path)
        except NotFound:
            continue
        for block in parse(note):
            source = note[block.start : block.end]
            citation = cite(path, block.line)
            yield Episode(block.title, block.text, day_of(source), citation, path in month.archived)
