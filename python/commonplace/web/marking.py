"""Text with its highlighted ranges as HTML."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape


def marked(text: str, ranges: Sequence[tuple[int, int]]) -> Markup:
    """Return text with `<mark>` around ranges of characters; all else is escaped.

    >>> marked("a <b> c", [(2, 5)])
    Markup('a <mark>&lt;b&gt;</mark> c')
    """
    parts, at = [], 0
    for start, end in sorted(ranges):
        if start < at:
            continue
        parts += [escape(text[at:start]), Markup("<mark>"), escape(text[start:end])]
        parts.append(Markup("</mark>"))
        at = end
    return Markup("").join([*parts, escape(text[at:])])
