"""Search in the notes and messages of a session, with a share of the results for each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from commonplace._core import Hit, Match, meta_comment
from commonplace.citation import cite
from commonplace.errors import QueryError
from commonplace.recall import HybridHit
from commonplace.recall.matching_lines import check_context, find_text
from commonplace.store import Store

Source = Literal["detail", "messages"]
SOURCES: tuple[Source, ...] = ("detail", "messages")

# The longest text of a result, in characters (from the overview/detail design).
_WIDTH = 300
_ANY_DETAIL = re.compile(r"sessions/(?:[^/]+/){1,2}working-memory/detail/")


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Options of a search: no limit means the configured one, no sources means both."""

    query: str
    limit: int | None = None
    sources: Sequence[Source] = ()
    mode: Literal["search", "grep"] = "search"
    context: int = 0


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One result; `file_path` is None for a message, whose `role` says who said it.

    `context` are the messages or lines around it, where they were asked for.
    """

    source: Source
    file_path: str | None
    line_number: int
    text: str
    citation: str
    role: str | None = None
    context: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionHits:
    """What a search found, and what is to be said about it: how fresh it is, what was not used."""

    results: list[SearchResult]
    notes: list[str]

    def render(self, query: str) -> str:
        """Return the results as the text that a model reads."""
        asked = " ".join(query.split())
        parts = [f'Found {len(self.results)} result(s) for: "{asked:.{_WIDTH}}"']
        for number, result in enumerate(self.results, start=1):
            place = f"Line: {result.line_number}"
            if result.file_path is not None:
                place = f"File: {result.file_path}:{result.line_number}"
            if result.role and result.role != "user":
                place += f"\n    Said by: {result.role}"
            context = "".join(f"\n    Context: {line}" for line in result.context)
            parts.append(
                f"[{number}] Source: {result.source}\n    {place}\n"
                f"    Content: {result.text}\n    Citation: {result.citation}{context}"
            )
        return "\n\n".join([*parts, *(f"Note: {note}" for note in self.notes)])


def search_session(
    store: Store,
    folders: tuple[str, str],
    options: SearchOptions,
    default_limit: int,
    all_sessions: bool = False,
    known: Sequence[tuple[str, int, int]] = (),
) -> SessionHits:
    """Return what answers a query, best first.

    Args:
        store: Where the sessions are.
        folders: That of the session, and that of the branch that is worked on.
        options: The query, how many results, which sources.
        default_limit: How many where the options do not say.
        all_sessions: Search every session; what is of another is cited with its whole path.
        known: Lines that are in the context already, as `exclude` of a search takes them.

    Raises:
        QueryError: The query is empty, a source unknown, the limit less than 1, or the context out
            of its range.
    """
    limit = default_limit if options.limit is None else options.limit
    if limit < 1:
        raise QueryError(f"a limit is 1 or more, not {limit}")
    sources = options.sources or SOURCES
    if not set(sources) <= set(SOURCES):
        raise QueryError(f"sources are detail and messages, not {sources!r:.80}")
    check_context(options.context)
    if options.mode == "grep":
        return _grep(store, folders, options, limit, all_sessions, known)
    notes: list[str] = []
    found = [
        _ranked(store, folders, source, options.query, limit, all_sessions, known, notes)
        for source in SOURCES
        if source in sources
    ]
    # a third of the places for each source, the rest for the best
    floor = max(limit // 3, min(limit - 1, 1))
    hits: list[Hit | HybridHit] = [hit for ranked in found for hit in ranked[:floor]]
    rest = sorted((hit for ranked in found for hit in ranked[floor:]), key=_rank)
    hits = sorted(hits + rest[: max(limit - len(hits), 0)], key=_rank)[:limit]
    results = [_result(store, hit, folders, options.context) for hit in hits]
    return SessionHits(results, list(dict.fromkeys(notes)))


def shorten(text: str) -> str:
    """Return a text on one line of at most 300 characters."""
    text = " ".join(text.split())
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1].rstrip() + "…"


def _grep(
    store: Store,
    folders: tuple[str, str],
    options: SearchOptions,
    limit: int,
    all_sessions: bool,
    known: Sequence[tuple[str, int, int]],
) -> SessionHits:
    """Return the lines of notes, and the messages, that hold a text, in the order of the files."""
    session, workspace = folders
    own = f"{workspace}/detail"

    def is_detail(match: Match) -> bool:
        return match.path.startswith(f"{own}/") or bool(_ANY_DETAIL.match(match.path))

    def is_new(match: Match) -> bool:
        return not any(
            path == match.path and first <= match.line <= last for path, first, last in known
        )

    results: list[SearchResult] = []
    # as many messages as notes leave room for, and a third of the places at least
    rooms = {"detail": limit - limit // 3 if limit > 1 else limit, "messages": limit}
    for source in options.sources or SOURCES:
        prefix = own if source == "detail" else f"{session}/messages.jsonl"
        room = rooms[source] if len(options.sources) != 1 else limit
        room = min(room, limit - len(results))
        if room < 1:
            break
        found = find_text(
            store,
            options.query,
            ["sessions" if all_sessions else prefix],
            room,
            context=options.context,
            keep=is_detail if source == "detail" else is_new,
            source="note" if source == "detail" else "message",
        )
        for match in found[:room]:
            path = _relative(match.path, folders)
            results.append(
                SearchResult(
                    source,
                    None if path == "messages.jsonl" else path,
                    match.line,
                    shorten(match.snippet),
                    cite(path, match.line),
                    match.role,
                    tuple(_line(*around) for around in [*match.before, *match.after]),
                )
            )
    return SessionHits(results, [])


def _ranked(
    store: Store,
    folders: tuple[str, str],
    source: Source,
    query: str,
    limit: int,
    all_sessions: bool,
    known: Sequence[tuple[str, int, int]],
    notes: list[str],
) -> list[Hit | HybridHit]:
    """Return the best hits of one source; adds to `notes` what is to be said about them."""
    session, workspace = folders
    own = f"{workspace}/detail"
    prefix = own if source == "detail" else f"{session}/messages.jsonl"
    where = "sessions" if all_sessions else prefix
    wanted = limit
    while True:
        hits = store.search(
            query,
            wanted,
            unit="message",
            meaning=None,
            prefix=where,
            source="note" if source == "detail" else "message",
            exclude=known,
        )
        # what only stands beside a message with the words, and holds none itself, is no answer
        kept: list[Hit | HybridHit] = [hit for hit in hits if hit.highlights or _is_near(hit)]
        if source == "detail":
            kept = [h for h in hits if h.path.startswith(f"{own}/") or _ANY_DETAIL.match(h.path)]
            # a comment that holds the word says less than the text it is about
            paths_with_text = {hit.path for hit in kept if not _is_comment(hit)}
            kept = [hit for hit in kept if not _is_comment(hit) or hit.path not in paths_with_text]
        if len(kept) >= limit or len(hits) < wanted:
            break
        wanted *= 4
    if source == "messages" and not kept:
        # those of a speaker or of a day that the query names
        kept = [*hits]
    if source == "messages" and len(kept) < limit:
        # tool traffic comes after conversation text
        more = store.search(
            query,
            limit,
            unit="message",
            prefix=where,
            source="message",
            exclude=known,
            tools=True,
        )
        kept += [hit for hit in more if hit.source == "tool"]
    notes += hits.notes
    if hits.freshness != "fresh":
        notes.append(f"the answer is {hits.freshness}")
    return kept[:limit]


def _relative(path: str, folders: tuple[str, str]) -> str:
    """Return a path as a citation has it; what is of another session keeps its whole path."""
    session, workspace = folders
    return path.removeprefix(f"{workspace}/").removeprefix(f"{session}/")


def _around(store: Store, hit: Hit | HybridHit, count: int) -> tuple[str, ...]:
    """Return so many messages, or lines of a note, before and after a hit."""
    if not count:
        return ()
    first = max(1, hit.line - count)
    if hit.source == "note":
        lines = enumerate(store.read(hit.path).split("\n")[first - 1 : hit.line + count], first)
        return tuple(_line(number, None, text) for number, text in lines if number != hit.line)
    messages = store.transcript(hit.path).messages(first, 2 * count + 1)
    return tuple(
        _line(one.line, one.role, one.text or one.tools)
        for one in messages
        if one.line != hit.line and one.line <= hit.line + count
    )


def _line(number: int, role: str | None, text: str) -> str:
    return shorten(f"L{number} {role}: {text}" if role else f"L{number} {text}")


def _result(
    store: Store, hit: Hit | HybridHit, folders: tuple[str, str], context: int
) -> SearchResult:
    path = _relative(hit.path, folders)
    text, line = hit.snippet, hit.line
    if (comment := meta_comment(hit.text)) and not comment.after.strip():
        text = comment.heading
    return SearchResult(
        "detail" if hit.source == "note" else "messages",
        None if path == "messages.jsonl" else path,
        line,
        shorten(text),
        cite(path, line),
        "tool" if hit.source == "tool" else hit.role,
        _around(store, hit, context),
    )


def _rank(hit: Hit | HybridHit) -> tuple[bool, float, str, int]:
    """Return by what hits are sorted; those of tools, of another index, fill what is left."""
    return hit.source == "tool", -hit.score, hit.path, hit.line


def _is_near(hit: Hit | HybridHit) -> bool:
    """Return whether only vectors find a hit."""
    return isinstance(hit, HybridHit) and hit.lexical is None


def _is_comment(hit: Hit | HybridHit) -> bool:
    """Return whether a section holds nothing but its title and a `META` comment."""
    comment = meta_comment(hit.text)
    return comment is not None and not comment.after.strip()
