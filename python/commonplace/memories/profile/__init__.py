"""Profile: what is known of a user in one MEMORY.md, found by hybrid search.

    MEMORY.md                 the entries, by category; the source of truth, for people to edit
    memory/{category}.md      older entries, once MEMORY.md has grown large
    daily/YYYY-MM-DD.md       what each session left; only grows
    users/{id}/…              the same for each of many users

What a new entry contradicts it replaces: the old statement stays in the note with the last day on
which it was true, out of prompts and answers, and goes into the receipt.
The index and the vectors follow the files by themselves, so that an edit by hand is seen by the
next call.
"""

# Longer than 350 lines: the methods of one class are tools, with docstrings that models read.

from __future__ import annotations

import copy
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any, Literal

from commonplace._core import Forgotten
from commonplace.arguments import at_least, checks_arguments, given_day
from commonplace.entries.forgetting import ForgetAnswer, forget, forgotten, requested
from commonplace.entries.injection import Injection, Piece, author_of_speaker
from commonplace.errors import InvalidArgument, QueryError, Refused
from commonplace.extraction import extract, possible_change
from commonplace.memories.forget_tool import ForgetTool
from commonplace.memories.profile import injector
from commonplace.memories.profile.categories import heading
from commonplace.memories.profile.flush_input import (
    last_time,
    requests_to_forget,
    roles_and_texts,
)
from commonplace.memories.profile.log import Log, Message
from commonplace.memories.profile.pages import LIMIT, Pages
from commonplace.memories.profile.reader import (
    ProfileEntry,
    ProfileHits,
    Reader,
    entry_text,
    profile_entry,
)
from commonplace.memories.profile.writer import CANDIDATES, Writer
from commonplace.memories.registry import memory_system
from commonplace.protocols import ChatModel, Embedder
from commonplace.recall import HybridSearch
from commonplace.recall.matching_lines import find_text, listed
from commonplace.redaction import Counts, add_counts, redacts, with_redactions
from commonplace.store import Store
from commonplace.tombstones import Tombstones
from commonplace.tools import VersionedText, tool
from commonplace.typed_dict import TypedDict

Speaker = Literal["owner", "agent", "other", "document"]
"""Who said an entry."""

_SPEAKERS: dict[str, Speaker] = {"user": "owner", "assistant": "agent"}
_USER = re.compile(r"[^\W_](?:[\w.-]{0,62}[\w-])?")


class ChatMessage(TypedDict):
    """One message of a conversation; its content is text or content blocks."""

    role: str
    content: str | list[dict[str, Any]]


def _now() -> datetime:
    return datetime.now(UTC)


def users(store: Store, folder: str = "") -> list[str]:
    r"""Return the users that have a profile below `folder`, in alphabetical order.

    >>> import commonplace, tempfile
    >>> store = commonplace.open(tempfile.mkdtemp())
    >>> _ = Profile(store, user="mara").remember("User prefers tea")
    >>> users(store)
    ['mara']
    """
    base = f"{folder.strip('/')}/users/".lstrip("/")
    below = (entry.path.removeprefix(base).partition("/") for entry in store.list(base))
    return sorted({user for user, _, rest in below if rest and _USER.fullmatch(user)})


@memory_system("profile")
class Profile(ForgetTool):
    r"""The memory of one user.

    Args:
        store: Where the files are.
        user: Whose memory it is, when there are many: letters, digits, `-`, `_` and `.`, at most
            64. Nothing that this object does reads or writes what is another's.
        embedder: Makes vectors, so that paraphrases are found. Without one words alone find, and
            the answers say so.
        folder: Where in the store the layout begins; default: at its root.
        clock: Gives the time, with its zone; days of the log are those of this zone.
        weights: Of words and of vectors in the score of a recall.
        half_life: Days after which the score of an entry counts half. Then new entries say of
            which day they are (`<!-- 2026-02-24 -->`); those that do not, do not age.
        limit: Most bytes of MEMORY.md, and of each page that it goes on in.
        model: Writes the statements that a flush keeps; without one the rules do.

    Raises:
        Refused: The user is not of that form.
        InvalidArgument: An argument is of another type, or a limit, a weight or the half-life is
            out of its range.

    >>> import commonplace, tempfile
    >>> memory = Profile(commonplace.open(tempfile.mkdtemp()))
    >>> memory.remember("User prefers light mode", "preference")["citation"]
    'MEMORY.md#L8'
    >>> memory.remember("User prefers dark mode", "preference")["replaced"][0]["text"]
    'User prefers light mode'
    >>> print(memory.memory_recall("dark mode"))
    1. [Preference] User prefers dark mode (MEMORY.md#L8)
    [found by words only: there is no embedder]
    """

    @checks_arguments
    def __init__(
        self,
        store: Store,
        *,
        user: str | None = None,
        embedder: Embedder | None = None,
        folder: str = "",
        clock: Callable[[], datetime] = _now,
        weights: tuple[float, float] = (1.0, 1.0),
        half_life: float | None = None,
        limit: int = LIMIT,
        model: ChatModel | None = None,
    ) -> None:
        if half_life is not None and not half_life > 0:
            raise InvalidArgument(f"a half-life is a number of days above 0, not {half_life!r}")
        at_least(1, limit=limit)
        self.store = store
        self._root = store.base_of(folder)
        self._clock = clock
        self._half_life = half_life
        self._limit = limit
        self._model = model
        self._recall = HybridSearch(
            store,
            embedder or store.embedder,
            weights=weights,
            text_of=entry_text,
            background=embedder is None,
        )
        self._bind_user(user)

    def __repr__(self) -> str:
        who = f", user={self.user!r}" if self.user is not None else ""
        where = f", folder={self._root.rstrip('/')!r}" if self._root else ""
        return f"Profile({self.store!r}{who}{where})"

    @checks_arguments
    def of(self, user: str) -> Profile:
        """Return the profile of another user of this store, which shares only the vectors.

        Raises:
            Refused: The user is not of the form that the constructor asks for.
        """
        other = copy.copy(self)
        other._bind_user(user)  # noqa: SLF001 - another of our own
        return other

    def _bind_user(self, user: str | None) -> None:
        base = self._root
        if user is not None:
            if not _USER.fullmatch(user) or unicodedata.normalize("NFC", user) != user:
                raise Refused(
                    f"{user!r:.80} is no user id: use letters, digits, - _ and . (at most 64, "
                    "beginning with a letter or digit, not ending in a dot)"
                )
            base += f"users/{user}/"
        self.user = user
        self._pages = Pages(self.store, base, self._limit)
        self._log = Log(self.store, base)
        self._reader = Reader(self._pages, self._recall, self._half_life, self._today)
        dated = self._half_life is not None
        self._writer = Writer(self.store, self._pages, self._recall, self._today, dated=dated)

    # Tools

    @tool("replaces")
    @redacts("content", "category", named_by="category")
    def remember(
        self,
        content: str,
        category: str = "general",
        *,
        by: Speaker = "owner",
        expected_version: str | None = None,
    ) -> dict[str, Any]:
        """Keep something about the user: a preference, a habit, a fact, a correction.

        A statement that the new one contradicts is replaced by it, and kept as no longer true; what
        is there already is not added twice. The answer says what was replaced.

        Args:
            content: One statement, such as `User prefers dark mode`.
            category: The heading it belongs under: `preference`, `style`, `identity`, …
            by: Who said it: `owner`, the user; `agent`, you or another assistant; `document`, a
                file, a page or a tool; `other`, somebody else. Only what the user said is theirs.
            expected_version: Only if MEMORY.md is still this version (`absent`: not there yet).

        Returns:
            The receipt: `added` (false for what was there already), citation, category, version,
            `replaced` with text, citation, version and reason of each old entry.

        Raises:
            Conflict: MEMORY.md is not the expected version; nothing was written.
            Refused: The content or the category is empty, or the category too long.
        """
        return self._add(content, category, expected_version, by=by)

    @tool("reads")
    def memory_recall(
        self,
        query: str = "",
        mode: Literal["search", "full", "grep"] = "search",
        *,
        limit: int = 10,
        start: int = 0,
        context: int = 0,
        at: date | None = None,
    ) -> str:
        """Look up what is known about the user.

        `search` finds entries by words and by meaning, best first, each with its category and
        citation. `grep` finds the query as it is written, also within words. `full` gives the whole
        of MEMORY.md, and of the pages that it goes on in.

        Args:
            query: Words, in any language; not needed with `full`.
            mode: `search`, `grep` or `full`.
            limit: Most entries that `search`, or lines that `grep` gives.
            start: How many characters `full` skips, as the end of an earlier answer says.
            context: How many lines `grep` shows before and after each, at most 20.
            at: With `search`, what was true on this day.

        Raises:
            QueryError: There is no query to search for, the mode is another, a number is negative,
                or a day is given with another mode.
        """
        if at is not None and mode != "search":
            raise QueryError(f"at is a day for mode 'search', not for {mode!r:.40}")
        if limit < 1 or start < 0:
            raise QueryError("limit is 1 or more, start is 0 or more")
        main = self._pages.main
        # before the text, so that a change in between is a conflict and not a loss
        versions = {main: self.store.version(main) or "absent"}
        if mode == "full":
            return VersionedText(self._reader.full(start), versions)
        if mode not in {"search", "grep"}:
            raise QueryError(f"mode is 'search', 'grep' or 'full', not {mode!r:.40}")
        if not query.strip():
            raise QueryError("say what to search for (query), or read everything: mode='full'")
        if mode == "grep":
            found = find_text(
                self.store, query, self._pages.prefixes, limit, context=context, source="note"
            )
            return VersionedText(listed(found, query, limit), versions)
        answer = self.recall(query, limit + 1, at=at)
        shown = [
            f"{number}. [{one.category}] {_indented(one.text)} ({one.citation}{_about(one)})"
            for number, one in enumerate(answer.found[:limit], 1)
        ]
        if not shown:
            shown.append(f"Nothing matches {query!r:.200}.")
        if len(answer.found) > limit:
            shown.append(f"[There is more: the same call with limit={limit * 2}.]")
        return VersionedText("\n".join(shown + [f"[{note}]" for note in answer.notes]), versions)

    @tool("adds")
    def flush(
        self, messages: Sequence[ChatMessage | Message] | str, *, session: str | None = None
    ) -> dict[str, Any]:
        """Keep what is worth it of a conversation that ends: preferences, habits, corrections.

        What is meant only for the moment ("this time", "for now") is left out, and so is what was
        forgotten. What the user asks to forget is shown, and erased only by `forget`. What was kept
        goes to the daily log as well. What a transcript says of "last month" or "until Friday"
        counts from its own day. To flush a session twice, or once more when it has gone on, adds
        only what is new.

        Args:
            messages: The conversation, in order, also as JSON text; or the path of a transcript in
                the store.
            session: The name of the session, if it has one. Without a name two sessions of the
                same words are one.

        Returns:
            `remembered`: the receipt of each statement kept, with its text and the reason;
            `filtered`: text and reason of what the user meant only for then;
            `to_forget`: where the user asks to forget something, `what` it is, with the `passages`
            that hold it and the `token` that `forget` takes, or `similar` ones to be cited;
            `forgotten`: how many sentences were forgotten before, if any were;
            `passed_over`: how many other sentences; `log`: the path of the log, None when there
            was nothing to note.

        Raises:
            NotFound: There is no such transcript.
            InvalidArgument: It is no conversation.
        """
        given = roles_and_texts(self.store, messages)
        texts = [(role, self.store.redact(text)) for role, text in given]
        pairs = [(role, text) for role, (text, _) in texts]
        known = self._log.flushed(pairs, session)
        said = self._day_of(messages)
        told = extract(pairs[known:], now=said, model=self._model)
        tombstones = Tombstones(self.store.side_files())
        classified = [
            found
            for found in told
            if not any(
                text in tombstones
                for text in (found.stored, found.text, pairs[known + found.source][1])
            )
        ]
        remembered = []
        for number, undecided in enumerate(classified):
            by = _SPEAKERS.get(pairs[known + undecided.source][0], "other")
            change = possible_change(undecided, said) if by == "owner" else None
            if change and self._writer.ends(change.stored):
                classified[number] = change
            found = classified[number]
            if found.kind is not None:
                # a correction belongs where the mistake was
                follow = found.kind == "correction"
                done = self._add(found.stored, found.kind, follow=follow, by=by, said=said)
                remembered.append({"text": found.stored, "reason": found.reason, "by": by, **done})
        filtered = [
            {"text": found.text, "reason": found.reason}
            for found in classified
            if found.reason.startswith("ephemeral") and pairs[known + found.source][0] == "user"
        ]
        asked = [found for found in classified if pairs[known + found.source][0] == "user"]
        lines = [_logged(one) for one in remembered]
        lines += [f"left out ({one['reason']}): {one['text']}" for one in filtered]
        written = self._log.add(self._clock(), pairs, session, lines) if lines else None
        counts: Counts = {}
        # of what is noted, kept or left out
        noted = {one.source for one in classified if one.kept or one.reason.startswith("ephemeral")}
        for source in noted:
            add_counts(counts, texts[known + source][1][1])
        if counts and written:
            self.store.log_redactions(written.path, counts)
        # last: their tokens are of what all of this has written
        requests = [
            requested(found.text, found.about, self.forget) for found in requests_to_forget(asked)
        ]
        receipt = {
            "success": True,
            "messages": len(pairs) - known,
            "remembered": remembered,
            "filtered": filtered,
            **({"to_forget": requests} if requests else {}),
            **({"forgotten": len(told) - len(classified)} if len(classified) < len(told) else {}),
            "passed_over": len(classified) - len(lines) - len(requests),
            "log": written and written.path,
        }
        return with_redactions(self.store, receipt, counts)

    def _forget(self, what: str, token: str) -> ForgetAnswer:
        return forget(self.store, what, token, self._own)

    @property
    def _own(self) -> list[str]:
        """The files and folders of this profile."""
        return [*self._pages.prefixes, self._log.folder]

    # For the program around the agent

    @checks_arguments
    def plan_forget(self, what: str) -> Forgotten:
        """Return all that `forget(what)` would erase, however much; nothing is changed.

        Raises:
            QueryError, Refused, NotFound, FormatError: As `forget`.
        """
        return forgotten(self.store, what, "", self._own)

    @checks_arguments
    def recall(self, query: str, limit: int = 10, *, at: date | None = None) -> ProfileHits:
        """Return up to `limit` entries that answer `query`, best first; see `Reader.recall`.

        `at` asks for what was true on that day.
        """
        at_least(1, limit=limit)
        return self._reader.recall(query, limit, given_day(at, "at"))

    def categories(self) -> dict[str, int]:
        """Return how many entries each category has, in the order of MEMORY.md."""
        return self._reader.categories()

    @checks_arguments
    def entries(
        self,
        category: str | None = None,
        *,
        limit: int = 100,
        start: int = 0,
        at: date | None = None,
        past: bool = False,
    ) -> list[ProfileEntry]:
        """Return entries of one category, or of all, oldest first; see `Reader.entries`."""
        at_least(0, limit=limit, start=start)
        when = given_day(at, "at")
        return self._reader.entries(category, limit=limit, start=start, at=when, past=past)

    @checks_arguments
    @redacts("content")
    def correct(
        self, citation: str, content: str, *, expected_version: str | None = None
    ) -> dict[str, Any]:
        r"""Put other words in the place of one entry, whatever they say: a person corrects it.

        It stays where it is, with its days, and is the owner's now. The old text goes to the
        history. Unlike `remember`, nothing else is compared with it.

        Args:
            citation: Of the entry, as `entries` and `recall` give it.
            content: One statement.
            expected_version: Only if the file of the entry is still this version.

        Returns:
            The receipt: path, version, citation, category.

        Raises:
            Conflict: The file is not the expected version; nothing was written.
            NotFound: No entry begins at this line.
            Refused: The citation is not of this profile, or there is nothing in the content.
            FormatError: The entry does not stand by itself in its file.

        >>> import commonplace, tempfile
        >>> memory = Profile(commonplace.open(tempfile.mkdtemp()))
        >>> kept = memory.remember("User lives in Berln", "identity")
        >>> _ = memory.correct(kept["citation"], "User lives in Berlin")
        >>> [entry.text for entry in memory.entries()]
        ['User lives in Berlin']
        """
        return self._writer.correct(citation, content, expected_version)

    @checks_arguments
    def inject(
        self,
        query: str = "",
        *,
        budget: int = injector.BUDGET,
        skip_memory: bool = False,
        measure: Callable[[str], int] = len,
        cite: bool = True,
    ) -> Injection:
        r"""Return what of the memory goes into a prompt, framed as data, with its receipt.

        60 % of the budget is for MEMORY.md, with the user's name and "identity" first, then "style"
        and "preference", 40 % for what answers the query; what one share leaves is for the other.
        Entries go in whole, each once; the heading says how many are not shown.

        Args:
            query: What the user asks now; empty: nothing is searched for.
            budget: The most that the text may measure, frame included.
            skip_memory: This request needs no memory: nothing is read.
            measure: What a text measures: characters, or a tokenizer's count of tokens.
            cite: Say after each entry where it lies; the receipt says so in any case.

        Raises:
            InvalidArgument: The budget is negative.

        >>> import commonplace, tempfile
        >>> memory = Profile(commonplace.open(tempfile.mkdtemp()))
        >>> _ = memory.remember("User prefers Python for coding tasks", "preference")
        >>> print(memory.inject().text)
        <user_memory>
        ## Memory Profile
        - User prefers Python for coding tasks (MEMORY.md#L8, owner)
        </user_memory>
        """
        if skip_memory:
            return Injection("", (), (), measure(""), ("skipped: this request needs no memory",))
        main = self._pages.main
        profile = [
            (entry.category, _piece(profile_entry(main, entry)))
            for entry in self._pages.entries(main)
            if not entry.mark.is_past(self._today())
        ]
        notes: tuple[str, ...] = ("no query: nothing was searched for",)
        found: list[Piece] = []
        if query.strip():
            # what is no longer true stays out, whatever is asked
            answer = self.recall(query, CANDIDATES, at=self._today())
            found, notes = [_piece(one) for one in answer.found], answer.notes
        return replace(injector.inject(profile, found, budget, measure, cite=cite), notes=notes)

    # What they are made of

    def _today(self) -> date:
        return self._clock().date()

    def _day_of(self, messages: object) -> date:
        """Return the day a conversation ended on: that of its transcript, or today."""
        now = self._clock()
        time = last_time(self.store, messages)
        return (
            now.date()
            if time is None
            else min(datetime.fromtimestamp(time, now.tzinfo), now).date()
        )

    def _add(
        self,
        content: str,
        category: str,
        expected_version: str | None = None,
        *,
        follow: bool = False,
        by: Speaker = "owner",
        said: date | None = None,
    ) -> dict[str, Any]:
        title = heading(category)
        return self._writer.add(content, title, expected_version, follow=follow, by=by, said=said)


def _logged(one: Mapping[str, Any]) -> str:
    """Return the line of the log about a statement that was kept."""
    old_texts = "; ".join(old["text"] for old in one["replaced"])
    known = "" if one["added"] else " (known already)"
    said = "" if one["by"] == "owner" else f" (said by: {one['by']})"
    return f"{one['category']}: {one['text']}{said}{known}" + (
        f" (in place of: {old_texts})" if old_texts else ""
    )


def _piece(one: ProfileEntry) -> Piece:
    time = one.since.isoformat() if one.since else None
    return Piece(one.text, one.citation, author_of_speaker(one.by), time=time)


def _about(one: ProfileEntry) -> str:
    """Return since when and until when an entry is true, where it has an end, and who said it."""
    days = [("since", one.since), ("until", one.until)] if one.until else []
    shown = "".join(f", {word} {day.isoformat()}" for word, day in days if day)
    return shown if one.by == "owner" else f"{shown}, said by: {one.by}"


def _indented(text: str) -> str:
    """Return a text as it stands in a list."""
    return text.replace("\n", "\n   ")
