"""Commits and branches of a folder of notes, over the history that the store keeps.

The commands of Git-Context-Controller (arXiv 2508.00031, named in §10.2 of the overview/detail
design): `commit` keeps a checkpoint with a summary of the progress, `branch` opens a copy of the
notes to try something else in, `merge` brings back what came of it. All that happened is told in
`commits.md`, a note that people can read and that is only added to:

    ## Decided on JWT
    <!--
    META:
    - id: "6f1c09b2aa"
    - kind: "commit"
    - time: "2026-02-24T10:30:00Z"
    - branch: "main"
    - parent: null
    - files: {"overview.md":"0c1d…","detail/auth-design.md":"77ab…"}
    -->

The last entry says which branch is worked on. The texts themselves are in `.commonplace/history/`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import orjson

from commonplace.blocks import Block, parse, render, title_for
from commonplace.errors import Conflict, FormatError, NotFound
from commonplace.memories.detail import parse_detail
from commonplace.memories.merging import merge_texts
from commonplace.records import receipt
from commonplace.store import Store

MAIN = "main"
Kind = Literal["commit", "branch", "switch", "merge"]

_NAME = re.compile(r"[A-Za-z0-9](?:[\w.-]{0,62}[\w-])?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Commit:
    """One entry of the log; `files` maps a note of the branch to its version at that time."""

    id: str
    kind: Kind
    branch: str
    message: str
    time: str
    parent: str | None
    files: Mapping[str, str]
    meta: Mapping[str, Any]
    line: int


class Branches:
    """The branches of the notes `overview.md` and `detail/*.md` of a folder.

    The branch `main` is the folder itself, any other lies in `branches/<name>/` below it.
    """

    def __init__(self, store: Store, folder: str, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._folder = folder
        self._clock = clock
        self._path = f"{folder}/commits.md"
        self._read: tuple[str | None, list[Commit]] = (None, [])

    @property
    def active(self) -> str:
        """The branch that is worked on."""
        log = self.log()
        return log[-1].branch if log else MAIN

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
        opened = [commit.branch for commit in self.log() if commit.kind == "branch"]
        return list(dict.fromkeys([MAIN, *opened]))

    def log(self, name: str | None = None) -> list[Commit]:
        """Return what happened, oldest first; on one branch only, when it is named."""
        version = self._store.version(self._path)
        if version is None:
            return []
        if self._read[0] != version:
            known = map(_commit, parse(self._store.read(self._path)))
            self._read = (version, [commit for commit in known if commit])
        commits = self._read[1]
        return [commit for commit in commits if name in {None, commit.branch}]

    def find(self, start: str) -> Commit:
        """Return the one commit whose id begins with `start`.

        Raises:
            NotFound: There is none, or more than one.
        """
        found = [commit for commit in self.log() if start and commit.id.startswith(start)]
        if len(found) != 1:
            known = ", ".join(commit.id for commit in (found or self.log())[-8:]) or "none"
            raise NotFound(f"{len(found)} commits begin with {start!r:.40}; there are: {known}")
        return found[0]

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
        self._check(expected)
        active = self.active
        return self._record("commit", active, message, self._keep(active), expected)

    def branch(self, name: str, purpose: str = "", expected: str | None = None) -> dict[str, Any]:
        """Open a copy of the active branch under a new name, or go to a branch that is there."""
        self._check(expected)
        active = self.active
        if name in self.names():
            return self._record("switch", name, f"Went to {name}", self._keep(name), expected)
        if not _NAME.fullmatch(name) or any(name.lower() == n.lower() for n in self.names()):
            raise ValueError(
                f"{name!r:.80} cannot be a branch: up to 64 letters, digits, '.', '_' and '-', "
                f"and not one of {', '.join(self.names())} in other case"
            )
        # what an attempt that was interrupted left there; nothing in the log speaks of it
        for file in self.files(name):
            self._store.delete(f"{self.workspace(name)}/{file}")
        for file, version in self._keep(active).items():
            text = self._store.read(f"{self.workspace(active)}/{file}", version)
            self._store.write(f"{self.workspace(name)}/{file}", text)
        told = purpose if purpose.strip() else f"Opened {name}"
        return self._record("branch", name, told, self._keep(name), expected, origin=active)

    def merge(self, name: str, message: str = "", expected: str | None = None) -> dict[str, Any]:
        """Bring what a branch changed into the active one, or into its origin from itself."""
        self._check(expected)
        if name not in self.names():
            raise NotFound(f"there is no branch {name!r:.80}; there are: {', '.join(self.names())}")
        target = self.active
        if target == name:
            target = next(
                (c.meta.get("origin", MAIN) for c in self.log(name) if c.kind == "branch"), MAIN
            )
        if target == name:
            raise ValueError(f"{name} cannot be merged into itself: go to another branch first")
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
        told = message if message.strip() else f"Merged {name} into {target}"
        told += "".join(f"\n- took {file}" for file in taken)
        told += "".join(f"\n- conflict, both kept: {conflict}" for conflict in conflicts)
        done = self._record(
            "merge", target, told, self._keep(target), expected,
            merged=name, base=theirs, before=ours,
        )  # fmt: skip
        return {**done, "taken": taken, "conflicts": conflicts}

    def tell_status(self, limit: int) -> str:
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

    def tell_branch(self, name: str, limit: int) -> str:
        """Return the last commits of a branch, newest first."""
        if name not in self.names():
            raise NotFound(f"there is no branch {name!r:.80}; there are: {', '.join(self.names())}")
        done = self.log(name)[::-1]
        told = [f"Branch {name}, newest first:", *(f"- {_line(commit)}" for commit in done[:limit])]
        return "\n".join([*told, *_first(done, limit, "commits")])

    def tell_commit(self, name: str) -> str:
        """Return one commit, `id`, or a note as it was then, `id:detail/auth.md`."""
        start, _, file = name.partition(":")
        commit = self.find(start)
        if file:
            return self.text(commit, file)
        lines = [f"{commit.kind} {commit.id} on {commit.branch}, {commit.time}"]
        lines += [f"parent {commit.parent or 'none'}, commits.md#L{commit.line}", ""]
        lines += [commit.message, "", f"Notes, to be read as {commit.id}:<note>:"]
        return "\n".join([*lines, *(f"- {file}" for file in commit.files)])

    def tell_metadata(self, limit: int) -> str:
        """Return the notes of the active branch with their size and what they say of themselves."""
        folder = self.workspace()
        files = self.files(self.active)
        sizes = {entry.path: entry.size for entry in self._store.list(folder)}
        lines = [f"Notes of {self.active}:"]
        for file in files[:limit]:
            found = parse_detail(file.rpartition("/")[2], self._store.read(f"{folder}/{file}"))
            said = f", created {found.created}" if found.created else ""
            words = f", keywords: {', '.join(found.keywords)}" if found.keywords else ""
            lines.append(f"- {file}: {sizes.get(f'{folder}/{file}', 0)} B{said}{words}")
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
        for commit in reversed(self.log()):
            if commit.kind == "merge" and {commit.branch, commit.meta.get("merged")} == {
                name,
                other,
            }:
                return dict(commit.meta.get("base", {}))
            if commit.kind == "branch" and {commit.branch, commit.meta.get("origin")} == {
                name,
                other,
            }:
                return commit.files
        # two that never met: where the one left its origin
        left = [c for c in self.log() if c.kind == "branch" and c.branch in {name, other}]
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

    def _check(self, expected: str | None) -> None:
        """Look at once whether the log is the one that was seen; its write looks again."""
        if expected not in {None, self._store.version(self._path) or "absent"}:
            raise Conflict(f"{self._path} is not as you saw it: read context() again")

    def _record(
        self,
        kind: Kind,
        branch: str,
        message: str,
        files: Mapping[str, str],
        expected: str | None,
        **more: Any,
    ) -> dict[str, Any]:
        if not message.strip():
            raise ValueError("say in a few words what this checkpoint is about")
        parents = [commit.id for commit in self.log(branch)]
        said = {
            "kind": kind,
            "time": self._clock().isoformat(timespec="seconds").replace("+00:00", "Z"),
            "branch": branch,
            "parent": parents[-1] if parents else None,
            "files": dict(files),
            **more,
        }
        number = len(self.log())
        unique = orjson.dumps([number, message, said])
        meta = {"id": hashlib.sha256(unique).hexdigest()[:10], **said}
        start = "" if number or self._store.version(self._path) else "# Commits\n\n"
        block = render(title_for(message), message, meta)
        text = f"{start or chr(10)}{block}".rstrip("\n")
        written = self._store.append(self._path, text, expected_version=expected)
        if meta["id"] not in {commit.id for commit in self.log()}:
            raise FormatError(
                f"{self._path} does not give back what was added to it: look whether a fence or "
                "comment is left open in it"
            )
        return {**receipt(written), "commit": meta["id"], "branch": branch, "files": list(files)}


def _line(commit: Commit) -> str:
    return f"{commit.id} {commit.time} {commit.kind}: {title_for(commit.message, 100)}"


def _first(items: Sequence[object], limit: int, what: str) -> list[str]:
    """Return a line that says how many there are beyond a limit, if there are."""
    more = len(items) - limit
    return [f"… and {more} more {what}: ask with limit={len(items)}"] if more > 0 else []


def _commit(block: Block) -> Commit | None:
    meta = block.meta
    files = meta.get("files")
    known = (meta.get("id"), meta.get("kind"), meta.get("branch"))
    if not all(isinstance(value, str) for value in known) or not isinstance(files, dict):
        return None
    return Commit(
        str(meta["id"]), meta["kind"], str(meta["branch"]), block.text, str(meta.get("time", "")),
        meta.get("parent"), files, meta, block.line,
    )  # fmt: skip
