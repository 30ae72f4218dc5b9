"""Copy on this machine of a tenant's root in an object store, and the commits of its changes.

The manifest names each file of a tenant and the objects that it is made of, its segments: one for a
note, several for a transcript, which grows at its end. Segments never change. A change is made in
the copy, its segments are written, and then the manifest, if it still is the one that the copy was
made from. So a change is there as a whole or not at all, for all processes at once, and what was
acknowledged is in the object store. The copy of a process that was killed is thrown away.
"""

# Longer than 350 lines: the copy and its commits are one protocol, held by one lock.

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Executor, wait
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from commonplace.errors import Busy, CommonplaceError, InDoubt, StorageError
from commonplace.service.manifest import File, Manifest, first_rewritten
from commonplace.service.objects import ObjectsUnavailable, VersionedObjects

CURRENT_FOR = 0.2
"""Seconds for which a copy that was compared with the manifest is taken as current."""
ROUNDS = 20
EARLIER = 32
"""Commits before its own that a manifest tells."""
ORPHAN_AGE = 3600.0
"""Seconds after which a segment that no manifest names is removed."""
OWN = ".commonplace"
KEPT_FOLDERS = ("history", "quarantine")
FORGOTTEN = f"{OWN}/forgotten.jsonl"
"""What is kept of the files that a store writes beside the memory."""
Stamp = tuple[int, int, int]
log = logging.getLogger(__name__)


class SegmentMissing(Exception):
    """A segment is gone: the manifest that named it has been replaced."""


class Replica:
    """The copy of one tenant's root.

    Args:
        objects: Where the truth is.
        tenant: The key of the tenant.
        folder: The copy, which nobody else writes.
        threads: Read segments side by side.
    """

    def __init__(
        self, objects: VersionedObjects, tenant: str, folder: Path, threads: Executor
    ) -> None:
        self._objects, self._folder, self._threads = objects, folder, threads
        self._name, self._kind = f"manifests/{tenant}", f"segments/{tenant}"
        self._spare = folder.with_name(f"{folder.name}.new")
        self._manifest, self._version = Manifest(), ""
        self._copied: dict[str, tuple[File, Stamp]] = {}
        self._compared = float("-inf")
        # what an earlier copy has left in the folder is none of this one
        self._torn = True
        self._changing = False
        self._unneeded: set[str] = set()
        # a thread that changes something reads meanwhile
        self._lock = threading.RLock()
        for one in (folder, self._spare):
            one.mkdir(parents=True, exist_ok=True)

    def version(self, path: str) -> str | None:
        """Return what tells this state of a file from others, on all machines; None: no file.

        Of a file that is being changed it is another one each time: that may yet come to nothing.
        """
        if not (found := self._copied.get(path)):
            return None
        file, stamp = found
        with suppress(FileNotFoundError, NotADirectoryError):
            if _stamp(self._place(path).stat()) == stamp:
                return f"{file.id}-{file.size:x}"
        return f"{uuid.uuid4().hex}-{file.size:x}"

    def refresh(self, *, now: bool = False) -> None:
        """Make the copy as the manifest says.

        Args:
            now: Ask the object store also if it was asked a moment ago.

        Raises:
            ObjectsUnavailable: It does not answer.
        """
        with self._lock:
            if self._changing:
                # this thread reads within its change, which a pull would write over
                return
            if now or self._torn or time.monotonic() - self._compared > CURRENT_FOR:
                self._pull()

    @contextmanager
    def changing(self, *, grows: bool) -> Iterator[None]:
        """Change files of the copy, and have the change for all processes when this ends.

        Args:
            grows: A transcript that is longer afterwards begins as it did.

        Raises:
            ObjectsUnavailable: The object store does not answer; nothing was changed.
            Busy: Another process has changed the same file meanwhile; nothing was changed.
            InDoubt: It is not known whether the change was made.
        """
        with self._lock:
            self.refresh(now=True)
            if self._scan() != {path: stamp for path, (_, stamp) in self._copied.items()}:
                # what somebody else did to the copy is no part of this change
                self._torn = True
                self._pull()
            try:
                self._changing = True
                try:
                    yield
                finally:
                    self._changing = False
                self._commit(grows=grows)
            except BaseException:
                self._torn = True
                with suppress(CommonplaceError):
                    self._pull()
                raise

    def remove_orphans(self) -> None:
        """Remove segments that no manifest names: of changes that were cut off, or too many."""
        ages = dict(self._objects.list(self._kind))
        with self._lock:
            self.refresh(now=True)
            old = {name for name, age in ages.items() if age > ORPHAN_AGE}
            # where nothing is known of a tenant what is there is better kept
            if self._manifest.commit and old - self._manifest.segments():
                # a process that was paused since it wrote one of them cannot have it named now
                self._exchange({}, [], grows=True)
                self._objects.delete_all(old - self._manifest.segments())

    # The copy

    def _pull(self) -> None:
        """Bring the copy to the state of the manifest."""
        for _ in range(ROUNDS):
            begun = time.monotonic()
            if self._torn:
                self._throw_away_changes()
            found = self._objects.newer(self._name, "" if self._torn else self._version)
            if found is not None or self._torn:
                data, version = found or (b"", "")
                manifest = Manifest.read(data)
                try:
                    self._bring(manifest)
                except SegmentMissing:
                    continue
                self._manifest, self._version = manifest, version
            self._compared, self._torn = begun, False
            return
        raise ObjectsUnavailable("the files changed each time they were read; try again")

    def _bring(self, manifest: Manifest) -> None:
        """Write what the copy lacks of a manifest, and remove what it has not."""
        for path in [one for one in self._copied if one not in manifest.files]:
            self._remove(path)
        lacking = [
            (path, file)
            for path, file in manifest.files.items()
            if path not in self._copied or self._copied[path][0] != file
        ]
        fetches = [self._threads.submit(self._fetch, *one) for one in lacking]
        wait(fetches, return_when=FIRST_EXCEPTION)
        for one in fetches:
            one.cancel()
        # one that ran on would write over what is fetched next
        wait(fetches)
        for one in fetches:
            if not one.cancelled():
                one.result()

    def _fetch(self, path: str, file: File) -> None:
        """Write a file of the copy as it is in the object store."""
        before, stamp = self._copied.get(path, (None, None))
        start = before.size if before and before.id == file.id and before.size <= file.size else 0
        place = self._place(path)
        data = self._read(file, start)
        try:
            if start and stamp:
                with place.open("ab") as grown:
                    grown.write(data)
            else:
                new = self._spare / uuid.uuid4().hex
                try:
                    new.write_bytes(data)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    new.replace(place)
                finally:
                    new.unlink(missing_ok=True)
            self._copied[path] = (file, _stamp(place.stat()))
        except OSError as error:
            self._torn = True
            raise StorageError(f"a copy could not be written: {error.strerror}") from error

    def _read(self, file: File, start: int) -> bytes:
        """Return the bytes of a file from `start` on."""
        parts: list[bytes] = []
        at = 0
        for name, size in file.segments:
            if at + size > start:
                if (data := self._objects.read(name)) is None:
                    raise SegmentMissing
                parts.append(data[max(0, start - at) :])
            at += size
        return b"".join(parts)

    def _remove(self, path: str) -> None:
        place = self._place(path)
        place.unlink(missing_ok=True)
        self._copied.pop(path, None)
        # a file may take the place of a folder
        for folder in place.parents:
            if folder == self._folder:
                return
            try:
                folder.rmdir()
            except FileNotFoundError:
                continue
            except OSError:
                # there is more in it
                return

    def _throw_away_changes(self) -> None:
        """Forget of the copy what is not as it was copied, and remove what never was."""
        now = self._scan()
        for path in {*self._copied, *now}:
            if path not in self._copied:
                self._remove(path)
            elif now.get(path) != self._copied[path][1]:
                del self._copied[path]

    def _place(self, path: str) -> Path:
        if path.startswith("/") or ".." in path.split("/"):
            raise StorageError(f"the manifest names {path!r:.200}, which is no file of a root")
        return self._folder / path

    def _scan(self) -> dict[str, Stamp]:
        """Return the files of the copy as they are now.

        Raises:
            StorageError: It cannot be read: a file that is not seen would count as removed.
        """
        found: dict[str, Stamp] = {}
        left = [
            "",
            *(f"{OWN}/{one}/" for one in KEPT_FOLDERS if self._place(f"{OWN}/{one}").is_dir()),
        ]
        try:
            while left:
                below = left.pop()
                with os.scandir(self._folder / below) as entries:
                    for one in entries:
                        if one.name.startswith("."):
                            continue
                        if one.is_dir(follow_symlinks=False):
                            left.append(f"{below}{one.name}/")
                        elif one.is_file(follow_symlinks=False):
                            found[f"{below}{one.name}"] = _stamp(one.stat(follow_symlinks=False))
        except OSError as error:
            raise StorageError(f"a copy could not be read: {error.strerror}") from error
        with suppress(FileNotFoundError):
            found[FORGOTTEN] = _stamp(self._place(FORGOTTEN).stat())
        return found

    # Commits

    def _commit(self, *, grows: bool) -> None:
        """Write what has changed in the copy, and the manifest that has it."""
        now = self._scan()
        changed = {
            path: stamp
            for path, stamp in now.items()
            if path not in self._copied or self._copied[path][1] != stamp
        }
        gone = [path for path in self._copied if path not in now]
        if not changed and not gone:
            self._remove_unneeded(grows=grows)
            return
        before, new = self._exchange(changed, gone, grows=grows)
        for path, stamp in changed.items():
            self._copied[path] = (new.files[path], stamp)
        for path in gone:
            self._copied.pop(path, None)
        self._unneeded |= before.segments() - new.segments()
        self._remove_unneeded(grows=grows)

    def _remove_unneeded(self, *, grows: bool) -> None:
        """Remove segments that are not needed any more; `forget` may not answer before."""
        try:
            self._objects.delete_all(self._unneeded)
            self._unneeded.clear()
        except ObjectsUnavailable as error:
            if not grows:
                told = "the change was made, but the object store still has what was there before"
                raise InDoubt(f"{told}: {error}; it is removed with the next change") from error
            log.warning("segments that are not needed any more stay for now: %s", error)

    def _upload(self, path: str, stamp: Stamp, grows: bool) -> File:
        """Write the segments that a file has and the object store has not."""
        size = stamp[1]
        before, was = self._copied.get(path, (None, None))
        kept: tuple[tuple[str, int], ...] = ()
        own = uuid.uuid4().hex[:16]
        # by the inode: it was appended to, and not replaced
        appended = was is not None and was[0] == stamp[0] and was[1] < size
        if before and appended and grows and path.endswith(".jsonl"):
            own, kept = before.id, before.segments
            kept = kept[: first_rewritten([one for _, one in kept], size - before.size)]
        start = sum(one for _, one in kept)
        name = f"{self._kind}/{uuid.uuid4().hex}"
        with self._place(path).open("rb") as file:
            file.seek(start)
            data = file.read(size - start)
        self._objects.write(name, data)
        return File(own, (*kept, (name, len(data))))

    def _exchange(
        self, changed: dict[str, Stamp], gone: Iterable[str], *, grows: bool
    ) -> tuple[Manifest, Manifest]:
        """Write segments and replace the manifest, and return the one before and the new one."""
        own = {*changed, *gone}
        for _ in range(ROUNDS):
            before = self._manifest
            # again in each round: orphans are removed only after the manifest has been replaced
            files = {path: self._upload(path, stamp, grows) for path, stamp in changed.items()}
            kept = {path: file for path, file in before.files.items() if path not in own}
            earlier = (before.commit, *before.earlier)[:EARLIER]
            new = Manifest(uuid.uuid4().hex, kept | files, earlier)
            data = msgspec.json.encode(new)
            try:
                version = self._objects.exchange(self._name, data, self._version)
                found = None if version else self._objects.newer(self._name, "")
            except ObjectsUnavailable as error:
                raise InDoubt(f"it is not known whether the change was kept: {error}") from error
            if version:
                self._manifest, self._version = new, version
                return before, new
            data, version = found or (b"", "")
            theirs = Manifest.read(data)
            commits = (theirs.commit, *theirs.earlier)
            if new.commit in commits:
                # the answer was lost; what others have changed since is read with the next refresh
                self._manifest, self._version = new, ""
                return before, new
            if before.commit not in commits:
                raise InDoubt("others have changed this memory too often to tell; read the file")
            self._unneeded |= new.segments() - before.segments()
            if any(theirs.files.get(path) != before.files.get(path) for path in own):
                raise Busy("another process has changed this file at the same time; try again")
            with suppress(SegmentMissing):
                self._bring(theirs)
                self._manifest, self._version = theirs, version
        raise Busy("other processes change this memory all the time; try again")


def _stamp(found: os.stat_result) -> Stamp:
    return found.st_ino, found.st_size, found.st_mtime_ns
