"""Compaction of a layer: the newest entries stay, older ones are archived, with a summary."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from commonplace.entries.summaries import summarise
from commonplace.memories.four_layers.keyword_scoring import summary_text
from commonplace.memories.four_layers.notes import LayerNotes
from commonplace.memories.four_layers.types import Layer, MemoryEntry
from commonplace.protocols import ChatModel

MakeSummary = Callable[[Sequence[MemoryEntry]], MemoryEntry]
"""Returns the entry that stands for others; see `summary_of`."""


def summary_of(older: Sequence[MemoryEntry], model: ChatModel | None) -> MemoryEntry:
    """Return the entry that stands for others; it is as old as the newest of them."""
    text = summary_text(older)
    if model is not None:
        first, _, _ = text.partition("\n")
        text = f"{first}\n{summarise([entry.content for entry in older], model=model)}"
    return MemoryEntry(
        id=str(uuid.uuid4()),
        timestamp=max(entry.timestamp for entry in older),
        content=text,
        metadata={"entries": len(older)},
    )


def compact_working(
    entries: list[MemoryEntry], keep: int, summary: MakeSummary | None
) -> dict[str, Any]:
    """Take the older entries out of working memory, with a summary in their place if wanted.

    Returns:
        What `FourLayers.compact` answers, and so does `compact_notes`.
    """
    older = entries[: max(0, len(entries) - keep)]
    if not older or (summary and _is_summary(older)):
        return compacted(0)
    made = [summary(older)] if summary else []
    # not those that took their place while a model was asked
    summarised_ids = set(map(id, older))
    entries[: sum(id(entry) in summarised_ids for entry in entries)] = made
    return compacted(len(older), summary=made[0].id if made else None)


def compact_notes(
    notes: LayerNotes, layer: Layer, keep: int, summary: MakeSummary | None
) -> dict[str, Any]:
    """Archive the older entries of a layer of notes; rules get no summary."""
    held = notes.entries(layer)
    kept = held[max(0, len(held) - keep) :]
    leaving = [one for one in held[: len(held) - len(kept)] if one.is_own]
    older = [one.entry for one in leaving]
    if layer != "episodic":
        summary = None
    if not leaving or (summary and _is_summary(older)):
        return compacted(0)
    if not summary:
        archived = notes.archive_entries(layer, leaving, kept[0].path if kept else None)
        return compacted(len(leaving), archived)
    entry = summary(older)

    def cite(ranges: list[str]) -> MemoryEntry:
        return replace(entry, metadata={**(entry.metadata or {}), "archived": ranges})

    _, archived = notes.archive_with_summary(leaving, cite)
    return compacted(len(leaving), archived, entry.id)


def compacted(
    count: int, archived: Sequence[str] = (), summary: str | None = None
) -> dict[str, Any]:
    """Return the answer of a compaction: how many entries left, and where they lie now."""
    return {"success": True, "compacted": count, "archived": list(archived), "summary": summary}


def _is_summary(older: Sequence[MemoryEntry]) -> bool:
    """Return whether there is nothing but an earlier summary: a summary of it only says less."""
    (first, *rest) = older
    is_made = first.content.startswith("[Summary of ") and "entries" in (first.metadata or {})
    return is_made and not rest
