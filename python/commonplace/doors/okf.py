"""Bundles of the Open Knowledge Format 0.2: the notes of a store as concepts, and back again.

A concept needs YAML with a `type` at its start, which a note need not have. What an export adds
carries a comment, so that an import takes away the same and the note is as it was, to the byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from commonplace.errors import CommonplaceError, Conflict, Refused
from commonplace.redaction import add_counts

if TYPE_CHECKING:
    from commonplace.store import Store

_BLOCK = "type: Note # block added by commonplace\n"
_TYPE = "type: Note # added by commonplace\n"
_NAME = re.compile(r"commonplace_name: (.+) # added by commonplace\n")
_INDEX = '---\nokf_version: "0.2" # added by commonplace\n---\n\n# Notes\n\n'
_FRONTMATTER = re.compile(r"---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_RESERVED = ("index.md", "log.md")
_LISTED = re.compile(r"^[*-] \[[^\]]*\]\([^)]*\)", re.MULTILINE)
_DATED = re.compile(r"^## \d{4}-\d\d-\d\d[ \t]*$", re.MULTILINE)
_SECTION = re.compile(r"^## ", re.MULTILINE)


@dataclass
class BundleReport:
    """What an export or an import did: names of files, and why one was skipped."""

    written: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    redacted: dict[str, int] = field(default_factory=dict)
    """How many secrets of each kind were replaced in what was written."""


def export_bundle(store: Store, folder: Path, prefix: str = "") -> BundleReport:
    """Write the notes of a store as a bundle to a new folder.

    Args:
        store: Whose notes; transcripts are none.
        folder: That is not there yet, or empty.
        prefix: Only notes at or below it; the names in the bundle are whole.

    Raises:
        Refused: There is something in the folder.
        NotFound: A note was deleted meanwhile.
        OSError: The system refused.
    """
    if folder.exists() and any(folder.iterdir()):
        raise Refused(f"{folder} is not empty; name a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    notes = {one.path: one.summary for one in store.list(prefix) if one.kind == "note"}
    report, listed = BundleReport(), []
    taken = set(notes)
    for path, summary in notes.items():
        text = store.read(path)
        name = _name_in_bundle(path, text, taken)
        taken.add(name)
        kept = name == path and name.rpartition("/")[2] in _RESERVED
        content = text if kept else concept(text, None if name == path else path)
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode())
        report.written.append(name)
        if not kept:
            about = f" - {summary}" if summary else ""
            listed.append(f"* [{name.removesuffix('.md')}](<{name}>){about}\n")
    if "index.md" not in report.written:
        (folder / "index.md").write_bytes((_INDEX + "".join(listed)).encode())
    return report


def import_bundle(store: Store, folder: Path, to: str = "") -> BundleReport:
    """Write the files of a bundle to a store as notes; nothing that is there is overwritten.

    Secrets are redacted, unless the store was opened with `keep_secrets`.

    Args:
        store: That gets the notes.
        folder: Of the bundle. Hidden files and links are left out.
        to: The folder of the store.

    Raises:
        Refused: There is no such folder.
        OSError: The system refused.
    """
    if not folder.is_dir():
        raise Refused(f"{folder} is no folder")
    report = BundleReport()
    for path in _files(folder):
        name = path.relative_to(folder).as_posix()
        try:
            text = path.read_bytes().decode()
        except UnicodeDecodeError as error:
            report.skipped[name] = f"not UTF-8: {error}"
            continue
        if name == "index.md" and text.startswith(_INDEX):
            continue
        text, own = note(text)
        kept, counts = store.redact(text)
        target = f"{to.strip('/')}/{own or name}".lstrip("/")
        try:
            store.write(target, kept, expected_version="absent")
        except Conflict:
            if store.read(target) in {text, kept}:
                report.unchanged.append(target)
            else:
                report.skipped[name] = f"{target} is there and says something else"
        except CommonplaceError as error:
            report.skipped[name] = str(error)
        else:
            report.written.append(target)
            if counts:
                store.log_redactions(target, counts)
                add_counts(report.redacted, counts)
    return report


def concept(text: str, name: str | None = None) -> str:
    """Return the concept of a note; `note` returns the note again.

    Args:
        text: Of the note.
        name: Its path, where the concept cannot have it.

    >>> print(concept("# Tea"))
    ---
    type: Note # block added by commonplace
    ---
    # Tea
    """
    named = f"commonplace_name: {json.dumps(name)} # added by commonplace\n" if name else ""
    own_block = f"---\n{named}{_BLOCK}---\n{text}"
    found = _FRONTMATTER.match(text)
    fields = _fields(found[1]) if found else None
    if not found or fields is None or note(text) != (text, None):
        return own_block
    if isinstance(kind := fields.get("type"), str) and kind.strip():
        added = named
    elif "type" in fields:
        return own_block
    else:
        added = named + _TYPE
    start = text.index("\n") + 1
    made = text[:start] + added + text[start:]
    # a byte order mark may begin a block, and not stand within it
    whole = _FRONTMATTER.match(made)
    return made if whole and _fields(whole[1]) else own_block


def note(text: str) -> tuple[str, str | None]:
    """Return the note of a concept, and its path where the concept could not have it."""
    start = text.find("\n") + 1
    if not re.fullmatch(r"---[ \t]*\r?\n", text[:start]):
        return text, None
    rest, name = text[start:], None
    if found := _NAME.match(rest):
        given = (_fields(found[0]) or {}).get("commonplace_name")
        if isinstance(given, str) and given.endswith((".md", ".markdown")):
            name, rest = given, rest[found.end() :]
    if rest.startswith(f"{_BLOCK}---\n"):
        return rest[len(_BLOCK) + 4 :], name
    return text[:start] + rest.removeprefix(_TYPE), name


def _fields(block: str) -> dict[str, object] | None:
    """Return the fields of a block of YAML, None for what is no mapping."""
    try:
        found = yaml.safe_load(block)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    if found is None:
        return {}
    return found if isinstance(found, dict) else None


def _name_in_bundle(path: str, text: str, taken: set[str]) -> str:
    """Return the path itself where a concept may have it, else one that is free."""
    last = path.rpartition("/")[2]
    if last in _RESERVED:
        # as the format has it: a list of links, sections by days
        dated = _DATED.findall(text)
        is_log = dated and len(dated) == len(_SECTION.findall(text))
        found = _FRONTMATTER.match(text)
        fields = (_fields(found[1]) or {}) if found else {}
        own = {"okf_version"} if path == "index.md" else set[str]()
        is_index = _LISTED.search(text) and {*fields} <= own
        if is_log if last == "log.md" else is_index:
            return path
    elif path.endswith(".md"):
        return path
    name = f"{path.removesuffix('.md')}_.md"
    while name in taken:
        name = f"{name.removesuffix('.md')}_.md"
    return name


def _files(folder: Path) -> Iterator[Path]:
    """Yield the Markdown below a folder, in order, without what is hidden or a link."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.is_symlink():
            continue
        if path.is_dir():
            yield from _files(path)
        elif path.name.endswith(".md"):
            yield path
