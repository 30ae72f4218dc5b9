"""Entries of the four layers, and their form in a note.

An entry has three forms: a dataclass for callers, a record (the JSON object of the design, keys in
the order they came in) and a block of a note. The block keeps everything that the record says:

    ## Agent analyzed security vulnerabilities in src/
    <!--
    META:
    - id: "entry-1"
    - timestamp: 1767225600000
    - metadata: {"agentId":"agent-001","task":"security-scan"}
    -->

    Agent analyzed security vulnerabilities in src/

The text is the content, value or action; the heading is there for people, but for a rule, where
it is the condition as long as META has none. `id` marks what this system wrote: a block without
one was written by a person or another system and is read as well (see `record_of`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any

from commonplace.entries import blocks
from commonplace.entries.blocks import Block
from commonplace.errors import InvalidArgument
from commonplace.memories.four_layers.types import Layer, MemoryEntry
from commonplace.timestamps import seconds

Record = dict[str, Any]
Given = tuple[Record, Mapping[str, Any]]
"""A checked record, and what META says beyond it."""


KEYS: dict[Layer, tuple[str, ...]] = {
    "episodic": ("id", "timestamp", "content", "metadata"),
    "semantic": ("key", "value", "timestamp"),
    "procedural": ("condition", "action", "timestamp"),
}
"""The keys of a record, in the order of the design."""
_TEXT: dict[Layer, str] = {"episodic": "content", "semantic": "value", "procedural": "action"}
_NEEDED: dict[Layer, tuple[str, ...]] = {
    "episodic": ("id", "timestamp", "content"),
    "semantic": ("key", "value"),
    "procedural": ("condition", "action"),
}
WHOLE = range(-(2**63), 2**64)
"""The whole numbers that META holds: 64 bits, with a sign or without."""


def checked(layer: Layer, value: Any, what: str) -> Record:
    """Return a record whose values are of the kinds that the design gives them.

    Keys that the design does not know are kept; a key whose value is None is left out.

    Args:
        layer: Whose record it is.
        value: A JSON object.
        what: How errors call it: `episodic.json entry 3`.

    Raises:
        InvalidArgument: It is not an object, a needed key is missing, or a value is of another
            kind.
    """
    if not isinstance(value, dict):
        raise InvalidArgument(f"{what} is not an object with {', '.join(KEYS[layer])}")
    record: Record = {
        str(key): plain(item, f"{what}, {key},")
        for key, item in value.items()
        if item is not None or key not in KEYS[layer]
    }
    for key in _NEEDED[layer]:
        if key not in record:
            raise InvalidArgument(f"{what} has no {key}; it needs {', '.join(_NEEDED[layer])}")
    for key in KEYS[layer]:
        if key not in record:
            continue
        kind = {"timestamp": (int, float), "metadata": (dict,)}.get(key, (str,))
        if not isinstance(record[key], kind) or isinstance(record[key], bool):
            wanted = {"timestamp": "a number", "metadata": "an object"}.get(key, "text")
            raise InvalidArgument(f"{what}: {key} is {record[key]!r:.60}, not {wanted}")
    return record


def plain(value: Any, what: str) -> Any:
    """Return a value as JSON would give it back: tuples are lists, the rest is unchanged.

    Args:
        value: What a caller gave.
        what: How errors call it.

    Raises:
        InvalidArgument: It holds what JSON has not, or a number that a double cannot hold.

    >>> plain({"a": (1, 2.5)}, "metadata")
    {'a': [1, 2.5]}
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        if value in WHOLE:
            return int(value)
        if abs(value) > 10**300 or float(value) != value:
            raise InvalidArgument(f"{what} holds a number beyond 64 bits: give it as text")
        return float(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, (list, tuple)):
        return [plain(item, what) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: plain(item, what) for key, item in value.items()}
    raise InvalidArgument(f"{what} holds {value!r:.60}, which JSON cannot hold")


def render(layer: Layer, record: Record, beside: Mapping[str, Any]) -> str:
    """Return a checked record as a block of Markdown.

    Args:
        layer: Whose record it is.
        record: See `checked()`.
        beside: What META says beyond the record, such as the `id` of a rule.

    Raises:
        InvalidArgument: A value cannot be written as JSON.
        EncodingError: A text is not UTF-8.
    """
    meta: dict[str, Any] = {}
    if layer == "episodic":
        title = blocks.title_for(record["content"])
    elif layer == "semantic":
        title, meta["id"] = _heading(record["key"]), record["key"]
    else:
        title = _heading(record["condition"] or record["action"])
        meta["id"] = beside["id"]
        if title != record["condition"]:
            meta["condition"] = record["condition"]
    for key in ("id", "timestamp", "metadata"):
        if key in record and key in KEYS[layer]:
            meta[key] = record[key]
    meta |= beside
    known = [key for key in KEYS[layer] if key in record]
    if other := {key: value for key, value in record.items() if key not in known}:
        meta["other"] = other
    if list(record)[: len(known)] != known:
        meta["order"] = list(record)
    return blocks.render(title, record[_TEXT[layer]], meta)


def record_of(layer: Layer, block: Block, path: str) -> Record:
    """Return the record that a block of the note `path` holds.

    Of an episode without `id`, the content is heading and text, the id a hash of them, and the
    timestamp that of a `- Date:` line or else the first of the month in the name of the file. A
    fact without `id` has its heading as key, a rule its heading as condition.
    """
    meta = block.meta
    timestamp = _milliseconds(meta.get("timestamp"))
    if layer == "episodic":
        content, id_ = block.text, meta.get("id")
        if id_ is None:
            content = f"{block.title}\n\n{block.text}".rstrip("\n")
            id_ = hashlib.sha256(content.encode()).hexdigest()[:32]
        if timestamp is None:
            timestamp = _dated(block, path)
        record: Record = {"id": _text(id_), "timestamp": timestamp, "content": content}
        if "metadata" in meta:
            record["metadata"] = _object(meta["metadata"], "metadata")
    elif layer == "semantic":
        record = {"key": key_of(block), "value": block.text}
    else:
        record = {"condition": _text(meta.get("condition", block.title)), "action": block.text}
    if timestamp is not None:
        record.setdefault("timestamp", timestamp)
    if "other" in meta:
        record |= _object(meta["other"], "other")
    order = meta.get("order")
    if isinstance(order, list):
        first = {key: record[key] for key in order if isinstance(key, str) and key in record}
        record = first | record
    return record


def entry_of(layer: Layer, record: Record, meta: Mapping[str, Any]) -> MemoryEntry:
    """Return a record as the entry that `append` took: the inverse of it for facts and rules."""
    if layer == "episodic":
        return MemoryEntry(**{key: record[key] for key in KEYS["episodic"] if key in record})
    beside = _object(meta["metadata"], "metadata") if "metadata" in meta else {}
    timestamp = record.get("timestamp", 0)
    if layer == "semantic":
        key = record["key"]
        return MemoryEntry(
            id=key,
            timestamp=timestamp,
            content=record["value"],
            metadata={"key": key, **beside},
        )
    condition, action = record["condition"], record["action"]
    # a rule that a person wrote has no id: it is named by what it says
    id_ = meta.get("id") or hashlib.sha256(f"{condition}\0{action}".encode()).hexdigest()[:32]
    return MemoryEntry(
        id=_text(id_),
        timestamp=timestamp,
        content=action,
        metadata={"condition": condition, **beside},
    )


def of_layer(layer: Layer, record: Record) -> Given:
    """Return the record of an entry as the layer keeps it: the inverse of `entry_of`.

    Args:
        layer: Where it goes.
        record: Of an episode.

    Raises:
        InvalidArgument: The key or the condition in its metadata is no text.
    """
    if layer == "episodic":
        return record, {}
    more = dict(record.get("metadata", {}))
    beside: dict[str, Any] = {}
    if layer == "semantic":
        key = more.pop("key", "") or record["id"]
        kept = {"key": key, "value": record["content"], "timestamp": record["timestamp"]}
    else:
        beside["id"] = record["id"]
        kept = {"condition": more.pop("condition", ""), "action": record["content"]}
        kept["timestamp"] = record["timestamp"]
    if more:
        beside["metadata"] = more
    return checked(layer, kept, "the entry"), beside


def key_of(block: Block) -> str:
    """Return the key of a fact: that in META, else its heading."""
    return _text(block.meta.get("id", block.title))


def _heading(text: str) -> str:
    """Return a text itself when it can be a heading as it is, else one made of it."""
    plain_line = text == " ".join(text.split()) and text.isprintable() and len(text) <= 100
    if plain_line and text and not text.startswith("#") and not text.endswith("#"):
        return text
    return blocks.title_for(text)


def _milliseconds(value: Any) -> float | None:
    """Return a timestamp from META, where a person may have put a date."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        try:
            moment = seconds(value)
        except ValueError:
            return None
        return None if moment is None else int(moment * 1000)
    return None


def _dated(block: Block, path: str) -> float:
    """Return when an episode was that a person wrote."""
    for line in block.text.splitlines():
        name, _, value = line.lstrip("-* ").partition(":")
        if name.casefold() in {"date", "日期"} and (found := _milliseconds(value.strip())):
            return found
    return _milliseconds(f"{path.rpartition('/')[2][:7]}-01") or 0


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _object(value: Any, name: str) -> dict[str, Any]:
    """Return an object from META; what a person broke is kept as text under `name`."""
    return value if isinstance(value, dict) else {name: value}
