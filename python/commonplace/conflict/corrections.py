"""Corrections that only name the right value: "No, it's Anna with two n's", 不是三点，是四点.

Such a correction says of nothing what it is. What it means is the statement that it corrects, with
the right value in the place of the wrong one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import NamedTuple

from commonplace.conflict.clauses import SOURCE
from commonplace.conflict.statements import statements

_LONGEST = 100
_VALUE = r"[^,;:?!()\"]{1,40}?"
_LEAD = (
    r"(?:(?:no|nope|nah|sorry|oops|oh|wait|actually|correction|(?:that(?:'s| is| was) )?(?:a )?"
    r"(?:wrong|typo))\b[\s,.!:–—-]*)*"
)
# How letters are named: "with two n's", "with a K", "without the e"
_LETTERS = r"\(?with(?:out)? (?:(?:an?|the|one|two|three|double|no) )*[\"']?[a-z][\"']?(?:'?s)?\b.*"
_IT_IS = r"(?:it(?:'s| is| was|s)|that(?:'s| is)|(?:it )?should (?:be|read)|i (?:meant|said))"
_SPELT = r"(?:(?:actually|really|spelt|spelled|written) )*"
_FORMS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_LEAD}{_IT_IS} {_SPELT}(?P<right>{_VALUE})(?:,? (?:and )?not (?P<wrong>{_VALUE}))[.!]*",
        (
            rf"{_LEAD}{_IT_IS} not (?P<wrong>{_VALUE})(?:,|,? but|[.;] )(?: it(?:'s| is|s))? ?"
            rf"(?P<right>{_VALUE})[.!]*"
        ),
        rf"{_LEAD}{_IT_IS} {_SPELT}(?P<right>[\w'-]+),? {_LETTERS}",
        rf"{_LEAD}{_IT_IS} (?:spelt|spelled|written) (?P<right>[\w'-]+)[.!]*",
        (
            rf"{_LEAD}my name(?:'s| is) (?:actually )?(?:spelt|spelled|written) (?P<right>[\w'-]+)"
            rf"(?:,? (?:{_LETTERS}|(?:an?|one|two|double|single|no) [a-z](?:'?s)?))?[.!]*"
        ),
        (
            r"(?:不对?|错了|[说打写记]错了)?[，,]?(?:应该)?不是(?P<wrong>[^，,。？]{1,12})[，,]"
            r"(?:而|应该)?是(?P<right>[^，,。？]{1,12})(?:[，,][^？]*)?[。！]*"
        ),
        (
            r"(?:不对?|错了|[说打写记]错了)?[，,]?(?:应该)?是(?P<right>[^，,。？不]{1,12})[，,]"
            r"(?:而|可)?不是(?P<wrong>[^，,。？]{1,12})[。！]*"
        ),
    )
]
# Where a name may be written small
_NAMES = re.compile(r"\bnames?\b|\bnamed\b|\bcalled\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_][\w'-]*")
# From here on two words may be two spellings of one name
_ALIKE = 0.7


class Correction(NamedTuple):
    """The right value, and the wrong one; "" where only the spelling is corrected."""

    right: str
    wrong: str


def read(text: str) -> Correction | None:
    """Return what a correction says that names nothing but values, else None.

    >>> read("No, it's Anna with two n's")
    Correction(right='Anna', wrong='')
    >>> read("不是三点，是四点")
    Correction(right='四点', wrong='三点')
    >>> read("The deadline is the 9th, not the 19th")
    """
    bare = " ".join(text.replace("\u2019", "'").split())
    if len(bare) > _LONGEST:
        return None
    found = next((found for form in _FORMS if (found := form.fullmatch(bare))), None)
    if found is None:
        return None
    parts = found.groupdict()
    return Correction(parts["right"].strip(), (parts.get("wrong") or "").strip())


def restated(old: str, correction: Correction) -> str:
    """Return a statement with the right value in it; "" where it holds no wrong one.

    >>> restated("User's name is Ana", Correction("Anna", ""))
    "User's name is Anna"
    >>> restated("会议三点开始", Correction("四点", "三点"))
    '会议四点开始'
    >>> restated("User lives in Leeds", Correction("Anna", ""))
    ''
    """
    right, wrong = correction
    bare = SOURCE.sub("", old)
    if wrong:
        place = re.search(rf"(?<![A-Za-z\d]){re.escape(wrong)}(?![A-Za-z\d])", bare, re.IGNORECASE)
        return _put(bare, *place.span(), right) if place else ""
    named = bool(_NAMES.search(bare))
    words = [word for word in _WORD.finditer(bare) if named or word[0][:1].isupper()]
    alike = [(_likeness(word[0], right), word) for word in words]
    close = [word for ratio, word in alike if _ALIKE <= ratio < 1]
    return bare[: close[0].start()] + right + bare[close[0].end() :] if len(close) == 1 else ""


def completed(text: str, entries: Iterable[str]) -> str:
    r"""Return a correction as the only statement that it corrects, itself quoted behind.

    Args:
        text: What is said.
        entries: What is known.

    Returns:
        "" where it is no such correction, or nothing or more than one statement may be meant.

    >>> completed("No, it's Anna with two n's", ["User's name is Ana", "User has a dog"])
    'User\'s name is Anna — "No, it\'s Anna with two n\'s"'
    """
    if (correction := read(text)) is None:
        return ""
    said = (one.reading for entry in entries for one in statements(entry))
    meant = {new for one in said if (new := restated(one, correction))}
    if len(meant) != 1:
        return ""
    marks = "“”" if re.search(r"[\u3400-\u9fff]", text) else '""'
    return f"{meant.pop()} — {marks[0]}{text}{marks[1]}"


def _likeness(word: str, other: str) -> float:
    first, second = word.casefold(), other.casefold()
    if first[0] != second[0] and first[-1] != second[-1]:
        return 0.0
    return SequenceMatcher(None, first, second).ratio()


def _put(text: str, start: int, end: int, right: str) -> str:
    """Return a text with a value in another's place.

    In Chinese a character alone may stand for a name: 不是静，是李婧 of 李静.
    """
    more = len(right) - (end - start)
    if 0 < more <= start and text[start - more : start] == right[:more]:
        start -= more
    return text[:start] + right + text[end:]
