"""Fault campaign: clocks that jump, and file times that are set back, ahead or cut.

Files are edited with their old size, and their stamps set back, ahead, equal to those of before,
or cut to what coarse file systems keep. The inner clock of the core with 1 ns, 4 ms, 1 s and 2 s
is tried by `tests/rust/freshness.rs`.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import commonplace
from commonplace import Store
from tests.campaigns.guarantees import FRESH_INDEX
from tests.campaigns.trial import Trial

INVARIANT = (
    "However stamps and clocks are set, a search finds what stands in the files and nothing else."
)
GUARANTEES = {
    FRESH_INDEX: "edits by hand of the same size under stamps set back, ahead, equal, cut "
    "to 4 ms, 1 s, 2 s",
}
WORDS = [f"{first}{second}word" for first in "abcd" for second in "efgh"]
SECOND = 10**9


def restamp(trial: Trial, path: Path, before: os.stat_result | None) -> str:
    """Set the stamps of a file as jumping clocks and coarse file systems do."""
    random, now = trial.random, time.time_ns()
    grain = random.choice([4_000_000, SECOND, 2 * SECOND])
    ways = {
        "as they are": None,
        "as before": before.st_mtime_ns if before else now,
        "of 1970": 0,
        "before 1970": -SECOND,
        "a day ago": now - 86_400 * SECOND,
        "in 2100": 4_102_444_800 * SECOND,
        f"cut to {grain} ns": now - now % grain,
    }
    way = random.choice(list(ways))
    if (stamp := ways[way]) is not None:
        os.utime(path, ns=(stamp, stamp))
    return way


def edit(trial: Trial, notes: list[Path]) -> str:
    """Change one file, in one of the ways that people and programs do."""
    random = trial.random
    path = random.choice(notes)
    before = path.stat() if path.exists() else None
    text = f"# {random.choice(WORDS)}\n\n- {random.choice(WORDS)}\n- {random.choice(WORDS)}\n"
    way = random.choice(["in place", "by rename", "copied with its stamps", "deleted", "appended"])
    match way:
        case "in place":
            with path.open("r+" if before else "w") as file:
                file.write(text)
                file.truncate()
        case "by rename" | "copied with its stamps":
            new = path.with_name(".new")
            new.write_text(text)
            if before and way != "by rename":
                shutil.copystat(path, new)
            new.replace(path)
        case "deleted":
            path.unlink(missing_ok=True)
            return f"{path.name} deleted"
        case _:
            with path.open("a") as file:
                file.write(f"- {random.choice(WORDS)}\n")
    return f"{path.name} {way}, stamps {restamp(trial, path, before)}"


def compare(trial: Trial, store: Store, notes: list[Path], what: str) -> None:
    texts = {path.name: path.read_text() for path in notes if path.exists()}
    for word in trial.random.sample(WORDS, 3):
        hits = store.search(word, 100)
        found, wanted = {hit.path for hit in hits}, {n for n, text in texts.items() if word in text}
        message = f"{what}: {word} is in {sorted(wanted)}, the search says {sorted(found)}"
        trial.check(FRESH_INDEX, found == wanted or hits.freshness != "fresh", message)
        stands = all(hit.text in texts.get(hit.path, "") for hit in hits)
        trial.check(FRESH_INDEX, stands, f"{what}: a hit says what does not stand there")


def stamps(trial: Trial) -> None:
    notes = [trial.root / f"{number}.md" for number in range(8)]
    watch = trial.random.random() < 0.4
    store, done = commonplace.open(trial.root, watch=watch), list[str]()
    while trial.is_time():
        done.append(edit(trial, notes))
        if trial.random.random() < 0.3:
            continue
        if trial.random.random() < 0.05:
            # what the snapshot believes is believed by the next one
            store.close()
            if trial.random.random() < 0.5:
                done.append(f"closed, then {edit(trial, notes)}")
            store = commonplace.open(trial.root, watch=watch)
        message = "; ".join(done[-3:])
        compare(trial, store, notes, f"{'watched' if watch else 'stamps'}: {message}")
    differences = store.verify().differences
    trial.check(FRESH_INDEX, not differences, f"verify: {differences[:3]}")
    store.close()


KINDS = (stamps,)
