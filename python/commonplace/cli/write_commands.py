"""Commands that change a memory."""

from __future__ import annotations

from typing import Any

import typer

from commonplace.cli import options as given
from commonplace.cli.output import FOUND, NOTHING, done, emit, opened, screen
from commonplace.records import record


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


def delete(
    context: typer.Context,
    path: given.Existing,
    expected: given.Expected = None,
    as_json: given.Json = False,
) -> int:
    """Take a file out of the memory; its text goes to the history."""
    with opened(context) as store:
        return done(store.delete(path, expected_version=expected), "deleted", as_json)


def import_(
    context: typer.Context,
    files: given.Logs,
    to: given.To = None,
    keep_secrets: given.KeepSecrets = False,
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

            log = store.transcript(to or f"sessions/{name}")
            reports.append(log.load(file, advance, keep_secrets=keep_secrets))
            if not as_json:
                shown.imported(reports[-1])
    if as_json:
        emit([record(report) for report in reports])
    return FOUND if any(report.messages for report in reports) else NOTHING
