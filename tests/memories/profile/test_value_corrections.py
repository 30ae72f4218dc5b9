"""Corrections that name only the right value take over the words of what they correct."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from commonplace import Store
from commonplace.memories import Profile


def told(opened: Store, *sessions: str) -> list[str]:
    """Return what a profile tells after sessions of one message each, a week apart."""
    now = [datetime(2026, 11, 2, 12, tzinfo=UTC)]
    memory = Profile(opened, clock=lambda: now[0])
    for number, text in enumerate(sessions):
        memory.flush([{"role": "user", "content": text}], session=str(number))
        now[0] += timedelta(days=7)
    return [one.text.partition(" — ")[0] for one in memory.entries()]


@pytest.mark.parametrize(
    ("first", "second", "known"),
    [
        ("my name is Ana", "No, it's Anna with two n's", ["User's name is Anna"]),
        ("my cat is called Marlee", "it's spelled Marley", ["User's cat is called Marley"]),
        ("我叫李静", "不是静，是李婧，女字旁的", ["我叫李婧"]),
        ("I work at Nokia", "No, it's not Nokia, it's Nordea", ["I work at Nordea"]),
        ("My age is 31", "you have my age wrong, it's 33", ["User's age is 33"]),
        ("My age is 31", "You got my age wrong. It's 33", ["User's age is 33"]),
        ("我生日是5月3号", "你把我的生日记错了，是5月5号", ["用户的生日是5月5号"]),
        # only that statement of an entry
        (
            "my daughter is called Katrin and my son is called Max",
            "it's Catrin with a C",
            ["User's daughter is called Catrin", "User's son is called Max"],
        ),
    ],
)
def test_a_correction_of_a_value_says_of_what(
    opened: Store, first: str, second: str, known: list[str]
) -> None:
    assert told(opened, first, second) == known


def test_a_correction_that_may_mean_two_statements_changes_none(opened: Store) -> None:
    memory = Profile(opened)
    for text in ("User's boss is called Ana", "User's niece is called Ana"):
        memory.remember(text)
    receipt = memory.remember("No, it's Anna with two n's")
    assert receipt["replaced"] == []
    assert "text" not in receipt


def test_a_wrong_spelling_was_never_true(opened: Store) -> None:
    memory = Profile(opened)
    memory.remember("My name is Anna Kovacs")
    memory.remember("my name is spelled Ana, one n")
    (name,) = memory.entries(past=True)
    assert name.text.startswith("My name is Ana Kovacs — ")
    memory.remember("I collect stamps of the nineteenth century", "identity")
    # who the user is comes first, in any words and any category
    assert "- My name is Ana Kovacs" in memory.inject(budget=150).text


def test_a_receipt_says_what_was_stored_of_a_correction(opened: Store) -> None:
    memory = Profile(opened)
    memory.remember("User's name is Ana")
    receipt = memory.remember("No, it's Anna with two n's")
    assert receipt["text"] == "User's name is Anna — \"No, it's Anna with two n's\""
    assert [old["text"] for old in receipt["replaced"]] == ["User's name is Ana"]


def test_an_assistant_completes_nothing(opened: Store) -> None:
    memory = Profile(opened)
    memory.remember("User's name is Ana")
    receipt = memory.remember("No, it's Anna with two n's", by="agent")
    assert receipt["replaced"] == []
