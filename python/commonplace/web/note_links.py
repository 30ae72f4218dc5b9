"""Links and tags of notes: reading them from the files, and tables to look them up in."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from contextlib import suppress
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from commonplace._core import front_matter
from commonplace.citation import is_citation, located
from commonplace.errors import CommonplaceError, NotFound
from commonplace.web.markdown import WIKILINK

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from commonplace._core import Match
    from commonplace.store import Store

MARKDOWN_LINK = re.compile(r"\]\(<?([^)\s<>]+\.md)(?:#[^)\s]*)?>?\)")
PATTERN = r"\[\[[^\[\]\n]+\]\]|\]\(<?[^)\s<>]+\.md|^(?:tags|keywords) *:"
AT_ONCE = 1000
"""Notes that are grepped by name; where there are more, all notes of the store are."""
LONGEST_LINE = 2_000


# tuples of texts alone are left out of garbage collection, which with very many would pause a page
class Link(NamedTuple):
    """A link of a note: the line it is in, what it names, and the line's text."""

    line: int
    target: str
    text: str
    is_wiki: bool


class NoteLinks(NamedTuple):
    """The links and the tags of a note."""

    links: tuple[Link, ...] = ()
    tags: tuple[str, ...] = ()


class NoteNames:
    """The paths of notes, found by their file names as links write them."""

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._stems: dict[str, list[str]] = {}

    def __len__(self) -> int:
        return len(self._paths)

    def add(self, path: str, name: str) -> None:
        """Add a note that is not there yet."""
        self._paths.add(path)
        self._stems.setdefault(stem(name), []).append(path)

    def remove(self, path: str, name: str) -> None:
        """Remove a note that is there."""
        self._paths.remove(path)
        named = self._stems[stem(name)]
        named.remove(path)
        if not named:
            del self._stems[stem(name)]

    def named(self, name: str, path: str) -> str | None:
        """Return the note that a wikilink of the note at `path` names."""
        own = path.rpartition("/")[0]
        for base in dict.fromkeys((own, "")):
            whole = _joined(base, name)
            for found in (whole, f"{whole}.md"):
                if found in self._paths:
                    return found
        named = self._stems.get(stem(name.rpartition("/")[2]), [])
        if "/" in name:
            named = [one for one in named if one.casefold().endswith(f"/{name}.md".casefold())]
        if len(named) == 1:
            return named[0]
        return min(
            named, key=lambda one: (one.rpartition("/")[0] != own, len(one), one), default=None
        )

    def target(self, link: Link, path: str) -> str | None:
        """Return the note that a link of the note at `path` leads to."""
        if link.is_wiki:
            return self.named(link.target, path)
        whole = _joined(path.rpartition("/")[0], link.target)
        return whole if whole in self._paths else None


class LinkTable:
    """The links and tags of notes, found by what they lead to and by tag."""

    def __init__(self) -> None:
        self.tags: dict[str, list[str]] = {}
        """The notes that have a tag, in order."""
        self._notes: dict[str, NoteLinks] = {}
        # a link may lead elsewhere when a note comes or goes; its file name stays
        self._by_stem: dict[str, list[str]] = {}

    def set(self, path: str, found: NoteLinks) -> None:
        """Put links and tags of a note in the place of those it had."""
        self.remove(path)
        if not (found.links or found.tags):
            return
        self._notes[path] = found
        for name in _stems(found.links):
            insert_sorted(self._by_stem.setdefault(name, []), path)
        for tag in found.tags:
            insert_sorted(self.tags.setdefault(tag, []), path)

    def remove(self, path: str) -> None:
        """Remove the links and tags of a note, if it has any."""
        known = self._notes.pop(path, NoteLinks())
        for table, names in ((self._by_stem, _stems(known.links)), (self.tags, known.tags)):
            for name in names:
                remove_sorted(table[name], path)
                if not table[name]:
                    del table[name]

    def tags_of(self, path: str) -> tuple[str, ...]:
        """Return the tags of a note."""
        return self._notes[path].tags if path in self._notes else ()

    def tag_counts(self) -> dict[str, int]:
        """Return the tags with how many notes have them, those of most notes first."""
        counts = sorted((-len(paths), tag) for tag, paths in self.tags.items())
        return {tag: -count for count, tag in counts}

    def leading_to(
        self, path: str, names: NoteNames, after: str = ""
    ) -> Iterator[tuple[str, Link]]:
        """Yield the links of other notes that lead to a note, with the notes they are in.

        Args:
            path: The note.
            names: All notes.
            after: The citation of the last link that is left out; they are in order. Of a line with
                several links there is one.
        """
        name = stem(path.rpartition("/")[2])
        begins, line, _ = located(after) if is_citation(after) else ("", 0, 0)
        sources = self._by_stem.get(name, [])
        for source in sources[bisect_left(sources, begins) :]:
            last = line or 0 if source == begins else 0
            for link in self._notes[source].links:
                if (
                    link.line > last
                    and _stem_of(link) == name
                    and names.target(link, source) == path != source
                ):
                    last = link.line
                    yield source, link


def read_links(store: Store, wanted: Collection[str]) -> Iterator[tuple[str, NoteLinks]]:
    """Read the links and tags of notes, those of each note once."""
    rest = set(wanted)
    for path, matches in groupby(_matches(store, wanted), key=lambda match: match.path):
        if path in rest:
            rest.remove(path)
            yield path, _note_links(store, path, matches)
    for path in rest:
        yield path, NoteLinks()


def insert_sorted(paths: list[str], path: str) -> None:
    """Put a path into a sorted list that does not have it."""
    if paths and paths[-1] > path:
        paths.insert(bisect_left(paths, path), path)
    else:
        paths.append(path)


def remove_sorted(paths: list[str], path: str) -> None:
    """Take a path out of a sorted list that has it."""
    del paths[bisect_left(paths, path)]


def stem(name: str) -> str:
    """Return a file name as links are compared with it.

    >>> stem("User.md"), stem("user")
    ('user', 'user')
    """
    return name.removesuffix(".md").casefold()


def _stem_of(link: Link) -> str:
    return stem(link.target.rpartition("/")[2])


def _stems(links: Iterable[Link]) -> dict[str, None]:
    return dict.fromkeys(_stem_of(link) for link in links)


def _matches(store: Store, wanted: Collection[str]) -> Iterator[Match]:
    """Yield the lines of notes that have links or tags, file by file."""
    prefix = [*wanted] if len(wanted) <= AT_ONCE else None
    try:
        yield from store.grep(PATTERN, prefix=prefix, source="note", width=LONGEST_LINE)
    except NotFound:
        # some have gone meanwhile, and the next refresh says so
        for path in wanted:
            with suppress(NotFound):
                yield from store.grep(PATTERN, prefix=path, source="note", width=LONGEST_LINE)


def _note_links(store: Store, path: str, matches: Iterable[Match]) -> NoteLinks:
    links: list[Link] = []
    is_tagged = False
    for match in matches:
        text = match.snippet
        is_tagged |= text.startswith(("tags", "keywords"))
        wiki = [one[1].strip() for one in WIKILINK.finditer(text)]
        plain = [unquote(one[1]) for one in MARKDOWN_LINK.finditer(text)]
        links += [Link(match.line, target, text, is_wiki=True) for target in wiki]
        links += [Link(match.line, target, text, is_wiki=False) for target in plain]
    return NoteLinks(tuple(links), _tags(store, path) if is_tagged else ())


def _joined(folder: str, name: str) -> str:
    """Return a path relative to the root; one that begins with `/` is there already."""
    whole = name if name.startswith("/") or not folder else f"{folder}/{name}"
    if "./" in whole or "//" in whole:
        whole = posixpath.normpath(whole)
    return whole.strip("/")


def _tags(store: Store, path: str) -> tuple[str, ...]:
    """Return the tags in the front matter of a note; none of one that has gone meanwhile."""
    try:
        matter = front_matter(store.read(path))
    except CommonplaceError:
        return ()
    fields = matter.fields if matter else ()
    found = [value for key, value in fields if key in {"tags", "keywords"}]
    names = (name.strip().lstrip("#") for value in found for name in value.strip("[]").split(","))
    return tuple(dict.fromkeys(filter(None, names)))
