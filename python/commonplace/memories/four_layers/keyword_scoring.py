"""Keyword scoring by substring counts and recency, and plain-list summaries of entries."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.memories.four_layers.json_files import stringify
from commonplace.memories.four_layers.types import MemoryEntry

_DAY = 24 * 3600 * 1000
# Of a summary: the longest line of an entry's content, and the most lines.
_WIDTH = 100
_LINES = 50


def by_terms(
    entries: Sequence[MemoryEntry], query: str, limit: int, now: float
) -> list[MemoryEntry]:
    """Return the entries that hold a term of the query, best first, those alike as they came.

    Of each term (split at white space, lower case) an entry gets 2 points an occurrence in its
    content and its metadata (as JSON), and 1 point if it occurs at all. The design calls the
    first an exact and the second a partial match and does not set them apart: whatever counts
    for the first counts for the second. Entries without a point are left out; the others get up to
    0.5 points, falling evenly to 0 in the 24 hours after their timestamp.

    Args:
        entries: In the order of the layer.
        query: Words.
        limit: Most entries to return.
        now: Milliseconds since 1970.
    """
    terms = query.lower().split()
    scored = []
    for entry in entries:
        text = entry.content
        if entry.metadata:
            text = f"{text} {stringify(entry.metadata)}"
        text = text.lower()
        score = float(sum(2 * text.count(term) + (term in text) for term in terms))
        if score:
            age = max(0.0, now - entry.timestamp)
            scored.append((score + 0.5 * max(0.0, 1 - age / _DAY), entry))
    # a stable sort
    scored.sort(key=lambda pair: -pair[0])
    return [entry for _, entry in scored[:limit]]


def summary_text(entries: Sequence[MemoryEntry]) -> str:
    r"""Return a summary in the format of the design, a line an entry.

    A line is the content on one line, at most 100 characters, and what of the metadata is a plain
    value. Beyond 50 lines the last one is `- ...`.

    >>> print(summary_text([
    ...     MemoryEntry(content="Agent analyzed file1.csv", metadata={"task": "analysis"}),
    ...     MemoryEntry(content="Found 3 anomalies\nin section A", metadata={"severity": "high"}),
    ... ]))
    [Summary of 2 entries]
    - Agent analyzed file1.csv [task=analysis]
    - Found 3 anomalies in section A [severity=high]
    """
    lines = [f"[Summary of {len(entries)} entries]"]
    for entry in entries[:_LINES]:
        details = [
            f"{key}={_cut(value if isinstance(value, str) else stringify(value))}"
            for key, value in (entry.metadata or {}).items()
            if not isinstance(value, (list, dict))
        ]
        lines.append(f"- {_cut(entry.content)}" + (f" [{', '.join(details)}]" if details else ""))
    if len(entries) > _LINES:
        lines.append("- ...")
    return "\n".join(lines)


def _cut(text: str) -> str:
    """Return a text on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _WIDTH else line[: _WIDTH - 3].rstrip() + "..."
