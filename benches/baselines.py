"""Baselines of ranked search: tantivy-py, SQLite FTS5 and bm25s, behind one protocol.

Why it exists: a ratio is worth as much as the care taken with the other side. Every baseline gets
sections ready made (see sections.py), its writer kept open, its bulk-load settings, its own way
to ask for ten results without counting the rest; merging and `optimize` after the build are free.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

from benches.sections import CJK, Section

Output = Literal["text", "snippet"]
TITLE, HEADING, BODY = 2.0, 2.0, 1.0


class Change(NamedTuple):
    """A section with a new body, and the whole file as it then reads."""

    section: Section
    file_text: str


class Ranked(Protocol):
    """What the comparison asks of anyone who ranks sections."""

    name: str

    def build(self) -> None:
        """Index everything from nothing, ready to search."""

    def settle(self) -> None:
        """Do what a careful user does once after a bulk load; not timed."""

    def query(self, words: Sequence[str], limit: int, output: Output) -> list[str]:
        """Return the citations of the best sections, having fetched `output` of each."""

    def update(self, change: Change) -> None:
        """Replace one section so that the next query sees it."""

    def sync(self, durable: bool) -> None:
        """Say whether later updates must have reached the disk when they return."""

    def reopen(self) -> None:
        """Open what `build` left on disk; the old handles are dropped first by `close`."""

    def close(self) -> None:
        """Let go of files and memory."""


class Tantivy:
    """tantivy-py: en_stem on three fields, boosts at query time, one writer kept open."""

    name = "tantivy-py"
    fields: ClassVar[list[str]] = ["title", "trail", "body"]
    boosts: ClassVar[dict[str, float]] = {"title": TITLE, "trail": HEADING, "body": BODY}

    def __init__(
        self, folder: Path, sections: Sequence[Section], tokenizer: str = "en_stem"
    ) -> None:
        self._tantivy: Any = import_module("tantivy")
        self._folder, self._sections = folder, sections
        builder = self._tantivy.SchemaBuilder()
        builder.add_text_field("citation", stored=True, tokenizer_name="raw", index_option="basic")
        for field in self.fields:
            builder.add_text_field(field, stored=True, tokenizer_name=tokenizer)
        self._schema = builder.build()
        self._index: Any = None
        self._writer: Any = None
        self._searcher: Any = None

    def build(self) -> None:
        self._folder.mkdir(parents=True)
        self._index = self._tantivy.Index(self._schema, path=str(self._folder))
        self._writer = self._index.writer(heap_size=512_000_000, num_threads=0)
        for section in self._sections:
            self._writer.add_document(self._document(section))
        self._writer.commit()
        self._index.reload()
        self._searcher = self._index.searcher()

    def _document(self, section: Section) -> object:
        return self._tantivy.Document(
            citation=section.citation, title=section.title, trail=section.trail, body=section.body
        )

    def settle(self) -> None:
        if self._writer is not None:
            self._writer.wait_merging_threads()
        self._index.reload()
        self._searcher = self._index.searcher()
        self._writer = None

    def query(self, words: Sequence[str], limit: int, output: Output) -> list[str]:
        # the lenient parser is the one that never raises on odd text
        query, _ = self._index.parse_query_lenient(" ".join(words), self.fields, self.boosts)
        found = self._searcher.search(query, limit, count=False).hits
        documents = [self._searcher.doc(address) for _, address in found]
        if output == "snippet":
            maker = self._tantivy.SnippetGenerator.create(
                self._searcher, query, self._schema, "body"
            )
            for document in documents:
                maker.snippet_from_doc(document).fragment()
        else:
            for document in documents:
                document.get_first("body")
        return [document.get_first("citation") for document in documents]

    def update(self, change: Change) -> None:
        if self._writer is None:
            self._writer = self._index.writer(heap_size=50_000_000, num_threads=1)
        self._writer.delete_documents_by_term("citation", change.section.citation)
        self._writer.add_document(self._document(change.section))
        self._writer.commit()
        self._index.reload()
        self._searcher = self._index.searcher()

    def sync(self, durable: bool) -> None:
        """Nothing: a tantivy commit always syncs its files."""

    def reopen(self) -> None:
        self._index = self._tantivy.Index.open(str(self._folder))
        self._searcher = self._index.searcher()

    def close(self) -> None:
        self._searcher = self._writer = self._index = None


class FullText:
    """SQLite FTS5: weighted bm25(), WAL, one transaction for the build, optimized after it."""

    def __init__(
        self,
        folder: Path,
        sections: Sequence[Section],
        tokenizer: Literal["porter unicode61", "trigram"] = "porter unicode61",
    ) -> None:
        self.name = "FTS5" if tokenizer.startswith("porter") else "FTS5 trigram"
        self._file, self._sections, self._tokenizer = folder / "fts5.db", sections, tokenizer
        self._rows: dict[str, int] = {}
        self._base: sqlite3.Connection | None = None

    @property
    def base(self) -> sqlite3.Connection:
        """The open connection."""
        if self._base is None:
            self._base = sqlite3.connect(self._file, isolation_level=None)
            for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "cache_size=-262144"):
                self._base.execute(f"PRAGMA {pragma}").fetchall()
            self._base.execute("PRAGMA mmap_size=2147483648").fetchall()
        return self._base

    def build(self) -> None:
        self._file.parent.mkdir(parents=True)
        self.base.execute(
            "CREATE VIRTUAL TABLE sections USING fts5("
            f"citation UNINDEXED, title, trail, body, tokenize='{self._tokenizer}')"
        )
        self.base.execute("BEGIN")
        self.base.executemany(
            "INSERT INTO sections(citation, title, trail, body) VALUES (?, ?, ?, ?)",
            (
                (section.citation, section.title, section.trail, section.body)
                for section in self._sections
            ),
        )
        self.base.execute("COMMIT")

    def settle(self) -> None:
        # a map in memory from citation to row saves FTS5 a scan at each update
        self._rows = {section.citation: row for row, section in enumerate(self._sections, 1)}
        self.base.execute("INSERT INTO sections(sections) VALUES ('optimize')")
        self.base.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def query(self, words: Sequence[str], limit: int, output: Output) -> list[str]:
        terms = trigrams(words) if self._tokenizer == "trigram" else words
        if not terms:
            return []
        match = " OR ".join(f'"{term}"' for term in terms)
        # rows first, then their text: 0.6 to 0.7 of the time of one statement with ORDER BY rank
        best = self.base.execute(
            "SELECT rowid FROM sections WHERE sections MATCH ? "
            f"ORDER BY bm25(sections, 0, {TITLE}, {HEADING}, {BODY}) LIMIT ?",
            (match, limit),
        ).fetchall()
        rows = ",".join(str(row) for (row,) in best)
        if output == "snippet":
            fetched = self.base.execute(
                "SELECT rowid, citation, snippet(sections, 3, '[', ']', '…', 32) FROM sections "
                f"WHERE sections MATCH ? AND rowid IN ({rows})",
                (match,),
            )
        else:
            fetched = self.base.execute(
                f"SELECT rowid, citation, body FROM sections WHERE rowid IN ({rows})"
            )
        citations = {row: citation for row, citation, _ in fetched}
        return [citations[row] for (row,) in best]

    def update(self, change: Change) -> None:
        section = change.section
        self.base.execute(
            "UPDATE sections SET body = ? WHERE rowid = ?",
            (section.body, self._rows[section.citation]),
        )

    def sync(self, durable: bool) -> None:
        self.base.execute(f"PRAGMA synchronous={'FULL' if durable else 'OFF'}")

    def reopen(self) -> None:
        _ = self.base

    def close(self) -> None:
        if self._base is not None:
            self._base.close()
            self._base = None


def trigrams(words: Sequence[str]) -> list[str]:
    """Return the trigrams of Chinese runs and the other words that are long enough for trigram."""
    terms: list[str] = []
    for word in words:
        if CJK.fullmatch(word):
            terms += [word[start : start + 3] for start in range(len(word) - 2)]
        elif len(word) > 2:
            terms.append(word)
    return list(dict.fromkeys(terms))


class Bm25s:
    """bm25s on its numba backend with an English stemmer; it has no update and no fields."""

    name = "bm25s"

    def __init__(self, folder: Path, sections: Sequence[Section]) -> None:
        self._bm25s: Any = import_module("bm25s")
        self._stemmer: Any = import_module("Stemmer").Stemmer("english")
        import_module("numba")
        self._folder, self._sections = folder, sections
        self._index: Any = None

    def build(self) -> None:
        texts = [f"{section.title} {section.trail} {section.body}" for section in self._sections]
        tokens = self._bm25s.tokenize(
            texts, stopwords="en", stemmer=self._stemmer, show_progress=False
        )
        self._index = self._bm25s.BM25(backend="numba")
        self._index.index(tokens, show_progress=False)
        self._folder.mkdir(parents=True)
        self._index.save(str(self._folder), show_progress=False)

    def settle(self) -> None:
        self.query(["warm"], 10, "text")  # numba compiles at the first call

    def query(self, words: Sequence[str], limit: int, output: Output) -> list[str]:  # noqa: ARG002 - it has only texts
        tokens = self._bm25s.tokenize(
            [" ".join(words)],
            stopwords="en",
            stemmer=self._stemmer,
            return_ids=False,
            show_progress=False,
        )
        if not tokens[0]:
            return []
        rows, scores = self._index.retrieve(tokens, k=limit, show_progress=False, n_threads=1)
        best = [
            self._sections[row] for row, score in zip(rows[0], scores[0], strict=True) if score > 0
        ]
        for section in best:
            _ = section.body
        return [section.citation for section in best]

    def update(self, change: Change) -> None:
        raise NotImplementedError("bm25s builds once; a change means a new build")

    def sync(self, durable: bool) -> None:
        """Nothing: there are no updates."""

    def reopen(self) -> None:
        self._index = self._bm25s.BM25.load(str(self._folder), backend="numba")

    def close(self) -> None:
        self._index = None
