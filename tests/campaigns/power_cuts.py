"""Fault campaign: power cuts, replayed from the recorded writes of a disk on ext4, XFS and btrfs.

A program changes a memory on ext4, XFS or btrfs and notes after each change how much the disk had
been given by then. Later, for many moments, an image is made of all that the disk had flushed and
of any part of what it had not. It is mounted, so that the journal is replayed, and opened: what was
acknowledged by that moment must be there, and what was under way is old or new.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import commonplace
from commonplace import Store
from commonplace.entries.blocks import parse
from tests.campaigns.guarantees import (
    ATOMIC_REPLACE,
    COMPACTION,
    DAMAGED_CACHE,
    DURABLE,
    SAVES_KEPT,
    TORN_LOG_END,
)
from tests.campaigns.recorded_changes import (
    ARCHIVE,
    GROWING,
    LOG,
    MONTH,
    Change,
    make_changes,
)
from tests.campaigns.recorded_disk import (
    SECTORS,
    RecordedDisk,
    Written,
    mounted,
    own_mounts,
    survivors,
    unmount,
)
from tests.campaigns.trial import Trial

INVARIANT = (
    "Whenever the power fails: what was acknowledged is there, whole and once; a text that a "
    "person had saved and that we displaced is in the history; what was under way is old or new."
)
GUARANTEES = {
    ATOMIC_REPLACE: "images of cut disks: each note is one of its versions, and can be "
    "changed again",
    DURABLE: "images of cut disks (ext4, XFS, btrfs): all that was acknowledged before the "
    "cut is there",
    TORN_LOG_END: "images of cut disks: a torn line of a transcript costs no other line",
    SAVES_KEPT: "images of cut disks: a person's unsynced save that we displaced is in the "
    "history, whole",
    COMPACTION: "images of cut disks: each entry that was compacted is live or in the archive",
    DAMAGED_CACHE: "images of cut disks: an index that was torn finds what stands in the files",
}
# How many cuts of one disk are checked, if there is time.
CUTS = 24


class FileSystem(NamedTuple):
    """How a file system is made, the smallest disk that it takes, and where its writes tear."""

    name: str
    megabytes: int
    make: tuple[str, ...]
    sectors: tuple[int, ...] = SECTORS


EXT4 = FileSystem("ext4", 48, ("mkfs.ext4", "-q", "-F"))
# XFS does not replay the journal over a block whose first bytes are new. One of 4096 bytes that is
# torn between sectors of 512 it then finds damaged, and is not mounted: 4 of 4,458 images.
XFS = FileSystem("xfs", 320, ("mkfs.xfs", "-q", "-f", "-s", "size=4096"), sectors=(4096,))
BTRFS = FileSystem("btrfs", 128, ("mkfs.btrfs", "-q", "-f"))


@contextmanager
def disk_image(trial: Trial, made: FileSystem) -> Iterator[tuple[Path, Path]]:
    """Give an image with a new file system, and a copy that stays as it is."""
    image, base = trial.folder / "disk.img", trial.folder / "base.img"
    with image.open("wb") as file:
        file.truncate(made.megabytes << 20)
    subprocess.run([*made.make, str(image)], check=True, capture_output=True)
    copy(image, base)
    try:
        yield image, base
    finally:
        image.unlink()
        base.unlink()


def copy(image: Path, to: Path) -> None:
    """Copy an image without its holes."""
    subprocess.run(["/bin/cp", "--sparse=always", str(image), str(to)], check=True)


def cut(trial: Trial, made: FileSystem) -> None:
    """Record a disk, and look at it as it would be after power cuts at many moments."""
    if not shutil.which(made.make[0], path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"):
        trial.skip(DURABLE, f"no {made.make[0]}: {made.name} was not tested")
        return
    own_mounts()
    with disk_image(trial, made) as (image, base):
        disk = RecordedDisk(image, trial.folder / "fuse")
        try:
            mounted(disk.path, trial.folder / "live")
            try:
                root = trial.folder / "live" / "memory"
                root.mkdir()
                os.sync()
                first = disk.position
                changes = make_changes(trial.random, disk, root)
            finally:
                unmount(trial.folder / "live")
        finally:
            disk.close()
        entries = list(disk.entries())
        moments = sorted(trial.random.randrange(first, len(entries) + 1) for _ in range(CUTS))
        for moment, cut_image in images(trial, made, base, entries, moments):
            read_and_verify(trial, made, cut_image, changes, moment)


def images(
    trial: Trial, made: FileSystem, base: Path, entries: list[Written], moments: list[int]
) -> Iterator[tuple[int, Path]]:
    """Yield moments, as long as there is time, with the disk as a cut might have left it then."""
    done = 0
    image = trial.folder / "cut.img"
    for moment in moments:
        if not trial.is_time():
            return
        flushes = (at for at in range(moment - 1, done - 1, -1) if entries[at].offset < 0)
        flushed = next(flushes, done)
        put(base, entries[done:flushed])
        done = flushed
        copy(base, image)
        late = [entry for entry in entries[done:moment] if entry.offset >= 0]
        put(image, survivors(late, trial.random, made.sectors))
        yield moment, image
        image.unlink()


def put(image: Path, written: Iterable[Written]) -> None:
    """Write what was written once more, on an image."""
    with image.open("r+b") as file:
        for offset, data in written:
            if offset >= 0:
                file.seek(offset)
                file.write(data)


def read_and_verify(
    trial: Trial, made: FileSystem, image: Path, changes: list[Change], moment: int
) -> None:
    """Mount what a cut has left, open the memory, and compare it with what was acknowledged."""
    folder = trial.folder / "cut"
    case = f"{made.name}, cut at {moment}"
    try:
        mounted(image, folder)
    except OSError as error:
        # what was in it cannot be looked at, and that it is lost is none of our doing
        why = str(error).partition(f"{folder}: ")[2].partition(" on /dev/")[0] or str(error)
        trial.leave_out(DURABLE, f"images that {made.name} does not mount: {why:.120}")
        return
    try:
        compare(trial, folder / "memory", changes, moment, case)
    finally:
        unmount(folder)


def compare(trial: Trial, root: Path, changes: list[Change], moment: int, case: str) -> None:
    acknowledged = [change for change in changes if change.done <= moment]
    under_way = next((c for c in changes if c.begun <= moment < c.done), None)
    texts: dict[str, str | None] = {}
    for change in acknowledged:
        texts |= change.texts
    with commonplace.open(root) as store:
        store.search("note")
        compare_files(trial, store, texts, under_way, case)
        for kind, guarantee in (("kept", DURABLE), ("saved", SAVES_KEPT)):
            for change in acknowledged:
                for path, version, text in getattr(change, kind):
                    found = history(store, path, version)
                    trial.check(
                        guarantee, found == text, f"{case}: of {path} {version}: {found!r:.60}"
                    )
        left = [path.name for path in root.rglob(".*.swap") if path.is_file()]
        trial.check(DURABLE, not left, f"{case}: left behind: {left}")
        empty = [path.name for path in root.rglob("*.conflict-*") if not path.stat().st_size]
        trial.check(SAVES_KEPT, not empty, f"{case}: empty conflict copies: {empty}")
        differences = store.verify().differences
        trial.check(DAMAGED_CACHE, not differences, f"{case}: {differences}")
        change_again(trial, store, case)


def compare_files(
    trial: Trial,
    store: Store,
    texts: dict[str, str | None],
    under_way: Change | None,
    case: str,
) -> None:
    """Check that each file is as it was acknowledged, or as the change under way would make it."""
    nearly: dict[str, str | None] = under_way.texts if under_way else {}
    archived: set[str] = set()
    for path in {*texts, *nearly}:
        found, old = read(store, path), texts.get(path)
        if path in nearly and under_way and (under_way.saved or path in {MONTH, ARCHIVE}):
            # a person's save that nobody flushed, or one of several writes of a compaction
            continue
        if path not in nearly:
            trial.check(DURABLE, found == old, f"{case}: {path} is {found!r:.80}, not {old!r:.80}")
        elif path in GROWING:
            before, after, now = old or "", nearly[path] or "", found or ""
            whole = now.startswith(before) and is_start(now, after)
            trial.check(TORN_LOG_END, whole, f"{case}: {path} ends in {now[-60:]!r}")
        else:
            fits = found in {old, nearly[path]}
            trial.check(ATOMIC_REPLACE, fits, f"{case}: {path} under way is {found!r:.80}")
    for path in (MONTH, ARCHIVE):
        archived |= {block.title for block in parse(read(store, path) or "")}
    entries = {b.title for path in (MONTH, ARCHIVE) for b in parse(texts.get(path) or "")}
    lost = {title for title in entries - archived if title.startswith("Task")}
    trial.check(COMPACTION, not lost, f"{case}: neither live nor archived: {sorted(lost)}")


def is_start(found: str, whole: str) -> bool:
    """Say whether a text is the start of one, perhaps with zeros where the disk had nothing."""
    return all(a in (b, "\0") for a, b in zip(found, whole, strict=False)) and len(found) <= len(
        whole
    )


def change_again(trial: Trial, store: Store, case: str) -> None:
    """Check that nothing which the cut has left keeps a note from being changed."""
    for entry in store.list():
        try:
            if entry.path.startswith(("notes/", "moved/")):
                store.write(entry.path, "# Again\n")
            else:
                store.append(entry.path, '{"role": "user", "content": "again"}')
        except commonplace.CommonplaceError as error:
            trial.check(
                ATOMIC_REPLACE,
                holds=False,
                what=f"{case}: {entry.path} cannot be changed: {error}",
            )
        else:
            trial.count(ATOMIC_REPLACE, 1)
    last = read(store, LOG)
    if last is not None:
        lines = last.splitlines()
        trial.check(
            TORN_LOG_END,
            json.loads(lines[-1])["content"] == "again",
            f"{case}: {lines[-1]!r:.80}",
        )


def read(store: Store, path: str) -> str | None:
    try:
        return store.read(path)
    except commonplace.NotFound:
        return None
    except commonplace.CommonplaceError as error:
        return f"{type(error).__name__}: {error}"


def history(store: Store, path: str, version: str) -> str:
    try:
        return store.read(path, version)
    except commonplace.CommonplaceError as error:
        return f"{type(error).__name__}: {error}"


def missing() -> str | None:
    """Return why no disk can be recorded here."""
    if os.geteuid():
        return "it takes root to mount a file system"
    for device in ("/dev/fuse", "/dev/loop-control"):
        if not os.access(device, os.R_OK | os.W_OK):
            return f"{device} cannot be opened"
    pid = os.fork()
    if pid == 0:
        try:
            own_mounts()
        except OSError:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    return "no mounts of its own are allowed" if status else None


def ext4(trial: Trial) -> None:
    cut(trial, EXT4)


def xfs(trial: Trial) -> None:
    cut(trial, XFS)


def btrfs(trial: Trial) -> None:
    cut(trial, BTRFS)


KINDS = (ext4, btrfs, xfs)
