"""Versions in the answers of reads, and sets of tools of several memories."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import commonplace
from commonplace.errors import CommonplaceError, Conflict, InvalidArgument, NotFound, ToolError
from commonplace.memories import (
    FactsAndEpisodes,
    FourLayers,
    OverviewAndDetail,
    Profile,
    WorldAndAgents,
)
from commonplace.store import Store
from commonplace.tools import VersionedText, tools_for

VERSION = re.compile(r"\[version of (\S+): (\w+)\]")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return commonplace.open(tmp_path, watch=False)


def versions(answer: str) -> dict[str, str]:
    """Return the versions that stand behind an answer."""
    return dict(VERSION.findall(answer))


def test_a_fact_is_read_with_its_version(store: Store) -> None:
    memory = FactsAndEpisodes(store, "data/memory")
    memory.memory_write("facts/user.md", "# User\n\n> Summary: name\n\n- Name: Ann\n")
    tools = tools_for(memory)
    answer = tools.call("memory_read", {"path": "facts/user.md"})
    assert answer.startswith("# User\n")
    version = versions(answer)["facts/user.md"]
    (listed,) = json.loads(tools.call("memory_list", {}))
    assert listed["version"] == version == store.version("data/memory/facts/user.md")
    # for Python it is the text and nothing else
    assert memory.memory_read("facts/user.md") == store.read("data/memory/facts/user.md")
    new = {"path": "facts/user.md", "content": "# User\n\n- Name: Bo\n"}
    tools.call("memory_write", {**new, "expected_version": version})
    with pytest.raises(Conflict):
        tools.call("memory_write", {**new, "expected_version": version})


def test_a_profile_is_read_with_its_version(store: Store) -> None:
    tools = tools_for(Profile(store))
    for arguments in ({"query": "tea"}, {"mode": "full"}):
        assert versions(tools.call("memory_recall", arguments)) == {"MEMORY.md": "absent"}
    given = {"content": "User likes tea", "expected_version": "absent"}
    tools.call("remember", given)
    for arguments in ({"query": "tea"}, {"mode": "full"}):
        version = versions(tools.call("memory_recall", arguments))["MEMORY.md"]
        assert version == store.version("MEMORY.md")
    with pytest.raises(Conflict):
        tools.call("remember", given)


def test_layers_are_read_with_their_versions(store: Store) -> None:
    memory = FourLayers(store)
    assert memory.get_stats().versions == {"episodic": "absent", "procedural": "absent"}
    memory.append("episodic", {"content": "Fixed the logger."})
    memory.append("procedural", {"content": "Run the tests.", "metadata": {"condition": "before"}})
    memory.learn({"key": "format", "value": "CSV"})
    tools = tools_for(memory)

    def version(name: str, **arguments: Any) -> str:
        answer = json.loads(tools.call(name, arguments))
        found: str = (answer[0] if isinstance(answer, list) else answer)["version"]
        return found

    stats = json.loads(tools.call("get_stats", {}))["versions"]
    for layer, text in (("episodic", "logger"), ("procedural", "tests")):
        found = version("search", type=layer, query=text)
        assert found == stats[layer]
        entry = {"type": layer, "entry": {"content": "more"}, "expected_version": found}
        tools.call("append", entry)
        with pytest.raises(Conflict):
            tools.call("append", entry)
    assert version("get_episodic_memory") == memory.get_stats().versions["episodic"]
    fact = version("recall", key="format")
    assert fact == version("search", type="semantic", query="format")
    learned = {"knowledge": {"key": "format", "value": "JSON"}, "expected_version": fact}
    tools.call("learn", learned)
    with pytest.raises(Conflict):
        tools.call("learn", learned)
    assert memory.recall("nothing") is None
    # the version makes no two entries different, and what was read can be given back
    (episode, *_) = memory.get_episodic_memory()
    assert episode == memory.cited("episodic")[0][0]
    given = {"content": "again", "version": episode.version}
    assert memory.append("episodic", given)["success"]


def test_a_layer_that_somebody_keeps_writing_has_no_version(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = FourLayers(store)
    memory.append("episodic", {"content": "one"})
    numbers = iter(range(1000))
    monkeypatch.setattr(Store, "revision", lambda _: next(numbers))
    (entry,) = memory.get_episodic_memory()
    assert (entry.content, entry.version) == ("one", None)
    assert memory.search("episodic", "one")[0].version is None


def test_a_session_is_read_with_its_versions(store: Store) -> None:
    tools = tools_for(OverviewAndDetail(store, "s1", cwd="/w"))
    assert versions(tools.call("read_overview", {})) == {"overview.md": "absent"}
    written = json.loads(tools.call("write_overview", {"content": "# Now\n"}))["version"]
    assert versions(tools.call("read_overview", {})) == {"overview.md": written}
    note = json.loads(tools.call("write_detail", {"name": "auth", "content": "JWT."}))["version"]
    assert versions(tools.call("recall_memory", {"query": "JWT"})) == {"detail/auth.md": note}
    cited = tools.call("read_citation", {"citation": "detail/auth.md#L1"})
    assert versions(cited) == {"detail/auth.md": note}
    absent = versions(tools.call("context", {}))
    assert absent == {"commits.md": "absent"}
    log = json.loads(tools.call("commit", {"message": "begun"}))["version"]
    for level in ("status", "branch"):
        assert versions(tools.call("context", {"level": level})) == {"commits.md": log}
    known = versions(tools.call("context", {"level": "metadata"}))
    assert known == {"commits.md": log, "detail/auth.md": note, "overview.md": written}
    assert versions(tools.call("context", {"level": "log"})) == {}


def test_what_another_session_says_is_cited_with_its_version(store: Store) -> None:
    other = OverviewAndDetail(store, "s2", cwd="/w")
    path = other.write_detail("auth", "JWT.")["path"]
    tools = tools_for(OverviewAndDetail(store, "s1", cwd="/w"))
    answer = tools.call("recall_memory", {"query": "JWT", "allSessions": True})
    assert versions(answer) == {path: store.version(path)}
    assert versions(tools.call("read_citation", {"citation": f"{path}#L1"})) == versions(answer)


def test_the_world_is_read_with_its_versions(store: Store) -> None:
    memory = WorldAndAgents(store, "a")
    people = memory.learn_fact("people", "- Mara")["version"]
    page = memory.remember("Met Mara.")
    answer = memory.recall()
    assert f"(world/people.md, version {people})" in answer
    assert f"({page['path']}, version {page['version']})" in answer
    found = tools_for(memory).call("search_memory", {"query": "Mara"})
    assert versions(found) == {"world/people.md": people, page["path"]: page["version"]}


def test_lines_that_hold_a_text_are_found_with_the_versions_of_their_files(store: Store) -> None:
    facts, layers = FactsAndEpisodes(store, "f"), FourLayers(store, "l")
    profile, world = Profile(store, folder="p"), WorldAndAgents(store, "a", folder="w")
    note = facts.memory_write("facts/user.md", "authentication")["version"]
    fact = layers.learn({"key": "auth", "value": "authentication"})
    entry = profile.remember("Works on authentication")["version"]
    known = world.learn_fact("auth", "authentication")["version"]
    text = {"text": "AUTHENTICAT"}
    query = {"query": "AUTHENTICAT", "mode": "grep"}
    assert versions(tools_for(facts).call("memory_grep", text)) == {"facts/user.md": note}
    assert versions(tools_for(layers).call("grep", text)) == {fact["path"]: fact["version"]}
    cited = tools_for(layers).call("read_citation", {"citation": f"{fact['path']}#L1"})
    assert versions(cited) == {fact["path"]: fact["version"]}
    assert versions(tools_for(profile).call("memory_recall", query)) == {"p/MEMORY.md": entry}
    assert versions(tools_for(world).call("search_memory", query)) == {"w/world/auth.md": known}
    session = OverviewAndDetail(store, "s1", cwd="/w")
    detail = session.write_detail("auth", "authentication")["version"]
    found = tools_for(session).call("recall_memory", query)
    assert versions(found) == {"detail/auth.md": detail}


def test_versions_are_left_out_where_nothing_takes_them(store: Store) -> None:
    memory = FactsAndEpisodes(store)
    memory.memory_write("facts/user.md", "# User\n")
    tools = tools_for(memory, only=["memory_read", "memory_list"])
    assert not versions(tools.call("memory_read", {"path": "facts/user.md"}))


def test_each_page_of_an_answer_has_the_version(store: Store) -> None:
    memory = FactsAndEpisodes(store)
    memory.memory_write("facts/user.md", "- a line\n" * 20)
    tools = tools_for(memory, longest=100)
    first = tools.call("memory_read", {"path": "facts/user.md"})
    assert "again with start=100]\n[version of facts/user.md: " in first
    assert versions(tools.call("memory_read", {"path": "facts/user.md", "start": 100}))


def test_a_versioned_text_is_a_text() -> None:
    text = VersionedText("a", {"a.md": "1"})
    assert text == "a"
    assert text.with_versions() == "a\n[version of a.md: 1]"
    assert VersionedText("a\n", {}).with_versions() == "a\n"


# Tools of several memories


def test_tools_of_several_memories_are_one_set(store: Store) -> None:
    one, other = WorldAndAgents(store, "a"), Profile(store, folder="profile")
    with pytest.raises(ToolError, match=r"two tools of the name `remember`, `forget`: .*prefix="):
        tools_for(one) + tools_for(other)
    tools = tools_for(one) + tools_for(other, prefix="user_")
    names = [tool.name for tool in tools]
    assert names[:2] == ["recall", "remember"]
    assert names[-4:-1] == ["user_remember", "user_memory_recall", "user_flush"]
    tools.call("remember", {"content": "Met Mara."})
    tools.call("user_remember", {"content": "User likes tea"})
    assert "likes tea" not in tools.call("recall", {})
    assert "likes tea" in tools.call("user_memory_recall", {"query": "tea"})
    # as a framework calls them, which takes the name of the function
    method = tools.callables()["user_remember"]
    assert method.__name__ == "user_remember"
    assert method(content="User likes rain")["success"]


def test_only_some_tools_are_given(store: Store) -> None:
    memory = FourLayers(store)
    assert [one.name for one in tools_for(memory, only=["recall", "learn"])] == ["learn", "recall"]
    with pytest.raises(ToolError, match="no tool `recal`, perhaps `recall` is meant"):
        tools_for(memory, only=["recal"])
    both = tools_for(WorldAndAgents(store, "a"), only=["recall", "learn_fact"]) + tools_for(
        Profile(store), only=["remember", "memory_recall"]
    )
    assert len(list(both)) == 4


@pytest.mark.parametrize("wrong", [{"prefix": "a b"}, {"prefix": 3}, {"only": "recall"}])
def test_a_wrong_prefix_or_choice_is_refused(store: Store, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=r"^(prefix|only) is "):
        tools_for(FourLayers(store), **wrong)


def test_what_erases_is_given_only_when_it_is_named(store: Store) -> None:
    memory = FourLayers(store)
    memory.append("episodic", {"content": "one"})
    with pytest.raises(ToolError, match="no tool `clear`"):
        tools_for(memory).call("clear", {})
    tools = tools_for(memory, only=["clear"])
    assert not tools["clear"].read_only
    assert json.loads(tools.call("clear", {}))["cleared"]["episodic"] == 1


def test_a_prefix_is_in_descriptions_and_errors(store: Store) -> None:
    tools = tools_for(WorldAndAgents(store, "a"), prefix="team_")
    assert "Read it first with `team_recall`" in tools["team_reflect"].description
    version = tools["team_learn_fact"].parameters["properties"]["expected_version"]
    assert "as `team_recall` shows it" in version["description"]
    facts = tools_for(FactsAndEpisodes(store), prefix="my_")
    with pytest.raises(NotFound, match="`my_memory_list` shows"):
        facts.call("my_memory_read", {"path": "facts/none.md"})


def test_answers_name_no_tool_that_has_a_prefix(store: Store) -> None:
    clock = [datetime(2026, 2, 20, tzinfo=UTC)]
    world = WorldAndAgents(store, "a", clock=lambda: clock[0])
    profile = Profile(store, folder="user")
    session = OverviewAndDetail(store, "s1", cwd="/w")
    tools = tools_for(world, prefix="w_") + tools_for(profile, prefix="p_")
    tools += tools_for(session, prefix="o_")
    answers = [tools.call("w_recall", {}), tools.call("p_memory_recall", {"mode": "full"})]
    for number in range(3):
        world.remember(f"Saw relay {number}.")
        session.append({"role": "user", "content": f"step {number}"})
        store.append("user/MEMORY.md", "- a long line\n" * 1000)
    answers += [
        tools.call("w_search_memory", {"query": "relay", "limit": 1}),
        tools.call("w_recall", {"limit": 10}),
        tools.call("p_memory_recall", {"mode": "full"}),
        tools.call("o_context", {"level": "log", "limit": 1}),
    ]
    clock[0] += timedelta(days=30)
    answers.append(tools.call("w_recall", {}))
    assert all("the same call with" in answer for answer in answers[2:])
    bare = re.compile(r"\b(?:recall|remember|search_memory|memory_recall|context)\(")
    assert [answer for answer in answers if bare.search(answer)] == []


# Spellings of the designs


def test_spellings_of_the_designs_are_understood(store: Store) -> None:
    memory = FourLayers(store)
    for number in range(5):
        memory.append("episodic", {"content": f"entry {number}"})
    tools = tools_for(memory)
    answer = tools.call(
        "compact", {"type": "episodic", "opts": {"keepLast": 2, "summarizeOlder": False}}
    )
    assert json.loads(answer)["compacted"] == 3
    assert json.loads(tools.call("compact", {"type": "episodic", "opts": '{"keepLast": 1}'}))
    assert json.loads(tools.call("getStats", {}))["episodic_entry_count"] == 2
    assert tools["getEpisodicMemory"].name == "get_episodic_memory"
    with pytest.raises(ToolError, match="has no `keepFirst`"):
        tools.call("compact", {"type": "episodic", "opts": {"keepFirst": 2}})
    # what is given twice is not guessed
    with pytest.raises(ToolError, match="has no `keepLast`"):
        tools.call("compact", {"type": "episodic", "opts": {"keepLast": 2, "keep_last": 3}})


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "user", "content": [{"type": "text", "text": "I prefer tea."}]}],
        [{"role": "user", "content": [{"type": "input_text", "text": "I prefer tea."}]}],
        '[{"role": "user", "content": "I prefer tea."}]',
        '{"messages": [{"role": "user", "content": "I prefer tea."}]}',
        '{"role": "user", "content": "I prefer tea."}',
        '{"role": "user", "content": "Hi."}\n{"role": "user", "content": "I prefer tea."}\n',
    ],
    ids=["blocks", "input_text", "list", "object", "message", "lines"],
)
def test_a_conversation_is_flushed_in_any_form(store: Store, messages: Any) -> None:
    done = json.loads(tools_for(Profile(store)).call("flush", {"messages": messages}))
    assert [one["text"] for one in done["remembered"]] == ["I prefer tea."]
    assert Profile(store).flush(messages)["messages"] == 0


@pytest.mark.parametrize("messages", ['"tea"', '[{"content": "I prefer tea."}]', "{", "[[1]]"])
def test_what_is_no_conversation_is_refused(store: Store, messages: str) -> None:
    with pytest.raises(CommonplaceError) as error:
        Profile(store).flush(messages)
    assert isinstance(error.value, InvalidArgument | NotFound)
    assert not store.list()
