"""Commands that change a memory."""

from __future__ import annotations

from typing import Any

import typer

from commonplace.cli import options
from commonplace.cli.output import FOUND, NOTHING, done, emit, opened, screen
from commonplace.records import record


def write(
    context: typer.Context,
    path: options.Target,
    content: options.Content = None,
    file: options.File = None,
    expected: options.Expected = None,
    as_json: options.Json = False,
) -> int:
    """Create a file or replace its text; the old text goes to the history."""
    text = options.content(content, file)
    with opened(context, create=True) as store:
        return done(store.write(path, text, expected_version=expected), "wrote", as_json)


def append(
    context: typer.Context,
    path: options.Target,
    content: options.Content = None,
    file: options.File = None,
    expected: options.Expected = None,
    as_json: options.Json = False,
) -> int:
    """Add text and a line end to a file."""
    text = options.content(content, file)
    with opened(context, create=True) as store:
        return done(store.append(path, text, expected_version=expected), "added to", as_json)


def patch(
    context: typer.Context,
    path: options.Existing,
    old: options.Old = None,
    new: options.New = None,
    expected: options.Expected = None,
    as_json: options.Json = False,
) -> int:
    """Replace texts by others, all or none; without --old the edits come from stdin."""
    edits = options.edits(old, new)
    with opened(context) as store:
        return done(store.patch(path, edits, expected_version=expected), "patched", as_json)


def move(
    context: typer.Context,
    source: options.Existing,
    target: options.NewName,
    expected: options.Expected = None,
    as_json: options.Json = False,
) -> int:
    """Rename a file."""
    with opened(context) as store:
        return done(store.move(source, target, expected_version=expected), "moved to", as_json)


def delete(
    context: typer.Context,
    path: options.Existing,
    expected: options.Expected = None,
    as_json: options.Json = False,
) -> int:
    """Delete a file; its text goes to the history."""
    with opened(context) as store:
        return done(store.delete(path, expected_version=expected), "deleted", as_json)


def import_(
    context: typer.Context,
    files: options.Logs,
    to: options.To = None,
    keep_secrets: options.KeepSecrets = False,
    as_json: options.Json = False,
) -> int:
    """Import transcripts of Claude Code, Codex, pi, OpenAI chat, or plain lines."""
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

            log = store.transcript(to or f"sessions/{name}")
            reports.append(log.load(file, advance, keep_secrets=keep_secrets))
            if not as_json:
                shown.imported(reports[-1])
    if as_json:
        emit([record(report) for report in reports])
    return FOUND if any(report.messages for report in reports) else NOTHING
