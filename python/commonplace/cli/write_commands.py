"""Commands that change a memory."""

from __future__ import annotations

from commonplace.cli import options
from commonplace.cli.output import FOUND, NOTHING, done, emit, opened, record, screen
from commonplace.cli.parser import JSON, RootOptions, UsageError, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any


@command(options.TARGET, options.CONTENT, options.FILE, options.EXPECTED, JSON)
def write(
    opening: RootOptions,
    path: str,
    content: str | None,
    file: Path | None,
    expected: str | None,
    *,
    as_json: bool,
) -> int:
    """Create a file or replace its text; the old text goes to the history."""
    text = options.content(content, file)
    with opened(opening, create=True) as store:
        return done(store.write(path, text, expected_version=expected), "wrote", as_json)


@command(options.TARGET, options.CONTENT, options.FILE, options.EXPECTED, JSON)
def append(
    opening: RootOptions,
    path: str,
    content: str | None,
    file: Path | None,
    expected: str | None,
    *,
    as_json: bool,
) -> int:
    """Add text and a line end to a file."""
    text = options.content(content, file)
    with opened(opening, create=True) as store:
        return done(store.append(path, text, expected_version=expected), "added to", as_json)


@command(options.EXISTING, options.OLD, options.NEW, options.EXPECTED, JSON)
def patch(
    opening: RootOptions,
    path: str,
    old: list[str] | None,
    new: list[str] | None,
    expected: str | None,
    *,
    as_json: bool,
) -> int:
    """Replace texts by others, all or none; without --old the edits come from stdin."""
    edits = options.edits(old, new)
    with opened(opening) as store:
        return done(store.patch(path, edits, expected_version=expected), "patched", as_json)


@command(options.SOURCE, options.NEW_NAME, options.EXPECTED, JSON)
def move(
    opening: RootOptions, source: str, target: str, expected: str | None, *, as_json: bool
) -> int:
    """Rename a file."""
    with opened(opening) as store:
        return done(store.move(source, target, expected_version=expected), "moved to", as_json)


@command(options.EXISTING, options.EXPECTED, JSON)
def delete(opening: RootOptions, path: str, expected: str | None, *, as_json: bool) -> int:
    """Delete a file; its text goes to the history."""
    with opened(opening) as store:
        return done(store.delete(path, expected_version=expected), "deleted", as_json)


@command(options.LOGS, options.TO, options.KEEP_SECRETS, JSON)
def import_(
    opening: RootOptions, files: list[Path], to: str | None, *, keep_secrets: bool, as_json: bool
) -> int:
    """Import transcripts of Claude Code, Codex, pi, OpenAI chat, or plain lines."""
    if to and len(files) > 1:
        raise UsageError("--to takes one file; without it each file gets its own folder")
    reports = []
    shown = screen()
    with opened(opening, create=True) as store, shown.progress() as bar:
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
