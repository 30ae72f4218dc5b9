"""Relative dates, counted from the day of the message: "last month", "in june", 昨天, 去年."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

from commonplace.calendar_names import MONTHS, WEEKDAYS, WEEKDAYS_ZH
from commonplace.letter_ranges import CHINESE

COUNTS = {
    name: number
    for number, names in enumerate(
        ["a an one 一", "two couple 两 二", "three 三", "four 四", "five 五", "six 六 半"], 1
    )
    for name in names.split()
}
NUMBER = r"(?P<n>\d{1,2}|an?|one|two|three|four|five|six|[一二两三四五六])"


def _back(day: date, months: int) -> str:
    """Return the month that is so many months before that of a day."""
    at = day.year * 12 + day.month - 1 - months
    return f"{at // 12}-{at % 12 + 1:02}"


def counted(said: str) -> int:
    """Return the number that a match of `NUMBER` stands for."""
    return int(said) if said.isdigit() else COUNTS[said.casefold()]


def _count(found: re.Match[str], group: str = "n") -> int:
    return counted(found[group])


def _month(day: date, number: int) -> str:
    """Return the last month of that number that is not after a day."""
    return f"{day.year if number <= day.month else day.year - 1}-{number:02}"


def _weekday(day: date, number: int) -> str:
    return (day - timedelta((day.weekday() - number) % 7 or 7)).isoformat()


def _of_last_week(day: date, name: str) -> str:
    """Return the day of that Chinese name in the week before that of a day."""
    number = 6 if name == "天" else WEEKDAYS_ZH.index(name)
    return (day - timedelta(day.weekday() + 7 - number)).isoformat()


Said = Callable[[re.Match[str], date], str]
FORMS: list[tuple[re.Pattern[str], Said]] = [
    (re.compile(pattern, re.IGNORECASE), when)
    for pattern, when in (
        (r"\byesterday\b|昨[天晚日]", lambda _, day: (day - timedelta(1)).isoformat()),
        (r"前天", lambda _, day: (day - timedelta(2)).isoformat()),
        (
            r"\b(?:today|tonight|this (?:morning|afternoon))\b|今天|今早",
            lambda _, day: day.isoformat(),
        ),
        (r"\b(?:since )?last night\b", lambda _, day: (day - timedelta(1)).isoformat()),
        (
            rf"\b(?:about )?{NUMBER} days? ago\b",
            lambda found, day: (day - timedelta(_count(found))).isoformat(),
        ),
        (
            r"上个?(?:周|星期|礼拜)(?P<day>[一二三四五六日天])",
            lambda found, day: _of_last_week(day, found["day"]),
        ),
        (
            r"\b(?:since )?last (?:week|weekend)\b|上(?:个)?(?:周末?|星期|礼拜)",
            lambda _, day: _back(day - timedelta(7), 0),
        ),
        (r"\b(?:since )?last month\b|上个?月", lambda _, day: _back(day, 1)),
        (
            r"\b(?:since )?(?:earlier )?this (?:month|week|weekend)\b|这个?月|本月",
            lambda _, day: _back(day, 0),
        ),
        (
            r"\b(?:since )?last (?:year|spring|summer|autumn|fall|winter)\b|去年",
            lambda _, day: str(day.year - 1),
        ),
        (
            r"\b(?:since )?(?:earlier )?this (?:year|spring|summer|autumn|fall|winter)\b|今年",
            lambda _, day: str(day.year),
        ),
        (
            rf"\b(?:in|since|back in|last) (?P<month>{'|'.join(MONTHS)})\b(?! \d)",
            lambda found, day: _month(day, MONTHS.index(found["month"].casefold()) + 1),
        ),
        (
            rf"\b(?:on|last|since) (?P<day>{'|'.join(WEEKDAYS)})\b",
            lambda found, day: _weekday(day, WEEKDAYS.index(found["day"].casefold())),
        ),
        (
            rf"\b(?:about )?{NUMBER} weeks? ago\b",
            lambda found, day: _back(day - timedelta(7 * _count(found)), 0),
        ),
        (rf"\b(?:about )?{NUMBER} months? ago\b", lambda found, day: _back(day, _count(found))),
        (rf"\b(?:about )?{NUMBER} years? ago\b", lambda found, day: str(day.year - _count(found))),
        (rf"{NUMBER}个?月前", lambda found, day: _back(day, _count(found))),
        (rf"{NUMBER}年前", lambda found, day: str(day.year - _count(found))),
        (r"\b(?:in|since) (?P<year>20\d\d)\b", lambda found, _: found["year"]),
        (r"(?P<year>20\d\d)年", lambda found, _: found["year"]),
    )
]
# How long ago: a day, a week, about a month and a year, once or so many times
COUNT_ZH = r"(?P<d>\d{1,2}|[一两三四五六])"
WEEKS_ZH = rf"上个?(?:周|星期|礼拜)|{COUNT_ZH}个?(?:周|星期|礼拜)前"
AGO = [
    (re.compile(pattern, re.IGNORECASE), timedelta(days))
    for pattern, days in (
        (rf"\b(?:yesterday|last night|{NUMBER} days? ago)\b|昨[天晚日]|{COUNT_ZH}天前", 1),
        (rf"\b(?:last week(?:end)?|{NUMBER} weeks? ago)\b|{WEEKS_ZH}", 7),
        (rf"\b(?:last month|{NUMBER} months? ago)\b|上个?月|{COUNT_ZH}个?月前", 30),
        (rf"\b(?:last year|{NUMBER} years? ago)\b|去年|{COUNT_ZH}年前", 365),
    )
]
# "In june" may be when a meeting is; only what has happened has a day behind it.
PLANNED = re.compile(
    r"\b(?:meeting|deadline|launch|release|demo|exam|wedding|appointment|birthday|due|until|every|standup)\b"
    r"|会议|截止|发布|上线|演示|考试|婚礼|生日|每"
)


def spoken_time(text: str, day: date | None) -> tuple[str, str]:
    """Return a sentence without the time that it says, and that time: a year, month or day.

    Args:
        text: A sentence about what has happened.
        day: The day it was said on; without one the words are dropped, and the time is "".

    >>> spoken_time("we moved last month", date(2026, 1, 5))
    ('we moved', '2025-12')
    >>> spoken_time("我去年离婚了", date(2026, 1, 5))
    ('我离婚了', '2025')
    """
    if PLANNED.search(text):
        return text, ""
    for pattern, when in FORMS:
        if found := pattern.search(text):
            before, after = text[: found.start()].rstrip(), text[found.end() :].lstrip()
            seam = "" if CHINESE.search(before[-1:] + after[:1]) else " "
            rest = re.sub(r"\s+(?=[,.;，])", "", f"{before}{seam}{after}")
            return " ".join(rest.split()).strip(" ,，"), when(found, day) if day else ""
    return text, ""


def dated(text: str, day: date | None) -> str:
    """Return a sentence with the time in the place of "last week"; "" where it says none such.

    >>> dated("上周末迁到 Postgres 了", date(2026, 11, 20))
    '迁到 Postgres 了（2026-11）'
    >>> dated("vegan since 2019", date(2026, 11, 20))
    ''
    """
    if day is None or not any(pattern.search(text) for pattern, _ in AGO):
        return ""
    rest, time = spoken_time(text, day)
    bare = " ".join(text.split()).strip(" .!。！~…:()")
    # elsewhere it belongs to a phrase: "the lesson from yesterday: …"
    at_edge = bare.startswith(rest.strip(" ,.!~…:()")) or bare.endswith(rest)
    if not time or not rest or not (at_edge or CHINESE.search(rest)):
        return ""
    marks = "（）" if CHINESE.search(rest) else "()"
    between = "" if marks == "（）" else " "
    return f"{rest.rstrip('.!。！~…:() ')}{between}{marks[0]}{time}{marks[1]}"


def day_of_change(text: str, day: date) -> date | None:
    """Return about the day on which something changed, as a sentence says it; None without one.

    Args:
        text: A sentence about what has happened.
        day: The day it was said on. A month counts 30 days and a year 365.

    >>> day_of_change("we moved to Lisbon last week", date(2026, 11, 20))
    datetime.date(2026, 11, 13)
    >>> day_of_change("我三个月前搬到上海了", date(2026, 11, 20))
    datetime.date(2026, 8, 22)
    """
    if PLANNED.search(text):
        return None
    for pattern, span in AGO:
        if found := pattern.search(text):
            group = next((name for name in ("n", "d") if found[name]), None)
            ago = span * (_count(found, group) if group else 1)
            return day - ago if ago < day - date.min else None
    return None
