"""World and agents: facts that all agents share, and a memory and a diary for each of them.

    world/{topic}.md                    what is so; rewritten by `learn_fact`
    agents/{id}/MEMORY.md               what one agent has learned; rewritten by `reflect`
    agents/{id}/daily/YYYY-MM-DD.md     what it lived through; only grows, by `remember`

Nothing is put into a prompt by itself: the agent decides when to read and when to write, and
`memory_directive()` tells it how. Formats: a day begins with `# 2026-02-24`, each entry is a
block (`blocks.py`) under `## HH:MM:SS`; what is rewritten holds exactly the text that was given.
A world note whose name is not its topic says so in a `META` comment at its top.
"""

# Longer than 350 lines: the methods of one class are tools, with docstrings that models read.

from __future__ import annotations

import contextlib
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, NamedTuple

from commonplace._core import Hit, Hits, Match
from commonplace.arguments import checks_arguments, given_day, has_text
from commonplace.entries.blocks import render
from commonplace.entries.forgetting import ForgetAnswer, forget
from commonplace.errors import CommonplaceError, Conflict, NotFound, QueryError, Refused
from commonplace.memories.forget_tool import ForgetTool
from commonplace.memories.registry import memory_system
from commonplace.memories.world_and_agents import topics
from commonplace.protocols import Embedder
from commonplace.recall import HybridHits, HybridSearch
from commonplace.recall.matching_lines import find_text, listed
from commonplace.records import receipt
from commonplace.redaction import redacts
from commonplace.store import Store
from commonplace.tools import VersionedText, tool
from commonplace.tools.text_page import page_of
from commonplace.tools.versioned_text import versioned

_AGENT = re.compile(r"[^\W_](?:[\w.-]{0,62}[\w-])?")
_BREAK = "\n\n---\n\n"


class RecalledFile(NamedTuple):
    """A file that `recall` shows; `version` is empty where it cannot be read."""

    heading: str
    path: str
    version: str
    text: str


def _now() -> datetime:
    return datetime.now(UTC)


def _shown(one: RecalledFile) -> str:
    where = f"{one.path}, version {one.version}" if one.version else one.path
    return f"## {one.heading}\n({where})\n\n{one.text}"


@memory_system("world_and_agents")
class WorldAndAgents(ForgetTool):
    r"""The memory of one agent: the shared world, its own `MEMORY.md` and its own diary.

    Args:
        store: Where the files are.
        agent_id: Whose memory it is: letters, digits, `-`, `_` and `.`, at most 64.
        folder: Where in the store the layout begins; default: at its root.
        clock: Gives the time, with its zone; days and times of the diary are those of this zone.
        embedder: Makes vectors, so that `search_memory` finds paraphrases; default: that of the
            store, in the background. Without one words alone
            find.

    Raises:
        Refused: The id is not of that form.
        InvalidArgument: An argument is of another type.

    >>> import commonplace, tempfile
    >>> memory = WorldAndAgents(commonplace.open(tempfile.mkdtemp()), "planner")
    >>> memory.learn_fact("people", "- Mara runs the night shift.")["path"]
    'world/people.md'
    >>> print(memory.recall().partition("\n(")[0])
    ## World: people
    """

    @checks_arguments
    def __init__(
        self,
        store: Store,
        agent_id: str,
        *,
        folder: str = "",
        clock: Callable[[], datetime] = _now,
        embedder: Embedder | None = None,
    ) -> None:
        normal = unicodedata.normalize("NFC", agent_id)
        if not _AGENT.fullmatch(agent_id) or normal != agent_id:
            raise Refused(
                f"{agent_id!r:.80} is no agent id: use letters, digits, - _ and . (at most 64, "
                "beginning with a letter or digit, not ending in a dot)"
            )
        base = store.base_of(folder)
        self.store = store
        self.agent_id = agent_id
        self._folder = folder
        self._world = f"{base}world"
        self._own = f"{base}agents/{agent_id}"
        self._diary = f"{self._own}/daily"
        self._clock = clock
        self._hybrid = HybridSearch(store, embedder) if embedder is not None else None

    def __repr__(self) -> str:
        where = f", folder={self._folder!r}" if self._folder else ""
        return f"WorldAndAgents({self.store!r}, {self.agent_id!r}{where})"

    # Tools

    @tool("reads")
    def recall(
        self,
        days: int = 3,
        *,
        since: date | None = None,
        until: date | None = None,
        limit: int = 16_000,
        start: int = 0,
    ) -> str:
        """Read what is remembered: the shared world, your MEMORY.md and your last days.

        Call it at the start of a conversation, or when you need the context. World notes come
        first, by topic, then MEMORY.md, then the diary, newest day first. They are separated by
        `---`; each begins with a heading and its path and version.

        Args:
            days: How many days of the diary, today included.
            since: First day of the diary to read, in place of `days`.
            until: Last day of the diary to read; default with `since`: the newest.
            limit: Most characters of all this to return; the end says how to get the rest.
            start: How many characters to skip, as the end of an earlier answer says.

        Raises:
            QueryError: A number is negative, or a day is no day.
        """
        if days < 0 or limit < 1 or start < 0:
            raise QueryError("days and start are 0 or more, limit is 1 or more")
        own = f"{self._own}/MEMORY.md"
        # before the text, so that a change in between is a conflict and not a loss
        versions = {own: self.store.version(own) or "absent"}
        parts = ((_BREAK, _shown(one)) for one in self.recalled(days, since=since, until=until))
        page, following = page_of(parts, start, limit)
        if not page:
            if pages := self._pages():
                oldest = min(pages)
                return VersionedText(
                    f"Nothing of these days; the same call with since={oldest} reads the diary "
                    "from its start.",
                    versions,
                )
            nothing = "Nothing is remembered yet; the first entry begins your diary."
            return VersionedText(nothing, versions)
        if following is None:
            return page
        return (
            f"{page.rstrip()}{_BREAK}[There is more: the same call with start={following} "
            "goes on here; a search finds passages.]"
        )

    @tool("adds")
    @redacts("content")
    def remember(self, content: str, *, expected_version: str | None = None) -> dict[str, Any]:
        """Add an experience to today's page of your diary, with the time.

        Call it after learning something. What is written stays; later entries come after it.

        Args:
            content: What happened or was learned, in any form.
            expected_version: Only if today's page is still this version (`absent`: not begun).

        Returns:
            The receipt: path, version.

        Raises:
            Conflict: The page is not the expected version; nothing was written.
            InvalidArgument: The content is empty.
        """
        has_text(content=content)
        now = self._clock()
        path = f"{self._diary}/{now.date().isoformat()}.md"
        entry = render(f"{now:%H:%M:%S}", content)
        begun = False
        with contextlib.suppress(NotFound):
            # a long page is not read, nor by `list` parsed, only to see that it is there
            begun = self.store.stamp(path).size > 0
        if not begun:
            seen = expected_version or self.store.version(path) or "absent"
            text = f"# {now.date().isoformat()}\n\n{entry}"
            try:
                return receipt(self.store.append(path, text, expected_version=seen))
            except Conflict:
                # somebody else began the page, with its header
                if expected_version is not None:
                    raise
        return receipt(self.store.append(path, f"\n{entry}", expected_version=expected_version))

    @tool("replaces")
    @redacts("content")
    def reflect(self, content: str, *, expected_version: str | None = None) -> dict[str, Any]:
        """Rewrite your MEMORY.md, all at once; the old text goes to the history.

        Call it at the end of a session to keep what matters. Read it first with `recall`: what
        you leave out is no longer in it.

        Args:
            content: The whole new text.
            expected_version: Only if MEMORY.md is still this version, as `recall` shows it.

        Returns:
            The receipt: path, version, where the old text lies.

        Raises:
            Conflict: MEMORY.md is not the expected version; nothing was written.
            InvalidArgument: The content is empty; MEMORY.md stays as it is.
        """
        has_text(content=content)
        path = f"{self._own}/MEMORY.md"
        return receipt(self.store.write(path, content, expected_version=expected_version))

    @tool("replaces")
    @redacts("topic", "content", named_by="topic")
    def learn_fact(
        self, topic: str, content: str, *, expected_version: str | None = None
    ) -> dict[str, Any]:
        """Write what is known about a topic, for all agents; it replaces what was there.

        Call it when you discover a fact that others need. Read the topic first with `recall`:
        what you leave out is no longer in it (the old text goes to the history).

        Args:
            topic: What it is about, such as `people` or `systems`. Lower and upper case are one.
            content: The whole new text about the topic.
            expected_version: Only if the note is still this version, as `recall` shows it
                (`absent`: there must be none yet).

        Returns:
            The receipt: topic, path, version, where the old text lies; `note` says when the name
            of the file has a suffix, since another topic has the plain name.

        Raises:
            Conflict: The note is not the expected version; nothing was written.
            Refused: The topic is empty or longer than 200 characters.
            InvalidArgument: The content is empty.
        """
        has_text(content=content)
        filed = topics.write(self.store, self._world, topic, content, expected_version)
        note = {"note": filed.note} if filed.note else {}
        return {**receipt(filed.written), "topic": filed.topic, **note}

    def _forget(self, what: str, token: str) -> ForgetAnswer:
        return forget(self.store, what, token, [self._world, self._own])

    @tool("reads")
    def search_memory(
        self,
        query: str,
        limit: int = 10,
        *,
        since: date | None = None,
        until: date | None = None,
        mode: Literal["search", "grep"] = "search",
        context: int = 0,
    ) -> str:
        """Search the shared world, your MEMORY.md and all your diary, best first.

        Call it for what is older than `recall` shows. Each result has its citation, its heading
        and the passage that matches.

        Args:
            query: Words in any language; `"a phrase"`, `-not` and `prefix*` are understood.
            limit: Most results to return.
            since: Only the diary, from this day on.
            until: Only the diary, up to this day.
            mode: `search` ranks by words. `grep` finds the query as it is written, also within
                words, and shows the lines in the order of the files.
            context: With `grep`, how many lines to show before and after each, at most 20.

        Raises:
            QueryError: The query is empty, the limit is below 1, a day is no day, or the mode is
                another.
        """
        if limit < 1:
            raise QueryError(f"limit is 1 or more, not {limit}")
        if mode not in {"search", "grep"}:
            raise QueryError(f"mode is 'search' or 'grep', not {mode!r:.40}")
        notes: list[str] = []
        revision = self.store.revision()
        first, last = given_day(since, "since"), given_day(until, "until")
        if mode == "grep":
            return self._grep(query, limit, first, last, context)
        if first is None and last is None:
            found = self._search(query, limit + 1, [self._world, self._own], notes)
        else:
            found = self._search_days(query, limit + 1, first, last, notes)
        shown = [
            f"{number}. {hit.citation} ({' > '.join(hit.heading) or hit.path})\n"
            f"   {' '.join(hit.snippet.split())}"
            for number, hit in enumerate(found[:limit], 1)
        ]
        if not shown:
            shown.append(f"Nothing matches {query!r:.200}.")
        if len(found) > limit:
            shown.append(f"[There is more: the same call with limit={limit * 2}.]")
        text = "\n".join(shown + [f"[{note}]" for note in dict.fromkeys(notes)])
        return self._versioned(text, found[:limit], revision)

    # What they are made of

    @checks_arguments
    def recalled(
        self, days: int = 3, *, since: date | None = None, until: date | None = None
    ) -> Iterator[RecalledFile]:
        r"""Yield the files that `recall` shows, in its order, each read only when it is asked for.

        Args:
            days: As for `recall`.
            since: As for `recall`.
            until: As for `recall`.

        Raises:
            QueryError: A day is no day.

        >>> import commonplace, tempfile
        >>> memory = WorldAndAgents(commonplace.open(tempfile.mkdtemp()), "planner")
        >>> _ = memory.learn_fact("people", "- Mara runs the night shift.")
        >>> [(one.heading, one.path) for one in memory.recalled()]
        [('World: people', 'world/people.md')]
        """
        first, last = given_day(since, "since"), given_day(until, "until")
        if first is None and last is None:
            last = self._clock().date()
            # the calendar begins with the year 1
            first = last - timedelta(min(days - 1, last.toordinal() - 1)) if days else date.max
        for entry in self.store.list(self._world):
            if entry.kind == "note":
                yield from self._part("World", entry.path)
        yield from self._part("Memory", f"{self._own}/MEMORY.md")
        pages = self._pages()
        for day in sorted(pages, reverse=True):
            if (first or date.min) <= day <= (last or date.max):
                yield from self._part("Daily", pages[day])

    def _pages(self) -> dict[date, str]:
        """Return the paths of the diary's pages by day."""
        paths = [entry.path for entry in self.store.list(self._diary)]
        return {day: path for path in paths if (day := self._day_of(path))}

    def _day_of(self, path: str) -> date | None:
        """Return the day of a page of the diary, or None when the file is no page."""
        name = path.removeprefix(f"{self._diary}/").removesuffix(".md")
        with contextlib.suppress(ValueError):
            day = date.fromisoformat(name)
            # there are other ways to write a day
            return day if day.isoformat() == name else None
        return None

    def _part(self, kind: Literal["World", "Memory", "Daily"], path: str) -> Iterator[RecalledFile]:
        """Yield one file; nothing when it is gone or empty."""
        version = ""
        heading = f"Daily: {self._day_of(path)}" if kind == "Daily" else "MEMORY.md"
        try:
            # before the text, so that a change in between is a conflict and not a loss
            version = self._version(path)
            text = self.store.read(path)
        except NotFound:
            return
        except CommonplaceError as error:
            text = f"[This file cannot be read: {error}]"
        if kind == "World":
            topic, text = topics.unmarked(topics.name_of(self._world, path), text)
            heading = f"World: {''.join(char for char in topic if char.isprintable())}"
        if text.strip():
            yield RecalledFile(heading, path, version, text.strip("\n"))

    def _version(self, path: str) -> str:
        return self.store.version(path) or "absent"

    def _search(self, query: str, limit: int, prefix: list[str], notes: list[str]) -> list[Hit]:
        hits: Hits | HybridHits
        if self._hybrid is not None:
            hits = self._hybrid.search(query, limit, prefix=prefix, source="note")
        else:
            # by meaning too where the store has an embedder
            hits = self.store.search(query, limit, meaning=None, prefix=prefix, source="note")
        notes += hits.notes
        return [hit if isinstance(hit, Hit) else hit.hit for hit in hits]

    def _grep(
        self, text: str, limit: int, first: date | None, last: date | None, context: int
    ) -> str:
        """Return the lines that hold a text, of the diary alone where days are given."""
        revision = self.store.revision()
        low, high = first or date.min, last or date.max

        def in_days(match: Match) -> bool:
            day = self._day_of(match.path)
            return day is not None and low <= day <= high

        everything = first is None and last is None
        prefixes = [self._world, f"{self._own}/MEMORY.md", self._diary]
        found = find_text(
            self.store,
            text,
            prefixes if everything else [self._diary],
            limit,
            context=context,
            keep=None if everything else in_days,
            source="note",
        )
        return self._versioned(listed(found, text, limit), found[:limit], revision)

    def _versioned(self, text: str, found: Sequence[Hit | Match], revision: int) -> VersionedText:
        """Return a text with the versions of the files of what was found."""
        return versioned(self.store, text, {one.path: one.path for one in found}, revision)

    def _search_days(
        self, query: str, limit: int, first: date | None, last: date | None, notes: list[str]
    ) -> list[Hit]:
        """Return the best hits of the diary from the first day to the last."""
        low, high, asked = first or date.min, last or date.max, limit
        while True:
            hits = self._search(query, asked, [self._diary], notes)
            dated = [(self._day_of(hit.path), hit) for hit in hits]
            found = [hit for day, hit in dated if day and low <= day <= high]
            if len(found) >= limit or len(hits) < asked:
                return found[:limit]
            asked *= 4
