"""Files of a root: read, list, write, patch, move, delete, and their kept versions."""

# Longer than 350 lines: the methods of one class, of which most is their docstrings.

from __future__ import annotations

import builtins
import os

from commonplace import _core
from commonplace._core import Entry, Revision, Section, Weights, Written
from commonplace.embedded_text import embedded_text
from commonplace.errors import Conflict, InvalidArgument, Refused
from commonplace.locks import Lock
from commonplace.paths import GivenPath, path_text

# for types only: a command starts without `typing`
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path
    from typing import TypeVar

    from commonplace._core import Hit
    from commonplace.file_stamp import Stamp
    from commonplace.side_files import SideFiles
    from commonplace.transcript import Transcript

    Value = TypeVar("Value")

UPDATES = 64
"""How often `Files.update` begins again when others change the file meanwhile."""


class Files:
    """The files of a root: what a store is before it is searched.

    A path is text or an object such as `pathlib.Path`, relative to the root, or absolute and in it;
    `./notes` is `notes`. That of a folder may end in `/`.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        create: bool = True,
        watch: bool = True,
        weights: Weights | None = None,
        memory_limit: int | None = None,
        keep_secrets: bool = False,
    ) -> None:
        self.keep_secrets = keep_secrets
        """Whether tools and transcripts write secrets as they are; see `redact`."""
        self._core = _core.Store(
            os.fspath(root),
            create=create,
            watch=watch,
            weights=weights,
            memory_limit=memory_limit,
        )
        self._root = self._core.root
        self._weights = weights
        self._update = Lock()
        self.embedded_texts: set[Callable[[Hit], str]] = {embedded_text}
        """What embedders are given of documents, so that `forget` knows which vectors stay."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._root)!r})"

    @property
    def root(self) -> Path:
        """The folder that holds this memory."""
        from pathlib import Path

        return Path(self._root)

    def relative(self, path: GivenPath) -> str:
        """Return a path as text relative to the root, as calls that take one do by themselves.

        Raises:
            Refused: An absolute path that is not in the root.
            InvalidArgument: It is no path.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> store.relative(store.root / "facts" / "user.md"), store.relative("./user.md")
        ('facts/user.md', 'user.md')
        """
        return self._core.relative(path_text(path))

    def _folder(self, path: GivenPath) -> str:
        return self._core.relative_folder(path_text(path))

    def list(self, prefix: GivenPath = "") -> list[Entry]:
        """Return the files whose path starts with the folder or file `prefix`, sorted by path.

        A folder that this user may not read is left out; `status().skipped` names it.

        Raises:
            Refused: A path that is absolute and not in the root, or has `..` in it.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.write("facts/a.md", "Tea."), store.write("b.md", "Milk.")
        >>> [(entry.path, entry.size) for entry in store.list()]
        [('b.md', 5), ('facts/a.md', 4)]
        """
        return self._core.list(self._folder(prefix))

    def holds(self, prefix: GivenPath = "") -> bool:
        r"""Say whether a file is `prefix` or lies below it.

        Raises:
            Refused: A path that is absolute and not in the root, or has `..` in it.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.write("facts/a.md", "Tea.\n")
        >>> store.holds("facts"), store.holds("fact")
        (True, False)
        """
        return self._core.holds(self._folder(prefix))

    def has_tool_messages(self) -> bool:
        r"""Say whether transcripts have tool traffic, which is found with `tools=True` only.

        It is what the last search saw: files are not compared again. Where nothing was searched
        yet, it says whether there is any transcript.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.transcript("s").append({"role": "tool", "content": "ran"})
        >>> _ = store.search("ran")
        >>> store.has_tool_messages()
        True
        """
        return self._core.has_tool_messages()

    def read(self, path: GivenPath, version: str | None = None) -> str:
        r"""Return the text of a file; bytes that are not UTF-8 are shown as U+FFFD.

        Args:
            path: Relative to the root.
            version: The text as it was then: now, or in the history (see `history`).

        Raises:
            NotFound: There is no such file, or no such version; the message names those there are.
            Refused: The path leaves the root, or is a link or a special file.
            MemoryLimit: The file is larger than the memory limit allows.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.write("a.md", "Green tea.\n")
        >>> store.read("a.md")
        'Green tea.\n'
        """
        return self._core.read(self.relative(path), version)

    def data(self, path: GivenPath) -> bytes:
        r"""Return what a file holds, byte by byte.

        Raises:
            NotFound, Refused, MemoryLimit: As for `read`.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.write("a.md", "four")
        >>> store.data("a.md")
        b'four'
        """
        return self._core.read_bytes(self.relative(path))

    def read_to_change(self, path: GivenPath) -> tuple[str, str]:
        r"""Return the text of a file and its version, for a `write` with `expected_version`.

        Both are of one moment. Of a file that is not there they are `""` and `"absent"`.

        Raises:
            FormatError: The file is not UTF-8: to write it back would lose something.
            Refused: As for `read`.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> store.read_to_change("a.md")
        ('', 'absent')
        """
        return self._core.read_to_change(self.relative(path))

    def version(self, path: GivenPath) -> str | None:
        """Return the version (a content hash) of a file, or None when there is none.

        Raises:
            Refused, MemoryLimit: As for `read`.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> written = store.write("a.md", "Tea.")
        >>> store.version("a.md") == written.version, store.version("b.md")
        (True, None)
        """
        return self._core.version(self.relative(path))

    def spelled(self, path: GivenPath) -> str:
        r"""Return a path as it is stored: in NFC, but for parts that are on disk as given.

        Calls that take a path do so by themselves; this is for comparing paths.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> [len(path) for path in ("cafe\u0301.md", store.spelled("cafe\u0301.md"))]
        [8, 7]
        """
        return self._core.spelled(self.relative(path))

    def base_of(self, folder: str) -> str:
        r"""Return what the paths of a memory in a folder begin with: `data/memory/`, or nothing.

        Args:
            folder: Where a layout begins; `""` is the root.

        Raises:
            Refused: No note may be there; the folder is named.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> store.base_of("data/memory"), store.base_of("")
        ('data/memory/', '')
        """
        folder = folder.strip("/")
        if not folder:
            return ""
        try:
            # the rules for names are those of a note in it
            self.version(f"{folder}/x.md")
        except Refused as error:
            error.args = (f"folder: {str(error).replace('/x.md', '', 1)}",)
            raise
        return f"{self.spelled(folder)}/"

    def stamp(self, path: GivenPath) -> Stamp:
        """Return inode, size and times of a file, without reading it.

        Raises:
            NotFound: There is no such file.
            Refused: As for `read`.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.write("a.md", "four")
        >>> store.stamp("a.md").size
        4
        """
        from commonplace.file_stamp import Stamp

        return Stamp(*self._core.stamp(self.relative(path)))

    def lines_at(self, path: GivenPath, offsets: Sequence[int]) -> builtins.list[bytes]:
        r"""Return the lines that begin at these bytes of a file, each with its end.

        Raises:
            NotFound: There is no such file.
            Refused: As for `read`.
            ValueError: An offset is negative, or 2**64 and more.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.write("a.md", "one\ntwo\nthree")
        >>> store.lines_at("a.md", [4, 8, 99])
        [b'two\n', b'three', b'']
        """
        return self._core.lines_at(self.relative(path), offsets)

    def sections(self, path: GivenPath) -> builtins.list[Section]:
        r"""Return the sections of a note in file order; their spans cover the file exactly once.

        Raises:
            NotFound, Refused, MemoryLimit: As for `read`.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.write("a.md", "# Tea\n\nGreen.\n\n## Black\n\nStrong.\n")
        >>> [(section.heading, section.line) for section in store.sections("a.md")]
        [(('Tea',), 1), (('Tea', 'Black'), 5)]
        """
        return self._core.sections(self.relative(path))

    def write(
        self, path: GivenPath, content: str, *, expected_version: str | None = None
    ) -> Written:
        """Create a file or replace its whole text, durably and all at once.

        Args:
            path: Relative to the root, `/` between folders, ending in `.md` or `.jsonl`.
            content: The new text.
            expected_version: The version you read (`"absent"`: must not exist yet). Without it
                whatever is there is replaced. Either way the old text goes to the history.

        Returns:
            The stored path, its new version and where the old text lies.

        Raises:
            Conflict: The file is no longer the expected version; nothing was changed.
            Refused: The name is not one that tools may create.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> first = store.write("a.md", "one", expected_version="absent")
        >>> store.write("a.md", "two", expected_version=first.version).previous == first.version
        True
        """
        return self._core.write(self.relative(path), content, expected_version)

    def update(self, path: GivenPath, change: Callable[[str], str]) -> Written:
        r"""Change the text of a file by a function of its text, and lose nothing that others write.

        The text is read, changed, and written if it is still the one that was read; if not, all
        of it is done again. The threads of this store take turns.

        Args:
            path: As for `write`.
            change: Gets the text, `""` for a file that is not there, and returns the new one. It
                may be called more than once. What it raises leaves the file as it is.

        Returns:
            As `write`. When the text comes back unchanged the file is left as it is, and
            `version` equals `previous`; a file that was not there is made.

        Raises:
            Conflict: Others changed the file each of 64 times.
            FormatError: The file is not UTF-8: to write it back would lose something.
            Refused: As for `write`; a daily log or a transcript is never rewritten.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.update("facts/user.md", lambda text: text + "- Name: Li Si\n")
        >>> _ = store.update("facts/user.md", lambda text: text + "- City: Beijing\n")
        >>> store.read("facts/user.md").splitlines()
        ['- Name: Li Si', '- City: Beijing']
        """
        path = self.relative(path)
        with self._update:
            for _ in range(UPDATES - 1):
                text, version = self._core.read_to_change(path)
                changed = change(text)
                try:
                    return self._core.write(path, changed, version)
                except Conflict:
                    continue
            text, version = self._core.read_to_change(path)
            return self._core.write(path, change(text), version)

    def append(
        self, path: GivenPath, content: str, *, expected_version: str | None = None
    ) -> Written:
        r"""Add `content` and a line end to a file, as one durable write; create it if needed.

        Raises:
            StorageError: Nothing was added.
            InDoubt: It is not known whether the text is in the file; read it before you repeat.
            Conflict: The file is no longer the expected version; nothing was added.
            Refused: The name is not one that tools may create.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.append("tea.md", "- Green"), store.append("tea.md", "- Black")
        >>> store.read("tea.md")
        '- Green\n- Black\n'
        """
        return self._core.append(self.relative(path), content, expected_version)

    def patch(
        self,
        path: GivenPath,
        edits: Iterable[tuple[str, str]],
        *,
        expected_version: str | None = None,
    ) -> Written:
        """Replace each old text by its new text, all of them or none.

        Raises:
            PatchFailed: An old text is not found, or found more than once; nothing was changed.
            Conflict: The file is no longer the expected version; nothing was changed.
            NotFound: There is no such file.
            InvalidArgument: An edit is no pair of an old and a new text.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.write("a.md", "Green tea, hot.")
        >>> store.patch("a.md", [("Green", "Black"), ("hot", "cold")]).applied
        2
        >>> store.read("a.md")
        'Black tea, cold.'
        """
        pairs = [*edits]
        for one in pairs:
            if not _is_pair(one):
                raise InvalidArgument(f"an edit is a pair (old text, new text), not {one!r:.60}")
        # a list of two is one as well, as JSON has it
        texts = [(old, new) for old, new in pairs]
        return self._core.patch(self.relative(path), texts, expected_version)

    def move(
        self, source: GivenPath, target: GivenPath, *, expected_version: str | None = None
    ) -> Written:
        """Rename a file; the target must not exist.

        Raises:
            NotFound: There is no such file.
            Conflict: The target exists, or the file is no longer the expected version; nothing was
                changed.
            Refused: The new name is not one that tools may create.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.write("a.md", "Tea.")
        >>> store.move("a.md", "facts/tea.md").path, store.holds("a.md")
        ('facts/tea.md', False)
        """
        return self._core.move(self.relative(source), self.relative(target), expected_version)

    def delete(self, path: GivenPath, *, expected_version: str | None = None) -> Written:
        """Take a file out of the store; its text goes to `.commonplace/history/`.

        Raises:
            NotFound: There is no such file.
            Conflict: The file is no longer the expected version; nothing was changed.
            Refused: As for `write`.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.write("a.md", "Tea.")
        >>> deleted = store.delete("a.md")
        >>> store.holds("a.md"), store.read("a.md", deleted.previous)
        (False, 'Tea.')
        """
        return self._core.delete(self.relative(path), expected_version)

    def history(self, path: GivenPath) -> builtins.list[Revision]:
        """Return the texts that the history keeps of a file, newest first; also of a deleted one.

        A text gets there when `write`, `patch` or `delete` takes its place, or by `keep`.

        Raises:
            Refused: As for `read`.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> first = store.write("a.md", "one")
        >>> _ = store.write("a.md", "two")
        >>> [revision.version == first.version for revision in store.history("a.md")]
        [True]
        >>> store.read("a.md", first.version)
        'one'
        """
        return self._core.history(self.relative(path))

    def keep(self, path: GivenPath) -> Revision:
        """Put a copy of what a file says now into the history, durably.

        Of a text that the history keeps already, the one that is there is returned.

        Raises:
            NotFound: There is no such file.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.write("plan.md", "one")
        >>> kept = store.keep("plan.md")
        >>> _ = store.append("plan.md", " more")
        >>> store.read("plan.md", kept.version)
        'one'
        """
        return self._core.keep(self.relative(path))

    def transcript(self, path: GivenPath) -> Transcript:
        """Return the transcript at `path`: a folder that holds `messages.jsonl`, or the file.

        Nothing is read or made before one of its methods is called.

        Raises:
            Refused: A path that is absolute and not in the root, or has `..` in it.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> log = store.transcript("sessions/s1")
        >>> _ = log.append({"role": "user", "content": "Green tea?"})
        >>> log.path, log[1].text
        ('sessions/s1/messages.jsonl', 'Green tea?')
        """
        from commonplace.transcript import Transcript

        return Transcript(self._core, self._folder(path), keep_secrets=self.keep_secrets)

    def redact(self, value: Value, *, known: str = "") -> tuple[Value, dict[str, int]]:
        r"""Return a value as tools write it: each secret replaced; and how many of each kind.

        Memory systems, tools and transcripts do so by themselves, unless the store was opened with
        `keep_secrets`: then the value comes back as it is. `write`, `append`, `update` and `patch`
        do not: what a program writes there is what it means.

        Args:
            value: Text, or mappings, lists, tuples and dataclasses that hold texts.
            known: A text whose secrets stay, such as that of a file which is changed.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> store.redact("The password is q7Rt2Lm9x.")
        ('The password is [redacted: password].', {'password': 1})
        """
        if self.keep_secrets:
            return value, {}
        from commonplace.redaction import redact

        return redact(value, known=known)

    def log_redactions(self, path: GivenPath, counts: dict[str, int]) -> None:
        """Note how many secrets of each kind were replaced in what was written to a file.

        `status().redactions` counts them for as long as the file is there.
        """
        self._core.log_redacted_text(self.relative(path), counts)

    def side_files(self, folder: str = "") -> SideFiles:
        """Return the logs and caches in `folder` below `.commonplace`.

        Raises:
            Refused: From its methods, for a name that leaves that folder.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> with store.side_files("mine").handle("log.txt", "a") as file:
        ...     file.write(b"seen")
        4
        """
        from commonplace.side_files import SideFiles

        return SideFiles(self._core, folder)


def _is_pair(given: object) -> bool:
    return isinstance(given, tuple | list) and [*map(type, given)] == [str, str]
