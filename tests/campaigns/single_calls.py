"""Table of single store calls: what each changes or returns, and how to check it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import commonplace
from commonplace import Store

OLD, NEW = "# Old\n\nThe old words.\n", "# New\n\nThe zyzzyva words.\n"
MARK = "zyzzyva"


class Change(NamedTuple):
    """A change, and how often it is to be seen in the folder: 0 or 1."""

    run: Callable[[Store], object]
    times: Callable[[Path], int]


def is_new(path: str, text: str = NEW) -> Callable[[Path], int]:
    return lambda root: int((root / path).exists() and (root / path).read_text() == text)


def marks(path: str, mark: str = MARK) -> Callable[[Path], int]:
    return lambda root: (root / path).read_text().count(mark) if (root / path).exists() else 0


def loaded(root: Path) -> int:
    """Return 1 for a whole import; a part of one is no doubt of its own: it can be repeated."""
    path = root / "loaded/messages.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return 2 if len(lines) > 3 else int(len(lines) == 3)


def load(store: Store) -> object:
    return store.transcript("loaded").load(store.root.parent / "source.jsonl")


CHANGES = {
    "write": Change(lambda s: s.write("facts/note.md", NEW), is_new("facts/note.md")),
    "create": Change(lambda s: s.write("made/deep/note.md", NEW), is_new("made/deep/note.md")),
    "patch": Change(
        lambda s: s.patch("facts/note.md", [("old", MARK), ("Old", "New")]), is_new("facts/note.md")
    ),
    "update": Change(
        lambda s: s.update("facts/note.md", lambda text: text + MARK),
        is_new("facts/note.md", OLD + MARK),
    ),
    "append": Change(lambda s: s.append("facts/note.md", MARK), marks("facts/note.md")),
    "append to nothing": Change(lambda s: s.append("daily/a.md", MARK), marks("daily/a.md")),
    "append behind a torn line": Change(
        lambda s: s.append("s.jsonl", f'"{MARK}"'), marks("s.jsonl")
    ),
    "say": Change(
        lambda s: s.transcript("log").append({"role": "user", "content": MARK}),
        marks("log/messages.jsonl"),
    ),
    "say first": Change(
        lambda s: s.transcript("new").append({"role": "user", "content": MARK}),
        marks("new/messages.jsonl"),
    ),
    "move": Change(
        lambda s: s.move("facts/note.md", "moved/note.md"), is_new("moved/note.md", OLD)
    ),
    "delete": Change(
        lambda s: s.delete("facts/note.md"), lambda root: int(not (root / "facts/note.md").exists())
    ),
    "keep": Change(
        lambda s: s.keep("facts/note.md"),
        lambda root: int(any((root / ".commonplace/history/facts/note.md").glob("*Z-*.md"))),
    ),
    "load": Change(load, loaded),
}
# Who does these once more, since they seemed to fail, changes nothing.
REPEATABLE = {"keep", "load"}
READS: dict[str, Callable[[Store], Any]] = {
    "read": lambda s: s.read("facts/note.md"),
    "list": lambda s: [entry.path for entry in s.list()],
    "version": lambda s: s.version("facts/note.md"),
    "history": lambda s: [past.version for past in s.history("facts/twice.md")],
    "read a version": lambda s: s.read("facts/twice.md", s.history("facts/twice.md")[0].version),
    "sections": lambda s: [section.heading for section in s.sections("facts/note.md")],
    "messages": lambda s: [message.text for message in s.transcript("log")],
    "documents": lambda s: [hit.text for hit in s.documents("facts/note.md")],
}


def search(store: Store) -> tuple[list[str], bool]:
    """Return what is found, and whether it is said to be all."""
    hits = store.search("quokka", 100)
    return sorted({hit.path for hit in hits}), hits.freshness == "fresh" and not hits.notes


def grep(store: Store) -> tuple[list[str], bool]:
    scan = store.grep("quokka")
    return sorted({match.path for match in scan}), not scan.notes


ANSWERS = {"search": search, "grep": grep}


def prepare(root: Path) -> None:
    """Make a folder by hand, and let a store look at it, so that there is all of `.commonplace`."""
    for path, text in {
        "facts/note.md": OLD,
        "facts/more.md": "- A quokka.\n",
        "facts/twice.md": "once",
        "s.jsonl": '{"n":1}\n{"n":2',
        "log/messages.jsonl": '{"role":"user","content":"quokka"}\n' * 3,
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    lines = [f'{{"role":"user","content":"message {number}"}}\n' for number in range(3)]
    (root.parent / "source.jsonl").write_text("".join(lines))
    with commonplace.open(root) as store:
        store.write("facts/twice.md", "twice")
        store.search("quokka")
