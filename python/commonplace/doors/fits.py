"""Decision whether a hit fits a prompt well enough to be shown without being asked for."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from commonplace._core import Hit

THRESHOLD = 0.5
"""Share of the content words of a prompt that a hit must hold."""
ENOUGH = 4
"""Content words that are enough, however long the prompt is."""

# words of four letters and more that say nothing about a subject
_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        "about above after again also been before being between both called could does doing down "
        "during each from further have having here hers into itself just know like make more most "
        "much myself need once only other ours over please same should some such tell than that "
        "their them then there these they think this those through under until used using very "
        "want were what when where which while will with would your yours",
    )
)
_WORD = re.compile(r"[^\W_]+(?:[-_'’][^\W_]+)*")
_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")


def fits(prompt: str, hits: Iterable[Hit]) -> list[Hit]:
    """Return the hits that fit a prompt, in their order.

    A hit fits when it holds half of the content words of the prompt, and two at least: one word
    in common is chance. It is the only place that decides this.
    """
    wanted = content_words(prompt)
    least = max(2.0, min(ENOUGH, THRESHOLD * len(wanted)))
    return [
        hit
        for hit in hits
        if len(wanted & content_words(f"{hit.prompt or ''}\n{hit.text}\n{hit.heading}")) >= least
    ]


def content_words(text: str) -> set[str]:
    """Return the words that say what a text is about, cut to a stem of six letters.

    >>> sorted(content_words("What is the staging server called, 登録番号?"))
    ['server', 'stagin', '番号', '登録', '録番']
    """
    found = set[str]()
    for word in _WORD.findall(text.casefold()):
        for run in _WIDE.findall(word):
            found.update(run[at : at + 2] for at in range(max(1, len(run) - 1)))
        rest = _WIDE.sub("", word)
        has_digit = any(map(str.isdigit, rest))
        if (len(rest) >= 4 or has_digit) and rest not in _FUNCTION_WORDS:
            found.add(rest if has_digit else rest[:6])
    return found
