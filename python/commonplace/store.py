"""Store: a root that is searched, and how one is found and opened."""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from commonplace._core import Grep, Hit, Hits, Status, Verified, Weights
from commonplace.files import Files
from commonplace.timestamps import When, seconds


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
    memory_limit: int | None = None,
) -> Store:
    r"""Open the memory that lies in the folder `root`.

    Args:
        root: The folder; default as `find_root()` says.
        create: Make the folder when it is not there.
        watch: Let the system report changes (inotify); without it each call compares file stamps.
        weights: Field weights of the ranking; the defaults do well on every kind of text we have.
        memory_limit: Bytes of memory that the store may take, 16 MB (`16 << 20`) or more; default,
            and at most: what control groups and `ulimit` leave to this process. What would need
            more is left out of the index, and each answer says so (`freshness` is `partial`, and
            there is a note), or the call raises `MemoryLimit`.

    Returns:
        A store, ready to search: only files that changed since the last time were read.

    Raises:
        Refused: `root` is `/` or the home folder, or not a folder.
        NotFound: `root` is not there and `create` is false.
        MemoryLimit: `memory_limit` is below 16 MB.

    >>> import commonplace, tempfile
    >>> store = commonplace.open(tempfile.mkdtemp())
    >>> _ = store.write("facts/user.md", "# User\n\n- Name: Zhang San\n")
    >>> [hit.citation for hit in store.search("what is my name")]
    ['facts/user.md#L3']
    """
    return Store(
        root if root is not None else find_root(),
        create=create,
        watch=watch,
        weights=weights,
        memory_limit=memory_limit,
    )


class Store(Files):
    """A root with its files, its index and its lock; safe to share between threads.

    Every call sees the files as they are now, whoever changed them.
    """

    # Search

    def search(
        self,
        query: str,
        limit: int = 10,
        *,
        prefix: str | Iterable[str] = "",
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
            prefix: Only files below this folder, or this file; of several, below any of them.
            source: Only notes, or only messages.
            since: Only messages at or after this time.
            until: Only messages before this time.
            role: Only messages of this role (`user`, `assistant`, …).
            session: Only messages of this session.
            category: Only sections of this category.
            tools: Search what went into and came out of tools as well.

        Raises:
            QueryError: The query is empty or not text.
            ValueError: `prefix` is a list of nothing.
        """
        return self._core.search(
            query,
            limit,
            prefixes=places(prefix),
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
            StorageError: It could not be read.

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
                which words are where (`.commonplace/gram_index/`, 3 % of its size), so that later
                ones skip most of it.

        Raises:
            QueryError: The pattern is empty, too long or not a regular expression.
            NotFound: No file is at or below a prefix.
        """
        return self._core.grep(
            pattern,
            prefixes=places(prefix),
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
        """Read every file, compare it with the index, mend the index and say what differed.

        Returns:
            What differed; what could not be read, and so not be compared; and what the index
            leaves out, such as a file in UTF-16.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.write("a.md", "one")
        >>> store.verify().differences
        []
        """
        return self._core.verify()

    def wait_for_gram_indexes(self) -> None:
        """Wait until what earlier calls left to a background thread is done (see `grep`)."""
        self._core.wait_for_gram_indexes()

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


def places(prefix: str | Iterable[str]) -> builtins.list[str]:
    """Return one or several prefixes as a list.

    Raises:
        ValueError: There is none: it is not guessed whether that means everything or nothing.
    """
    found = [prefix] if isinstance(prefix, str) else [*prefix]
    if not found:
        raise ValueError('prefix names no folder; leave it out, or give "", to search everything')
    return found
