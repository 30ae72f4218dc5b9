"""Validity in time of profile entries: what was true, what ends by itself, what is told again."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from commonplace.memories.profile import Profile
from commonplace.memories.profile.ends import end_of
from commonplace.store import Store
from tests.doubles import Clock
from tests.memories.profile.helpers import texts

ENGLISH = ("where did I live before", "where did I live in {}")
CHINESE = ("我以前住哪", "我{}年住哪里")


def test_what_was_true_stays_with_its_days(opened: Store, clock: Clock) -> None:
    memory = Profile(opened, clock=clock, half_life=30)
    memory.remember("User lives in Berlin", "identity")
    clock.now += timedelta(days=60)
    memory.remember("User moved to Lisbon", "identity")
    assert opened.read("MEMORY.md").endswith(
        "- User moved to Lisbon <!-- 2026-04-25 -->\n"
        "- ~~User lives in Berlin~~ <!-- META: since=2026-02-24 until=2026-04-24 -->\n"
    )
    # it is not true any more
    assert "Berlin" not in memory.inject("Where did the user live before?").text
    assert texts(memory) == ["User moved to Lisbon"]
    assert memory.categories() == {"Identity": 1}
    assert memory.recall("user lives").found[0].text == "User moved to Lisbon"
    # unless that is asked for
    past = memory.recall("Where did the user live before?").found
    assert ("User lives in Berlin", date(2026, 4, 24)) in [(one.text, one.until) for one in past]
    assert "since 2026-02-24, until 2026-04-24)" in memory.memory_recall("以前 Berlin")
    at = [one.text for one in memory.recall("user lives", at=date(2026, 3, 1)).found]
    assert at == ["User lives in Berlin"]
    assert [one.text for one in memory.entries(at=date(2026, 3, 1))] == at
    assert memory.recall("user lives", at=date(2025, 3, 1)).found == ()


def test_what_ends_says_since_when_it_was_true(opened: Store, clock: Clock) -> None:
    memory, other = Profile(opened, clock=clock), Profile(opened, clock=clock, user="ann")
    told = clock.now.date()
    memory.remember("I live in Berlin", "identity")
    other.remember("I live in Berlin", "identity")
    memory.remember("I prefer tabs, and my manager is Bob", "work")
    memory.remember("I like dark themes", "preference")
    # people read the note: what is true has no mark
    assert "<!--" not in opened.read("MEMORY.md")
    clock.now += timedelta(days=10)
    # in other words, it is as old
    memory.remember("User prefers dark mode", "preference")
    memory.remember("I prefer spaces", "work")
    clock.now += timedelta(days=800)
    memory.remember("I moved to Lisbon", "identity")
    memory.remember("My manager is Eve", "work")
    memory.remember("User prefers light mode", "preference")
    past = {one.text: one.since for one in memory.entries(past=True) if one.until}
    assert set(past) == {
        "I live in Berlin",
        "I prefer tabs",
        "my manager is Bob",
        "User prefers dark mode",
    }
    assert set(past.values()) == {told}
    assert memory.recall("Berlin", at=told - timedelta(days=1)).found == ()
    assert len(memory.recall("Berlin", at=told).found) == 1


def test_what_a_transcript_tells_is_true_since_its_day(opened: Store, clock: Clock) -> None:
    memory = Profile(opened, clock=clock)
    said = clock.now - timedelta(days=300)
    line = {"role": "user", "content": "I live in Berlin.", "timestamp": said.isoformat()}
    opened.transcript("sessions/old").append(line)
    memory.flush("sessions/old")
    clock.now += timedelta(days=10)
    memory.remember("I moved to Lisbon")
    (berlin,) = (one for one in memory.entries(past=True) if "Berlin" in one.text)
    assert berlin.since == said.date()


@pytest.mark.parametrize(
    ("old", "new", "days"),
    [
        ("User lives in Berlin", "we moved to Lisbon last week", 7),
        ("User lives in Berlin", "we moved to Lisbon two weeks ago", 14),
        ("User lives in Berlin", "I moved to Lisbon yesterday", 1),
        ("User lives in Berlin", "I moved to Lisbon, last year's lease is over. I like it", 0),
        ("我住在北京", "我上个月搬到上海了", 30),
        ("我住在北京", "我三天前搬到上海了", 3),
        ("我住在北京", "我搬到上海了", 0),
    ],
)
def test_a_change_begins_when_it_says(
    opened: Store, clock: Clock, old: str, new: str, days: int
) -> None:
    memory = Profile(opened, clock=clock)
    memory.remember(old, "identity")
    clock.now += timedelta(days=60)
    assert memory.remember(new, "identity")["replaced"]
    began = clock.now.date() - timedelta(days=days)
    assert [one.since for one in memory.entries()] == [began]
    past = [one for one in memory.entries(past=True) if one.until]
    assert [(one.text, one.until) for one in past] == [(old, began - timedelta(days=1))]


def test_what_is_told_later_does_not_end_before_it_began(opened: Store, clock: Clock) -> None:
    memory = Profile(opened, clock=clock)
    memory.remember("User lives in Rome", "identity")
    clock.now += timedelta(days=10)
    memory.remember("User lives in Berlin", "identity")
    began = clock.now.date()
    clock.now += timedelta(days=10)
    memory.remember("we moved to Lisbon last month", "identity")
    (berlin,) = (one for one in memory.entries(past=True) if "Berlin" in one.text)
    assert (berlin.since, berlin.until) == (began, clock.now.date() - timedelta(days=1))


def test_what_was_told_the_same_day_ends_before_the_change(memory: Profile, clock: Clock) -> None:
    memory.remember("I live in Lisbon", "identity")
    memory.remember("we moved to Porto last month", "identity")
    began = clock.now.date() - timedelta(days=30)
    porto, lisbon = sorted(memory.entries(past=True), key=lambda one: one.until is not None)
    assert (porto.since, lisbon.since) == (began, None)
    assert lisbon.until == began - timedelta(days=1)
    found = memory.recall("live moved", at=began).found
    assert [one.text for one in found] == [porto.text]


def test_what_was_true_may_be_true_again(memory: Profile, clock: Clock) -> None:
    for home in ("Berlin", "Lisbon", "Berlin"):
        clock.now += timedelta(days=10)
        assert memory.remember(f"User lives in {home}", "identity")["added"]
    assert texts(memory) == ["User lives in Berlin"]
    assert memory.recall("lives", at=clock.now.date() - timedelta(days=5)).found[0].text == (
        "User lives in Lisbon"
    )


@pytest.mark.parametrize(
    ("told", "question", "was"),
    [
        (("User lives in Berlin", "User moved to Lisbon"), "我以前住哪", "User lives in Berlin"),
        (("我住在北京", "我搬到上海了"), "where did I live before?", "我住在北京"),
    ],
)
def test_the_past_is_found_in_another_language(
    memory: Profile, clock: Clock, told: tuple[str, str], question: str, was: str
) -> None:
    memory.remember("User has a dog", "identity")
    for text in told:
        memory.remember(text, "identity")
        clock.now += timedelta(days=10)
    assert [one.text for one in memory.recall(question).found if one.until] == [was]


@pytest.mark.parametrize(
    ("told", "ask", "when"),
    [
        (("I live in Berlin", "We moved to Lisbon", "I moved to Oslo"), *ENGLISH),
        (("我住在北京", "我搬到上海了", "我搬到广州了"), *CHINESE),
        (("我住在北京", "We moved to Lisbon", "User lives in Oslo"), *CHINESE),
    ],
)
def test_every_past_value_is_found_and_that_of_a_year(
    memory: Profile, clock: Clock, told: tuple[str, ...], ask: str, when: str
) -> None:
    for text in told:
        memory.remember(text, "identity")
        clock.now += timedelta(days=730)
    past = [one.text for one in memory.recall(ask).found if one.until]
    assert sorted(past) == sorted(told[:2])
    # told in February 2026, 2028 and 2030
    for year, text in ((2027, told[0]), (2029, told[1]), (2031, told[2])):
        assert [one.text for one in memory.recall(when.format(year)).found] == [text]
    # before a change both
    assert len(memory.recall(when.format(2028)).found) == 2
    assert [one.text for one in memory.recall(when.format(2032)).found] == [told[2]]


def test_many_past_entries_hide_nothing(opened: Store, memory: Profile) -> None:
    past = "".join(
        f"- ~~User lives in Rome~~ <!-- META: since=2025-01-{day:02} until=2025-01-{day:02} -->\n"
        for day in range(1, 32)
    )
    past += "".join(
        f"- ~~User lives in place {n}~~ <!-- META: until=2025-02-01 -->\n" for n in range(200)
    )
    note = f"---\nunit: item\n---\n## Home\n\n{past}- User now lives somewhere in Rome\n"
    opened.write("MEMORY.md", note)
    (found,) = memory.recall("user lives", 5).found
    assert found.text == "User now lives somewhere in Rome"
    assert len(memory.recall("Rome", at=date(2025, 1, 7)).found) == 2


def test_a_correction_was_never_true(opened: Store, memory: Profile) -> None:
    memory.remember("My manager is Alice, and I live in Rome", "people")
    done = memory.flush([("user", "That's wrong. My manager is Bob.")])
    assert [old["text"] for old in done["remembered"][0]["replaced"]] == ["My manager is Alice"]
    assert opened.read("MEMORY.md").endswith(
        "## People\n\n- My manager is Bob. <!-- 2026-02-24 -->\n- I live in Rome\n"
    )


def test_a_state_with_an_end_expires_by_itself(
    opened: Store, memory: Profile, clock: Clock
) -> None:
    memory.remember("User is on leave until Friday", "state")
    memory.remember("这周在杭州出差", "state")
    assert "until=2026-02-27" in opened.read("MEMORY.md")
    assert len(texts(memory)) == 2
    clock.now += timedelta(days=4)
    assert texts(memory) == ["这周在杭州出差"]
    assert memory.recall("leave").found == ()
    assert "leave" not in memory.inject("leave").text
    clock.now += timedelta(days=4)
    assert texts(memory) == []
    # it may be so again, and is not known already
    assert memory.remember("User is on leave until Friday", "state")["added"]


def test_what_is_from_tomorrow_is_true(memory: Profile, opened: Store) -> None:
    # a machine in another time zone wrote it
    opened.write("MEMORY.md", "## Home\n\n- User lives in Rome <!-- 2026-02-25 -->\n")
    assert texts(memory) == ["User lives in Rome"]
    assert "Rome" in memory.inject().text
    assert len(memory.recall("rome").found) == 1


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("User is away until 2026-12-01", "2026-12-01"),
        ("User is away until tomorrow", "2026-11-03"),
        ("User is on vacation until next Friday", "2026-11-13"),
        ("Busy until the end of the month", "2026-11-30"),
        ("Rents a car until December 5", "2026-12-05"),
        ("Rents a car until January", "2027-01-31"),
        ("User is in Rome this week", "2026-11-08"),
        ("User is on leave this week", "2026-11-08"),
        ("User plans to read Dune this month", "2026-11-30"),
        ("在上海待到周五", "2026-11-06"),
        ("项目到月底前完成", "2026-11-30"),
        ("本周休假", "2026-11-08"),
        ("请假到11月20日", "2026-11-20"),
        ("User is away until December 12th", "2026-12-12"),
        ("User is on holiday till the 5th of January", "2027-01-05"),
        ("Out of office until 3 Dec 2026", "2026-12-03"),
        ("User is on leave until the 1st", "2026-12-01"),
        ("User is in Lyon until the 5th to help her mum", "2026-11-05"),
        ("User is away until the 12th when the new job begins", "2026-11-12"),
        ("User is in Oslo until mid-November", "2026-11-15"),
        ("User is on call through Christmas", "2026-12-25"),
        ("User is on call for the next three weeks", "2026-11-23"),
        ("On night shift this month", "2026-11-30"),
        ("休假到十二月三十一号", "2026-12-31"),
        ("到下周三之前都在上海", "2026-11-11"),
        ("我到12号都在休假", "2026-11-12"),
        ("下个月中旬之前我都在成都出差", "2026-12-20"),
        ("接下来两周休假", "2026-11-16"),
        ("这个月上夜班", "2026-11-30"),
        ("I have an exam tomorrow", "2026-11-03"),
        ("User's exam is on 12 December", "2026-12-12"),
        ("User will be in Rome next week", "2026-11-15"),
        ("User has a dentist appointment next Tuesday", "2026-11-10"),
        ("User is flying to Oslo on Friday", "2026-11-06"),
        ("User is free the day after tomorrow", "2026-11-04"),
        ("my sister is visiting this weekend", "2026-11-08"),
        ("User is in Berlin for three days", "2026-11-05"),
        ("我明天考试", "2026-11-03"),
        ("我大后天面试", "2026-11-05"),
        ("我下周去东京", "2026-11-15"),
        ("我下周三去东京", "2026-11-11"),
        ("下个月我要去日本", "2026-12-31"),
        ("这周末爸妈来", "2026-11-08"),
        ("我要出差三天", "2026-11-05"),
        ("我12月3日手术", "2026-12-03"),
        ('User\'s sister is visiting (2026-11) — "my sister visits next week"', "2026-11-15"),
        # none of these ends
        ("User moved to Lisbon this week", None),
        ("这周搬到上海了", None),
        ("User likes tea", None),
        ("The shop is open until 8 pm", None),
        ("User was ill until 2025-01-01", None),
        ("User waits until Friday each week", None),
        ("Rents a car until February 30", None),
        ("User lives in Berlin and is on leave until Friday", None),
        ("我今年30岁，在阿里工作", None),
        ("User will start at Bosch this week", None),
        ("Office hours are Monday through Friday", None),
        ("周一到周五上班", None),
        ("从周一到周五在公司", None),
        ("User lived in Berlin until January", None),
        ("上个月底之前都在出差", None),
        ("User sleeps until the sun is up", None),
        ("Meetings go on until 12:30", None),
        ("休假到十月四十号", None),
        ("The lift goes up to the 5th floor only", None),
        ("User does not sleep until the 2nd child is born", None),
        ("三月一号以前我住北京", None),
        ("User starts a new job next week", None),
        ("User works from home from next week", None),
        ("User turns 40 next week", None),
        ("User has a team meeting on Friday", None),
        ("User has been in Berlin for three weeks", None),
        ("User works at Tomorrow Capital", None),
        ("User's birthday is on 12 December", None),
        ("从下周起我在家办公", None),
        ("我下周搬家", None),
        ("我周末加班", None),
        ("我出差了三天", None),
    ],
)
def test_ends(text: str, end: str | None) -> None:
    found = end_of(text, date(2026, 11, 2))
    assert (found and found.isoformat()) == end


def test_of_a_paraphrase_the_better_stays(opened: Store, clock: Clock) -> None:
    memory = Profile(opened, clock=clock, half_life=30)
    memory.remember("I like dark themes", "preference")
    clock.now += timedelta(days=7)
    receipt = memory.remember("User prefers dark mode", "preference")
    assert [(old["text"], old["reason"]) for old in receipt["replaced"]] == [
        ("I like dark themes", "same")
    ]
    line = "- User prefers dark mode <!-- META: since=2026-02-24 seen={} -->\n"
    assert opened.read("MEMORY.md").endswith(f"\n\n{line.format('2026-03-03')}")
    clock.now += timedelta(days=7)
    again = memory.remember("I like dark themes", "style")
    assert not again["added"]
    assert "in other words: 'User prefers dark mode'" in again["notes"][0]
    assert opened.read("MEMORY.md").endswith(f"\n\n{line.format('2026-03-10')}")


@pytest.mark.parametrize(
    ("first", "second", "stays"),
    [
        ("User is allergic to nuts", "User has a nut allergy", 0),
        ("User is allergic to nuts", "User has a severe nut allergy", 1),
        ("我是护士", "我在医院当护士", 1),
        ("User has a dog called Rex", "my dog's name is Rex", 0),
        ("User likes tea", "User likes to drink tea a lot", 1),
        ("我喜欢喝茶", "我喜欢茶", 0),
    ],
)
def test_what_is_said_twice_in_other_words_is_kept_once(
    opened: Store, clock: Clock, first: str, second: str, stays: int
) -> None:
    memory = Profile(opened, clock=clock, half_life=30)
    since = clock.now.date()
    memory.remember(first, "identity")
    clock.now += timedelta(days=7)
    memory.remember(second, "identity")
    assert [(one.text, one.since) for one in memory.entries()] == [((first, second)[stays], since)]
    # what said less is no state that has ended
    assert memory.entries(past=True) == memory.entries()


def test_an_old_session_counts_from_its_own_day(opened: Store, clock: Clock) -> None:
    memory = Profile(opened, clock=clock)
    week = timedelta(days=7)
    told = {"Lyon": clock.now - 3 * week, "Cork": clock.now, "Graz": clock.now + 9 * week}
    for city, day in told.items():
        text = f"I'm working from {city} until Friday."
        line = {"role": "user", "content": text, "timestamp": day.isoformat()}
        opened.transcript(f"sessions/{city}").append(line)
        memory.flush(f"sessions/{city}", session=city)
    friday = clock.now.date() + timedelta(days=(4 - clock.now.weekday()) % 7)
    found = {entry.text.split()[3]: entry.until for entry in memory.entries(past=True)}
    # a clock that was wrong does not reach into the future
    assert found == {"Lyon": friday - 3 * week, "Cork": friday, "Graz": friday}
    assert not any("Lyon" in entry.text for entry in memory.entries())
