"""Names of weekdays and months, each list in the order of the calendar."""

from __future__ import annotations

# not those of `calendar`, which are in the language that the process is set to
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
WEEKDAYS_ZH = "一二三四五六日"
