"""The archive at size: generated sessions, archived, then searched in processes of their own.

    python benches/archive.py --messages 1000000 --folder FOLDER
    python benches/archive.py --rest --folder FOLDER

Prints how fast it is made ready, its share of the said text on the disk, the time from opening to
the first hit, p50 and p99 of 1,000 queries, and the resident memory after them. On a machine with
other work its processor time tells more than the clock.

With `--rest` each twentieth session of the memory that is there comes back from the archive. It is
searched for these, and beside it, query by query, a memory that has nothing else.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Literal

import numpy as np

import commonplace
from commonplace.engines.archive import ArchiveEngine

SESSION = 1000
SYLLABLES = [
    "ka",
    "lo",
    "mi",
    "ten",
    "dra",
    "sol",
    "vi",
    "re",
    "pan",
    "tu",
    "gor",
    "el",
    "nas",
    "qui",
    "fe",
    "bra",
    "om",
    "shi",
    "wo",
    "zal",
]


def words(count: int) -> list[str]:
    """Return words of two to four syllables, the same for each run."""
    chance = random.Random(7)
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(chance.choices(SYLLABLES, k=chance.randint(2, 4)))] = None
    return list(found)


def generate(root: Path, messages: int) -> int:
    """Write sessions whose words are distributed as in a language; return the bytes said."""
    vocabulary = words(120_000)
    chance = random.Random(11)
    shares = np.cumsum([1 / (at + 2.7) for at in range(len(vocabulary))])
    said = 0
    for session in range(-(-messages // SESSION)):
        folder = root / f"sessions/p{session % 50}/2025-{session % 12 + 1:02}-{session:06}"
        folder.mkdir(parents=True)
        topic = chance.choices(vocabulary, k=30)
        # as `chance.choices` does it, in a sixth of its time
        points = np.array([chance.random() for _ in range(SESSION * 18)]) * shares[-1]
        drawn = [vocabulary[at] for at in np.searchsorted(shares, points, side="right").tolist()]
        lines = []
        for at in range(min(SESSION, messages - session * SESSION)):
            own = drawn[18 * at : 18 * at + chance.randint(4, 18)] + chance.choices(topic, k=3)
            text = " ".join(own)
            said += len(text)
            stamp = f"2025-{session % 12 + 1:02}-{at % 28 + 1:02}T{at % 24:02}:00:00Z"
            role = ("user", "assistant", "assistant")[at % 3]
            lines.append(
                json.dumps(
                    {"role": role, "content": text, "session": f"s{session}", "timestamp": stamp}
                )
            )
        (folder / "messages.jsonl").write_text("\n".join(lines) + "\n")
    return said


def make_ready(root: Path) -> tuple[float, float]:
    """Archive all sessions; return the seconds and the processor time that it took."""
    with commonplace.open(root, watch=False) as store:
        engine = ArchiveEngine(store)
        began, worked = time.perf_counter(), time.process_time()
        found = sorted(root.rglob("messages.jsonl"))
        engine.add_files(path.relative_to(root).as_posix() for path in found)
        engine.commit()
        return time.perf_counter() - began, time.process_time() - worked


def queries(count: int) -> list[str]:
    """Return queries of two to five words, rare ones and frequent ones."""
    vocabulary = words(120_000)
    chance = random.Random(23)
    ranks = (
        [int(len(vocabulary) ** chance.random()) - 1 for _ in range(chance.randint(2, 5))]
        for _ in range(count)
    )
    return [" ".join(vocabulary[rank] for rank in own) for own in ranks]


def bring_back(folder: Path) -> None:
    """Bring each twentieth session back from the archive, and copy it to a memory of its own."""
    root, alone = folder / "memory", folder / "alone"
    shutil.rmtree(alone, ignore_errors=True)
    rest = [path.relative_to(root) for path in sorted(root.rglob("messages.jsonl"))[::20]]
    for path in rest:
        (alone / path).parent.mkdir(parents=True)
        shutil.copy(root / path, alone / path)
    with commonplace.open(root, watch=False) as store:
        engine = ArchiveEngine(store)
        for path in rest:
            engine.remove(path.as_posix())
        engine.commit()
    # a search of an index from the disk takes longer than of one that was just made: both are saved
    for path in (root, alone):
        with commonplace.open(path, watch=False) as store:
            store.search("kalo", archive="no")


def search_rest(folder: Path, count: int) -> None:
    """Print how long a memory takes for what is not archived, and one without the archive."""
    kinds: dict[str, tuple[str, Literal["yes", "no"]]] = {
        "alone": ("alone", "yes"),
        "archive_no": ("memory", "no"),
        "archive_yes": ("memory", "yes"),
    }
    stores = {name: commonplace.open(folder / path) for name, (path, _) in kinds.items()}
    spent: dict[str, list[float]] = {name: [] for name in kinds}
    for at, text in enumerate(queries(count + 20)):
        for name, (_, archive) in kinds.items():
            worked = time.process_time()
            stores[name].search(text, archive=archive)
            if at >= 20:
                spent[name].append(1000 * (time.process_time() - worked))
    status = stores["archive_no"].status()
    print(f"{status.archived:,} of {status.transcripts:,} sessions are archived")
    for name, times in spent.items():
        times.sort()
        figures = [f"{times[int(count * share)]:.2f}" for share in (0.5, 0.99)]
        print(f"{name}: processor time of a query, ms: p50 {figures[0]}, p99 {figures[1]}")


def query(folder: Path, count: int) -> None:
    """Open, search, and print the figures of this process as JSON."""
    root, texts = folder / "memory", queries(count)
    began, cpu = time.perf_counter(), time.process_time()
    store = commonplace.open(root)
    first = store.search("kalo miten drasol", archive="yes")
    opening, opening_cpu = time.perf_counter() - began, time.process_time() - cpu
    spent, worked = [], []
    for text in texts:
        began, cpu = time.perf_counter(), time.process_time()
        store.search(text)
        spent.append(time.perf_counter() - began)
        worked.append(time.process_time() - cpu)
    spent.sort()
    worked.sort()
    status = Path("/proc/self/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    anonymous = next(line for line in status.splitlines() if line.startswith("RssAnon:"))
    print(
        json.dumps(
            {
                "first_hit_s": round(opening, 3),
                "first_hit_cpu_s": round(opening_cpu, 3),
                "hits": len(first),
                "p50_ms": round(1000 * spent[count // 2], 1),
                "p99_ms": round(1000 * spent[int(count * 0.99)], 1),
                "cpu_p50_ms": round(1000 * worked[count // 2], 1),
                "cpu_p99_ms": round(1000 * worked[int(count * 0.99)], 1),
                "rss_mb": int(resident.split()[1]) >> 10,
                "anonymous_mb": int(anonymous.split()[1]) >> 10,
            }
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, required=True, help="a folder with room")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--rest", action="store_true", help="search what is not archived")
    parser.add_argument("--only-query", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    root = given.folder / "memory"
    command = [sys.executable, __file__, "--folder", given.folder, "--queries", str(given.queries)]
    if given.only_query:
        (search_rest if given.rest else query)(given.folder, given.queries)
        return
    if given.rest:
        bring_back(given.folder)
        subprocess.run([*command, "--only-query", "--rest"], check=True)
        return
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    said = generate(root, given.messages)
    print(f"{given.messages:,} messages, {said / 1e6:.0f} MB said", flush=True)
    spent, worked = make_ready(root)
    own = sum(file.stat().st_size for file in (root / ".commonplace").rglob("*") if file.is_file())
    print(f"archived in {spent:.1f} s: {given.messages / spent:,.0f} messages/s")
    print(f"processor time {worked:.1f} s: {given.messages / worked:,.0f} messages/s of one core")
    print(f"on the disk {own / 1e6:.0f} MB, {own / said:.2f} of what was said", flush=True)
    for run in ("cold", "warm"):
        asked = [*command, "--only-query"]
        done = subprocess.run(asked, check=True, capture_output=True, text=True)
        print(run, done.stdout.strip(), flush=True)


if __name__ == "__main__":
    main()
