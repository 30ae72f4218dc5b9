"""Documents of files as the engine stores them: a record to rank again, and searched fields."""

from __future__ import annotations

from typing import Any

import orjson

from commonplace._core import CollectionStats, EngineDocument, engine_documents
from commonplace.service.engine_query import LONGEST_NAME, feature

SMALLEST = 1e-30
"""Below it an engine takes no feature."""
Json = dict[str, Any]


def documents_of(path: str, data: bytes) -> list[list[EngineDocument]]:
    """Return the documents of a file: those of text, and those of tools.

    Args:
        path: Relative to the root.
        data: What the file says.
    """
    tools = engine_documents(path, data, tools=True) if path.endswith(".jsonl") else []
    return [engine_documents(path, data), tools]


def source_of(document: EngineDocument, stats: CollectionStats) -> Json:
    """Return the fields of a document.

    Args:
        document: A section or a message.
        stats: Of the tenant, for the average lengths.
    """
    parts = document.path.split("/")
    place, turn = document.position
    return {
        "record": document.to_json(),
        "start": document.start,
        "place": place,
        "turn": turn,
        "source": document.source,
        "folders": ["/".join(parts[:end]) for end in range(1, len(parts))],
        "time": document.timestamp_ms,
        "role": document.role or None,
        "session": document.session or None,
        "category": document.category or None,
        "lengths": document.lengths,
        "names": [name for name in document.names() if len(name.encode()) <= LONGEST_NAME],
        "features": {
            feature(name): value
            for name, value in document.impacts(stats)
            if value > SMALLEST and len(name.encode()) <= LONGEST_NAME
        },
    }


def read_record(source: Json) -> EngineDocument:
    """Return the document of an answer of the engine.

    Raises:
        FormatError: It was written by another version.
    """
    return EngineDocument.from_json(source["record"])


def bytes_of(record: str) -> bytes:
    """Return what a file said where a document was made."""
    found = orjson.loads(record)["bytes"]
    return found.encode() if isinstance(found, str) else bytes(found)


def stats_record(stats: CollectionStats) -> Json:
    """Return statistics as JSON."""
    return {
        "documents": stats.documents,
        "docs_with_field": stats.docs_with_field,
        "lengths": stats.lengths,
    }


def stats_from(record: Json) -> CollectionStats:
    """Return statistics from what `stats_record` has made."""
    return CollectionStats(record["documents"], record["docs_with_field"], record["lengths"])


def drift(old: CollectionStats, new: CollectionStats) -> float:
    """Return by which share the average length of a field has moved most.

    A field with few terms weighs little: each counts by its part of all terms.
    """
    if not new.documents:
        return 0.0
    if not old.documents:
        return 1.0
    total = sum(new.lengths.values()) or 1
    moved = 0.0
    for name, length in new.lengths.items():
        before = old.lengths.get(name, 0) / max(old.docs_with_field.get(name, 0), 1)
        after = length / max(new.docs_with_field.get(name, 0), 1)
        if length / total >= 0.02:
            moved = max(moved, abs(after - before) / max(after, 1.0))
    return moved
