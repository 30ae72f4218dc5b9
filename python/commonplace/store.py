"""Store: a root that is searched, and how one is found and opened."""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, Unpack

from commonplace._core import Grep, Hit, Hits, SearchFilter, Status, Verified, Weights
from commonplace.files import Files
from commonplace.search_filter import FilterFields, given_filter

Unit = Literal["turn", "message"]


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
        unit: Unit = "turn",
        filter: SearchFilter | None = None,
        **fields: Unpack[FilterFields],
    ) -> Hits:
        r"""Return up to `limit` sections and turns that answer `query`, best first.

        Ties go by path, then by position. Words are OR-ed; `"a phrase"`, `-not`, `field:word`,
        `prefix*` and `word~1` (one typo) are understood, anything else is plain text and never
        an error.

        Args:
            query: Words in any language.
            limit: Most hits to return.
            unit: What a hit of a transcript is: a `turn`, which is a prompt and all messages up to
                the next prompt, or a `message`. What is of tools is found by message.
            filter: Which of them may be found; a turn is found by those of its messages that pass.
            **fields: The fields of a filter, in its place: `prefix`, `source`, `since`, `until`,
                `role`, `session`, `category`, `exclude`, `tools`. `SearchFilter` says what each
                means.

        Raises:
            QueryError: The query is empty or not text, or nothing can pass the filter.
            ValueError: A field has no such value, as `prefix` a list of nothing; or there is no
                such unit.
            TypeError: There is no such field, or filter and fields were both given.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.write("facts/tea.md", "Green tea.\n")
        >>> [hit.path for hit in store.search("tea", prefix="facts", source="note")]
        ['facts/tea.md']
        """
        return self._core.search(query, limit, given_filter(filter, fields), unit)

    def predicate(self, filter: SearchFilter) -> Callable[[Hit], bool] | None:
        r"""Return the function that says whether a hit passes a filter; None when all do.

        Prefixes are compared as paths are stored (`spelled`).

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.write("a.md", "Tea.\n")
        >>> keep = store.predicate(commonplace.SearchFilter(source="message"))
        >>> [keep(hit) for hit in store.documents("a.md")]
        [False]
        """
        own = self._core.normalized_filter(filter)
        return None if own.is_open() else own.admits

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

        It is the score of a search by message without filters; of a turn, cited by its range of
        lines, the first message is explained.
        """
        return self._core.explain(query, citation)

    def grep(
        self,
        pattern: str,
        *,
        filter: SearchFilter | None = None,
        fixed: bool = False,
        ignore_case: bool | None = None,
        before: int = 0,
        after: int = 0,
        limit: int | None = None,
        newest_first: bool = False,
        width: int = 300,
        keep: bool = True,
        **fields: Unpack[FilterFields],
    ) -> Grep:
        """Scan notes and transcripts for a pattern, in constant memory, and yield the matches.

        Only decoded text is matched: what people and models said, line by line in notes. A line
        of a note has no time, role or session: a filter of one of these finds messages only.

        Args:
            pattern: A regular expression (linear time, no back references).
            filter: Which of them may be found.
            fixed: Take the pattern literally.
            ignore_case: Default: yes, unless the pattern holds a capital letter.
            before: Neighbours to show before each match.
            after: Neighbours to show after each match.
            limit: Stop after this many matches.
            newest_first: Begin at the end of each transcript.
            width: Longest snippet, in characters.
            keep: After a scan that had to read all of a large transcript, note in the background
                which words are where (`.commonplace/gram_index/`, 3 % of its size), so that later
                ones skip most of it.
            **fields: The fields of a filter, in its place, as for `search`; not `category`.

        Raises:
            QueryError: The pattern is empty, too long or not a regular expression, or the filter
                has a field that lines have not.
            NotFound: No file is at or below a prefix.
            ValueError: A field has no such value, as `prefix` a list of nothing.
            TypeError: There is no such field, or filter and fields were both given.
        """
        return self._core.grep(
            pattern,
            given_filter(filter, fields),
            fixed=fixed,
            ignore_case=ignore_case,
            before=before,
            after=after,
            limit=limit,
            newest_first=newest_first,
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
