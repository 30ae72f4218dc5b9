"""Share of questions answered by the first messages and turns found, ours beside FTS5 and ripgrep.

    python -m benches.turns             # the seen half, with the rank of each answer
    python -m benches.turns --unseen    # totals of the unseen half
    python -m benches.turns --more      # as the first, of further questions
    python -m benches.turns --set 2 --unseen    # the questions of the second writer

The questions and transcripts are those of benches/labelled_turns.py. What nobody said is left out
for everybody. A message counts when the pattern matches its text, a turn when it matches the text
of its messages. Ours ranks turns by itself; those of the others are ranked by their best message.
Last comes the time of a query by message and by turn.

Why it exists: the unit of an answer and the formula of its score are chosen by these figures.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from benches.corpora import data, sample_transcript
from benches.labelled_turns import Message, Question, Turn, questions, read_turns

if TYPE_CHECKING:
    import commonplace

Unit = Literal["message", "turn"]

DEPTH = 200  # messages asked for, so that five turns are left of them
FIRST, FEW = 1, 5
HITS = 10
ROUNDS = 5
UNITS: tuple[Unit, ...] = ("message", "turn")
LONGER = 4  # letters of a word worth looking for with ripgrep


class Contender(Protocol):
    """What the comparison asks of a search."""

    name: str

    def search(self, question: str) -> list[Message]:
        """Return the best messages, best first, among those that somebody said."""

    def search_turns(self, question: str) -> list[Turn]:
        """Return the best turns, best first."""

    def close(self) -> None:
        """Let go of files and memory."""


class Ours:
    """`Store.search` over one imported transcript a session."""

    name = "commonplace"

    def __init__(self, folder: Path, lines: Iterable[bytes], turns: Sequence[Turn]) -> None:
        import commonplace  # noqa: PLC0415 - the baselines can be measured without it

        said_by_uuid = {message.uuid: message for turn in turns for message in turn.messages}
        self._turns = turns
        self._messages: dict[tuple[str, int], Message] = {}
        self._store: commonplace.Store = commonplace.open(folder / "root")
        for session, own in by_session(lines).items():
            log = folder / f"{session}.jsonl"
            log.write_bytes(b"".join(own))
            path = f"sessions/{session}/messages.jsonl"
            self._store.transcript(f"sessions/{session}").load(log)
            imported = (folder / "root" / path).read_bytes().splitlines()
            for number, line in enumerate(imported, 1):
                if message := said_by_uuid.get(json.loads(line).get("id")):
                    self._messages[path, number] = message

    def search(self, question: str) -> list[Message]:
        return self._messages_of(self._store.search(question, DEPTH, unit="message"))

    def search_turns(self, question: str) -> list[Turn]:
        # each shows one of its messages
        return fold(self._messages_of(self._store.search(question, DEPTH)), self._turns)

    def seconds(self, question: str, unit: Unit) -> float:
        """Return the time of one query for ten hits with their snippets."""
        began = time.perf_counter()
        for hit in self._store.search(question, HITS, unit=unit):
            _ = hit.snippet
        return time.perf_counter() - began

    def _messages_of(self, hits: Iterable[commonplace.Hit]) -> list[Message]:
        places = ((hit.path, hit.line) for hit in hits)
        return [self._messages[place] for place in places if place in self._messages]

    def close(self) -> None:
        self._store.close()


def by_session(lines: Iterable[bytes]) -> dict[str, list[bytes]]:
    """Return the lines of each session; lines of none are dropped."""
    found = defaultdict(list)
    for line in lines:
        if session := json.loads(line).get("sessionId"):
            found[session].append(line)
    return found


class FullText:
    """SQLite FTS5 with the porter stemmer, words OR-ed, ranked by its BM25."""

    name = "FTS5"

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns = turns
        self._messages = list(chain.from_iterable(turn.messages for turn in turns))
        self._base = sqlite3.connect(":memory:")
        self._base.execute("CREATE VIRTUAL TABLE messages USING fts5(text, tokenize='porter')")
        rows = ((number, message.text) for number, message in enumerate(self._messages))
        self._base.executemany("INSERT INTO messages(rowid, text) VALUES (?, ?)", rows)

    def search(self, question: str) -> list[Message]:
        match = " OR ".join(f'"{word}"' for word in words(question))
        best = self._base.execute(
            "SELECT rowid FROM messages WHERE messages MATCH ? ORDER BY rank LIMIT ?",
            (match, DEPTH),
        )
        return [self._messages[row] for (row,) in best]

    def search_turns(self, question: str) -> list[Turn]:
        return fold(self.search(question), self._turns)

    def close(self) -> None:
        self._base.close()


class Ripgrep:
    """`rg -i` for each longer word of the question; most words first, then the shorter message.

    Of the plain orders tried on the seen half this does best: whole words, words of any length and
    the order of the files are all worse. Without the program Python looks for the same words.
    """

    name = "ripgrep"

    def __init__(self, folder: Path, turns: Sequence[Turn]) -> None:
        self._turns = turns
        self._messages = list(chain.from_iterable(turn.messages for turn in turns))
        self._lines = [" ".join(message.text.lower().split()) for message in self._messages]
        self._file = folder / "messages.txt"
        self._file.write_text("\n".join(self._lines) + "\n", encoding="utf-8")
        self.rows = self.program_rows if shutil.which("rg") else self.python_rows

    def search(self, question: str) -> list[Message]:
        asked = words(question)
        longer = [word for word in asked if len(word) >= LONGER] or asked
        counts = Counter(chain.from_iterable(self.rows(word) for word in longer))
        best = sorted(counts, key=lambda row: (-counts[row], len(self._lines[row])))
        return [self._messages[row] for row in best[:DEPTH]]

    def search_turns(self, question: str) -> list[Turn]:
        return fold(self.search(question), self._turns)

    def program_rows(self, word: str) -> set[int]:
        command = ["rg", "--no-config", "-i", "-F", "-n", "-o", "-e", word, str(self._file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return {int(line.partition(":")[0]) - 1 for line in done.stdout.splitlines()}

    def python_rows(self, word: str) -> set[int]:
        return {row for row, line in enumerate(self._lines) if word in line}

    def close(self) -> None:
        self._file.unlink()


def words(question: str) -> list[str]:
    """Return the different words of a question."""
    return list(dict.fromkeys(re.findall(r"\w+", question.lower())))


def fold(messages: Iterable[Message], turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns of ranked messages, each at the place of its best message."""
    owner = {message.uuid: number for number, turn in enumerate(turns) for message in turn.messages}
    return [turns[number] for number in dict.fromkeys(owner[message.uuid] for message in messages)]


class Figures(NamedTuple):
    """Shares of questions with an answer at rank 1 and among the first 5."""

    first: float
    few: float


def rank(question: Question, texts: Iterable[str]) -> int | None:
    """Return the rank of the first text that answers, from 1."""
    ranks = (place for place, text in enumerate(texts, 1) if question.answered_by(text))
    return next(ranks, None)


def ranks(contender: Contender, asked: Iterable[Question]) -> list[tuple[int | None, int | None]]:
    """Return for each question the ranks of the first message and the first turn that answer."""
    found = []
    for question in asked:
        messages = contender.search(question.question)
        as_message = rank(question, (message.text for message in messages))
        as_turn = rank(question, (turn.text for turn in contender.search_turns(question.question)))
        found.append((as_message, as_turn))
    return found


def figures(found: Sequence[int | None]) -> Figures:
    """Return any@1 and any@5 of the ranks of all questions."""
    shares = [
        sum(place is not None and place <= limit for place in found) / len(found)
        for limit in (FIRST, FEW)
    ]
    return Figures(*shares)


def times(ours: Ours, asked: Sequence[Question]) -> dict[Unit, float]:
    """Return the median time of a query by unit, each the best of some interleaved rounds."""
    best: dict[tuple[Unit, str], float] = {}
    for _ in range(ROUNDS):
        for question in asked:
            for unit in UNITS:
                key = unit, question.question
                best[key] = min(best.get(key, math.inf), ours.seconds(question.question, unit))
    return {unit: median(best[unit, one.question] for one in asked) for unit in UNITS}


def report(which: str, asked: Sequence[Question], lines: Sequence[bytes], *, detail: bool) -> None:
    """Print the figures of all contenders, and with `detail` the rank of each answer."""
    turns = read_turns(lines)
    with tempfile.TemporaryDirectory(prefix="commonplace-bench-turns-") as made:
        folder = Path(made)
        ours = Ours(folder, lines, turns)
        contenders: list[Contender] = [
            ours,
            FullText(turns),
            Ripgrep(folder, turns),
        ]
        found = {one.name: ranks(one, asked) for one in contenders}
        spent = times(ours, asked)
        for one in contenders:
            one.close()
    if detail:
        print("Ranks of the first message / turn that answers:\n")
        for number, question in enumerate(asked):
            told = ", ".join(
                f"{name} {each[number][0] or '-'}/{each[number][1] or '-'}"
                for name, each in found.items()
            )
            print(f"{told}: {question.question} [{question.kind}]")
        print()
    print(f"{len(asked)} questions ({which}), {len(turns)} turns\n")
    print("| search | message any@1 | message any@5 | turn any@1 | turn any@5 |")
    print("|---|--:|--:|--:|--:|")
    for name, each in found.items():
        as_message, as_turn = (figures(column) for column in zip(*each, strict=True))
        shares = " | ".join(f"{share:.3f}" for share in (*as_message, *as_turn))
        print(f"| {name} | {shares} |")
    told = ", ".join(f"{1000 * seconds:.2f} ms by {unit}" for unit, seconds in spent.items())
    print(f"\nA query of ours for {HITS} hits with snippets, p50: {told}")
    if not shutil.which("rg"):
        print("\nripgrep is not installed; Python looked for the same words.")


def main() -> None:
    """Measure one set of questions."""
    parser = argparse.ArgumentParser(description="Ask questions about real transcripts.")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--unseen", action="store_true", help="totals of the unseen half")
    group.add_argument("--more", action="store_true", help="further questions, to tune with")
    parser.add_argument("--set", type=int, choices=(1, 2), default=1, help="the writer")
    options = parser.parse_args()
    if options.more and options.set != 1:
        parser.error("only the first set has further questions; leave out --set")
    if not (data() / "claude-code-sessions.jsonl.xz").is_file():
        raise SystemExit(f"The transcripts are not in {data()}; set COMMONPLACE_BENCH_DATA.")
    which = "unseen" if options.unseen else "more" if options.more else "seen"
    if options.set != 1:
        which = f"{options.set}-{which}"
    sample, _ = sample_transcript()
    lines = sample.read_bytes().splitlines(keepends=True)
    report(which, questions(which), lines, detail=not options.unseen)


if __name__ == "__main__":
    main()
