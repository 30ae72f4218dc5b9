"""Search of a profile by words and vectors, and its `memory_recall` tool."""

from __future__ import annotations

from typing import Any

import pytest

from commonplace.adapters.embedders import CallableEmbedder
from commonplace.errors import QueryError
from commonplace.memories.profile import Profile
from commonplace.memories.profile.entries import begun
from commonplace.store import Store
from commonplace.tools import tools_for
from tests.doubles import Clock


def test_of_entries_that_say_nearly_the_same_the_better_stays(memory: Profile) -> None:
    memory.remember("The user drinks green tea every single morning", "habit")
    memory.remember("The user drinks green tea every single morning early", "habit")
    answer = memory.recall("green tea")
    assert len(answer.found) == 1
    assert "1 left out that say nearly the same as a better one" in answer.notes


@pytest.mark.parametrize("query", ["where do I live", "lives", "living"])
def test_a_question_finds_the_verb_of_a_statement(memory: Profile, query: str) -> None:
    memory.remember("User lives in Lisbon since 2026-10", "identity")
    memory.remember("User leaves work at six", "habit")
    assert [one.text[:20] for one in memory.recall(query).found] == ["User lives in Lisbon"]
    assert len(memory.recall("when do I leave").found) == 1


@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("we moved to Lisbon", "where do I live"),
        ("I work at Bosch", "what is my job"),
        ("我搬到上海了", "我住哪"),
    ],
)
def test_a_question_finds_its_attribute_without_a_common_word(
    memory: Profile, told: str, question: str
) -> None:
    memory.remember("User has a dog called Rex", "identity")
    memory.remember(told, "identity")
    assert [one.text for one in memory.recall(question).found] == [told]
    # what is about something else is no answer
    assert memory.recall("who is my boss").found == ()


def test_what_only_vectors_find_needs_the_floor(opened: Store) -> None:
    def embed(given: list[str]) -> list[list[float]]:
        near = {"alpha": [0.34, 0.94], "beta": [0.36, 0.93]}
        return [next((near[word] for word in near if word in text), [1.0, 0.0]) for text in given]

    memory = Profile(opened, embedder=CallableEmbedder(embed, "floor", 2))
    memory.remember("alpha")
    memory.remember("beta")
    assert [one.text for one in memory.recall("query").found] == ["beta"]


def test_weights_can_be_chosen(opened: Store, embedder: CallableEmbedder) -> None:
    memory = Profile(opened, embedder=embedder)
    memory.remember("a drink with the name Dark", "habit")
    memory.remember("colour of the screen: light", "habit")
    words = Profile(opened, embedder=embedder, weights=(1, 0)).recall("dark").found
    vectors = Profile(opened, embedder=embedder, weights=(0, 1)).recall("dark").found
    assert words[0].text == "a drink with the name Dark"
    assert vectors[0].text == "colour of the screen: light"


def test_memory_recall_formats_what_it_finds(memory: Profile) -> None:
    memory.remember("User likes tea\nwith milk", "preference")
    memory.remember("User has tea at four", "habit")
    memory.remember("Tea kettle: red", "general")
    assert memory.memory_recall("milk") == (
        "1. [Preference] User likes tea\n   with milk (MEMORY.md#L8)\n"
        "[found by words only: there is no embedder]"
    )
    assert memory.memory_recall("tea", limit=2).splitlines()[-2] == (
        "[There is more: the same call with limit=4.]"
    )
    assert memory.memory_recall("zebra").startswith("Nothing matches 'zebra'.")


def test_memory_recall_gives_all_of_memory_md(opened: Store, memory: Profile) -> None:
    assert memory.memory_recall(mode="full").startswith("Nothing is remembered yet")
    memory.remember("User likes tea", "preference")
    assert memory.memory_recall("", "full") == opened.read("MEMORY.md")


def test_memory_recall_gives_long_files_in_parts(opened: Store, clock: Clock) -> None:
    memory = Profile(opened, clock=clock)
    opened.write(
        "MEMORY.md", begun("") + "\n" + "".join(f"- entry {n} {'x' * 50}\n" for n in range(600))
    )
    opened.write("memory/general.md", begun("") + "\n- on a page\n")
    whole, start = "", 0
    while True:
        part = memory.memory_recall(mode="full", start=start)
        assert len(part) < 17_000
        body, more, end = part.rpartition("\n[There is more: ")
        if not more:
            whole += part
            break
        whole += body
        start = int(end.partition("start=")[2].partition(" ")[0])
    main, page = opened.read("MEMORY.md"), opened.read("memory/general.md")
    assert whole == f"{main}\n\n[memory/general.md]\n\n{page}"
    assert memory.memory_recall(mode="full", start=10**6).startswith("There is nothing after")


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"query": " "},
        {"query": "a", "limit": 0},
        {"mode": "full", "start": -1},
        {"query": "a", "mode": "fuzzy"},
    ],
)
def test_memory_recall_says_what_it_needs(memory: Profile, arguments: dict[str, Any]) -> None:
    with pytest.raises(QueryError):
        memory.memory_recall(**arguments)


def test_its_tools(memory: Profile) -> None:
    tools = tools_for(memory)
    assert [tool.name for tool in tools] == ["remember", "memory_recall", "flush", "forget"]
    assert set(tools["remember"].parameters["properties"]) == {
        "content",
        "category",
        "by",
        "expected_version",
    }
    assert tools["memory_recall"].parameters["properties"]["mode"]["enum"] == [
        *("full", "grep", "search")
    ]
    tools.call("remember", {"content": "User likes tea", "category": "preference"})
    assert "likes tea" in tools.call("memory_recall", {"query": "tea"})
    said = [{"role": "user", "content": "I prefer dark mode."}]
    assert "preference:" in tools.call("flush", {"messages": said})


def test_a_part_of_a_word_is_found_by_grep(memory: Profile) -> None:
    memory.remember("Likes authentication by key", "preference")
    assert memory.memory_recall("AUTHENTICAT").startswith("Nothing matches")
    found = memory.memory_recall("AUTHENTICAT", "grep", context=1)
    assert found == "1. MEMORY.md#L8\n   7-\n   8:- Likes authentication by key"
    assert memory.memory_recall("nowhere", "grep") == "No line holds 'nowhere'."
