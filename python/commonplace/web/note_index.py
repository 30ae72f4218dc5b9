"""Index of the notes of a store: its folders, the links between notes, and their tags.

It is made from one listing and one grep, and kept until something changes; then only the notes
whose size or time differ are looked at again.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING
from urllib.parse import unquote

from commonplace._core import front_matter
from commonplace.errors import CommonplaceError
from commonplace.web.markdown import WIKILINK

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from commonplace._core import Entry
    from commonplace.store import Store
    from commonplace.web.page import Page

MARKDOWN_LINK = re.compile(r"\]\(<?([^)\s<>]+\.md)(?:#[^)\s]*)?>?\)")
PATTERN = r"\[\[[^\[\]\n]+\]\]|\]\(<?[^)\s<>]+\.md|^(?:tags|keywords) *:"
FEW = 200
"""Changed notes that are grepped by name; of more, all are."""
LONGEST_LINE = 2_000


@dataclass(frozen=True)
class Link:
    """A link of a note: the line it is in, what it names, and the line's text."""

    line: int
    target: str
    text: str
    is_wiki: bool


@dataclass
class Folder:
    """A folder: the folders in it with how many notes each has, and its own files."""

    folders: Counter[str] = field(default_factory=Counter)
    files: list[Entry] = field(default_factory=list)


@dataclass
class _Note:
    stamp: tuple[int, float]
    links: list[Link]
    tags: tuple[str, ...]


@dataclass
class _State:
    """All that is known at one revision of the store."""

    revision: int | None = None
    notes: dict[str, _Note] = field(default_factory=dict)
    folders: dict[str, Folder] = field(default_factory=dict)
    stems: dict[str, list[str]] = field(default_factory=dict)
    backlinks: dict[str, list[tuple[str, Link]]] = field(default_factory=dict)
    tags: dict[str, list[str]] = field(default_factory=dict)


class NoteIndex:
    """Folders, links and tags of the notes of a store; safe to share between threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        self._known = _State()

    def folder(self, path: str) -> Folder | None:
        """Return what is in a folder; `""` is the root; None where there is none."""
        return self._state().folders.get(path)

    def backlinks(self, path: str) -> list[tuple[str, Link]]:
        """Return the links that lead to a note, with the notes they are in."""
        return self._state().backlinks.get(path, [])

    def tags(self) -> dict[str, list[str]]:
        """Return the tags, those of most notes first, with the notes that have them."""
        return self._state().tags

    def tags_of(self, path: str) -> tuple[str, ...]:
        """Return the tags of a note."""
        note = self._state().notes.get(path)
        return note.tags if note else ()

    def resolve(self, name: str, path: str = "") -> str | None:
        """Return the note that a wikilink names: by its path, else by its file name alone.

        Args:
            name: What stands in the link, with or without `.md`.
            path: The note that the link is in: its folder comes first.
        """
        return _resolved(self._state(), name, path)

    def _state(self) -> _State:
        with self._lock:
            revision = self._store.revision()
            if revision != self._known.revision:
                # a new one: others may still read the old
                self._known = _refreshed(self._store, self._known, revision)
            return self._known


def shared_index(page: Page) -> NoteIndex:
    """Return the index of the notes, which all requests share."""
    found: NoteIndex = page.frame.shared.setdefault("notes", NoteIndex(page.store))
    return found


def _refreshed(store: Store, known: _State, revision: int) -> _State:
    """Return the state at a revision, with what is known of the notes that have not changed."""
    entries = store.list()
    state = _State(revision)
    changed = []
    for entry in entries:
        if entry.kind != "note":
            continue
        stamp = (entry.size, entry.modified)
        note = known.notes.get(entry.path)
        if note is None or note.stamp != stamp:
            changed.append(entry.path)
            note = _Note(stamp, [], ())
        state.notes[entry.path] = note
    if changed:
        _read(store, state.notes, changed)
    _gather(state, entries)
    return state


def _read(store: Store, notes: dict[str, _Note], changed: Sequence[str]) -> None:
    """Find the links and tags of notes that are new or have changed."""
    wanted = set(changed)
    prefix = [*changed] if len(changed) <= FEW else None
    tagged = set()
    for match in store.grep(PATTERN, prefix=prefix, source="note", width=LONGEST_LINE):
        if match.path not in wanted:
            continue
        note, text = notes[match.path], match.snippet
        if text.startswith(("tags", "keywords")):
            tagged.add(match.path)
        note.links += [
            Link(match.line, found[1].strip(), text, is_wiki=True)
            for found in WIKILINK.finditer(text)
        ]
        note.links += [
            Link(match.line, unquote(found[1]), text, is_wiki=False)
            for found in MARKDOWN_LINK.finditer(text)
        ]
    for path in tagged:
        notes[path].tags = _tags(store, path)


def _gather(state: _State, entries: Iterable[Entry]) -> None:
    """Make the tables of folders, names, backlinks and tags."""
    folders: defaultdict[str, Folder] = defaultdict(Folder)
    stems: defaultdict[str, list[str]] = defaultdict(list)
    folders[""] = Folder()
    for entry in entries:
        folder = posixpath.dirname(entry.path)
        folders[folder].files.append(entry)
        while folder:
            parent, name = posixpath.split(folder)
            folders[parent].folders[name] += 1
            folder = parent
        if entry.path in state.notes:
            stems[_stem(entry.path)].append(entry.path)
    state.folders, state.stems = dict(folders), dict(stems)
    backlinks: defaultdict[str, list[tuple[str, Link]]] = defaultdict(list)
    tags: defaultdict[str, list[str]] = defaultdict(list)
    for path, note in state.notes.items():
        for link in note.links:
            target = _target(state, link, path)
            if target is not None and target != path:
                backlinks[target].append((path, link))
        for tag in note.tags:
            tags[tag].append(path)
    state.backlinks = dict(backlinks)
    state.tags = dict(sorted(tags.items(), key=lambda one: (-len(one[1]), one[0])))


def _resolved(state: _State, name: str, path: str) -> str | None:
    own = posixpath.dirname(path)
    for base in (own, ""):
        for ending in ("", ".md"):
            whole = posixpath.normpath(posixpath.join(base, name.strip("/") + ending))
            if whole in state.notes:
                return whole
    found = state.stems.get(_stem(name), [])
    if "/" in name:
        found = [one for one in found if one.casefold().endswith(f"/{name}.md".casefold())]
    return min(found, key=lambda one: (posixpath.dirname(one) != own, len(one), one), default=None)


def _target(state: _State, link: Link, path: str) -> str | None:
    if link.is_wiki:
        return _resolved(state, link.target, path)
    whole = posixpath.normpath(posixpath.join(posixpath.dirname(path), link.target)).lstrip("/")
    return whole if whole in state.notes else None


def _stem(path: str) -> str:
    return posixpath.basename(path).removesuffix(".md").casefold()


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
