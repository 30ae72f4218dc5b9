"""Moving transcripts to the archive, and searching the archive beside the index of a store."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from commonplace._core import QueryNames
from commonplace.engines.archive import ArchiveEngine
from commonplace.engines.search import search
from commonplace.errors import CommonplaceError, NotFound
from commonplace.locks import Lock
from commonplace.timestamps import seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace._core import Hits, SearchFilter, Session
    from commonplace.store import Store
    from commonplace.timestamps import When

# Bytes of text after which what was added so far is committed
BATCH = 256 << 20


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


class Archive:
    """The archive of a store; safe to share between threads."""

    def __init__(self, store: Store) -> None:
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
            names = QueryNames(query, self._store._weights)  # noqa: SLF001
            try:
                engine = self._open()
                archived_stats = engine.statistics(names)
            except CommonplaceError as error:
                hint = "archive='no' (--archive no) searches the rest"
                advised = type(error)(f"{error}; {hint}")
                advised.code = error.code
                raise advised from error
            # after those of the archive, from which files may have come back
            stats = core.collection_stats(query).merged(archived_stats)
            resolved = core.resolved_filter(filter)

            def archived(*, fallback: bool) -> Hits:
                return search(
                    engine,
                    query,
                    limit,
                    unit=unit,
                    filter=resolved,
                    stats=stats,
                    weights=engine.weights,
                    fallback=fallback,
                )

            found = archived(fallback=only)
            nothing = core.search(query, 0, filter, unit, stats)
            if only:
                return nothing.with_archived(found, limit)
            own = core.search(query, limit, filter, unit, stats)
            if names.phrases and any("holds the phrase" in note for note in own.notes):
                # a phrase that one of the two holds is not looked for as words in the other
                if found:
                    return nothing.with_archived(found, limit)
                found = archived(fallback=True)
            return own.with_archived(found, limit)

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
            plan = Archived(
                [one.path for one in chosen],
                sum(one.messages for one in chosen),
                sum(one.size for one in chosen),
                moved=bool(chosen) and not dry_run,
            )
            if plan.moved:
                self._move(plan.sessions)
            return plan

    def restore(self) -> list[str]:
        """Bring all back to the index of the store; return the paths."""
        with self._lock:
            engine = self._open()
            paths = [path for path, _, _ in self._store._core.archived_files()]  # noqa: SLF001
            for path in paths:
                engine.remove(path)
            engine.commit()
            return paths

    def rebuild(self) -> None:
        """Make the index of the archive again from the files."""
        with self._lock:
            self._open().rebuild()

    def _open(self) -> ArchiveEngine:
        if self._engine is None:
            self._engine = ArchiveEngine(self._store)
        return self._engine

    def _chosen(
        self, older: When | None, sessions: Sequence[str], over: int | None
    ) -> list[Session]:
        """Return the sessions that the rules mean, oldest first."""
        held = {path for path, _, _ in self._store._core.archived_files()}  # noqa: SLF001
        there = [one for one in self._store.sessions() if one.path not in held]
        there.sort(key=lambda one: (one.ended or one.modified, one.path))
        named = {self._store.session(name).path for name in sessions}
        before = None if older is None else seconds(older)
        chosen = {
            one.path
            for one in there
            if one.path in named or (before is not None and (one.ended or one.modified) < before)
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

    def _move(self, paths: list[str]) -> None:
        engine, core = self._open(), self._store._core  # noqa: SLF001
        held = 0
        try:
            for path in paths:
                try:
                    before = core.stamp(path)
                    data = core.read_bytes(path)
                    engine.add(path, data)
                    if core.stamp(path) != before:
                        engine.remove(path)
                except NotFound:  # removed since
                    engine.remove(path)
                    continue
                held += len(data)
                if held > BATCH:
                    engine.commit()
                    held = 0
            engine.commit()
        except BaseException:
            # what was committed is archived; the rest stays in the index
            engine.rollback()
            raise
