"""Two processes compact the same memory at once: each entry stands once, and is summed up once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Self

import commonplace
from commonplace.blocks import parse, render
from commonplace.memories import FactsAndEpisodes, FourLayers, OverviewAndDetail

LIVE, ARCHIVE = "episodes/2025-02.md", "archive/episodes/2025-02.md"

PROGRAM = """
import sys
import commonplace
from commonplace.memories import FactsAndEpisodes, FourLayers, OverviewAndDetail
from commonplace.blocks import parse
from commonplace.compaction import archive_blocks

store = commonplace.open(sys.argv[1])
works = {
    "blocks": lambda: archive_blocks(store, LIVE, parse(store.read(LIVE)), ARCHIVE),
    "layers": lambda: FourLayers(store).compact("episodic", {"keep_last": 3}),
    "rules": lambda: FourLayers(store).compact("procedural", {"keep_last": 3}),
    "months": lambda: FactsAndEpisodes(store).summarise_months(),
    "session": lambda: OverviewAndDetail(store, "s1").compact(1),
}
LIVE, ARCHIVE = "episodes/2025-02.md", "archive/episodes/2025-02.md"
print("ready", flush=True)
for work in sys.stdin:
    try:
        works[work.strip()]()
        print("done", flush=True)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", flush=True)
"""


class Pair:
    """Two processes that do the same thing at the same moment."""

    def __init__(self, root: Path) -> None:
        self._pair = [
            subprocess.Popen(
                [sys.executable, "-c", PROGRAM, os.fspath(root)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
        assert [self._said(one) for one in self._pair] == ["ready", "ready"]

    @staticmethod
    def _said(one: subprocess.Popen[str]) -> str:
        assert one.stdout
        return one.stdout.readline().strip()

    def both(self, work: str) -> None:
        for one in self._pair:
            assert one.stdin
            one.stdin.write(f"{work}\n")
            one.stdin.flush()
        assert [self._said(one) for one in self._pair] == ["done", "done"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._pair:
            one.communicate()


def once(store: commonplace.Store, marks: list[str], below: str) -> None:
    """Assert that each mark is said by one block of all notes, summaries aside."""
    said = Counter(
        mark
        for entry in store.list(below)
        for block in parse(store.read(entry.path))
        for mark in marks
        if block.text.strip() == mark
    )
    assert said == Counter(marks), below


def test_blocks_are_archived_once(root: Path) -> None:
    with commonplace.open(root) as store, Pair(root) as pair:
        for turn in range(6):
            marks = [f"entry {turn} {number}" for number in range(20)]
            store.write(LIVE, "# Live\n\n" + "\n".join(render("An entry", one) for one in marks))
            pair.both("blocks")
            once(store, marks, "archive")


def test_episodes_and_rules_are_compacted_once(root: Path) -> None:
    with commonplace.open(root) as store, Pair(root) as pair:
        memory = FourLayers(store)
        marks: list[str] = []
        for turn in range(3):
            for number in range(12):
                for layer in ("episodic", "procedural"):
                    marks.append(f"{layer} {turn} {number}")
                    memory.append(layer, {"content": marks[-1]})
            pair.both("layers")
            pair.both("rules")
            once(store, marks, "")
            # three that stay, and one summary: an earlier one is in the archive
            assert len(memory._entries("episodic")) == 4
            assert len(memory._entries("procedural")) == 3


def test_a_month_is_summarised_once(root: Path) -> None:
    with commonplace.open(root) as store, Pair(root) as pair:
        marks = [f"- Date: 2025-02-{day:02}\n\nmonthly {day}" for day in range(1, 20)]
        text = "\n".join(render(f"Day {day}", mark) for day, mark in enumerate(marks, 1))
        store.write(LIVE, f"# 2025-02\n\n{text}")
        pair.both("months")
        archived = store.read(ARCHIVE)
        assert all(archived.count(f"monthly {day}\n") == 1 for day in range(1, 20))
        assert store.version(LIVE) is None
        page = parse(store.read("episodes/2025.md"))
        assert [block.title for block in page] == ["2025-02"]
        assert FactsAndEpisodes(store).summarise_months() == []


def test_turns_of_a_session_are_summed_up_once(root: Path) -> None:
    with commonplace.open(root) as store, Pair(root) as pair:
        session = OverviewAndDetail(store, "s1")
        for turn in range(3):
            for number in range(6):
                session.append({"role": "user", "content": f"question {turn} {number}"})
                session.append({"role": "assistant", "content": "answer"})
            pair.both("session")
            notes = [entry.path for entry in store.list() if "summary" in entry.path]
            assert len(notes) == turn + 1, notes
