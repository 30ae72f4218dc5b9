"""Days of a statement in a list of hits: told beside it, and not as the mark of the file.

Why it exists: `~~User lives in Berlin~~ <!-- META: until=2026-11-01 -->` is for a renderer; whoever
reads a list of hits quickly takes it for true.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_MARK = r"<!-- (?:META: [^<>\n]*|\d{4}-\d{2}-\d{2}) ?-->"
_AT_END = re.compile(rf"{_MARK}\s*\Z")
_UNTIL = re.compile(r"\buntil=(\d{4}-\d{2}-\d{2})\b")
# a snippet may end within a mark
_MARKS = re.compile(rf" ?{_MARK}| ?<!--[^<>\n]*…\Z|~~")


def until(text: str) -> str:
    """Return the last day on which a statement holds, as its mark has it; "" where it has none.

    >>> until("- ~~User lives in Berlin~~ <!-- META: until=2026-11-01 -->")
    '2026-11-01'
    """
    mark = _AT_END.search(text)
    day = _UNTIL.search(mark[0]) if mark else None
    return day[1] if day else ""


def unmarked(
    text: str, snippet: str, highlights: Iterable[tuple[int, int]]
) -> tuple[str, list[tuple[int, int]]]:
    """Return a snippet, and the ranges to highlight in it, without the mark that a text ends with.

    >>> unmarked("Tea <!-- 2026-11-02 -->", "Tea <!-- 2026-11-02 -->", [(0, 3), (9, 13)])
    ('Tea', [(0, 3)])
    """
    if not _AT_END.search(text):
        return snippet, list(highlights)
    cuts = [found.span() for found in _MARKS.finditer(snippet)]

    def moved(at: int) -> int:
        return at - sum(min(at, end) - start for start, end in cuts if start < at)

    ranges = ((moved(start), moved(end)) for start, end in highlights)
    return _MARKS.sub("", snippet), [(start, end) for start, end in ranges if start < end]
