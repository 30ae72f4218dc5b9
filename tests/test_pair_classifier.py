"""Classifier of pairs of statements: what it adds to the rules, and what it is not asked."""

from __future__ import annotations

import pytest
from benches.extraction_quality import answers, score

from commonplace.conflict import UNSAID, classifier, compare
from commonplace.conflict.candidates import StatementIndex
from commonplace.conflict.classifier_scope import may_conflict
from commonplace.conflict.conditions import says_change
from commonplace.conflict.features import features
from commonplace.conflict.rules import by_rules


@pytest.mark.parametrize(
    ("old", "new", "about"),
    [
        ("手机用的华为mate40", "mate40摔碎了，新买的小米14", "phone_make"),
    ],
)
def test_it_decides_where_no_rule_does(old: str, new: str, about: str) -> None:
    verdict = compare(old, new)
    assert (verdict.conflict, verdict.reason) == (True, f"likely:{about}")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("User speaks Polish", "picked up a fair bit of Welsh at evening class"),
        ("User is a nurse", "i'm on the burns unit, band 6"),
        ("用户住在西安", "这周在兰州出差，天天牛肉面"),
        ("周会在周三", "评审会改到周四了"),
        (
            "The user drinks green tea every morning",
            "The user drinks green tea early every morning",
        ),
    ],
)
def test_in_doubt_both_stay(old: str, new: str) -> None:
    assert not compare(old, new).conflict


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The bug was in `getAuthor()`", "let's drop `getAuthor()`"),
        # of `1 &amp;a`, which is taken apart at the semicolon
        ("1 &amp", "2 ---> &amp"),
        ("The header was <b> before", "the header's <h1> now"),
        ("User uses vim" + " and more" * 20, "vim's gone"),
        ("Alice uses vim", "Bob no longer uses vim"),
        ("User likes tea", "User likes cake"),
        ("Room A seats 6", "Room B seats 12"),
        ("US office seats 40", "US office seats 60"),
        ("User's database has 4 tables", "the db is fast now"),
        ("User prefers YAML", "Keep the JSON tag, drop the yaml one"),
    ],
)
def test_it_is_not_asked_of_code_long_texts_or_what_says_no_change(old: str, new: str) -> None:
    assert not may_conflict(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("User works at Siemens", "We are getting this warning when starting uvicorn"),
        ("User works as a developer", "we are getting this warning now: retired API"),
        ("User works for Acme", "we are getting this warning at work with pandas now"),
        ("User's phone is an iPhone", "gran got a pixel with huge icons"),
        ("用户不抽烟", "我公公烟瘾大，阳台上全是烟头"),
        ("用户住在香港", "阿妈住屯门，返去要个半钟"),
        ("我家宽带是电信的", "手机卡是移动的，舍不得换号"),
    ],
)
def test_a_fault_or_the_news_of_others_change_nothing(old: str, new: str) -> None:
    assert not by_rules(old, new).conflict


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("i live in leeds", "used to live in york"),
        ("User lives in Turin", "thinking of moving to milan"),
        ("住深圳", "以前住东莞"),
        ("用户住在昆明", "明年可能搬去大理"),
        ("我上白班", "去年上夜班"),
    ],
)
def test_what_was_or_may_be_ends_nothing(old: str, new: str) -> None:
    assert by_rules(old, new).conflict
    assert compare(old, new).reason == "unsure"


def test_the_new_statement_chooses_the_language() -> None:
    assert classifier.model_of("sold the car") is classifier.load("english")
    assert classifier.model_of("车卖了") is classifier.load("chinese")


def test_every_weight_is_of_a_feature() -> None:
    found = set(features("User uses vim", "vim's gone, i'm all in on zed"))
    assert len(found & classifier.load("english").weights.keys()) > 10


def test_a_word_of_each_statement_makes_a_feature() -> None:
    found = features("User drinks coffee", "doctor put me on decaf")
    assert "w:coff:decaf" in found
    same = features("User drinks coffee", "coffee again")
    assert not [name for name in same if name.startswith("w:coff:")]


def test_without_a_word_of_change_a_higher_likelihood_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old, plain, changed = "User's shoe size is 39", "my size is 40", "my size is 40 now"
    assert (says_change(old, plain), says_change(old, changed)) == (False, True)
    between = (classifier.least(plain) + UNSAID) / 2
    monkeypatch.setattr(classifier, "likelihood", lambda *_: between)
    assert not compare(old, plain).conflict
    assert compare(old, changed).conflict
    monkeypatch.setattr(classifier, "likelihood", lambda *_: UNSAID)
    assert compare(old, plain).conflict


def test_statements_of_one_attribute_are_candidates() -> None:
    index = StatementIndex(["User likes cake", "User drives a Honda", "User is 42"])
    assert 1 in index.candidates(["picked up a skoda on thursday"])


# Pairs of somebody whose words were not trained on: what was reached, a little below it
def test_held_out_pairs() -> None:
    scores = score(list(answers("conflict", "held-4")))
    assert scores.precision >= 0.97
    assert scores.recall >= 0.65
