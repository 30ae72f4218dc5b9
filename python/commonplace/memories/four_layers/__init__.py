"""Four layers: working, episodic, semantic and procedural memory.

Working memory is a list in this process. The others are notes: episodes by month in
`episodes/2026-02.md`, each fact in a note of its own in `facts/`, rules in `procedures/rules.md`.
Nothing is read before it is asked for, and what a person edits is seen by the next call.

Entries that a person or another system wrote into these notes (blocks without an `id` in META)
are read, searched, counted and exported like all others, but `compact` and `clear` leave them
where they are. What those two take away lies in `archive/` and in the history of the store.
"""

# Longer than 350 lines: the methods of one class are tools, with docstrings that models read.

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

from commonplace.arguments import at_least, check_fields, checks_arguments, has_text
from commonplace.citation import located
from commonplace.entries.compaction import compaction_lock
from commonplace.entries.forgetting import ForgetAnswer, forget
from commonplace.errors import InvalidArgument, NotFound, QueryError
from commonplace.memories.forget_tool import ForgetTool
from commonplace.memories.four_layers.compaction import (
    compact_notes,
    compact_working,
    compacted,
    summary_of,
)
from commonplace.memories.four_layers.entries import KEYS, Record, checked, of_layer
from commonplace.memories.four_layers.json_files import dump, read_files, write_files
from commonplace.memories.four_layers.keyword_scoring import by_terms
from commonplace.memories.four_layers.notes import LayerNotes, StoredEntry
from commonplace.memories.four_layers.types import (
    CompactOptions,
    EntryLike,
    KnowledgeEntry,
    KnowledgeLike,
    Layer,
    MemoryEntry,
    MemoryStats,
    MemoryType,
    OptionsLike,
    as_dataclass,
)
from commonplace.memories.registry import memory_system
from commonplace.paths import path_text
from commonplace.protocols import ChatModel, Embedder
from commonplace.recall.matching_lines import find_text, listed
from commonplace.records import receipt
from commonplace.redaction import redacts, with_redactions
from commonplace.store import Store
from commonplace.tools import tool
from commonplace.tools.cited_text import cited_text
from commonplace.tools.versioned_text import versioned


@memory_system("four_layers")
class FourLayers(ForgetTool):
    r"""Working, episodic, semantic and procedural memory over one store.

    Args:
        store: Where the notes are.
        folder: Folder of this memory in the store; default its root.
        agent: Who writes. It is noted as `agentId` in the metadata of what is appended.
        shared: Whether an agent has its parent's memory: it reads all of it and adds to it under
            its own name. If not, its memory is apart, in `agents/{agent}/` below `folder`.
        max_working_entries: Working memory keeps the last so many entries.
        model: Asked for the summaries of `compact`; without it they are made by rules.
        clock: The time, aware of its zone.
        embedder: Makes vectors, so that paraphrases are found, and rules fire on meaning; default:
            that of the store, in the background, and `covered` says how much has vectors so far.
            Without one words alone find.

    Raises:
        InvalidArgument: An argument is of another type or out of its range.

    >>> import commonplace, tempfile
    >>> memory = FourLayers(commonplace.open(tempfile.mkdtemp()))
    >>> _ = memory.append("episodic", {"content": "Analyzed vulnerabilities in src/"})
    >>> [entry.content for entry in memory.search("episodic", "vulnerability")]
    ['Analyzed vulnerabilities in src/']
    >>> _ = memory.learn(KnowledgeEntry("dataset-format", "CSV with headers"))
    >>> memory.recall("dataset-format").value
    'CSV with headers'
    """

    @checks_arguments
    def __init__(
        self,
        store: Store,
        folder: str = "",
        *,
        agent: str | None = None,
        shared: bool = True,
        max_working_entries: int = 50,
        model: ChatModel | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        embedder: Embedder | None = None,
    ) -> None:
        at_least(1, max_working_entries=max_working_entries)
        base = store.base_of(folder)
        if not shared:
            if not agent or not re.fullmatch(r"\w[\w-]*", agent):
                raise InvalidArgument(
                    f"a memory of its own is named by its agent: letters, digits, - and _, not "
                    f"{agent!r:.60}"
                )
            base = f"{base}agents/{agent}/"
        self.store = store
        self._folder = folder
        self._notes = LayerNotes(store, base, clock, embedder)
        self._base = base
        self._agent = agent
        self._model = model
        self._clock = clock
        self._most = max_working_entries
        self._working: list[MemoryEntry] = []

    def __repr__(self) -> str:
        where = f", {self._folder!r}" if self._folder else ""
        who = f", agent={self._agent!r}" if self._agent else ""
        return f"FourLayers({self.store!r}{where}{who})"

    # The design's own

    @tool("adds")
    @redacts("entry")
    def append(
        self,
        type: MemoryType,  # noqa: A002 - the name in the design
        entry: EntryLike,
        *,
        expected_version: str | None = None,
    ) -> dict[str, Any]:
        """Append an entry to a layer of memory.

        Working memory keeps the last entries only, in this process. An episode is kept for good.
        A semantic entry is a fact under `metadata.key`, or else under its id, and replaces what
        was known under it. A procedural entry is a rule: do what the content says when
        `metadata.condition` holds; without a condition it always holds.

        Args:
            type: The layer.
            entry: What to keep; an id and the time are given to it if it has none.
            expected_version: The version of the newest note of the layer (of a fact: of its note)
                as an earlier answer named it, `absent` for none yet.

        Returns:
            The receipt of the write with the `id` of the entry.

        Raises:
            InvalidArgument: The entry has no content, or a value is of another kind.
            InvalidArgument: Its metadata is nothing that JSON can hold.
            Conflict: The note is not the expected version; nothing was changed.
        """
        layer = _known(type)
        entry = as_dataclass(MemoryEntry, entry)
        metadata = entry.metadata
        if self._agent is not None:
            metadata = {"agentId": self._agent, **(metadata or {})}
        record = checked(
            "episodic",
            {
                "id": entry.id or str(uuid.uuid4()),
                "timestamp": entry.timestamp or self._now(),
                "content": entry.content,
                "metadata": metadata,
            },
            "the entry",
        )
        has_text(content=record["content"])
        answer = {"id": record["id"]}
        if layer == "working":
            if expected_version is not None:
                raise InvalidArgument("working memory is in no file: it has no expected_version")
            self._working.append(MemoryEntry(**record))
            del self._working[: max(0, len(self._working) - self._most)]
            return {"success": True, **answer}
        kept = of_layer(layer, record)
        (written,) = self._notes.add(layer, [kept], expected_version=expected_version)
        return receipt(written) | answer

    @tool("reads")
    def search(
        self,
        type: MemoryType,  # noqa: A002 - the name in the design
        query: str,
        limit: int = 10,
        *,
        scoring: Literal["bm25f", "terms"] = "bm25f",
    ) -> list[MemoryEntry]:
        """Search a layer of memory, best first.

        Facts and rules come as entries: the key or the condition is in their metadata.

        Args:
            type: The layer.
            query: Words.
            limit: Most entries to return.
            scoring: `bm25f` ranks as every search of the store does. `terms` is the algorithm of
                the design, which reads the whole layer: substrings counted, and newer first. The
                working layer, which is in no note, is always searched so.

        Raises:
            QueryError: The query is empty (bm25f; by terms nothing is found).
        """
        _known(type)
        if scoring not in {"bm25f", "terms"}:
            raise InvalidArgument(f'scoring is "bm25f" or "terms", not {scoring!r:.60}')
        at_least(1, limit=limit)
        if scoring == "terms" or type == "working":
            return _copies(by_terms(self._entries(type), query, limit, self._now()))
        return self._with_versions(type, lambda: self._notes.search(type, query, limit))

    @tool("replaces")
    @redacts("knowledge")
    def learn(
        self, knowledge: KnowledgeLike, *, expected_version: str | None = None
    ) -> dict[str, Any]:
        """Learn a fact: a value under a key; what was known under the key is replaced.

        Args:
            knowledge: The key, such as `dataset-format`, and the value.
            expected_version: The version of the note of the key as an earlier answer named it,
                `absent` for none yet.

        Returns:
            The receipt of the write with the `key`; the old text lies in the history it names.

        Raises:
            InvalidArgument: The key or the value is no text.
        """
        fact = as_dataclass(KnowledgeEntry, knowledge)
        timestamp = self._now() if fact.timestamp is None else fact.timestamp
        record = {"key": fact.key, "value": fact.value, "timestamp": timestamp}
        record = checked("semantic", record, "the fact")
        beside = {} if self._agent is None else {"metadata": {"agentId": self._agent}}
        (written,) = self._notes.add(
            "semantic", [(record, beside)], expected_version=expected_version
        )
        return receipt(written) | {"key": fact.key}

    @tool("reads")
    def recall(self, key: str) -> KnowledgeEntry | None:
        """Recall the fact that was learned under a key, or None.

        Args:
            key: Exactly as it was learned.
        """
        for one, version in self._notes.with_versions("semantic", lambda: self._notes.fact(key)):
            record = one.record
            return KnowledgeEntry(record["key"], record["value"], record.get("timestamp"), version)
        return None

    @tool("replaces")
    def compact(
        self,
        type: MemoryType,  # noqa: A002 - the name in the design
        opts: OptionsLike | None = None,
    ) -> dict[str, Any]:
        """Compact a layer: the newest entries stay, a summary takes the place of the older ones.

        Of episodes and rules the originals go to `archive/` first and are read again there, where
        `read_citation` finds them. Rules get no summary, and facts are left as they are.

        Args:
            type: The layer.
            opts: `keep_last` (default 10) entries stay; `summarize_older` (default true).

        Returns:
            `compacted`, how many entries left, `archived`, where they lie now (`path#L3-L90`),
            and `summary`, the id of the entry in their place, if there is one.

        Raises:
            CompactionFailed: The model failed or said nothing, or the archive does not read back.
                Nothing was taken away.
            Conflict: An entry was changed meanwhile; it is as others left it.
        """
        layer = _known(type)
        options = CompactOptions() if opts is None else as_dataclass(CompactOptions, opts)
        check_fields(options)
        keep = options.keep_last
        if keep < 0:
            raise InvalidArgument(f"keep_last is a whole number, 0 or more, not {keep}")
        if layer == "semantic":
            return compacted(0)
        summary = partial(summary_of, model=self._model) if options.summarize_older else None
        if layer == "working":
            return compact_working(self._working, keep, summary)
        with compaction_lock(self.store):
            return compact_notes(self._notes, layer, keep, summary)

    @tool("reads")
    def get_stats(self) -> MemoryStats:
        """Return how much each layer holds, in entries, tokens and bytes."""
        working: list[Record] = [
            {key: value for key, value in asdict(entry).items() if value is not None}
            for entry in self._working
        ]
        records = {layer: [one.record for one in self._notes.entries(layer)] for layer in KEYS}
        characters = sum(len(entry.content) for entry in self._working)
        texts = [dump("episodic", working)]
        texts += [dump(layer, held) for layer, held in records.items()]
        return MemoryStats(
            working_memory_tokens=-(-characters // 4),
            episodic_entry_count=len(records["episodic"]),
            semantic_entry_count=len(records["semantic"]),
            procedural_rule_count=len(records["procedural"]),
            total_storage_bytes=sum(len(text.encode()) for text in texts),
            versions=self._notes.versions(),
        )

    @tool("erases")
    def clear(
        self,
        type: MemoryType | None = None,  # noqa: A002 - the name in the design
    ) -> dict[str, Any]:
        """Clear a layer, or all four; the history keeps what the notes said.

        Args:
            type: The layer; default all.

        Returns:
            `cleared`, how many entries of each layer were taken away. What was written by hand,
            or by another system in the same folders, stays.
        """
        layers = [_known(type)] if type is not None else list(get_args(MemoryType))
        cleared: dict[str, int] = {}
        for layer in layers:
            if layer == "working":
                cleared[layer] = len(self._working)
                self._working.clear()
            else:
                cleared[layer] = self._notes.forget(layer)
        return {"success": True, "cleared": cleared}

    def _forget(self, what: str, token: str) -> ForgetAnswer:
        answer = forget(self.store, what, token, self._notes.folders)
        if token:
            text = " ".join(what.lower().split())
            kept = [
                one for one in self._working if text not in " ".join(one.content.lower().split())
            ]
            self._working[:] = kept
        return answer

    @tool("reads")
    def get_working_memory(self) -> list[MemoryEntry]:
        """Return a copy of the working memory, oldest first."""
        return _copies(self._working)

    @tool("reads")
    def get_episodic_memory(self) -> list[MemoryEntry]:
        """Return a copy of all episodes, in the order in which they were appended."""
        return self._with_versions("episodic", lambda: self._notes.entries("episodic"))

    # Beyond the design

    @tool("reads")
    def grep(self, text: str, limit: int = 10, *, context: int = 0) -> str:
        """Find a text in episodes, facts, rules and the archive, also within words.

        Args:
            text: Taken literally; upper and lower case are one.
            limit: Most lines to return.
            context: How many lines to show before and after each, at most 20.

        Returns:
            Lines with their citations, which `read_citation` takes, in the order of the files.

        Raises:
            QueryError: The text is empty, the limit below 1, or the context out of its range.
        """
        revision = self.store.revision()
        found = find_text(self.store, text, self._folders(), limit, context=context, source="note")
        paths = {one.path: one.path for one in found[:limit]}
        return versioned(self.store, listed(found, text, limit), paths, revision)

    @tool("reads")
    def read_citation(self, citation: str) -> str:
        """Read what a citation points to: an entry, or a range of lines, also of the archive.

        Args:
            citation: Such as `episodes/2026-02.md#L3` or `archive/episodes/2026-02.md#L3-L90`.

        Raises:
            NotFound: There is no such note, or no such line.
            QueryError: It is no citation of this memory.
        """
        if not citation.strip().startswith(tuple(self._folders())):
            raise QueryError(
                f"{citation!r:.80} is of no note here: citations begin with "
                f"{', '.join(self._folders())}"
            )
        revision = self.store.revision()
        path = located(citation.strip())[0]
        if self.store.version(path) is None:
            raise NotFound(f"there is no {citation!r:.80}; `grep` and `compact` give citations")
        text = cited_text(self.store, citation)
        return versioned(self.store, text, {path: path}, revision)

    @property
    def covered(self) -> float | None:
        """The share of the store's documents that have vectors; None without an embedder."""
        return self._notes.covered

    @checks_arguments
    def near_rules(self, task: str, limit: int) -> dict[str, float]:
        """Return how near in meaning the conditions of rules are to a task, by their citations.

        These are cosines of 0.35 and more; none without an embedder.
        """
        return self._notes.near("procedural", task, limit)

    @checks_arguments
    def search_cited(
        self,
        type: Layer,  # noqa: A002 - as in search
        query: str,
        limit: int = 10,
    ) -> list[tuple[MemoryEntry, str]]:
        """Return what `search` finds in a layer of notes, each entry with its citation."""
        found = self._notes.search(_in_notes(type), query, limit)
        return [(one.entry, one.citation) for one in found]

    @checks_arguments
    def cited(self, type: Layer) -> list[tuple[MemoryEntry, str]]:  # noqa: A002 - as in search
        """Return all entries of a layer of notes with their citations, as they were appended."""
        held = self._notes.entries(_in_notes(type))
        entries = _copies([one.entry for one in held])
        return [(entry, one.citation) for entry, one in zip(entries, held, strict=True)]

    @checks_arguments
    def archived(self, type: Layer) -> list[tuple[MemoryEntry, str]]:  # noqa: A002 - as in search
        """Return what was taken out of a layer by `compact`, with citations; facts never are.

        The entry that stands in the place of others names their citations as `archived` in its
        metadata.
        """
        return [(one.entry, one.citation) for one in self._notes.archived(_in_notes(type))]

    def import_json(self, folder: str | PathLike[str]) -> dict[str, Any]:
        """Import `episodic.json`, `semantic.json` and `procedural.json` of the design.

        All is checked before anything is written. What is there already, word for word, is not
        imported twice: an import that was interrupted can be repeated.

        Args:
            folder: Where the files lie, in or out of the store; not all need be there.

        Returns:
            How many entries of each layer were `imported`, how many were `there`, and in which
            files how many half characters were `mended` (they are U+FFFD now).

        Raises:
            FormatError: A file is not in the form of the design; the message says where.
            NotFound: None of the files is there.
        """
        found, mended = read_files(Path(path_text(folder)))
        found, counts = self.store.redact(found)
        with compaction_lock(self.store):
            imported = self._notes.add_new(found)
        there = sum(map(len, found.values())) - sum(imported.values())
        answer = {"success": True, "imported": imported, "there": there, "mended": mended}
        return with_redactions(self.store, answer, counts)

    def export_json(
        self, folder: str | PathLike[str], *, indent: int = 0, overwrite: bool = False
    ) -> None:
        """Write the three JSON files of the design; see `import_json`.

        Args:
            folder: Where to; made if needed.
            indent: Spaces a level, as `JSON.stringify(value, null, indent)`; 0 is on one line.
            overwrite: Replace files that are there and say something else.

        Raises:
            Refused: A file is there and says something else.
        """
        layers = {layer: [one.record for one in self._notes.entries(layer)] for layer in KEYS}
        write_files(Path(path_text(folder)), layers, indent=indent, overwrite=overwrite)

    # Within

    def _now(self) -> int:
        return int(self._clock().timestamp() * 1000)

    def _folders(self) -> list[str]:
        """Return the folders of this memory in the store."""
        return [f"{self._base}{name}/" for name in ("facts", "episodes", "procedures", "archive")]

    def _with_versions(
        self, layer: Layer, read: Callable[[], Sequence[StoredEntry]]
    ) -> list[MemoryEntry]:
        """Return entries that are the caller's to change, with their versions."""
        found = self._notes.with_versions(layer, read)
        return [
            replace(one.entry, metadata=deepcopy(one.entry.metadata), version=version)
            for one, version in found
        ]

    def _entries(self, layer: MemoryType) -> list[MemoryEntry]:
        if layer == "working":
            return self._working
        return [one.entry for one in self._notes.entries(layer)]


def _copies(entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
    """Return entries that are the caller's to change."""
    return [
        replace(entry, metadata=deepcopy(entry.metadata)) if entry.metadata else entry
        for entry in entries
    ]


def _known(layer: MemoryType) -> MemoryType:
    """Return a layer that there is."""
    if layer not in get_args(MemoryType):
        raise InvalidArgument(
            f"type is one of {', '.join(get_args(MemoryType))}, not {layer!r:.60}"
        )
    return layer


def _in_notes(layer: Layer) -> Layer:
    """Return a layer that lies in notes."""
    if layer not in KEYS:
        raise InvalidArgument(f"type is one of {', '.join(KEYS)}, not {layer!r:.60}")
    return layer
