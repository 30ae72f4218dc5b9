"""Store over a root folder: search, grep, status and verification; finding and opening a root."""

# Longer than 350 lines: the methods of one class, of which most is their docstrings.

from __future__ import annotations

import builtins
import os

from commonplace.archival import Archival
from commonplace.errors import InvalidArgument, NotFound, QueryError
from commonplace.search_filter import given_filter

# for types only: a command starts without `typing`
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import Any, Literal, Self, Unpack, overload

    from commonplace._core import (
        Explanation,
        FileChanges,
        Grep,
        Hit,
        Hits,
        SearchFilter,
        Status,
        Verified,
        Weights,
    )
    from commonplace.paths import GivenPath
    from commonplace.protocols import Embedder
    from commonplace.recall.hybrid_hits import HybridHits
    from commonplace.search_filter import FilterFields

    Unit = Literal["turn", "message"]
    Archive = Literal["yes", "no", "only"]

MEANING = "COMMONPLACE_MEANING"
"""The environment variable by which each store has the embedder of `commonplace[embed]`."""


def find_root(start: str | os.PathLike[str] | None = None) -> Path:
    """Return the root that a bare command means.

    That is `$COMMONPLACE_ROOT`, else the nearest folder at or above `start` (default: the
    current one) that holds `.commonplace/`, else `~/.commonplace`. It need not be there.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> (folder / ".commonplace").mkdir()
    >>> find_root(folder / "notes") == folder
    True
    """
    from pathlib import Path

    if named := os.environ.get("COMMONPLACE_ROOT"):
        return Path(named).expanduser()
    return marked_root(start or ".") or Path.home() / ".commonplace"


def marked_root(start: str | os.PathLike[str]) -> Path | None:
    """Return the nearest folder at or above `start` that holds `.commonplace/`, or None."""
    from pathlib import Path

    here, home = Path(start).absolute(), Path.home()
    for folder in (here, *here.parents):
        # ~/.commonplace is the default root itself, not a mark that home is one
        if folder != home and (folder / ".commonplace").is_dir():
            return folder
    return None


def open(  # noqa: A001 - commonplace.open() reads as it should
    root: str | os.PathLike[str] | None = None,
    *,
    create: bool = True,
    watch: bool = True,
    weights: Weights | None = None,
    memory_limit: int | None = None,
    keep_secrets: bool = False,
    embedder: Embedder | None = None,
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
        keep_secrets: Let memory systems, tools, transcripts and imports write keys, tokens and
            passwords as they are, and not as `[redacted: GitHub token]` or the like.
        embedder: Makes the vectors of `search(…, meaning=True)`, and of each memory system over
            this store and each door to it; default: that of `commonplace[embed]` where the
            environment has `COMMONPLACE_MEANING=1` or `meaning` asks for one, and none otherwise.

    Returns:
        A store, ready to search: only files that changed since the last time were read.

    Raises:
        Refused: `root` is `/`, the home folder, no folder, or where nothing can be kept (`/proc`).
        NotFound: `root` is not there and `create` is false.
        MemoryLimit: `memory_limit` is below 16 MB.

    >>> import commonplace, tempfile
    >>> store = commonplace.open(tempfile.mkdtemp())
    >>> _ = store.write("facts/user.md", "# User\n\n- Name: Zhang San\n")
    >>> [hit.citation for hit in store.search("what is my name")]
    ['facts/user.md#L3']
    """
    store = Store(
        root if root is not None else find_root(),
        create=create,
        watch=watch,
        weights=weights,
        memory_limit=memory_limit,
        keep_secrets=keep_secrets,
    )
    store.embedder = embedder
    return store


def wanted_embedder() -> Embedder | None:
    """Return the embedder of `commonplace[embed]`, if `COMMONPLACE_MEANING` wants it.

    Raises:
        InvalidArgument: It is wanted, and not installed.
    """
    if os.environ.get(MEANING, "0") in {"", "0"}:
        return None
    from importlib import import_module

    # by its name: it stands on this module, and needs numpy
    embedder: Embedder = import_module("commonplace.adapters.meaning").bundled()
    return embedder


class Store(Archival):
    """A root with its files, its index and its lock; safe to share between threads.

    Every call sees the files as they are now, whoever changed them.
    """

    hybrid: Any = None
    """The hybrid search of this store, once one was asked for."""
    _embedder: Embedder | None = None

    @property
    def embedder(self) -> Embedder | None:
        """What makes the vectors: as given, else that of `commonplace[embed]` where it is wanted.

        Raises:
            InvalidArgument: `COMMONPLACE_MEANING` wants it, and it is not installed.
        """
        if self._embedder is None:
            self._embedder = wanted_embedder()
        return self._embedder

    @embedder.setter
    def embedder(self, embedder: Embedder | None) -> None:
        self._embedder = embedder

    @property
    def covered(self) -> float | None:
        """The share of the documents that have vectors, as of the last search by meaning.

        None before there was one, and where no embedder works.
        """
        vectors = self.hybrid.vectors if self.hybrid is not None else None
        return None if vectors is None else vectors.covered

    # Search

    if TYPE_CHECKING:

        @overload
        def search(
            self,
            query: str,
            limit: int = 10,
            *,
            unit: Unit = "turn",
            meaning: Literal[False] = False,
            filter: SearchFilter | None = None,
            archive: Archive = "yes",
            **fields: Unpack[FilterFields],
        ) -> Hits: ...
        @overload
        def search(
            self,
            query: str,
            limit: int = 10,
            *,
            unit: Unit = "turn",
            meaning: Literal[True],
            filter: SearchFilter | None = None,
            archive: Archive = "yes",
            **fields: Unpack[FilterFields],
        ) -> HybridHits: ...
        @overload
        def search(
            self,
            query: str,
            limit: int = 10,
            *,
            unit: Unit = "turn",
            meaning: None,
            filter: SearchFilter | None = None,
            archive: Archive = "yes",
            **fields: Unpack[FilterFields],
        ) -> Hits | HybridHits: ...

    def search(
        self,
        query: str,
        limit: int = 10,
        *,
        unit: Unit = "turn",
        meaning: bool | None = False,
        filter: SearchFilter | None = None,
        archive: Archive = "yes",
        **fields: Unpack[FilterFields],
    ) -> Hits | HybridHits:
        r"""Return up to `limit` sections and turns that answer `query`, best first.

        Ties go by path, then by position. Words are OR-ed; `"a phrase"`, `-not`, `field:word`,
        `role:user`, `session:0198c1d2`, `category:"green tea"`, `prefix*` and `word~1` (one typo)
        are understood, anything else is plain text and never an error. What of the query was not
        used is in the notes of the answer, as are fields and sessions that there are not.

        Args:
            query: Words in any language.
            limit: Most hits to return.
            unit: What a hit of a transcript is: a `turn`, which is a prompt and all messages up to
                the next prompt, or a `message`. What is of tools is found by message.
            meaning: Find by vectors too, so that paraphrases and other languages are found. They
                are made in the background, and no search waits for them: a note says how much has
                vectors so far. None: if the store has an embedder, as all doors and memory systems
                do.
            filter: Which of them may be found; a turn is found by those of its messages that pass.
            archive: Look in the archive as well, not there, or only there (see `archive`).
            **fields: The fields of a filter, in its place: `prefix`, `source`, `since`, `until`,
                `role`, `session`, `category`, `exclude`, `tools`. `SearchFilter` says what each
                means.

        Raises:
            QueryError: The query is empty, or nothing can pass the filter, or several sessions are
                called as in `session`. Where none is, a note names similar ones.
            Refused: A path is absolute and not in the root, or has `..` in it.
            InvalidArgument: An argument is of another type, or has no such value, as `prefix` a
                list of nothing. A note of the error names it.
            TypeError: There is no such field, or filter and fields were both given.
            InvalidArgument: `meaning` is asked for, the store was opened without an embedder, and
                `commonplace[embed]` is not installed.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.write("facts/tea.md", "Green tea.\n")
        >>> [hit.path for hit in store.search("tea", prefix="facts", source="note")]
        ['facts/tea.md']
        """
        given = given_filter(filter, fields)
        if archive not in ("yes", "no", "only"):
            raise InvalidArgument(f'archive is "yes", "no" or "only", not {archive!r}')
        if meaning or (meaning is None and self.embedder is not None):
            return self._search_by_meaning(query, limit, unit, given, archive)
        return self._search_by_words(query, limit, unit, given, archive)

    def _search_by_meaning(
        self, query: str, limit: int, unit: Unit, given: SearchFilter, archive: Archive
    ) -> HybridHits:
        from importlib import import_module

        adapter = import_module("commonplace.adapters.meaning")
        hits: HybridHits = adapter.search_by_meaning(self).search(
            query, limit, unit=unit, filter=given, archive=archive
        )
        return hits

    def _search_by_words(
        self, query: str, limit: int, unit: Unit, given: SearchFilter, archive: Archive
    ) -> Hits:
        archived = None if archive == "no" else self._opened_archive()
        if archived is None:
            return self._core.search(query, 0 if archive == "only" else limit, given, unit)
        return archived.search(query, limit, given, unit, only=archive == "only")

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
        own = self._core.resolved_filter(filter)
        return None if own.is_open() else own.admits

    def documents(self, path: GivenPath) -> builtins.list[Hit]:
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
        return self._core.documents(self.relative(path))

    def turns_of(self, messages: Sequence[Hit]) -> builtins.list[Hit | None]:
        r"""Return the turns of messages, in their order, each shown by its message.

        Their score is 0. There is None for a section of a note, and for a message of a file that
        has changed.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> log = store.transcript("s")
        >>> _ = log.append({"role": "user", "content": "tea?"})
        >>> _ = log.append({"role": "assistant", "content": "Green."})
        >>> [turn.citation for turn in store.turns_of(store.documents(log.path)) if turn]
        ['s/messages.jsonl#L1-L2', 's/messages.jsonl#L1-L2']
        """
        return self._core.turns_of([(message.path, message.line) for message in messages])

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

    def changes(self, since: int | None = None) -> FileChanges:
        r"""Return the files that are new, have changed or are gone since an earlier call.

        It is to keep something of one's own beside the files, such as a list of them, without
        making all of it anew at each change.

        Args:
            since: The `revision` that an earlier call of this store in this process has returned.
                Without one, or where that is thousands of changes ago, all files are returned.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.write("a.md", "Tea.\n"), store.write("b.md", "Coffee.\n")
        >>> first = store.changes()
        >>> first.is_all, [entry.path for entry in first.changed]
        (True, ['a.md', 'b.md'])
        >>> _ = store.delete("a.md"), store.write("c.md", "Milk.\n")
        >>> later = store.changes(first.revision)
        >>> [entry.path for entry in later.changed], later.gone
        (['c.md'], ['a.md'])
        """
        return self._core.changes(since)

    def explain(self, query: str, citation: str, *, unit: Unit = "turn") -> str:
        """Return how the score of a section, a message or a turn for `query` comes about, as text.

        It is the text of `explanation`.

        Raises:
            QueryError: No section or message is at the citation, or it is in the archive.
            InvalidArgument: There is no such unit.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.write("a.md", "Green tea.")
        >>> "scores" in store.explain("tea", "a.md#L1")
        True
        """
        return self.explanation(query, citation, unit=unit).text

    def explanation(self, query: str, citation: str, *, unit: Unit = "turn") -> Explanation:
        r"""Return how the score of a section, a message or a turn for `query` comes about.

        It is the score of a search without filters. Of a turn its prompt and the best message of
        its reply are explained.

        Args:
            query: As for `search`.
            citation: That of a hit. A range of lines of a transcript is a turn, one line a message.
                The name of a session will do in the place of its path, as for `find_session`.
            unit: That of the search in which a section has its score; beside turns it may differ.

        Raises:
            QueryError: No section or message is at the citation, or it is in the archive.
            InvalidArgument: There is no such unit.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.write("a.md", "Green tea.\n"), store.write("b.md", "Milk.\n")
        >>> explained = store.explanation("green milk", "a.md#L1")
        >>> [(word.name, word.score > 0, word.fields) for word in explained.words]
        [('green', True, ['body']), ('milk', False, [])]
        """
        try:
            return self._core.explanation(query, citation, unit)
        except NotFound:
            if (cited := self._with_path(citation)) == citation:
                raise
            return self.explanation(query, cited, unit=unit)
        except QueryError as error:
            path = citation.partition("#")[0]
            if not any(path == one for one, _, _ in self._core.archived_files()):
                raise
            why = "is in the archive, and only what is in memory is explained; bring it back with"
            call = f'restore_archived(["{path}"])'
            command = f'commonplace archive --restore --session "{path}"'
            raise QueryError(f'"{citation}" {why} {call} or {command}') from error

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
        r"""Scan notes and transcripts for a pattern, in constant memory, and yield the matches.

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
            QueryError: The pattern is empty, too long or not a regular expression, the filter has
                a field that lines have not, or several sessions are called as in `session`.
            NotFound: No file is at or below a prefix.
            Refused: A prefix is absolute and not in the root, or has `..` in it.
            InvalidArgument: A field has no such value, as `prefix` a list of nothing.
            TypeError: There is no such field, or filter and fields were both given.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.write("a.md", "# Tea\n\nGreen tea.\n")
        >>> [(match.citation, match.snippet) for match in store.grep("green")]
        [('a.md#L3', 'Green tea.')]
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
        """Return the state of the store in numbers.

        Raises:
            StorageError: The root cannot be read.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.write("a.md", "# Tea"), store.write("b.md", "# Milk")
        >>> status = store.status()
        >>> status.notes, status.sections, status.messages
        (2, 2, 0)
        """
        return self._core.status()

    def verify(self) -> Verified:
        """Read every file, compare it with the index, mend the index and say what differed.

        Of an archive, the files of its index are compared with their checksums, and the rows with
        the messages of the archived transcripts.

        Returns:
            What differed; what could not be read, and so not be compared; and what the index
            leaves out, such as a file in UTF-16.

        Raises:
            StorageError: The root cannot be read.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.write("a.md", "one")
        >>> store.verify().differences
        []
        """
        verified = self._core.verify()
        archive = self._opened_archive()
        if archive is None:
            return verified
        found = archive.verify()
        return verified.with_archived(found.differences, found.unread, found.notes)

    def wait_for_gram_indexes(self) -> None:
        """Wait until what earlier calls left to a background thread is done (see `grep`)."""
        self._core.wait_for_gram_indexes()

    def close(self) -> None:
        """Save the index snapshot and let go of the root; a closed store answers no more.

        To close it again does nothing. A `with` block closes it at its end.

        Raises:
            StorageError: The snapshot cannot be written; the index is built anew when it is opened.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> store.close()
        >>> store.status()
        Traceback (most recent call last):
        ValueError: this store is closed; open it again
        """
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
