"""Commands that change no file: search, grep, list, read, status, verify, embed, explain, eval,
demo.
"""

from __future__ import annotations

from commonplace.citation import located
from commonplace.cli import options
from commonplace.cli.output import (
    FOUND,
    NOTHING,
    emit,
    nothing,
    nothing_below,
    opened,
    print_message,
    printer,
    record,
    screen,
)
from commonplace.cli.parser import JSON, RootOptions, UsageError, command
from commonplace.errors import CommonplaceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, Literal

    from commonplace._core import Hit, Hits
    from commonplace.recall import HybridHit, HybridHits
    from commonplace.store import Store

# Seconds that a search makes vectors for, before it goes by those that there are
VECTORS_TIMEOUT = 2.0


@command(
    options.QUERY,
    options.LIMIT,
    options.UNIT,
    options.MEANING,
    options.ARCHIVE,
    *options.FILTER.values(),
    options.PROJECT_FOLDER,
    JSON,
)
def search(
    opening: RootOptions,
    query: list[str],
    limit: int,
    unit: Literal["turn", "message"],
    archive: Literal["yes", "no", "only"],
    *,
    meaning: bool,
    as_json: bool,
    **fields: Any,
) -> int:
    """Rank the sections and turns that answer a question."""
    with opened(opening, watch=meaning) as store:
        meaning = meaning or store.embedder is not None
        wanted = options.search_filter(fields)
        asked = " ".join(query)
        hits: Hits | HybridHits
        if meaning:
            _make_vectors(store, VECTORS_TIMEOUT)
            hits = store.search(
                asked, limit, unit=unit, meaning=True, filter=wanted, archive=archive
            )
        else:
            hits = store.search(asked, limit, unit=unit, filter=wanted, archive=archive)
        if as_json:
            found = [_ranked(hit) for hit in hits]
            answer = {"hits": found, "confidence": hits.confidence}
            emit(answer | {"freshness": hits.freshness, "notes": hits.notes})
        else:
            printer().hits(hits)
        for path, *_ in wanted.exclude or ():
            # of an id that is none the notes tell
            if "/" in path and not store.holds(path):
                print_message(f"nothing is left out: no file is at or below {path}")
        if not hits:
            nothing(store, wanted, hits.notes)
    return FOUND if hits else NOTHING


def _ranked(hit: Hit | HybridHit) -> dict[str, Any]:
    """Return a hit as a record; of one by words and vectors with what its score is made of."""
    from commonplace._core import Hit

    return record(hit) if isinstance(hit, Hit) else hit.to_dict()


@command(
    options.PATTERN,
    options.PREFIXES,
    options.FIXED,
    options.ANY_CASE,
    options.SAME_CASE,
    *options.FILTER.values(),
    options.PROJECT_FOLDER,
    options.BEFORE,
    options.AFTER,
    options.AROUND,
    options.MOST,
    options.NEWEST_FIRST,
    options.COUNT,
    options.WIDTH,
    options.KEEP,
    JSON,
)
def grep(
    opening: RootOptions,
    pattern: str,
    prefixes: list[str],
    *,
    any_case: bool,
    same_case: bool,
    before: int,
    after: int,
    around: int,
    count: bool,
    keep: bool,
    as_json: bool,
    fixed: bool,
    limit: int | None,
    newest_first: bool,
    width: int,
    **fields: Any,
) -> int:
    """Scan notes and transcripts for a pattern and print the matches as they come."""
    ignore_case = options.case(any_case, same_case)
    with opened(opening) as store:
        wanted = options.search_filter(fields, prefixes)
        scan = store.grep(
            pattern,
            filter=wanted,
            fixed=fixed,
            ignore_case=ignore_case,
            before=max(before, around),
            after=max(after, around),
            limit=limit,
            newest_first=newest_first,
            width=width,
            keep=keep,
        )
        if count:
            matched = scan.count()
        else:
            matched = 0
            show = (lambda match: emit(record(match))) if as_json else printer().match
            for match in scan:
                matched += 1
                show(match)
        if scan.notes or scan.bad_line_count:
            printer().scanned(scan)
        if keep:
            store.wait_for_gram_indexes()
        if not matched:
            nothing(store, wanted, scan.notes)
    if count:
        emit({"count": matched}) if as_json else print(matched)
    return FOUND if matched else NOTHING


@command(options.PREFIX, JSON)
def list_(opening: RootOptions, prefix: str | None, *, as_json: bool) -> int:
    """List the files with size, last change and summary."""
    with opened(opening) as store:
        entries = store.list(prefix or "")
        if not entries:
            nothing_below(store, [prefix or ""])
    if as_json:
        emit([record(entry) for entry in entries])
    elif entries:
        printer().entries(entries)
    return FOUND if entries else NOTHING


@command(options.WHERE, options.LINES, JSON)
def read(opening: RootOptions, where: str, lines: str | None, *, as_json: bool) -> int:
    """Print a file, some of its lines, or the messages that a citation names."""
    path, first, last = located(where, lines)
    with opened(opening) as store:
        if not path.endswith((".md", ".jsonl")) and (session := store.find_session(path)):
            path = session.path
        if path.endswith(".jsonl") and first and last:
            transcript = store.transcript(path)
            found = transcript.messages(first, last + 1 - first)
            # where a line is no message, later ones come up for it
            messages = [message for message in found if message.line <= last]
            if as_json:
                emit({"path": path, "messages": [record(message) for message in messages]})
            else:
                printer().messages(messages, transcript)
            if not messages:
                print_message(f"there is no message at {where}")
            return FOUND if messages else NOTHING
        text, version = store.read(path), store.version(path)
    if first:
        text = "\n".join(text.split("\n")[first - 1 : last])
    if as_json:
        emit({"path": path, "version": version, "text": text})
    else:
        printer().text(text)
    if first and not text:
        print_message(f"there is no text at {path}, line {first}")
        return NOTHING
    return FOUND


@command(JSON)
def status(opening: RootOptions, *, as_json: bool) -> int:
    """Show how many files, sections and messages there are."""
    with opened(opening) as store:
        state = store.status()
        rule, problem = "", ""
        try:
            rule = str(store.settings().archive)
        except CommonplaceError as error:
            problem = str(error)
    if as_json:
        emit(record(state) | {"archive_rule": rule or None})
    else:
        printer().status(state, rule)
    if problem:
        printer().warn(problem)
    return FOUND


@command(JSON)
def verify(opening: RootOptions, *, as_json: bool) -> int:
    """Compare the index with every file and repair it.

    Exits with 1 when they differed or a file could not be read, else with 0.

    A file that is left out because of its encoding or size is named, but is no difference.
    """
    with opened(opening) as store:
        verified = store.verify()
    emit(record(verified)) if as_json else printer().verified(verified)
    return NOTHING if verified.differences or verified.unread else FOUND


@command(JSON)
def embed(opening: RootOptions, *, as_json: bool) -> int:
    """Make the vectors that `search --meaning` needs.

    Vectors are saved as they are made, so a run that was stopped goes on from there. A search makes
    missing ones as well, but for two seconds at most.
    """
    with opened(opening) as store:
        made, count = _make_vectors(store)
    from commonplace.cli.printer import counted

    report = {"made": made, "documents": count}
    emit(report) if as_json else printer().text(
        f"{counted(made, 'vector')} made; documents with one: {count:,}"
    )
    return FOUND


def _make_vectors(store: Store, seconds: float | None = None) -> tuple[int, int]:
    """Make vectors for so long, with a progress bar; return how many, and how many there are."""
    from commonplace.adapters.meaning import search_by_meaning

    vectors = search_by_meaning(store).vectors
    if vectors is None:
        return 0, 0
    with screen().overall_progress("embedding", in_bytes=False) as advance:
        made = vectors.refresh(advance, seconds)
    # a thread would end with this command
    vectors.is_paused = True
    return made, len(vectors)


@command(options.ONE_QUERY, options.CITATION, options.MEANING, JSON)
def explain(
    opening: RootOptions, query: str, citation: str, *, meaning: bool, as_json: bool
) -> int:
    """Explain the score of one section or message that is in memory.

    Of an archived one, bring the session back first: archive --restore --session ID.
    """
    with opened(opening) as store:
        if meaning:
            from commonplace.adapters.meaning import search_by_meaning

            _make_vectors(store, VECTORS_TIMEOUT)
            text = search_by_meaning(store).explain(query, citation)
        else:
            text = store.explain(query, citation)
    emit({"query": query, "citation": citation, "text": text}) if as_json else printer().text(text)
    return FOUND


@command(options.SETS, options.EVAL_UNIT, options.LONGMEMEVAL, options.RUN, JSON)
def eval_(
    _opening: RootOptions,
    files: list[Path],
    unit: Literal["message", "turn", "session"],
    longmemeval: list[Path] | None,
    run: Path | None,
    *,
    as_json: bool,
) -> int:
    """Measure the ranking on labelled sets."""
    if not files and not longmemeval:
        raise UsageError("name labelled sets: FILE.jsonl.gz, or --longmemeval FILE")
    from commonplace.evaluation import evaluate

    shown = screen()
    with shown.progress_counter() as bar:
        scores = evaluate(files, unit=unit, longmemeval=longmemeval or (), run=run, progress=bar)
    emit([score.as_dict() for score in scores]) if as_json else shown.scores(scores)
    for score in scores:
        if unit != "message" and not score.in_units:
            shown.warn(f"{score.set} has no {unit}s: each of its documents is an answer by itself")
    return FOUND


@command()
def demo(opening: RootOptions) -> int:
    """Build a small memory and show what can be done with it."""
    from commonplace.cli.demo import tour

    tour(options.path_of(opening.root) if opening.root else None, screen())
    return FOUND
