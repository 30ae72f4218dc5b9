"""Benchmark of whole processes: start, search, hook, `grep -c`, beside Python and ripgrep."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from uuid import uuid4

import commonplace
from benches.ratios import OURS, Figures, Row, Table, rounds
from benches.scanners import PREFIX, Pattern, available, counted

COMMAND = str(Path(sys.executable).with_name("commonplace"))
BARE = "python -c pass"
# in the sample transcripts and in the raw JSON of them
LITERAL = Pattern("literal", "the", "the")
QUOTED = 40
"""Words of a document that are a prompt."""
# an installed package is compiled once; without this setting a checkout is too
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}


def timed(run: Callable[[], object]) -> Callable[[], Figures]:
    """Return a contender that says how long `run` takes."""

    def measure() -> Figures:
        start = time.perf_counter()
        run()
        return {"seconds": time.perf_counter() - start}

    return measure


def quiet(*command: str, stdin: bytes = b"") -> Callable[[], bytes]:
    """Return a call of a command, which gives its output."""
    return lambda: (
        subprocess.run(
            command, input=stdin, capture_output=True, check=True, env=ENVIRONMENT
        ).stdout
    )


def prompt_hook(root: Path, prompt: str, session: str = "bench") -> Callable[[], bytes]:
    """Return a call of the hook that Claude Code waits for before each prompt."""
    payload = {"hook_event_name": "UserPromptSubmit", "session_id": session, "cwd": "/"}
    stdin = json.dumps(payload | {"prompt": prompt}).encode()
    return quiet(COMMAND, "--root", str(root), "hook", "claude-code", stdin=stdin)


def injecting_hook(root: Path, query: str) -> Callable[[], object]:
    """Return calls of that hook in sessions of their own, so that each of them injects.

    The prompt quotes what a query finds: the words of the query alone may be too few.
    """
    with commonplace.open(root, watch=False) as store:
        prompt = " ".join(store.search(query)[0].text.split()[:QUOTED])

    def run() -> None:
        if not prompt_hook(root, prompt, str(uuid4()))():
            raise RuntimeError(f"the hook injected nothing for the prompt {prompt!r}")

    return run


def start(
    table: Table, root: Path, label: str, query: str, times: int, *, check_targets: bool
) -> None:
    """Add what `--version`, a search and a hook take on a warm root, in runs of a bare interpreter.

    A hook that injects, one whose answer the session has seen, and one that nothing fits.
    """
    search = quiet(COMMAND, "--root", str(root), "search", query)
    # the first one builds the index, and compiles what is imported
    search()
    bare = timed(quiet(sys.executable, "-c", "pass"))
    for work, run, max_slowdown in (
        ("process --version", quiet(COMMAND, "--version"), 3),
        ("process search", search, 6),
        ("process hook, injecting", injecting_hook(root, query), 9),
        ("process hook", prompt_hook(root, query), 9),
        ("process hook, silent", prompt_hook(root, "ok, go on"), 6),
    ):
        measured = rounds({OURS: timed(run), BARE: bare}, times)
        min_ratios = {BARE: 1 / max_slowdown} if check_targets else None
        table.compare(work, label, measured, "seconds", min_ratios=min_ratios)


def count(table: Table, root: Path, file: Path, times: int, *, check_targets: bool) -> None:
    """Add what `grep -c` of a transcript takes, beside the other scanners."""
    command = [COMMAND, "--root", str(root), "grep", "-c", "-F", "-s", LITERAL.text, PREFIX]
    scanners = available(file)
    # compiles what is imported
    quiet(COMMAND, "--version")()
    found = {OURS: counted(command)} | {name: run(LITERAL) for name, run in scanners.items()}
    contenders = {OURS: timed(lambda: counted(command))} | {
        name: timed(partial(run, LITERAL)) for name, run in scanners.items()
    }
    label = f"{file.stat().st_size / 1e9:.2f} GB transcript"
    if not any(name.startswith("rg") for name in scanners):
        table.add(Row("process grep -c", label, "rg (not installed)", None, None, None))
    wrong = {name: f"found {many}" for name, many in found.items() if many == 0}
    min_ratios = {name: 1.5 for name in found if name.startswith("rg")} if check_targets else None
    measured = rounds(contenders, times, warm=file.parent)
    table.compare("process grep -c", label, measured, "seconds", min_ratios=min_ratios, wrong=wrong)
