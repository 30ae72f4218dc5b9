"""Citations as addresses of the page."""

from __future__ import annotations

from commonplace.citation import located
from commonplace.errors import QueryError
from commonplace.web.addresses import file_address


def citation_address(citation: str) -> str:
    """Return where what a citation points to is shown; a path alone, or with no range, is a file.

    >>> citation_address("facts/user.md#L3-L9"), citation_address("s/messages.jsonl#L7-L8")
    ('/note/facts/user.md#L3', '/session/s/messages.jsonl?start=7#L7')
    """
    try:
        path, first, _ = located(citation)
    except QueryError:
        path, first = citation.rpartition("#")[0], None
    if first is None:
        return file_address(path)
    start = first if path.endswith(".jsonl") else None
    return f"{file_address(path, start=start)}#L{first}"
