"""End of a plan or a state, as its text says: "until Friday", "on leave this week", 这周出差."""

from __future__ import annotations

import calendar
import re
from datetime import date, timedelta

from commonplace.conflict.entries import parts
from commonplace.conflict.statements import statements

_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_MONTHS = [name.casefold() for name in calendar.month_name[1:]]
_DAYS_ZH = "一二三四五六日"
_UNTIL = re.compile(
    r"\b(?:until|till|through)(?: the)?(?: end of(?: the)?)?(?: (?P<which>this|next))?"
    rf" (?P<what>\d{{4}}-\d\d-\d\d|today|tomorrow|week|month|year|{'|'.join(_DAYS)}"
    rf"|(?:{'|'.join(_MONTHS)})(?: \d{{1,2}}\b(?!:))?(?:,? \d{{4}})?)\b(?! (?:each|every)\b)",
    re.IGNORECASE,
)
_UNTIL_ZH = re.compile(
    r"(?:到|直到|截至)(?P<which>本|这|下)?(?:个)?"
    r"(?P<what>\d{4}-\d\d-\d\d|今天|明天|后天|(?:周|星期)[一二三四五六日天末]|月底|年底"
    r"|\d{1,2}月\d{1,2}[日号])(?:为止|之前|前|结束|止)?(?=[，。；都一]|$)"
    r"|(?P<end>月底|年底)(?:之前|前|为止)"
)
# What goes on, or is meant to: only then the span that is named is its end.
_SPAN = re.compile(
    r"\b(?:this|rest of the|rest of this) (?P<what>week|month|year)\b|\b(?P<today>today)\b",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"\b(?:(?:is|am|are) (?:(?:currently |still )?(?:on (?:leave|vacation|holiday|call|a trip)"
    r"|out of|away|off|in|at|busy|sick|ill|visiting|travell?ing|staying|working|going)\b)"
    r"|plans?|planning|will|going to|wants? to|needs? to|has to|have to|must)\b",
    re.IGNORECASE,
)
_SPAN_ZH = re.compile(r"(?P<what>这周|本周|这个星期|这个月|本月|今年|今天)")
_GOES_ON_ZH = re.compile(r"出差|休假|请假|度假|值班|不在|在|要|打算|计划|准备|得")
# What recurs, or was so once, has no end to come.
_RECURS = re.compile(
    rf"\b(?:{'|'.join(_DAYS)}|mon|tue|wed|thu|fri)s? (?:through|till|until)\b|\b(?:every|each|daily"
    r"|weekly|usually|always|normally)\b|(?:周|星期)[一二三四五六日天]到|从.{1,6}到|每|平时|通常",
    re.IGNORECASE,
)
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
        if found := _UNTIL.search(text):
            day = _named(found["what"].casefold(), found["which"] or "", today)
        elif found := _UNTIL_ZH.search(text):
            day = _named_zh(found["what"] or found["end"], found["which"] or "", today)
        elif _CHANGES.search(text):
            return None
        elif (found := _SPAN.search(text)) and _GOES_ON.search(text):
            day = _span(found["what"] or "day", today)
        elif (found := _SPAN_ZH.search(text)) and _GOES_ON_ZH.search(text[found.end() :]):
            spans = {"周": "week", "期": "week", "月": "month", "年": "year", "天": "day"}
            day = _span(spans[found["what"][-1]], today)
        else:
            return None
    except ValueError:
        return None
    return day if day and day >= today else None


def _named(what: str, which: str, today: date) -> date | None:
    """Return the day that an English name stands for."""
    if what[:1].isdigit():
        return date.fromisoformat(what)
    if what in {"today", "tomorrow"}:
        return today + timedelta(days=what == "tomorrow")
    if what in _DAYS:
        return _weekday(_DAYS.index(what), today, next_week=which == "next")
    if what in {"week", "month", "year"}:
        end = _span(what, today)
        return _span(what, end + timedelta(days=1)) if which == "next" else end
    name, *numbers = what.replace(",", "").split()
    year = next((int(one) for one in numbers if len(one) == 4), None)
    day = next((int(one) for one in numbers if len(one) < 4), None)
    return _in_year(year, _MONTHS.index(name) + 1, day, today)


def _named_zh(what: str, which: str, today: date) -> date | None:
    """Return the day that a Chinese name stands for."""
    if what[:4].isdigit():
        return date.fromisoformat(what)
    if what in {"今天", "明天", "后天"}:
        return today + timedelta(days=["今天", "明天", "后天"].index(what))
    if what in {"月底", "年底"}:
        return _span("month" if what == "月底" else "year", today)
    if found := re.fullmatch(r"(\d{1,2})月(\d{1,2})[日号]", what):
        return _in_year(None, int(found[1]), int(found[2]), today)
    number = _DAYS_ZH.index({"天": "日", "末": "日"}.get(what[-1], what[-1]))
    return _weekday(number, today, next_week=which == "下")


def _weekday(number: int, today: date, *, next_week: bool) -> date:
    ahead = (number - today.weekday()) % 7
    if next_week:
        ahead = number - today.weekday() + 7
    return today + timedelta(days=ahead)


def _in_year(year: int | None, month: int, day: int | None, today: date) -> date:
    """Return a day of a month, or its last; without a year the next that comes."""
    for one in [year] if year else [today.year, today.year + 1]:
        found = date(one, month, day or calendar.monthrange(one, month)[1])
        if found >= today:
            return found
    return found


def _span(what: str, today: date) -> date:
    """Return the last day of the day, week, month or year."""
    if what == "week":
        return today + timedelta(days=6 - today.weekday())
    if what == "month":
        return today.replace(day=calendar.monthrange(today.year, today.month)[1])
    return today.replace(month=12, day=31) if what == "year" else today
