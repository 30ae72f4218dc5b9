"""Paired benchmark rounds: interleaved runs, medians of ratios within a round, the result table.

Why it exists: two figures from two moments of a shared machine prove nothing. In each round every
contender runs once, in alternating order, and a ratio is taken within the round; the table shows
the median over rounds. Ratios read “baseline ÷ ours”: above 1 we need less time or memory.
"""

from __future__ import annotations

import gc
import math
import os
import platform
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Literal

Figures = Mapping[str, float]
Unit = Literal["s", "MB", "B", "B/B", "×"]
OURS = "commonplace"


@dataclass(frozen=True)
class Row:
    """One line of the table; None stands for what could not be measured here."""

    work: str
    corpus: str
    baseline: str
    ours: float | None
    theirs: float | None
    ratio: float | None
    unit: Unit = "s"
    rounds: int = 1
    min_ratio: float | None = None
    max_value: float | None = None
    wrong: str = ""

    def target(self) -> str:
        """Return the minimum ratio or the maximum value asked for, and whether it is met."""
        if self.min_ratio is not None:
            met = self.ratio is not None and self.ratio >= self.min_ratio
            wanted = f"≥ {self.min_ratio:g}×"
            known = self.ratio is not None
        elif self.max_value is not None:
            met = self.ours is not None and self.ours <= self.max_value
            wanted = f"≤ {shown(self.max_value, self.unit)}"
            known = self.ours is not None
        else:
            return ""
        return f"{wanted} {('met' if met else 'MISSED') if known else ''}".strip()


@dataclass
class Table:
    """The rows so far, and the sentences a reader needs to judge them."""

    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, row: Row) -> None:
        """Keep a row and print it at once; long runs should not be silent."""
        self.rows.append(row)
        print(f"  {line(row)}", flush=True)

    def note(self, sentence: str) -> None:
        """Keep a sentence and print it."""
        self.notes.append(sentence)
        print(f"  note: {sentence}", flush=True)

    def compare(
        self,
        work: str,
        corpus: str,
        measured: Mapping[str, Sequence[Figures]],
        figure: str,
        *,
        reference: str = OURS,
        unit: Unit = "s",
        min_ratios: Mapping[str, float] | None = None,
        max_value: float | None = None,
        wrong: Mapping[str, str] | None = None,
    ) -> None:
        """Add one row for each other name in `measured` against `reference`, or that one alone."""
        ours = [figures[figure] for figures in measured.get(reference, ())]
        baselines = [name for name in measured if name != reference] or ["–"]
        for baseline in baselines:
            theirs = [figures[figure] for figures in measured.get(baseline, ())]
            self.add(
                Row(
                    work,
                    corpus,
                    baseline,
                    median(ours) if ours else None,
                    median(theirs) if theirs else None,
                    paired(ours, theirs),
                    unit,
                    min(len(ours) or len(theirs), len(theirs) or len(ours)),
                    (min_ratios or {}).get(baseline),
                    max_value,
                    (wrong or {}).get(baseline) or (wrong or {}).get(reference, ""),
                )
            )


def paired(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """Return the median of baseline ÷ ours over rounds, or None when one side is missing."""
    pairs = [b / a for a, b in zip(ours, theirs, strict=False) if a > 0]
    return median(pairs) if pairs else None


def rounds(
    contenders: Mapping[str, Callable[[], Figures]],
    count: int,
    fewer: Mapping[str, int] | None = None,
    warm: Path | None = None,
) -> dict[str, list[Figures]]:
    """Run every contender once a round, `count` rounds, in reverse order every second time.

    Those named in `fewer` leave after that many rounds; their ratio is over those alone. All files
    in `warm` are read before each run: some machines drop pages that were not read for a minute.
    """
    measured: dict[str, list[Figures]] = {name: [] for name in contenders}
    for number in range(count):
        for name in list(contenders)[:: 1 if number % 2 == 0 else -1]:
            if number < (fewer or {}).get(name, count):
                gc.collect()
                if warm:
                    read_all(warm)
                measured[name].append(contenders[name]())
    return measured


def read_all(folder: Path) -> None:
    """Read every file in a folder, so that its pages are in memory."""
    for file in folder.rglob("*"):
        if file.is_file():
            with file.open("rb", buffering=0) as pages:
                while pages.read(1 << 20):
                    pass


def seconds(work: Callable[[], object]) -> Figures:
    """Return the wall time of one run."""
    start = time.perf_counter()
    work()
    return {"wall": time.perf_counter() - start}


def percentiles(times: Sequence[float]) -> Figures:
    """Return p50 and p99 of single times, by the nearest rank."""
    ordered = sorted(times)
    return {
        "p50": ordered[(len(ordered) - 1) // 2],
        "p99": ordered[math.ceil(len(ordered) * 0.99) - 1],
    }


def shown(value: float | None, unit: Unit) -> str:
    """Return a figure with three digits and a fitting unit."""
    if value is None:
        return "–"
    if unit != "s":
        return f"{value:.3g}{unit}" if unit == "×" else f"{value:,.4g} {unit}"
    for factor, name in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if value * factor >= 1:
            return f"{value * factor:.3g} {name}"
    return f"{value * 1e6:.2g} µs"


def cells(row: Row) -> list[str]:
    """Return the texts of one row of the table."""
    ratio = "–" if row.ratio is None else f"{row.ratio:.3g}×"
    return [
        row.work,
        row.corpus,
        row.baseline,
        shown(row.ours, row.unit),
        shown(row.theirs, row.unit),
        ratio,
        row.target(),
        str(row.rounds),
        f"WRONG: {row.wrong}" if row.wrong else "",
    ]


def line(row: Row) -> str:
    """Return a row for the terminal while the run goes on."""
    return " | ".join(cell for cell in cells(row) if cell)


def machine() -> str:
    """Return processor, cores, memory and system in one line."""
    model = platform.processor() or platform.machine()
    memory = ""
    try:
        for entry in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if entry.startswith("model name"):
                model = entry.split(":", 1)[1].strip()
                break
        total = Path("/proc/meminfo").read_text(encoding="utf-8").split()[1]
        memory = f", {int(total) / 1024**2:.0f} GB"
    except OSError:
        pass
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{model}, {cores} cores{memory}, {platform.system()} {platform.release()}"


def commit() -> str:
    """Return the commit that was measured, marked when files differ from it."""
    here = Path(__file__).resolve().parent
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--exclude=*"],
            cwd=here,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip()


def versions(names: Sequence[str]) -> str:
    """Return the installed versions of Python packages."""
    found = []
    for name in names:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} absent")
    return ", ".join(found)


def report(table: Table, command: str, tools: str) -> str:
    """Return the table as Markdown with machine, date, commit and command."""
    head = [
        "work",
        "corpus",
        "baseline",
        "ours",
        "theirs",
        "baseline ÷ ours",
        "target",
        "rounds",
        "",
    ]
    rows = [head, ["---"] * len(head), *(cells(row) for row in table.rows)]
    today = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return "\n".join(
        [
            "# Results",
            "",
            f"Made by `{command}` on {today}, commit {commit()}.",
            f"Machine: {machine()}, Python {platform.python_version()}. {tools}.",
            "",
            "Medians over interleaved rounds; a ratio is taken within a round and reads",
            "“baseline ÷ ours”: above 1 we are ahead, below 1 behind. Warm page cache for all.",
            "",
            *("| " + " | ".join(text.replace("|", "\\|") for text in row) + " |" for row in rows),
            "",
            *(f"- {note}" for note in table.notes),
            "",
        ]
    )
