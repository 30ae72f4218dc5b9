"""Pages of a profile: MEMORY.md, and the files that continue it when it is full.

`MEMORY.md` is rewritten by each change, so it stays small: when it grows beyond 32 KB, the older
half of each category moves to `memory/{category}.md`, and then to `memory/{category}-2.md`. A page
is written and read back before anything is taken out of MEMORY.md: an entry may for a moment be in
both, and is never in neither.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from commonplace._core import Entry as File
from commonplace._core import Hit, Written
from commonplace.errors import CompactionFailed, NotFound, Refused
from commonplace.memories.profile.categories import page_names
from commonplace.memories.profile.entries import Entry, added, begun, parse, removed, render
from commonplace.memories.profile.marks import Mark
from commonplace.memories.profile.page_index import PageIndex, indexed
from commonplace.store import Store

LIMIT = 32 * 1024
"""Most bytes of MEMORY.md and of a page, but for an entry that is larger by itself."""

# Most pages whose entries are kept from search to search
KNOWN = 64
_PART = re.compile(r"(?P<name>.*?)(?:-(?P<part>[2-9]|[1-9]\d{1,3}))?\.md")


class Pages:
    """The files of one profile.

    Args:
        store: Where they are.
        base: The folder of the profile with a `/` at its end; `""` is the root.
        limit: Most bytes of a file.
    """

    def __init__(self, store: Store, base: str, limit: int = LIMIT) -> None:
        self.main = f"{base}MEMORY.md"
        self.folder = f"{base}memory"
        self._store = store
        self._limit = limit
        # what searches have looked at since the index last changed
        self._revision = -1
        self._known: dict[str, tuple[Entry, ...]] = {}
        self._indexed_at = -1
        self._indexes: dict[str, PageIndex] = {}

    @property
    def prefixes(self) -> tuple[str, str]:
        """What a search of this profile looks at."""
        return self.main, self.folder

    def paths(self) -> list[str]:
        """Return the files that there are: MEMORY.md, then the pages in their order."""
        pages = [entry.path for entry in self._store.list(self.folder) if entry.kind == "note"]
        main = [self.main] if self._store.version(self.main) else []
        return main + sorted(pages, key=_order)

    def text(self, path: str) -> str:
        """Return the text of a file, empty when there is none."""
        try:
            return self._store.read(path)
        except NotFound:
            return ""

    def entries(self, path: str) -> tuple[Entry, ...]:
        """Return the entries of a file as it is now."""
        return parse(self.text(path))

    def all(self) -> Iterator[tuple[str, Entry]]:
        """Yield every entry with its path, MEMORY.md first."""
        for path in self.paths():
            for entry in self.entries(path):
                yield path, entry

    def indexes(self) -> Iterator[tuple[str, PageIndex]]:
        """Yield the statements of each file with its path, MEMORY.md first."""
        revision = self._store.revision()
        if revision != self._indexed_at:
            self._indexes = {path: indexed(self.text(path)) for path in self.paths()}
            self._indexed_at = revision
        yield from self._indexes.items()

    def located(self, hits: Iterable[Hit]) -> Iterator[tuple[Hit, Entry]]:
        """Yield what a search has found with its entry; what is none, a heading, is left out."""
        revision = self._store.revision()
        if revision != self._revision or len(self._known) > KNOWN:
            self._revision, self._known = revision, {}
        known = self._known
        for hit in hits:
            entries = known.get(hit.path)
            if entries is None:
                entries = known[hit.path] = self.entries(hit.path)
            at = bisect_right(entries, hit.line, key=lambda entry: entry.line) - 1
            if at >= 0 and hit.line <= entries[at].last_line:
                yield hit, entries[at]

    def take_out(self, path: str, identities: Iterable[tuple[str, str, Mark]]) -> Written:
        """Take the entries with these identities out of a file.

        Raises:
            FormatError: Without them, others would not be read as they are now.
        """
        gone = set(identities)
        return self._store.update(path, lambda text: _without(text, gone))

    def move_older_entries(self) -> Written | None:
        """Move the older half of each category to pages, if MEMORY.md has grown too large.

        Returns:
            The write of MEMORY.md, None when nothing was moved.

        Raises:
            CompactionFailed: What was moved does not read back; it is still in MEMORY.md.
            FormatError: A page, or MEMORY.md, cannot be changed safely.
        """
        written = None
        while len((text := self.text(self.main)).encode()) > self._limit:
            moving = _older_half(parse(text))
            if not moving:
                break
            for title, entries in moving.items():
                self._extend(title, entries)
            # another process may be at it too: what it has moved is not there any more
            gone = {entry.identity for entries in moving.values() for entry in entries}
            written = self.take_out(self.main, gone)
        return written

    def _extend(self, title: str, entries: Sequence[Entry]) -> None:
        """Put entries of one category at the end of its pages, and read them back."""
        sources = [_source(entry) for entry in entries]
        while sources:
            path, room = self._room(title, len(sources[0].encode()))
            batch: list[str] = []
            while sources and (not batch or len(sources[0].encode()) <= room):
                room -= len(sources[0].encode())
                batch.append(sources.pop(0))
            self._put(path, title, batch)
        held = {one.identity for page in self._pages(title) for one in self.entries(page.path)}
        lost = [entry for entry in entries if entry.identity not in held]
        if lost:
            raise CompactionFailed(
                f"{len(lost)} entries of {self.main} do not read back from {self.folder}: they "
                f"were left where they are; the first is {lost[0].text!r:.60}"
            )

    def _put(self, path: str, title: str, sources: Sequence[str]) -> None:
        def change(text: str) -> str:
            # what a crash left in both files comes only once
            known = {entry.identity for entry in parse(text)}
            new = [one for one in sources if parse(f"## {title}\n\n{one}")[0].identity not in known]
            return added(begun(text, f"Memory: {title}"), title, new) if new else text

        try:
            self._store.update(path, change)
        except Refused:
            # a name that no file may have, such as con.md
            self._store.update(f"{self.folder}/{page_names(title)[1]}.md", change)

    def _room(self, title: str, size: int) -> tuple[str, int]:
        """Return the page that takes so many bytes more of a category, and how many it takes."""
        pages = self._pages(title)
        if not pages:
            return f"{self.folder}/{page_names(title)[0]}.md", self._limit
        room = self._limit - pages[-1].size
        if room >= size:
            return pages[-1].path, room
        stem, part = _order(pages[-1].path)
        return f"{stem}-{part + 1}.md", self._limit

    def _pages(self, title: str) -> list[File]:
        """Return the pages that are named for a category; their headings say what is on them."""
        stems = {f"{self.folder}/{name}" for name in page_names(title)}
        found = [entry for entry in self._store.list(self.folder) if _order(entry.path)[0] in stems]
        return sorted(found, key=lambda entry: _order(entry.path))


def _order(path: str) -> tuple[str, int]:
    """Return the name of a page without its number, and the number.

    >>> _order("memory/style.md"), _order("memory/style-12.md")
    (('memory/style', 1), ('memory/style', 12))
    """
    found = _PART.fullmatch(path)
    return (found["name"], int(found["part"] or 1)) if found else (path, 1)


def _source(entry: Entry) -> str:
    """Return an entry as it is written on a page: as it was, if that is a plain item."""
    source = entry.source
    plain = source.startswith("- ") and source.endswith("\n") and "\r" not in source
    return source if plain else render(entry.text, entry.mark)


def _older_half(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Return the older half of each category, by its heading; of single entries all but the last.

    What is no longer true goes first. Empty when there is but one entry.
    """
    past = [entry for entry in entries if entry.until]
    if past and len(past) < len(entries):
        return {
            title: [entry for entry in past if entry.category == title]
            for title in dict.fromkeys(entry.category for entry in past)
        }
    by_category: dict[str, list[Entry]] = {}
    for entry in entries:
        by_category.setdefault(entry.category, []).append(entry)
    halves = {title: some[: len(some) // 2] for title, some in by_category.items()}
    if not any(halves.values()):
        halves = {entry.category: [entry] for entry in entries[:-1]}
    return {title: some for title, some in halves.items() if some}


def _without(text: str, identities: set[tuple[str, str, Mark]]) -> str:
    found = [entry for entry in parse(text) if entry.identity in identities]
    return removed(text, found) if found else text
