"""Index of the notes of a store: its folders, the links between notes, and their tags.

It is made from one listing and one grep, and kept until something changes; then only the notes
whose size or time differ are looked at again.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import TYPE_CHECKING
from urllib.parse import unquote

from commonplace._core import front_matter
from commonplace.errors import CommonplaceError
from commonplace.web.markdown import WIKILINK

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from commonplace._core import Entry
    from commonplace.store import Store
    from commonplace.web.page import Frame

MARKDOWN_LINK = re.compile(r"\]\(<?([^)\s<>]+\.md)(?:#[^)\s]*)?>?\)")
PATTERN = r"\[\[[^\[\]\n]+\]\]|\]\(<?[^)\s<>]+\.md|^(?:tags|keywords) *:"
FEW = 200
"""Changed notes that are grepped by name; of more, all are."""
LONGEST_LINE = 2_000
WAITED_FOR = 5_000
"""Notes up to which a page waits until all of them are as they are now."""


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
    entry: Entry
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

    def entries(self, paths: Iterable[str]) -> list[Entry]:
        """Return the files at these paths that are there."""
        notes = self._state().notes
        return [notes[path].entry for path in paths if path in notes]

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

    def note_named(self, name: str, path: str = "") -> str | None:
        """Return the note that a wikilink names: by its path, else by its file name alone.

        Args:
            name: What stands in the link, with or without `.md`.
            path: The note that the link is in: its folder comes first.
        """
        return _resolved(self._state(), name, path)

    def refresh_later(self) -> None:
        """Take in what has changed in a thread of its own."""

        def refresh() -> None:
            # of a store that is closed meanwhile nothing more is asked
            with suppress(CommonplaceError):
                self._refresh(waits=False)

        Thread(target=refresh, daemon=True).start()

    def _state(self) -> _State:
        known = self._known
        if self._store.revision() == known.revision:
            return known
        if len(known.notes) > WAITED_FOR:
            # a page does not wait for so many: this one shows them as they were a moment ago
            self.refresh_later()
            return known
        return self._refresh()

    def _refresh(self, *, waits: bool = True) -> _State:
        """Take in what has changed; where another thread does so, wait for it or leave it be."""
        if not self._lock.acquire(blocking=waits):
            return self._known
        try:
            revision = self._store.revision()
            if revision != self._known.revision:
                # a new one: others may still read the old
                self._known = _refreshed(self._store, self._known, revision)
        finally:
            self._lock.release()
        return self._known


def shared_index(frame: Frame) -> NoteIndex:
    """Return the index of the notes, which all requests share."""
    found: NoteIndex = frame.shared.setdefault("notes", NoteIndex(frame.store))
    return found


def _refreshed(store: Store, known: _State, revision: int) -> _State:
    """Return the state at a revision, with what is known of the notes that have not changed."""
    entries = store.list()
    state = _State(revision)
    changed = []
    for entry in entries:
        if entry.kind != "note":
            continue
        note = known.notes.get(entry.path)
        if note is None or _stamp(note.entry) != _stamp(entry):
            changed.append(entry.path)
            note = _Note(entry, [], ())
        state.notes[entry.path] = note
    if changed:
        _read(store, state.notes, changed)
    _gather(state, entries)
    return state


def _stamp(entry: Entry) -> tuple[int, float, str | None]:
    return entry.size, entry.modified, entry.summary


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
        folder, _, name = entry.path.rpartition("/")
        folders[folder].files.append(entry)
        if entry.kind == "note":
            stems[_stem(name)].append(entry.path)
    for path, count in [(path, len(folder.files)) for path, folder in folders.items()]:
        child = path
        while child:
            parent, _, name = child.rpartition("/")
            folders[parent].folders[name] += count
            child = parent
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
    own = path.rpartition("/")[0]
    for base in dict.fromkeys((own, "")):
        whole = _joined(base, name)
        for found in (whole, f"{whole}.md"):
            if found in state.notes:
                return found
    named = state.stems.get(_stem(name.rpartition("/")[2]), [])
    if "/" in name:
        named = [one for one in named if one.casefold().endswith(f"/{name}.md".casefold())]
    if len(named) == 1:
        return named[0]
    return min(named, key=lambda one: (one.rpartition("/")[0] != own, len(one), one), default=None)


def _target(state: _State, link: Link, path: str) -> str | None:
    if link.is_wiki:
        return _resolved(state, link.target, path)
    whole = _joined(path.rpartition("/")[0], link.target)
    return whole if whole in state.notes else None


def _joined(folder: str, name: str) -> str:
    """Return a path relative to the root; one that begins with `/` is there already."""
    whole = name if name.startswith("/") or not folder else f"{folder}/{name}"
    if "./" in whole or "//" in whole:
        whole = posixpath.normpath(whole)
    return whole.strip("/")


def _stem(name: str) -> str:
    return name.removesuffix(".md").casefold()


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
