"""Splitter of Markdown into sections in plain Python, for engines that take ready-made documents.

Why it exists: tantivy, FTS5 and bm25s know no Markdown, so it is split for them here. The
time of that is charged to a baseline only where the table says so. The splitter knows front matter,
ATX and setext headings and fenced code, and cites as commonplace does (`path#Lline`), so that the
results of all can be compared.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

FRONT_MATTER = re.compile(
    r"\A\ufeff?---[ \t]*\r?\n.*?^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)
TITLE = re.compile(r"^title:[ \t]*[\"']?(.+?)[\"']?[ \t]*\r?$", re.MULTILINE)
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+")
MARK = re.compile(
    r"^[ ]{0,3}(?:(?P<fence>`{3,}|~{3,})(?P<info>.*)"
    r"|(?P<level>\#{1,6})(?:[ \t]+(?P<text>.*?))?(?:[ \t]+\#+)?[ \t]*\r?"
    r"|(?P<under>[^\s\#>|*+\-`~=].*?)[ \t]*\r?\n[ ]{0,3}(?P<line>=+|-+)[ \t]*\r?)$",
    re.MULTILINE,
)


class Section(NamedTuple):
    """One section as a baseline stores it; `start` and `end` span the body in the file's text."""

    path: str
    line: int
    title: str
    heading: str
    trail: str
    body: str
    start: int
    end: int

    @property
    def citation(self) -> str:
        """The name that commonplace gives the same section."""
        return f"{self.path}#L{self.line}"


def headings(text: str, begin: int) -> Iterator[tuple[int, int, int, str]]:
    """Yield (start of the heading, start of its body, level, text), fenced code left out."""
    fence = ""
    for mark in MARK.finditer(text, begin):
        if opened := mark["fence"]:
            if not fence:
                # a backtick in the info string makes it inline code, not a fence
                fence = "" if opened[0] == "`" and "`" in mark["info"] else opened
            elif opened[0] == fence[0] and len(opened) >= len(fence) and not mark["info"].strip():
                fence = ""
        elif fence:
            continue
        elif level := mark["level"]:
            yield mark.start(), mark.end(), len(level), (mark["text"] or "").strip()
        else:
            yield (
                mark.start(),
                mark.end(),
                1 if mark["line"][0] == "=" else 2,
                mark["under"].strip(),
            )


def split(path: str, text: str) -> list[Section]:
    """Return the sections of one file in order; a preamble without words is left out."""
    front = FRONT_MATTER.match(text)
    begin = front.end() if front else 0
    marks = list(headings(text, begin))
    named = TITLE.search(text, 0, begin) if front else None
    title = named[1] if named else (marks[0][3] if marks else Path(path).stem)
    sections = []
    first = marks[0][0] if marks else len(text)
    if text[:first].strip():
        sections.append(Section(path, 1, title, "", "", text[:first], 0, first))
    trail: list[tuple[int, str]] = []
    line, counted = 1, 0
    for number, (start, body, level, heading) in enumerate(marks):
        line, counted = line + text.count("\n", counted, start), start
        end = marks[number + 1][0] if number + 1 < len(marks) else len(text)
        trail = [step for step in trail if step[0] < level] + [(level, heading)]
        above = " ".join(step[1] for step in trail)
        sections.append(Section(path, line, title, heading, above, text[body:end], body, end))
    return sections


def read(root: Path, path: str) -> str:
    """Return the text of a file with its line ends as they are."""
    return (root / path).read_bytes().decode("utf-8", "replace")


def split_root(root: Path) -> list[Section]:
    """Return the sections of every Markdown file below `root`, by path; not of hidden folders."""
    # the history of a store has folders that are named as the files
    paths = [file.relative_to(root) for file in root.rglob("*.md")]
    shown = sorted(path.as_posix() for path in paths if not path.parts[0].startswith("."))
    return [section for path in shown for section in split(path, read(root, path))]


def citation_of_section(sections: Sequence[Section]) -> Callable[[str], str]:
    """Return what turns the citation of a part of a section into that of the section.

    Ours returns a long section in parts, each with its own first line; a baseline knows it by the
    line of its heading alone.
    """
    lines: dict[str, list[int]] = {}
    for section in sections:
        lines.setdefault(section.path, []).append(section.line)

    def cite(citation: str) -> str:
        path, _, line = citation.rpartition("#L")
        starts = lines.get(path, [])
        place = bisect_right(starts, int(line))
        return f"{path}#L{starts[place - 1]}" if place else citation

    return cite
