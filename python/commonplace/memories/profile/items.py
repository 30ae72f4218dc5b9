"""List items and other blocks of Markdown, line by line.

It follows CommonMark as far as people write it by hand, so that an item here is what the index
takes for one (`unit: item`): markers `-`, `*`, `+`, `1.` and `1)`, lines that belong to an item by
their indentation or go on its paragraph, fenced code, comments. Headings are not looked for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_MARKER = re.compile(r"(?P<indent> {0,3})(?P<marker>[-*+]|\d{1,9}[.)])(?P<space>[ \t]+|\Z)")
_RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*\Z")
_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})")
# What ends a paragraph without a blank line
_OPENS = re.compile(rf" {{0,3}}(?:`{{3}}|~{{3}}|>|<!--)|{_RULE.pattern}")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


@dataclass(slots=True)
class Block:
    """A list item, or another block: how far its text is indented (0 if it is no item).

    `skip` is the length of its marker, `at` and `line` (from 0) are where it begins; `lines` have
    their ends.
    """

    width: int
    skip: int
    at: int
    line: int
    lines: list[str]


def blocks(body: str) -> list[Block]:
    r"""Return the blocks of a text without headings, without the blank lines after each.

    >>> [block.lines for block in blocks("One\ntwo.\n\n- a\n  - b\n\n  c\n- d\n")]
    [['One\n', 'two.\n'], ['- a\n', '  - b\n', '\n', '  c\n'], ['- d\n']]
    """
    found: list[Block] = []
    at = number = 0
    blank, until = True, ""
    for line in lines_of(body):
        bare = line.expandtabs(4).rstrip()
        marker = _marker(line.rstrip("\r\n"))
        if found and (until or _continues_block(bare, found[-1], blank, marker)):
            found[-1].lines.append(line)
            blank = _ends(bare, until) if until else not bare
            until = "" if blank else until
        elif marker:
            found.append(Block(marker[0], marker[1], at, number, [line]))
            blank = False
        elif bare:
            found.append(Block(0, 0, at, number, [line]))
            until = _end_of(bare)
            blank = bool(_RULE.match(bare))
        at += len(line)
        number += line.count("\n")
    for block in found:
        while not block.lines[-1].strip():
            block.lines.pop()
    return found


def lines_of(text: str) -> list[str]:
    """Return the lines of a text as Markdown has them, with their ends."""
    return _LINE.findall(text)


def dedented(line: str, width: int) -> str:
    """Return a line without so much of its indentation."""
    bare = line.lstrip(" ")
    if len(line) - len(bare) < width and bare.startswith("\t"):
        return bare[1:]
    return line[min(len(line) - len(bare), width) :]


def _continues_block(
    bare: str, block: Block, blank: bool, marker: tuple[int, int, bool] | None
) -> bool:
    """Return whether a line goes on the block before it; `blank` says that a blank one precedes."""
    indent = len(bare) - len(bare.lstrip())
    if not bare or (block.width and indent >= block.width):
        return True
    if blank or (marker and (block.width or marker[2])):
        return False
    return not _OPENS.match(bare)


def _marker(line: str) -> tuple[int, int, bool] | None:
    """Return the width of an item, the length of its marker, and if it may end a paragraph."""
    found = _MARKER.match(line)
    if not found or _RULE.match(line):
        return None
    skip = found.end() if len(found["space"]) <= 4 else found.end("marker") + 1
    empty = found.end() == len(line)
    width = found.end("marker") + 1 if empty else skip
    return width, skip, not empty and found["marker"] in {"-", "*", "+", "1.", "1)"}


def _ends(bare: str, until: str) -> bool:
    """Return whether a line ends a fence or a comment."""
    if until == "-->":
        return until in bare
    mark = bare.strip()
    return len(mark) >= len(until) and not mark.strip(until[0])


def _end_of(bare: str) -> str:
    """Return what ends a block that blank lines do not end; empty for others."""
    if fence := _FENCE.match(bare):
        return fence["fence"]
    return "-->" if bare.startswith("<!--") and "-->" not in bare else ""
