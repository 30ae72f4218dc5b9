"""Conflicting and duplicate entries of a profile."""

from __future__ import annotations

import pytest

from commonplace.adapters.embedders import CallableEmbedder
from commonplace.conflict import classifier
from commonplace.errors import FormatError
from commonplace.memories.profile import Profile
from commonplace.store import Store
from tests.memories.profile.helpers import texts


def test_a_contradicted_entry_is_replaced_in_its_place(opened: Store, memory: Profile) -> None:
    memory.remember("User prefers light mode", "preference")
    memory.remember("User likes tea", "preference")
    before = opened.version("MEMORY.md")
    receipt = memory.remember("User prefers dark mode", "preference")
    assert texts(memory) == ["User prefers dark mode", "User likes tea"]
    (old,) = receipt["replaced"]
    assert old == {
        "text": "User prefers light mode",
        "category": "Preference",
        "citation": "MEMORY.md#L8",
        "version": before,
        "reason": "changed:theme",
    }
    # the old text is where the receipt says
    assert opened.read("MEMORY.md", old["version"]).splitlines()[7] == "- User prefers light mode"


def test_a_contradicted_entry_of_another_category_leaves_it(memory: Profile) -> None:
    memory.remember("User prefers light mode", "style")
    receipt = memory.remember("User prefers dark mode", "preference")
    assert [old["category"] for old in receipt["replaced"]] == ["Style"]
    assert texts(memory, "style") == []
    assert texts(memory, "preference") == ["User prefers dark mode"]


def test_words_in_common_contradict_nothing(memory: Profile) -> None:
    memory.remember("Alice likes tea", "preference")
    assert memory.remember("Bob likes coffee", "preference")["replaced"] == []
    assert memory.remember("Alice likes cats", "preference")["replaced"] == []
    assert len(texts(memory)) == 3


def test_what_is_known_is_not_added_again(opened: Store, memory: Profile) -> None:
    first = memory.remember("User likes tea", "preference")
    again = memory.remember("user likes  tea.", "style")
    assert not again["added"]
    assert again["citation"] == first["citation"]
    assert again["version"] == first["version"]
    assert again["notes"] == ["nothing was written: MEMORY.md says this already"]
    assert len(opened.history("MEMORY.md")) == 0


def test_an_embedder_that_sees_nothing_in_common_has_a_veto(opened: Store) -> None:
    apart = CallableEmbedder(
        lambda given: [[1.0, 0.0] if "light" in text else [0.0, 1.0] for text in given], "apart", 2
    )
    memory = Profile(opened, embedder=apart)
    memory.remember("User prefers light mode", "preference")
    assert memory.remember("User prefers dark mode", "preference")["replaced"] == []
    assert len(texts(memory)) == 2


def test_an_embedder_that_agrees_lets_it_be_replaced(
    opened: Store, embedder: CallableEmbedder
) -> None:
    memory = Profile(opened, embedder=embedder)
    memory.remember("User prefers light mode", "preference")
    assert len(memory.remember("User prefers dark mode", "preference")["replaced"]) == 1


def test_an_entry_that_cannot_be_taken_out_safely_is_left(
    memory: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember("User prefers light mode", "preference")

    def stuck(*_: object) -> str:
        raise FormatError("it does not stand by itself")

    monkeypatch.setattr("commonplace.memories.profile.change.replaced", stuck)
    receipt = memory.remember("User prefers dark mode", "preference")
    assert receipt["replaced"] == []
    assert "was left where it is" in receipt["notes"][0]
    assert texts(memory) == ["User prefers light mode", "User prefers dark mode"]


@pytest.mark.parametrize("row", ["Language | German", "| Language | German |"])
def test_a_row_of_a_table_is_a_key_and_its_value(memory: Profile, row: str) -> None:
    memory.remember(row, "preferences")
    done = memory.remember("Language: English", "preferences")
    assert [old["text"] for old in done["replaced"]] == [row]


@pytest.mark.parametrize(
    ("told", "ended"),
    [
        ("I'm vegan, 6 years", "I eat meat again"),
        ("User lives in Aarhus, right by the harbour", "User moved to Odense"),
        ("User got a parrot, Kiwi", "User sold the parrot"),
    ],
)
def test_what_only_adds_to_a_statement_ends_with_it(memory: Profile, told: str, ended: str) -> None:
    memory.remember(told, "identity")
    assert [old["text"] for old in memory.remember(ended, "identity")["replaced"]] == [told]


def likely(monkeypatch: pytest.MonkeyPatch, likelihoods: dict[str, float]) -> None:
    """Let the classifier find these likelihoods for old statements, and nothing in others."""
    monkeypatch.setattr(classifier, "likelihood", lambda old, _: likelihoods.get(old, 0.0))


SPORTS = ["User plays squash", "User plays tennis", "User plays badminton", "User plays volleyball"]


@pytest.mark.parametrize(
    ("likelihoods", "ended"),
    [
        ([0.7], 1),
        ([0.6], 0),
        ([0.95, 0.9, 0.9], 1),
        # a quarter of all odds, those of no change among them
        ([0.95, 0.94, 0.94, 0.94], 1),
        ([0.7, 0.69, 0.69, 0.69], 0),
        # which of them cannot be told
        ([0.9, 0.9], 0),
    ],
)
def test_of_several_entries_only_the_likeliest_ends(
    memory: Profile, monkeypatch: pytest.MonkeyPatch, likelihoods: list[float], ended: int
) -> None:
    for sport in SPORTS:
        memory.remember(sport)
    likely(monkeypatch, dict(zip(SPORTS, likelihoods, strict=False)))
    receipt = memory.remember("it's padel now")
    assert [old["text"] for old in receipt["replaced"]] == SPORTS[:ended]
    assert ("may not be true now" in " ".join(receipt["notes"])) == (len(likelihoods) > ended)


def test_of_several_pages_only_the_likeliest_entry_ends(
    memory: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = {"MEMORY.md": 0.9, "memory/general.md": 0.95, "memory/habit.md": 0.85}
    for path, sport in zip(pages, SPORTS, strict=False):
        memory.store.write(path, f"# Memory\n\n## General\n\n- {sport}\n")
    likely(monkeypatch, dict(zip(SPORTS, pages.values(), strict=False)))
    replaced = memory.remember("it's padel now")["replaced"]
    assert [old["text"] for old in replaced] == [SPORTS[1]]


def test_what_the_owner_said_on_another_page_is_no_rival_of_what_an_agent_said(
    memory: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember(SPORTS[0], by="agent")
    memory.store.write("memory/general.md", f"# Memory\n\n## General\n\n- {SPORTS[1]}\n")
    likely(monkeypatch, {SPORTS[0]: 0.7, SPORTS[1]: 0.8})
    replaced = memory.remember("it's padel now", by="agent")["replaced"]
    assert [old["text"] for old in replaced] == [SPORTS[0]]


def test_beside_what_a_rule_finds_on_another_page_nothing_ends_that_is_only_likely(
    memory: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.store.write("MEMORY.md", "# Memory\n\n## General\n\n- User plays squash\n")
    memory.store.write("memory/general.md", "# Memory\n\n## General\n\n- User lives in Berlin\n")
    likely(monkeypatch, {"User plays squash": 0.9})
    replaced = memory.remember("User lives in Lisbon now")["replaced"]
    assert [old["text"] for old in replaced] == ["User lives in Berlin"]


def test_what_is_named_ends_beside_others(memory: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    old = ["User's van is a Transit", *SPORTS]
    for text in old:
        memory.remember(text)
    likely(monkeypatch, {"User's van is a Transit": 0.7} | dict.fromkeys(SPORTS, 0.9))
    replaced = memory.remember("the transit blew up")["replaced"]
    assert "User's van is a Transit" in [one["text"] for one in replaced]


def test_beside_what_a_rule_finds_nothing_ends_that_is_only_likely(
    memory: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember("User plays squash")
    memory.remember("User lives in Berlin")
    likely(monkeypatch, {"User plays squash": 0.9})
    replaced = memory.remember("User lives in Lisbon now")["replaced"]
    assert [old["text"] for old in replaced] == ["User lives in Berlin"]
