"""Notes of the episodic, semantic and procedural layers: read, search, append, archive."""

# Longer than 350 lines: one class, which reads, adds and moves the entries of each layer alike.

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from commonplace._core import Hit, Written
from commonplace.citation import cite
from commonplace.entries import blocks
from commonplace.entries.blocks import Block
from commonplace.entries.compaction import archive_blocks, replace_blocks
from commonplace.errors import NotFound
from commonplace.memories.four_layers.entries import Given, Record, entry_of, record_of, render
from commonplace.memories.four_layers.files import Facts, Series, name_older, take_out
from commonplace.memories.four_layers.json_files import stringify
from commonplace.memories.four_layers.types import Layer, MemoryEntry
from commonplace.protocols import Embedder
from commonplace.recall import HybridSearch
from commonplace.store import Store

_MONTH = r"\d{4}-(?:0[1-9]|1[0-2])"
_RULES = "rules"
NEAR = 0.35
"""The least cosine at which a rule fits by its meaning."""

# How often entries are read again that somebody changes meanwhile
_TRIES = 8


class StoredEntry(NamedTuple):
    """An entry with its layer, its note and its block."""

    layer: Layer
    path: str
    block: Block
    record: Record

    @property
    def is_own(self) -> bool:
        """Whether this system wrote it, and may take it away."""
        return "id" in self.block.meta

    @property
    def entry(self) -> MemoryEntry:
        """The entry as `append` took it."""
        return entry_of(self.layer, self.record, self.block.meta)

    @property
    def citation(self) -> str:
        """Where it lies: `episodes/2026-02.md#L3`."""
        return cite(self.path, self.block.line)


class LayerNotes:
    """The notes of the episodic, semantic and procedural layers below one folder.

    Args:
        store: Where they are.
        base: The folder, empty or with a `/` at its end.
        clock: The time, aware of its zone.
        embedder: Makes vectors, so that a search finds paraphrases too.
    """

    def __init__(
        self,
        store: Store,
        base: str,
        clock: Callable[[], datetime],
        embedder: Embedder | None = None,
    ) -> None:
        self._store = store
        self._hybrid: HybridSearch | None = None
        made = embedder or store.embedder
        if made is not None:
            # entries that are alike are records of their own
            self._hybrid = HybridSearch(
                store, made, duplicates=1, text_of=_meant, background=embedder is None
            )
        self._clock = clock
        self._facts = Facts(store, f"{base}facts/")
        self._series = {
            "episodic": Series(store, f"{base}episodes/", _MONTH, "Episodes {}"),
            "procedural": Series(store, f"{base}procedures/", _RULES, "Rules"),
        }
        self._archives = {
            "episodic": Series(store, f"{base}archive/episodes/", _MONTH, ""),
            "procedural": Series(store, f"{base}archive/procedures/", _RULES, ""),
        }
        # what was read of each layer, and the revision of the store then
        self._cache: dict[Layer, tuple[int, list[StoredEntry]]] = {}
        self._latest = 0

    @property
    def folders(self) -> list[str]:
        """The folders of the notes, those of the archive too."""
        places = [*self._series.values(), *self._archives.values()]
        folders = [self._facts.folder, *(place.folder for place in places)]
        return [folder.rstrip("/") for folder in folders]

    # Reading

    def entries(self, layer: Layer) -> list[StoredEntry]:
        """Return the entries of a layer, in the order in which they were appended."""
        revision = self._store.revision()
        if layer not in self._cache or self._cache[layer][0] != revision:
            found = self._place(layer).blocks()
            entries = [
                StoredEntry(layer, path, block, record_of(layer, block, path))
                for path, block in found
            ]
            self._cache[layer] = (revision, entries)
        return self._cache[layer][1]

    def archived(self, layer: Layer) -> list[StoredEntry]:
        """Return what compactions have taken out of a layer, in the order of the archive."""
        return [
            StoredEntry(layer, path, block, record_of(layer, block, path))
            for path, block in (self._archives[layer].blocks() if layer in self._archives else ())
        ]

    def search(self, layer: Layer, query: str, limit: int) -> list[StoredEntry]:
        """Return up to `limit` entries as the store ranks them."""
        ask = limit
        while True:
            hits = self._hits(layer, query, ask)
            found: dict[str, StoredEntry] = {}
            for hit in hits:
                if len(found) == limit:
                    break
                if one := self._at(layer, hit):
                    found.setdefault(one.citation, one)
            if len(found) == limit or len(hits) < ask:
                return list(found.values())
            # other notes of the folder, or parts of one long entry, were among the hits
            ask *= 4

    @property
    def covered(self) -> float | None:
        """The share of the store's documents that have vectors; None without an embedder."""
        vectors = self._hybrid.vectors if self._hybrid is not None else None
        return None if vectors is None else vectors.covered

    def near(self, layer: Layer, query: str, limit: int) -> dict[str, float]:
        """Return the cosines of entries that are near to a query in meaning, by their citations."""
        if self._hybrid is None:
            return {}
        folder = self._place(layer).folder
        found: dict[str, float] = {}
        for one in self._hybrid.search(query, limit, prefix=folder, source="note"):
            entry = self._at(layer, one.hit)
            if entry and one.cosine is not None and one.cosine >= NEAR:
                found.setdefault(entry.citation, one.cosine)
        return found

    def fact(self, key: str) -> list[StoredEntry]:
        """Return the entry of a key, if there is one; no other note is read."""
        if (found := self._facts.find(key)) is None:
            return []
        path, block = found
        return [StoredEntry("semantic", path, block, record_of("semantic", block, path))]

    def versions(self) -> dict[str, str]:
        """Return the version of the newest note of each series, by layer."""
        return {layer: series.version() for layer, series in self._series.items()}

    def with_versions(
        self, layer: Layer, read: Callable[[], Sequence[StoredEntry]]
    ) -> list[tuple[StoredEntry, str | None]]:
        """Return what is read of a layer, each entry with the version that a write expects.

        That is the version of the newest note, of a fact that of its own. It is None where somebody
        kept writing: a version that is newer than the text would let a change of theirs be lost.
        """
        found: Sequence[StoredEntry] = ()
        for _ in range(_TRIES):
            revision = self._store.revision()
            found = read()
            paths = {one.path for one in found}
            if layer == "semantic":
                versions = {path: self._store.version(path) for path in paths}
            else:
                versions = dict.fromkeys(paths, self._series[layer].version())
            if self._store.revision() == revision:
                return [(one, versions[one.path]) for one in found]
        return [(one, None) for one in found]

    # Writing

    def add(
        self,
        layer: Layer,
        records: Sequence[Given],
        *,
        expected_version: str | None = None,
    ) -> list[Written]:
        """Add checked records to a layer, each with the metadata that it has no place for.

        All are rendered before the first is written.

        Args:
            layer: Facts replace what is there under their key.
            records: Record and further META each, which for a rule is at least its `id`.
            expected_version: That of the newest note, or of the note of the (one) fact.

        Raises:
            ValueError: A record cannot be written; none was.
            Conflict: The note is no longer the expected version.
        """
        if layer == "semantic":
            self._check(layer, records)
            return [self._put_fact(*one, expected_version) for one in records]
        stems = [
            self._month(record["timestamp"]) if layer == "episodic" else _RULES
            for record, _ in records
        ]
        rendered = [render(layer, *one) for one in records]
        return self._series[layer].extend(
            list(zip(stems, rendered, strict=True)), expected_version=expected_version
        )

    def add_new(self, layers: Mapping[Layer, Sequence[Record]]) -> dict[Layer, int]:
        """Add those checked records that are not there yet, word for word.

        All are rendered before the first is written. Of records that are alike, as many are
        added as there are more of than in the layer.

        Returns:
            How many were added to each layer.
        """
        new: dict[Layer, list[Given]] = {}
        for layer, records in layers.items():
            there = Counter(stringify(one.record) for one in self.entries(layer))
            new[layer] = []
            for record in records:
                text = stringify(record)
                if there[text]:
                    there[text] -= 1
                else:
                    rule = {"id": str(uuid.uuid4())} if layer == "procedural" else {}
                    new[layer].append((record, rule))
            self._check(layer, new[layer])
        for layer, records_new in new.items():
            self.add(layer, records_new)
        return {layer: len(records_new) for layer, records_new in new.items()}

    def forget(self, layer: Layer) -> int:
        """Take all entries of our own out of a layer, into the history; return how many."""
        return sum(self._take_out(layer, leaving) for leaving in _by_note(self.entries(layer)))

    def archive_entries(
        self, layer: Layer, leaving: Sequence[StoredEntry], kept: str | None
    ) -> list[str]:
        """Archive entries and take them out; `kept`, a note that stays, says where they are.

        Returns:
            Where they lie now, a range of lines a note.
        """
        ranges = [_range(self._archive(layer, group)) for group in _by_note(leaving)]
        if kept is not None:
            archives = [cited.partition("#")[0] for cited in ranges]
            name_older(self._store, kept, self._place(layer).head(kept), archives)
        for group in _by_note(leaving):
            self._take_out(layer, group)
        return ranges

    def archive_with_summary(
        self, leaving: Sequence[StoredEntry], summary: Callable[[list[str]], MemoryEntry]
    ) -> tuple[MemoryEntry, list[str]]:
        """Archive episodes and put one entry in their place, where the last note of them is.

        Args:
            leaving: One or more entries, oldest first.
            summary: Is given where they lie now, and returns what stands for them.

        Returns:
            The entry, and where the episodes lie.
        """
        *earlier, last = _by_note(leaving)
        ranges = [_range(self._archive("episodic", group)) for group in earlier]
        made: list[MemoryEntry] = []

        def put(citations: list[str]) -> str:
            entry = summary([*ranges, _range(citations)])
            made.append(entry)
            record = {
                "id": entry.id,
                "timestamp": entry.timestamp,
                "content": entry.content,
                "metadata": entry.metadata,
            }
            return render("episodic", record, {})

        done = replace_blocks(
            self._store,
            last[0].path,
            [one.block for one in last],
            self._target("episodic", last),
            put,
        )
        for group in earlier:
            self._take_out("episodic", group)
        return made[-1], [*ranges, _range(done.citations)]

    # Within

    def _hits(self, layer: Layer, query: str, limit: int) -> list[Hit]:
        folder = self._place(layer).folder
        if self._hybrid is None:
            return list(self._store.search(query, limit, prefix=folder, source="note"))
        found = self._hybrid.search(query, limit, prefix=folder, source="note")
        return [one.hit for one in found]

    def _place(self, layer: Layer) -> Series | Facts:
        return self._facts if layer == "semantic" else self._series[layer]

    def _month(self, timestamp: float) -> str:
        """Return the month of an episode; what lies ahead, or before 1970, is not believed."""
        now = self._clock().timestamp()
        at = min(max(timestamp / 1000, 0), now)
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m")

    def _at(self, layer: Layer, hit: Hit) -> StoredEntry | None:
        """Return the entry that a hit is in, or None."""
        # with the line after it: a hit may be the first part of a long entry
        found = blocks.parse(hit.text + self._line_after(hit))
        if found and (found[0].start, found[0].end) == (0, len(hit.text)):
            block = replace(found[0], line=hit.first_line)
        else:
            # a part, or below a heading of somebody's own, or outside of all entries
            try:
                note = self._store.read(hit.path)
            except NotFound:
                # deleted since it was found
                return None
            inside = [
                one
                for one in blocks.parse(note)
                if 0 <= hit.first_line - one.line < note.count("\n", one.start, one.end)
            ]
            if not inside:
                return None
            block = inside[0]
        if not self._place(layer).holds(hit.path, block):
            return None
        return StoredEntry(layer, hit.path, block, record_of(layer, block, hit.path))

    def _line_after(self, hit: Hit) -> str:
        """Return the line after a hit, without reading the note around it."""
        try:
            return self._store.lines_at(hit.path, [hit.end])[0].decode(errors="replace")
        except NotFound:
            # deleted since it was found
            return ""

    def _check(self, layer: Layer, records: Iterable[Given]) -> None:
        """Raise what a record that cannot be written raises."""
        for record, beside in records:
            render(layer, record, beside)

    def _put_fact(
        self, record: Record, beside: Mapping[str, Any], expected_version: str | None
    ) -> Written:
        self._latest = max(self._latest + 1, int(self._clock().timestamp() * 1_000_000))
        latest = self._latest

        def make(old: Block | None) -> str:
            # a key that is learned again keeps its place in the order of the facts
            since = latest if old is None else old.meta.get("since", 0)
            return render("semantic", record, {"since": since, **beside})

        return self._facts.put(record["key"], make, expected_version=expected_version)

    def _target(self, layer: Layer, group: Sequence[StoredEntry]) -> str:
        """Return the archive note for entries of a note; it is bounded as well.

        A run that was killed may have archived some of them, and filled that note: it is taken
        again, for in another one they would stand a second time.
        """
        archive, stem = self._archives[layer], self._series[layer].stem(group[0].path)
        ids = {one.block.meta["id"] for one in group}
        return archive.holding(stem, ids) or archive.current(stem)

    def _archive(self, layer: Layer, group: Sequence[StoredEntry]) -> list[str]:
        leaving = [one.block for one in group]
        return archive_blocks(self._store, group[0].path, leaving, self._target(layer, group))

    def _take_out(self, layer: Layer, group: Sequence[StoredEntry]) -> int:
        path = group[0].path
        head = self._place(layer).head(path)
        return take_out(self._store, path, [one.block for one in group], head)


def _meant(hit: Hit) -> str:
    """Return what an embedder is given of an entry: of a rule its condition, of others all.

    A rule fires on what a task is about, whatever is to be done then.
    """
    found = blocks.parse(hit.text)
    if not found:
        return hit.text
    block = found[0]
    if "/procedures/" in f"/{hit.path}":
        return str(record_of("procedural", block, hit.path)["condition"] or block.text)
    return f"{block.title}\n{block.text}"


def _by_note(entries: Iterable[StoredEntry]) -> list[list[StoredEntry]]:
    """Return the entries that are our own in groups, one a note."""
    groups: dict[str, list[StoredEntry]] = {}
    for one in entries:
        if one.is_own:
            groups.setdefault(one.path, []).append(one)
    return list(groups.values())


def _range(citations: Sequence[str]) -> str:
    """Return citations of one note as one.

    >>> _range(["archive/episodes/2026-02.md#L3", "archive/episodes/2026-02.md#L9"])
    'archive/episodes/2026-02.md#L3-L9'
    """
    first, last = citations[0], citations[-1]
    return first if first == last else f"{first}-{last.rpartition('#')[2]}"
