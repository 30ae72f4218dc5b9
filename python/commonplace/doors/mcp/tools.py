"""Tools of the MCP server: search, read, sessions, remember, forget, status."""

# Longer than 350 lines: the methods of one class are tools, with docstrings that models read.

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Literal, NotRequired
from urllib.parse import unquote

from msgspec import Meta

from commonplace._core import SearchFilter
from commonplace.citation import cite, located
from commonplace.entries.forgetting import ForgetAnswer as Forgetting
from commonplace.entries.forgetting import forget
from commonplace.errors import NotFound, ToolError
from commonplace.locks import Lock
from commonplace.redaction import redacts
from commonplace.tools import Toolset, tool, tools_for
from commonplace.tools.text_page import page_of
from commonplace.typed_dict import TypedDict

if TYPE_CHECKING:
    from commonplace._core import Hit, Message
    from commonplace.recall import HybridHit
    from commonplace.store import Store

LONGEST = 20_000
"""Most characters of text in an answer of `read`; a host warns at 10,000 tokens."""
NOTES = "facts/notes.md"
NOTE, SESSION = "commonplace://note/", "commonplace://session/"
"""How the URIs of resources begin."""
AGENT = " <!-- META: by=agent -->"
"""At the end of an entry: an agent said it."""
# Things wrong with the store that `status` names
MOST_PROBLEMS = 20

# a text, the line of the rest, and how many of its characters to skip
_Page = tuple[str, int | None, int]

# a line or a session; what is larger than any file is no line
Start = Annotated[int, Meta(ge=0, le=2**40)]


class FoundPassage(TypedDict):
    """One result of a search."""

    citation: str
    text: str
    score: float
    time: NotRequired[str]
    title: NotRequired[str]


class SearchAnswer(TypedDict):
    """Results of a search; `next` is the `start` of those that follow."""

    hits: list[FoundPassage]
    confidence: float
    notes: list[str]
    next: int | None


class ReadAnswer(TypedDict):
    """Lines of a note, or messages of a session; `next` is the `start` of the rest.

    Where an answer ends inside a long line, `skip` comes with it for the next call.
    """

    path: str
    text: str
    next: int | None
    skip: NotRequired[int]


class SessionRow(TypedDict):
    """One session."""

    id: str
    title: str
    project: str
    ended: str
    messages: int


class SessionsAnswer(TypedDict):
    """Sessions; `next` is the `start` of those that follow."""

    sessions: list[SessionRow]
    next: int | None


class RememberAnswer(TypedDict):
    """Where it stands; `added` is false when it stood there before.

    `redacted` and `notes` come with it where there was a secret; each schema costs context.
    """

    path: str
    version: str
    added: bool


class ForgetAnswer(TypedDict):
    """What is erased, or would be, and by which token."""

    text: str


class StatusAnswer(TypedDict):
    """The memory in numbers, and what is wrong with it."""

    root: str
    notes: int
    sessions: int
    messages: int
    problems: list[str]


class MemoryTools:
    """What a host may do with a memory; the store is opened when it is first needed.

    Args:
        open_store: Opens it; a host waits for the list of tools, and a store may take long.
    """

    def __init__(self, open_store: Callable[[], Store]) -> None:
        self._open_store = open_store
        self._opening = Lock()
        self._store: Store | None = None

    @property
    def store(self) -> Store:
        """The store, open."""
        with self._opening:
            if self._store is None:
                self._store = self._open_store()
            return self._store

    def close(self) -> None:
        """Close the store, if it was opened."""
        with self._opening:
            if self._store is not None:
                self._store.close()
                self._store = None

    @tool("reads")
    def search(
        self,
        query: str,
        limit: Annotated[int, Meta(ge=1, le=20)] = 5,
        start: Annotated[int, Meta(ge=0, le=1000)] = 0,
        source: Literal["note", "message"] | None = None,
        since: str | None = None,
        until: str | None = None,
    ) -> SearchAnswer:
        """Search notes and past sessions. Do so before you ask the user what they may have told.

        Args:
            query: Words; "a phrase", -without, prefix*.
            limit: Most results.
            start: Skip so many.
            source: Only these.
            since: 2026-02-01, yesterday, 3d.
            until: As since.
        """
        most = start + limit + 1
        wanted = SearchFilter(source=source, since=since, until=until)
        found = self.store.search(query, most, meaning=None, filter=wanted)
        return {
            "hits": [_passage(hit) for hit in found[start : start + limit]],
            "confidence": round(found.confidence, 3),
            "notes": found.notes,
            "next": start + limit if len(found) > start + limit else None,
        }

    @tool("reads")
    def read(
        self,
        path: str,
        start: Start = 0,
        limit: Annotated[int, Meta(ge=1, le=2000)] = 500,
        skip: Start = 0,
    ) -> ReadAnswer:
        """Read a note or a session.

        Args:
            path: A citation, file, or session id.
            start: First line: next of an earlier answer.
            limit: Most lines.
            skip: Characters of that line to skip.
        """
        if path.startswith((NOTE, SESSION)):
            path = unquote(path.removeprefix(NOTE).removeprefix(SESSION))
        where, first, last = located(path)
        first = max(start, first or 1)
        end = first + limit if last is None else min(first + limit, last + 1)
        if not where.endswith((".md", ".markdown", ".jsonl")):
            session = self.store.find_session(where)
            if session is None:
                raise NotFound(f"there is no file or session {where!r:.200}; `search` finds both")
            where = session.path
        lines = self._messages if where.endswith(".jsonl") else self._lines
        try:
            text, following, left = lines(where, first, end, skip)
        except NotFound:
            # the text of the core names a command that is no tool here
            raise NotFound(f"there is no file {where!r:.200}; `search` finds what is") from None
        rest = following if last is None or following is None or following <= last else None
        found: ReadAnswer = {"path": where, "text": text, "next": rest}
        if left:
            found["skip"] = left
        return found

    @tool("reads")
    def sessions(
        self,
        project: str | None = None,
        since: str | None = None,
        until: str | None = None,
        limit: Annotated[int, Meta(ge=1, le=100)] = 20,
        start: Start = 0,
    ) -> SessionsAnswer:
        """List sessions, newest first."""
        found = self.store.sessions(project=project, since=since, until=until)
        rows: list[SessionRow] = [
            {
                "id": session.short_id,
                "title": session.title or "",
                "project": session.project,
                "ended": iso(session.ended or session.started or session.modified),
                "messages": session.messages,
            }
            for session in found[start : start + limit]
        ]
        return {"sessions": rows, "next": start + limit if len(found) > start + limit else None}

    @tool("adds")
    @redacts("content")
    def remember(
        self, content: Annotated[str, Meta(min_length=1)], path: str = NOTES
    ) -> RememberAnswer:
        """Keep a fact for later sessions, at the end of a note.

        Args:
            content: One fact, in a sentence of its own.
            path: A note such as facts/user.md.
        """
        if path.lower().endswith(".jsonl"):
            raise ToolError(f"remember: {path!r:.200} is a transcript; a note ends in .md")
        # a host waits for the list of tools, and most sessions remember nothing
        from commonplace.entries.injection import author_of_note  # noqa: PLC0415

        item = _list_item(content)
        if not item:
            raise ToolError("remember: `content` is empty: give one fact, in a sentence of its own")
        # where notes are the owner's it is said that this is none of theirs
        mark = AGENT if author_of_note(path) == "owner" else ""
        marked = f"{item[:-1]}{mark}\n"

        def with_item(text: str) -> str:
            # not where it only begins one with more lines
            there = rf"^{re.escape(item[:-1])}(?:{re.escape(mark)})?\n(?!  )"
            if re.search(there, text, re.MULTILINE):
                return text
            end = "" if not text or text.endswith("\n") else "\n"
            return f"{text}{end}{marked}"

        written = self.store.update(path, with_item)
        added = written.version != written.previous
        return {"path": written.path, "version": written.version, "added": added}

    @tool("replaces")
    def forget(self, what: str, token: str = "") -> ForgetAnswer:
        """Show what of a text or citation would be erased; with its token, erase it."""
        found = forget(self.store, what, token, [""])
        lines = [f"{passage['citation']}: {passage['text']}" for passage in found["passages"]]
        if more := found.get("more", 0):
            lines.append(f"and {more} more")
        if found["old_versions"]:
            lines.append(f"old versions that hold it: {found['old_versions']}")
        lines += [f"not erased: {left}" for left in found.get("left", ())]
        lines += [f"similar: {one}" for one in found.get("similar", ())]
        lines.insert(0, _outcome(found))
        if "token" in found:
            lines.append(f"Once the user agrees, call forget again with token {found['token']}")
        return {"text": "\n".join(lines)}

    @tool("reads")
    def status(self) -> StatusAnswer:
        """Say how much there is and what is wrong."""
        state = self.store.status()
        problems = [f"{path}: {why}" for path, why in state.skipped]
        problems += [*state.bad_lines, *state.recovered]
        if len(problems) > MOST_PROBLEMS:
            more = f"{len(problems) - MOST_PROBLEMS} more; `commonplace verify` names them"
            problems = [*problems[:MOST_PROBLEMS], more]
        return {
            "root": state.root,
            "notes": state.notes,
            "sessions": state.transcripts,
            "messages": state.messages,
            "problems": problems,
        }

    def _lines(self, path: str, first: int, end: int, skip: int) -> _Page:
        """Return lines of a note."""
        lines = self.store.read(path).split("\n")
        if lines[-1] == "":
            lines.pop()
        if first > max(len(lines), 1):
            raise ToolError(f"read: {path} has {len(lines)} lines, none at {first}")
        more = len(lines) >= end
        return _bounded(lines[first - 1 : end - 1], range(first, end), skip, more=more)

    def _messages(self, path: str, first: int, end: int, skip: int) -> _Page:
        """Return messages as text."""
        found = self.store.transcript(path).messages(first, end - first + 1)
        wanted = [message for message in found if message.line < end][: end - first]
        if not wanted:
            raise ToolError(f"read: there is no message at or behind {cite(path, first)}")
        parts = [(part[0].line, _as_text(part)) for part in _without_tools(wanted)]
        # the one behind, for a line may be no message
        lines = [line for line, _ in parts] + [one.line for one in found[len(wanted) :][:1]]
        more = len(found) > len(wanted)
        return _bounded([text for _, text in parts], lines, skip, more=more)


def memory_toolset(memory: MemoryTools, prefix: str = "") -> Toolset:
    """Return the tools as a set for `Toolset.call`, which cuts nothing: each bounds its answer.

    Where it cut it would ask to go on at a character, but these go on at a line.
    """
    return tools_for(memory, prefix=prefix, longest=sys.maxsize)


def _outcome(found: Forgetting) -> str:
    """Return in a line what became of something that is to be forgotten."""
    if found["erased"]:
        return "Erased for good:"
    return "To be erased for good:" if "token" in found else "Nothing holds it."


def iso(moment: float) -> str:
    """Return seconds since 1970 as ISO 8601, to the second."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _without_tools(messages: Sequence[Message]) -> list[list[Message]]:
    """Return messages one by one, but those of tools alone that follow each other together."""
    runs = groupby(messages, key=lambda message: not message.text.strip())
    together = [[list(run)] if is_silent else [[one] for one in run] for is_silent, run in runs]
    return [part for parts in together for part in parts]


def _as_text(part: Sequence[Message]) -> str:
    """Return a message: its line, its role and time, and what was said. Of tools only the lines."""
    first, last = part[0], part[-1]
    if not first.text.strip():
        lines = f"L{first.line}" if first is last else f"L{first.line}-L{last.line}"
        return f"[{lines} of tools]\n"
    when = f", {first.time}" if first.time else ""
    return f"[L{first.line} {first.role}{when}]\n{first.text}\n"


def _passage(hit: Hit | HybridHit) -> FoundPassage:
    """Return a hit with its passage, below its heading or the prompt that it answers."""
    above = " > ".join(hit.heading) if hit.heading else ""
    if hit.is_turn and hit.prompt and hit.prompt not in hit.snippet:
        above = f"user: {hit.prompt:.200}"
    body = f"{hit.role}: {hit.snippet}" if hit.role else hit.snippet
    found: FoundPassage = {
        "citation": hit.citation,
        "text": f"{above}\n{body}" if above and not body.startswith(above) else body,
        "score": round(hit.score, 3),
    }
    if hit.time:
        found["time"] = hit.time
    if hit.title:
        found["title"] = hit.title
    return found


def _bounded(parts: list[str], numbers: Sequence[int], skip: int, *, more: bool) -> _Page:
    """Return as many parts as an answer holds, and where the rest begins.

    A part that is longer than an answer comes in pages.
    """
    kept: list[str] = []
    size = 0
    # there may be a number more, for the rest
    for number, part in zip(numbers, parts, strict=False):
        if kept and size + len(part) > LONGEST:
            return "\n".join(kept), number, 0
        page = page_of([("", part)], 0 if kept else skip, LONGEST)
        if page.following is not None:
            return page.text, number, page.following
        kept.append(page.text)
        size += len(page.text) + 1
    following = numbers[len(kept)] if len(numbers) > len(kept) else numbers[-1] + 1
    return "\n".join(kept), following if more else None, 0


def _list_item(content: str) -> str:
    """Return text as one list item of Markdown; further lines are indented below the first."""
    first, *others = content.strip().splitlines() or [""]
    if not first:
        return ""
    lines = [first if first.startswith("- ") else f"- {first}"]
    lines += [f"  {line}".rstrip() for line in others]
    return "\n".join(lines) + "\n"
