"""Sessions of a store as an export of ChatGPT: conversations with their messages in a tree.

The form is that of `conversations.json`, as the importer reads it (`formats/chatgpt.rs`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.citation import located
from commonplace.doors.transcript_entries import parsed
from commonplace.errors import NotFound, Refused

if TYPE_CHECKING:
    from commonplace._core import Session
    from commonplace.store import Store

_Json = dict[str, Any]


def export_chats(store: Store, file: Path, prefix: str = "") -> int:
    """Write sessions to a new file and return how many.

    A session that was imported from ChatGPT comes back equal. Of another the texts, roles, names,
    times and ids do; what went into and came out of tools is put in messages of its own.

    Args:
        store: Whose sessions.
        file: That is not there yet.
        prefix: Only sessions at or below it.

    Raises:
        Refused: The file is there.
        FormatError: A line of a transcript is no JSON.
        OSError: The system refused.
    """
    if file.exists():
        raise Refused(f"{file} is there; name a new file")
    above = prefix.strip("/")
    found = [
        _conversation(session, [*_entries(store, session.path)])
        for session in reversed(store.sessions())
        if not above or f"{session.path}/".startswith(f"{above}/")
    ]
    file.write_bytes(json.dumps(found, ensure_ascii=False, indent=1).encode())
    return len(found)


def _entries(store: Store, path: str) -> Iterator[_Json]:
    """Yield the messages of a transcript, those that lie in another one as well."""
    for entry in parsed(store.read(path), path):
        if isinstance(entry, dict) and entry.get("type") == "copy":
            where, first, last = located(str(entry.get("of")))
            try:
                lines = store.read(where).split("\n")[(first or 1) - 1 : last]
            except NotFound:
                # the copy outlives what it was copied from
                continue
            for copied in parsed("\n".join(lines), where):
                yield copied | {"session": None}
        elif isinstance(entry, dict) and isinstance(entry.get("role"), str):
            yield entry


def _conversation(session: Session, entries: list[_Json]) -> _Json:
    """Return a conversation; each of its nodes hangs on the one that it answers."""
    nodes: dict[str, _Json] = {}
    is_tree = session.host == "chatgpt"
    last: str | None = None

    def add(own: str, parent: str | None, message: _Json | None) -> None:
        nodes[own] = {"id": own, "message": message, "parent": parent, "children": []}
        if parent in nodes and parent is not None:
            nodes[parent]["children"].append(own)

    for number, entry in enumerate(entries):
        for part, message in enumerate(_messages(entry)):
            parent = entry.get("parent") if is_tree and not part else last
            if isinstance(parent, str) and parent not in nodes:
                # one that held nothing, such as the root
                add(parent, last, None)
            own = str(message.get("id") or f"node-{number}-{part}")
            while own in nodes:
                own += "+"
            add(own, parent if isinstance(parent, str) else last, message)
            last = own
    created = {"create_time": session.started} if session.started else {}
    return {
        "title": session.title,
        **created,
        "default_model_slug": session.model,
        "conversation_id": session.id,
        "id": session.id,
        "current_node": last,
        "mapping": nodes,
    }


def _messages(entry: _Json) -> Iterator[_Json]:
    """Yield an entry as messages, each of one type of content."""
    for part, blocks in enumerate(_runs(entry.get("content"))):
        content, recipient = _content(blocks)
        author = {"role": entry["role"]} | ({"name": entry["name"]} if "name" in entry else {})
        message: _Json = {"author": author, "content": content, "recipient": recipient}
        if isinstance(own := entry.get("id"), str):
            message["id"] = own if not part else f"{own}+{part}"
        if (time := _seconds(entry.get("timestamp"))) is not None:
            message["create_time"] = time
        hidden = {"is_visually_hidden_from_conversation": True} if entry.get("isMeta") else {}
        yield message | {"metadata": hidden}


def _runs(content: Any) -> list[list[_Json]]:
    """Return blocks of content in runs of one type; only the last of a run has other than text."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    runs: list[list[_Json]] = []
    for block in blocks:
        if not isinstance(block, dict):
            continue
        run = runs[-1] if runs else None
        if run and run[0].get("type") == block.get("type") and {*run[-1]} == {"type", "text"}:
            run.append(block)
        else:
            runs.append([block])
    return runs


def _content(blocks: list[_Json]) -> tuple[_Json, str]:
    """Return blocks of one type as content of a message, and to whom it went."""
    kind = str(blocks[0].get("type", "text"))
    texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    # what is called so was text that went to a tool
    is_call = bool(texts) and kind in {"tool_use", "multimodal_text"}
    content: _Json = {"content_type": "text" if is_call and kind == "tool_use" else kind}
    if texts:
        content["parts"] = texts
    rest = {name: value for name, value in blocks[-1].items() if name not in {"type", "text"}}
    if {*rest} == {"content"}:
        content["content"] = rest["content"]
    elif rest and not (texts and kind == "text"):
        content["content"] = json.dumps(rest, ensure_ascii=False)
    return content, "tool" if is_call else "all"


def _seconds(time: Any) -> float | None:
    """Return a time of a transcript as ChatGPT writes it."""
    if isinstance(time, str):
        try:
            return datetime.fromisoformat(time).timestamp()
        except ValueError:
            return None
    return time if isinstance(time, int | float) else None
