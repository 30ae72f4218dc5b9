"""Open a root; read, write and search it."""

from __future__ import annotations

import builtins
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from commonplace import _core
from commonplace._core import (
    Entry,
    Grep,
    Hit,
    Hits,
    Past,
    Section,
    Status,
    Verified,
    Weights,
    Written,
)
from commonplace.errors import Conflict
from commonplace.moments import When, seconds
from commonplace.transcript import Transcript

UPDATES = 64
"""How often `Store.update` begins again when others change the file meanwhile."""


def find_root(start: str | os.PathLike[str] | None = None) -> Path:
    """Return the root that a bare command means.

    That is `$COMMONPLACE_ROOT`, else the nearest folder at or above `start` (default: the
    current one) that holds `.commonplace/`, else `~/.commonplace`.
    """
    if named := os.environ.get("COMMONPLACE_ROOT"):
        return Path(named).expanduser()
    here = Path(start or ".").absolute()
    home = Path.home()
    for folder in (here, *here.parents):
        # ~/.commonplace is the default root itself, not a mark that home is one
        if folder != home and (folder / ".commonplace").is_dir():
            return folder
    return home / ".commonplace"


def open(  # noqa: A001 - commonplace.open() reads as it should
    root: str | os.PathLike[str] | None = None,
    *,
    create: bool = True,
    watch: bool = True,
    weights: Weights | None = None,
) -> Store:
    r"""Open the memory that lies in the folder `root`.

    Args:
        root: The folder; default as `find_root()` says.
        create: Make the folder when it is not there.
        watch: Let the system report changes (inotify); without it each call compares file stamps.
        weights: Field weights of the ranking; the defaults do well on every kind of text we have.

    Returns:
        A store, ready to search: only files that changed since the last time were read.

    Raises:
        Refused: `root` is `/` or the home folder, or not a folder.
        NotFound: `root` is not there and `create` is false.

    >>> import commonplace, tempfile
    >>> store = commonplace.open(tempfile.mkdtemp())
    >>> _ = store.write("facts/user.md", "# User\n\n- Name: Zhang San\n")
    >>> [hit.citation for hit in store.search("what is my name")]
    ['facts/user.md#L3']
    """
    return Store(
        root if root is not None else find_root(), create=create, watch=watch, weights=weights
    )


class Store:
    """A root with its files, its index and its lock; safe to share between threads.

    Every call sees the files as they are now, whoever changed them.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        create: bool = True,
        watch: bool = True,
        weights: Weights | None = None,
    ) -> None:
        self._core = _core.Store(os.fspath(root), create=create, watch=watch, weights=weights)
        self._root = Path(self._core.root)
        self._update = threading.RLock()

    @property
    def root(self) -> Path:
        """The folder that holds this memory."""
        return self._root

    # Files

    def list(self, prefix: str = "") -> list[Entry]:
        """Return the files whose path starts with the folder or file `prefix`, sorted by path."""
        return self._core.list(prefix)

    def read(self, path: str, version: str | None = None) -> str:
        """Return the text of a file; bytes that are not UTF-8 are shown as U+FFFD.

        Args:
            path: Relative to the root.
            version: The text as it was then: now, or in the history (see `history`).

        Raises:
            NotFound: There is no such file, or no such version; the message names those there are.
            Refused: The path leaves the root, or is a link or a special file.
        """
        return self._core.read(path, version)

    def version(self, path: str) -> str | None:
        """Return the version (a content hash) of a file, or None when there is none."""
        return self._core.version(path)

    def sections(self, path: str) -> builtins.list[Section]:
        """Return the sections of a note in file order; their spans cover the file exactly once."""
        return self._core.sections(path)

    def write(self, path: str, content: str, *, expected_version: str | None = None) -> Written:
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
        """
        return self._core.write(path, content, expected_version)

    def update(self, path: str, change: Callable[[str], str]) -> Written:
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

    def append(self, path: str, content: str, *, expected_version: str | None = None) -> Written:
        """Add `content` and a line end to a file, as one durable write; create it if needed."""
        return self._core.append(path, content, expected_version)

    def patch(
        self, path: str, edits: Iterable[tuple[str, str]], *, expected_version: str | None = None
    ) -> Written:
        """Replace each old text by its new text, all of them or none.

        Raises:
            PatchFailed: An old text is not found, or found more than once; nothing was changed.
        """
        return self._core.patch(path, list(edits), expected_version)

    def move(self, source: str, target: str, *, expected_version: str | None = None) -> Written:
        """Rename a file; the target must not exist."""
        return self._core.move(source, target, expected_version)

    def delete(self, path: str, *, expected_version: str | None = None) -> Written:
        """Take a file out of the store; its text goes to `.commonplace/history/`."""
        return self._core.delete(path, expected_version)

    def history(self, path: str) -> builtins.list[Past]:
        """Return the texts that the history keeps of a file, newest first; also of a deleted one.

        A text gets there when `write`, `patch` or `delete` takes its place, or by `keep`.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> first = store.write("a.md", "one")
        >>> _ = store.write("a.md", "two")
        >>> [past.version == first.version for past in store.history("a.md")]
        [True]
        >>> store.read("a.md", first.version)
        'one'
        """
        return self._core.history(path)

    def keep(self, path: str) -> Past:
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
        return self._core.keep(path)

    def transcript(self, path: str) -> Transcript:
        """Return the transcript at `path`: a folder that holds `messages.jsonl`, or the file."""
        return Transcript(self._core, path)

    # Search

    def search(
        self,
        query: str,
        limit: int = 10,
        *,
        prefix: str = "",
        source: Literal["note", "message"] | None = None,
        since: When | None = None,
        until: When | None = None,
        role: str | None = None,
        session: str | None = None,
        category: str | None = None,
        tools: bool = False,
    ) -> Hits:
        """Return up to `limit` sections and messages that answer `query`, best first.

        Ties go by path, then by position. Words are OR-ed; `"a phrase"`, `-not`, `field:word`,
        `prefix*` and `word~1` (one typo) are understood, anything else is plain text and never
        an error.

        Args:
            query: Words in any language.
            limit: Most hits to return.
            prefix: Only files below this folder, or this file.
            source: Only notes, or only messages.
            since: Only messages at or after this time.
            until: Only messages before this time.
            role: Only messages of this role (`user`, `assistant`, …).
            session: Only messages of this session.
            category: Only sections of this category.
            tools: Search what went into and came out of tools as well.

        Raises:
            QueryError: The query is empty or not text.
        """
        return self._core.search(
            query,
            limit,
            prefix=prefix,
            source=source,
            since=seconds(since),
            until=seconds(until),
            role=role,
            session=session,
            category=category,
            tools=tools,
        )

    def documents(self, path: str) -> builtins.list[Hit]:
        r"""Return all that is indexed of one file as hits, in file order, with a score of 0.

        These are what `search` can find there: sections, parts of long sections, messages. The
        snippet is the beginning of the text. Of a file that is not indexed there are none.

        Raises:
            NotFound: There is no such file.
            Conflict: The file is being written so fast that it could not be read as a whole.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.write("a.md", "# Tea\n\nGreen.\n\n# Coffee\n\nNone.\n")
        >>> [(hit.citation, hit.heading) for hit in store.documents("a.md")]
        [('a.md#L1', ('Tea',)), ('a.md#L5', ('Coffee',))]
        """
        return self._core.documents(path)

    def revision(self) -> int:
        """Return a number that changes whenever anything `documents` returns has changed.

        It costs as little as looking whether a file has changed, and means something only beside
        other numbers of this store in this process.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> before = store.revision()
        >>> (store.root / "a.md").write_text("by hand") and store.revision() != before
        True
        """
        return self._core.revision()

    def explain(self, query: str, citation: str) -> str:
        """Return how the score of one section or message for `query` comes about, as text.

        It is the score of a search without filters.
        """
        return self._core.explain(query, citation)

    def grep(
        self,
        pattern: str,
        *,
        prefix: str | Iterable[str] = "",
        fixed: bool = False,
        ignore_case: bool | None = None,
        role: str | None = None,
        since: When | None = None,
        until: When | None = None,
        before: int = 0,
        after: int = 0,
        limit: int | None = None,
        newest_first: bool = False,
        tools: bool = False,
        width: int = 300,
        keep: bool = True,
    ) -> Grep:
        """Scan notes and transcripts for a pattern, in constant memory, and yield the matches.

        Only decoded text is matched: what people and models said, line by line in notes.

        Args:
            pattern: A regular expression (linear time, no back references).
            prefix: Only files below this folder, or this file; of several, each file once.
            fixed: Take the pattern literally.
            ignore_case: Default: yes, unless the pattern holds a capital letter.
            role: Only messages of this role.
            since: Only messages at or after this time.
            until: Only messages before this time.
            before: Neighbours to show before each match.
            after: Neighbours to show after each match.
            limit: Stop after this many matches.
            newest_first: Begin at the end of each transcript.
            tools: Match what went into and came out of tools as well.
            width: Longest snippet, in characters.
            keep: After a scan that had to read all of a large transcript, note in the background
                which words are where (`.commonplace/sieve/`, 3 % of its size), so that later ones
                skip most of it.

        Raises:
            QueryError: The pattern is empty, too long or not a regular expression.
            NotFound: No file is at or below a prefix.
        """
        return self._core.grep(
            pattern,
            prefixes=[prefix] if isinstance(prefix, str) else list(prefix),
            fixed=fixed,
            ignore_case=ignore_case,
            role=role,
            since=seconds(since),
            until=seconds(until),
            before=before,
            after=after,
            limit=limit,
            newest_first=newest_first,
            tools=tools,
            width=width,
            keep=keep,
        )

    # Upkeep

    def status(self) -> Status:
        """Return the state of the store in numbers."""
        return self._core.status()

    def verify(self) -> Verified:
        """Read every file, compare it with the index, mend the index and say what differed."""
        return self._core.verify()

    def settle(self) -> None:
        """Wait until what earlier calls left to a background thread is done (see `grep`)."""
        self._core.settle()

    def close(self) -> None:
        """Save the index snapshot and let go of the root; a closed store answers no more."""
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({str(self.root)!r})"
