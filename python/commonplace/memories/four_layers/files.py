"""Files of a layer: of bounded size, continued in a next one.

Episodes and rules are series: `2026-02.md`, `2026-02-part-2.md`, … in the order in which they were
appended. Facts have a small note each, named for their key, so that one is found without looking
at the others. What else lies in these folders belongs to somebody else and is not touched.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence

from commonplace._core import Entry, Written
from commonplace.entries.blocks import Block, parse, preamble
from commonplace.errors import Conflict, FormatError, NotFound, Refused
from commonplace.memories.four_layers.entries import key_of
from commonplace.store import Store

LIMIT = 64 * 1024
"""A file of a series is continued in a next one when it would grow beyond this, in bytes."""
_TRIES = 64
_OLDER = "> Older entries: "


class Series:
    """Notes in one folder that together are one list of blocks, appended at its end.

    Args:
        store: Where they are.
        folder: Of the notes, with a `/` at its end.
        stem: A regular expression of the first part's name; names sort as the list goes on.
        title: The heading of a note, with `{}` for its stem.
    """

    def __init__(self, store: Store, folder: str, stem: str, title: str) -> None:
        self.folder = folder
        self._store = store
        self._name = re.compile(rf"{re.escape(folder)}({stem})(?:-part-([1-9]\d*))?\.md")
        self._title = title
        # the file that was last seen to take one more block, and its version then
        self._sound = ("", "")

    def paths(self) -> list[str]:
        """Return the notes of the series that are there, in the order of the list."""
        return [entry.path for _, _, entry in self._parts()]

    def blocks(self) -> Iterator[tuple[str, Block]]:
        """Yield each block with the path of its note, in the order of the list."""
        for path in self.paths():
            for block in _read(self._store, path):
                yield path, block

    def extend(
        self, blocks: Sequence[tuple[str, str]], *, expected_version: str | None = None
    ) -> list[Written]:
        """Append blocks, as few writes as the files allow.

        Args:
            blocks: Stem and rendered block each. One whose stem is before that of the newest note
                goes into the newest note: the order of the list is that of appending.
            expected_version: That of the newest note, `absent` when there is none.

        Raises:
            Conflict: The newest note is no longer the expected version, or others kept writing.
        """
        done: list[Written] = []
        tries = 0
        while blocks:
            stem, path, room, version = self._target(blocks[0][0], len(blocks[0][1].encode()))
            if expected_version is not None:
                newest = self.version()
                if newest != expected_version:
                    raise Conflict(
                        f"the newest note of {self.folder} is version {newest}, not "
                        f"{expected_version:.60}; read it again"
                    )
            taken = [blocks[0][1]]
            room -= len(blocks[0][1].encode())
            for next_stem, block in blocks[1:]:
                room -= len(block.encode()) + 1
                if next_stem > stem or room < 0:
                    break
                taken.append(block)
            text = "\n".join(taken).rstrip("\n")
            try:
                if version == "absent":
                    head = self.head(path)
                    written = self._store.write(
                        path, f"{head}\n\n{text}\n", expected_version=version
                    )
                else:
                    written = self._store.append(path, f"\n{text}", expected_version=version)
            except Conflict:
                tries += 1
                if tries == _TRIES or expected_version is not None:
                    raise
                continue
            self._sound = (path, written.version)
            done.append(written)
            blocks = blocks[len(taken) :]
            expected_version = None
        return done

    def version(self) -> str:
        """Return the version of the newest note, `absent` when there is none."""
        paths = self.paths()
        return (self._store.version(paths[-1]) if paths else None) or "absent"

    def current(self, stem: str) -> str:
        """Return the path of the note of a stem that has room for more, there or to be made."""
        parts = [part for part in self._parts() if part[0] == stem]
        if not parts:
            return self._path(stem, 1)
        _, number, entry = parts[-1]
        return entry.path if entry.size < LIMIT else self._path(stem, number + 1)

    def holding(self, stem: str, ids: Collection[str]) -> str | None:
        """Return the newest note of a stem in which one of these entries is, if there is one."""
        for part, _, entry in reversed(self._parts()):
            held = _read(self._store, entry.path) if part == stem else ()
            if any(block.meta.get("id") in ids for block in held):
                return entry.path
        return None

    def stem(self, path: str) -> str:
        """Return the stem of a note of the series: `2026-02` of its second part as well."""
        return path.removeprefix(self.folder).removesuffix(".md").partition("-part-")[0]

    def holds(self, path: str, block: Block) -> bool:  # noqa: ARG002 - facts look at the block
        """Return whether a block is in the list: each one in a note of the series is."""
        return self._name.fullmatch(path) is not None

    def head(self, path: str) -> str:
        """Return the heading of a note: `# Episodes 2026-02, part 2`."""
        stem, _, part = path.removeprefix(self.folder).removesuffix(".md").partition("-part-")
        return f"# {self._title.format(stem)}" + (f", part {part}" if part else "")

    def _parts(self) -> list[tuple[str, int, Entry]]:
        """Return stem, number of the part and listing of each note, in the order of the list."""
        found = [
            (match[1], int(match[2] or 1), entry)
            for entry in self._store.list(self.folder)
            if (match := self._name.fullmatch(entry.path))
        ]
        return sorted(found, key=lambda part: part[:2])

    def _path(self, stem: str, number: int) -> str:
        return f"{self.folder}{stem}{f'-part-{number}' if number > 1 else ''}.md"

    def _target(self, stem: str, size: int) -> tuple[str, str, int, str]:
        """Return stem, path, room in bytes and version of the note that takes the next block."""
        while parts := self._parts():
            newest, number, entry = parts[-1]
            if newest < stem:
                break
            version = self._store.version(entry.path)
            if version is None:
                # deleted since it was listed
                continue
            try:
                if entry.size + size < LIMIT and self._is_sound(entry.path, version):
                    return newest, entry.path, LIMIT - entry.size, version
            except NotFound:
                continue
            return newest, self._path(newest, number + 1), LIMIT, "absent"
        return stem, self._path(stem, 1), LIMIT, "absent"

    def _is_sound(self, path: str, version: str) -> bool:
        """Return whether a block at the end would be read as one: no fence is left open."""
        if self._sound != (path, version):
            note = self._store.read(path)
            if len(parse(f"{note}\n## next\n")) != len(parse(note)) + 1:
                return False
            self._sound = (path, version)
        return True


class Facts:
    """Notes in one folder, one a key: `facts/dataset-format.md`."""

    def __init__(self, store: Store, folder: str) -> None:
        self.folder = folder
        self._store = store

    def head(self, path: str) -> str:  # noqa: ARG002 - that of a series has one
        """Return the heading of a note: a fact has only its own."""
        return ""

    def find(self, key: str) -> tuple[str, Block] | None:
        """Return the block of a key with its path, or None; no other key is looked at."""
        for path in self._paths(key):
            for block in _read(self._store, path):
                if key_of(block) == key:
                    return path, block
        return None

    def blocks(self) -> Iterator[tuple[str, Block]]:
        """Yield each block with its path, in the order in which the keys were first learned."""
        found = [
            (entry.path, block)
            for entry in self._store.list(self.folder)
            for block in _read(self._store, entry.path)
            if self.holds(entry.path, block)
        ]
        return iter(sorted(found, key=lambda one: _since(one[1])))

    def holds(self, path: str, block: Block) -> bool:
        """Return whether a block is a fact: it lies where its key is looked for."""
        return path in self._paths(key_of(block))

    def put(
        self, key: str, make: Callable[[Block | None], str], *, expected_version: str | None = None
    ) -> Written:
        """Write the block of a key in the place of the one that is there.

        A note that somebody else wrote is left alone: the key then gets one named by a hash.

        Args:
            key: Any text; two keys that give one name share the note.
            make: Is given the present block, or None, and returns the new one.
            expected_version: That of the note of the key, `absent` when there is none.
        """
        there = self.find(key)
        paths = [there[0]] if there else self._paths(key)
        for path in paths:
            try:
                return self._put(path, key, make, expected_version)
            except _NotHereError:
                continue
            except Refused:
                # such as claude.md, which other agents load as instructions
                if path == paths[-1]:
                    raise
        raise FormatError(f"{paths[-1]} cannot take {key!r:.60}: look for a fence left open in it")

    def _put(
        self,
        path: str,
        key: str,
        make: Callable[[Block | None], str],
        expected_version: str | None,
    ) -> Written:
        def change(note: str) -> str:
            # here, since the write fails when the note changes between this look and it
            found = self._store.version(path) or "absent"
            if expected_version is not None and found != expected_version:
                raise Conflict(
                    f"{path} is version {found}, not {expected_version:.60}; read it again"
                )
            old = parse(note)
            for block in old:
                if key_of(block) == key:
                    after = note[block.end :]
                    return note[: block.start] + make(block) + ("\n" if after else "") + after
            if note.strip() and not any("id" in block.meta for block in old):
                raise _NotHereError
            end = note.rstrip("\n")
            new = f"{end}\n\n{make(None)}" if end else make(None)
            if len(parse(new)) != len(old) + 1:
                raise _NotHereError
            return new

        return self._store.update(path, change)

    def _paths(self, key: str) -> list[str]:
        """Return where the note of a key may be: under its name, or under a hash."""
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", key).casefold())
        name = "-".join(re.findall(r"[^\W_]+", folded))
        mark = hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()[:12]
        short = name.encode()[:60].decode(errors="ignore").rstrip("-")
        # cut names get the hash too, so that long keys with one beginning have a note each
        names = [name if name == short else f"{short}-{mark}", f"fact-{mark}"]
        return [f"{self.folder}{name}.md" for name in names if name]


class _NotHereError(Exception):
    """This note is not the place for the key."""


def take_out(store: Store, path: str, leaving: Sequence[Block], head: str) -> int:
    """Take blocks out of a note; what others changed meanwhile stays.

    A note of which only `head` is left is deleted. Either way the history has it whole.

    Returns:
        How many were taken out.
    """
    taken = 0

    def change(note: str) -> str:
        nonlocal taken
        rest, new, at = list(leaving), "", 0
        for block in parse(note):
            if block in rest:
                rest.remove(block)
                new += note[at : block.start]
                at = block.end
        taken = len(leaving) - len(rest)
        return new + note[at:]

    for _ in range(_TRIES):
        version = store.version(path)
        if version is None:
            return 0
        try:
            if change(store.read(path)).strip() in {"", head}:
                store.delete(path, expected_version=version)
            else:
                store.update(path, change)
        except (Conflict, NotFound):
            continue
        return taken
    raise Conflict(f"{path} kept changing while entries were taken out of it; try again")


def name_older(store: Store, path: str, head: str, archives: Sequence[str]) -> None:
    """Say below the heading of a note in which archive notes its older entries are, each once."""

    def change(note: str) -> str:
        # below the heading only: an entry may hold such a line as well
        known = next((line for line in preamble(note).split("\n") if line.startswith(_OLDER)), None)
        paths = known.removeprefix(_OLDER).split(", ") if known else []
        line = _OLDER + ", ".join(dict.fromkeys([*paths, *archives]))
        if known:
            return note.replace(known, line, 1)
        if note.startswith(f"{head}\n"):
            return f"{head}\n\n{line}\n" + note.removeprefix(f"{head}\n")
        return f"{line}\n\n{note}"

    store.update(path, change)


def _read(store: Store, path: str) -> list[Block]:
    try:
        return parse(store.read(path))
    except NotFound:
        # deleted since it was listed
        return []


def _since(block: Block) -> float:
    since = block.meta.get("since", 0)
    return since if isinstance(since, (int, float)) else 0
