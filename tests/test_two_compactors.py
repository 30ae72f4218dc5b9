"""Concurrent compaction by two processes: each entry is kept once, and none fails."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

import commonplace
from commonplace.entries.blocks import parse, render
from commonplace.memories import FactsAndEpisodes, FourLayers, OverviewAndDetail

LIVE, ARCHIVE = "episodes/2025-02.md", "archive/episodes/2025-02.md"

PROGRAM = """
import sys
from pathlib import Path
import commonplace
from commonplace.memories import FactsAndEpisodes, FourLayers, OverviewAndDetail
from commonplace.entries.blocks import parse
from commonplace.entries.compaction import archive_blocks

stores = {}
works = {
    "blocks": lambda store: archive_blocks(store, LIVE, parse(store.read(LIVE)), ARCHIVE),
    "layers": lambda store: FourLayers(store).compact("episodic", {"keep_last": 3}),
    "rules": lambda store: FourLayers(store).compact("procedural", {"keep_last": 3}),
    "clear": lambda store: FourLayers(store).clear(),
    "import": lambda store: FourLayers(store).import_json(Path(store.root).parent / "json"),
    "months": lambda store: FactsAndEpisodes(store).summarise_months(),
    "session": lambda store: OverviewAndDetail(store, "s1").compact(1),
    "branch": lambda store: OverviewAndDetail(store, "s1").branch("try"),
    "merge": lambda store: OverviewAndDetail(store, "s1").merge("try"),
}
LIVE, ARCHIVE = "episodes/2025-02.md", "archive/episodes/2025-02.md"
print("ready", flush=True)
for line in sys.stdin:
    root, work = line.rstrip().split("\\t")
    try:
        works[work](stores.get(root) or stores.setdefault(root, commonplace.open(root)))
        print("done", flush=True)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", flush=True)
"""


class Pair:
    """Two processes that do the same thing at the same moment."""

    def __init__(self) -> None:
        self._pair = [
            subprocess.Popen(
                [sys.executable, "-c", PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
        assert [self._read_line(one) for one in self._pair] == ["ready", "ready"]

    @staticmethod
    def _read_line(one: subprocess.Popen[str]) -> str:
        assert one.stdout
        return one.stdout.readline().strip()

    def both(self, work: str, root: Path) -> None:
        for one in self._pair:
            assert one.stdin
            one.stdin.write(f"{root}\t{work}\n")
            one.stdin.flush()
        assert [self._read_line(one) for one in self._pair] == ["done", "done"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._pair:
            one.communicate()


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with Pair() as pair:
        yield pair


def once(store: commonplace.Store, marks: list[str], below: str) -> None:
    """Assert that each mark is in one block of all notes, summaries aside."""
    counts = Counter(
        mark
        for entry in store.list(below)
        for block in parse(store.read(entry.path))
        for mark in marks
        if block.text.strip() == mark
    )
    assert counts == Counter(marks), below


def test_blocks_are_archived_once(root: Path, pair: Pair) -> None:
    with commonplace.open(root) as store:
        for turn in range(6):
            marks = [f"entry {turn} {number}" for number in range(20)]
            store.write(LIVE, "# Live\n\n" + "\n".join(render("An entry", one) for one in marks))
            pair.both("blocks", root)
            once(store, marks, "archive")


def test_episodes_and_rules_are_compacted_once(root: Path, pair: Pair) -> None:
    with commonplace.open(root) as store:
        memory = FourLayers(store)
        marks: list[str] = []
        for turn in range(3):
            for number in range(12):
                for layer in ("episodic", "procedural"):
                    marks.append(f"{layer} {turn} {number}")
                    memory.append(layer, {"content": marks[-1]})
            pair.both("layers", root)
            pair.both("rules", root)
            once(store, marks, "")
            # three that stay, and one summary: an earlier one is in the archive
            assert len(memory._entries("episodic")) == 4
            assert len(memory._entries("procedural")) == 3


def test_a_month_is_summarised_once(root: Path, pair: Pair) -> None:
    with commonplace.open(root) as store:
        marks = [f"- Date: 2025-02-{day:02}\n\nmonthly {day}" for day in range(1, 20)]
        text = "\n".join(render(f"Day {day}", mark) for day, mark in enumerate(marks, 1))
        store.write(LIVE, f"# 2025-02\n\n{text}")
        pair.both("months", root)
        archived = store.read(ARCHIVE)
        assert all(archived.count(f"monthly {day}\n") == 1 for day in range(1, 20))
        assert store.version(LIVE) is None
        page = parse(store.read("episodes/2025.md"))
        assert [block.title for block in page] == ["2025-02"]
        assert FactsAndEpisodes(store).summarise_months() == []


def test_turns_of_a_session_are_summed_up_once(root: Path, pair: Pair) -> None:
    with commonplace.open(root) as store:
        session = OverviewAndDetail(store, "s1")
        for turn in range(3):
            for number in range(6):
                session.append({"role": "user", "content": f"question {turn} {number}"})
                session.append({"role": "assistant", "content": "answer"})
            pair.both("session", root)
            notes = [entry.path for entry in store.list() if "summary" in entry.path]
            assert len(notes) == turn + 1, notes


def test_layers_are_cleared_by_both(root: Path, pair: Pair) -> None:
    with commonplace.open(root) as store:
        memory = FourLayers(store)
        for turn in range(3):
            for number in range(6):
                memory.append("episodic", {"content": f"episode {turn} {number}"})
                memory.append("semantic", {"content": f"fact {number}"})
                memory.append("procedural", {"content": f"rule {turn} {number}"})
            pair.both("clear", root)
            assert [entry.path for entry in store.list()] == []


def test_layers_are_imported_once(root: Path, pair: Pair) -> None:
    with commonplace.open(root) as store:
        memory = FourLayers(store)
        marks = [f"episode {number}" for number in range(20)]
        for mark in marks:
            memory.append("episodic", {"content": mark})
        memory.export_json(root.parent / "json")
        for _ in range(3):
            memory.clear()
            pair.both("import", root)
            assert [entry.content for entry in memory.get_episodic_memory()] == marks


def test_a_branch_is_whole_and_merged_once(root: Path, pair: Pair) -> None:
    with commonplace.open(root) as store:
        session = OverviewAndDetail(store, "s1")
        notes = [f"plan-{number}" for number in range(8)]
        for name in notes:
            session.write_detail(name, "## Plan\n\nas it was")
        session.write_detail("gone", "not needed")
        pair.both("branch", root)
        opened = next(commit for commit in session.branches.log("try") if commit.kind == "branch")
        assert [*opened.files] == ["detail/gone.md", *(f"detail/{name}.md" for name in notes)]
        assert session.branches.files("try") == [*opened.files]
        for name in notes[:4]:
            session.write_detail(name, "## Plan\n\nbetter")
        store.delete(next(e.path for e in store.list() if "/try/detail/gone" in e.path))
        pair.both("merge", root)
        session.branch("main")
        assert session.branches.files("main") == [f"detail/{name}.md" for name in notes]
        contents = [session.read_detail(name).content for name in notes]
        assert contents == ["## Plan\n\nbetter"] * 4 + ["## Plan\n\nas it was"] * 4


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_a_killed_compaction_that_filled_its_archive_note_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("commonplace.memories.four_layers.files.LIMIT", 400)
    with commonplace.open(tmp_path) as store:
        layers = FourLayers(store)
        for number in range(8):
            layers.append("episodic", {"content": f"Episode {number} was long enough. " * 3})
        with monkeypatch.context() as killed:
            killed.setattr(type(store), "update", interrupted)
            with pytest.raises(KeyboardInterrupt):
                layers.compact("episodic", {"keep_last": 2})
        layers.compact("episodic", {"keep_last": 1})
        archived = "".join(
            store.read(entry.path) for entry in store.list("archive") if entry.kind == "note"
        )
    for number in range(7):
        assert archived.count(f"Episode {number} was long enough. " * 3) == 1, number
