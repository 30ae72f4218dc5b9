"""Conflict detection: which new statement replaces which old one, and labelled pairs."""

from __future__ import annotations

import pytest
from benches.extraction_quality import answers, score
from hypothesis import given
from hypothesis import strategies as st

from commonplace.conflict import compare
from commonplace.conflict.rules import by_rules
from commonplace.conflict.tables import load

VALUES = ["dark mode", "light mode", "tabs", "short answers", "long answers", "Postgres", "MySQL"]
STATEMENTS = st.builds(
    "{} {} {}{}".format,
    st.sampled_from(["User", "I", "The user", "Alice", "我", "用户"]),
    st.sampled_from(
        ["prefers", "likes", "uses", "switched to", "does not like", "喜欢", "不用", "换成了"]
    ),
    st.sampled_from([*VALUES, "深色模式", "空格缩进", "vim"]),
    st.sampled_from(["", " in Go", " at work", ".", "了"]),
)
ANY_TEXT = st.text() | STATEMENTS


# Recall: what was reached, a little below it (see benches/extraction_quality.py).
@pytest.mark.parametrize(("half", "recall"), [("seen", 0.9), ("unseen", 0.54)])
def test_labelled_pairs(half: str, recall: float) -> None:
    found = list(answers("conflict", half))
    scores = score(found)
    wrong = [
        (one.item["old"], one.item["new"], one.reason)
        for one in found
        if one.got and not one.wanted
    ]
    assert scores.precision >= 0.95, wrong
    assert scores.recall >= recall


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("User prefers dark mode", "User prefers light mode", "changed:theme"),
        ("Name: Ann", "Name: Bea", "changed:name"),
        ("Name: Ann", "My name is Bea", "changed:name"),
        ("User drinks coffee", "User no longer drinks coffee", "denied"),
        ("We use Jenkins", "We switched from Jenkins to Drone", "replaced"),
        ("我住在北京", "我搬到上海了", "changed:home"),
        ("端口是8080", "端口改为8443", "changed:端口"),
        ("Employer: Siemens", "User left Siemens and works at Bosch now", "replaced"),
        ("Standup is at 9:30", "Daily standup moved to 10:15", "changed:standup"),
        ("团队有 6 个人", "团队有 11 个人", "changed:number"),
        ("I sing tenor in the choir", "they've moved me to baritone", "likely:voice"),
        ("装修预算三万", "预算压到两万", "likely:money"),
        ("User uses vim", "vim crashed again", "unrelated"),
        ("User has a dog", "the dog is off to the vet", "unrelated"),
        ("I am a lefty", "I'm right handed, that was a typo", "changed:hand"),
        ("Email: a@b.org", "my mail address is c@d.org", "changed:email"),
        ("Standup 9:30", "the standup is at 10 now", "changed:standup"),
        ("女儿四岁", "女儿五岁了", "changed:age"),
        ("我不会游泳", "春天学会游泳了", "changed:swimming"),
        ("我住在北京", "我现在在上海", "changed:home"),
        ("I live in Porto", "i'm in lisbon now", "changed:home"),
        ("I live in Porto", "I'm in Peckham now", "changed:home"),
        ("I live in Porto", "i'm in nyc now", "changed:home"),
        ("I live in Porto", "I'm back in the US", "changed:home"),
        ("I live in Porto", "I'm in HR now", "unrelated"),
        ("我在腾讯上班", "我现在在阿里", "changed:employer"),
        ("我在腾讯上班", "我现在在学日语", "unrelated"),
        ("I live alone", "my girlfriend moved in", "changed:household"),
        ("Phone: 555-0192", "my phone number is 555-0177", "changed:phone number"),
        ("my phone is a Pixel", "my phone is an iPhone", "changed:phone"),
        ("I run 10k three times a week", "I stopped running", "replaced"),
        ("I run 10k three times a week", "I quit running because of my knee", "replaced"),
        ("I swim twice a week", "I stopped swimming", "replaced"),
        ("my daughter Mia is 5", "Mia turned 6 on Sunday", "changed:age"),
        # of another, of the past, of another thing
        ("my phone number is 555-0192", "I have an iPhone 12", "unrelated"),
        ("my phone number is 555-0192", "my phone is a Pixel", "unrelated"),
        ("my phone number is 555-0192", "I bought a new phone, a Pixel 9", "unrelated"),
        ("my phone number is 555-0192", "I lost my phone", "unrelated"),
        ("my mobile is 0612345678", "I have a Samsung phone", "unrelated"),
        ("I have an iPhone 12", "my phone number is 555-0192", "unrelated"),
        ("我的手机号是13800000000", "我换手机了,现在用华为", "unrelated"),
        ("My manager is Ana", "the new manager of the data team is Bo", "unrelated"),
        ("我领导是李姐", "数据组的新领导是王姐", "unrelated"),
        ("我们组的领导是李姐", "我们组的新领导是王姐", "changed:manager"),
        ("我今年四十岁", "我十八岁就离开家了", "unrelated"),
        ("I live in Cork", "at 12 I moved to Oslo with my parents", "unrelated"),
        ("call me Alexandra", "please call me Alex not Alexandra", "replaced"),
        ("I run 10k three times a week", "I'm running late", "unrelated"),
        ("I run the Berlin office", "I stopped running", "unrelated"),
        ("I run five companies", "I stopped running", "unrelated"),
        ("I run daily backups", "I stopped running", "unrelated"),
        ("我住在苏州", "我住五楼", "unrelated"),
        ("我手机是华为", "工作手机是苹果", "unrelated"),
        ("不要用表情", "以后用法语回答", "unrelated"),
        ("我会拉小提琴", "钢琴卖了", "unrelated"),
        ("我养狗", "猫死了", "unrelated"),
        ("Yoga on Tuesday", "yoga on Thursday", "unrelated"),
        ("User takes metformin", "off the metformin", "denied"),
        ("The web app uses Postgres", "The mobile app moved from Postgres to SQLite", "unrelated"),
        ("Meeting room A seats 6", "Meeting room B seats 12", "unrelated"),
        ("Thing number 3", "Thing number 4", "unrelated"),
        ("Thing 3 of many", "Thing 4 of many", "unrelated"),
        ("Alice uses vim", "Bob no longer uses vim", "unrelated"),
        ("User prefers dark mode", "I like dark themes", "same"),
        ("Name: Ann", "Name: Ann Lee", "detail"),
        ("User uses tabs in Go", "User uses spaces in Python", "scope"),
        ("User uses Chrome", "User uses Firefox", "unsure"),
        ("User likes tea", "User likes coffee", "unrelated"),
        ("User lives in Munich", "User lives in Germany", "detail"),
        ("Pets: cat", "Pets: dog", "unrelated"),
    ],
)
def test_reasons(old: str, new: str, reason: str) -> None:
    assert compare(old, new).reason == reason


def test_a_rule_for_what_ended_needs_a_likelihood() -> None:
    old, new = (
        "User's oven is a gas oven",
        "the cafe across the road swapped its gas oven for electric",
    )
    assert by_rules(old, new).reason == "replaced"
    assert compare(old, new).reason == "unsure"
    assert compare("User plays the oboe", "sold the oboe").reason == "replaced"


@pytest.mark.parametrize("home", ["I live in Berlin", "我住在北京", "我一个人住"])
@pytest.mark.parametrize(
    "new",
    [
        "记住我对花生过敏",
        "你要记住我是素食者",
        "我记住了你的名字",
        "抓住机会很重要",
        "我没忍住吃了蛋糕",
        "压力大得快撑不住了",
        "我住院了",
        "住院了",
        "他住手了",
        "住宿费涨了",
        "我把沙发搬到客厅了",
        "会议搬到周五了",
        "搬运工来了",
        "我现在在腾讯上班",
        "我换工作了,现在在腾讯",
        "我现在在找工作",
        "我现在在读研究生",
        "我现在在学日语",
        "我现在在家办公",
        "我现在在图书馆学习",
        "我家在地铁站附近",
    ],
)
def test_a_character_inside_another_word_is_no_verb(home: str, new: str) -> None:
    assert not compare(home, new).conflict


@pytest.mark.parametrize(
    "new", ["我不住北京了", "直接住在上海了", "刚在上海独立住了", "搬到西藏了"]
)
def test_the_verb_itself_is_one(new: str) -> None:
    assert compare("我住在北京", new).conflict


@pytest.mark.parametrize("home", ["I live in Berlin", "User lives with roommates"])
@pytest.mark.parametrize(
    "new",
    [
        "I moved the meeting to Friday",
        "I moved my files to D:",
        "I moved my savings to ING",
        "I moved everything to the cloud",
        "I have moved teams",
        "we moved on to the next topic",
        "I moved up a level",
        "I moved to tears",
        "I love living in the moment",
        "I live in hope",
        "I live near the river",
        "I'm in sales now",
        "I'm in hospital now",
        "I'm in grad school now",
        "I'm in my second year now",
        "we're in the garden now",
        "I'm back in therapy",
        "my house is in good shape",
    ],
)
def test_who_moves_a_thing_or_lives_in_no_place_lives_where_he_did(home: str, new: str) -> None:
    assert not compare(home, new).conflict


@pytest.mark.parametrize(
    "new",
    ["we moved", "I moved last week", "I moved closer to work", "we moved into a bigger place"],
)
def test_who_moves_lives_elsewhere(new: str) -> None:
    assert compare("User rents a flat", new).conflict


def test_the_parts_are_named() -> None:
    verdict = compare("Alice lives in Paris", "Alice moved to Berlin")
    assert (verdict.subject, verdict.attribute) == ("alice", "home")
    assert (verdict.old_value, verdict.new_value) == ("paris", "berlin")


def test_an_embedder_joins_in_and_never_decides_alone() -> None:
    assert compare("User uses Chrome", "User uses Firefox", 0.8).reason == "confirmed:browser"
    assert not compare("User uses Chrome", "User uses Firefox", 0.5).conflict
    assert compare("Name: Ann", "Name: Bea", 0.1).reason == "vetoed"
    assert compare("Name: Ann", "Name: Bea", 0.4).conflict
    assert not compare("User likes tea", "User likes coffee", 0.99).conflict


@pytest.mark.parametrize("name", sorted(load().families))
def test_a_family_holds_one_value_at_a_time(name: str) -> None:
    family = load().families[name]
    assert len(family.members) >= 2


@given(ANY_TEXT, ANY_TEXT, st.none() | st.floats(-1, 1))
def test_any_two_texts_are_compared(old: str, new: str, similarity: float | None) -> None:
    assert compare(old, new, similarity) == compare(old, new, similarity)
    for text in (old, new):
        assert not compare(text, text, similarity).conflict
    if not (old.strip() and new.strip()):
        assert not compare(old, new, similarity).conflict


def test_hostile_input_is_bounded() -> None:
    for piece in ("is ", "a is b ", "从", "在", ": ", "moved to ", "用户", "not "):
        for text in (piece * 50_000, (piece * 300)[:300]):
            assert not compare(text, text + "x").conflict
