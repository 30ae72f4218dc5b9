"""Days that a text names, counted from today: "Friday", "the 12th of October", 月底, 十月三号."""

from __future__ import annotations

import calendar
import re
from datetime import date, timedelta

from commonplace.calendar_names import MONTHS, WEEKDAYS, WEEKDAYS_ZH

_FEASTS = {"christmas": (12, 25), "new year": (1, 1)}
_SPANS_ZH = {"周": "week", "星期": "week", "月": "month", "年": "year"}
_SOON = {"today": 0, "tomorrow": 1, "day after tomorrow": 2}
_SOON_ZH = {
    "今天": 0,
    "今晚": 0,
    "明天": 1,
    "明早": 1,
    "明晚": 1,
    "后天": 2,
    "大后天": 3,
}

WEEKDAY = f"(?:{'|'.join(WEEKDAYS)}|mon|tues?|wed|thu(?:rs)?|fri|sat)"
_MONTH = f"(?:{'|'.join(MONTHS)}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\\.?"
_ORDINAL = r"\d{1,2}(?:st|nd|rd|th)"
_YEAR = r"(?:,? (?P<year>\d{4}))?"
# What may follow a day alone; before any other word, as in "the 5th floor", it is no day
_BEHIND_DAY = (
    r"and|or|but|so|then|to|for|from|in|at|on|with|without|as|if|when|while|after|before|until"
    r"|unless|though|although|because|since|where|I|we|he|she|they|it|of (?:this|next)"
)
# A number behind it that is no day is an hour
NAMED = re.compile(
    r"(?:the )?(?P<end>end of (?:the )?)?(?P<which>this |next )?"
    rf"(?:(?P<iso>\d{{4}}-\d\d-\d\d)|(?P<soon>{'|'.join(_SOON)})|(?P<weekday>{WEEKDAY})"
    r"|(?P<span>weekend|week|month|year)"
    rf"|(?P<day>{_ORDINAL}|\d{{1,2}})(?: of)? (?P<month>{_MONTH}){_YEAR}"
    rf"|(?P<mid>mid[- ])?(?P<month2>{_MONTH})"
    rf"(?: (?:the )?(?P<day2>{_ORDINAL}|\d{{1,2}})(?![:\d]))?{_YEAR.replace('year', 'year2')}"
    rf"|(?P<date>{_ORDINAL})(?!-|\s+(?!(?:{_BEHIND_DAY})\b)\w)|(?P<feast>{'|'.join(_FEASTS)}))(?![\w:])",
    re.IGNORECASE,
)
_NUMBER_ZH = r"(?:\d{1,2}|[一二三四五六七八九十]{1,3})"
NAMED_ZH = re.compile(
    rf"(?P<iso>\d{{4}}-\d\d-\d\d)|(?P<soon>{'|'.join(_SOON_ZH)})"
    r"|(?P<which>本|这个?|下个?)?(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天末])"
    rf"|(?P<month>{_NUMBER_ZH})月(?P<day>{_NUMBER_ZH})[日号]|(?P<date>{_NUMBER_ZH})[日号]"
    r"|(?P<following>下个?(?:周|星期|礼拜|月)|明年)(?![底末中])"
    r"|(?<!上)(?<!上个)(?P<which2>本|这个?|下个?)?(?P<span>月|年)(?P<part>底|末|中旬?)"
)


def named(found: re.Match[str], today: date) -> date:
    """Return the day that a match of `NAMED` stands for; of a week, month or year its last.

    Raises:
        ValueError: There is no such day.

    >>> named(NAMED.match("the 12th of October"), date(2026, 11, 2))
    datetime.date(2027, 10, 12)
    """
    is_next = (found["which"] or "").casefold() == "next "
    if found["iso"]:
        return date.fromisoformat(found["iso"])
    if found["soon"]:
        return today + timedelta(days=_SOON[found["soon"].casefold()])
    if weekday := found["weekday"]:
        number = next(at for at, name in enumerate(WEEKDAYS) if name.startswith(weekday.casefold()))
        return _weekday(number, today, next_week=is_next)
    if span := found["span"]:
        return end_of_span(span.casefold(), today, later=is_next)
    if found["date"]:
        return _in_month(_number(found["date"]), today)
    return _in_year(*_year_month_day(found), today)


def _year_month_day(found: re.Match[str]) -> tuple[int | None, int, int | None]:
    """Return what a match of `NAMED` says of a day in a year, as far as it says it."""
    if feast := found["feast"]:
        return None, *_FEASTS[feast.casefold()]
    name = (found["month"] or found["month2"]).casefold().rstrip(".")
    month = next(at for at, one in enumerate(MONTHS, 1) if one.startswith(name[:3]))
    day = found["day"] or found["day2"] or ("15" if found["mid"] else None)
    year = found["year"] or found["year2"]
    return int(year) if year else None, month, _number(day) if day else None


def named_zh(found: re.Match[str], today: date) -> date:
    """Return the day that a match of `NAMED_ZH` stands for.

    Raises:
        ValueError: There is no such day.

    >>> named_zh(NAMED_ZH.match("十二月三号"), date(2026, 11, 2))
    datetime.date(2026, 12, 3)
    """
    is_next = (found["which"] or found["which2"] or "").startswith("下")
    if found["iso"]:
        return date.fromisoformat(found["iso"])
    if soon := found["soon"]:
        return today + timedelta(days=_SOON_ZH[soon])
    if weekday := found["weekday"]:
        number = WEEKDAYS_ZH.index({"天": "日", "末": "日"}.get(weekday, weekday))
        return _weekday(number, today, next_week=is_next)
    if following := found["following"]:
        return end_of_span(_SPANS_ZH.get(following[-1], "week"), today, later=True)
    if said := found["day"] or found["date"]:
        day = _number(said)
        month = found["month"]
        return _in_year(None, _number(month), day, today) if month else _in_month(day, today)
    last = end_of_span(_SPANS_ZH[found["span"]], today, later=is_next)
    middle = last.replace(day=20) if found["span"] == "月" else last.replace(month=6, day=30)
    return middle if found["part"].startswith("中") else last


def end_of_span(span: str, today: date, *, later: bool = False) -> date:
    """Return the last day of this day, week, month or year, or of the one behind it."""
    if span == "day":
        last = today
    elif span in {"week", "weekend"}:
        last = today + timedelta(days=6 - today.weekday())
    elif span == "month":
        last = today.replace(day=calendar.monthrange(today.year, today.month)[1])
    else:
        last = today.replace(month=12, day=31)
    return end_of_span(span, last + timedelta(days=1)) if later else last


def _number(said: str) -> int:
    """Return the number of a day or a month: 12, "12th" or 十二."""
    if digits := re.match(r"\d+", said):
        return int(digits[0])
    tens, ten, ones = said.rpartition("十")
    units = "一二三四五六七八九"
    if any(part and (len(part) > 1 or part not in units) for part in (tens, ones)):
        raise ValueError(said)
    return (units.index(tens) + 1 if tens else bool(ten)) * 10 * bool(ten) + (
        units.index(ones) + 1 if ones else 0
    )


def _weekday(number: int, today: date, *, next_week: bool) -> date:
    ahead = (number - today.weekday()) % 7
    if next_week:
        ahead = number - today.weekday() + 7
    return today + timedelta(days=ahead)


def _in_month(day: int, today: date) -> date:
    """Return the next day of that number."""
    if day >= today.day:
        return today.replace(day=day)
    return end_of_span("month", today, later=True).replace(day=day)


def _in_year(year: int | None, month: int, day: int | None, today: date) -> date:
    """Return a day of a month, or its last; without a year the next that comes."""
    for one in [year] if year else [today.year, today.year + 1]:
        found = date(one, month, day or calendar.monthrange(one, month)[1])
        if found >= today:
            return found
    return found
