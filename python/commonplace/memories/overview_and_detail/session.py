"""Session: the context window, and the compaction of old turns.

    sessions/--<cwd>--/<session-id>/
    ├── messages.jsonl              the raw conversation, only added to
    └── working-memory/
        ├── overview.md             what is always in the context window
        ├── detail/                 summaries, notes, decisions
        ├── commits.md              what was committed, branched and merged
        └── branches/<name>/        the overview and detail of a branch

The layout is that of the overview/detail design, with branches.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from commonplace._core import Message, sections
from commonplace.arguments import at_least, checks_arguments
from commonplace.entries.blocks import parse
from commonplace.entries.compaction import compaction_lock
from commonplace.errors import InvalidArgument, NotFound
from commonplace.memories.overview_and_detail.branches import Branches
from commonplace.memories.overview_and_detail.folder import WORKING_MEMORY, session_folder
from commonplace.memories.overview_and_detail.last_turns import (
    chat_messages,
    last_line,
    last_turns,
    turns,
)
from commonplace.memories.overview_and_detail.turn_summaries import TurnSummaries
from commonplace.protocols import ChatModel
from commonplace.records import receipt
from commonplace.redaction import redacts
from commonplace.store import Store
from commonplace.tools import VersionedText, tool

OVERVIEW = """\
# Working Memory

## Current Task
<!-- What are you working on? -->

## Key Decisions
<!-- Important decisions made and why -->

## Known Context
<!-- Project structure, tech stack, key files -->

## Pending Issues
<!-- Blockers or open questions -->

## Recent Operations
<!-- Quick summary of recent actions -->
"""
"""What the overview says before anybody wrote it."""

# How many turns one summary is made of; more become several notes.
_TURNS = 50
# Behind any line that a log has
_LAST_LINE = 2**32 - 1


class Session:
    """The messages and the overview of one session.

    Args:
        store: Where it lies.
        session_id: Letters, digits, `.`, `_`, `-`.
        cwd: The folder that the session works in; the current one by default.
        enabled: Without it the context has no overview, and nothing is recalled.
        overview_limit: Longest overview, in characters: it is in every context.
        clock: Tells the time.
    """

    @checks_arguments
    def __init__(
        self,
        store: Store,
        session_id: str,
        *,
        cwd: str | os.PathLike[str] | None = None,
        enabled: bool = True,
        overview_limit: int = 8000,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        at_least(1, overview_limit=overview_limit)
        self.folder = session_folder(os.curdir if cwd is None else cwd, session_id)
        self.enabled = enabled
        self.overview_limit = overview_limit
        self.messages = store.transcript(self.folder)
        self.branches = Branches(store, f"{self.folder}/{WORKING_MEMORY}", clock)
        self._session_id = session_id
        self.store = store
        self._clock = clock
        self._last = 0
        self._context_from: int | None = None
        self._summaries = TurnSummaries(
            store, lambda: f"{self.branches.workspace()}/detail", self._now
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.store!r}, {self._session_id!r})"

    # Messages

    @checks_arguments
    def append(self, message: Mapping[str, Any]) -> int | None:
        """Add a message to the log and return its line: its citation is `messages.jsonl#L<line>`.

        None is returned when the lines before it could not be counted: it is written all the same.

        Args:
            message: `role`, `content` (text or content blocks), and anything else.
        """
        return self.messages.append(message)

    @checks_arguments
    def build_context(self, system_prompt: str, turns: int = 10) -> list[dict[str, Any]]:
        """Return what a model is given: system prompt, overview, and the last turns.

        A turn begins with what a person says and holds all that was done for it. Turns that were
        compacted are left out; they are found by recall. It costs what is returned, however long
        the log is.

        Args:
            system_prompt: The first message.
            turns: How many turns at most.

        Returns:
            Messages with `role` and `content`, and the calls and results of tools as they were
            written; no result without its call, and no call without its result.

        Raises:
            InvalidArgument: The number of turns is negative.
        """
        at_least(0, turns=turns)
        context = [{"role": "system", "content": system_prompt}]
        if self.enabled:
            overview = self.read_overview()
            if len(overview) > self.overview_limit:
                # a person may write more than the tools do
                cut = overview[: self.overview_limit].rpartition("\n")[0]
                overview = f"{cut}\n[… {len(overview) - len(cut)} more characters in overview.md]\n"
            context.append({"role": "system", "content": overview})
        end = self._end()
        recent = last_turns(self.messages, turns, after=self.compacted, end=end)
        self._context_from = recent[0].line if recent else end + 1
        return context + chat_messages(self.messages, recent)

    @property
    def in_context(self) -> list[tuple[str, int, int]]:
        """The lines of the log that the last context held, and all since, as path, first and last.

        A search leaves them out as its `exclude`. None before `build_context` was called.
        """
        if self._context_from is None:
            return []
        return [(self.messages.path, self._context_from, _LAST_LINE)]

    @property
    def compacted(self) -> int:
        """The last line of the log that a summary stands for; 0 when there is none."""
        return self._summaries.last_line(self._end())

    @checks_arguments
    def compact(
        self, keep_turns: int = 10, *, model: ChatModel | None = None, limit: int = 6000
    ) -> list[str]:
        """Summarise the turns before the last ones into notes of `detail/`, and return these.

        The log stays as it is: each summary says which lines it stands for and cites them, and
        the context leaves them out from then on. Summary and mark are one write, made after the
        cited lines were read: a run that fails or is interrupted leaves whole summaries, and the
        next one goes on behind them.

        Args:
            keep_turns: How many turns stay in the context.
            model: Asked for the summaries; made by rules without one.
            limit: Longest summary, in characters.

        Returns:
            The names of the notes, oldest first: `detail/2026-02-24-summary.md`. None when there
            are no older turns.

        Raises:
            CompactionFailed: There is no summary worth having; its turns stay in the context.
            InvalidArgument: The number of turns is negative, or the limit less than 200.
        """
        at_least(0, keep_turns=keep_turns)
        with compaction_lock(self.store):
            return self._compact(keep_turns, model, limit)

    # Overview

    @tool("reads")
    def read_overview(self) -> str:
        """Return the overview: current task, decisions, context, open issues, recent operations."""
        # before the text, so that a change in between is a conflict and not a loss
        versions = {"overview.md": self.store.version(self._overview) or "absent"}
        try:
            return VersionedText(self.store.read(self._overview), versions)
        except NotFound:
            return VersionedText(OVERVIEW, versions)

    @tool("replaces")
    @redacts("content")
    def write_overview(
        self, content: str, *, expected_version: str | None = None
    ) -> dict[str, Any]:
        """Replace the overview, which is in your context at all times: keep it short.

        Args:
            content: The whole new text; keep the headings of the old one
            expected_version: The version you read; without it whatever is there is replaced

        Raises:
            InvalidArgument: It is too long to be in every context.
        """
        self._check_overview(content)
        written = self.store.write(self._overview, content, expected_version=expected_version)
        return receipt(written)

    @tool("replaces")
    @redacts("section", "content", named_by="section")
    def patch_overview(
        self, section: str, content: str, *, expected_version: str | None = None
    ) -> dict[str, Any]:
        """Replace the text of one section of the overview; a new section comes to its end.

        Args:
            section: The heading, such as `Current Task`, in upper or lower case
            content: The new text below it; headings in it begin with `###`
            expected_version: The version you read; without it what others wrote meanwhile is kept

        Raises:
            InvalidArgument: It is no heading, the content would not stay below it, or the overview
                would be too long to be in every context.
        """
        wanted = section.strip().lstrip("#").strip()

        def change(text: str) -> str:
            text = text or OVERVIEW
            same = [b for b in parse(text) if b.title.casefold() == wanted.casefold()]
            old = min(same, key=lambda block: block.title != wanted, default=None)
            new = f"## {old.title if old else wanted}\n{content.strip(chr(10))}\n"
            if not wanted or _cuts(new) != [0, len(new.encode()) + 1]:
                raise InvalidArgument(
                    "a section has a heading of one line; its text has no heading but ### or "
                    "deeper, and leaves no fence or comment open"
                )
            if _cuts(text)[-1] != len(text.encode()) + 1:
                raise InvalidArgument(
                    "a fence or comment is left open in the overview and takes in what follows: "
                    "write_overview with it closed, then patch"
                )
            if old:
                rest = text[old.end :]
                text = text[: old.start] + new + ("\n" + rest if rest else "")
            else:
                text = f"{text.rstrip(chr(10))}\n\n{new}"
            self._check_overview(text)
            return text

        if expected_version is None:
            return receipt(self.store.update(self._overview, change))
        new = change(self.read_overview())
        written = self.store.write(self._overview, new, expected_version=expected_version)
        return receipt(written)

    @property
    def _overview(self) -> str:
        return f"{self.branches.workspace()}/overview.md"

    def _check_overview(self, text: str) -> None:
        if len(text) > self.overview_limit:
            raise InvalidArgument(
                f"the overview is in every context and may have {self.overview_limit} characters, "
                f"not {len(text)}: move what is not needed at all times into a note of detail/"
            )

    def _now(self) -> str:
        return self._clock().isoformat(timespec="seconds").replace("+00:00", "Z")

    def _end(self) -> int:
        # with the index open a line is looked up, not counted
        self.store.revision()
        try:
            self._last = last_line(self.messages, self._last)
        except NotFound:
            self._last = 0
        return self._last

    def _between(self, start: int, stop: int) -> list[Message]:
        found: list[Message] = []
        while start < stop and (batch := self.messages.messages(start, min(1000, stop - start))):
            found += [message for message in batch if message.line < stop]
            start = batch[-1].line + 1
        return found

    def _compact(self, keep_turns: int, model: ChatModel | None, limit: int) -> list[str]:
        """Summarise the turns before the last ones; see `compact()`."""
        end = self._end()
        first = self.compacted + 1
        kept = last_turns(self.messages, keep_turns, after=first - 1, end=end)
        stop = kept[0].line if kept else end + 1
        notes = []
        batch: list[list[Message]] = []
        for turn in turns(self._between(first, stop)):
            batch.append(turn)
            if len(batch) == _TURNS:
                notes.append(self._summaries.add(batch, model, limit))
                batch = []
        if batch:
            notes.append(self._summaries.add(batch, model, limit))
        return notes


def _cuts(text: str) -> list[int]:
    """Return at which bytes the sections of a text begin, and one that is put behind it."""
    return [part.start for part in sections(f"{text}\n## Next\n") if 1 <= part.level <= 2]
