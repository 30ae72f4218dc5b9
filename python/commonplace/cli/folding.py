"""Folding of lines at a terminal's width: at spaces, and between characters of two columns."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

# Columns that further lines are in, at least, and the last one at which a second column begins
HANG, LABEL = 3, 16
# Where a terminal does not tell its width
USUAL = 80
# What no line of Chinese or Japanese begins with
CLOSING = "，。、；：！？）」』》】”’…"


def terminal_width(stream: TextIO) -> int | None:
    """Return the columns of the terminal that shows a stream; None where that is none."""
    if not stream.isatty():
        return None
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or USUAL
    except (OSError, ValueError):
        return USUAL


def folded(line: str, width: int | None, hang: int | None = None) -> str:
    r"""Return a line folded at spaces where it is wider than the terminal.

    A word that is wider by itself stays whole, for the terminal to break: a path can be copied. A
    text without spaces, of characters of two columns, is no word.

    Args:
        line: One line, which may hold ANSI codes of styles.
        width: The columns of the terminal; None leaves the line as it is.
        hang: How far in further lines are; by default where the second column of the line begins.

    >>> folded(" 1 a.md#L1  Tea without sugar", 24)
    ' 1 a.md#L1  Tea without\n            sugar'
    >>> folded("\x1b[36ma.md\x1b[0m" + " tea" * 4, 16)
    '\x1b[36ma.md\x1b[0m tea tea tea\n   tea'
    """
    if width is None or columns_of(line) <= width:
        return line
    hang = _hang(_plain(line)) if hang is None else hang
    hang = min(hang, width // 2)
    start = len(line) - len(line.lstrip(" "))
    lines, shown = [], line[:start]
    used, gap = start, ""
    for word in line[start:].split(" "):
        if not word:
            gap += " "
            continue
        is_whole = _is_path(word) or columns_of(word) <= width - hang
        for part in (word,) if is_whole else _characters(word):
            needed = columns_of(part)
            if used + len(gap) + needed > width and shown.strip():
                lines.append(shown)
                shown, used, gap = " " * hang, hang, ""
            shown += gap + part
            used, gap = used + len(gap) + needed, ""
        gap = " "
    return "\n".join([*lines, shown])


def folded_text(text: str, width: int | None) -> str:
    """Return the lines of a text folded, each as far in as it begins."""
    if width is None:
        return text
    lines = text.split("\n")
    return "\n".join(folded(line, width, len(line) - len(line.lstrip(" "))) for line in lines)


def columns_of(text: str) -> int:
    """Return the columns that a text takes, without the codes of its styles."""
    text = _plain(text)
    if text.isascii():
        return len(text)
    from unicodedata import category

    # marks and joiners stand on what is before them
    return sum(0 if category(sign) in {"Mn", "Me", "Cf"} else 1 + _is_wide(sign) for sign in text)


def _is_wide(sign: str) -> bool:
    from unicodedata import east_asian_width

    return east_asian_width(sign) in {"W", "F"}


def _is_path(word: str) -> bool:
    r"""Return whether a word with a slash names a file, and not two things in Chinese.

    >>> _is_path("notes/绿茶.md"), _is_path("笔记/绿茶.md"), _is_path("前端/后端的接口")
    (True, True, False)
    """
    before, slash, after = word.replace("\\", "/").partition("/")
    # "" is ASCII as well
    beside = before[-1:].isascii() or after[:1].isascii()
    return bool(slash) and (beside or ".md" in after or ".jsonl" in after)


def _characters(word: str) -> list[str]:
    """Return the parts of a word between which a line may end: each wide character is one."""
    parts, was_wide = [""], False
    for sign in word:
        is_wide = _is_wide(sign)
        if (is_wide or was_wide) and sign not in CLOSING:
            parts.append("")
        parts[-1] += sign
        was_wide = is_wide
    return parts


def _plain(text: str) -> str:
    """Return a text without ANSI codes."""
    first, *others = text.split("\x1b[")
    return first + "".join(part.partition("m")[2] for part in others)


def _hang(line: str) -> int:
    """Return where the second column of a line begins, if it has one."""
    start = len(line) - len(line.lstrip(" "))
    gap = line.find("  ", start)
    if not start < gap <= LABEL:
        return max(start, HANG)
    behind = gap + len(line[gap:]) - len(line[gap:].lstrip(" "))
    return behind if behind < len(line) else max(start, HANG)
