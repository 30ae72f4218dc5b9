"""Type stub of the native module, built from `rust/python`."""

import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, SupportsIndex, Unpack, final, overload

from commonplace.search_filter import FilterFields
from commonplace.timestamps import When

__all__ = [
    "ENDED",
    "NO_MESSAGE",
    "ArchiveRows",
    "ArchivedFiles",
    "CollectionStats",
    "EngineDocument",
    "Entry",
    "Explanation",
    "FileChanges",
    "Forgotten",
    "FrontMatter",
    "Grep",
    "Hit",
    "Hits",
    "ImportReport",
    "Imported",
    "ImportedSource",
    "MarkdownBlock",
    "Match",
    "Message",
    "MetaComment",
    "Passage",
    "QueryNames",
    "Retained",
    "Revision",
    "SearchFilter",
    "Section",
    "Session",
    "SessionHeader",
    "Status",
    "Store",
    "Verified",
    "Weights",
    "WordScore",
    "Written",
    "__version__",
    "archive_label",
    "archive_row_names",
    "best_first",
    "blocks",
    "by_context",
    "document_hits",
    "engine_documents",
    "front_matter",
    "language_names",
    "memory_left",
    "meta_comment",
    "nearest_codes",
    "rank_candidates",
    "redact",
    "sections",
]

__version__: str
ENDED: float
"""What is left of the score of a statement that no longer holds."""
NO_MESSAGE: str
"""Why nothing was taken of a source that is none of sessions (`ImportedSource.why`)."""

@final
class Section:
    """A heading with the text up to the next one, or what stands before the first.

    `start`, `body` (the text below the heading) and `end` are byte offsets in the file, `line` and
    `end_line` count from 1; `heading` is the trail from the outermost heading to this one,
    empty for a preamble.
    """

    path: str
    heading: tuple[str, ...]
    level: int
    line: int
    end_line: int
    start: int
    body: int
    end: int
    summary: str | None
    category: str | None
    keywords: tuple[str, ...]

def sections(text: str) -> list[Section]:
    """Return the sections of Markdown that lies in no file; their `path` is empty."""

@final
class MarkdownBlock:
    """A list item, or another block of a section: what a note with `unit: item` is indexed by.

    `section` counts the sections from 0, `start` and `end` bytes, `line` and `end_line` from 1;
    `text` are its lines, those of an item without its marker and indentation.
    """

    section: int
    start: int
    end: int
    line: int
    end_line: int
    is_item: bool
    text: str

def blocks(text: str) -> list[MarkdownBlock]:
    """Return the list items and other blocks of Markdown, in order; headings are none."""

@final
class FrontMatter:
    """YAML front matter: its bytes from `start`, behind the first `---`, to `end`, behind the last.

    `fields` are keys, in small letters, and scalars; an item of a list has the key of the list.
    """

    start: int
    end: int
    fields: tuple[tuple[str, str], ...]

def front_matter(text: str) -> FrontMatter | None:
    """Return the front matter of Markdown; None where it has none."""

@final
class MetaComment:
    """The `META` comment that a section begins with: what programs say about it.

    `heading` is the line above it with its end, or empty; `fields` are keys and values as they are
    written; `after` is the text behind the line that ends the comment.
    """

    heading: str
    fields: tuple[tuple[str, str], ...]
    after: str

def meta_comment(text: str) -> MetaComment | None:
    """Return the `META` comment that a text, or its heading, begins with; None where none is."""

def redact(
    text: str, name: str | None = None, known: str | None = None
) -> tuple[str, dict[str, int]] | None:
    """Return a text with placeholders for its secrets, and how many of each kind; None without any.

    `name` is what the whole text is the value of. A secret that stands in `known` stays.
    """

def nearest_codes(blocks: Sequence[bytes], query: bytes, k: int) -> list[int]:
    """Return the positions of the `k` bit codes nearest to one by Hamming distance, nearest first.

    `blocks` hold codes of the length of `query`, a multiple of 8 bytes; positions count through
    all of them.
    """

@final
class Message:
    """One line of a transcript, whatever tool wrote it.

    `text` is what a person or a model wrote, `tools` the input and output of tools, thinking and
    injected text.
    `time` is the text of the record, or a date (RFC 3339) where that counts from 1970; `timestamp`
    the same in seconds since 1970 when understood.
    """

    path: str
    line: int
    offset: int
    role: str
    name: str | None
    time: str | None
    timestamp: float | None
    session: str | None
    id: str | None
    text: str
    tools: str

@final
class Hit:
    """One ranked result: where it is, how it scored, and the passage that matched.

    `highlights` are character ranges in `snippet`; `text` is the whole section or message.
    `line` is where the passage in `snippet` begins, which may be below the heading; `first_line`,
    `end_line`, `start` and `end` (bytes) are those of the whole. `citation` names path and `line`;
    `explain()` and the command `read` take it as it is.

    A turn is a prompt and the messages up to the next one. `line`, `text`, `snippet`, `role`,
    `name` and `time` are those of the message of the reply that answers best, `first_line` is that
    of the prompt, and `citation` names the range: `sessions/s/messages.jsonl#L10-L24`. The command
    `read` shows these lines; `explain()` explains the prompt alone.
    """

    source: Literal["note", "message", "tool"]
    path: str
    line: int
    first_line: int
    end_line: int
    start: int
    end: int
    heading: tuple[str, ...]
    score: float
    snippet: str
    highlights: list[tuple[int, int]]
    citation: str
    text: str
    role: str | None
    name: str | None
    time: str | None
    session: str | None
    category: str | None
    is_turn: bool
    """Whether it is a turn, which has source `message`."""
    prompt: str | None
    """Of a turn, what the person said; None where a transcript begins without a prompt."""
    title: str | None
    """Of a turn, the title of its session, if its transcript says one."""
    project: str | None
    """The folder below `sessions/` that holds the session's own, as imports make it."""
    archived: bool
    """Whether it comes from the archive."""
    until: str | None
    """Of a statement of a note, the last day on which it holds, where its mark says one."""
    ended: bool
    """Whether it is a statement that no longer holds: it is past that day, or struck through.

    Its score is 0.7 of what it would be, so that what holds comes first where both match alike.
    """

@final
class Hits(Sequence[Hit]):
    """Hits, best first, with how far they can be trusted.

    `freshness` is `fresh` when every file was seen as it is now, `stale` when the files could
    not be checked, `partial` when some could not be read; `notes` says which and why, and what
    of the query was not used.

    `confidence`, in 0…1, says how much of what the query asks for the best hit holds, and can be
    compared between queries; 0 without a hit. Where it is low, a note names words that are missing.
    """

    freshness: Literal["fresh", "stale", "partial"]
    confidence: float
    notes: list[str]
    phrase_missed: bool
    """Whether no text holds a phrase of the query, and its words were searched instead."""
    def with_archived(self, archived: Hits, limit: int) -> Hits:
        """Return these hits and those of the archive, which were scored by the same statistics."""
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: SupportsIndex, /) -> Hit: ...
    @overload
    def __getitem__(self, index: slice, /) -> list[Hit]: ...
    def __iter__(self) -> Iterator[Hit]: ...

@final
class Match:
    """One grep match: a message or a line of a note, with its neighbours when asked."""

    path: str
    line: int
    offset: int
    role: str | None
    name: str | None
    time: str | None
    session: str | None
    snippet: str
    highlights: list[tuple[int, int]]
    citation: str
    before: list[tuple[int, str | None, str]]
    """Neighbours as (line, role, snippet), in file order."""
    after: list[tuple[int, str | None, str]]

@final
class Grep(Iterator[Match]):
    """A running scan: iterate for the matches, then read what it saw."""

    def __iter__(self) -> Grep: ...
    def __next__(self) -> Match: ...
    def count(self) -> int:
        """Count the remaining matches without building snippets."""
    matched: int
    lines: int
    bytes: int
    bad_lines: list[str]
    """Lines that hold no readable record, as citations; the first twenty."""
    bad_line_count: int
    notes: list[str]

@final
class Entry:
    """A file of the store as `list` shows it."""

    path: str
    size: int
    modified: float
    kind: Literal["note", "transcript", "other"]
    summary: str | None

@final
class FileChanges:
    """Which files have changed since a revision, as `Store.changes` returns it."""

    revision: int
    """The revision up to which these are all; what the next call is given."""
    is_all: bool
    """Whether no earlier revision was known, so that `changed` has all files."""
    changed: list[Entry]
    """The files that are new or have changed, by path."""
    gone: list[str]
    """Paths at which no file is any longer."""

@final
class Explanation:
    """How the score of a section, a message or a turn comes about.

    The score is the sum of `words` and `session`.
    """

    citation: str
    score: float
    words: list[WordScore]
    """In the order of the query; of a turn first those of the prompt, then those of the reply."""
    session: float
    """What session rescoring adds: the other messages of the session, and those beside it."""
    text: str
    """The parts of the sum with the formula and its numbers, line by line."""

@final
class WordScore:
    """What a word of a query adds to a score."""

    name: str
    """The word as it was searched for: its stem, or a phrase."""
    score: float
    """What it adds; 0 where it is not in the passage."""
    documents: int
    """How many sections and messages have it."""
    fields: list[str]
    """The fields in which it is."""

@final
class Passage:
    """A passage that is forgotten: where it was, and what it said."""

    path: str
    first: int
    """The first line, from 1."""
    last: int
    text: str
    citation: str

@final
class Forgotten:
    """What `Store.forget` erased, or would erase."""

    passages: list[Passage]
    files: list[str]
    """Files that go as a whole, with their history."""
    revisions: int
    """How many old versions hold it."""
    left: list[str]
    """Where it stands that is not written to, and why."""
    token: str
    """A hash of what is erased, for `Store.forget(..., token=)`."""
    erased: bool
    """Whether it is gone; false for a dry run, and where there was nothing."""

@final
class Retained:
    """What `Store.retain` erased, or would erase."""

    sessions: list[str]
    """The transcripts of the sessions."""
    files: list[str]
    """All files that go with them."""
    revisions: list[str]
    """The addresses of old versions."""
    bytes: int
    erased: bool

@final
class Written:
    """What a write did: the stored path, the new version, and where the old text now lies.

    After an append to a transcript, or to a file larger than 1 MiB, `version` is read when it is
    first asked for. It is `"unknown"`, which is the version of no file, when it cannot be read.
    """

    path: str
    version: str
    previous: str | None
    history: str | None
    applied: int

@final
class Revision:
    """A text that the history keeps: its version, and where it lies.

    `time` is when it was put there, in seconds since 1970; `size` is in bytes; `address` is the
    file that holds it, relative to the root.
    """

    version: str
    time: float
    size: int
    address: str

@final
class SessionHeader:
    """What a source says about a session.

    `parent` is the session that started it, `started` the time of its start as written; `title` is
    the host's own, else the first line of the first prompt.
    """

    host: str
    id: str | None
    parent: str | None
    cwd: str | None
    git_branch: str | None
    model: str | None
    title: str | None
    started: str | None

@final
class Imported:
    """What an import took, and what it left out and why.

    Of `trailing_garbage`, lines with something else behind a whole object, the object was taken.
    `redacted` counts the secrets that were replaced, by kind.
    """

    path: str
    format: str
    messages: int
    skipped: dict[str, int]
    bad_lines: list[int]
    bad_line_count: int
    trailing_garbage: list[int]
    trailing_garbage_count: int
    sessions: list[SessionHeader]
    redacted: dict[str, int]

@final
class ImportedSource:
    """What `Store.import_sessions` took from one source.

    `outcome` is `new`, `grown`, `unchanged` or `skipped`, and `why` says why it was skipped.
    `paths` are the transcripts that hold its sessions, `messages` were added, and `copies` are
    pointed to where they are stored already. `cut_off`: the last line is half-written, and left to
    the next import. `left_out` counts records that are no messages, by kind; numbers of lines are
    those of the source, of one that has grown as of its start. `bad_rows` names the first rows of
    a database that were passed over, each with its table, id and reason.
    """

    source: str
    outcome: Literal["new", "grown", "unchanged", "skipped"]
    why: str | None
    paths: list[str]
    messages: int
    copies: int
    cut_off: bool
    format: str
    left_out: dict[str, int]
    bad_lines: list[int]
    bad_line_count: int
    trailing_garbage: list[int]
    trailing_garbage_count: int
    bad_rows: list[str]
    bad_row_count: int
    sessions: list[SessionHeader]
    redacted: dict[str, int]

@final
class ImportReport:
    """What `Store.import_sessions` did: numbers of sources by outcome, and of messages.

    `places` are the folders in which sources were looked for. `sources` are those that were read or
    skipped; one whose size and time were as they were the last time is only counted.
    """

    places: list[str]
    new: int
    grown: int
    unchanged: int
    skipped: int
    messages: int
    copies: int
    redacted: dict[str, int]
    removed: int
    """Transcripts of unread sources that are no longer in the memory and do not come back."""
    sources: list[ImportedSource]

@final
class Status:
    """The state of a store in numbers.

    `redactions` counts, by kind, the secrets that imports and tools replaced in the files that are
    there.
    """

    root: str
    notes: int
    transcripts: int
    sections: int
    messages: int
    """Messages that a search finds: what people and models said."""
    tool_messages: int
    """Further messages, of tools and of the harness only; `tools=True` finds them."""
    copies: int
    """Messages that hosts copied from one session into another, stored and found once."""
    other_records: int
    """Lines of transcripts that are JSON and no message, such as session records."""
    terms: int
    text_bytes: int
    index_bytes: int
    watching: bool
    snapshot: str
    skipped: list[tuple[str, str]]
    over_limit: list[str]
    """Files of which the memory limit leaves out all or a part."""
    redactions: dict[str, int]
    hidden: list[str]
    """Hidden folders, whose files are left out: those of git, of editors and of other programs."""
    archived: int
    """Transcripts in the archive, which are counted as transcripts as well."""
    archived_messages: int
    """Messages in the archive, which are not counted as messages."""
    bad_line_count: int
    """Lines of transcripts that are no JSON, and conflict markers in notes."""
    bad_lines: list[str]
    """Where the first of these is in each file, and what to do, one sentence a file."""
    recovered: list[str]

@final
class Session:
    """A transcript with messages, and what is known of its session."""

    path: str
    id: str
    """As its host gave it, else the name of its folder."""
    short_id: str
    """The beginning of the id that no other has, of 8 characters or more."""
    host: str
    """The format of its host, such as `claude-code`; empty when unknown."""
    project: str
    """Empty when unknown."""
    cwd: str | None
    git_branch: str | None
    model: str | None
    title: str | None
    """As its host gave it, else the first line of the first prompt."""
    started: float | None
    """Seconds since 1970, as the next two."""
    ended: float | None
    """When its last message was said."""
    modified: float
    """When its file was changed."""
    messages: int
    """Messages that a search finds."""
    tool_messages: int
    """Further messages, of tools and of the harness only."""
    copies: int
    """Messages that another session holds, and this one points to."""
    size: int
    """Bytes."""
    parent: str | None
    """The id of the session that started it."""

@final
class Verified:
    """What a full check of index against files found."""

    files: int
    differences: list[str]
    """One sentence a difference; empty when all is well. The index was repaired."""
    unread: list[str]
    """What could not be read, and so not be compared, and why."""
    notes: list[str]
    """What the index leaves out, bad lines and conflict markers, each with what to do: no damage
    of the index."""

    def with_archived(
        self, differences: list[str], unread: list[str], notes: list[str]
    ) -> Verified:
        """Return this with what a check of the archive found."""

@final
class Weights:
    """Field weights, length norms and k1 of BM25F; all have defaults."""

    def __new__(cls, values: dict[str, float] | None = None) -> Weights: ...
    def as_dict(self) -> dict[str, float]: ...

@final
class SearchFilter:
    """Which documents a search or a grep may find: those that pass every field that is set.

    Immutable; all fields are keyword arguments, and None when not set. A document is a section of
    a note or a message of a transcript; grep has messages and the lines of notes.

    Raises:
        QueryError: Nothing can pass: `since` is not before `until`, or a text is empty.
        ValueError: A field has no such value, as `prefix` a list of nothing.
        EncodingError: A text is not UTF-8.

    >>> import commonplace
    >>> commonplace.SearchFilter(role="user", since="2026-02-01", prefix=["sessions", "a.md"])
    SearchFilter(prefix=('sessions', 'a.md'), since=1769904000.0, role='user')
    """

    def __new__(cls, **fields: Unpack[FilterFields]) -> SearchFilter: ...
    prefix: tuple[str, ...] | None
    """Only files below this folder, or this file; of several, below any of them."""
    source: Literal["note", "message"] | None
    """Only notes, or only messages."""
    since: float | None
    """Only at or after this time (a `When`; seconds since 1970). What has no time does not pass:
    a message has that of its record, a section the date in the metadata of its note."""
    until: float | None
    """Only before this time; else as `since`."""
    role: str | None
    """Only messages of this role (`user`, `assistant`, …)."""
    session: str | None
    """Only messages of this session, named as for `Store.find_session`; of several sessions in one
    transcript, by the name that its messages have."""
    category: str | None
    """Only sections of this category. Grep refuses it: it reads lines."""
    exclude: tuple[tuple[str, int, int], ...] | None
    """Lines to leave out: a path, a folder or a session (as in `session`), its first and last line.
    Such are what an agent still has in its context. Some lines of a session are those of its own
    transcript, not of its subagents. Grep refuses it: it counts no lines."""
    tools: bool
    """Search what went into and came out of tools as well."""
    session_transcripts: list[str]
    """Of a resolved filter: transcripts of that session whose messages do not say so."""
    def is_open(self) -> bool:
        """Say whether every document passes."""
    def admits(self, hit: Hit) -> bool:
        """Say whether a hit passes; prefixes are compared as given, see `Store.predicate`."""

@final
class EngineDocument:
    """A section of a note or a message, as an engine outside of this process stores it."""

    path: str
    start: int
    """First byte in the file."""
    length: int
    """Bytes."""
    line: int
    """Line of the first byte, from 1."""
    hash: int
    """Hash of the bytes, of 64 bits."""
    key: int
    """Hash of all that is indexed, of 64 bits: documents with the same place and key are equal."""
    source: Literal["note", "message", "tool"]
    heading: tuple[str, ...]
    timestamp_ms: int | None
    """Milliseconds since 1970."""
    role: str
    """Who speaks; empty for a section, as the session is. The category is empty for a message."""
    session: str
    category: str
    title: str | None
    """The title of the session of its transcript."""
    text: str
    position: tuple[int, int]
    """Of a message: how many stand before it in its transcript, and the number of its turn. All
    messages of one turn of a file have the same number."""
    lengths: dict[str, int]
    """Terms in each field that it has."""
    def names(self, *, context: bool = True) -> list[str]:
        """Return the names of its terms, each once: an engine counts documents by them.

        `c` and `b` stand before a stem that is in the text, or only beside it; `w` and `v` before a
        word as it is spelled; `h` before either in a heading, `p` in the name of the speaker.
        Without `context` there is nothing that only its neighbours say.
        """
    def impacts(
        self, stats: CollectionStats, weights: Weights | None = None
    ) -> list[tuple[str, float]]:
        """Return `tf~` by name, with the average lengths of `stats`.

        Its score is the sum over `QueryNames.weights` of `weight * tf~ / (k1 + tf~)`.
        """
    def to_json(self) -> str: ...
    @staticmethod
    def from_json(text: str) -> EngineDocument:
        """Make a document from what `to_json` returned.

        Raises:
            FormatError: It is something else.
        """

@final
class ArchivedFiles:
    """The list of archived files as it was read; one that is new has none."""

    version: int | None
    """Of the layout of the rows, if the list says it."""
    next: int
    """A number that no file has or had."""
    has_deleted: bool
    """Rows of the index were deleted, which are still counted in it."""
    is_finished: bool
    """Every change that was begun has ended."""
    is_damaged: bool
    """Some or all of the list is not as it is written; what is damaged is left out."""
    stats: CollectionStats
    """Of the messages of all files, without document frequencies."""
    def __new__(cls) -> ArchivedFiles: ...
    def numbers(self) -> dict[str, int]:
        """Return the number of each file, by path."""
    def documents_of_parts(self, parts: int) -> list[int]:
        """Return how many messages the files of each part have: those whose numbers leave its own
        when they are divided by `parts`.
        """
    def entries(self) -> dict[str, dict[str, Any]]:
        """Return what is written of each file, by path.

        That is `id` (its number), `size`, `mtime_ns`, `messages`, `fields` and `lengths`
        (statistics), `summary` (its session record), `first` and `last` (times).
        """

@final
class ArchiveRows:
    """The rows of a file for the archive, made piece by piece."""

    def __new__(cls, path: str, data: bytes, number: int) -> ArchiveRows:
        """Return those of a file of these bytes, with its number in the archive."""
    def next_rows(self) -> list[str]:
        """Return the next rows; none at the end.

        Raises:
            MemoryLimit: The memory limit does not allow to read a line.
        """
    stats: CollectionStats
    """Of the documents that were returned."""
    summary: str
    """The session record, when all rows were returned."""
    times: list[int | None]
    """Of the first and the last message, in milliseconds since 1970."""

def memory_left() -> int | None:
    """Return how many more bytes the system lets this process take; None if it sets no limit."""

def archive_label(letter: str, text: str) -> str:
    """Return the name of a role (`R`) or a session (`S`) in the archive."""

def archive_row_names(name: str) -> list[str]:
    """Return the names of rows of the archive that stand for a name; a document has one of them."""

def by_context(
    rows: Sequence[tuple[float, tuple[int, int, int, int, int, int]]],
) -> list[tuple[int, bool]]:
    """Return messages by the scores of their rows and of those beside them, the likely best first.

    Args:
        rows: Of each its score, and the columns of its place (`PlaceColumns` in the core).

    Returns:
        For each message the index of its row, or of the row beside it, and whether it is that.
    """

def language_names() -> list[tuple[str, list[str]]]:
    """Return for each language its code, and the names of which a document in it has one."""

def engine_documents(path: str, data: bytes, *, tools: bool = False) -> list[EngineDocument]:
    """Return the documents of a file in file order: sections of a note, messages of a transcript.

    Args:
        path: Where the file is below its root; its name says which kind it is.
        data: Its bytes.
        tools: Extract what went into and came out of tools, in place of what was said.
    """

@final
class CollectionStats:
    """The statistics of documents by which a query is scored; immutable."""

    def __new__(
        cls,
        documents: int = 0,
        docs_with_field: dict[str, int] | None = None,
        lengths: dict[str, int] | None = None,
        doc_freqs: dict[str, int] | None = None,
    ) -> CollectionStats: ...
    @staticmethod
    def of(documents: Sequence[EngineDocument]) -> CollectionStats:
        """Return the statistics of documents, without `doc_freqs`."""
    documents: int
    docs_with_field: dict[str, int]
    """By field, how many documents have it."""
    lengths: dict[str, int]
    """By field, the terms in it over all documents."""
    doc_freqs: dict[str, int]
    """By name, how many documents have it: `QueryNames.names`, and `~` before a pattern."""
    def merged(self, other: CollectionStats) -> CollectionStats:
        """Return the statistics of these documents and others."""
    def without(self, other: CollectionStats) -> CollectionStats:
        """Return the statistics of what is left when some of the documents are removed."""

@final
class QueryNames:
    """A query as it is put to an engine: what to count, and the weight of each name.

    Raises:
        QueryError: The query is empty.
    """

    def __new__(
        cls,
        query: str,
        weights: Weights | None = None,
        languages: Sequence[str] | None = None,
    ) -> QueryNames:
        """Read the words of the query in the languages with these codes; by default in all."""
    query: str
    names: list[str]
    """The names to count documents by."""
    patterns: list[tuple[str, Literal["prefix", "fuzzy", "field"], int, list[str]]]
    """Name, kind, most typos, and the prefix, the word, or the names of the field's words."""
    phrases: list[list[list[str]]]
    """For each phrase the names of its words: a document has one name of each word."""
    excludes: bool
    """Whether documents are left out for what they say."""
    def weights(self, stats: CollectionStats) -> list[tuple[str, float]]: ...
    def without_phrases(self) -> QueryNames:
        """Return the same query for documents that need not hold its phrases."""
    def restricted(self, filter: SearchFilter) -> SearchFilter | str:
        """Return the filter with those of the query beside it, or why nothing can pass."""

def document_hits(
    documents: Sequence[EngineDocument], unit: Literal["turn", "message"]
) -> list[Hit]:
    """Return the hit of each document, in their order, with a score of 0.

    As turns, a message becomes the hit of its turn, shown by the message; all messages of the turn
    must be among the documents. A section stays one. No two documents may be the same.
    """

def rank_candidates(
    documents: Sequence[EngineDocument],
    names: QueryNames,
    stats: CollectionStats,
    *,
    limit: int,
    filter: SearchFilter,
    unit: Literal["turn", "message"],
    weights: Weights | None = None,
) -> Hits:
    """Return the best hits among candidates, ranked as a store ranks its own documents.

    For turns all messages of each turn must be among them.

    Args:
        documents: Candidates, all of text or all of tools.
        names: The query.
        stats: The statistics of the whole collection.
        limit: Most hits.
        filter: Which may be found, sessions by their full ids.
        unit: What a hit of a transcript is.
        weights: Those of the ranking.

    Raises:
        QueryError: Nothing can pass the filter.
    """

def best_first(
    documents: Sequence[EngineDocument],
    names: QueryNames,
    stats: CollectionStats,
    *,
    filter: SearchFilter,
    weights: Weights | None = None,
) -> list[int]:
    """Return the candidates that are found, best first by message, by their indices.

    Raises:
        QueryError: Nothing can pass the filter.
    """

@final
class Store:
    """The engine behind `commonplace.Store`."""

    def __new__(
        cls,
        root: str,
        *,
        create: bool = True,
        watch: bool = True,
        weights: Weights | None = None,
        memory_limit: int | None = None,
    ) -> Store: ...
    root: str
    def read(self, path: str, version: str | None = None) -> str: ...
    def read_bytes(self, path: str) -> bytes: ...
    def lines_at(self, path: str, offsets: Sequence[int]) -> builtins.list[bytes]:
        """Return the lines that begin at these bytes, each with its end."""
    def stamp(self, path: str) -> tuple[int, int, int, int]:
        """Return inode, size, and in ns since 1970 when text and attributes changed."""
    def sessions(
        self, *, project: str | None, since: When | None, until: When | None
    ) -> list[Session]: ...
    def find_session(self, name: str) -> Session | None: ...
    def session(self, name: str) -> Session: ...
    def relative(self, path: str) -> str:
        """Return the path of a file relative to the root, without `./` before it."""
    def relative_folder(self, path: str) -> str:
        """Return the path of a folder so, without `/` behind it."""
    def spelled(self, path: str) -> str:
        """Return the path with those parts in NFC that are not on disk as given."""
    def open_side(self, path: str, mode: Literal["r", "a", "r+", "x"]) -> int:
        """Open a file below `.commonplace` and return its descriptor, which is the caller's."""
    def rename_side(self, source: str, target: str) -> None: ...
    def read_to_change(self, path: str) -> tuple[str, str]:
        """Return the text and its version; `("", "absent")` for a file that is not there."""
    def version(self, path: str) -> str | None: ...
    def history(self, path: str) -> builtins.list[Revision]: ...
    def keep(self, path: str) -> Revision: ...
    def list(self, prefix: str) -> list[Entry]: ...
    def holds(self, prefix: str) -> bool: ...
    def has_tool_messages(self) -> bool: ...
    def write(self, path: str, content: str, expected_version: str | None = None) -> Written: ...
    def append(self, path: str, content: str, expected_version: str | None = None) -> Written: ...
    def patch(
        self, path: str, edits: Sequence[tuple[str, str]], expected_version: str | None = None
    ) -> Written: ...
    def move(self, source: str, target: str, expected_version: str | None = None) -> Written: ...
    def delete(self, path: str, expected_version: str | None = None) -> Written: ...
    def sections(self, path: str) -> builtins.list[Section]: ...
    def documents(self, path: str) -> builtins.list[Hit]: ...
    def turns_of(self, messages: builtins.list[tuple[str, int]]) -> builtins.list[Hit | None]:
        """Return the turns of messages told by path and line, each shown by its message."""
    def revision(self) -> int: ...
    def changes(self, since: int | None = None) -> FileChanges: ...
    def message(self, path: str, line: int) -> Message: ...
    def messages(self, path: str, start: int, limit: int | None) -> builtins.list[Message]: ...
    def turns(self, path: str) -> builtins.list[int]:
        """Return the lines at which the turns of a transcript begin."""
    def append_message(self, path: str, line: bytes) -> int:
        """Append one JSON object as one durable line and return its line number."""
    def log_redacted_text(self, path: str, redacted: dict[str, int]) -> None:
        """Note what was replaced in a text before it came into a file; `status` counts it."""
    def import_transcript(
        self,
        source: str,
        path: str,
        progress: Callable[[int], None] | None,
        *,
        keep_secrets: bool,
    ) -> Imported: ...
    def import_sessions(
        self,
        paths: builtins.list[str],
        hosts: builtins.list[str],
        progress: Callable[[int, int], None] | None,
        *,
        keep_secrets: bool,
    ) -> ImportReport: ...
    def search(
        self,
        query: str,
        limit: int,
        filter: SearchFilter,
        unit: Literal["turn", "message"],
        stats: CollectionStats | None = None,
    ) -> Hits: ...
    def collection_stats(self, query: str) -> CollectionStats:
        """Return the statistics of the notes and messages of the store for a query."""
    def archive_rows(self, path: str, number: int) -> ArchiveRows:
        """Return the rows of a file for the archive, where its number is this."""
    def release_index(self) -> None:
        """Leave the index; the next call that needs it opens it again."""
    def remove_archive_index(self) -> None:
        """Remove the index of the archive, which is made again from the files."""
    def archive_stamp(self) -> tuple[int, int, int] | None:
        """Return what changes with the list of archived files; None where there is none."""
    def archive_list(self) -> ArchivedFiles:
        """Return the list of archived files as it is on the disk now."""
    def archived_documents(
        self,
        rows: Sequence[tuple[int, int, int, int, int, int]],
        with_neighbours: int,
        names: QueryNames | None = None,
    ) -> tuple[builtins.list[EngineDocument], builtins.list[str]]:
        """Return the archived documents of these rows, and the files that have changed since.

        Args:
            rows: Of each the columns of its place (`PlaceColumns` in the core).
            with_neighbours: Of so many of the first, the messages beside them as well.
            names: The query: words that it does not ask for are left out.
        """
    def archived_turns(
        self, documents: Sequence[EngineDocument], names: QueryNames | None = None
    ) -> tuple[builtins.list[EngineDocument], builtins.list[str]]:
        """Return all documents of the turns of archived ones, and the files that have changed."""
    def check_archived(
        self, paths: Sequence[str], rows: Sequence[tuple[int, int, int, int, int, int]]
    ) -> tuple[builtins.list[str], builtins.list[str], builtins.list[str]]:
        """Compare the messages of archived transcripts with all of their rows.

        Returns:
            The paths of those that differ; what could not be read; warnings of malformed lines.
        """
    def no_longer_archived(self) -> builtins.list[str]:
        """Return the archived files that have changed since, or are gone."""
    def archived_files(self) -> builtins.list[tuple[str, int, int]]:
        """Return path, number and messages of each file that is in the archive."""
    def resolved_filter(self, filter: SearchFilter) -> SearchFilter:
        """Return the filter with paths as `spelled` returns them and sessions by full ids."""
    def explanation(
        self, query: str, citation: str, unit: Literal["turn", "message"]
    ) -> Explanation: ...
    def grep(
        self,
        pattern: str,
        filter: SearchFilter,
        *,
        fixed: bool,
        ignore_case: bool | None,
        before: int,
        after: int,
        limit: int | None,
        newest_first: bool,
        width: int,
        keep: bool,
    ) -> Grep: ...
    def forget(
        self,
        texts: Sequence[str],
        lines: Sequence[tuple[str, int, int]],
        filter: SearchFilter,
        *,
        everything: bool,
        dry_run: bool,
        token: str | None,
        live_vectors: Sequence[builtins.bytes] | None,
    ) -> Forgotten: ...
    def retain(
        self,
        *,
        history_since: When | None,
        history_count: int | None,
        sessions_since: When | None,
        session_count: int | None,
        total_bytes: int | None,
        dry_run: bool,
        live_vectors: Sequence[builtins.bytes] | None,
    ) -> Retained: ...
    def has_vectors(self) -> bool:
        """Say whether an embedder has left vectors below `.commonplace`."""
    def status(self) -> Status: ...
    def verify(self) -> Verified: ...
    def wait_for_gram_indexes(self) -> None:
        """Wait until what earlier calls left to be done later is done."""
    def save(self) -> None:
        """Write the snapshot now; closing does it too."""
    def close(self) -> None: ...
