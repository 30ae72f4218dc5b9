"""What another person does makes nothing untrue that is known of the user."""

from __future__ import annotations

import pytest

from commonplace.conflict import compare


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Ghent", "he moved to Berlin last year"),
        ("I live in Ghent", "Tom lives in Berlin"),
        ("I live in Ghent", "Mrs. Okafor moved to Bruges"),
        ("I live in Ghent", "a friend moved in with me"),
        ("I work at Nordea", "Tom works at Siemens now"),
        ("User is married", "Tom and Anna got divorced"),
        ("I smoke", "Katja quit smoking, good for her"),
        ("I'm vegetarian", "Katja is vegan now"),
        ("I'm 34", "Tom turned 35"),
        ("I use vim", "Tom switched to emacs"),
        ("I smoke", "katja quit smoking"),
        ("I'm 34", "lena turned 35"),
        ("I'm vegan", "the hero is no longer vegan"),
        ("I take metformin", "Tom stopped taking metformin"),
        ("User prefers metric units", "Tom prefers imperial units"),
        ("my name is Ana", "her name is Bea"),
        ("I have a boat", "he sold the boat"),
        ("我住在北京", "他去年搬到柏林了"),
        ("我住在北京", "小王搬到上海了"),
        ("我抽烟", "小王戒烟了"),
        ("我在读博", "小李毕业了"),
        ("我已婚", "小王离婚了"),
        ("我叫李静", "他叫王五"),
        ("我开斯柯达", "邻居把斯柯达卖了"),
    ],
)
def test_it_is_not_about_the_user(old: str, new: str) -> None:
    assert not compare(old, new).conflict


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("User's team lead is Farouk", "Farouk left, Katja leads the team now"),
        ("My manager is Sunita", "Pieter is my manager now"),
        ("My girlfriend is Paula", "Paula and I broke up"),
        ("I have a dog called Rex", "Rex died"),
        ("I live alone", "a friend moved in with me"),
        ("My rent is 850", "Rent is 900 now"),
        ("Standup is at 9", "Standup moved to 10"),
        ("Alice lives in Paris", "Alice moved to Berlin"),
        ("I smoke", "Quit smoking last week"),
        ("I smoke", "finally quit smoking"),
        ("We use Slack", "team moved to teams"),
        ("我养了只猫叫馒头", "馒头走了"),
        ("我女朋友叫林悦", "林悦跟我分手了"),
        ("我们组长是马骁", "马骁走了，现在组长是郑妍"),
        ("我住在北京", "我和老婆搬到上海了"),
    ],
)
def test_what_others_do_with_the_user_is(old: str, new: str) -> None:
    assert compare(old, new).conflict
