"""Requests of the HTTP API, one type a call, of which the OpenAPI description is made."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

Path = Annotated[
    str,
    Meta(min_length=1, max_length=1000, description="A file, relative to the root: `facts/a.md`."),
]
Version = Annotated[
    str | None,
    Meta(description="The version that you read (`absent`: must not exist); else a conflict."),
]
Text = Annotated[str, Meta(description="Text of the file.")]
Prefixes = Annotated[list[str], Meta(max_length=100, description="Only files at or below these.")]
QueryText = Annotated[str, Meta(min_length=1, max_length=10_000, description="A query or pattern.")]
Page = Annotated[int, Meta(ge=1, le=1000, description="Most that one answer has.")]
Around = Annotated[int, Meta(ge=0, le=20, description="Lines that are shown beside a match.")]


class Request(Struct, forbid_unknown_fields=True, frozen=True):
    """What all requests have in common: an unknown field is an error."""


class PathRequest(Request, frozen=True):
    """What requests about one file have in common."""

    path: Path


class Filtered(Request, frozen=True):
    """Fields of a filter; times are ISO 8601 or such as `yesterday` and `3d`."""

    prefix: Prefixes = []
    source: Literal["note", "message"] | None = None
    since: str | None = None
    until: str | None = None
    role: str | None = None
    session: str | None = None
    tools: bool | None = None

    def fields(self) -> dict[str, Any]:
        """Return the fields that are given, as `Store.search` takes them."""
        names = ("prefix", "source", "since", "until", "role", "session", "tools", "category")
        found = {name: getattr(self, name, None) for name in names}
        return {name: value for name, value in found.items() if value not in (None, [])}


class SearchRequest(Filtered, frozen=True, kw_only=True):
    """Search sections and turns."""

    query: QueryText
    limit: Annotated[int, Meta(ge=1, le=100)] = 10
    unit: Literal["turn", "message"] = "turn"
    category: str | None = None
    meaning: Annotated[
        bool,
        Meta(description="Find by vectors too: messages and sections in other words."),
    ] = False
    fresh: Annotated[
        list[str],
        Meta(max_length=64, description="Freshness tokens of writes that must be seen."),
    ] = []


class GrepRequest(Filtered, frozen=True, kw_only=True):
    """Find a pattern in the files themselves."""

    pattern: QueryText
    fixed: bool = False
    ignore_case: bool | None = None
    before: Around = 0
    after: Around = 0
    limit: Page = 100


class ListRequest(Request, frozen=True):
    """List files."""

    prefix: str = ""
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 1000
    after: Annotated[str, Meta(description="The last path of the page before.")] = ""


class ReadRequest(PathRequest, frozen=True):
    """Read a file, or what it was in an earlier version."""

    version: str | None = None


class ChangeRequest(PathRequest, frozen=True, kw_only=True):
    """What changes of a file have in common."""

    expected_version: Version = None


class WriteRequest(ChangeRequest, frozen=True):
    """Create a note or replace its text."""

    content: Text


class AppendRequest(ChangeRequest, frozen=True):
    """Add text to the end of a note; secrets in it are redacted."""

    content: Text


class Edit(Request, frozen=True):
    """One replacement; `old` must be found exactly once."""

    old: Annotated[str, Meta(min_length=1)]
    new: str


class PatchRequest(ChangeRequest, frozen=True):
    """Replace texts in a note, all or none."""

    edits: Annotated[list[Edit], Meta(min_length=1, max_length=1000)]


class DeleteRequest(ChangeRequest, frozen=True):
    """Take a file out of the memory; its text stays in the history."""


class MoveRequest(ChangeRequest, frozen=True):
    """Rename a file."""

    target: Path


class HistoryRequest(PathRequest, frozen=True):
    """List earlier versions of a file."""


class LogRequest(Request, frozen=True):
    """Add messages to a transcript, which only grows; secrets in them are redacted."""

    path: Annotated[Path, Meta(description="Its folder: `sessions/s1`.")]
    messages: Annotated[
        list[dict[str, Any]],
        Meta(min_length=1, max_length=1000, description="Each has `role` and `content`, at least."),
    ]


class MessagesRequest(PathRequest, frozen=True):
    """Read messages of a transcript."""

    start: Annotated[int, Meta(ge=1, description="First line.")] = 1
    limit: Page = 100


class SessionsRequest(Request, frozen=True):
    """List sessions, newest first."""

    project: str | None = None
    since: str | None = None
    until: str | None = None
    limit: Page = 100


class ForgetRequest(Request, frozen=True):
    """Erase a text or cited lines for good; without `token`, show what would be erased."""

    what: Annotated[list[str], Meta(min_length=1, max_length=100)]
    token: str | None = None


class StatusRequest(Request, frozen=True):
    """Count files, and say what waits to be indexed."""


class ToolRequest(Request, frozen=True):
    """Call a tool, as a model does."""

    name: str
    arguments: dict[str, Any] = {}
