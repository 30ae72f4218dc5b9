"""Compaction: many entries become a summary; the originals are archived and verified first.

Nothing leaves a note before its copy in the archive was read again and compared, and what takes
its place says where that copy lies. At every moment, also when a step fails or the machine
stops, each original is in the live note or in the archive, mostly in both.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson

from commonplace._core import Written
from commonplace.citation import cite
from commonplace.entries.blocks import Block, copy_of, parse, preamble
from commonplace.errors import CompactionFailed, Conflict, InvalidArgument, NotFound
from commonplace.store import Store

# How often the archive is read anew while others add to it
_TRIES = 64

_held = threading.local()


@contextmanager
def compaction_lock(store: Store) -> Iterator[None]:
    """Let one compaction of a store run at a time, of all threads and processes; others wait.

    So do other changes of several notes that two must not make at once: an import, a branch, a
    merge. What is to leave must be chosen inside: two that had chosen the same entries would
    summarise them twice. A compaction within another, of the same thread, is a part of it.

    Raises:
        Busy: Another one ran for longer than a minute.
    """
    held: set[tuple[int, Path]] = vars(_held).setdefault("roots", set())
    # a child of a fork does not hold what its parent holds
    own = (os.getpid(), store.root)
    if own in held:
        yield
        return
    with store.side_files().locked("compaction.lock", timeout=60.0):
        held.add(own)
        try:
            yield
        finally:
            held.discard(own)


def archive_blocks(store: Store, path: str, blocks: Sequence[Block], target: str) -> list[str]:
    """Copy blocks of a note to an archive note, and read them there again.

    A block that the archive holds already, word for word, is not archived twice: so a run that
    was interrupted may simply be repeated, and two processes may archive the same blocks at once.

    Args:
        store: Where both notes are.
        path: The note that the blocks are in.
        blocks: As `blocks.parse()` gave them.
        target: The archive note, such as `archive/episodes/2026-02.md`; it is made if needed.

    Returns:
        One citation a block, in the order of the blocks: `archive/episodes/2026-02.md#L12`.

    Raises:
        CompactionFailed: A block would not read back from the archive as it is, or does not. The
            archive was only added to, in the first case not even that, and the note is as before.
        Conflict: Others added to the archive each of 64 times.
    """
    if target == path:
        raise InvalidArgument(f"{path} cannot be its own archive")
    if not blocks:
        return []
    for _ in range(_TRIES):
        try:
            _add_missing(store, path, blocks, target)
        except (Conflict, NotFound):
            # others added to it, or took it away, since it was read
            continue
        return _in_order(blocks, _cited(store.read(target), target), path, target)
    raise Conflict(f"{target} kept changing while blocks of {path} were archived; try again")


def _add_missing(store: Store, path: str, blocks: Sequence[Block], target: str) -> None:
    """Add to an archive those of some blocks that it does not hold, if it stays as it was read."""
    version = store.version(target)
    text = store.read(target, version) if version else ""
    there = _cited(text, target)
    missing = [
        copy_of(block)
        for block, number in _numbered(blocks)
        if len(there.get(_key(block), ())) < number
    ]
    if not missing:
        return
    start = "" if text else f"# Archive of {path}\n"
    added = f"{start}\n" + "\n".join(missing).rstrip("\n")
    # first as it would be: what cannot be read there is not added at every try anew
    line_end = "\n" if text and not text.endswith("\n") else ""
    _in_order(blocks, _cited(f"{text}{line_end}{added}\n", target), path, target)
    store.append(target, added, expected_version=version or "absent")


def _in_order(
    blocks: Sequence[Block],
    there: Mapping[tuple[str, str, bytes], list[str]],
    path: str,
    target: str,
) -> list[str]:
    """Return the citation of each block in its archive; raise when one is not there as it is."""
    citations = []
    for block, number in _numbered(blocks):
        held = there.get(_key(block), [])
        if len(held) < number:
            raise CompactionFailed(
                f"{block.title!r:.60} of {path} does not read back from {target}: nothing was "
                f"taken out of {path}; look whether a fence or comment is left open in {target}"
            )
        citations.append(held[number - 1])
    return citations


@dataclass(frozen=True, slots=True)
class Replaced:
    """What a compaction did: the write of the live note, and where the originals lie now."""

    written: Written
    citations: list[str]


def replace_blocks(
    store: Store,
    path: str,
    leaving: Sequence[Block],
    target: str,
    summary: Callable[[list[str]], str],
) -> Replaced:
    r"""Put a summary in the place of blocks, once they are safely in the archive.

    Edits that others make meanwhile are kept: the note is read again, and only the leaving blocks
    are taken out, where the first of them stood.

    Args:
        store: Where both notes are.
        path: The live note.
        leaving: The blocks that leave, as `blocks.parse()` gave them.
        target: The archive note; see `archive_blocks()`.
        summary: Is given the citations of the archived blocks, in order, and returns what takes
            their place: one or more rendered blocks (`blocks.render()`) that name the archive.

    Returns:
        What was written, and the citations.

    Raises:
        CompactionFailed: A block did not reach the archive, or the summary is empty, names no
            place in the archive or is not made of whole blocks. The live note is as before.
        Conflict: A leaving block is no longer in the note as it was. It is in the archive as you
            saw it, and the note is as others left it.

    >>> import commonplace, tempfile
    >>> store = commonplace.open(tempfile.mkdtemp())
    >>> from commonplace.entries.blocks import render
    >>> note = render("One", "first") + "\n" + render("Two", "second")
    >>> _ = store.write("episodes/2026-02.md", note)
    >>> replace_blocks(
    ...     store, "episodes/2026-02.md", parse(note), "archive/episodes/2026-02.md",
    ...     lambda cited: render("Both", f"- first, second ({cited[0]})"),
    ... ).citations
    ['archive/episodes/2026-02.md#L3', 'archive/episodes/2026-02.md#L7']
    >>> print(store.read("episodes/2026-02.md"), end="")
    ## Both
    <BLANKLINE>
    - first, second (archive/episodes/2026-02.md#L3)
    """
    if not leaving:
        raise CompactionFailed(f"no block of {path} was chosen to leave it")
    citations = archive_blocks(store, path, leaving, target)
    new = summary(citations).strip("\n") + "\n"
    if not any(citation in new for citation in citations):
        raise CompactionFailed(f"the summary names no place in {target}: {new!r:.60}")
    written = store.update(path, lambda note: _without(note, leaving, new, path))
    return Replaced(written, citations)


def _key(block: Block) -> tuple[str, str, bytes]:
    """Return what two blocks share when they say the same."""
    title = " ".join(block.title.split()) or "…"
    return title, block.text, orjson.dumps(dict(block.meta), option=orjson.OPT_SORT_KEYS)


def _numbered(blocks: Iterable[Block]) -> list[tuple[Block, int]]:
    """Return each block with how many that say the same there are up to it."""
    seen: Counter[tuple[str, str, bytes]] = Counter()
    numbered = []
    for block in blocks:
        seen[_key(block)] += 1
        numbered.append((block, seen[_key(block)]))
    return numbered


def _cited(note: str, target: str) -> dict[tuple[str, str, bytes], list[str]]:
    """Return the citations of the blocks in an archive note, by what they say."""
    cited: dict[tuple[str, str, bytes], list[str]] = {}
    for block in parse(note):
        cited.setdefault(_key(block), []).append(cite(target, block.line))
    return cited


def _without(note: str, leaving: Sequence[Block], summary: str, path: str) -> str:
    """Return a note with the summary in the place of the leaving blocks."""
    blocks = parse(note)
    staying = list(range(len(blocks)))
    keys = [_key(block) for block in blocks]
    for block in leaving:
        same = [at for at in staying if keys[at] == _key(block)]
        if not same:
            raise Conflict(
                f"{block.title!r:.60} of {path} was changed meanwhile: nothing was replaced"
            )
        # of two that say the same, the one that stands where it stood
        staying.remove(min(same, key=lambda at: abs(blocks[at].line - block.line)))
    removed_numbers = sorted(set(range(len(blocks))) - set(staying))
    head = note[: blocks[removed_numbers[0]].start]
    ends = [blocks[number].end for number in removed_numbers]
    starts = [blocks[number].start for number in removed_numbers[1:]] + [len(note)]
    rest = "".join(note[end:start] for end, start in zip(ends, starts, strict=True))
    new = f"{head}{summary}\n{rest}" if rest else head + summary
    after = [blocks[number] for number in staying if number > removed_numbers[0]]
    whole = parse(new) == blocks[: removed_numbers[0]] + parse(summary) + after
    if not whole or preamble(new) != head[: len(preamble(note))] or preamble(summary):
        raise CompactionFailed(
            f"the summary is not made of whole blocks, or changes what stands beside it in {path}: "
            f"{summary!r:.60}"
        )
    return new
