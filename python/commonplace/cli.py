"""The command `commonplace`: 0 found or done, 1 nothing found, 2 error."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

import orjson
import typer

import commonplace
from commonplace import arguments as given
from commonplace.errors import CommonplaceError
from commonplace.records import record

if TYPE_CHECKING:
    from commonplace.show import Screen

FOUND, NOTHING, ERROR, INTERRUPTED = 0, 1, 2, 130

app = typer.Typer(
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def options(
    context: typer.Context, root: given.Root = None, version: given.Version = False
) -> None:
    """Memory in plain files: Markdown notes and messages.jsonl, searched at once."""
    context.obj = root
    if version:
        print(f"commonplace {commonplace.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def search(
    context: typer.Context,
    query: given.Query,
    limit: given.Limit = 10,
    prefix: given.Within = "",
    source: given.Source = None,
    role: given.Role = None,
    session: given.Session = None,
    category: given.Category = None,
    since: given.Since = None,
    until: given.Until = None,
    tools: given.Tools = False,
    as_json: given.Json = False,
) -> int:
    """Rank the sections and messages that answer a question."""
    with opened(context) as store:
        hits = store.search(
            " ".join(query),
            limit,
            prefix=prefix,
            source=source,
            role=role,
            session=session,
            category=category,
            since=since,
            until=until,
            tools=tools,
        )
        if as_json:
            found = [record(hit) for hit in hits]
            emit({"hits": found, "freshness": hits.freshness, "notes": hits.notes})
        else:
            screen().hits(hits)
        if not hits:
            nothing(store, [prefix])
    return FOUND if hits else NOTHING


@app.command()
def grep(
    context: typer.Context,
    pattern: given.Pattern,
    prefixes: given.Prefixes = None,
    fixed: given.Fixed = False,
    any_case: given.AnyCase = False,
    same_case: given.SameCase = False,
    role: given.Role = None,
    since: given.Since = None,
    until: given.Until = None,
    before: given.Before = 0,
    after: given.After = 0,
    around: given.Around = 0,
    limit: given.Most = None,
    newest_first: given.NewestFirst = False,
    tools: given.Tools = False,
    count: given.Count = False,
    width: given.Width = 300,
    keep: given.Keep = False,
    as_json: given.Json = False,
) -> int:
    """Scan notes and transcripts for a pattern and print the matches as they come."""
    with opened(context) as store:
        scan = store.grep(
            pattern,
            prefix=prefixes or "",
            fixed=fixed,
            ignore_case=given.case(any_case, same_case),
            role=role,
            since=since,
            until=until,
            before=max(before, around),
            after=max(after, around),
            limit=limit,
            newest_first=newest_first,
            tools=tools,
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
            nothing(store, prefixes or [])
    if count:
        emit({"count": matched}) if as_json else print(matched)
    return FOUND if matched else NOTHING


@app.command("list")
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


@app.command()
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
            return FOUND if messages else NOTHING
        text, version = store.read(path), store.version(path)
    if first:
        text = "\n".join(text.split("\n")[first - 1 : last])
    if as_json:
        emit({"path": path, "version": version, "text": text})
    else:
        screen().text(text)
    return FOUND if text or not first else NOTHING


@app.command()
def write(
    context: typer.Context,
    path: given.Target,
    content: given.Content = None,
    file: given.File = None,
    expected: given.Expected = None,
    as_json: given.Json = False,
) -> int:
    """Create a file or replace its text; the old text goes to the history."""
    text = given.content(content, file)
    with opened(context, create=True) as store:
        return done(store.write(path, text, expected_version=expected), "wrote", as_json)


@app.command()
def append(
    context: typer.Context,
    path: given.Target,
    content: given.Content = None,
    file: given.File = None,
    expected: given.Expected = None,
    as_json: given.Json = False,
) -> int:
    """Add text and a line end to a file."""
    text = given.content(content, file)
    with opened(context, create=True) as store:
        return done(store.append(path, text, expected_version=expected), "added to", as_json)


@app.command()
def patch(
    context: typer.Context,
    path: given.Existing,
    old: given.Old = None,
    new: given.New = None,
    expected: given.Expected = None,
    as_json: given.Json = False,
) -> int:
    """Replace texts by others, all or none; without --old the edits come from stdin."""
    edits = given.edits(old, new)
    with opened(context) as store:
        return done(store.patch(path, edits, expected_version=expected), "patched", as_json)


@app.command()
def move(
    context: typer.Context,
    source: given.Existing,
    target: given.NewName,
    expected: given.Expected = None,
    as_json: given.Json = False,
) -> int:
    """Rename a file."""
    with opened(context) as store:
        return done(store.move(source, target, expected_version=expected), "moved to", as_json)


@app.command()
def delete(
    context: typer.Context,
    path: given.Existing,
    expected: given.Expected = None,
    as_json: given.Json = False,
) -> int:
    """Take a file out of the memory; its text goes to the history."""
    with opened(context) as store:
        return done(store.delete(path, expected_version=expected), "deleted", as_json)


@app.command("import")
def import_(
    context: typer.Context,
    files: given.Logs,
    to: given.To = None,
    as_json: given.Json = False,
) -> int:
    """Take over transcripts of Claude Code, Codex, pi, OpenAI chat, or plain lines."""
    if to and len(files) > 1:
        raise typer.BadParameter("--to takes one file; without it each file gets its own folder")
    reports = []
    shown = screen()
    with opened(context, create=True) as store, shown.progress() as bar:
        for file in files:
            # many tools name every log alike; there the folder tells them apart
            name = file.absolute().parent.name if file.stem == "messages" else file.stem
            task = bar.add_task(file.name, total=file.stat().st_size)

            def advance(read: int, task: Any = task) -> None:
                bar.update(task, completed=read)

            reports.append(store.transcript(to or f"sessions/{name}").load(file, advance))
            if not as_json:
                shown.imported(reports[-1])
    if as_json:
        emit([record(report) for report in reports])
    return FOUND if any(report.messages for report in reports) else NOTHING


@app.command()
def status(context: typer.Context, as_json: given.Json = False) -> int:
    """Say what the memory holds."""
    with opened(context) as store:
        state = store.status()
    emit(record(state)) if as_json else screen().status(state)
    return FOUND


@app.command()
def verify(context: typer.Context, as_json: given.Json = False) -> int:
    """Compare the index with every file and mend it; exit 1 when they differed."""
    with opened(context) as store:
        verified = store.verify()
    emit(record(verified)) if as_json else screen().verified(verified)
    return NOTHING if verified.differences else FOUND


@app.command()
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


@app.command("eval")
def eval_(files: given.Sets, run: given.Run = None, as_json: given.Json = False) -> int:
    """Measure the ranking on labelled sets."""
    from commonplace.evaluation import evaluate

    shown = screen()
    with shown.tally() as bar:
        scores = evaluate(files, run=run, progress=bar)
    emit([score.as_dict() for score in scores]) if as_json else shown.scores(scores)
    return FOUND


@app.command()
def demo(context: typer.Context) -> int:
    """Build a small memory and show what can be done with it."""
    from commonplace.demo import tour

    tour(context.obj, screen())
    return FOUND


def opened(context: typer.Context, *, create: bool = False) -> commonplace.Store:
    """Open the root that the command line means."""
    return commonplace.open(context.obj, create=create)


def screen() -> Screen:
    """Return the printer for people; loaded late, since a program's `--json` needs none."""
    from commonplace.show import Screen

    return Screen()


def emit(document: Any) -> None:
    """Print one line of JSON, at once."""
    sys.stdout.buffer.write(orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE))
    sys.stdout.buffer.flush()


def done(written: commonplace.Written, verb: str, as_json: bool) -> int:
    """Report a write."""
    emit(record(written)) if as_json else screen().written(written, verb)
    return FOUND


def nothing(store: commonplace.Store, prefixes: Sequence[str]) -> None:
    """Say on stderr that nothing was found, and where there was nothing to look at."""
    missing = [prefix for prefix in prefixes or [""] if not store.list(prefix)]
    where = " or ".join(f"{store.root}/{prefix}".rstrip("/") for prefix in missing)
    remark(f"nothing found{f': no file is at or below {where}' if missing else ''}")


def complain(text: str) -> int:
    """Print an error as one line of stderr."""
    remark(text)
    return ERROR


def remark(text: str) -> None:
    """Print one line on stderr."""
    from commonplace.show import clean

    print(f"commonplace: {clean(' '.join(text.split()))}", file=sys.stderr)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    try:
        return int(app(list(arguments), prog_name="commonplace", standalone_mode=False) or FOUND)
    except typer.TyperException as error:
        text = error.format_message()
        if "No such option: --root" in text:
            text = "--root goes before the command: commonplace --root FOLDER …"
        elif "No such option" in text:
            text += '; text that begins with "-" goes after "--"'
        return complain(text) if text else ERROR
    except CommonplaceError as error:
        return complain(str(error))
    except UnicodeEncodeError:
        return complain("an argument is not UTF-8; set a UTF-8 locale or rename the file")
    except OSError as error:
        return complain(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except KeyboardInterrupt:
        return INTERRUPTED


def main() -> int:
    """Run the command line of this process."""
    if hasattr(signal, "SIGPIPE"):
        # as grep does: when the reader has seen enough, stop without a word
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if isinstance(sys.stdout, TextIOWrapper):
        # a terminal that cannot show a character is no reason to show nothing
        sys.stdout.reconfigure(errors="replace")
    return run(sys.argv[1:])
