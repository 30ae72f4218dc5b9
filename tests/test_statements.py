"""Statements of an entry, and which of them a new text makes untrue."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from commonplace.conflict import compare
from commonplace.conflict.candidates import StatementIndex
from commonplace.conflict.entry_comparison import compare_entry, is_better, is_paraphrase, readings
from commonplace.conflict.statements import statements, without

FACTS = [
    "User prefers dark mode",
    "my dog is called Rex",
    "I live in Berlin",
    "I work at Siemens",
    "Answer in German",
    "Keep answers short",
    "No emojis",
    "Editor: vim",
    "Shell: zsh",
    "User has two kids",
    "User drinks coffee",
    "Standup is at 9:30",
    "我住在巴黎",
    "我养了一只猫",
    "回答用中文",
]
NEW = [
    "User prefers light mode",
    "I prefer light mode, and I live in Lisbon",
    "User moved to Lisbon",
    "User works at Bosch now",
    "Answer in English",
    "Please write long answers",
    "User switched from vim to emacs",
    "Shell: fish shell",
    "User no longer drinks coffee",
    "Standup moved to 10:15",
    "我搬到上海了",
    "User likes tea",
]
# How statements stand together in an entry
JOINED = {
    "sentences": lambda facts: " ".join(f"{fact[0].upper()}{fact[1:]}." for fact in facts),
    "semicolons": "; ".join,
    "lines": lambda facts: "Facts:\n" + "\n".join(f"- {fact}" for fact in facts),
    "nested": lambda facts: facts[0] + "".join(f"\n  - {fact}" for fact in facts[1:]),
    "deep": lambda facts: "\n".join(f"{'  ' * n}- {fact}" for n, fact in enumerate(facts))[2:],
    "paragraphs": "\n\n".join,
}


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        (
            "I prefer dark mode, and my dog is called Rex",
            ["I prefer dark mode", "my dog is called Rex"],
        ),
        (
            "Answer in German; keep answers short; no emojis",
            ["Answer in German", "keep answers short", "no emojis"],
        ),
        ("I'm deaf, from Leeds and I swim", ["I'm deaf", "I'm from Leeds", "I swim"]),
        ("I'm a vet, vegan, and divorced", ["I'm a vet", "I'm vegan", "I'm divorced"]),
        # what somebody is goes on, or is described
        ("I'm allergic to nuts, a bit of wool", ["I'm allergic to nuts, a bit of wool"]),
        ("I'm in Berlin, near Tempelhof", ["I'm in Berlin, near Tempelhof"]),
        # no name is before these verbs
        ("Likes tea, hates coffee, rents", ["Likes tea", "hates coffee", "rents"]),
        (
            "I'm Bo, I rent in Oslo and train horses",
            ["I'm Bo", "I rent in Oslo", "I train horses"],
        ),
        (
            "User lives in Berlin and works at Siemens",
            ["User lives in Berlin", "User works at Siemens"],
        ),
        ("I live in Berlin and work at Siemens.", ["I live in Berlin", "I work at Siemens"]),
        ("User prefers dark mode and tabs", ["User prefers dark mode", "User prefers tabs"]),
        ("Name: Ann\nCity: Berlin", ["Name: Ann", "City: Berlin"]),
        ("Name: Ann, City: Berlin", ["Name: Ann", "City: Berlin"]),
        ("姓名：张三，城市：上海", ["姓名：张三", "城市：上海"]),
        ("Address: Main Street 5, Berlin", ["Address: Main Street 5, Berlin"]),
        ("Style: concise,\ntechnical", ["Style: concise,\ntechnical"]),
        ("| a | b |\n|---|---|\n| Editor | vim |", ["Editor: vim"]),
        ("Setup:\n- Editor: vim\n- tabs", ["Editor: vim", "Setup: tabs"]),
        ("我住在北京，喜欢喝茶", ["我住在北京", "我喜欢喝茶"]),
        ("回答用中文；要简短", ["回答用中文", "要简短"]),
        ("偏好：深色模式、简短回答", ["User prefers 深色模式", "User prefers 简短回答"]),
        # what is one
        (
            'User lives in Lisbon — "we moved to Lisbon, and I love it. Really."',
            ["User lives in Lisbon"],
        ),
        ("John and I live in Rome", ["John and I live in Rome"]),
        ("User moved to Berlin, Germany", ["User moved to Berlin, Germany"]),
        ("User likes tea more than coffee", ["User likes tea more than coffee"]),
        ("I want to live and work in Rome", ["I want to live and work in Rome"]),
        ("我住在北京，因为工作在这里", ["我住在北京，因为工作在这里"]),
        ("```\ncode, and I prefer dark mode\n```", []),
    ],
)
def test_statements_of_an_entry(text: str, readings: list[str]) -> None:
    assert [one.reading for one in statements(text)] == readings


@pytest.mark.parametrize(
    ("text", "new", "untrue", "rest"),
    [
        (
            "I prefer dark mode, and my dog is called Rex",
            "I prefer light mode",
            ["I prefer dark mode"],
            "my dog is called Rex",
        ),
        (
            "I'm vegan, allergic to wool, and I live in Oslo",
            "I'm not vegan any more",
            ["I'm vegan"],
            "I'm allergic to wool, and I live in Oslo",
        ),
        (
            "I'm Bo, I rent in Oslo and train horses",
            "User moved to Bergen",
            ["I rent in Oslo"],
            "I'm Bo and I train horses",
        ),
        (
            "Answer in German; keep answers short; no emojis",
            "Answer in English",
            ["Answer in German"],
            "keep answers short; no emojis",
        ),
        (
            "User lives in Berlin and works at Siemens",
            "User moved to Lisbon",
            ["User lives in Berlin"],
            "User works at Siemens",
        ),
        (
            "User lives in Berlin and works at Siemens and has two kids",
            "User lives in Lisbon and works at Siemens",
            ["User lives in Berlin"],
            "User has two kids",
        ),
        (
            "User lives in Berlin with his wife Anna and two kids",
            "User moved to Lisbon",
            ["User lives in Berlin"],
            "User lives with his wife Anna and two kids",
        ),
        (
            "Lives in Berlin\n- near the park\n- with a cat",
            "User moved to Lisbon",
            ["Lives in Berlin"],
            "User moved to Lisbon\n- near the park\n- with a cat",
        ),
        (
            "| Thing | Value |\n|---|---|\n| Editor | vim |\n| City | Berlin |",
            "User moved to Lisbon",
            ["City: Berlin"],
            "| Thing | Value |\n|---|---|\n| Editor | vim |",
        ),
        ("我住在北京，养了一只猫", "我搬到上海了", ["我住在北京"], "我养了一只猫"),
        (
            "User uses vim and lives in Berlin",
            "User moved to Lisbon and switched to emacs",
            ["User uses vim", "User lives in Berlin"],
            "",
        ),
        (
            'User lives in Berlin — "we moved, and I love it. Really."',
            "User moved to Lisbon",
            ['User lives in Berlin — "we moved, and I love it. Really."'],
            "",
        ),
        (
            "User lives in Berlin, Germany",
            "User moved to Lisbon",
            ["User lives in Berlin, Germany"],
            "",
        ),
        # of two things of one sort the one that is named, or that a rule finds
        ("我有一辆特斯拉和一辆自行车", "特斯拉卖了", ["我有一辆特斯拉"], "我有一辆自行车"),
        ("我有一辆特斯拉和一辆宝马", "特斯拉卖了", ["我有一辆特斯拉"], "我有一辆宝马"),
        ("儿子在三中上学，女儿在一小", "儿子转到五中了", ["儿子在三中上学"], "女儿在一小"),
        ("我们用 MySQL，缓存用 Redis", "改用 Postgres", ["我们用 MySQL"], "缓存用 Redis"),
        (
            "User likes tea (green), coffee (black) & juice",
            "User no longer likes coffee",
            ["User likes coffee (black)"],
            "User likes tea (green) & juice",
        ),
        ("喜好：茶、咖啡、象棋", "我不喜欢咖啡了", ["User prefers 咖啡"], "喜好：茶、象棋"),
        (
            "lives in berlin. allergic to nuts",
            "User moved to Lisbon",
            ["lives in berlin"],
            "allergic to nuts",
        ),
        (
            "Lives in Berlin\nAllergic to nuts",
            "User moved to Lisbon",
            ["Lives in Berlin"],
            "Allergic to nuts",
        ),
        ("我住在北京.对花生过敏", "我搬到上海了", ["我住在北京"], "对花生过敏"),
    ],
)
def test_a_statement_ends_and_the_rest_stays(
    text: str, new: str, untrue: list[str], rest: str
) -> None:
    found = compare_entry(text, new, compare)
    assert [one.reading for one, _ in found.untrue] == untrue
    assert found.rest == rest


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("Answer in German, short, without emojis", "Answer in English"),
        ("姓名：张三，自动更新已开启", "姓名：张珊"),
        ("smokes. dog: rex", "User quit smoking"),
        ("lives in berlin\nallergic to nuts", "User moved to Lisbon"),
        ("我住在北京 对花生过敏", "我搬到上海了"),
    ],
)
def test_what_cannot_be_told_apart_stays(text: str, new: str) -> None:
    found = compare_entry(text, new, compare)
    assert (found.untrue, bool(found.left)) == ((), True)


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("I drive a Honda Civic, 09 plate", "sold the civic yesterday"),
        ("launch is on 17 April, carved in stone", "the launch is on 2 May now"),
        ("my supervisor is Dr. Weiss, very strict", "my supervisor is Dr. Adeyemi now"),
        ("our ci is jenkins, don't ask", "our ci is drone now"),
        ("got a parrot, Kiwi", "kiwi flew off in may, never came back"),
        ("we deploy on fridays, i know", "deploys are tuesdays now"),
        ("my car is a Panda, 2014, no radio", "sold the panda, my car is a Micra now"),
        ("picked up the cello in spring and stuck with it", "gave the cello away"),
        ("my sister lives in Perth, the Scottish one", "my sister moved to Cork"),
    ],
)
def test_what_is_only_said_beside_a_statement_ends_with_it(text: str, new: str) -> None:
    found = compare_entry(text, new, compare)
    assert ([one.text for one, _ in found.untrue], found.rest, found.left) == ([text], "", "")


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("User lives in Ghent, 2 kids", "User moved to Lisbon"),
        ("User lives in Ghent, vegetarian", "User moved to Lisbon"),
        ("our ci runs on jenkins, ansible", "we dropped jenkins"),
        ("I'm a nurse, left-handed", "I'm a teacher now"),
        ("User lives in Ghent, no kids", "User moved to Lisbon"),
        ("User lives in Ghent and my son loves it, vegan", "User moved to Lisbon"),
    ],
)
def test_another_fact_beside_a_statement_does_not_end_with_it(text: str, new: str) -> None:
    fact = text.rpartition(", ")[2]
    assert not any(fact in one.text for one, _ in compare_entry(text, new, compare).untrue)


def test_a_paraphrase_says_nothing_besides() -> None:
    assert is_paraphrase("User prefers dark mode", "I like dark themes", compare)
    # how much says nothing of its own
    assert is_paraphrase("User likes green tea", "The user likes green tea a lot", compare)
    assert is_paraphrase("用户喜欢喝茶", "用户非常喜欢喝茶", compare)
    assert not is_paraphrase("User eats bread", "User eats a lot of bread", compare)
    assert not is_paraphrase("User prefers dark mode", "I like dark themes, and tea", compare)
    assert not is_paraphrase("User prefers dark mode", "I like light themes", compare)
    at, in_ = "User works as a nurse at Charite", "User works as a nurse in Berlin"
    assert compare(at, in_).reason == "same"
    assert not is_paraphrase(at, in_, compare)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("User is allergic to nuts", "i've got a nut allergy"),
        ("User is allergic to nuts", "btw I have a nut allergy"),
        ("User has a dog called Rex", "my dog's name is Rex"),
        ("User is a nurse", "I work as a nurse"),
        ("User drives a Civic", "my car is a Civic"),
        ("User is left-handed", "i'm a lefty"),
        ("我是护士", "我在医院当护士"),
        ("我对花生过敏", "我花生过敏"),
        ("我的狗叫旺财", "我养了一条狗叫旺财"),
        ("我住在上海", "我家在上海"),
    ],
)
def test_one_relation_in_other_words_is_a_paraphrase(first: str, second: str) -> None:
    assert is_paraphrase(first, second, compare)
    assert is_paraphrase(second, first, compare)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("User is allergic to nuts", "User's son has a nut allergy"),
        ("User is allergic to nuts", "User is allergic to peanuts"),
        ("User is allergic to nuts", "User is allergic to nuts and eggs"),
        ("User is allergic to nuts", "User is not allergic to nuts"),
        ("User has a dog called Rex", "my cat's name is Rex"),
        ("User has a dog called Rex", "my sister's dog is called Rex"),
        ("User is a nurse", "User was a nurse"),
        ("User is a nurse at Charite", "User is a nurse in Berlin"),
        ("我是护士", "我妈是护士"),
        ("我在医院当护士", "我在学校当护士"),
        ("我对花生过敏", "我对花生不过敏"),
        ("我住在上海", "我公司在上海"),
    ],
)
def test_another_relation_is_no_paraphrase(first: str, second: str) -> None:
    assert not is_paraphrase(first, second, compare)
    assert not is_paraphrase(second, first, compare)


def test_of_paraphrases_the_one_with_a_detail_is_better() -> None:
    longer, shorter = "User suffers from a nut allergy", "User is badly allergic to nuts"
    assert is_paraphrase(longer, shorter, compare)
    assert is_better(shorter, longer)
    assert not is_better(longer, shorter)
    assert is_better("我在医院当护士", "我是护士")


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(FACTS), min_size=1, max_size=6, unique=True),
    st.sampled_from(sorted(JOINED)),
    st.sampled_from(NEW),
)
def test_what_does_not_conflict_stays_word_for_word(
    facts: list[str], joined: str, new: str
) -> None:
    text = JOINED[joined](facts)
    found = compare_entry(text, new, compare)
    if not found.untrue:
        return
    kept = [fact for fact in facts if not any(compare(fact, one).conflict for one in readings(new))]
    gone = " ".join(one.reading for one, _ in found.untrue).casefold()
    for fact in kept:
        assert fact.casefold() in found.rest.casefold()
        assert fact.casefold() not in gone


@settings(max_examples=300, deadline=None)
@given(st.text("ab ,;.:|-\n\t，。和and IiMy是", max_size=60) | st.text(max_size=40), st.data())
def test_any_text_is_taken_apart(text: str, data: st.DataObject) -> None:
    found = statements(text)
    assert all(text[one.start : one.end] == one.text for one in found)
    assert [one.start for one in found] == sorted(one.start for one in found)
    assert all(before.end <= after.start for before, after in pairwise(found))
    assume(found)
    gone = data.draw(st.lists(st.sampled_from(found), unique=True))
    rest = without(text, gone, "new")
    assert rest is not None
    at = 0
    for one in found:
        if one not in gone:
            at = rest.index(one.text.strip(), at) + len(one.text.strip())


def test_an_index_finds_what_conflicts() -> None:
    olds = [f"User keeps the {thing} number {n}" for n in range(300) for thing in ("book", "map")]
    olds += FACTS
    index = StatementIndex(olds)
    for new in NEW:
        found = {olds[number] for number in index.candidates([new])}
        assert {old for old in olds if compare(old, new).conflict} <= found


def test_hostile_entries_are_taken_apart_in_time() -> None:
    for piece in (
        "and I live ",
        ", ",
        "and ",
        "| a ",
        "my ",
        "- a\n",
        "a: ",
        "，我",
        "user ",
        ". A",
    ):
        assert len(statements(piece * 3000)) >= 0


CANDIDATES_OF_A_PROCESS = """
from commonplace.conflict.candidates import StatementIndex
words = "tea cake chess hens tents kites ferns drums".split()
index = StatementIndex([f"User likes {one} and {two}" for one in words for two in words])
print(index.candidates(["no more tea, cake, chess, hens, tents, kites, ferns or drums"]))
"""


def test_candidates_are_the_same_in_each_process() -> None:
    """The order of a set of words differs between processes; that of candidates must not."""
    found = {
        subprocess.run(
            [sys.executable, "-c", CANDIDATES_OF_A_PROCESS],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(found) == 1
