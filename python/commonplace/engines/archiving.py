"""Moving transcripts to the archive, and searching the archive beside the index of a store."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from commonplace._core import QueryNames
from commonplace.engines.archive import ArchiveEngine
from commonplace.engines.archive_check import ArchiveCheck
from commonplace.engines.archive_list import FOLDER
from commonplace.engines.archive_queries import languages_of
from commonplace.engines.search import search
from commonplace.errors import CommonplaceError, NotFound, QueryError
from commonplace.locks import Lock
from commonplace.settings import NAME
from commonplace.timestamps import seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace._core import Hits, SearchFilter
    from commonplace.archival import Archival
    from commonplace.settings import ArchiveRule
    from commonplace.timestamps import When

# The file that says which rule was applied last, and when; and how long that suffices: an hour less
# than a day, so that an import each day finds it due
RULE, RULE_SECONDS = "rule", 23 * 3600
# A query without a phrase, for the notes about the files in memory
NO_PHRASE = "x"
# Bytes of text after which what was added so far is committed
BATCH = 1 << 30


@dataclass(frozen=True, slots=True)
class Archived:
    """What was archived, or would be.

    Attributes:
        sessions: Paths of the transcripts, oldest first.
        messages: Messages in them.
        bytes: Bytes of their files, which stay where they are.
        moved: False for a dry run, or where there was nothing to do.
    """

    sessions: list[str] = field(default_factory=list)
    messages: int = 0
    bytes: int = 0
    moved: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Transcript:
    """A transcript that may be archived: its last moment in seconds, its bytes, its messages."""

    path: str
    at: float
    size: int
    messages: int


class Archive:
    """The archive of a store; safe to share between threads."""

    def __init__(self, store: Archival) -> None:
        self._store = store
        self._engine: ArchiveEngine | None = None
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"Archive({str(self._store.root)!r})"

    def search(
        self,
        query: str,
        limit: int,
        filter: SearchFilter,
        unit: Literal["turn", "message"],
        *,
        only: bool,
    ) -> Hits:
        """Return the best hits of the index and the archive, scored as one collection."""
        core = self._store._core  # noqa: SLF001
        with self._lock:
            in_memory = languages_of(core.collection_stats(query))
            try:
                engine = self._open()
                languages = sorted(in_memory | engine.languages())
                names = QueryNames(query, engine.weights, languages)
                archived_stats = engine.statistics(names)
            except CommonplaceError as error:
                hint = "archive='no' (--archive no) searches the rest"
                advised = type(error)(f"{error}; {hint}")
                advised.code = error.code
                raise advised from error
            # after those of the archive, from which files may have come back
            stats = core.collection_stats(query).merged(archived_stats)
            resolved = self._resolved(names, filter)

            def archived(*, fallback: bool) -> Hits:
                return search(
                    engine,
                    query,
                    limit,
                    unit=unit,
                    filter=resolved,
                    stats=stats,
                    weights=engine.weights,
                    languages=languages,
                    fallback=fallback,
                )

            found = archived(fallback=False)
            own = core.search(query, 0 if only else limit, filter, unit, stats)
            if own.phrase_missed and found:
                # a phrase that one of the two holds is not looked for as words in the other
                own = core.search(NO_PHRASE, 0, resolved, unit)
            elif own.phrase_missed:
                found = archived(fallback=True)
            return own.with_archived(found, limit)

    def _resolved(self, names: QueryNames, filter: SearchFilter) -> SearchFilter:
        """Return a filter with that of the query, and with the transcripts of its session."""
        core = self._store._core  # noqa: SLF001
        resolved = core.resolved_filter(filter)
        asked = names.restricted(resolved)
        if isinstance(asked, str):
            # the search says why nothing passes both
            return resolved
        try:
            asked = core.resolved_filter(asked)
        except QueryError:
            # several sessions are called so: the index of the store says it in a note
            return resolved
        # the engine reads the session in the query once more: there only a full id is one
        return resolved if isinstance(names.restricted(asked), str) else asked

    def move(
        self,
        *,
        older: When | None,
        sessions: Sequence[str],
        over: int | None,
        dry_run: bool,
    ) -> Archived:
        """Archive what the rules say."""
        with self._lock:
            chosen = self._chosen(older, sessions, over)
            if dry_run or not chosen:
                messages = sum(one.messages for one in chosen)
                size = sum(one.size for one in chosen)
                return Archived([one.path for one in chosen], messages, size)
            self._move(chosen)
            archived = self._store._core.archived_files()  # noqa: SLF001
            held = {path: (path, number, count) for path, number, count in archived}
            return self._done([held[one.path] for one in chosen if one.path in held])

    def by_rule(self, rule: ArchiveRule, *, dry_run: bool = False) -> Archived:
        """Archive what the settings say."""
        try:
            done = self.move(
                older=rule.older, sessions=rule.sessions, over=rule.over, dry_run=dry_run
            )
        except QueryError as error:
            where = self._store.side_files().path(NAME)
            raise QueryError(f"{where}, [archive] sessions: {error}") from error
        if not dry_run:
            self._store.side_files(FOLDER).replace(RULE, [_text(rule)])
        return done

    def is_due(self, rule: ArchiveRule) -> bool:
        """Say whether this very rule was not applied within a day."""
        try:
            with self._store.side_files(FOLDER).handle(RULE, "r") as file:
                age = time.time() - os.fstat(file.fileno()).st_mtime
                return file.readall() != _text(rule) or not 0 <= age < RULE_SECONDS
        except NotFound:
            return True

    def restore(self, sessions: Sequence[str] = (), *, dry_run: bool = False) -> Archived:
        """Bring sessions back to the index of the store; all of them if none is named."""
        with self._lock:
            named = {self._store.session(name).path for name in sessions}
            archived = self._store._core.archived_files()  # noqa: SLF001
            files = [one for one in archived if not named or one[0] in named]
            if files and not dry_run:
                engine = self._open()
                for path, *_ in files:
                    engine.remove(path)
                engine.commit()
            return self._done(files, moved=not dry_run)

    def rebuild(self) -> Archived:
        """Make the index of the archive again from the files."""
        with self._lock:
            if self._store._core.archive_stamp() is not None:  # noqa: SLF001
                self._open().rebuild()
            return self._done(self._store._core.archived_files())  # noqa: SLF001

    def verify(self) -> ArchiveCheck:
        """Compare the archive with its files, mend it, and say what differed."""
        with self._lock:
            found = ArchiveCheck()
            try:
                self._open().verify(found)
            except CommonplaceError as error:
                found.unread.append(f".commonplace/{FOLDER}: {error}")
            return found

    def _done(self, files: Sequence[tuple[str, int, int]], *, moved: bool = True) -> Archived:
        """Return what was done to these files, or would be: path, number and messages of each."""
        paths = [path for path, _, _ in files]
        size = sum(self._store._core.stamp(path)[1] for path in paths)  # noqa: SLF001
        return Archived(paths, sum(count for *_, count in files), size, moved=moved and bool(paths))

    def _open(self) -> ArchiveEngine:
        if self._engine is None:
            self._engine = ArchiveEngine(self._store)
        return self._engine

    def _transcripts(self) -> list[_Transcript]:
        """Return the transcripts that are not archived, oldest first."""
        held = {path for path, _, _ in self._store._core.archived_files()}  # noqa: SLF001
        there = {
            one.path: _Transcript(one.path, one.ended or one.modified, one.size, one.messages)
            for one in self._store.sessions()
            if one.path not in held
        }
        # those for which the memory does not suffice are no sessions yet
        over_limit = self._store._core.status().over_limit  # noqa: SLF001
        if missing := set(over_limit) - there.keys():
            for entry in self._store.list():
                if entry.path in missing and entry.kind == "transcript":
                    there[entry.path] = _Transcript(entry.path, entry.modified, entry.size, 0)
        return sorted(there.values(), key=lambda one: (one.at, one.path))

    def _chosen(
        self, older: When | None, sessions: Sequence[str], over: int | None
    ) -> list[_Transcript]:
        """Return the transcripts that the rules mean, oldest first."""
        there = self._transcripts()
        named = {self._store.session(name).path for name in sessions}
        before = None if older is None else seconds(older)
        chosen = {
            one.path
            for one in there
            if one.path in named or (before is not None and one.at < before)
        }
        if over is not None:
            left = sum(one.size for one in there if one.path not in chosen)
            for one in there:
                if left <= over:
                    break
                if one.path not in chosen:
                    chosen.add(one.path)
                    left -= one.size
        return [one for one in there if one.path in chosen]

    def _move(self, chosen: Sequence[_Transcript]) -> None:
        engine = self._open()
        batch: list[str] = []
        held = 0
        try:
            for one in chosen:
                batch.append(one.path)
                held += one.size
                if held > BATCH:
                    engine.add_files(batch)
                    engine.commit()
                    batch, held = [], 0
            engine.add_files(batch)
            engine.commit()
        except BaseException:
            # what was committed is archived; the rest stays in the index
            engine.rollback()
            raise


def _text(rule: ArchiveRule) -> bytes:
    return f"{rule}\n".encode()
