"""Changes on a recorded disk for the power cuts, with the moments at which each began and ended."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

import commonplace
from commonplace import Store
from commonplace.entries.blocks import parse, render
from commonplace.entries.compaction import replace_blocks
from tests.campaigns.recorded_disk import RecordedDisk

# How many changes are made on one disk.
CHANGES = 60
NOTES = 5
LOG = "sessions/s1/messages.jsonl"
DAILY = "daily/2026-01-05.md"
# What only grows.
GROWING = {LOG, DAILY}
MONTH = "episodes/2026-02.md"
ARCHIVE = "archive/episodes/2026-02.md"


class Change(NamedTuple):
    """One change, with the positions of the disk's record at which it began and was acknowledged.

    `texts` are the files that it changes, None for one that is gone; `kept` what the history must
    hold of a path, by version; `saved` the same of what a person had saved just before.
    """

    begun: int
    done: int
    texts: dict[str, str | None]
    kept: tuple[tuple[str, str, str], ...] = ()
    saved: tuple[tuple[str, str, str], ...] = ()


Step = Callable[[Store, Random, dict[str, str | None]], Change]


def text_of(random: Random, token: int) -> str:
    """Return a text of one sector or of several pages."""
    filler = "The quick brown fox jumps over the lazy dog.\n" * random.choice((0, 3, 100, 300))
    return f"# Note\n\nfirst w{token}w\n\n{filler}\nlast w{token}w\n"


def changed(path: str, text: str | None, kept: tuple[tuple[str, str, str], ...] = ()) -> Change:
    return Change(0, 0, {path: text}, kept)


def write(store: Store, random: Random, now: dict[str, str | None]) -> Change:
    path, text = f"notes/{random.randrange(NOTES)}.md", text_of(random, random.randrange(10**6))
    old, written = now.get(path), store.write(path, text)
    kept = ((path, written.previous, old),) if old is not None and written.previous else ()
    return changed(path, text, kept)


def displace(store: Store, random: Random, _now: dict[str, str | None]) -> Change:
    """Write over a note that a person has saved a moment ago, as editors save, without a flush."""
    path, theirs = f"notes/{random.randrange(NOTES)}.md", text_of(random, random.randrange(10**6))
    place = store.root / path
    place.parent.mkdir(exist_ok=True)
    if random.random() < 0.5 or not place.exists():
        editor = place.with_name(".editor")
        editor.write_text(theirs)
        editor.rename(place)
    else:
        place.write_text(theirs)
    text = text_of(random, random.randrange(10**6))
    written = store.write(path, text)
    return changed(path, text)._replace(saved=((path, written.previous or "", theirs),))


def append(store: Store, random: Random, now: dict[str, str | None]) -> Change:
    path, line = DAILY, f"- w{random.randrange(10**6)}w\n"
    store.append(path, line)
    return changed(path, (now.get(path) or "") + line)


def say(store: Store, random: Random, now: dict[str, str | None]) -> Change:
    content = f"w{random.randrange(10**6)}w " + "x" * random.choice((1, 100, 6000))
    line = json.dumps({"role": "user", "content": content}) + "\n"
    store.append(LOG, line)
    return changed(LOG, (now.get(LOG) or "") + line)


def move(store: Store, random: Random, now: dict[str, str | None]) -> Change:
    source = f"notes/{random.randrange(NOTES)}.md"
    if now.get(source) is None:
        return write(store, random, now)
    target = f"moved/{random.randrange(10**6)}.md"
    store.move(source, target)
    return Change(0, 0, {source: None, target: now[source]})


def delete(store: Store, random: Random, now: dict[str, str | None]) -> Change:
    path = f"notes/{random.randrange(NOTES)}.md"
    old = now.get(path)
    if old is None:
        return write(store, random, now)
    gone = store.delete(path)
    return changed(path, None, ((path, gone.version, old),))


def compact(store: Store, random: Random, now: dict[str, str | None]) -> Change:
    """Add entries to a month, or put a summary in the place of all but the last."""
    blocks = parse(now.get(MONTH) or "")
    if len(blocks) < 4:
        entry = render(f"Task w{random.randrange(10**6)}w", "done, and why")
        store.append(MONTH, f"\n{entry}")
        return changed(MONTH, store.read(MONTH))
    done = replace_blocks(
        store, MONTH, blocks[:-1], ARCHIVE, lambda cited: render("Summary", f"see {cited[0]}")
    )
    assert done.citations
    return Change(0, 0, {MONTH: store.read(MONTH), ARCHIVE: store.read(ARCHIVE)})


STEPS: tuple[tuple[Step, int], ...] = (
    (write, 4), (displace, 4), (append, 2), (say, 4), (move, 2), (delete, 2), (compact, 3),
)  # fmt: skip


def make_changes(random: Random, disk: RecordedDisk, root: Path) -> list[Change]:
    """Change a memory and return what was acknowledged when."""
    now: dict[str, str | None] = {}
    changes = []
    steps, shares = zip(*STEPS, strict=True)
    with commonplace.open(root) as store:
        for _ in range(CHANGES):
            step: Step = random.choices(steps, shares)[0]
            begun = disk.position
            change = step(store, random, now)._replace(begun=begun)
            changes.append(change._replace(done=disk.position))
            now |= change.texts
            if random.random() < 0.1:
                store.search("note")
            if random.random() < 0.05:
                os.sync()
    return changes
