"""Report of a run, written to `docs/reliability.md`: each of the 25 guarantees and its evidence."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import commonplace
from tests.campaigns.guarantees import (
    APPENDED_ONCE,
    ATOMIC_REPLACE,
    CLOSED_SERVERS,
    COMPACTION,
    CONSISTENT_READS,
    DAMAGED_CACHE,
    DURABLE,
    ERRORS_REPORTED,
    FRESH_INDEX,
    GUARANTEES,
    HOSTILE_LINES,
    HOSTILE_MARKDOWN,
    INTERRUPTIBLE,
    MEMORY_BOUNDED,
    MUTATION_TESTED,
    NO_LOST_UPDATE,
    PATHS_CONFINED,
    PORTABLE_NAMES,
    RECALLED_DATA,
    REDACTION,
    SAVES_KEPT,
    SOUND_THREADS,
    SPECIAL_FILES,
    SWAPPED_LINKS,
    TORN_LOG_END,
)
from tests.campaigns.runner import Result

ROOT = Path(__file__).parents[2]
REPORT = ROOT / "docs" / "reliability.md"

WORDS = (
    "What the files, the index and the servers guarantee, and the evidence: how each guarantee was "
    "tested, how often, and how often it failed. A guarantee counts as tested only by what stands "
    "in its rows; where something could not be tested, a row says so and why. This page is "
    "written by `make campaign`; its words are in `tests/campaigns`.\n\n"
    "A *check* of a campaign is one comparison of what was guaranteed with what is there, after "
    "one kill, error, cut, race or edit, with random moments and values; a *trial* is a seeded run "
    "that makes many checks. A *test* is one function of "
    "the test suite, which mostly goes through many cases."
)


class Suite(NamedTuple):
    """Tests outside the campaigns that hold a guarantee: what they show, where, how to run them."""

    what: str
    file: str
    command: str


def rust(name: str, what: str) -> Suite:
    return Suite(what, f"tests/rust/{name}.rs", f"cargo test -p commonplace-core --test {name}")


def python(name: str, what: str, select: str = "") -> Suite:
    chosen = f' -k "{select}"' if select else ""
    return Suite(what, f"tests/{name}.py", f"python -m pytest tests/{name}.py{chosen}")


ANSWERS = rust("syscall_failures", "what a change answers when the n-th call of a kind fails")
CRASHES = rust("crashes", "death and errors at each call of each change; the order of syncs")
DURABILITY = rust("durability", "syncs and races of each change, in traces of its system calls")
SANDBOX = rust("sandbox", "paths, links, special files and names, as given and swapped")
LINKS = rust("links", "hard links that come and go while a file is opened")
GUARDS = rust("guards", "what is planted in a memory, and what changes while it is looked at")
IMPORTS = rust("imports", "imports that are repeated, cut off, and of another source")
SIDE_FILES = python("test_side_files", "links and special files in place of our own files")
WRITES = rust("writes", "many writers at once, and people who save meanwhile")
FUZZ = rust("fuzz", "laws of sections, queries, transcripts, snapshots and patches, random inputs")
NAMES = "names of Windows and Unicode"
SUITES = {
    ATOMIC_REPLACE: [CRASHES, WRITES],
    DURABLE: [CRASHES, DURABILITY],
    ERRORS_REPORTED: [
        CRASHES,
        ANSWERS,
        python("test_answers", "which error a call of Python raises, and what is there then"),
    ],
    TORN_LOG_END: [CRASHES, IMPORTS],
    APPENDED_ONCE: [WRITES, IMPORTS],
    SAVES_KEPT: [WRITES, GUARDS],
    NO_LOST_UPDATE: [
        WRITES,
        python("test_history", "changes by a function from threads and processes"),
    ],
    CONSISTENT_READS: [WRITES],
    COMPACTION: [
        python("test_compaction", "failures and interruptions between the steps"),
        python("test_two_compactors", "two that compact at once"),
    ],
    DAMAGED_CACHE: [
        rust("snapshot", "each byte cut and flipped"),
        rust("snapshot_crafted", "numbers changed, with right checksums"),
        rust("gram_index", "grep with a gram index and without, and with ones that lie"),
        SIDE_FILES,
    ],
    FRESH_INDEX: [
        rust("freshness", "random edits under clocks of 1 ns, 4 ms, 1 s and 2 s"),
        rust("random_edits", "random changes by anybody, compared with a full scan"),
        python("test_interleaving", "two programs, five systems, a person, and a dictionary"),
    ],
    PATHS_CONFINED: [
        SANDBOX,
        python("test_hostile", "the corpus of hostile paths", "path"),
        python("test_file_access", "no module opens files of a memory by itself"),
    ],
    SWAPPED_LINKS: [SANDBOX, LINKS, GUARDS],
    SPECIAL_FILES: [SANDBOX, SIDE_FILES],
    PORTABLE_NAMES: [
        rust("path_rules", "each rule of names"),
        python("test_spelling", "spellings of one name"),
        python("test_hostile", NAMES, "path_windows or path_unicode"),
    ],
    INTERRUPTIBLE: [
        rust("queries", "queries of every form"),
        python("test_interrupts", "long calls that are interrupted"),
        python("test_hostile", "hostile patterns and queries", "regex or query"),
    ],
    HOSTILE_MARKDOWN: [
        rust("sections", "incremental and whole parsing, compared"),
        FUZZ,
        python("test_hostile", "the corpus of hostile Markdown", "markdown"),
    ],
    HOSTILE_LINES: [
        rust("transcripts", "foreign formats and broken lines"),
        rust("grep_bytes", "raw bytes"),
        FUZZ,
    ],
    MEMORY_BOUNDED: [
        rust("memory_limit", "limits of memory in the core"),
        python("test_memory_limit", "limits of memory in processes"),
    ],
    SOUND_THREADS: [
        python("test_fork", "forks of an open store, multiprocessing, threads"),
        python("test_refuse", "the layer for systems without openat2, inotify and leases"),
    ],
    RECALLED_DATA: [
        python("test_injection", "frames, read back to the same bytes"),
        python("test_fuzz_frames", "frames of random texts"),
        python("test_hostile", "the corpus of injections", "injection"),
    ],
    REDACTION: [
        rust("redaction", "imports of which nothing on the disk holds a secret; random lines"),
        rust("redaction_labelled", "400 labelled texts: secrets that go, and others that stay"),
    ],
    CLOSED_SERVERS: [
        python("test_web_safety", "the web page: link, cookie, host, origin, form token, headers"),
        python("test_mcp", "MCP over HTTP: origins, hosts and tokens", "http or token or machines"),
    ],
}
UNTESTED = {
    SOUND_THREADS: "ThreadSanitizer and Miri need a nightly compiler, and "
    "pytest-run-parallel a free-threaded "
    "Python: neither is run here",
    MUTATION_TESTED: "`make mutants` deletes what protects on the write and open paths, and "
    "prints its figures; "
    "it takes too long to be run by this report",
}


def obstacle(seconds: float) -> str:
    """Return why no report could be written at the end of such a run; empty where it can be."""
    known = seconds_of(REPORT.read_text()) if REPORT.exists() else 0.0
    if known > seconds:
        return f"{REPORT} is of a run of {known:g} seconds; remove it to replace it"
    for suite in {suite for suites in SUITES.values() for suite in suites}:
        if not (ROOT / suite.file).exists():
            return f"there is no {suite.file} for `{suite.command}`"
    try:
        REPORT.parent.mkdir(exist_ok=True)
        REPORT.open("a").close()
    except OSError as error:
        return f"{REPORT} cannot be written: {error.strerror}"
    return ""


def counted(suite: Suite, tell: Callable[[str], None]) -> tuple[int, int]:
    """Run a suite and return how many of its tests ran, and how many failed.

    One that runs no test counts as one failure, and is told: it never ends the report.
    """
    command = suite.command.replace("python", sys.executable, 1)
    done = subprocess.run(  # noqa: S602 - our own commands, from above
        command, shell=True, cwd=ROOT, capture_output=True, text=True, check=False
    )
    text = done.stdout + done.stderr
    passed = sum(map(int, re.findall(r"\b([0-9]+) passed", text)))
    failed = sum(map(int, re.findall(r"\b([0-9]+) (?:failed|error)", text)))
    if not passed + failed:
        tell(f"FAILED {suite.command}: it ran no test:\n{text[-2000:]}")
        return 0, 1
    return passed + failed, failed


def in_turn(results: list[Result]) -> list[Suite]:
    """Return the suites, first those of guarantees that no campaign checks."""
    tried = {number for result in results for number in result.checks}
    numbers = sorted(SUITES, key=lambda number: (number in tried, number))
    return [suite for number in numbers for suite in SUITES[number]]


def seconds_of(report: str) -> float:
    """Return how long the run was that a report is of."""
    found = re.search(r"over ([0-9]+) seconds", report)
    return float(found[1]) if found else 0.0


def write(results: list[Result], seed: int, seconds: float, *, tell: Callable[[str], None]) -> bool:
    """Run the suites and write the report, whatever comes of them; return whether all is well."""
    counts: dict[str, tuple[int, int]] = {}
    until = time.monotonic() + seconds
    try:
        for suite in in_turn(results):
            # as long as the campaigns, so that a short run is short
            if suite.command not in counts and time.monotonic() < until:
                tell(suite.command)
                counts[suite.command] = counted(suite, tell)
    finally:
        REPORT.write_text(rendered(results, counts, seed, seconds))
        tell(f"{REPORT} is written")
    return all(failed == 0 for _, failed in counts.values())


def rendered(
    results: list[Result], counts: dict[str, tuple[int, int]], seed: int, seconds: float
) -> str:
    """Return the report as Markdown."""
    today = datetime.now(UTC).date().isoformat()
    run = (
        f"Run of {today}, all campaigns over {seconds:.0f} seconds, seed {seed}; commonplace "
        f"{commonplace.__version__}, Python {platform.python_version()}, {platform.system()} "
        f"{platform.release()}, {os.cpu_count()} processors. What `--only NAME` stands for is "
        f"`python -m tests.campaigns --only NAME --seed {seed}`; the moments of signals and races "
        "differ from run to run."
    )
    lines = [
        "# Reliability",
        "",
        WORDS,
        "",
        run,
        "",
        totals(results, counts),
        "",
        "| # | guarantee | how it was tested | checks | failures | by | date |",
        "|--:|---|---|--:|--:|---|---|",
    ]
    for number, guarantee in GUARANTEES.items():
        rows = rows_of(number, results, counts, today)
        for position, row in enumerate(rows):
            head = f"{number} | {guarantee}" if position == 0 else " | "
            lines.append(f"| {head} | {row} |")
    lines += ["", "## The invariants", ""]
    lines += [f"- `{result.campaign.name}`: {result.campaign.invariant}" for result in results]
    return "\n".join(lines) + "\n"


def totals(results: list[Result], counts: dict[str, tuple[int, int]]) -> str:
    """Return how many checks and tests there were in all, and how many failed."""
    checks = sum(sum(result.checks.values()) for result in results)
    failures = sum(sum(result.failures.values()) for result in results)
    tests = sum(run for run, _ in counts.values())
    failed = sum(failed for _, failed in counts.values())
    return (
        f"**{checks:,} checks, {failures:,} failed; {tests:,} tests, {failed:,} failed.** A test "
        "may stand in the rows of several guarantees."
    )


def rows_of(
    number: int, results: list[Result], counts: dict[str, tuple[int, int]], today: str
) -> list[str]:
    """Return the rows of one guarantee, each without its number and text."""
    rows: list[str] = []
    left: list[tuple[str, str]] = []
    for result in results:
        how = result.campaign.guarantees.get(number)
        if how is None:
            continue
        by = f"`--only {result.campaign.name}`"
        if result.checks[number]:
            checks, failures = f"{result.checks[number]:,}", f"{result.failures[number]:,}"
            rows.append(f"{how} | {checks} | {failures} | {by} | {today}")
        if why := result.untested.get(number):
            rows.append(f"not tested here: {why} | | | {by} | {today}")
        for (of, what), times in result.left_out.items():
            if of == number:
                rows.append(f"not tested here: {times:,} {what} | | | {by} | {today}")
    for suite in SUITES.get(number, []):
        by = f"`{suite.command}`"
        if suite.command in counts:
            tests, failed = counts[suite.command]
            what = suite.what if tests else f"{suite.what} (no test ran)"
            rows.append(f"{what} | {tests:,} tests | {failed} | {by} | {today}")
        else:
            left.append((suite.what, by))
    if left:
        what, by = ("; ".join(texts) for texts in zip(*left, strict=True))
        rows.append(f"not tested here, as this run was too short: {what} | | | {by} | ")
    if why := UNTESTED.get(number):
        rows.append(f"not tested here: {why} | | | | ")
    return rows or ["not tested here: no campaign and no suite tests it | | | | "]
