"""Labelled questions over transcripts, and the transcripts split into turns.

The transcripts are 25,059 lines of Claude Code in 26 sessions. Eighty questions about them are in
tests/labelled/turns-{seen,unseen}.jsonl: a question, a pattern that one to three of all 437 turns
match (its dots take line ends), and the session and line of the turn it was written from. The
patterns were fixed before any search. A seeded coin made the halves: `seen` for
development, `unseen` held out. Fifty-one more are in turns-more.jsonl: written while the formula
was tuned, each from one turn drawn by chance, with a pattern that only tells that turn from the
others. They show whether a step helps more than the forty questions it was found with.

A second writer wrote eighty more, in turns-2-{seen,unseen}.jsonl, without seeing the first sets or
any result of a search. Each session gave its share of the 374 turns with a reply of 300 characters
or more, at least one, in an order drawn by `random.Random(20261124)`; turns with nothing to ask
were skipped. `random.Random(2)` made the halves. They were committed before a search saw them, and
nothing is tuned on them.

A turn is a prompt of a person and everything said up to the next one. Why it exists: a user asks
weeks later, in other words, and wants the turn that answers and not the message that asked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "labelled"
REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
TOOL_TRAFFIC = (b'"type":"tool_result"', b'"type":"progress"')
NOBODY_SAID = (
    "<command-",
    "<local-command",
    "<bash-",
    "<task-notification",
    "[Request interrupted",
    "Caveat:",
    "This session is being continued from a previous conversation",
)


class Message(NamedTuple):
    """A text that a person or the model wrote, and the line and identity of its record."""

    session: str
    line: int
    uuid: str
    text: str


class Turn(NamedTuple):
    """A prompt and the replies up to the next prompt."""

    messages: list[Message]

    @property
    def text(self) -> str:
        return "\n".join(message.text for message in self.messages)


class Question(NamedTuple):
    """A question, the pattern of its answer, and where the answer was when it was written."""

    question: str
    pattern: str
    session: str
    line: int
    kind: str

    def answered_by(self, text: str) -> bool:
        return re.search(self.pattern, text, re.DOTALL) is not None


def questions(name: str) -> list[Question]:
    """Return the questions of a file: `seen`, `unseen`, `more`, `2-seen` or `2-unseen`."""
    lines = (FOLDER / f"turns-{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [Question(**json.loads(line)) for line in lines]


def read_turns(lines: Iterable[bytes]) -> list[Turn]:
    """Return the turns of all sessions, by the line of their prompts, from raw Claude Code lines.

    Tool calls and results, `isMeta` records, subagents, reminders, tags of slash commands,
    interruptions and continuation summaries were said by nobody.
    """
    turns: list[Turn] = []
    latest: dict[str, Turn] = {}
    for number, line in enumerate(lines, 1):
        if any(mark in line for mark in TOOL_TRAFFIC):
            continue  # most bytes; inside a text the quotes would be escaped
        record = json.loads(line)
        text = said(record)
        if not text:
            continue
        session = record["sessionId"]
        message = Message(session, number, record["uuid"], text)
        if record["type"] == "user":
            latest[session] = Turn([message])
            turns.append(latest[session])
        elif session in latest:
            latest[session].messages.append(message)
    return turns


def said(record: dict[str, Any]) -> str:
    """Return what a person or the model wrote in a record, or an empty text."""
    marks = ("isMeta", "isSidechain", "isCompactSummary")
    talks = record.get("type") in {"user", "assistant"} and "sessionId" in record
    if not talks or any(record.get(mark) for mark in marks):
        return ""
    content = record["message"]["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if any(block["type"] == "tool_result" for block in blocks):
        return ""
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    text = REMINDER.sub("", "\n".join(texts)).strip()
    return "" if record["type"] == "user" and text.startswith(NOBODY_SAID) else text
