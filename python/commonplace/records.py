"""Results as plain records, for `--json` and receipts."""

from __future__ import annotations

from typing import Any

from commonplace._core import (
    Entry,
    Hit,
    Imported,
    Match,
    Message,
    Past,
    Section,
    Status,
    Verified,
    Written,
)

Result = Entry | Hit | Imported | Match | Message | Past | Section | Status | Verified | Written

FIELDS: dict[type[Any], tuple[str, ...]] = {
    Entry: ("path", "size", "modified", "kind", "summary"),
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
    ),
    Imported: ("path", "format", "messages", "skipped", "bad_lines", "bad_line_count", "redacted"),
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
        "said",
        "tools",
    ),
    Past: ("version", "time", "size", "address"),
    Section: (
        "path",
        "heading",
        "level",
        "line",
        "end_line",
        "start",
        "end",
        "summary",
        "category",
        "keywords",
    ),
    Status: (
        "root",
        "notes",
        "transcripts",
        "sections",
        "messages",
        "terms",
        "text_bytes",
        "index_bytes",
        "watching",
        "snapshot",
        "skipped",
        "recovered",
    ),
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
    return {name: getattr(result, name) for name in FIELDS[type(result)]}


def receipt(written: Written) -> dict[str, Any]:
    """Return what a write answers to a model: success, path, version, where the old text lies.

    >>> import commonplace, tempfile
    >>> store = commonplace.open(tempfile.mkdtemp())
    >>> receipt(store.write("facts/user.md", "# User"))["success"]
    True
    """
    told = record(written)
    # how many edits a patch made is for `memory_patch` to say
    del told["applied"]
    return {"success": True, **told}
