"""The demo: it runs, and each of its screens fits a terminal."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

import commonplace
from commonplace.cli import demo
from commonplace.cli.render import BRIEF, Screen
from commonplace.memories import system_names

# a screen of a terminal, and a little that has gone off its top
LINES = 27


def toured(root: Path | None, width: int | None = None) -> str:
    """Return what the tour prints, in a pipe or on a terminal of a width."""
    screen = Screen()
    screen.out = Console(
        file=io.StringIO(), width=width or 100_000, force_terminal=width is not None,
        color_system=None, highlight=False, markup=False,
    )  # fmt: skip
    demo.tour(root, screen)
    assert isinstance(screen.out.file, io.StringIO)
    return screen.out.file.getvalue()


def screens(text: str) -> dict[str, list[str]]:
    """Return the lines of each screen by its title."""
    found: dict[str, list[str]] = {}
    title = ""
    for line in text.splitlines():
        if line.startswith("== ") or line.endswith("──"):
            title = line.strip("=─ ")
            found[title] = []
        elif title:
            found[title].append(line)
    return found


@pytest.mark.parametrize("width", [80, 120, None])
def test_each_system_fits_on_a_screen(width: int | None) -> None:
    found = screens(toured(None, width))
    tours = list(found)[-len(demo.SYSTEMS) - 2 : -2]
    assert len(tours) == len(demo.SYSTEMS)
    for title in tours:
        assert 10 < len(found[title]) <= LINES, title
        assert max(map(len, found[title])) <= min(width or BRIEF, BRIEF), title


@pytest.mark.parametrize("width", [60, 80])
def test_no_score_is_cut(width: int) -> None:
    hits = [line for line in toured(None, width).splitlines() if re.match(r" \d [\w/]", line)]
    assert hits
    assert all(re.search(r"  \d+\.\d\d$", line) for line in hits), hits


def test_every_system_has_a_screen() -> None:
    shown = {module.__name__.rpartition(".")[2] for module in demo.SYSTEMS}
    assert shown == set(system_names())


def test_what_the_tour_made_is_a_memory(tmp_path: Path) -> None:
    toured(tmp_path / "kept")
    with commonplace.open(tmp_path / "kept") as store:
        assert not store.verify().differences
        paths = {entry.path for entry in store.list()}
    assert "episodes/2026-03.md" in paths
    assert "sessions/--srv-ferrytime--/2026-03/working-memory/detail/2026-03-03-summary.md" in paths
    assert "agents/fog-watch/daily/2026-03-02.md" in paths
    assert "daily/2026-03-03.md" in paths
    assert "agents/importer/archive/episodes/2026-03.md" in paths


def test_nothing_is_left_of_a_tour_without_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    toured(None)
    assert not list(tmp_path.iterdir())
