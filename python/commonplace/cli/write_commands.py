"""Commands that change something: write, append, …, import, forget, retain, archive."""

from __future__ import annotations

from commonplace.cli import options
from commonplace.cli.output import (
    ERROR,
    FOUND,
    NOTHING,
    agreed,
    done,
    emit,
    import_progress,
    opened,
    print_message,
    printer,
    record,
)
from commonplace.cli.parser import JSON, RootOptions, UsageError, command
from commonplace.errors import FormatError, QueryError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    from commonplace import Forgotten, Retained, Store

# What a message has beside what it says
PLACES = {"role", "type", "name", "id", "uuid", "session", "session_id", "timestamp", "time"}
# The options of a filter that lines have
FIELDS = ("prefix", "source", "role", "session", "since", "until")


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
        written = store.write(path, text, expected_version=expected)
        return done(written, "wrote", store.root, as_json=as_json)


@command(
    options.TARGET, options.CONTENT, options.FILE, options.EXPECTED, options.KEEP_SECRETS, JSON
)
def append(
    opening: RootOptions,
    path: str,
    content: str | None,
    file: Path | None,
    expected: str | None,
    *,
    keep_secrets: bool,
    as_json: bool,
) -> int:
    """Add a line of text to a file; keys and passwords in it are redacted."""
    text = options.content(content, file)
    with opened(opening, create=True, keep_secrets=keep_secrets) as store:
        kept, counts = store.redact(text)
        if path.endswith(".jsonl"):
            _check_messages(path, kept)
        is_new = not store.holds(path)
        written = store.append(path, kept, expected_version=expected)
        if counts:
            store.log_redactions(written.path, counts)
        if as_json:
            emit(record(written) | ({"redacted": counts} if counts else {}))
            return FOUND
        printer().written(written, "created" if is_new else "added to", store.root)
        printer().redacted(counts)
        return FOUND


def _check_messages(path: str, text: str) -> None:
    """Refuse lines that no search would find."""
    import json

    for line in text.splitlines():
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise FormatError(
                f"a line of {path} is a JSON object, such as "
                f'{{"role": "user", "content": "…"}}, not {line:.60}'
            )
        if "role" in found and not any(found[key] for key in found.keys() - PLACES):
            raise FormatError(f'{line:.60} says nothing: a message has "content" beside its role')


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
    """Replace texts in a file, all or none; without --old the edits come from stdin."""
    edits = options.edits(old, new)
    with opened(opening) as store:
        written = store.patch(path, edits, expected_version=expected)
        return done(written, "patched", store.root, as_json=as_json)


@command(options.SOURCE, options.NEW_NAME, options.EXPECTED, JSON)
def move(
    opening: RootOptions, source: str, target: str, expected: str | None, *, as_json: bool
) -> int:
    """Rename a file."""
    with opened(opening) as store:
        written = store.move(source, target, expected_version=expected)
        return done(written, "moved to", store.root, as_json=as_json)


@command(options.EXISTING, options.EXPECTED, JSON)
def delete(opening: RootOptions, path: str, expected: str | None, *, as_json: bool) -> int:
    """Delete a file; its text goes to the history."""
    with opened(opening) as store:
        written = store.delete(path, expected_version=expected)
        return done(written, "deleted", store.root, as_json=as_json)


@command(
    options.LOGS,
    *options.HOSTS,
    options.TO,
    options.ARCHIVE_OLDER,
    options.ARCHIVE_OVER,
    options.KEEP_SECRETS,
    JSON,
)
def import_(
    opening: RootOptions,
    files: list[str],
    hosts: list[str] | None,
    to: str | None,
    archive_older: float | None,
    archive_over: int | None,
    *,
    keep_secrets: bool,
    as_json: bool,
) -> int:
    """Import sessions of agents; a second import reads only what is new.

    Each session becomes a transcript sessions/<project>/<date>-<id>/messages.jsonl. It reads
    Claude Code, Codex, Gemini CLI, opencode, pi, exports of ChatGPT and Claude.ai, Markdown of
    SpecStory, OpenAI chat and plain lines, each known by its content. A file that cannot be read is
    named and skipped. Exit code 2 means that nothing could be imported.
    """
    has_rule = archive_older is not None or archive_over is not None
    if to and has_rule:
        raise UsageError("--archive-older and --archive-over go with sessions, not with --to")
    if to:
        return _import_to(opening, files, hosts, to, keep_secrets=keep_secrets, as_json=as_json)
    if not files and not hosts:
        raise UsageError("say what to import: --claude-code, --all, a folder, files or -")
    import contextlib
    import pathlib

    from commonplace.store import find_root

    root = pathlib.Path(opening.root or find_root())
    is_new = not root.exists()
    with opened(opening, create=True) as store:
        with import_progress() as advance:
            report = store.import_sessions(
                *files, hosts=hosts or (), progress=advance, keep_secrets=keep_secrets
            )
            if report.new + report.grown:
                # indexed now, for else the next prompt of an agent would wait for that
                store.status()
        archived = None
        try:
            if has_rule:
                archived = store.archive(older=archive_older, over=archive_over)
            else:
                archived = store.archive_by_rule()
        finally:
            # what was imported is told, also where it cannot be archived
            if as_json:
                emit(record(report) | ({"archived": archived.as_dict()} if archived else {}))
            else:
                printer().sessions_imported(report)
                if archived and (has_rule or archived.sessions):
                    printer().archived(archived, "archived")
    if report.new + report.grown + report.unchanged:
        return FOUND
    if is_new:
        with contextlib.suppress(OSError):
            # unless somebody else has put something into it
            root.rmdir()
    return ERROR


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

    from commonplace.import_ledger import imported_to

    if len(files) != 1 or hosts:
        raise UsageError("--to takes one file; without it each session gets its own folder")
    with opened(opening, create=True) as store, import_progress() as advance:
        told = partial(_of_unknown_size, advance) if advance else None
        report = store.transcript(to).load(files[0], told, keep_secrets=keep_secrets)
        others = [path for path in imported_to(store, files[0]) if path != report.path]
    for path in others:
        print_message(f"its messages are in {path} as well; a search finds both, so delete one")
    emit([record(report)]) if as_json else printer().imported(report)
    return FOUND


@command(
    options.FORGOTTEN,
    *(options.FILTER[name] for name in FIELDS),
    options.DRY_RUN,
    options.YES,
    JSON,
)
def forget(
    opening: RootOptions,
    what: list[str],
    *,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    **fields: Any,
) -> int:
    """Erase a text, lines or sessions for good, also from the history; asks first.

    The unit that contains the text is erased: a list item, a table row, a sentence with its lines,
    a message. With options and no text, everything that matches them is erased. An import does not
    bring it back. Copies in git or in a backup are not reached.
    """
    if not what and not any(fields.values()):
        raise UsageError("say what to forget: a text, a citation, or an option such as --session")
    with opened(opening) as store:
        plan = store.forget(what, dry_run=True, **fields)
        if not as_json:
            printer().forgotten(plan)
            _tell_names(store, what)
        if not (plan.passages or plan.files or plan.revisions):
            if as_json:
                emit(record(plan))
            else:
                _name_similar(store, what, fields["session"])
            return NOTHING
        if not dry_run and agreed(yes=yes):
            plan = store.forget(what, token=plan.token, **fields)
        return _told(plan, as_json=as_json)


@command(
    options.HISTORY_SINCE,
    options.HISTORY_COUNT,
    options.SESSIONS_SINCE,
    options.SESSION_COUNT,
    options.TOTAL,
    options.DRY_RUN,
    options.YES,
    JSON,
)
def retain(
    opening: RootOptions,
    history_older: float | None,
    history_count: int | None,
    older: float | None,
    session_count: int | None,
    total_mb: int | None,
    *,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Erase old versions and old sessions for good, by rules; asks first."""
    rules = {
        "history_since": history_older,
        "history_count": history_count,
        "sessions_since": older,
        "session_count": session_count,
        "total_bytes": None if total_mb is None else total_mb << 20,
    }
    if all(rule is None for rule in rules.values()):
        raise UsageError("say what may go: --older 90d, --history-older 30d, --history-count 5, …")
    with opened(opening) as store:
        plan = store.retain(**rules, dry_run=True)  # type: ignore[arg-type]
        if not as_json:
            printer().retained(plan)
        if (plan.files or plan.revisions) and not dry_run and agreed(yes=yes):
            now = store.retain(**rules, dry_run=True)  # type: ignore[arg-type]
            # a session that has come since makes another one the oldest
            if (now.files, now.revisions) != (plan.files, plan.revisions):
                raise UsageError("nothing was erased: something else would go by now; look again")
            plan = store.retain(**rules)  # type: ignore[arg-type]
        return _told(plan, as_json=as_json)


@command(
    options.SESSIONS_SINCE,
    options.ARCHIVED,
    options.OVER,
    options.RESTORE,
    options.REBUILD,
    options.DRY_RUN,
    JSON,
)
def archive(
    opening: RootOptions,
    older: float | None,
    sessions: list[str],
    over: int | None,
    *,
    restore: bool,
    rebuild: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Move the index of old sessions from memory to the disk; their files stay as they are.

    The options say which sessions; without options, the rule in .commonplace/settings.toml does.
    """
    is_rule = older is not None or over is not None
    if restore and (is_rule or rebuild):
        raise UsageError("--restore goes with --session and --dry-run alone")
    if rebuild and (is_rule or sessions or dry_run):
        raise UsageError("--rebuild goes with no other option")
    with opened(opening) as store:
        if not (is_rule or sessions or restore or rebuild or store.settings().archive):
            from commonplace.settings import NAME

            what = "--older 90d, --session 0198c1d2, --over 2GB"
            where = store.side_files().path(NAME)
            raise UsageError(f"say what to archive: {what}, or a rule in {where}")
        if restore:
            done = store.restore_archived(sessions, dry_run=dry_run)
        elif rebuild:
            done = store.rebuild_archive()
        else:
            done = store.archive(older=older, sessions=sessions, over=over, dry_run=dry_run)
    if as_json:
        emit(done.as_dict())
    else:
        printer().archived(done, "restored" if restore else "rebuilt" if rebuild else "archived")
    return FOUND if done.sessions else NOTHING


def _told(done: Forgotten | Retained, *, as_json: bool) -> int:
    if as_json:
        emit(record(done))
    else:
        printer().line("erased" if done.erased else "nothing was erased")
    return FOUND


def _tell_names(store: Store, what: list[str]) -> None:
    """Print the files that are named after a text; they keep their names."""
    # a command starts without it
    from commonplace.entries.forgetting import NAMED, files_named

    for path in dict.fromkeys(path for one in what for path in files_named(store, one)):
        print_message(f"{path}: {NAMED}")


def _name_similar(store: Store, what: list[str], session: str | None) -> None:
    """Name passages that a search finds, to be forgotten by their citations."""
    import contextlib

    try:
        if session is not None:
            store.session(session)
        print_message("nothing holds it")
    except QueryError as error:
        print_message(str(error))
    for name in what:
        # a short text may be the beginning of several ids
        with contextlib.suppress(QueryError):
            if found := store.find_session(name):
                print_message(f"to erase the session {name}: forget --session {found.short_id}")
    hits = store.search(" ".join(what), 3) if what else []
    for hit in hits:
        print_message(f"is it {hit.citation}? {hit.snippet:.80}")
