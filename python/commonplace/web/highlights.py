"""Highlights of a text as HTML: its ranges in `<mark>`, all else escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markupsafe import Markup, escape

BLANK = re.compile(r"\s*\n\s*\n\s*")


def marked(text: str, ranges: Sequence[tuple[int, int]]) -> Markup:
    """Return text with `<mark>` around ranges of characters; all else is escaped.

    Blank lines are left out, so that a list shows more.

    >>> marked("a <b> c", [(2, 5)])
    Markup('a <mark>&lt;b&gt;</mark> c')
    """
    parts: list[Markup] = []
    at = 0
    for start, end in sorted(ranges):
        if start < at:
            continue
        parts += [_escaped(text[at:start]), Markup("<mark>"), _escaped(text[start:end])]
        parts.append(Markup("</mark>"))
        at = end
    return Markup("").join([*parts, _escaped(text[at:])])


def _escaped(text: str) -> Markup:
    return escape(BLANK.sub("\n", text))
