"""End of a plan or a state, as its text says: "until Friday", "on leave this week", 这周出差."""

from __future__ import annotations

import re
from datetime import date, timedelta

from commonplace.conflict.entries import parts
from commonplace.conflict.statements import statements
from commonplace.extraction.relative_dates import NUMBER, counted
from commonplace.memories.profile.named_days import (
    NAMED,
    NAMED_ZH,
    WEEKDAYS,
    end_of_span,
    named,
    named_zh,
)

_UNTIL = re.compile(
    rf"(?:\b(?:until|till|through|up to)|\b'?til) (?P<named>{NAMED.pattern})(?! (?:each|every)\b)",
    re.IGNORECASE,
)
_UNTIL_ZH = re.compile(
    rf"(?:到|直到|截至|截止)(?P<named>{NAMED_ZH.pattern})"
    r"(?:为止|之前|以前|前|结束|止)?(?=[，。；都一我还]|$)"
)
# Without "until" only what is before a day; 以前 before 住 or 是 tells of the past
_BEFORE_ZH = re.compile(
    rf"(?P<named>{NAMED_ZH.pattern})(?:之前|以前(?![我他她]?(?:住|是))|前|为止)"
)
# "For the next two weeks": about so many days
_NEXT = re.compile(
    rf"\b(?:for|over) the next (?:{NUMBER} )?(?P<unit>day|week|month)s?\b"
    rf"|(?:接下来|未来|往后){NUMBER.replace('<n>', '<n2>')}个?(?P<unit2>天|周|星期|月)",
    re.IGNORECASE,
)
_UNITS = {"day": 1, "天": 1, "week": 7, "周": 7, "星期": 7, "month": 30, "月": 30}
# What goes on, or is meant to: only then the span that is named is its end.
_SPAN = re.compile(
    r"\b(?:this|rest of the|rest of this) (?P<what>week|month|year)\b|\b(?P<today>today)\b",
    re.IGNORECASE,
)
_AWAY = (
    r"on (?:(?:\w+ )?leave|vacation|holiday|call|a trip|duty|(?:\w+ )?shifts?|nights|days)"
    r"|out of|away"
)
_GOES_ON = re.compile(
    rf"(?:(?:\b(?:is|am|are)|'m|'re) (?:currently |still )?(?:{_AWAY}|off|in|at|busy|sick|ill"
    rf"|visiting|travell?ing|staying|working|going)|^(?:{_AWAY})"
    r"|\b(?:plans?|planning|will|going to|wants? to|needs? to|has to|have to|must))\b",
    re.IGNORECASE,
)
_SPAN_ZH = re.compile(r"(?P<what>这周|本周|这个星期|这个月|本月|今年|今天)")
_SPANS_ZH = {"周": "week", "期": "week", "月": "month", "年": "year", "天": "day"}
_GOES_ON_ZH = re.compile(r"出差|休假|请假|度假|值班|上[早中晚夜白]班|不在|在|要|打算|计划|准备|得")
# What recurs, or was so once, has no end to come.
_RECURS = re.compile(
    rf"\b{WEEKDAYS}s? (?:through|till|until)\b|\b(?:every|each|daily"
    r"|weekly|usually|always|normally)\b|(?:周|星期)[一二三四五六日天]到|从.{1,6}到|每|平时|通常",
    re.IGNORECASE,
)
_DONE_ZH = re.compile(r"了(?:[，。；]|$)")
_WAS = re.compile(
    r"\b(?:lived|worked|stayed|studied|waited|was|were|had|used to|went|slept|grew up)\b",
    re.IGNORECASE,
)
# What changes then stays so.
_CHANGES = re.compile(
    r"了(?:[，。；]|$)|开始|搬|入职|换|结婚|毕业|离职|\b(?:(?:start|join|gett?|finish|switch|graduat|mov"
    r"|chang|retir|(?<!on )leav|quitt?|marr|becom|begin)(?:s|es|ed|n?ing|e|y|ies|ied)?"
    r"|got|bought|sold)\b",
    re.IGNORECASE,
)


def end_of(text: str, today: date) -> date | None:
    """Return the last day on which a plan or a state is true; None where none is named.

    A text that says more than that has no end.

    >>> end_of("User is on leave until Friday", date(2026, 11, 2))
    datetime.date(2026, 11, 6)
    >>> end_of("这周在杭州出差", date(2026, 11, 2))
    datetime.date(2026, 11, 8)
    >>> end_of("User moved to Lisbon this week", date(2026, 11, 2))
    """
    # the end of one statement is not that of the others
    said = statements(text)
    if len(said) != 1 or len(parts(said[0].reading)) != 1:
        return None
    text = said[0].reading
    if _RECURS.search(text) or _WAS.search(text):
        return None
    try:
        day = _end_named(text, today)
    except ValueError:
        return None
    return day if day and day >= today else None


def _end_named(text: str, today: date) -> date | None:
    """Return the day that a text names as the end of what it says."""
    if found := _UNTIL.search(text):
        return named(found, today)
    before = None if _DONE_ZH.search(text) else _BEFORE_ZH.search(text)
    if found := _UNTIL_ZH.search(text) or before:
        return named_zh(found, today)
    if _CHANGES.search(text):
        return None
    if found := _NEXT.search(text):
        unit = _UNITS[(found["unit"] or found["unit2"]).casefold()]
        return today + timedelta(days=unit * counted(found["n"] or found["n2"] or "1"))
    span = None
    if (found := _SPAN.search(text)) and _GOES_ON.search(text):
        span = (found["what"] or "day").casefold()
    elif (found := _SPAN_ZH.search(text)) and _GOES_ON_ZH.search(text[found.end() :]):
        span = _SPANS_ZH[found["what"][-1]]
    return end_of_span(span, today) if span else None
