"""What a new statement leaves of the entries of a profile."""

from __future__ import annotations

import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import commonplace
from commonplace.conflict import compare
from commonplace.conflict.entry_comparison import readings
from commonplace.memories.profile import Profile
from commonplace.store import Store
from tests.doubles import Clock
from tests.memories.profile.helpers import texts
from tests.memories.profile.test_pages import fill
from tests.test_statements import FACTS, JOINED, NEW

HAND = """\
# Me

## Identity
* I live in Berlin, and my dog is called Rex
* Setup:
    * Editor: vim
    * Shell: zsh
        * with starship

## Notes

I work at Siemens. I have two kids.

| Thing | Value |
|---|---|
| Car | Volvo |
| City | Berlin |
"""


def test_of_a_compound_the_rest_stays(opened: Store, memory: Profile) -> None:
    memory.remember("I prefer dark mode, and my dog is called Rex", "general")
    receipt = memory.remember("I prefer light mode", "preference")
    assert [old["text"] for old in receipt["replaced"]] == ["I prefer dark mode"]
    assert texts(memory) == ["my dog is called Rex", "I prefer light mode"]
    assert "- my dog is called Rex\n- ~~I prefer dark mode~~ <!--" in opened.read("MEMORY.md")


def test_the_receipt_says_what_may_have_ended_too(memory: Profile) -> None:
    memory.remember("儿子在三中上学，女儿在一小", "general")
    receipt = memory.remember("儿子转到五中了", "general")
    assert [old["text"] for old in receipt["replaced"]] == ["儿子在三中上学"]
    (note,) = receipt["notes"]
    assert note.endswith("it cannot be told apart what else this ends: '女儿在一小'")


@pytest.mark.parametrize("before", ["", "I'm 34 and "])
def test_who_moves_does_not_surely_leave_whom_he_lives_with(memory: Profile, before: str) -> None:
    memory.remember(f"{before}I live in Lisbon with my husband Pedro", "general")
    receipt = memory.remember("we moved to Porto last month", "general")
    assert [old["text"] for old in receipt["replaced"]] == ["I live in Lisbon"]
    assert "'with my husband Pedro'" in receipt["notes"][0]
    assert f"{before}I live with my husband Pedro" in texts(memory)


def test_who_has_another_role_works_for_the_same(memory: Profile) -> None:
    memory.remember("I work as a backend engineer at Siemens", "general")
    memory.remember("I got promoted to tech lead", "general")
    assert sorted(texts(memory)) == ["I got promoted to tech lead", "I work at Siemens"]


def test_what_is_said_again_with_more_stays_once(opened: Store, memory: Profile) -> None:
    memory.remember("I live in Lisbon with my husband Pedro", "general")
    again = "I'm 34 and I live in Lisbon with my husband Pedro"
    assert memory.remember(again, "general")["added"]
    assert texts(memory) == [again]
    assert "~~" not in opened.read("MEMORY.md")


@pytest.mark.parametrize(
    ("old", "new"),
    [("工作日在北京，周末在天津", "我搬到上海了"), ("我和老婆住在杭州，养了一只猫", "我离婚了")],
)
def test_what_may_have_ended_stays_and_the_receipt_says_so(
    memory: Profile, old: str, new: str
) -> None:
    memory.remember(old, "general")
    receipt = memory.remember(new, "general")
    assert receipt["replaced"] == []
    assert receipt["notes"] == [
        f"{old!r} may not be true now: it cannot be told apart from what still holds"
    ]
    assert memory.remember("我喜欢喝茶", "general")["notes"] == []


def test_a_list_of_a_person_keeps_its_children(opened: Store, memory: Profile) -> None:
    (opened.root / "MEMORY.md").write_text(HAND)
    receipt = memory.remember("Shell: fish shell", "general")
    assert receipt["citation"] == "MEMORY.md#L8"
    note = opened.read("MEMORY.md")
    assert (
        "* Setup:\n    * Editor: vim\n    * Shell: fish shell\n        * with starship\n"
        "* ~~Shell: zsh~~ <!-- META: until=2026-02-23 -->\n"
    ) in note
    assert note.removeprefix("---\nunit: item\n---\n").startswith(HAND[:60])
    memory.remember("User moved to Lisbon", "identity")
    note = opened.read("MEMORY.md")
    assert "* User moved to Lisbon <!-- 2026-02-24 -->\n* my dog is called Rex\n" in note
    assert "| Car | Volvo |\n" in note
    assert "| City | Berlin |" not in note
    assert note.count("Berlin") == 2


def test_statements_meet_whatever_their_category(memory: Profile) -> None:
    memory.remember("我住在北京", "identity")
    for number in range(30):
        memory.remember(f"User keeps the book number {number}", "identity")
    receipt = memory.remember("我搬到上海了", "general")
    assert [old["text"] for old in receipt["replaced"]] == ["我住在北京"]


def test_what_cannot_be_told_apart_stays_and_is_said(memory: Profile) -> None:
    memory.remember("Answer in German, short, without emojis", "style")
    receipt = memory.remember("Answer in English", "style")
    assert receipt["replaced"] == []
    assert "may not be true now: it cannot be told apart" in receipt["notes"][0]
    assert len(texts(memory)) == 2


def test_of_a_compound_on_a_page_the_rest_stays(opened: Store, clock: Clock) -> None:
    memory = Profile(opened, clock=clock, limit=300)
    memory.remember("I prefer dark mode, and my dog is called Rex", "preference")
    fill(memory, 12)
    assert "Rex" not in opened.read("MEMORY.md")
    receipt = memory.remember("I prefer light mode", "preference")
    (old,) = receipt["replaced"]
    assert (old["text"], old["citation"].partition("#")[0]) == (
        "I prefer dark mode",
        "memory/preference.md",
    )
    assert "my dog is called Rex" in texts(memory)


@pytest.mark.parametrize("joined", sorted(JOINED))
@settings(max_examples=8, deadline=None)
@given(
    facts=st.lists(st.sampled_from(FACTS), min_size=1, max_size=6, unique=True),
    new=st.sampled_from(NEW),
)
def test_what_does_not_conflict_stays_in_the_file(joined: str, facts: list[str], new: str) -> None:
    with tempfile.TemporaryDirectory() as folder, commonplace.open(folder, watch=False) as store:
        memory = Profile(store)
        memory.remember(JOINED[joined](facts))
        memory.remember(new)
        held = "\n".join(texts(memory)).casefold()
        for fact in facts:
            if not any(compare(fact, one).conflict for one in readings(new)):
                assert fact.casefold() in held
