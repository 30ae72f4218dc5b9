"""Changes of state: that they are kept, what they replace, vetoes, and third-person statements."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.conflict import compare
from commonplace.conflict.states import load, readings
from commonplace.extraction import classify, extract
from commonplace.extraction.personal_numbers import holds_personal_number, is_iban
from commonplace.extraction.relative_dates import spoken_time
from commonplace.extraction.third_person import is_supported, statement, templates
from commonplace.memories.profile import Profile
from commonplace.store import Store
from tests.doubles import ScriptedModel

FOLDER = Path(__file__).parent / "labelled"
TODAY = date(2026, 11, 22)


def lines(name: str) -> list[dict[str, Any]]:
    text = (FOLDER / f"{name}-seen.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


CHANGES = lines("changes")


def kept(text: str) -> bool:
    return any(one.kept for one in extract([("user", text)], now=TODAY))


# What was reached, a little below it. Each round was written while the rules stood still, counted
# once, and then read: docs/benchmarks.md has the counts.
@pytest.mark.parametrize("language", ["en", "zh"])
def test_changes_are_kept_and_replace(language: str) -> None:
    pairs = [one for one in CHANGES if one["conflict"] and one["language"] == language]
    assert sum(kept(one["new"]) for one in pairs) >= 0.97 * len(pairs)
    replaced = sum(compare(one["old"], one["new"]).conflict for one in pairs)
    assert replaced >= 0.87 * len(pairs)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_change_replaces_what_was_kept_of_an_earlier_session(language: str) -> None:
    """Both as they are stored: in the third person, with the source behind."""
    pairs = [one for one in CHANGES if one["conflict"] and one["language"] == language]
    both = 0
    for one in pairs:
        old, new = (
            next((c.stored for c in extract([("user", text)], now=TODAY) if c.kept), text)
            for text in (one["old"], one["new"])
        )
        both += compare(old, new).conflict
    assert both >= 0.85 * len(pairs)


def test_what_both_holds_is_not_replaced() -> None:
    pairs = [one for one in CHANGES if not one["conflict"]]
    wrong = [(one["old"], one["new"]) for one in pairs if compare(one["old"], one["new"]).conflict]
    assert len(pairs) > 250
    assert len(wrong) <= 1, wrong


def test_chat_messages() -> None:
    wrong = [one["text"] for one in lines("chat") if kept(one["text"]) and not one["kept"]]
    missed = [one["text"] for one in lines("chat") if one["kept"] and not kept(one["text"])]
    assert len(wrong) <= 5, wrong
    assert len(missed) <= 3, missed


@pytest.mark.parametrize("one", lines("vetoes"), ids=lambda one: one["text"])
def test_vetoes(one: dict[str, Any]) -> None:
    found = extract([("user", one["text"])])
    assert not any(classified.kept for classified in found)
    assert one["reason"] in {classified.reason for classified in found}


@pytest.mark.parametrize(
    ("said", "about"),
    [
        (["forget what i said about my birthday"], "my birthday"),
        (["please forget my address"], "my address"),
        (["忘掉我说的生日"], "生日"),
        (["把我的电话号码从记忆里删掉"], "我的电话号码"),
        (["I live in Porto. Forget that."], "I live in Porto."),
        (["i live in Porto", "forget that"], "i live in Porto"),
    ],
)
def test_a_request_to_forget_says_what_it_speaks_of(said: list[str], about: str) -> None:
    found = extract([("user", text) for text in said])
    assert (found[-1].reason, found[-1].about) == ("veto:forget", about)
    assert not any(one.kept for one in found)


@pytest.mark.parametrize(
    "veto",
    [
        "don't save that",
        "please don't remember that",
        "don't save what I just said",
        "never mind, delete that",
        "forget it",
        "forget that",
        "hmm. don't keep that",
        "刚才那句不要记",
        "上一句别存",
        "不要记住这个",
        "把这条删掉",
        "忘掉这个",
    ],
)
def test_a_veto_that_points_back_reaches_the_message_before(veto: str) -> None:
    fact = "I live in Berlin"
    said = [("user", "I like tea"), ("user", fact), ("assistant", "Noted."), ("user", veto)]
    found = extract(said)
    assert [one.text for one in found if one.kept] == ["I like tea"]
    assert (found[-1].reason, found[-1].about) == ("veto:forget", fact)


def test_a_veto_with_a_subject_of_its_own_does_not_point_back() -> None:
    for veto in ("I have HIV. don't save that", "don't save my age", "别记我的工资"):
        assert extract([("user", "I live in Berlin"), ("user", veto)])[0].kept, veto


@pytest.mark.parametrize(
    "veto",
    [
        "Actually don't save that.",
        "hmm, don't save that",
        "oh wait, please don't save that",
        "Sorry, don't keep that.",
        "don't save what I just said",
    ],
)
def test_a_veto_reaches_the_sentence_before_whatever_leads_in_to_it(veto: str) -> None:
    assert not kept(f"I live in Berlin. {veto}")


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        ("don't forget that I live in Berlin", "User lives in Berlin"),
        ("don't forget I'm allergic to penicillin", "User is allergic to penicillin"),
        ("Please remember that my sister is called Ana", "User's sister is called Ana"),
        ("不要忘记我对青霉素过敏", "用户对青霉素过敏"),
        ("别忘了我住在上海", "用户住在上海"),
        ("记住我对花生过敏", "用户对花生过敏"),
        ("帮我记一下，我的生日是5月5号", "用户的生日是5月5号"),
    ],
)
def test_what_the_user_asks_to_remember_is_kept(said: str, stored: str) -> None:
    (found,) = extract([("user", said)])
    assert found.kept
    assert found.stored.startswith(f"{stored} — ")


@pytest.mark.parametrize(
    "said",
    [
        "remember that my password is hunter2",
        "记住我的密码是abc123",
        "remember that in the story I am a pirate",
        "please remember that this time I want bullets",
        "do you remember that I live in Berlin",
        "记住我说的话",
        "我记住了你的名字",
        "不要记住我有糖尿病",
    ],
)
def test_a_wish_to_remember_keeps_nothing_that_is_vetoed(said: str) -> None:
    assert not kept(said)


@pytest.mark.parametrize(
    "said",
    [
        "my card number is 4539 1488 0343 6467",
        "I pay with 4539-1488-0343-6467",
        "Remember that my card is 4539148803436467",
        "my SSN is 078-05-1120",
        "my IBAN is DE89 3704 0044 0532 0130 00",
        "my PIN is 4821",
        "我的身份证号是11010519491231002X",
        "我的卡号是4539148803436467",
    ],
)
def test_a_personal_number_is_not_kept(said: str) -> None:
    assert [one.reason for one in extract([("user", said)])] == ["veto:personal-number"]


def test_other_numbers_are_no_personal_ones() -> None:
    for said in (
        "my phone number is +49 170 1234567",
        "the order is 4539148803436468",
        "我的订单号是4539148803436468",
        "the LED is on pin 13",
    ):
        assert not holds_personal_number(said), said
    assert not is_iban("DE89 3704 0044 0532 0130 01")


def test_a_veto_reaches_no_further_than_it_says() -> None:
    text = "I prefer tabs. Please don't save my phone number 555-1234. I live in Oslo."
    assert [one.kept for one in extract([("user", text)])] == [True, False, True]
    assert kept("don't forget that i'm vegan")
    assert kept("i live in oslo dont forget")
    assert not kept("off the record. i'm looking for a new job. i hate my boss")


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        ("we just moved to Lisbon last month", "User lives in Lisbon since 2026-10"),
        ("sold the civic yesterday", "User sold the civic (2026-11-21)"),
        ("btw im left handed", "User is left handed"),
        ("left Siemens, started at Bosch on monday", "User works at Bosch since 2026-11-16"),
        ("just got a puppy, called Momo", "User just got a puppy, called Momo"),
        (
            "could you from now on answer in spanish",
            "User wants the assistant to answer in spanish",
        ),
        ("对了我对花生过敏", "用户对花生过敏"),
        ("顺便说下，我是左撇子", "用户是左撇子"),
        ("我搬到上海了", "用户住在上海"),
        ("我去年离婚了", "用户自2025起离婚了"),
    ],
)
def test_what_is_stored_quotes_its_source(said: str, stored: str) -> None:
    marks = "“”" if stored.startswith("用") else '""'
    assert classify(said, now=TODAY).stored == f"{stored} — {marks[0]}{said}{marks[1]}"


def test_a_sentence_that_stands_by_itself_is_stored_as_it_is() -> None:
    assert classify("I prefer dark mode.").stored == "I prefer dark mode."
    # what it is about is not in it
    assert classify("from now on keep it short").statement == ""


@pytest.mark.parametrize("language", ["english", "chinese"])
def test_templates_make_their_examples(language: str) -> None:
    for template in templates(language):
        for said, becomes in template.examples:
            assert statement(said) == becomes


@pytest.mark.parametrize(
    ("said", "rest", "time"),
    [
        ("we moved in june", "we moved", "2026-06"),
        ("we moved in december", "we moved", "2025-12"),
        ("i quit two weeks ago", "i quit", "2026-11"),
        ("i quit 3 days ago", "i quit", "2026-11-19"),
        ("i quit on sunday", "i quit", "2026-11-15"),
        ("我上个月搬家了", "我搬家了", "2026-10"),
        ("我两年前戒烟了", "我戒烟了", "2024"),
        ("the wedding is in june", "the wedding is in june", ""),
    ],
)
def test_times_are_counted_from_the_day_of_the_message(said: str, rest: str, time: str) -> None:
    assert spoken_time(said, TODAY) == (rest, time)


@pytest.mark.parametrize(
    ("answer", "stands"),
    [
        ("User moved to Lisbon", True),
        ("User lives in Portugal", False),
        ("The user is rich", False),
        ("User moved.\nUser is rich.", False),
        (TimeoutError("no answer"), False),
    ],
)
def test_a_model_writes_statements_of_the_words_of_the_source(
    answer: str | Exception, stands: bool
) -> None:
    (found,) = extract([("user", "we moved to Lisbon")], model=ScriptedModel(answer))
    assert found.statement == (answer if stands else "User lives in Lisbon")
    assert not is_supported("User", "we moved")


def test_a_second_session_replaces_what_the_first_said(opened: Store) -> None:
    memory = Profile(opened)
    memory.flush([("user", "I live in Berlin."), ("user", "i smoke"), ("user", "I have a cat.")])
    memory.flush([("user", "we just moved to Lisbon, btw"), ("user", "i quit smoking")])
    held = [entry.text for entry in memory.entries()]
    assert not any("Berlin" in text or '"i smoke"' in text for text in held)
    assert any(text.startswith("User lives in Lisbon") for text in held)
    assert any("cat" in text for text in held)


@given(st.text(max_size=80))
def test_any_text_has_a_statement_or_none(text: str) -> None:
    said = statement(text, TODAY)
    assert said == "" or said.startswith(("User", "用户"))
    assert readings(text) == readings(text)


def test_hostile_input_is_bounded() -> None:
    tables = load()
    for piece in ("i ", "我", "a b ", "moved to ", "不", "1 ", "not "):
        text = (piece * 300)[:300]
        for pattern in [
            *(one.pattern for one in tables.states),
            *(one.pattern for one in tables.slots),
        ]:
            pattern.search(text)
        compare("User has a cat", text)
        statement(text[:400], TODAY)


@pytest.mark.parametrize(
    ("old", "new", "ends"),
    [
        ("I go to PureGym three times a week", "switched gyms, it's The Works now", True),
        ("I use VS Code for all my work", "been on zed since january, not going back", True),
        ("my sister Lena lives in Oslo", "lena has moved to Bergen", True),
        ("I'm on the night shift", "back on days since monday", True),
        ("User knows Java", "our backend was rewritten in Go", False),
        ("my team uses Jira", "the support team moved to Linear", False),
        ("Nadia is single", "Tom got married", False),
        ("I work at Klarna", "my wife started a new job at Spotify", False),
        ("I live with my roommate Kai", "my brother moved out", False),
        ("my phone is a Pixel 7", "my son got a new phone", False),
    ],
)
def test_a_change_ends_its_topic(old: str, new: str, ends: bool) -> None:
    assert compare(old, new).conflict is ends


def test_what_no_rule_knows_is_kept_where_it_ends_something(opened: Store) -> None:
    profile = Profile(opened)
    profile.flush([("user", "my roommate is Kai")], session="first")
    assert not profile.flush([("user", "the fern wilted")], session="second")["remembered"]
    done = profile.flush([("user", "kai moved out")], session="third")["remembered"]
    assert [one["reason"] for one in done] == ["identity:ends"]
    assert ["my roommate is Kai" in one["text"] for one in done[0]["replaced"]] == [True]


LASTING = [
    json.loads(line)
    for line in (FOLDER / "extraction-seen-3.jsonl").read_text(encoding="utf-8").splitlines()
]


def test_lasting_facts_are_kept() -> None:
    english = [one for one in LASTING if one["language"] == "en"]
    wrong = [one["text"] for one in english if kept(one["text"]) and not one["kind"]]
    facts = [one["text"] for one in english if one["kind"]]
    assert not wrong
    assert sum(map(kept, facts)) >= 0.9 * len(facts)


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        ("rex died last week :(", 'rex died (2026-11) — "rex died last week :("'),
        ("上周末迁到 Postgres 了", "迁到 Postgres 了（2026-11） — “上周末迁到 Postgres 了”"),
        (
            "I started piano lessons last month",
            'User started piano lessons (2026-10) — "I started piano lessons last month"',
        ),
        ("quick update: we left Oslo", 'User left Oslo — "quick update: we left Oslo"'),
        ("上周六领证了", "用户自2026-11-14起已婚 — “上周六领证了”"),
        ("我退休啦", "用户退休了 — “我退休啦”"),
        ("vegan since 2019", "vegan since 2019"),
        ("lesson from last week: never deploy on friday",) * 2,
    ],
)
def test_what_is_stored_says_when_it_was(said: str, stored: str) -> None:
    assert [one.stored for one in extract([("user", said)], now=TODAY) if one.kept] == [stored]
