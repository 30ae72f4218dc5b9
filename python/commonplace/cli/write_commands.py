"""Commands that change files: write, append, patch, move, delete, import."""

from __future__ import annotations

from commonplace.cli import options
from commonplace.cli.output import (
    ERROR,
    FOUND,
    done,
    emit,
    import_progress,
    opened,
    printer,
    record,
)
from commonplace.cli.parser import JSON, RootOptions, UsageError, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


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


@command(options.LOGS, *options.HOSTS, options.TO, options.KEEP_SECRETS, JSON)
def import_(
    opening: RootOptions,
    files: list[str],
    hosts: list[str] | None,
    to: str | None,
    *,
    keep_secrets: bool,
    as_json: bool,
) -> int:
    """Import sessions of agents; again, and only what is new is read.

    Each session becomes a transcript sessions/<project>/<date>-<id>/messages.jsonl. Known are
    Claude Code, Codex, Gemini CLI, opencode, pi, exports of ChatGPT and Claude.ai, Markdown of
    SpecStory, OpenAI chat and plain lines; a file's content tells which it is. A file that cannot
    be read is named and skipped. Exit code 2 means that nothing could be imported.
    """
    if to:
        return _import_to(opening, files, hosts, to, keep_secrets=keep_secrets, as_json=as_json)
    if not files and not hosts:
        raise UsageError("say what to import: --claude-code, --all, a folder, files or -")
    with opened(opening, create=True) as store, import_progress() as advance:
        report = store.import_sessions(
            *files, hosts=hosts or (), progress=advance, keep_secrets=keep_secrets
        )
        if report.new + report.grown:
            # indexed now, for else the next prompt of an agent would wait for that
            store.status()
    emit(record(report)) if as_json else printer().sessions_imported(report)
    return FOUND if report.new + report.grown + report.unchanged else ERROR


def _of_unknown_size(advance: Callable[[int, int], None], read: int) -> None:
    advance(read, 0)


def _import_to(
    opening: RootOptions,
    files: list[str],
    hosts: list[str] | None,
    to: str,
    *,
    keep_secrets: bool,
    as_json: bool,
) -> int:
    from functools import partial

    if len(files) != 1 or hosts:
        raise UsageError("--to takes one file; without it each session gets its own folder")
    with opened(opening, create=True) as store, import_progress() as advance:
        told = partial(_of_unknown_size, advance) if advance else None
        report = store.transcript(to).load(files[0], told, keep_secrets=keep_secrets)
    emit([record(report)]) if as_json else printer().imported(report)
    return FOUND
