"""Answers of memory systems, as a person reads them on a terminal."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any

from commonplace.byte_sizes import size
from commonplace.cli.output import printer, screen
from commonplace.cli.printer import old_text
from commonplace.store import Store

# What a receipt says in its first lines, or for programs only
_TOLD = {"success", "path", "citation", "version", "previous", "history", "category", "redacted"}
# What was done, by the key that tells it
_COUNTED = {"remembered": "kept", "filtered": "left out"}
# How a tool says at its end that there is more
_MORE = re.compile(r"^\[There is more: \w[^\n\]]*?\b(limit|start)=(\d+)[^\n\]]*\]$", re.MULTILINE)
# What has lines of its own
_SHOWN = {"added", "notes", "replaced", "to_forget"}


@dataclass(frozen=True, slots=True)
class Passage:
    """A text, and the place where it stands."""

    text: str
    citation: str


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, and what stands below it."""

    title: str
    passages: list[Passage]


def overview_of(system: str, memory: Any, store: Store, **options: Any) -> list[Section]:
    """Return what a memory holds, without the sections that hold nothing.

    Args:
        system: The name of the system.
        memory: The memory.
        store: Where it lies.
        **options: `past` of a profile: also what is no longer true.
    """
    return [one for one in _OVERVIEWS[system](memory, store, **options) if one.passages]


def _profile(memory: Any, _: Store, *, past: bool = False) -> Iterable[Section]:
    by_category: dict[str, list[Passage]] = {}
    for one in memory.entries(limit=sys.maxsize, past=past):
        told = f"{one.citation}, until {one.until}" if one.until else one.citation
        by_category.setdefault(one.category, []).append(Passage(one.text, told))
    return [Section(title, found) for title, found in by_category.items()]


def _facts_and_episodes(memory: Any, _: Store) -> Iterable[Section]:
    by_folder: dict[str, list[Passage]] = {}
    for file in memory.memory_list():
        folder = file["path"].rpartition("/")[0].capitalize() or "Notes"
        told = f"{file['path']}  {size(file['size'])}"
        by_folder.setdefault(folder, []).append(Passage(file["summary"], told))
    return [Section(title, found) for title, found in by_folder.items()]


def _four_layers(memory: Any, _: Store) -> Iterable[Section]:
    keys = {"semantic": "key", "procedural": "condition", "episodic": ""}
    for layer, key in keys.items():
        passages = []
        for one, citation in memory.cited(layer):
            before = (one.metadata or {}).get(key)
            text = f"{before}: {one.content}" if before else one.content
            passages.append(Passage(text, citation))
        yield Section(layer.capitalize(), passages)


def _overview_and_detail(memory: Any, store: Store) -> Iterable[Section]:
    if not store.holds(memory.folder):
        return
    yield Section("Overview", [Passage(memory.read_overview(), "overview.md")])
    yield Section("Branches and notes", [Passage(memory.context("status"), "commits.md")])


def _world_and_agents(memory: Any, store: Store) -> Iterable[Section]:
    if store.holds():
        for one in memory.recalled():
            yield Section(one.heading, [Passage(one.text, one.path)])


_OVERVIEWS: dict[str, Callable[..., Iterable[Section]]] = {
    "facts_and_episodes": _facts_and_episodes,
    "four_layers": _four_layers,
    "overview_and_detail": _overview_and_detail,
    "profile": _profile,
    "world_and_agents": _world_and_agents,
}


def print_sections(sections: Sequence[Section]) -> None:
    """Print sections: on a terminal folded and in a pager, else a line for each line."""
    shown = screen()
    with shown.paged():
        for number, section in enumerate(sections):
            if number:
                shown.line()
            shown.line((section.title, "bold"))
            for one in section.passages:
                shown.folded(one.text, indent=2, end=one.citation)


def print_answer(answer: Any, root: Path | None = None) -> None:
    """Print what a tool answers: text as it is, a receipt in lines, anything else by its fields.

    `root` is where old texts are below.
    """
    shown = screen() if sys.stdout.isatty() else printer()
    if answer is None:
        return
    if isinstance(answer, str):
        shown.folded(_MORE.sub(r"[There is more: the same command with --\1 \2.]", answer))
    elif isinstance(answer, Mapping) and answer.get("success"):
        is_forgotten = "erased" in answer
        lines = _forgotten_lines(answer) if is_forgotten else _receipt_lines(answer, root)
        for parts in lines:
            shown.line(*parts)
    else:
        for line in _field_lines(answer):
            shown.folded(line) if line else shown.line()


def _receipt_lines(receipt: Mapping[str, Any], root: Path | None) -> Iterable[tuple[Any, ...]]:
    """Yield what a write did: where, what it replaced, where the old text is, and the rest."""
    if place := receipt.get("citation") or receipt.get("path"):
        verb = "wrote " if receipt.get("added", True) else "there already: "
        title = f"  [{receipt['category']}]" if receipt.get("category") else ""
        yield verb, (str(place), "cyan"), title, (f"  version {receipt.get('version')}", "dim")
    yield from _replaced_lines(receipt)
    if receipt.get("history"):
        yield ((old_text(receipt["history"], root), "dim"),)
    for name, verb in _COUNTED.items():
        for one in receipt.get(name) or ():
            where = one.get("citation") or one.get("reason")
            yield f"{verb}: {one['text']}", (f"  {where}", "dim")
            yield from _replaced_lines(one)
    for request in receipt.get("to_forget") or ():
        yield from _request_lines(request)
    for note in receipt.get("notes") or ():
        yield ((note, "dim"),)
    told = {*_TOLD, *_COUNTED, *_SHOWN}
    rest = {name: value for name, value in receipt.items() if name not in told}
    for line in _field_lines({k: v for k, v in rest.items() if v not in (None, [], {})}):
        yield ((line, "dim"),)


def _replaced_lines(receipt: Mapping[str, Any]) -> Iterable[tuple[Any, ...]]:
    for old in receipt.get("replaced") or ():
        yield f"  in place of: {old['text']}", (f"  {old['citation']}", "dim")


def _request_lines(request: Mapping[str, Any]) -> Iterable[tuple[Any, ...]]:
    """Yield what the user asks to forget in a conversation, and what `forget` would erase."""
    yield (f"asked to forget: {request['text']}",)
    command = f"forget {shlex.quote(request['what'])}"
    yield from _forgotten_lines({"erased": False, **request}, command)
    if request.get("note"):
        yield ((request["note"], "dim"),)


def _forgotten_lines(
    answer: Mapping[str, Any], command: str = "the same command"
) -> Iterable[tuple[Any, ...]]:
    """Yield what `forget` has erased, or would: by itself it only shows that."""
    verb = "erased" if answer["erased"] else "would erase"
    for one in answer.get("passages") or ():
        yield f"{verb}: {one['text']}", (f"  {one['citation']}", "dim")
    if count := answer.get("old_versions"):
        yield ((f"{verb}: {count} old versions that hold it", "dim"),)
    for line in _field_lines({k: answer[k] for k in ("more", "left", "similar") if answer.get(k)}):
        yield (line,)
    if token := answer.get("token"):
        yield f"to erase it, give {command} with ", (f"--token {token}", "bold")


def _field_lines(value: Any, indent: str = "") -> Iterable[str]:
    """Yield a value as lines: `name: value`, and what is inside of it below, indented."""
    if is_dataclass(value) and not isinstance(value, type):
        value = {name: part for name, part in asdict(value).items() if part is not None}
    if isinstance(value, Mapping):
        for name, part in value.items():
            title = str(name).replace("_", " ")
            if isinstance(part, Mapping | list | tuple) and part:
                yield f"{indent}{title}:"
                yield from _field_lines(part, f"{indent}  ")
            else:
                yield f"{indent}{title}: {'none' if part in (None, [], {}, ()) else part}"
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            # records are set apart, words are not
            if number and not isinstance(part, str):
                yield ""
            yield from _field_lines(part, indent)
    else:
        yield f"{indent}{value}"
