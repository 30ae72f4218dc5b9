"""Commands that do not change the files of a memory."""

from __future__ import annotations

import typer

from commonplace._core import SearchFilter
from commonplace.cli import options as given
from commonplace.cli.output import FOUND, NOTHING, emit, nothing, opened, remark, screen
from commonplace.records import record


@given.filtered
def search(
    context: typer.Context,
    query: given.Query,
    filter: SearchFilter,
    limit: given.Limit = 10,
    as_json: given.Json = False,
) -> int:
    """Rank the sections and messages that answer a question."""
    with opened(context) as store:
        hits = store.search(" ".join(query), limit, filter=filter)
        if as_json:
            found = [record(hit) for hit in hits]
            emit({"hits": found, "freshness": hits.freshness, "notes": hits.notes})
        else:
            screen().hits(hits)
        if not hits:
            nothing(store, filter.prefix or ())
    return FOUND if hits else NOTHING


@given.filtered
def grep(
    context: typer.Context,
    pattern: given.Pattern,
    filter: SearchFilter,
    prefixes: given.Prefixes = None,  # noqa: ARG001 - they are in the filter
    fixed: given.Fixed = False,
    any_case: given.AnyCase = False,
    same_case: given.SameCase = False,
    before: given.Before = 0,
    after: given.After = 0,
    around: given.Around = 0,
    limit: given.Most = None,
    newest_first: given.NewestFirst = False,
    count: given.Count = False,
    width: given.Width = 300,
    keep: given.Keep = False,
    as_json: given.Json = False,
) -> int:
    """Scan notes and transcripts for a pattern and print the matches as they come."""
    with opened(context) as store:
        scan = store.grep(
            pattern,
            filter=filter,
            fixed=fixed,
            ignore_case=given.case(any_case, same_case),
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
            show = (lambda match: emit(record(match))) if as_json else screen().match
            for match in scan:
                matched += 1
                show(match)
        if scan.notes or scan.bad_line_count:
            screen().scanned(scan)
        if keep:
            store.settle()
        if not matched:
            nothing(store, filter.prefix or ())
    if count:
        emit({"count": matched}) if as_json else print(matched)
    return FOUND if matched else NOTHING


def list_(context: typer.Context, prefix: given.Prefix = "", as_json: given.Json = False) -> int:
    """List the files with size, last change and summary."""
    with opened(context) as store:
        entries = store.list(prefix)
        if not entries:
            nothing(store, [prefix])
    if as_json:
        emit([record(entry) for entry in entries])
    elif entries:
        screen().entries(entries)
    return FOUND if entries else NOTHING


def read(
    context: typer.Context,
    where: given.Where,
    lines: given.Lines = None,
    as_json: given.Json = False,
) -> int:
    """Print a file, some of its lines, or the messages that a citation names."""
    path, first, last = given.located(where, lines)
    with opened(context) as store:
        if path.endswith(".jsonl") and first and last:
            found = store.transcript(path).messages(first, last + 1 - first)
            # where a line is no message, later ones come up for it
            messages = [message for message in found if message.line <= last]
            if as_json:
                emit({"path": path, "messages": [record(message) for message in messages]})
            else:
                screen().messages(messages)
            if not messages:
                remark(f"there is no message at {where}")
            return FOUND if messages else NOTHING
        text, version = store.read(path), store.version(path)
    if first:
        text = "\n".join(text.split("\n")[first - 1 : last])
    if as_json:
        emit({"path": path, "version": version, "text": text})
    else:
        screen().text(text)
    if first and not text:
        remark(f"there is no text at {path}, line {first}")
        return NOTHING
    return FOUND


def status(context: typer.Context, as_json: given.Json = False) -> int:
    """Say what the memory holds."""
    with opened(context) as store:
        state = store.status()
    emit(record(state)) if as_json else screen().status(state)
    return FOUND


def verify(context: typer.Context, as_json: given.Json = False) -> int:
    """Compare the index with every file and mend it.

    Exits with 1 when they differed or a file could not be read, else with 0.

    A file that is left out for its encoding or size is named; it is no difference.
    """
    with opened(context) as store:
        verified = store.verify()
    emit(record(verified)) if as_json else screen().verified(verified)
    return NOTHING if verified.differences or verified.unread else FOUND


def explain(
    context: typer.Context,
    query: given.OneQuery,
    citation: given.Citation,
    as_json: given.Json = False,
) -> int:
    """Show how the score of one section or message comes about."""
    with opened(context) as store:
        text = store.explain(query, citation)
    emit({"query": query, "citation": citation, "text": text}) if as_json else screen().text(text)
    return FOUND


def eval_(files: given.Sets, run: given.Run = None, as_json: given.Json = False) -> int:
    """Measure the ranking on labelled sets."""
    from commonplace.evaluation import evaluate

    shown = screen()
    with shown.tally() as bar:
        scores = evaluate(files, run=run, progress=bar)
    emit([score.as_dict() for score in scores]) if as_json else shown.scores(scores)
    return FOUND


def demo(context: typer.Context) -> int:
    """Build a small memory and show what can be done with it."""
    from commonplace.cli.demo import tour

    tour(context.obj.root, screen())
    return FOUND
