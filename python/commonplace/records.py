"""Conversion of results to plain dictionaries, for `--json` and for tool receipts."""

from __future__ import annotations

from typing import Any

from commonplace._core import (
    Entry,
    Forgotten,
    Hit,
    Imported,
    ImportedSource,
    ImportReport,
    Match,
    Message,
    Passage,
    Retained,
    Revision,
    Section,
    Session,
    SessionHeader,
    Status,
    Verified,
    Written,
)

Result = (
    Entry
    | Forgotten
    | Hit
    | Imported
    | ImportedSource
    | ImportReport
    | Match
    | Message
    | Passage
    | Retained
    | Revision
    | Section
    | Session
    | SessionHeader
    | Status
    | Verified
    | Written
)

FIELDS: dict[type[Any], tuple[str, ...]] = {
    Entry: ("path", "size", "modified", "kind", "summary"),
    Forgotten: ("passages", "files", "revisions", "left", "token", "erased"),
    Hit: (
        "source",
        "path",
        "line",
        "first_line",
        "end_line",
        "start",
        "end",
        "heading",
        "score",
        "snippet",
        "highlights",
        "citation",
        "text",
        "role",
        "name",
        "time",
        "session",
        "category",
        "is_turn",
        "prompt",
        "title",
        "project",
        "archived",
        "until",
        "ended",
    ),
    Imported: (
        "path",
        "format",
        "messages",
        "skipped",
        "bad_lines",
        "bad_line_count",
        "trailing_garbage",
        "trailing_garbage_count",
        "sessions",
        "redacted",
    ),
    ImportedSource: (
        "source",
        "outcome",
        "why",
        "paths",
        "messages",
        "copies",
        "cut_off",
        "format",
        "left_out",
        "bad_lines",
        "bad_line_count",
        "trailing_garbage",
        "trailing_garbage_count",
        "bad_rows",
        "bad_row_count",
        "sessions",
        "redacted",
    ),
    ImportReport: (
        "places",
        "new",
        "grown",
        "unchanged",
        "skipped",
        "messages",
        "copies",
        "redacted",
        "removed",
        "sources",
    ),
    Match: (
        "path",
        "line",
        "offset",
        "role",
        "name",
        "time",
        "session",
        "snippet",
        "highlights",
        "citation",
        "before",
        "after",
    ),
    Message: (
        "path",
        "line",
        "offset",
        "role",
        "name",
        "time",
        "timestamp",
        "session",
        "id",
        "text",
        "tools",
    ),
    Revision: ("version", "time", "size", "address"),
    Section: (
        "path",
        "heading",
        "level",
        "line",
        "end_line",
        "start",
        "body",
        "end",
        "summary",
        "category",
        "keywords",
    ),
    Session: (
        "path",
        "id",
        "short_id",
        "host",
        "project",
        "cwd",
        "git_branch",
        "model",
        "title",
        "started",
        "ended",
        "modified",
        "messages",
        "tool_messages",
        "copies",
        "size",
        "parent",
    ),
    SessionHeader: (
        "host",
        "id",
        "parent",
        "cwd",
        "git_branch",
        "model",
        "title",
        "started",
    ),
    Status: (
        "root",
        "notes",
        "transcripts",
        "sections",
        "messages",
        "tool_messages",
        "copies",
        "other_records",
        "terms",
        "text_bytes",
        "index_bytes",
        "watching",
        "snapshot",
        "skipped",
        "over_limit",
        "redactions",
        "hidden",
        "archived",
        "archived_messages",
        "bad_line_count",
        "bad_lines",
        "recovered",
    ),
    Passage: ("path", "first", "last", "text", "citation"),
    Retained: ("sessions", "files", "revisions", "bytes", "erased"),
    Verified: ("files", "differences", "unread", "notes"),
    Written: ("path", "version", "previous", "history", "applied"),
}


def record(result: Result) -> dict[str, Any]:
    """Return a result as a dict of its public fields, in the order they are documented.

    Args:
        result: A hit, match, message, section, entry or report of the native module.

    >>> import commonplace, tempfile
    >>> store = commonplace.open(tempfile.mkdtemp())
    >>> record(store.write("facts/user.md", "# User"))["path"]
    'facts/user.md'
    """
    told = {name: getattr(result, name) for name in FIELDS[type(result)]}
    if isinstance(result, Imported | ImportedSource):
        told["sessions"] = [record(session) for session in result.sessions]
    if isinstance(result, Forgotten):
        told["passages"] = [record(passage) for passage in result.passages]
    if isinstance(result, ImportReport):
        told["sources"] = [record(source) for source in result.sources]
    return told


def receipt(written: Written) -> dict[str, Any]:
    """Return what a write answers to a model: success, path, version, where the old text lies.

    >>> import commonplace, tempfile
    >>> store = commonplace.open(tempfile.mkdtemp())
    >>> receipt(store.write("facts/user.md", "# User"))["success"]
    True
    """
    fields = record(written)
    # how many edits a patch made is for `memory_patch` to say
    del fields["applied"]
    return {"success": True, **fields}
