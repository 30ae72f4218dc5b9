"""Resident memory of an open index of commonplace, tantivy-py or FTS5, in a process of its own.

Why it exists: memory of an index can only be read in a fresh process, after the queries that
pull its pages in. `python -m benches.resident WHO ROOT` takes the queries as JSON on stdin and
prints the growth over the imports as JSON. Mapped file pages count, for us and for baselines.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TypedDict

from benches.baselines import FullText, Ranked, Tantivy
from benches.commonplace_engine import Ours

REPOSITORY = Path(__file__).resolve().parents[1]


class Growth(TypedDict):
    """Bytes by which a process grew: all resident pages, and those that are not a file's."""

    resident: int
    anonymous: int


def memory() -> Growth:
    """Return the memory of this process now (Linux)."""
    kilobytes = {}
    for entry in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        name, _, value = entry.partition(":")
        if name in ("VmRSS", "RssAnon"):
            kilobytes[name] = int(value.split()[0])
    return {"resident": kilobytes["VmRSS"] * 1024, "anonymous": kilobytes["RssAnon"] * 1024}


def opened(who: str, place: Path) -> Ranked:
    """Return a contender whose index already lies in `place`; `ours-build` begins with none."""
    if who.startswith("ours"):
        import_module("commonplace")
        return Ours(place)
    return Tantivy(place, ()) if who == "tantivy-py" else FullText(place, ())


def measure(who: str, place: Path, queries: Sequence[Sequence[str]]) -> Growth | None:
    """Return the growth in a fresh process, or None where it cannot be measured."""
    if not Path("/proc/self/status").exists():
        return None
    done = subprocess.run(
        [sys.executable, "-m", "benches.resident", who, str(place)],
        input=json.dumps(queries),
        capture_output=True,
        text=True,
        check=False,
        cwd=REPOSITORY,
    )
    if done.returncode:
        print(f"  {who}: no memory figure: {done.stderr.strip().splitlines()[-1:]}", flush=True)
        return None
    growth: Growth = json.loads(done.stdout)
    return growth


def main() -> None:
    """Open, query, print the growth."""
    who, place = sys.argv[1], Path(sys.argv[2])
    queries: list[list[str]] = json.load(sys.stdin)
    contender = opened(who, place)
    before = memory()
    if who == "ours-build":
        contender.build()
    else:
        contender.reopen()
    for words in queries:
        contender.query(words, 10, "snippet")
    after = memory()
    growth = Growth(
        resident=after["resident"] - before["resident"],
        anonymous=after["anonymous"] - before["anonymous"],
    )
    print(json.dumps(growth))
    if who != "ours-build":
        contender.close()


if __name__ == "__main__":
    main()
