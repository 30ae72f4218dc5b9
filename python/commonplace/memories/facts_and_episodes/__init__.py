"""Facts and episodes: a folder of notes with a summary line each, read when a task needs them.

    facts/user.md        what is true: of the user, the project, preferences
    episodes/2026-02.md  what happened: one file a month, one entry a task

An agent is shown a list of the files with a summary each, and reads those that its task needs.
"""

# Longer than 350 lines: the methods of one class are tools, with docstrings that models read.

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime

from commonplace._core import Written
from commonplace.arguments import at_least, checks_arguments, given_day, has_text
from commonplace.citation import located
from commonplace.entries.compaction import compaction_lock
from commonplace.entries.forgetting import ForgetAnswer, forget
from commonplace.errors import EncodingError
from commonplace.locks import Lock
from commonplace.memories.facts_and_episodes import index_message, summary_line
from commonplace.memories.facts_and_episodes.entries import added, continued, entries, is_closed
from commonplace.memories.facts_and_episodes.index_message import Listed, ListedVersion
from commonplace.memories.facts_and_episodes.months import Months, Span
from commonplace.memories.facts_and_episodes.notes import ARCHIVE, EPISODES, FACTS, Notes
from commonplace.memories.facts_and_episodes.usage import FileUsage, Usage
from commonplace.memories.forget_tool import ForgetTool
from commonplace.memories.registry import memory_system
from commonplace.protocols import ChatModel
from commonplace.recall.matching_lines import find_text, listed
from commonplace.records import receipt
from commonplace.redaction import Counts, add_counts, redacts, with_redactions
from commonplace.store import Store
from commonplace.tools import VersionedText, tool
from commonplace.tools.versioned_text import versioned
from commonplace.typed_dict import TypedDict

_DAY = 86_400


class Patch(TypedDict):
    """A replacement: `oldText` must be in the file exactly once."""

    oldText: str
    newText: str


def _now() -> datetime:
    return datetime.now(UTC)


@memory_system("facts_and_episodes")
class FactsAndEpisodes(ForgetTool):
    r"""Long-term memory as facts and episodes in plain Markdown.

    Every file has a line `> Summary:` under its title. Where nobody wrote one, it is made from the
    keys and entries of the file, and made again by each later change. A line that a person or a
    model wrote is kept for as long as it stands in the file; entries, list items,
    paragraphs and rows of tables that come after it are named behind it
    (`logger fix; latest: Short ID`). Nothing else that somebody wrote
    is changed.

    Args:
        store: Where the files are.
        folder: The folder of this memory in the store, such as `data/memory`; `""` is its root.
        month_limit: The size in bytes from which the file of a month goes on as weeks.
        clock: Tells the time.

    Raises:
        InvalidArgument: An argument is of another type, or the limit below 1.

    >>> import commonplace, tempfile
    >>> memory = FactsAndEpisodes(commonplace.open(tempfile.mkdtemp()))
    >>> memory.memory_write("facts/user.md", "# User Facts\n\n- Name: Zhang San\n")["success"]
    True
    >>> print(memory.index_message(1))
    Available memory:
    - facts/user.md (49B): name
    <BLANKLINE>
    Use memory_read to load relevant files before responding.
    """

    @checks_arguments
    def __init__(
        self,
        store: Store,
        folder: str = "",
        *,
        month_limit: int = 64 << 10,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        at_least(1, month_limit=month_limit)
        self.store = store
        self._folder = folder
        self._clock = clock
        self._usage = Usage(store.side_files())
        self._notes = Notes(store, store.base_of(folder), self._usage)
        self._months = Months(self._notes, month_limit)
        self._turn = Lock()

    def __repr__(self) -> str:
        where = f", {self._folder!r}" if self._folder else ""
        return f"FactsAndEpisodes({self._notes.store!r}{where})"

    # The tools

    @tool("reads")
    def memory_read(self, path: str) -> str:
        """Read a memory file, or what a citation points to, also of what was archived.

        Args:
            path: The file as `memory_list` names it, such as `facts/user.md`, or a citation, such
                as `archive/episodes/2025-01.md#L3-L9`.

        Raises:
            NotFound: There is no such file, or no such line.
            QueryError: After the `#` there is no range of lines.
            Refused: The path leads out of the memory, or is of another one in the same folder.
        """
        file = located(path)[0]
        with self._notes.named_as_given():
            # before the text, so that a change in between is a conflict and not a loss
            versions = {file: self._notes.version(file)}
            text = self._notes.cited(path)
        self._usage.note_read(self._notes.full(file), self._clock().timestamp())
        return VersionedText(text, versions)

    @tool("reads")
    def memory_grep(self, text: str, limit: int = 10, *, context: int = 0) -> str:
        """Find a text in the memory files, as it is written, also within words and in the archive.

        Args:
            text: Taken literally; upper and lower case are one.
            limit: Most lines to return.
            context: How many lines to show before and after each, at most 20.

        Returns:
            Lines with their citations, which `memory_read` takes, in the order of the files.

        Raises:
            QueryError: The text is empty, the limit below 1, or the context out of its range.
        """
        store = self._notes.store
        revision = store.revision()
        own = {entry.path for entry in self._notes.files() if self._notes.is_own(entry)}
        found = find_text(
            store,
            text,
            [self._notes.full("")],
            limit,
            context=context,
            keep=lambda match: match.path in own,
            source="note",
        )
        paths = {self._notes.relative(one.path): one.path for one in found[:limit]}
        shown = listed(found, text, limit, self._notes.relative)
        return versioned(store, shown, paths, revision)

    @tool("replaces")
    @redacts("content", file_name="path")
    def memory_write(
        self, path: str, content: str, *, expected_version: str | None = None
    ) -> dict[str, object]:
        """Create or overwrite a memory file, such as one of facts.

        A line `> Summary: …` in the content is kept as the summary of the file; without one it
        is made from the keys of the facts.

        Args:
            path: The file, such as `facts/user.md`.
            content: The whole new text, Markdown.
            expected_version: The version you have read; if the file is another by now, nothing
                is changed.

        Returns:
            `success`, `path`, `version`, and where the text that was replaced lies.

        Raises:
            Conflict: The file is not the expected version.
            Refused: The path leads out of the memory, is no name for a note, or holds a secret.
        """
        with self._notes.named_as_given():
            written = self._notes.write(path, _text(content), expected=expected_version)
        return self._receipt(written)

    @tool("replaces")
    @redacts(file_name="path")
    def memory_patch(
        self, path: str, patches: Sequence[Patch], *, expected_version: str | None = None
    ) -> dict[str, object]:
        """Replace pieces of a memory file, all of them or none.

        Args:
            path: The file, such as `facts/user.md`.
            patches: Each with `oldText`, which must be in the file exactly once, and `newText`.
            expected_version: The version you have read; if the file is another by now, nothing
                is changed.

        Returns:
            `success`, `appliedCount`, `path`, `version`, and where the text that was replaced lies.

        Raises:
            PatchFailed: An old text is not in the file, or more than once; nothing was changed.
            Conflict: The file is not the expected version.
        """
        edits, counts = self._redacted_edits(path, patches)
        with self._notes.named_as_given():
            first, last = self._notes.patch(path, edits, expected=expected_version)
        counted = {"appliedCount": first.applied, "version": last.version}
        return with_redactions(self.store, {**self._receipt(first), **counted}, counts)

    @tool("adds")
    @redacts("entry", "summary", file_name="path")
    def memory_append(
        self,
        path: str,
        entry: str,
        summary: str | None = None,
        *,
        expected_version: str | None = None,
    ) -> dict[str, object]:
        """Add an entry to a memory file, such as the episodes of a month.

        An entry of a file in `episodes/` has a heading `## …`, a line `- Summary: …` and a line
        `- Date: …`; what is missing is added. An entry with a date of another month goes to the
        file of that one, and when the file of a month has grown large, to that of its week: `path`
        of the answer says where it is.

        Args:
            path: The file, such as `episodes/2026-02.md`; it is made if it is not there.
            entry: Markdown.
            summary: A new summary of the whole file, instead of the one that is made.
            expected_version: The version you have read; if the file is another by now, nothing
                is changed.

        Returns:
            `success`, `path`, `version`, and where the text that was replaced lies; `note` says
            which entries went to another month.

        Raises:
            InvalidArgument: The entry is empty.
            Conflict: The file is not the expected version.
            Refused: The path leads out of the memory, is no name for a note, or holds a secret.
        """
        has_text(entry=_text(entry))
        summary = _text(summary or "")
        today = self._clock().date()
        if span := Span.of(path):
            day = today if f"{today:%Y-%m}" == span.month else None
            block = entries(entry, day, day or span.last_day)
            with self._turn, self._notes.named_as_given():
                done = self._months.append(span, block, today, summary, expected_version)
            moved = [one for one in map(self._receipt, done) if not _is_of(one["path"], span)]
            paths = ", ".join(str(one["path"]) for one in moved)
            note = {"note": f"filed by the date of the entry: {paths}"} if moved else {}
            return {**self._receipt(done[-1]), **note}

        def change(note: str) -> str:
            if path.startswith(EPISODES) or not is_closed(entry):
                return added(note, entries(entry, today))
            return continued(note, entry)

        with self._notes.named_as_given():
            written = self._notes.change(path, change, summary=summary, expected=expected_version)
        return self._receipt(written)

    @tool("reads")
    def memory_list(self) -> list[ListedVersion]:
        """List the memory files with a one-line summary each, their size in bytes and version.

        What was archived is not listed; the summary that took its place names it. Nor is what
        others keep in the same folder: a file elsewhere than in `facts/` and `episodes/` that has
        no line `> Summary:`, which every file written here has.
        """
        return [{**file, "version": self._notes.version(file["path"])} for file in self._listed()]

    def _forget(self, what: str, token: str) -> ForgetAnswer:
        notes = self._notes
        own = [notes.full(folder) for folder in (FACTS, EPISODES, ARCHIVE)]
        own += [entry.path for entry in notes.files() if notes.is_own(entry)]
        with self._turn:
            return forget(notes.store, what, token, own, notes.full, notes.relative)

    @checks_arguments
    def index_message(
        self,
        iteration: int,
        *,
        budget: int | None = 4000,
        measure: Callable[[str], int] = len,
    ) -> str | None:
        """Return the list of the memory files, as the first user message of a task.

        When the list outgrows the budget, the files that were changed or read of late, and those
        read often, come first, and a last line says how many were left out.

        Args:
            iteration: Which turn of the task it is, from 1: the message is given once, at the
                first.
            budget: The most that the message may measure; None for no limit.
            measure: Tells how much a text takes of the budget; default: its characters.

        Returns:
            The message, or None after the first iteration and while there is no memory.
        """
        if budget is not None:
            at_least(0, budget=budget)
        files = self._listed() if iteration == 1 else []
        if not files:
            return None
        return index_message.message(files, self._weight(), budget=budget, measure=measure)

    def facts(self) -> dict[str, str]:
        """Return the whole text of every file of facts by its path, for one who will add to them.

        What is read here does not count as use.
        """
        listed = [file["path"] for file in self._listed()]
        return {path: self._notes.text(path) for path in listed if path.startswith(FACTS)}

    def episode_index(self) -> str:
        """Return the lines of the index that are about episodes; empty while there are none."""
        episodes = [file for file in self._listed() if file["path"].startswith(EPISODES)]
        return "\n".join(index_message.line(file) for file in episodes)

    @checks_arguments
    def summarise_months(
        self, older_than: date | None = None, *, model: ChatModel | None = None
    ) -> list[str]:
        """Put a summary on the page of its year in the place of each old month.

        The entries of the month are copied to `archive/episodes/` and read there again; then the
        summary goes to `episodes/2026.md`, with links to the copies; then the month's own files
        go. What stops in between loses nothing, and is finished by the next call.

        Args:
            older_than: Months that ended before this day; default: a year before this month.
            model: Writes the summaries; default: rules.

        Returns:
            Where the originals lie now, one citation an entry, oldest first.

        Raises:
            CompactionFailed: A copy does not read back, or a summary is empty. The month is as it
                was.
        """
        older_than = given_day(older_than, "older_than")
        if older_than is None:
            today = self._clock().date()
            older_than = date(today.year - 1, today.month, 1)
        with self._turn, compaction_lock(self._notes.store):
            return self._months.summarise(older_than, model)

    # How

    def _listed(self) -> list[Listed]:
        """Return the memory files with their summaries."""
        listed = []
        for entry in self._notes.files():
            path = self._notes.relative(entry.path)
            # of the archive the summaries of the years tell
            if self._notes.is_own(entry) and not path.startswith(ARCHIVE):
                summary = entry.summary or summary_line.make(self._notes.text(path))
                line = "".join(char for char in " ".join(summary.split()) if char.isprintable())
                listed.append(Listed(path=path, summary=line, size=entry.size))
        return listed

    def _receipt(self, written: Written) -> dict[str, object]:
        return {**receipt(written), "path": self._notes.relative(written.path)}

    def _redacted_edits(
        self, path: str, patches: Sequence[Patch]
    ) -> tuple[list[tuple[str, str]], Counts]:
        """Return old and new texts, these without secrets, and how many were replaced.

        A new text is looked at behind what stands before it in its line, which may name it.
        """
        note = self._notes.text(path)
        edits: list[tuple[str, str]] = []
        counts: Counts = {}
        for patch in patches:
            line = note[: max(note.find(patch["oldText"]), 0)].rpartition("\n")[2]
            whole, found = self.store.redact(line + patch["newText"], known=line)
            pairs = enumerate(zip(line, whole, strict=False))
            # a secret may begin there, and end in the new text
            same = next((at for at, (one, other) in pairs if one != other), len(line))
            edits.append((patch["oldText"], whole[same:] if found else patch["newText"]))
            add_counts(counts, found)
        return edits, counts

    def _weight(self) -> Callable[[str], float]:
        """Return a function that tells how often, and how lately, a file was used."""
        uses, now = self._usage.all(), self._clock().timestamp()
        changed = {entry.path: entry.modified for entry in self._notes.files()}

        def weight(path: str) -> float:
            use = uses.get(self._notes.full(path), FileUsage())
            last = max(use.last, changed.get(self._notes.full(path), 0.0))
            return (1 + use.reads) / (1 + max(0.0, now - last) / _DAY)

        return weight


def _is_of(path: object, span: Span) -> bool:
    """Return whether a file is of the month of a span."""
    there = Span.of(str(path))
    return there is not None and there.month == span.month


def _text(text: str) -> str:
    """Return a text that can be written."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise EncodingError(f"the text is not UTF-8: {error}") from None
    return text
