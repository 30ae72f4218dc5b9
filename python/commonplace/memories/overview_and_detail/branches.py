"""Commits and branches of a folder of notes, over the history that the store keeps.

The commands of Git-Context-Controller (arXiv 2508.00031, named in the overview/detail
design): `commit` keeps a checkpoint with a summary of the progress, `branch` opens a copy of the
notes to try something else in, `merge` brings back what came of it. The last entry of the log says
which branch is worked on.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from commonplace.entries.blocks import title_for
from commonplace.errors import InvalidArgument, NotFound
from commonplace.memories.overview_and_detail.commits import Commit, Commits
from commonplace.memories.overview_and_detail.detail import parse_detail
from commonplace.memories.overview_and_detail.merging import merge_texts
from commonplace.store import Store

MAIN = "main"

_NAME = re.compile(r"[A-Za-z0-9](?:[\w.-]{0,62}[\w-])?", re.ASCII)


class Branches:
    """The branches of the notes `overview.md` and `detail/*.md` of a folder.

    The branch `main` is the folder itself, any other lies in `branches/<name>/` below it.
    """

    def __init__(self, store: Store, folder: str, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._folder = folder
        self.commits = Commits(store, f"{folder}/commits.md", clock)

    @property
    def active(self) -> str:
        """The branch that is worked on."""
        done = self.commits.all()
        return done[-1].branch if done else MAIN

    def workspace(self, name: str | None = None) -> str:
        """Return the folder of a branch, of the active one by default."""
        name = name or self.active
        return self._folder if name == MAIN else f"{self._folder}/branches/{name}"

    def files(self, name: str) -> list[str]:
        """Return the notes of a branch, relative to its folder, sorted."""
        folder = self.workspace(name)
        found = [entry.path for entry in self._store.list(f"{folder}/detail")]
        found += [entry.path for entry in self._store.list(f"{folder}/overview.md")]
        return sorted(path.removeprefix(f"{folder}/") for path in found)

    def names(self) -> list[str]:
        """Return the branches, oldest first."""
        opened = [commit.branch for commit in self.commits.all() if commit.kind == "branch"]
        return list(dict.fromkeys([MAIN, *opened]))

    def log(self, name: str) -> list[Commit]:
        """Return what happened on a branch, oldest first."""
        return [commit for commit in self.commits.all() if commit.branch == name]

    def text(self, commit: Commit, file: str) -> str:
        """Return a note as it was in a commit.

        Raises:
            NotFound: The commit has no such note, or its text is no longer in the history.
        """
        if file not in commit.files:
            known = ", ".join(commit.files) or "none"
            raise NotFound(f"commit {commit.id} has no {file!r:.80}; it has: {known}")
        return self._store.read(f"{self.workspace(commit.branch)}/{file}", commit.files[file])

    def commit(self, message: str, expected: str | None = None) -> dict[str, Any]:
        """Keep a checkpoint of all notes of the active branch; `expected` is that of the log."""
        self.commits.check(expected, message)
        active = self.active
        return self.commits.add("commit", active, message, self._keep(active), expected)

    def branch(self, name: str, purpose: str = "", expected: str | None = None) -> dict[str, Any]:
        """Open a copy of the active branch under a new name, or go to a branch that is there.

        Raises:
            Conflict: Somebody added to the log while the notes were copied: ask again.
            InvalidArgument: The name is not one of a branch.
        """
        seen = self.commits.version
        self.commits.check(expected, purpose)
        active = self.active
        if name in self.names():
            return self.commits.add("switch", name, f"Went to {name}", self._keep(name), expected)
        if not _NAME.fullmatch(name) or any(name.lower() == n.lower() for n in self.names()):
            raise InvalidArgument(
                f"{name!r:.80} cannot be a branch: up to 64 letters, digits, '.', '_' and '-', "
                f"and not one of {', '.join(self.names())} in other case"
            )
        # what an attempt that was interrupted left there, unless another process made it just now:
        # then the log speaks of it
        left = [f"{self.workspace(name)}/{file}" for file in self.files(name)]
        versions = [self._store.version(path) for path in left]
        self.commits.check(seen)
        for path, version in zip(left, versions, strict=True):
            with contextlib.suppress(NotFound):
                self._store.delete(path, expected_version=version)
        for file, version in self._keep(active).items():
            text = self._store.read(f"{self.workspace(active)}/{file}", version)
            path = f"{self.workspace(name)}/{file}"
            self._store.write(path, text, expected_version="absent")
        log_entry = purpose if purpose.strip() else f"Opened {name}"
        return self.commits.add("branch", name, log_entry, self._keep(name), seen, origin=active)

    def merge(self, name: str, message: str = "", expected: str | None = None) -> dict[str, Any]:
        """Bring what a branch changed into the active one, or into its origin from itself."""
        self.commits.check(expected, message)
        if name not in self.names():
            raise NotFound(f"there is no branch {name!r:.80}; there are: {', '.join(self.names())}")
        target = self.active
        if target == name:
            target = next(
                (c.meta.get("origin", MAIN) for c in self.log(name) if c.kind == "branch"), MAIN
            )
        if target == name:
            raise InvalidArgument(
                f"{name} cannot be merged into itself: go to another branch first"
            )
        base = self._base(name, target)
        theirs, ours = self._keep(name), self._keep(target)
        taken: list[str] = []
        conflicts: list[str] = []
        for file in sorted({*base, *ours, *theirs}):
            then, here, there = base.get(file), ours.get(file), theirs.get(file)
            if there in {then, here}:
                continue
            path = f"{self.workspace(target)}/{file}"
            if there is None and here == then:
                with contextlib.suppress(NotFound):
                    self._store.delete(path, expected_version=here)
                taken.append(file)
            elif there is None:
                conflicts.append(f"{file}: deleted in {name}, changed in {target}: kept")
            else:
                old = self._text_of(file, then, name, target)
                new = self._store.read(f"{self.workspace(name)}/{file}", there)
                clashes = self._merge_into(path, old, new, name)
                taken.append(file)
                conflicts += [f"{file}: {clash}" for clash in clashes]
                if here is None and then is not None:
                    conflicts.append(f"{file}: deleted in {target}, changed in {name}: taken")
        log_entry = message if message.strip() else f"Merged {name} into {target}"
        log_entry += "".join(f"\n- took {file}" for file in taken)
        log_entry += "".join(f"\n- conflict, both kept: {conflict}" for conflict in conflicts)
        done = self.commits.add(
            "merge", target, log_entry, self._keep(target), expected,
            merged=name, base=theirs, before=ours,
        )  # fmt: skip
        return {**done, "taken": taken, "conflicts": conflicts}

    def describe_status(self, limit: int) -> str:
        """Return the branches, with what each is for and its last commit, and the notes."""
        active = self.active
        lines = [f"On branch {active}."]
        names = self.names()
        for name in names[-limit:]:
            done = self.log(name)
            last = f", last {_line(done[-1])}" if done else ""
            purpose = next((c.message for c in done if c.kind == "branch"), "")
            mark = "*" if name == active else "-"
            lines.append(f"{mark} {name}: {len(done)} entries{last}")
            if purpose:
                lines.append(f"  for: {title_for(purpose, 200)}")
        files = self.files(active)
        lines += ["", *_first(names, limit, "branches"), "Notes: " + ", ".join(files[:limit])]
        return "\n".join([*lines, *_first(files, limit, "notes")])

    def describe_branch(self, name: str, limit: int) -> str:
        """Return the last commits of a branch, newest first."""
        if name not in self.names():
            raise NotFound(f"there is no branch {name!r:.80}; there are: {', '.join(self.names())}")
        done = self.log(name)[::-1]
        lines = [
            f"Branch {name}, newest first:",
            *(f"- {_line(commit)}" for commit in done[:limit]),
        ]
        return "\n".join([*lines, *_first(done, limit, "commits")])

    def describe_commit(self, name: str) -> str:
        """Return one commit, `id`, or a note as it was then, `id:detail/auth.md`."""
        start, _, file = name.partition(":")
        commit = self.commits.find(start)
        if file:
            return self.text(commit, file)
        lines = [f"{commit.kind} {commit.id} on {commit.branch}, {commit.time}"]
        lines += [f"parent {commit.parent or 'none'}, commits.md#L{commit.line}", ""]
        lines += [commit.message, "", f"Notes, to be read as {commit.id}:<note>:"]
        return "\n".join([*lines, *(f"- {file}" for file in commit.files)])

    def describe_metadata(self, limit: int) -> str:
        """Return the notes of the active branch with their size and what they say of themselves."""
        folder = self.workspace()
        files = self.files(self.active)
        sizes = {entry.path: entry.size for entry in self._store.list(folder)}
        lines = [f"Notes of {self.active}:"]
        for file in files[:limit]:
            found = parse_detail(file.rpartition("/")[2], self._store.read(f"{folder}/{file}"))
            created = f", created {found.created}" if found.created else ""
            words = f", keywords: {', '.join(found.keywords)}" if found.keywords else ""
            lines.append(f"- {file}: {sizes.get(f'{folder}/{file}', 0)} B{created}{words}")
        return "\n".join([*lines, *_first(files, limit, "notes")])

    def _merge_into(self, path: str, base: str, theirs: str, name: str) -> list[str]:
        clashes: list[str] = []

        def change(ours: str) -> str:
            merged, found = merge_texts(base, ours, theirs, name)
            clashes[:] = found
            return merged

        self._store.update(path, change)
        return clashes

    def _base(self, name: str, other: str) -> Mapping[str, str]:
        """Return the versions that two branches last had in common."""
        both = {name, other}
        for commit in reversed(self.commits.all()):
            if commit.kind == "merge" and {commit.branch, commit.meta.get("merged")} == both:
                return dict(commit.meta.get("base", {}))
            if commit.kind == "branch" and {commit.branch, commit.meta.get("origin")} == both:
                return commit.files
        # two that never met: where the one left its origin
        left = [c for c in self.commits.all() if c.kind == "branch" and c.branch in both]
        return left[-1].files if left else {}

    def _text_of(self, file: str, version: str | None, *names: str) -> str:
        for name in names if version else ():
            try:
                return self._store.read(f"{self.workspace(name)}/{file}", version)
            except NotFound:
                continue
        return ""

    def _keep(self, name: str) -> dict[str, str]:
        folder = self.workspace(name)
        return {file: self._store.keep(f"{folder}/{file}").version for file in self.files(name)}


def _line(commit: Commit) -> str:
    return f"{commit.id} {commit.time} {commit.kind}: {title_for(commit.message, 100)}"


def _first(items: Sequence[object], limit: int, what: str) -> list[str]:
    """Return a line that says how many there are beyond a limit, if there are."""
    more = len(items) - limit
    return [f"… and {more} more {what}: ask with limit={len(items)}"] if more > 0 else []
