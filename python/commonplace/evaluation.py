"""Evaluation of the ranking on labelled sets, through the public search.

A set is a file of groups, one JSON object a line, plain or gzip:
`{"documents": [{"id", "text", "speaker"?, "session"?, "time"?, "heading"?, "path"?}, …],
"queries": [{"text", "relevant": [ids], "useless"?: [ids], "sessions"?}, …]}`. Each group is a
memory of its own. A `useless` document is no answer, as a person has said of what a hook injected.

An answer is a document, or the turn or the session that it is of: then the relevant ones are those
of the relevant documents, unless a query names its `sessions`. A turn begins with a document of a
user. In a chat of two people each message is one, so there only the formula differs.
"""

from __future__ import annotations

import gzip
import math
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

import orjson

from commonplace.errors import FormatError, QueryError
from commonplace.longmemeval import questions
from commonplace.store import Store
from commonplace.store import open as open_store

Unit = Literal["message", "turn", "session"]

DEPTH = 20
# So many hits a hook injects with a prompt
INJECTED = 3
# So many messages are folded to sessions
SESSION_DEPTH = 100
LOG = "messages.jsonl"
# By unit, the fields that put a document into one
UNIT_FIELDS: dict[Unit, tuple[str, ...]] = {
    "message": (),
    "turn": ("speaker", "session"),
    "session": ("session",),
}
# What a file name cannot hold on some system or in some shell
UNFIT = dict.fromkeys(map(ord, "<>:\"|?*;&$`'{}\\"), "-") | dict.fromkeys([*range(32), 127], "-")

Progress = Callable[[str, int, int], None]


@dataclass(slots=True)
class Scores:
    """The metrics of one set, averaged over its queries, as shares of 1; times in ms."""

    set: str
    groups: int = 0
    documents: int = 0
    queries: int = 0
    in_units: int = 0
    """Documents that are of a turn or session, where that is the unit; others are ranked alone."""
    any_at_1: float = 0.0
    any_at_5: float = 0.0
    any_at_10: float = 0.0
    recall_at_5: float = 0.0
    recall_at_10: float = 0.0
    ndcg_at_10: float = 0.0
    mrr: float = 0.0
    useless_at_3: float | None = None
    """Of the queries with useless documents, the share that has one among the best three, which is
    what a hook injects; None where no query has any."""
    p50_ms: float = 0.0
    p99_ms: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return the scores by name, in the order of the table."""
        return asdict(self)


def evaluate(
    files: Sequence[Path],
    *,
    unit: Unit = "message",
    longmemeval: Sequence[Path] = (),
    run: Path | None = None,
    progress: Progress | None = None,
) -> list[Scores]:
    """Score every set in `files`.

    Args:
        files: Labelled sets, `.jsonl` or `.jsonl.gz`.
        unit: What an answer is: a document, or its turn or session.
        longmemeval: Files of LongMemEval; one needs about ten times its size of memory.
        run: Write one line a query here: set, group, query and the ranked document ids.
        progress: Called after each query with the set, the bytes read and their total.

    Returns:
        One `Scores` a file, in the order given. Queries without a relevant answer do not count.

    Raises:
        OSError: A file cannot be read.
        FormatError: A file is no labelled set.
    """
    with ExitStack() as stack:
        out = stack.enter_context(run.open("wb")) if run else None
        scores = [score(file, groups(file, progress), unit, out) for file in files]
        return scores + [score(file, questions(file), unit, out) for file in longmemeval]


def score(
    file: Path, groups: Iterable[Mapping[str, Any]], unit: Unit, out: IO[bytes] | None
) -> Scores:
    """Score the groups of one set; `out` takes the ranking of each query."""
    scores = Scores(file.name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".json"))
    sums: dict[str, float] = {}
    spent: list[float] = []
    useless_first: list[bool] = []
    for number, group in enumerate(groups):
        scores.groups += 1
        scores.documents += len(group["documents"])
        fields = UNIT_FIELDS[unit]
        scores.in_units += sum(any(map(one.get, fields)) for one in group["documents"])
        with tempfile.TemporaryDirectory(prefix="commonplace-eval-") as root:
            for text, relevant, useless, ranked, seconds in answers(group, unit, Path(root)):
                if useless:
                    useless_first.append(not useless.isdisjoint(ranked[:INJECTED]))
                if useless and not relevant:
                    continue
                spent.append(seconds)
                for name, value in metrics(ranked, relevant).items():
                    sums[name] = sums.get(name, 0.0) + value
                if out:
                    line = {"set": scores.set, "group": number, "query": text, "ranked": ranked}
                    out.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
    scores.queries = len(spent)
    for name, value in sums.items():
        setattr(scores, name, value / len(spent))
    if useless_first:
        scores.useless_at_3 = sum(useless_first) / len(useless_first)
    scores.p50_ms, scores.p99_ms = (1000 * quantile(spent, share) for share in (0.5, 0.99))
    return scores


def groups(file: Path, progress: Progress | None = None) -> Iterator[dict[str, Any]]:
    """Yield the groups of a set; `progress` is told how much of the file is read."""
    name, total = file.name, file.stat().st_size
    with file.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        lines = gzip.GzipFile(fileobj=raw) if packed else raw
        for number, line in enumerate(lines, 1):
            try:
                group = orjson.loads(line)
                missing = {"documents", "queries"} - group.keys()
            except (orjson.JSONDecodeError, AttributeError):
                missing = {"a JSON object"}
            if missing:
                why = f"no labelled set, it lacks {sorted(missing)}"
                raise FormatError(f"{file}, line {number}: {why}")
            yield group
            if progress:
                progress(name, raw.tell(), total)


def answers(
    group: Mapping[str, Any], unit: Unit, root: Path
) -> Iterator[tuple[str, list[Any], set[Any], list[Any], float]]:
    """Yield text, relevant and useless ids, ranked ids and seconds of each query of a group."""
    layout = write_corpus(group["documents"], root)
    with open_store(root) as store:
        # opens the index, which the first query would otherwise be charged with
        store.status()
        for query in group["queries"]:
            relevant = relevant_units(query, unit, layout)
            useless = {layout.unit(one, unit) for one in query.get("useless", ())}
            # what is labelled by session alone has no relevant message
            if relevant or not query.get("sessions"):
                ranked, seconds = rank(store, query["text"], unit, layout)
                yield query["text"], relevant, useless, ranked, seconds


def relevant_units(query: Mapping[str, Any], unit: Unit, layout: Layout) -> list[Any]:
    """Return the answers to a query: documents, or their turns or sessions."""
    if unit == "session" and "sessions" in query:
        return [str(session) for session in query["sessions"]]
    return list(dict.fromkeys(layout.unit(one, unit) for one in query["relevant"]))


@dataclass(slots=True)
class Layout:
    """Which document lies where: notes by path, messages by line."""

    notes: dict[str, Any] = field(default_factory=dict)
    messages: list[Any] = field(default_factory=list)
    turns: dict[Any, Any] = field(default_factory=dict)
    """By message, the first of its turn."""
    sessions: dict[Any, Any] = field(default_factory=dict)

    def document(self, source: str, path: str, line: int) -> Any:
        """Return the id of the document that a hit lies in."""
        return self.notes[path] if source == "note" else self.messages[line - 1]

    def unit(self, document: Any, unit: Unit) -> Any:
        """Return the turn or the session of a document; itself where it has none."""
        owner = {"message": {}, "turn": self.turns, "session": self.sessions}[unit]
        return owner.get(document, document)

    def add_message(self, document: Mapping[str, Any]) -> None:
        """Take the next message of the transcript."""
        own, session = document["id"], str(document.get("session") or "")
        before = self.messages[-1] if self.messages else None
        begins = message(document)["role"] == "user" or session != self.sessions.get(before, "")
        self.turns[own] = own if begins or before is None else self.turns[before]
        if session:
            self.sessions[own] = session
        self.messages.append(own)


def write_corpus(documents: Sequence[Mapping[str, Any]], root: Path) -> Layout:
    """Write documents as a person's files: what was said to one transcript, the rest to notes."""
    layout = Layout()
    taken: set[str] = set()
    with (root / LOG).open("wb") as log:
        for number, document in enumerate(documents):
            if "speaker" in document or "session" in document:
                log.write(orjson.dumps(message(document), option=orjson.OPT_APPEND_NEWLINE))
                layout.add_message(document)
                continue
            path = note_path(document.get("path") or f"{number:06}", taken)
            heading = " ".join((document.get("heading") or "").split())
            note = root / path
            note.parent.mkdir(parents=True, exist_ok=True)
            note.write_bytes((f"# {heading}\n\n" * bool(heading) + document["text"]).encode())
            layout.notes[path] = document["id"]
    if not layout.messages:
        (root / LOG).unlink()
    return layout


def message(document: Mapping[str, Any]) -> dict[str, str]:
    """Return a document as one message of a transcript."""
    speaker = document.get("speaker") or "user"
    literal = speaker in ("user", "assistant")
    record = {"role": speaker} if literal else {"role": "user", "name": speaker}
    record["content"] = document["text"]
    for name, value in (("timestamp", document.get("time")), ("session", document.get("session"))):
        if value:
            record[name] = str(value)
    return record


def note_path(wanted: str, taken: set[str]) -> str:
    """Return a legal path for a note, as near to `wanted` as can be and unlike those `taken`.

    >>> taken = set()
    >>> note_path("docs/a?b", taken), note_path("docs/a*b", taken), note_path("../.x/y.md", taken)
    ('docs/a-b.md', 'docs/a-b-2.md', 'x/y.md')
    """
    parts = [part.translate(UNFIT).strip(" .~") for part in wanted.split("/")]
    parts = [part.encode()[:150].decode(errors="ignore").lstrip("-") for part in parts]
    stem = "/".join(part for part in parts if part).removesuffix(".md") or "note"
    path, copy = f"{stem}.md", 1
    while path.casefold() in taken:
        copy += 1
        path = f"{stem}-{copy}.md"
    taken.add(path.casefold())
    return path


def rank(store: Store, query: str, unit: Unit, layout: Layout) -> tuple[list[Any], float]:
    """Return the ids of the best answers to a query, each once, and the seconds it took."""
    limit = SESSION_DEPTH if unit == "session" else DEPTH
    searched: Literal["turn", "message"] = "turn" if unit == "turn" else "message"
    began = time.perf_counter()
    try:
        hits = store.search(query, limit, unit=searched)
    except QueryError:
        return [], time.perf_counter() - began
    seconds = time.perf_counter() - began
    while True:
        found = [layout.document(hit.source, hit.path, hit.line) for hit in hits]
        ranked = list(dict.fromkeys(layout.unit(one, unit) for one in found))
        # a long document answers with several sections: ask on until there are enough others
        if len(ranked) >= DEPTH or len(hits) < limit or unit == "session":
            return ranked[:DEPTH], seconds
        limit *= 2
        hits = store.search(query, limit, unit=searched)


def metrics(ranked: Sequence[Any], relevant: Sequence[Any]) -> dict[str, float]:
    """Return the metrics of one ranking, by the field names of `Scores`.

    >>> metrics(["x", "a"], ["a", "b"])["recall_at_5"], metrics(["x", "a"], ["a", "b"])["mrr"]
    (0.5, 0.5)
    """
    wanted = set(relevant)
    places = [place for place, document in enumerate(ranked, 1) if document in wanted]
    gain = sum(1 / math.log2(place + 1) for place in places if place <= 10)
    ideal = sum(1 / math.log2(place + 1) for place in range(1, min(len(wanted), 10) + 1))

    def within(depth: int) -> int:
        return sum(place <= depth for place in places)

    return {
        "any_at_1": float(within(1) > 0),
        "any_at_5": float(within(5) > 0),
        "any_at_10": float(within(10) > 0),
        "recall_at_5": within(5) / max(len(wanted), 1),
        "recall_at_10": within(10) / max(len(wanted), 1),
        "ndcg_at_10": gain / ideal if ideal else 0.0,
        "mrr": 1 / places[0] if places else 0.0,
    }


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which `share` of the values lie (nearest rank); 0 for none."""
    return sorted(values)[math.ceil(share * len(values)) - 1] if values else 0.0
