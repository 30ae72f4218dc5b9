"""Notes of facts and episodes: read, write and patch, with their summary lines kept up to date."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from commonplace._core import Entry, Written
from commonplace.citation import located
from commonplace.errors import CommonplaceError, NotFound, Refused
from commonplace.memories.facts_and_episodes import summary_line
from commonplace.memories.facts_and_episodes.usage import Usage
from commonplace.store import Store
from commonplace.tools.cited_text import cited_text

FACTS = "facts/"
EPISODES = "episodes/"
"""In the notes of this folder the last entry is the newest and matters most."""
ARCHIVE = "archive/"
OTHERS = ("users/", "agents/", "world/", "branches/", "detail/")
"""Folders in which other memories keep what is theirs; in the others notes may be a person's."""


class Notes:
    """The notes of a memory; their paths are relative to its folder.

    Args:
        store: Where they are.
        base: What their paths in the store begin with, as `Files.base_of` gives it.
        usage: Remembers which summary lines were made here.
    """

    def __init__(self, store: Store, base: str, usage: Usage) -> None:
        self.store = store
        self._folder = base
        self._usage = usage

    def full(self, path: str) -> str:
        """Return the path of a note in the store."""
        return self.store.spelled(self._folder + path)

    def relative(self, path: str) -> str:
        """Return the path in the memory of a file of the store."""
        return path.removeprefix(self._folder)

    @contextmanager
    def named_as_given(self) -> Iterator[None]:
        """Let errors name files and tools as a model knows them, without the folder."""
        try:
            yield
        except CommonplaceError as error:
            text = str(error).replace("`list`", "`memory_list`")
            error.args = (text.replace(self._folder, "") if self._folder else text,)
            raise

    def files(self, folder: str = "") -> list[Entry]:
        """Return the files that there are, with their paths in the store, sorted."""
        return self.store.list(self._folder + folder)

    def is_own(self, entry: Entry) -> bool:
        """Return whether a file is one of this memory, and not of another in the same folder."""
        path = self.relative(entry.path)
        is_own = path.startswith((FACTS, EPISODES, ARCHIVE)) or entry.summary is not None
        return entry.kind == "note" and is_own

    def own(self, path: str) -> str:
        """Return the path in the store of a note of this memory, or of one that is not there yet.

        Raises:
            Refused: It is in a folder of another memory.
        """
        full = self.full(path)
        there = next((one for one in self.store.list(full) if one.path == full), None)
        in_others = self.relative(full).startswith(OTHERS)
        if there is not None and in_others and not self.is_own(there):
            raise Refused(
                f"{path!r:.80} is not of this memory: it is in a folder of another one, and has "
                "no line `> Summary:`; `memory_list` shows what is"
            )
        return full

    def read(self, path: str) -> str:
        """Return the text of a note."""
        return self.store.read(self.own(path))

    def cited(self, path: str) -> str:
        """Return the text of a note, or the lines that a citation names.

        Citations of the archive have the path in the store.
        """
        if "#L" not in path or self.store.version(self.full(path)):
            return self.read(path)
        citation = self.full(path)
        if self.store.version(located(citation)[0]) is None:
            citation = self.full(self.relative(path))
        self.own(self.relative(located(citation)[0]))
        return cited_text(self.store, citation)

    def text(self, path: str) -> str:
        """Return the text of a note, empty if there is none."""
        try:
            return self.read(path)
        except NotFound:
            return ""

    def version(self, path: str) -> str:
        """Return the version of a note; `absent` if there is none."""
        return self.store.version(self.full(path)) or "absent"

    def write(self, path: str, content: str, *, expected: str | None = None) -> Written:
        """Write the whole text of a note."""
        full = self._writable(path)
        whole, made = self._summed(path, self.text(path), content)
        written = self.store.write(full, whole, expected_version=expected)
        self._usage.note_line(written.path, made)
        return written

    def patch(
        self, path: str, edits: Sequence[tuple[str, str]], *, expected: str | None = None
    ) -> tuple[Written, Written]:
        """Replace pieces of a note, then make its summary line true; return both writes."""
        full = self._writable(path)
        before = self.text(path)
        first = self.store.patch(full, edits, expected_version=expected)
        # a crash in between leaves the old summary line, and the next change mends it
        return first, self.change(path, lambda note: note, before=before)

    def change(
        self,
        path: str,
        change: Callable[[str], str],
        *,
        summary: str | None = None,
        expected: str | None = None,
        before: str | None = None,
    ) -> Written:
        """Change a note by a function of its text; what others write meanwhile is kept.

        Args:
            path: The note; `change` is given a title if there is none.
            change: As for `Store.update()`.
            summary: What the summary line is to say; default: see `FactsAndEpisodes`.
            expected: The version that is to be changed.
            before: The text before the change, if it is not the one in the file.
        """
        made: str | None = None

        def whole(note: str) -> str:
            nonlocal made
            changed = change(note or f"# {_title(path)}\n")
            whole, made = self._summed(path, note if before is None else before, changed, summary)
            return whole

        full = self._writable(path)
        if expected is None:
            written = self.store.update(full, whole)
        else:
            try:
                note = "" if expected == "absent" else self.store.read(full, expected)
            except NotFound:
                note = ""  # no such version: the write says so
            written = self.store.write(full, whole(note), expected_version=expected)
        self._usage.note_line(written.path, made)
        return written

    def delete(self, path: str, *, expected: str) -> Written:
        """Take a note away; its text goes to the history."""
        return self.store.delete(self.full(path), expected_version=expected)

    def _summed(
        self, path: str, before: str, after: str, given: str | None = None
    ) -> tuple[str, str | None]:
        """Return a changed text with its summary line, and that line if it was made here."""
        if given and given.strip():
            return summary_line.put(after, given), None
        newest_first = path.startswith(EPISODES)
        line = summary_line.read(after)
        ours = not line or line == self._usage.of(self.full(path)).line
        if ours or line == summary_line.make(before, newest_first=newest_first):
            line = summary_line.make(after, newest_first=newest_first)
            return summary_line.put(after, line), line
        if line and line == summary_line.read(before):
            longer = summary_line.with_latest(line, before, after, entries_only=newest_first)
            after = after if longer == line else summary_line.put(after, longer)
        return after, None

    def _writable(self, path: str) -> str:
        if path.lower().endswith(".jsonl"):
            raise Refused(f"{path!r:.80} is a transcript: a memory file is a note and ends in .md")
        return self.own(path)


def _title(path: str) -> str:
    """Return the title of a new note.

    >>> _title("facts/user.md"), _title("episodes/2026-02.md")
    ('User Facts', '2026-02 Episodes')
    """
    *folders, name = path.removesuffix(".md").split("/")
    return " ".join(word[:1].upper() + word[1:] for word in [name, *folders[-1:]])
