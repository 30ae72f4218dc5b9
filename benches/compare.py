"""Benchmark suite: search, grep and updates beside other engines, as ratios of one run.

    python -m benches.compare            # full: 100 and 250 MB of notes, Chinese, 2.3 GB
    python -m benches.compare --quick    # minutes: rust-book, lctt-zh, 0.2 GB
    python -m benches.compare --only grep --only ranked

Prints rows as they are measured and writes benches/RESULTS.md (with --quick only when --output is
given). Fails on no ratio; a wrong answer marks its row. Why it exists: anyone must be able to see
where we stand, wins and losses, without trusting us.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from benches import corpora, processes, session_imports, statements, transcripts, updates
from benches.baselines import Bm25s, FullText, Ranked, Tantivy
from benches.commonplace_engine import Ours, missing
from benches.ranked import Makers, MinRatios, Notes, build, first_time_queries, prepare, query
from benches.ratios import OURS, Row, Table, report, versions
from benches.sections import Section

WORKS = ("start", "ranked", "large", "chinese", "grep", "messages", "profile")
PACKAGES = ("tantivy", "bm25s", "numba", "orjson", "commonplace")


class Scale(NamedTuple):
    """How much is measured."""

    notes: str
    times: float
    queries: int
    builds: int
    rounds: int
    repeats: int
    messages: int
    check_targets: bool


QUICK = Scale("rust-book", 2.5, 300, 5, 5, 2, 20_000, check_targets=False)
FULL = Scale("win32-docs", 2.5, 1_000, 3, 5, 24, 1_000_000, check_targets=True)


class Run:
    """One run: its scale, its folder, its table, and who takes part."""

    def __init__(self, scale: Scale, folder: Path) -> None:
        self.scale, self.folder, self.table = scale, folder, Table()
        self.with_ours = True
        if reason := missing():
            self.with_ours = False
            self.table.note(reason)
        self._absent = {
            name for name, modules in REQUIRED.items() if not all(map(importable, modules))
        }
        for name in sorted(self._absent):
            self.table.note(f"{name} is not installed and left out.")

    def makers(self, root: Path, sections: Sequence[Section], *names: str) -> Makers:
        """Return the contenders of `names` that can take part, ours first."""
        known: dict[str, Callable[[Path], Ranked]] = {
            OURS: lambda _: Ours(root),
            "tantivy-py": lambda place: Tantivy(place, sections),
            "tantivy-py default": lambda place: Tantivy(place, sections, "default"),
            "FTS5": lambda place: FullText(place, sections),
            "FTS5 trigram": lambda place: FullText(place, sections, "trigram"),
            "bm25s": lambda place: Bm25s(place, sections),
        }
        wanted = [*([OURS] if self.with_ours else []), *names]
        return {
            name: known[name] for name in wanted if name.split(" default")[0] not in self._absent
        }

    def notes(self, name: str, times: float = 1) -> Notes:
        """Copy a corpus into this run's folder and split it into sections for the baselines."""
        target = self.folder / f"{name}-{times:g}"
        copied = corpora.copies(corpora.markdown(name), target, times)
        return prepare(copied, self.scale.queries)

    def start(self) -> None:
        """Start commands on a warm root, beside a bare interpreter."""
        notes = self.notes(self.scale.notes)
        if self.with_ours:
            label, times = notes.corpus.label, 4 * self.scale.rounds
            query = " ".join(notes.queries[0].words)
            root, check_targets = notes.corpus.root, self.scale.check_targets
            processes.start(self.table, root, label, query, times, check_targets=check_targets)

    def ranked(self) -> None:
        """Build and query the plain corpus; every baseline takes part."""
        scale, notes = self.scale, self.notes(self.scale.notes)
        makers = self.makers(notes.corpus.root, notes.sections, "tantivy-py", "FTS5", "bm25s")
        min_ratio = 4.0 if scale.check_targets else None
        built = build(self.table, notes, makers, self.folder / "index", scale.builds, min_ratio)
        self.table.note(
            f"Python takes {notes.split_seconds:.1f} s to split {notes.corpus.label} into sections."
        )
        query(self.table, notes, built, ["text", "snippet"], scale.rounds, None)
        close(built)
        if self.with_ours:
            updates.freshness(
                self.table, notes, scale.rounds, 0.0003 if scale.check_targets else None
            )

    def large(self) -> None:
        """Query, change, open and weigh the corpus at its larger size."""
        scale, notes = self.scale, self.notes(self.scale.notes, self.scale.times)
        names = ("tantivy-py", "FTS5")
        makers = self.makers(notes.corpus.root, notes.sections, *names)
        built = build(self.table, notes, makers, self.folder / "large", 1, None)
        ours = [
            row.ours for row in self.table.rows if row.corpus == notes.corpus.label and row.ours
        ]
        min_ratios = MinRatios({"tantivy-py": 15, "FTS5": 30}, {"tantivy-py": 8, "FTS5": 8})
        check_targets = scale.check_targets
        query(
            self.table,
            notes,
            built,
            ["snippet"],
            scale.rounds,
            min_ratios if check_targets else None,
        )
        quick = {name: contender for name, contender in built.items() if name != "FTS5"}
        first_time_queries(self.table, notes, quick, "snippet", scale.rounds, self.folder)
        small = self.tenth(notes)
        tenth = build(
            Table(),
            small,
            self.makers(small.corpus.root, small.sections, *names),
            self.folder / "tenth",
            1,
            None,
        )
        updates.growth(
            self.table, (small, tenth), (notes, built), scale.rounds, 5 if check_targets else None
        )
        close(tenth)
        updates.reopen(
            self.table,
            notes,
            built,
            ours[0] if ours else None,
            scale.rounds,
            self.folder,
            0.15 if check_targets else None,
        )
        max_value = 0.001 if check_targets else None
        updates.update(self.table, notes, built, scale.rounds, self.folder, max_value)
        close(built)
        places = {name: self.folder / "large" / f"{name}-1" for name in names if name in built}
        if OURS in built:
            places |= {"ours-open": notes.corpus.root, "ours-build": notes.corpus.root}
        updates.memory(self.table, notes, places, 1.0 if check_targets else None)

    def tenth(self, notes: Notes) -> Notes:
        """Return a tenth of the files of `notes` in a folder of their own."""
        target = self.folder / "tenth-notes"
        return prepare(corpora.copies(notes.corpus, target, 0.1), self.scale.queries)

    def chinese(self) -> None:
        """Query Chinese notes by parts of headings.

        tantivy-py has no Chinese words, FTS5 has trigrams.
        """
        copied = corpora.copies(corpora.markdown("lctt-zh"), self.folder / "lctt-zh", 1)
        notes = prepare(copied, self.scale.queries, corpora.substring_queries)
        makers = self.makers(
            notes.corpus.root, notes.sections, "tantivy-py default", "FTS5 trigram"
        )
        built = build(self.table, notes, makers, self.folder / "chinese", self.scale.builds, None)
        query(self.table, notes, built, ["snippet"], self.scale.rounds, None)
        close(built)

    def grep(self) -> None:
        """Scan the repeated transcript."""
        sample, name = corpora.sample_transcript()
        root = self.folder / "transcript"
        file = corpora.repeated(
            sample, root / "sessions" / "repeated" / "messages.jsonl", self.scale.repeats
        )
        self.table.note(f"The transcript is {name}, {self.scale.repeats} times over.")
        if not shutil.which("rg"):
            label = f"{file.stat().st_size / 1e9:.2f} GB transcript"
            self.table.add(Row("grep count", label, "rg (not installed)", None, None, None))
        scale = self.scale
        transcripts.peaks(self.table, sample, file, root, with_ours=self.with_ours)
        store = Ours(root) if self.with_ours else None
        transcripts.grep(
            self.table,
            sample,
            file,
            scale.repeats,
            store,
            scale.rounds,
            check_targets=scale.check_targets,
        )
        if self.with_ours:
            processes.count(self.table, root, file, scale.rounds, check_targets=scale.check_targets)
        transcripts.listing(self.table, sample, file, store, scale.rounds)
        if store is not None:
            transcripts.imports(
                self.table, sample, self.folder, scale.rounds, check_targets=scale.check_targets
            )
            most = 0.1 if scale.check_targets else None
            session_imports.measure(self.table, self.folder / "sessions", 1_000, 1, most)
            transcripts.grep_with_gram_index(
                self.table,
                sample,
                file,
                scale.repeats,
                store,
                scale.rounds,
                check_targets=scale.check_targets,
            )
            store.close()
        shutil.rmtree(root)

    def messages(self) -> None:
        """Build and query very many short messages."""
        sample, _ = corpora.sample_transcript()

        def makers(root: Path, sections: Sequence[Section]) -> Makers:
            return self.makers(root, sections, "tantivy-py")

        transcripts.messages(self.table, sample, self.folder, self.scale.messages, makers)

    def profile(self) -> None:
        """Compare a new statement with all of a profile."""
        count = statements.COUNT if self.scale.check_targets else 2_000
        check_targets = self.scale.check_targets
        statements.measure(self.table, count, 3, check_targets=check_targets)


REQUIRED = {"tantivy-py": ("tantivy",), "bm25s": ("bm25s", "numba", "Stemmer")}


def importable(name: str) -> bool:
    """Return whether a module is there."""
    try:
        import_module(name)
    except ImportError:
        return False
    return True


def close(contenders: dict[str, Ranked]) -> None:
    """Close them all."""
    for contender in contenders.values():
        contender.close()


def scanner_version() -> str:
    """Return the first line of `rg --version`."""
    if not shutil.which("rg"):
        return "ripgrep absent"
    done = subprocess.run(["rg", "--version"], capture_output=True, text=True, check=False)
    return done.stdout.splitlines()[0]


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description="Compare commonplace with its baselines.")
    parser.add_argument(
        "--quick", action="store_true", help="small corpora: minutes instead of a quarter hour"
    )
    parser.add_argument("--only", action="append", choices=WORKS, help="one part; may be repeated")
    parser.add_argument("--output", type=Path, help="where to write the table")
    options = parser.parse_args()
    whole = not options.quick and not options.only
    output = options.output or (Path(__file__).parent / "RESULTS.md" if whole else None)
    with tempfile.TemporaryDirectory(prefix="commonplace-bench-run-") as folder:
        run = Run(QUICK if options.quick else FULL, Path(folder))
        for work in options.only or WORKS:
            print(f"\n== {work}", flush=True)
            try:
                getattr(run, work)()
            except Exception as error:  # noqa: BLE001 - the other parts still have something to say
                run.table.note(f"The part “{work}” stopped: {type(error).__name__}: {error}")
    command = shlex.join(["python", "-m", "benches.compare", *sys.argv[1:]])
    text = report(run.table, command, f"{versions(PACKAGES)}, {scanner_version()}")
    print(f"\n{text}")
    if output:
        output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
