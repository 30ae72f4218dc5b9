"""Last turns of a transcript, read backwards, and their conversion to chat API messages.

Reading begins at the end, so that it costs what the last turns hold and not what the file does.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from commonplace._core import Message
from commonplace.transcript import Transcript

# How many lines are read at first; twice as many each time that was not enough.
_WINDOW = 64


def begins(message: Message) -> bool:
    """Return whether a message begins a turn: one in which a person says something.

    What carries the result of a tool has the role `user` in some logs, and says nothing.
    """
    return message.role == "user" and bool(message.text)


def turns(messages: Iterable[Message]) -> Iterator[list[Message]]:
    """Yield messages by turns; what comes before the first that begins one is a turn, too."""
    turn: list[Message] = []
    for message in messages:
        if turn and begins(message):
            yield turn
            turn = []
        turn.append(message)
    if turn:
        yield turn


def last_line(transcript: Transcript, known: int = 0) -> int:
    """Return the line of the last message, 0 when there is none.

    Args:
        transcript: With an open index (`Store.revision()` opens it) each step looks up one line;
            without it each reads the file.
        known: A line that is thought to be there, to begin with.
    """
    found = transcript.messages(max(known, 1), 1)
    if not found:
        # somebody made the file shorter
        return last_line(transcript) if known > 1 else 0
    step = 1
    while found:
        low = found[0].line
        found = transcript.messages(low + step, 1)
        step *= 2
    # a message is at `low`, and none at `high` or behind
    high = low + step // 2
    while low + 1 < high:
        middle = (low + high) // 2
        if found := transcript.messages(middle, 1):
            low = found[0].line
        else:
            high = middle
    return low


def last_messages(transcript: Transcript, count: int, *, end: int, after: int = 0) -> list[Message]:
    """Return the last `count` messages of the lines behind `after` up to `end`, oldest first."""
    found = _back(transcript, end, after, lambda found: len(found) >= count)
    return found[-count:] if count else []


def last_turns(transcript: Transcript, count: int, *, end: int, after: int = 0) -> list[Message]:
    """Return the messages of the last `count` turns behind `after` up to `end`, oldest first."""
    found = _back(transcript, end, after, lambda found: sum(map(begins, found)) >= count)
    return [message for turn in list(turns(found))[-count:] for message in turn] if count else []


def _back(
    transcript: Transcript, end: int, after: int, enough: Callable[[list[Message]], bool]
) -> list[Message]:
    """Read backwards from the line `end`, until it is enough or `after` is reached."""
    found: list[Message] = []
    start, window = end + 1, _WINDOW
    while start > after + 1 and not enough(found):
        low = max(after + 1, start - window)
        # lines that are no messages are passed over: the limit may reach behind `start`
        batch = transcript.messages(low, start - low)
        found = [message for message in batch if message.line < start] + found
        start, window = low, 2 * window
    return found


def chat_messages(transcript: Transcript, messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return messages as a model's API takes them: role and content as written, calls, results.

    What a log says beside it (times, ids of sessions, costs) is left out. So is the result of a
    tool whose call is not among the messages, and a call that was never answered, since the
    session was broken off: no API takes one without the other.
    """
    records = transcript.records(messages)
    entries = [_entry(*pair) for pair in zip(messages, records, strict=True)]
    called: set[str] = set()
    answered: set[str] = set()
    for entry in entries:
        called.update(_ids(entry, "tool_use"))
        answered.update(called.intersection(_ids(entry, "tool_result")))
    return [kept for entry in entries if (kept := _whole(entry, answered))]


def _tool(block: object) -> tuple[str, str] | None:
    """Return whether a block is a `tool_use` or a `tool_result`, and of which call."""
    match block:
        case {"type": "tool_use" as kind, **rest}:
            return kind, str(rest.get("id"))
        case {"type": "tool_result" as kind, **rest}:
            return kind, str(rest.get("tool_use_id"))
    return None


def _ids(entry: Mapping[str, Any], wanted: str) -> list[str]:
    """Return of which calls a message holds the `tool_use` or the `tool_result`."""
    content = entry["content"] if isinstance(entry["content"], list) else []
    found = [tool[1] for tool in map(_tool, content) if tool and tool[0] == wanted]
    if wanted == "tool_use":
        found += [str(call.get("id")) for call in entry.get("tool_calls", ())]
    elif entry["role"] == "tool":
        found.append(str(entry.get("tool_call_id")))
    return found


def _whole(entry: dict[str, Any], answered: Container[str]) -> dict[str, Any] | None:
    """Return a message without calls and results that lack the other; None if it was only those."""
    if entry["role"] == "tool" and str(entry.get("tool_call_id")) not in answered:
        return None
    content, calls = entry["content"], entry.pop("tool_calls", [])
    if isinstance(content, list):
        entry["content"] = [
            block for block in content if not (tool := _tool(block)) or tool[1] in answered
        ]
    if kept := [call for call in calls if str(call.get("id")) in answered]:
        entry["tool_calls"] = kept
    is_emptied = (content or calls) and not entry["content"] and not kept
    return None if is_emptied else entry


def _entry(message: Message, record: dict[str, Any]) -> dict[str, Any]:
    """Return one record in the shape of a chat API."""
    inner = record
    for key in ("message", "payload"):
        if isinstance(record.get(key), dict):
            inner = record[key]
    if inner.get("type") == "function_call":
        function = {"name": inner.get("name"), "arguments": inner.get("arguments")}
        call = {"id": inner.get("call_id"), "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    if inner.get("type") == "function_call_output":
        return {"role": "tool", "content": message.tools, "tool_call_id": inner.get("call_id")}
    entry: dict[str, Any] = {"role": message.role or "user", "content": inner.get("content")}
    entry |= {key: inner[key] for key in ("name", "tool_call_id") if inner.get(key)}
    calls = inner.get("tool_calls")
    if calls and isinstance(calls, list):
        entry["tool_calls"] = [call for call in calls if isinstance(call, dict)]
    if entry["content"] is None and "tool_calls" not in entry:
        entry["content"] = message.text or message.tools
    return entry
