"""Summaries of turns: notes of `detail/` that stand for lines of a log.

The log stays as it is. The comment of a note says which lines it stands for (`lines: [1, 40]`),
and what it says ends with citations of them.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Sequence

from commonplace._core import Message
from commonplace.citation import cite
from commonplace.entries.summaries import INSTRUCTION, first_sentence, summarise
from commonplace.errors import CompactionFailed, Conflict
from commonplace.memories.overview_and_detail.detail import parse_detail, render_detail
from commonplace.protocols import ChatModel
from commonplace.store import Store

# What of a turn is handed to a model that summarises, in characters.
_BATCH_CHARACTERS = 4000
_CITED = re.compile(r"[ \t]*\(?messages\.jsonl#L([0-9]+)\)?")


class TurnSummaries:
    """The summaries of turns in the detail notes of a branch.

    Args:
        store: Where the notes are.
        folder: Returns the folder of the notes, that of the active branch.
        now: Returns the time as text, as it is written into a note.
    """

    def __init__(self, store: Store, folder: Callable[[], str], now: Callable[[], str]) -> None:
        self._store = store
        self._folder = folder
        self._now = now
        self._known: dict[tuple[str, int, float], int] = {}

    def last_line(self, end: int) -> int:
        """Return the last line up to `end` that a summary stands for; 0 when there is none."""
        known = {}
        for entry in self._store.list(self._folder()):
            if entry.path.rpartition("/")[2].partition("-summary")[1]:
                seen = (entry.path, entry.size, entry.modified)
                known[seen] = self._known[seen] if seen in self._known else self._read(entry.path)
        self._known = known
        # a person may write any number there
        return max((last for last in known.values() if last <= end), default=0)

    def add(self, turns: Sequence[list[Message]], model: ChatModel | None, limit: int) -> str:
        """Write a summary of turns and return the name of its note.

        Args:
            turns: At least one, of at least one message each, in the order of the log.
            model: Asked for the summary; made by rules without one.
            limit: Longest summary, in characters.

        Raises:
            CompactionFailed: There is no summary worth having.
        """
        first, last = turns[0][0].line, turns[-1][-1].line
        text = _summary(turns, model, limit)
        # a place that a model made up is no citation
        text = _CITED.sub(lambda cited: cited[0] if first <= int(cited[1]) <= last else "", text)
        # a log may hold what was written into it by hand, or kept
        text, counts = self._store.redact(text)
        date = self._now()[:10]
        content = f"# Summary of {date}\n\n{text}\n\nMade of {_cite(first)} to {_cite(last)}.\n"
        folder = self._folder()
        while True:
            taken = {entry.path.rpartition("/")[2] for entry in self._store.list(folder)}
            number, name = 1, f"{date}-summary.md"
            while name in taken:
                number += 1
                name = f"{date}-summary-{number}.md"
            note = render_detail(name, content, self._now(), ["summary"], lines=[first, last])
            # another process that compacts may take the name first
            with contextlib.suppress(Conflict):
                self._store.write(f"{folder}/{name}", note, expected_version="absent")
                if counts:
                    self._store.log_redactions(f"{folder}/{name}", counts)
                return f"detail/{name}"

    def _read(self, path: str) -> int:
        """Return the last line that a summary stands for, 0 if it does not say."""
        match parse_detail(path.rpartition("/")[2], self._store.read(path)).meta.get("lines"):
            case [int(), int(last)]:
                return last
        return 0


def _summary(turns: Sequence[list[Message]], model: ChatModel | None, limit: int) -> str:
    if model is None:
        texts = [f"- Summary: {_outline(turn)}" for turn in turns]
    else:
        texts = [_turn_text(turn) for turn in turns]
    instruction = f"{INSTRUCTION} End each item with where it stands: (messages.jsonl#L12)."
    try:
        return summarise(texts, model=model, instruction=instruction, limit=limit)
    except CompactionFailed:
        # turns of which nothing can be said still leave the context, and are cited
        if model is not None or any(message.text for turn in turns for message in turn):
            raise
        return "- nothing was said, only tools were at work"


def _cite(line: int) -> str:
    return cite("messages.jsonl", line)


def _outline(turn: Sequence[Message]) -> str:
    """Return one line for a turn: where it stands, what was asked, what was said at last."""
    with_text = [message for message in turn if message.text]
    asked = first_sentence(with_text[0].text, 90) if with_text else "only tools were at work"
    answers = [message.text for message in with_text[1:] if message.role == "assistant"]
    answer = f" → {first_sentence(answers[-1], 70)}" if answers else ""
    return f"{asked}{answer} ({_cite(turn[0].line)})"


def _turn_text(turn: Sequence[Message]) -> str:
    """Return what a model reads of a turn."""
    with_text = [message for message in turn if message.text]
    each = _BATCH_CHARACTERS // max(len(with_text), 1)
    lines = (
        f"{message.role} ({_cite(message.line)}): {message.text[:each]}" for message in with_text
    )
    return "\n".join(lines)
