"""Mark at the end of a profile entry: since, until and by."""

from __future__ import annotations

from datetime import date

import pytest

from commonplace.memories.profile.entries import parse, render
from commonplace.memories.profile.marks import Mark

SINCE, UNTIL = date(2026, 10, 4), date(2026, 11, 2)


def test_a_mark_is_written_and_read() -> None:
    mark = Mark(SINCE, None, UNTIL, "agent")
    note = "## Home\n\n" + render("User lives in Berlin", mark, past=True)
    assert note.endswith(
        "- ~~User lives in Berlin~~ <!-- META: since=2026-10-04 until=2026-11-02 by=agent -->\n"
    )
    (entry,) = parse(note)
    assert (entry.text, entry.mark) == ("User lives in Berlin", mark)
    assert (entry.since, entry.until, entry.by) == (SINCE, UNTIL, "agent")


def test_a_day_alone_is_written_as_before() -> None:
    assert render("tea", Mark(since=SINCE)) == "- tea <!-- 2026-10-04 -->\n"
    assert render("tea") == "- tea\n"
    (entry,) = parse("- tea <!-- 2026-10-04 -->\n")
    assert (entry.since, entry.until, entry.by) == (SINCE, None, "owner")


def test_any_text_may_be_past() -> None:
    for text in ("two\nlines", "~~", "~~a~~", "> a", "a <!-- 2026-10-04 -->", "# a"):
        (entry,) = parse(render(text, Mark(until=UNTIL), past=True))
        assert (entry.text, entry.until) == (text, UNTIL)


def test_a_strike_of_a_person_is_text() -> None:
    (entry,) = parse("- ~~User lives in Berlin~~\n")
    assert (entry.text, entry.until) == ("~~User lives in Berlin~~", None)


@pytest.mark.parametrize("inner", ["until=soon", "until=2026-13-01", "colour=red", "by=7", ""])
def test_another_comment_is_no_mark(inner: str) -> None:
    (entry,) = parse(f"- tea <!-- META: {inner} -->\n")
    assert entry.text == f"tea <!-- META: {inner} -->"
    assert entry.mark == Mark()


def test_both_days_of_a_mark_belong_to_it() -> None:
    mark = Mark(since=SINCE, until=UNTIL)
    days = [date(2026, 10, 3), SINCE, UNTIL, date(2026, 11, 3)]
    assert [mark.holds(day) for day in days] == [False, True, True, False]
