"""Overview and detail: an overview always in context, notes and raw messages to recall.

Nothing decays, nothing is counted, nothing is ranked by its age: a note is found for what it says
(§10.3 of the design). See `commonplace.memories.overview_and_detail.session` for the layout.
"""

# Longer than 350 lines: the methods of one class are tools, with docstrings that models read.

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from inspect import unwrap
from types import FunctionType, MethodType
from typing import Any, Literal

from commonplace.arguments import at_least, checks_arguments, has_text
from commonplace.citation import cite, located
from commonplace.entries.compaction import compaction_lock
from commonplace.entries.forgetting import ForgetAnswer, forget
from commonplace.errors import InvalidArgument, NotFound, QueryError
from commonplace.memories.forget_tool import ForgetTool
from commonplace.memories.overview_and_detail.detail import (
    Detail,
    parse_detail,
    render_detail,
    stem,
)
from commonplace.memories.overview_and_detail.last_turns import last_messages
from commonplace.memories.overview_and_detail.search import (
    SOURCES,
    SearchOptions,
    SearchResult,
    SessionHits,
    search_session,
    shorten,
)
from commonplace.memories.overview_and_detail.session import Session
from commonplace.memories.registry import memory_system
from commonplace.records import receipt
from commonplace.redaction import redacts
from commonplace.store import Store
from commonplace.tools import VersionedText, tool

Level = Literal["status", "branch", "commit", "log", "metadata"]


@memory_system("overview_and_detail")
class OverviewAndDetail(Session, ForgetTool):
    r"""The memory of one session: what is in its context, and what can be recalled.

    Args:
        store: Where it lies.
        session_id: Letters, digits, `.`, `_`, `-`.
        default_limit: How many results a search gives that names no limit. This and `enabled` are
            the keys of `memory:` in the configuration.
        session: What else `Session` takes: `cwd`, `enabled`, `overview_limit`, `clock`.

    Raises:
        InvalidArgument: An argument is of another type or out of its range.

    >>> import commonplace, tempfile
    >>> store = commonplace.open(tempfile.mkdtemp())
    >>> memory = OverviewAndDetail(store, "s1", cwd="/home/alex/app")
    >>> _ = memory.write_detail("auth-design", "# Auth\n\nJWT, refresh rotated.", ["jwt"])
    >>> print(memory.recall_memory("refresh"))
    Found 1 result(s) for: "refresh"
    <BLANKLINE>
    [1] Source: detail
        File: detail/auth-design.md:9
        Content: JWT, refresh rotated.
        Citation: detail/auth-design.md#L9
    """

    @checks_arguments
    def __init__(
        self, store: Store, session_id: str, *, default_limit: int = 5, **session: Any
    ) -> None:
        super().__init__(store, session_id, **session)
        at_least(1, default_limit=default_limit)
        self.default_limit = default_limit
        tool: Any = unwrap(type(self).recall_memory)
        if default_limit != 5:
            # the tool of this memory, with the configured number as the default that models read
            own = FunctionType(
                tool.__code__,
                tool.__globals__,
                tool.__name__,
                ("all", default_limit),
                tool.__closure__,
            )
            own.__kwdefaults__ = tool.__kwdefaults__
            own.__annotations__ = tool.__annotations__
            own.__doc__ = tool.__doc__
            self.recall_memory = MethodType(checks_arguments(own), self)  # type: ignore[method-assign]

    # Recall

    @tool("reads")
    def recall_memory(
        self,
        query: str,
        scope: Literal["all", "detail", "messages"] = "all",
        limit: int = 5,
        *,
        all_sessions: bool = False,
        mode: Literal["search", "grep"] = "search",
        context: int = 0,
    ) -> str:
        """Search external memory for relevant information.

        Searches:
        - detail/: Summaries and notes you've written
        - messages.jsonl: Raw conversation history

        Returns: Matching entries with citations. Messages that are in your context are left out.

        Args:
            query: Search query
            scope: Which sources to search
            limit: Maximum results
            all_sessions: Search every session of this memory, not only this one
            mode: `search` ranks by words; `grep` finds the query as it is written, also within
                words, in the order of the files
            context: How many messages or lines to show before and after each, at most 20

        Raises:
            QueryError: The query is empty, the scope or the mode unknown, the limit less than 1, or
                the context out of its range.
        """
        if mode not in {"search", "grep"}:
            raise QueryError(f'mode is "search" or "grep", not {mode!r:.40}')
        if scope not in {"all", *SOURCES}:
            raise QueryError(f'scope is "all", "detail" or "messages", not {scope!r:.40}')
        sources = SOURCES if scope == "all" else (scope,)
        revision = self.store.revision()
        found = self._found(SearchOptions(query, limit, sources, mode, context), all_sessions)
        paths = {one.file_path for one in found.results if one.file_path}
        return self._versioned(found.render(query), sorted(paths), revision)

    @checks_arguments
    def search(self, options: SearchOptions, *, all_sessions: bool = False) -> list[SearchResult]:
        """Return what answers a query, best first, at most 300 characters of each.

        Notes and messages are ranked by one score in one index. So that neither starves the
        other, each of two sources gets a third of the places if it has as many answers.

        Args:
            options: The query, how many results, which sources.
            all_sessions: Search every session; what is of another is cited with its whole path.

        Raises:
            QueryError: The query is empty, a source unknown, or the limit less than 1.
        """
        if not isinstance(options, SearchOptions):
            raise InvalidArgument(f"options are SearchOptions, not {options!r:.60}")
        return self._found(options, all_sessions).results

    @tool("reads")
    def read_citation(self, citation: str, *, limit: int = 2000, start: int = 0) -> str:
        """Return what a citation points to: a note from that line on, or a message.

        Args:
            citation: As recall_memory gives it, such as `detail/auth-design.md#L10`
            limit: Longest answer, in characters
            start: Characters to leave out at the beginning, to read on

        Raises:
            NotFound: There is no such line.
            QueryError: It is no citation of a session.
        """
        name, line, last = located(citation.strip())
        if line is None or line != last:
            raise QueryError(f"a citation is like detail/auth.md#L10, not {citation!r:.80}")
        revision = self.store.revision()
        path = self._path(name)
        if path.endswith(".jsonl"):
            with self._named(citation):
                messages = self.store.transcript(path).messages(line, 1)
            if not messages or messages[0].line != line:
                raise NotFound(f"there is no message at {citation}")
            parts = filter(None, (messages[0].text, messages[0].tools))
            return _bounded(f"{messages[0].role}: {chr(10).join(parts)}", limit, start)
        with self._named(citation):
            lines = self.store.read(path).split("\n")
        if line > len(lines):
            raise NotFound(f"{path} has {len(lines)} lines, so there is no {citation}")
        text = _bounded("\n".join(lines[line - 1 :]), limit, start)
        return self._versioned(text, [name], revision)

    # Notes

    @tool("replaces")
    @redacts("content", "keywords", file_name="name")
    def write_detail(
        self,
        name: str,
        content: str,
        keywords: Sequence[str] = (),
        *,
        expected_version: str | None = None,
    ) -> dict[str, Any]:
        """Write a note to external memory: a summary, a decision, anything to remember.

        What was there by this name is replaced.

        Args:
            name: A file name such as `auth-design`
            content: Markdown; a title is added when it does not begin with one
            keywords: Words to find it by that are not in it
            expected_version: The version you read; `absent`: it must be new

        Raises:
            ValueError: It is no name of a file.
            InvalidArgument: The content is empty.
            Refused: The name holds a secret.
            Conflict: It is no longer the expected version.
        """
        has_text(content=content)
        more: dict[str, Any] = {}
        created = self._now()
        try:
            old = self.read_detail(name)
        except NotFound:
            pass
        else:
            created = old.created or created
            # a summary that is written anew still stands for its lines
            more = {key: old.meta[key] for key in old.meta.keys() - {"created", "keywords"}}
        text = render_detail(name, content, created, keywords, **more)
        written = self.store.write(self._detail(name), text, expected_version=expected_version)
        return {**receipt(written), "citation": f"detail/{stem(name)}.md#L1"}

    @checks_arguments
    def read_detail(self, name: str) -> Detail:
        """Return a note of external memory, as it was given or as a person wrote it.

        Raises:
            NotFound: There is no such note.
        """
        try:
            return parse_detail(name, self.store.read(self._detail(name)))
        except NotFound:
            told = f"there is no note {name!r:.80}; context() shows which there are"
            raise NotFound(told) from None

    def _forget(self, what: str, token: str) -> ForgetAnswer:
        return forget(self.store, what, token, [self.folder], self._path, self._short)

    # Commits and branches

    @tool("adds")
    @redacts("message")
    def commit(self, message: str, *, expected_version: str | None = None) -> dict[str, Any]:
        """Keep a checkpoint of the overview and all notes of the branch you work on.

        Args:
            message: The progress so far: what was done, what was found, what comes next
            expected_version: Of the log of commits, as the last commit answered it
        """
        return self.branches.commit(message, expected_version)

    @tool("adds")
    @redacts("purpose", file_name="name")
    def branch(
        self, name: str, purpose: str = "", *, expected_version: str | None = None
    ) -> dict[str, Any]:
        """Open a copy of overview and notes to try something else in, and work on it.

        A branch that is there already is gone to, also `main`.

        Args:
            name: Letters, digits, `.`, `_`, `-`
            purpose: What is to be tried
            expected_version: Of the log of commits, as the last commit answered it
        """
        with compaction_lock(self.store):
            return self.branches.branch(name, purpose, expected_version)

    @tool("replaces")
    @redacts("message")
    def merge(
        self, name: str, message: str = "", *, expected_version: str | None = None
    ) -> dict[str, Any]:
        """Bring what a branch changed into the branch you work on, and keep what both changed.

        From the branch itself it goes into the one that it came from, and you work on that.

        Args:
            name: The branch that is brought back
            message: What came of it
            expected_version: Of the log of commits, as the last commit answered it
        """
        with compaction_lock(self.store):
            return self.branches.merge(name, message, expected_version)

    @tool("reads")
    def context(self, level: Level = "status", name: str = "", limit: int = 10) -> str:
        """Look at your memory at a chosen level, from the whole to one message.

        Args:
            level: `status`: branches and notes; `branch`: commits of a branch; `commit`: one of
                them, or a note as it was in it; `log`: raw messages; `metadata`: what is said
                about the notes
            name: Of a branch; the id of a commit, or `id:detail/auth.md`; for `log` the line up
                to which messages are shown
            limit: How many commits, messages or notes

        Raises:
            NotFound: There is no such branch, commit or note.
            QueryError: The level is unknown.
        """
        if limit < 1:
            raise QueryError(f"a limit is 1 or more, not {limit}")
        revision, paths = self.store.revision(), ["commits.md"]
        match level:
            case "status":
                text = self.branches.describe_status(limit)
            case "branch":
                text = self.branches.describe_branch(name or self.branches.active, limit)
            case "commit":
                text = self.branches.describe_commit(name)
            case "metadata":
                text = self.branches.describe_metadata(limit)
                paths += self.branches.files(self.branches.active)[:limit]
            case "log":
                return self._log(name, limit)
            case _:
                levels = "status, branch, commit, log or metadata"
                raise QueryError(f"level is {levels}, not {level!r:.40}")
        return self._versioned(text, paths, revision)

    def _log(self, until: str, limit: int) -> str:
        """Return the last messages up to a line, one line each."""
        if until and not re.fullmatch("[0-9]{1,12}", until):
            raise QueryError(f"for log the name is the number of a line, not {until!r:.40}")
        end = self._end()
        end = min(int(until), end) if until else end
        messages = last_messages(self.messages, limit, end=end)
        lines = [
            f"{one.role}: {shorten(one.text or one.tools)} ({cite('messages.jsonl', one.line)})"
            for one in messages
        ]
        if messages and messages[0].line > 1:
            lines.append(f'… earlier: the same call with name="{messages[0].line - 1}"')
        return "\n".join(lines) or "No messages."

    def _found(self, options: SearchOptions, all_sessions: bool) -> SessionHits:
        if not self.enabled:
            return SessionHits([], ["memory is not enabled"])
        folders = (self.folder, self.branches.workspace())
        return search_session(
            self.store, folders, options, self.default_limit, all_sessions, self.in_context
        )

    @contextmanager
    def _named(self, citation: str) -> Iterator[None]:
        """Say which citation leads to no file, in the place of the path of the store."""
        try:
            yield
        except NotFound:
            told = f"there is no {citation!r:.80}; recall_memory gives the citations"
            raise NotFound(told) from None

    def _versioned(self, text: str, paths: Iterable[str], revision: int) -> VersionedText:
        """Return a text with the versions of its files, if the store is as it was before it."""
        workspace, log = self.branches.workspace(), self.branches.commits
        versions = {
            path: log.version
            if path == "commits.md"
            else self.store.version(path if path.startswith("sessions/") else f"{workspace}/{path}")
            or "absent"
            for path in paths
        }
        return VersionedText(text, versions if self.store.revision() == revision else {})

    def _path(self, path: str) -> str:
        """Return the path in the store of what a citation names."""
        if path == "messages.jsonl":
            return self.messages.path
        if path == "overview.md" or path.startswith("detail/"):
            return f"{self.branches.workspace()}/{path}"
        if not path.startswith("sessions/"):
            raise QueryError(
                f"{path!r:.80} is of no session: it is detail/…, messages.jsonl or sessions/…"
            )
        return path

    def _short(self, path: str) -> str:
        """Return a path, or a citation, as tools take it; see `_path`."""
        short = path.removeprefix(f"{self.branches.workspace()}/").removeprefix(f"{self.folder}/")
        return short if short.startswith(("messages.jsonl", "overview.md", "detail/")) else path

    def _detail(self, name: str) -> str:
        return f"{self.branches.workspace()}/detail/{stem(name)}.md"


def _bounded(text: str, limit: int, start: int) -> str:
    if limit < 1 or start < 0:
        raise QueryError(f"limit is 1 or more and start 0 or more, not {limit} and {start}")
    shown = text[start : start + limit]
    left = len(text) - start - len(shown)
    return f"{shown}\n[… {left} more characters: start={start + limit}]" if left > 0 else shown
