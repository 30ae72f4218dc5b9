"""Memory for long-running agents: plain Markdown and messages.jsonl, searched by a Rust core."""

from commonplace._core import (
    Entry,
    Grep,
    Hit,
    Hits,
    Match,
    Message,
    Section,
    Status,
    Verified,
    Weights,
    Written,
    __version__,
)
from commonplace.errors import (
    Busy,
    CommonplaceError,
    Conflict,
    FormatError,
    InDoubt,
    NotFound,
    PatchFailed,
    QueryError,
    Refused,
    StorageError,
)
from commonplace.store import Store, find_root, open  # noqa: A004
from commonplace.transcript import Transcript

__all__ = [
    "Busy",
    "CommonplaceError",
    "Conflict",
    "Entry",
    "FormatError",
    "Grep",
    "Hit",
    "Hits",
    "InDoubt",
    "Match",
    "Message",
    "NotFound",
    "PatchFailed",
    "QueryError",
    "Refused",
    "Section",
    "Status",
    "StorageError",
    "Store",
    "Transcript",
    "Verified",
    "Weights",
    "Written",
    "__version__",
    "find_root",
    "open",
]
