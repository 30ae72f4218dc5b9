"""End of a plan or a state, as its text says: "until Friday", "an exam tomorrow", 这周出差."""

from __future__ import annotations

import re
from datetime import date, timedelta

from commonplace.conflict import statement_and_source
from commonplace.conflict.entry_comparison import parts
from commonplace.conflict.statements import statements
from commonplace.extraction.relative_dates import NUMBER, counted
from commonplace.memories.profile.named_days import (
    NAMED,
    NAMED_ZH,
    WEEKDAY,
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
# An event is over after its day. What is told of one day of the week may be so each week.
_EVENT = re.compile(
    r"\b(?:exam|interview|appointment|flight|surgery|operation|wedding)s?\b"
    r"|(?:'ll|will|(?:is|am|are|'m|'re) (?:going|flying|visiting|travell?ing))\b"
    r"|考试|面试|手术|体检|答辩|航班|婚礼",
    re.IGNORECASE,
)
# "For three days", unless so long already
_FOR = re.compile(rf"\bfor {NUMBER} (?P<unit>day|week|month)s?\b(?! now\b)", re.IGNORECASE)
_ALREADY = re.compile(r"\b(?:been|already)\b", re.IGNORECASE)
_FOR_ZH = re.compile(
    rf"(?:出差|休假|请假|度假|旅游|旅行|培训|待|呆){NUMBER}个?(?P<unit>天|周|星期|月)"
)
# What begins then goes on
_BEGINS = re.compile(
    r"\b(?:from|as of|(?<!day )after|since|effective) (?:the )?(?:tomorrow|next|day after)\b"
    r"|[天周期拜月年末一二三四五六日]起|以后|之后|从(?:明|后|下)",
    re.IGNORECASE,
)
_SPAN_ZH = re.compile(r"(?P<what>这周|本周|这个星期|这个月|本月|今年|今天)")
_SPANS_ZH = {"周": "week", "期": "week", "月": "month", "年": "year", "天": "day"}
_GOES_ON_ZH = re.compile(r"出差|休假|请假|度假|值班|上[早中晚夜白]班|不在|在|要|打算|计划|准备|得")
# What recurs, or was so once, has no end to come.
_RECURS = re.compile(
    rf"\b{WEEKDAY}s? (?:through|till|until)\b|\b(?:every|each|daily"
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
    r"|got|bought|sold|turn(?:s|ing)? \d+)\b",
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
    # a statement names the month where the words that it was made of say "next week"
    return next(filter(None, (_end_of(said, today) for said in statement_and_source(text))), None)


def _end_of(text: str, today: date) -> date | None:
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
    if span:
        return end_of_span(span, today)
    return _coming(text, today) or _after_days(text, today)


def _coming(text: str, today: date) -> date | None:
    """Return the last coming day that a text names: what it says is of that day, and then over."""
    if _BEGINS.search(text):
        return None
    is_event = _EVENT.search(text) is not None
    days = [
        named(found, today)
        for found in NAMED.finditer(text)
        if _is_coming(found)
        or (is_event and (found["weekday"] or found["day"] or found["day2"] or found["iso"]))
    ]
    days += [
        named_zh(found, today)
        for found in NAMED_ZH.finditer(text)
        if _is_coming_zh(found)
        or (is_event and (found["weekday"] or found["month"] or found["iso"]))
    ]
    return max(days, default=None)


def _is_coming(found: re.Match[str]) -> bool:
    """Return whether a match of `NAMED` is of one coming time in any sentence: "next week"."""
    which, span = (found["which"] or "").casefold(), (found["span"] or "").casefold()
    # with a capital, or behind "the", it is a name: "works at Tomorrow Capital"
    is_name = (found[0][:1].isupper() and found.start() > 0) or found[0] == "the tomorrow"
    is_soon = (found["soon"] or "today") != "today" and not is_name
    return is_soon or which == "next " or (which == "this " and span == "weekend")


def _is_coming_zh(found: re.Match[str]) -> bool:
    """Return whether a match of `NAMED_ZH` is: 明天, 下周三, 这周末."""
    which, weekday = found["which"] or "", found["weekday"]
    is_soon = (found["soon"] or "今天") != "今天"
    return bool(
        is_soon or found["following"] or which.startswith("下") or (which and weekday == "末")
    )


def _after_days(text: str, today: date) -> date | None:
    """Return the day until which a state goes on that is told to last some days from now."""
    found = _FOR.search(text) if _GOES_ON.search(text) and not _ALREADY.search(text) else None
    if found := found or _FOR_ZH.search(text):
        return today + timedelta(days=_UNITS[found["unit"].casefold()] * counted(found["n"]))
    return None
