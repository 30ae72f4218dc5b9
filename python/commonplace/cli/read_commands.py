"""Commands that do not change the files of a memory."""

from __future__ import annotations

import typer

from commonplace._core import SearchFilter
from commonplace.cli import options
from commonplace.cli.output import FOUND, NOTHING, emit, nothing, opened, print_message, screen
from commonplace.records import record


@options.filtered
def search(
    context: typer.Context,
    query: options.Query,
    filter: SearchFilter,
    limit: options.Limit = 10,
    unit: options.Unit = "turn",
    as_json: options.Json = False,
) -> int:
    """Rank the sections and turns that answer a question."""
    with opened(context) as store:
        hits = store.search(" ".join(query), limit, unit=unit, filter=filter)
        if as_json:
            found = [record(hit) for hit in hits]
            emit({"hits": found, "freshness": hits.freshness, "notes": hits.notes})
        else:
            screen().hits(hits)
        if not hits:
            nothing(store, filter.prefix or ())
    return FOUND if hits else NOTHING


@options.filtered
def grep(
    context: typer.Context,
    pattern: options.Pattern,
    filter: SearchFilter,
    prefixes: options.Prefixes = None,  # noqa: ARG001 - they are in the filter
    fixed: options.Fixed = False,
    any_case: options.AnyCase = False,
    same_case: options.SameCase = False,
    before: options.Before = 0,
    after: options.After = 0,
    around: options.Around = 0,
    limit: options.Most = None,
    newest_first: options.NewestFirst = False,
    count: options.Count = False,
    width: options.Width = 300,
    keep: options.Keep = False,
    as_json: options.Json = False,
) -> int:
    """Scan notes and transcripts for a pattern and print the matches as they come."""
    with opened(context) as store:
        scan = store.grep(
            pattern,
            filter=filter,
            fixed=fixed,
            ignore_case=options.case(any_case, same_case),
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
            store.wait_for_gram_indexes()
        if not matched:
            nothing(store, filter.prefix or ())
    if count:
        emit({"count": matched}) if as_json else print(matched)
    return FOUND if matched else NOTHING


def list_(
    context: typer.Context, prefix: options.Prefix = "", as_json: options.Json = False
) -> int:
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
    where: options.Where,
    lines: options.Lines = None,
    as_json: options.Json = False,
) -> int:
    """Print a file, some of its lines, or the messages that a citation names."""
    path, first, last = options.located(where, lines)
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
                print_message(f"there is no message at {where}")
            return FOUND if messages else NOTHING
        text, version = store.read(path), store.version(path)
    if first:
        text = "\n".join(text.split("\n")[first - 1 : last])
    if as_json:
        emit({"path": path, "version": version, "text": text})
    else:
        screen().text(text)
    if first and not text:
        print_message(f"there is no text at {path}, line {first}")
        return NOTHING
    return FOUND


def status(context: typer.Context, as_json: options.Json = False) -> int:
    """Show how many files, sections and messages there are."""
    with opened(context) as store:
        state = store.status()
    emit(record(state)) if as_json else screen().status(state)
    return FOUND


def verify(context: typer.Context, as_json: options.Json = False) -> int:
    """Compare the index with every file and repair it.

    Exits with 1 when they differed or a file could not be read, else with 0.

    A file that is left out for its encoding or size is named; it is no difference.
    """
    with opened(context) as store:
        verified = store.verify()
    emit(record(verified)) if as_json else screen().verified(verified)
    return NOTHING if verified.differences or verified.unread else FOUND


def explain(
    context: typer.Context,
    query: options.OneQuery,
    citation: options.Citation,
    as_json: options.Json = False,
) -> int:
    """Explain the score of one section or message."""
    with opened(context) as store:
        text = store.explain(query, citation)
    emit({"query": query, "citation": citation, "text": text}) if as_json else screen().text(text)
    return FOUND


def eval_(
    files: options.Sets = None,
    unit: options.EvalUnit = "message",
    longmemeval: options.LongMemEval = None,
    run: options.Run = None,
    as_json: options.Json = False,
) -> int:
    """Measure the ranking on labelled sets."""
    from commonplace.evaluation import evaluate

    shown = screen()
    with shown.progress_counter() as bar:
        scores = evaluate(
            files or (), unit=unit, longmemeval=longmemeval or (), run=run, progress=bar
        )
    emit([score.as_dict() for score in scores]) if as_json else shown.scores(scores)
    return FOUND


def demo(context: typer.Context) -> int:
    """Build a small memory and show what can be done with it."""
    from commonplace.cli.demo import tour

    tour(context.obj.root, screen())
    return FOUND
