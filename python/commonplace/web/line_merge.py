"""Three-way merge of texts by line, and the lines of a difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

OURS, MIDDLE, THEIRS = "<<<<<<< ", "=======", ">>>>>>> "
MOST_LINES = 20_000
"""Lines of a text that is compared; the time grows with their square."""


def merge_lines(
    base: str, ours: str, theirs: str, names: tuple[str, str] = ("yours", "the file now")
) -> tuple[str, int]:
    r"""Return two texts that come from one as one, and how many places both changed.

    Such a place has both versions between markers, as git writes them.

    Args:
        base: The text that both come from.
        ours: The one.
        theirs: The other.
        names: What the markers call the two.

    >>> merge_lines("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n")
    ('A\nb\nC\n', 0)
    >>> merge_lines("a\n", "A\n", "B\n", ("x", "y"))
    ('<<<<<<< x\nA\n=======\nB\n>>>>>>> y\n', 1)
    """
    parts = [text.splitlines(keepends=True) for text in (base, ours, theirs)]
    then, here, there = parts
    places = [_places(then, here), _places(then, there)]
    merged: list[str] = []
    clashes = 0
    ends = (-1, -1, -1)
    both = [(at, places[0][at], places[1][at]) for at in range(len(then)) if _in_both(places, at)]
    for place in [*both, (len(then), len(here), len(there))]:
        chunks = [
            part[before + 1 : at] for part, before, at in zip(parts, ends, place, strict=True)
        ]
        chosen = _chosen(*chunks)
        if chosen is None:
            clashes += 1
            merged += [f"{OURS}{names[0]}\n", *_ended(chunks[1]), f"{MIDDLE}\n"]
            merged += [*_ended(chunks[2]), f"{THEIRS}{names[1]}\n"]
        else:
            merged += chosen
        if place[0] < len(then):
            merged.append(then[place[0]])
        ends = place
    return "".join(merged), clashes


def has_markers(text: str) -> bool:
    """Say whether a text has the markers of a merge at the beginnings of lines."""
    lines = text.splitlines()
    return MIDDLE in lines and all(
        any(line.startswith(mark) for line in lines) for mark in (OURS, THEIRS)
    )


def _places(then: Sequence[str], now: Sequence[str]) -> dict[int, int]:
    """Return where the lines of a text are in another that comes from it."""
    found: dict[int, int] = {}
    for block in SequenceMatcher(None, then, now, autojunk=False).get_matching_blocks():
        found.update((block.a + step, block.b + step) for step in range(block.size))
    return found


def _in_both(places: Sequence[dict[int, int]], at: int) -> bool:
    return at in places[0] and at in places[1]


def _chosen(then: list[str], here: list[str], there: list[str]) -> list[str] | None:
    """Return the lines that stand where at most one side changed them; None where both did."""
    if here in (then, there):
        return there
    return here if there == then else None


def _ended(lines: list[str]) -> list[str]:
    """Return lines of which the last ends, so that a marker stands on a line of its own."""
    return [*lines[:-1], lines[-1].rstrip("\n") + "\n"] if lines else []


@dataclass(frozen=True)
class DiffLine:
    """A line of a difference: its kind (` `, `-`, `+`, or `@` between hunks) and its numbers."""

    kind: str
    old: int | None
    new: int | None
    text: str


def diff_lines(old: str, new: str, context: int = 3) -> Iterator[DiffLine] | None:
    r"""Return the lines that two texts differ in, with those around; None where too many.

    >>> [(line.kind, line.text) for line in diff_lines("a\nb\n", "a\nc\n") or ()]
    [('@', ''), (' ', 'a'), ('-', 'b'), ('+', 'c')]
    """
    before, after = old.splitlines(), new.splitlines()
    if max(len(before), len(after)) > MOST_LINES:
        return None
    return _hunks(before, after, context)


def _hunks(before: Sequence[str], after: Sequence[str], context: int) -> Iterator[DiffLine]:
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for group in matcher.get_grouped_opcodes(context):
        yield DiffLine("@", group[0][1] + 1, group[0][3] + 1, "")
        for tag, first, last, new_first, new_last in group:
            if tag == "equal":
                for step, line in enumerate(before[first:last]):
                    yield DiffLine(" ", first + step + 1, new_first + step + 1, line)
                continue
            for step, line in enumerate(before[first:last]):
                yield DiffLine("-", first + step + 1, None, line)
            for step, line in enumerate(after[new_first:new_last]):
                yield DiffLine("+", None, new_first + step + 1, line)
