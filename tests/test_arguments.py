"""Arguments given directly: wrong types, empty texts and numbers out of range are told by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import commonplace
from commonplace.errors import CommonplaceError, InvalidArgument, NotFound, Refused, ToolError
from commonplace.memories import (
    AgentRuns,
    FactsAndEpisodes,
    FourLayers,
    OverviewAndDetail,
    Profile,
    WorldAndAgents,
)
from commonplace.recall import HybridSearch
from commonplace.store import Store
from commonplace.tools import Toolset, tools_for


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return commonplace.open(tmp_path, watch=False)


@pytest.fixture
def memories(store: Store) -> Mapping[str, Any]:
    return {
        "facts": FactsAndEpisodes(store, "facts"),
        "four": FourLayers(store, "four"),
        "overview": OverviewAndDetail(store, "s1", cwd="/w"),
        "profile": Profile(store, folder="profile"),
        "world": WorldAndAgents(store, "a", folder="world"),
    }


def file_names(store: Store) -> list[str]:
    return [entry.path for entry in store.list()]


@pytest.mark.parametrize(
    ("system", "method", "arguments", "error_text"),
    [
        ("facts", "memory_read", {"path": 3}, "path is text, not 3"),
        ("facts", "memory_write", {"path": "a.md", "content": 3}, "content is text, not 3"),
        ("facts", "memory_write", {"path": "a.md", "content": None}, "content is text, not None"),
        ("facts", "memory_patch", {"path": "a.md", "patches": 3}, "patches is a list, each a dict"),
        (
            "facts",
            "memory_patch",
            {"path": "a.md", "patches": [{"oldText": "a"}]},
            "patches is a list, each a dict with newText and oldText",
        ),
        (
            "facts",
            "memory_patch",
            {"path": "a.md", "patches": [{"oldText": "a", "newText": 3}]},
            "patches is a list",
        ),
        ("facts", "memory_append", {"path": "a.md", "entry": 3}, "entry is text"),
        ("facts", "memory_append", {"path": "a.md", "entry": "x", "summary": 3}, "summary is text"),
        ("facts", "index_message", {"iteration": "1"}, "iteration is a whole number, not '1'"),
        ("facts", "index_message", {"iteration": 1, "measure": 3}, "measure is a function"),
        ("profile", "remember", {"content": 3}, "content is text"),
        ("profile", "remember", {"content": "a", "category": 3}, "category is text"),
        ("profile", "remember", {"content": "a", "expected_version": 3}, "expected_version is"),
        ("profile", "memory_recall", {"query": 3}, "query is text"),
        ("profile", "memory_recall", {"query": "a", "limit": "x"}, "limit is a whole number"),
        ("profile", "memory_recall", {"query": "a", "limit": True}, "limit is a whole number"),
        ("profile", "memory_recall", {"mode": 3}, "mode is one of 'search', 'full', 'grep', not 3"),
        ("profile", "flush", {"messages": 3}, "messages is a list of messages, or the path"),
        ("profile", "flush", {"messages": [3]}, "a message is (role, text)"),
        ("profile", "flush", {"messages": "[3"}, "messages is no JSON"),
        ("profile", "flush", {"messages": [], "session": 3}, "session is text"),
        ("profile", "of", {"user": 3}, "user is text"),
        ("profile", "inject", {"query": 3}, "query is text"),
        ("profile", "inject", {"budget": "x"}, "budget is a whole number"),
        ("profile", "inject", {"skip_memory": "no"}, "skip_memory is true or false"),
        ("profile", "entries", {"category": 3}, "category is text"),
        ("profile", "entries", {"limit": -1}, "limit is 0 or more, not -1"),
        ("world", "recall", {"days": "x"}, "days is a whole number"),
        ("world", "recall", {"since": 3}, "since is a day such as"),
        ("world", "remember", {"content": 3}, "content is text"),
        ("world", "reflect", {"content": None}, "content is text"),
        ("world", "learn_fact", {"topic": 3, "content": "a"}, "topic is text"),
        ("world", "search_memory", {"query": 3}, "query is text"),
        ("four", "append", {"type": 3, "entry": {"content": "a"}}, "type is one of 'working'"),
        ("four", "append", {"type": "diary", "entry": {"content": "a"}}, "not 'diary'"),
        ("four", "append", {"type": "episodic", "entry": 3}, "neither one nor a dict"),
        ("four", "append", {"type": "episodic", "entry": {"content": 3}}, "content is 3, not text"),
        (
            "four",
            "append",
            {"type": "working", "entry": {"content": "a"}, "expected_version": "absent"},
            "working memory is in no file",
        ),
        ("four", "search", {"type": "episodic", "query": 3}, "query is text"),
        ("four", "search", {"type": "episodic", "query": "a", "limit": 0}, "limit is 1 or more"),
        ("four", "search", {"type": "episodic", "query": "a", "scoring": "x"}, 'scoring is "bm25f'),
        ("four", "search_cited", {"type": 3, "query": "a"}, "type is one of 'episodic'"),
        ("four", "learn", {"knowledge": {"key": 3, "value": "a"}}, "key is 3, not text"),
        ("four", "cited", {"type": "working"}, "type is one of episodic, semantic, procedural"),
        ("four", "archived", {"type": "diary"}, "type is one of episodic"),
        ("four", "near_rules", {"task": 3, "limit": 3}, "task is text"),
        ("four", "import_json", {"folder": 3}, "a path is text"),
        ("four", "grep", {"text": "a", "limit": 0}, "a limit is 1 or more, not 0"),
        ("four", "grep", {"text": " "}, "no text to look for"),
        ("facts", "memory_grep", {"text": "a", "limit": 0}, "a limit is 1 or more, not 0"),
        (
            "facts",
            "memory_grep",
            {"text": "a", "context": 21},
            "a context is 0 to 20 lines, not 21",
        ),
        ("facts", "index_message", {"iteration": 1, "budget": -1}, "budget is 0 or more, not -1"),
        ("facts", "summarise_months", {"older_than": "soon"}, "older_than is a day such as"),
        ("profile", "remember", {"content": "a", "by": "me"}, "by is one of owner, agent"),
        ("profile", "correct", {"citation": 3, "content": "a"}, "citation is text"),
        ("profile", "inject", {"budget": -1}, "a budget is at least 0"),
        ("profile", "recall", {"query": "a", "at": "2026"}, "at is a day such as 2026-02-24"),
        ("profile", "entries", {"at": 3}, "at is a day such as 2026-02-24"),
        ("overview", "search", {"options": "a"}, "options are SearchOptions, not 'a'"),
        ("overview", "recall_memory", {"query": " ", "mode": "grep"}, "no text to look for"),
        ("overview", "read_detail", {"name": 3}, "name is text"),
        (
            "overview",
            "write_detail",
            {"name": "a/b", "content": "a"},
            "a note of detail/ has a name",
        ),
        ("overview", "commit", {"message": ""}, "say in a few words"),
        ("overview", "branch", {"name": "a/b"}, "cannot be a branch"),
        ("overview", "append", {"message": 3}, "message is a dict, not 3"),
        ("overview", "append", {"message": {"content": "a"}}, 'a message needs a "role"'),
        ("overview", "build_context", {"system_prompt": 3}, "system_prompt is text"),
        ("overview", "build_context", {"system_prompt": "a", "turns": -1}, "turns is 0 or more"),
        ("overview", "compact", {"keep_turns": "x"}, "keep_turns is a whole number"),
        ("four", "recall", {"key": 3}, "key is text"),
        (
            "four",
            "compact",
            {"type": "episodic", "opts": {"keepLast": "x"}},
            "keep_last is a whole",
        ),
        ("four", "compact", {"type": "episodic", "opts": {"keep_last": True}}, "keep_last is a"),
        ("four", "compact", {"type": "episodic", "opts": {"keepLast": -1}}, "keep_last is a whole"),
        (
            "four",
            "compact",
            {"type": "episodic", "opts": {"summarizeOlder": "no"}},
            "summarize_older is true or false, not 'no'",
        ),
        ("profile", "recall", {"query": "a", "limit": 0}, "limit is 1 or more, not 0"),
        ("overview", "recall_memory", {"query": 3}, "query is text"),
        ("overview", "recall_memory", {"query": "a", "all_sessions": 1}, "all_sessions is true or"),
        ("overview", "read_citation", {"citation": 3}, "citation is text"),
        ("overview", "write_detail", {"name": 3, "content": "a"}, "name is text"),
        (
            "overview",
            "write_detail",
            {"name": "a", "content": "a", "keywords": "jwt"},
            "keywords is a list, each text, not 'jwt'",
        ),
        ("overview", "commit", {"message": 3}, "message is text"),
        ("world", "recalled", {"days": "3"}, "days is a whole number, not '3'"),
        ("four", "cited", {"type": []}, "type is one of"),
        ("four", "archived", {"type": []}, "type is one of"),
        ("overview", "context", {"level": "log", "name": 3}, "name is text"),
        ("overview", "patch_overview", {"section": 3, "content": "a"}, "section is text"),
    ],
)
def test_a_wrong_argument_is_told_by_name(
    memories: Mapping[str, Any],
    store: Store,
    system: str,
    method: str,
    arguments: dict[str, Any],
    error_text: str,
) -> None:
    with pytest.raises(CommonplaceError) as wrong:
        getattr(memories[system], method)(**arguments)
    assert error_text in str(wrong.value)
    assert file_names(store) == []


@pytest.mark.parametrize(
    ("system", "arguments", "error_text"),
    [
        (FactsAndEpisodes, {"month_limit": 0}, "month_limit is 1 or more, not 0"),
        (FactsAndEpisodes, {"month_limit": "64k"}, "month_limit is a whole number, not '64k'"),
        (FactsAndEpisodes, {"folder": 3}, "folder is text"),
        (FactsAndEpisodes, {"clock": 3}, "clock is a function"),
        (FourLayers, {"max_working_entries": 0}, "max_working_entries is 1 or more, not 0"),
        (FourLayers, {"max_working_entries": 2.5}, "max_working_entries is a whole number"),
        (FourLayers, {"agent": 3}, "agent is text"),
        (FourLayers, {"shared": "no"}, "shared is true or false, not 'no'"),
        (Profile, {"limit": 0}, "limit is 1 or more, not 0"),
        (Profile, {"limit": "x"}, "limit is a whole number"),
        (Profile, {"weights": 3}, "weights is 2 of these: a number, a number, not 3"),
        (Profile, {"weights": (1.0,)}, "weights is 2 of these"),
        (Profile, {"weights": ("a", "b")}, "weights is 2 of these"),
        (Profile, {"weights": (-1, 2)}, "weights are two numbers of 0 or more, not (-1, 2)"),
        (Profile, {"weights": (0, 0)}, "one of the weights must be above 0"),
        (Profile, {"half_life": "x"}, "half_life is a number, not 'x'"),
        (Profile, {"half_life": True}, "half_life is a number, not True"),
        (Profile, {"half_life": 0}, "a half-life is a number of days above 0, not 0"),
        (Profile, {"user": 3}, "user is text"),
        (Profile, {"embedder": 3}, "embedder is an Embedder, not 3"),
        (Profile, {"model": "gpt"}, "model is a ChatModel, not 'gpt'"),
        (WorldAndAgents, {"agent_id": "a", "embedder": "minilm"}, "embedder is an Embedder"),
        (FourLayers, {"embedder": 3}, "embedder is an Embedder, not 3"),
        (OverviewAndDetail, {"session_id": "a/b"}, "a session id is letters"),
        (OverviewAndDetail, {"session_id": "s", "cwd": 3}, "a path is text"),
        (HybridSearch, {"floor": "x"}, "floor is a number"),
        (OverviewAndDetail, {"session_id": 3}, "session_id is text"),
        (OverviewAndDetail, {"session_id": "s", "default_limit": 0}, "default_limit is 1 or more"),
        (OverviewAndDetail, {"session_id": "s", "default_limit": "x"}, "default_limit is a whole"),
        (OverviewAndDetail, {"session_id": "s", "overview_limit": -1}, "overview_limit is 1 or"),
        (OverviewAndDetail, {"session_id": "s", "enabled": "no"}, "enabled is true or false"),
        (WorldAndAgents, {"agent_id": 3}, "agent_id is text, not 3"),
    ],
)
def test_limits_weights_and_flags_are_checked_at_construction(
    store: Store, system: Callable[..., object], arguments: dict[str, Any], error_text: str
) -> None:
    with pytest.raises(InvalidArgument) as wrong:
        system(store, **arguments)
    assert error_text in str(wrong.value)
    assert isinstance(wrong.value, TypeError | ValueError)


@pytest.mark.parametrize(
    "make",
    [
        FactsAndEpisodes,
        FourLayers,
        lambda store: OverviewAndDetail(store, "s"),
        Profile,
        lambda store: WorldAndAgents(store, "a"),
    ],
)
def test_what_is_no_store_is_told_by_name(make: Callable[[Any], object]) -> None:
    with pytest.raises(InvalidArgument, match="store is a Store, not 'notes'"):
        make("notes")


def test_a_configured_limit_is_checked_and_kept(store: Store) -> None:
    memory = OverviewAndDetail(store, "s1", cwd="/w", default_limit=3)
    limit = tools_for(memory)["recall_memory"].parameters["properties"]["limit"]
    assert limit["default"] == 3
    with pytest.raises(InvalidArgument, match="query is text"):
        memory.recall_memory(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("system", "method", "arguments"),
    [
        ("profile", "remember", {"content": " \n"}),
        ("profile", "remember", {"content": "\u200b"}),
        ("world", "remember", {"content": ""}),
        ("world", "remember", {"content": "\u200b"}),
        ("world", "reflect", {"content": "\n"}),
        ("world", "reflect", {"content": "\ufeff \u200b"}),
        ("world", "learn_fact", {"topic": "people", "content": " "}),
        ("overview", "write_detail", {"name": "auth", "content": ""}),
        ("four", "append", {"type": "episodic", "entry": {"content": ""}}),
        ("four", "append", {"type": "working", "entry": {"content": " "}}),
        ("four", "append", {"type": "procedural", "entry": {"content": ""}}),
        ("four", "append", {"type": "episodic", "entry": {"content": "\u200b"}}),
        ("facts", "memory_append", {"path": "facts/a.md", "entry": " "}),
        ("facts", "memory_append", {"path": "facts/a.md", "entry": "\u200b"}),
    ],
)
def test_nothing_is_not_kept(
    memories: Mapping[str, Any],
    store: Store,
    system: str,
    method: str,
    arguments: dict[str, Any],
) -> None:
    with pytest.raises(CommonplaceError, match="empty"):
        getattr(memories[system], method)(**arguments)
    with pytest.raises(CommonplaceError, match="empty"):
        tools_for(memories[system]).call(method, arguments)
    assert file_names(store) == []


def test_a_note_that_is_not_there_is_told_by_its_name(memories: Mapping[str, Any]) -> None:
    with pytest.raises(NotFound, match=r"^there is no note 'none'; context\(\) shows which"):
        memories["overview"].read_detail("none")


def test_an_empty_memory_answers_with_the_version_to_expect(memories: Mapping[str, Any]) -> None:
    answer = tools_for(memories["world"]).call("recall", {})
    assert answer.endswith("[version of world/agents/a/MEMORY.md: absent]")


def test_reflecting_on_nothing_leaves_what_was_known(memories: Mapping[str, Any]) -> None:
    world = memories["world"]
    world.reflect("Ask Mara first.")
    with pytest.raises(InvalidArgument):
        world.reflect("")
    assert "Ask Mara first." in world.recall()


@pytest.mark.parametrize(
    ("system", "method", "arguments"),
    [
        ("facts", "memory_read", {"path": "facts/none.md"}),
        ("facts", "memory_patch", {"path": "facts/none.md", "patches": []}),
        ("profile", "flush", {"messages": "none"}),
        ("overview", "read_citation", {"citation": "detail/none.md#L1"}),
        ("overview", "read_citation", {"citation": "sessions/none/messages.jsonl#L1"}),
    ],
)
def test_errors_name_what_a_model_can_call(
    store: Store, system: str, method: str, arguments: dict[str, Any]
) -> None:
    memory: Any = {
        "facts": FactsAndEpisodes(store, "data/memory"),
        "profile": Profile(store, folder="data/memory"),
        "overview": OverviewAndDetail(store, "s1", cwd="/w"),
    }[system]
    with pytest.raises(CommonplaceError) as error:
        tools_for(memory).call(method, arguments)
    assert "none" in str(error.value)
    assert "data/memory" not in str(error.value)
    assert "working-memory" not in str(error.value)
    assert "`list`" not in str(error.value)


def test_a_set_of_tools_has_a_limit_above_zero() -> None:
    with pytest.raises(InvalidArgument, match="longest is 1 or more, not 0"):
        Toolset((), 0)


@pytest.mark.parametrize("system", [FactsAndEpisodes, FourLayers, Profile, WorldAndAgents])
@pytest.mark.parametrize("folder", ["../a", ".commonplace", "a//b", "a\nb"])
def test_a_folder_in_which_no_note_may_be_is_refused_at_construction(
    store: Store, system: Any, folder: str
) -> None:
    agent = {"agent_id": "a"} if system is WorldAndAgents else {}
    with pytest.raises(Refused, match=r'^folder: "(?!.*x\.md)'):
        system(store, folder=folder, **agent)


def test_a_moment_is_a_day(memories: Mapping[str, Any]) -> None:
    profile = memories["profile"]
    profile.remember("User drinks tea")
    now = datetime.now(UTC)
    for at in (now, now.date(), now.date().isoformat()):
        assert [one.text for one in profile.entries(at=at)] == ["User drinks tea"]
        assert len(profile.recall("tea", at=at).found) == 1


@pytest.mark.parametrize(
    ("method", "arguments", "error_text"),
    [
        ("on_start", ("a", 3), "prompt is text"),
        ("on_complete", ("a", 3), "result is text"),
        ("rules_for", (3,), "task is text"),
        ("augment", ("a", -1), "a budget is at least 0"),
        ("augment", ("a", "x"), "budget is a whole number"),
    ],
)
def test_the_hooks_of_a_run_tell_a_wrong_argument_by_name(
    memories: Mapping[str, Any], method: str, arguments: tuple[Any, ...], error_text: str
) -> None:
    with pytest.raises(InvalidArgument, match=error_text):
        getattr(AgentRuns(memories["four"]), method)(*arguments)


# What a model may ask for that is not there
ABSENT: dict[str, dict[str, Any]] = {
    "memory_read": {"path": "facts/none.md"},
    "memory_patch": {"path": "facts/none.md", "patches": [{"oldText": "a", "newText": "b"}]},
    "read_citation": {"citation": "four/facts/none.md#L1"},
    "flush": {"messages": "sessions/none/messages.jsonl"},
    "merge": {"name": "none"},
    "context": {"level": "commit", "name": "none"},
    "forget": {"what": "none.md#L3"},
}


def test_errors_name_tools_that_a_model_has(memories: Mapping[str, Any]) -> None:
    tried = set()
    for memory in memories.values():
        tools = tools_for(memory, prefix="my_")
        for name, arguments in ABSENT.items():
            if any(tool.name == f"my_{name}" for tool in tools):
                tried.add(name)
                with pytest.raises(CommonplaceError) as wrong:
                    tools.call(f"my_{name}", arguments)
                named = re.findall(r"`(\w+)`", str(wrong.value))
                assert set(named) <= {tool.name for tool in tools}, str(wrong.value)
                assert "four/" not in str(wrong.value) or name == "read_citation"
    assert tried == set(ABSENT)


def test_a_prefix_is_of_the_names_of_tools_alone(memories: Mapping[str, Any]) -> None:
    for memory in memories.values():
        tools = tools_for(memory, prefix="my_")
        names = "|".join(
            tool.name.removeprefix("my_") for tool in tools if tool.name.count("_") > 1
        )
        for tool in tools:
            told = f"{tool.description} {tool.parameters}"
            assert not re.search(rf"(?<!my_)\b(?:{names})\b", told), told
    overview = tools_for(memories["overview"], prefix="my_")
    # what a parameter takes is no tool
    assert "`branch`: commits of a branch" in str(overview["my_context"].parameters)
    with pytest.raises(CommonplaceError, match="; my_recall_memory gives the citations"):
        overview.call("my_read_citation", {"citation": "detail/none.md#L1"})


def test_tools_are_given_by_a_list_of_names(memories: Mapping[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match="only is a list of names, not 3"):
        tools_for(memories["four"], only=3)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="longest is a whole number"):
        tools_for(memories["four"], longest="x")  # type: ignore[arg-type]


def test_a_prefix_leaves_room_for_the_names_of_tools(memories: Mapping[str, Any]) -> None:
    tools = tools_for(memories["world"], prefix="a" * (64 - len("search_memory")))
    assert max(len(tool.name) for tool in tools) == 64
    with pytest.raises(InvalidArgument, match="has 65 characters, vendors allow 64"):
        tools_for(memories["world"], prefix="a" * (65 - len("search_memory")))


def test_names_are_understood_in_either_spelling(memories: Mapping[str, Any]) -> None:
    facts = tools_for(memories["facts"])
    facts.run("memory_write", {"path": "facts/a.md", "content": "- City: Rome"})
    edits = [{"old_text": "Rome", "newText": "Oslo"}]
    assert facts.run("memory_patch", {"path": "facts/a.md", "patches": edits})["success"]
    assert "Oslo" in facts.run("memory_read", {"path": "facts/a.md"})


@pytest.mark.parametrize(
    ("system", "tool", "arguments", "error_text"),
    [
        ("four", "compact", {"type": "episodic", "keepLast": 2}, "it goes into `opts`"),
        ("four", "append", {"type": "episodic", "content": "a"}, "it goes into `entry`"),
        ("facts", "memory_patch", {"path": "a.md", "oldText": "a"}, "it goes into `patches`"),
        ("four", "append", {"type": "episodic", "entry": {}}, "append.entry needs `content`"),
    ],
)
def test_a_field_in_the_wrong_place_is_told_where_it_goes(
    memories: Mapping[str, Any], system: str, tool: str, arguments: dict[str, Any], error_text: str
) -> None:
    with pytest.raises(ToolError, match=re.escape(error_text)):
        tools_for(memories[system]).run(tool, arguments)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda store: store.search(5), "query"),
        (lambda store: store.search("tea", limit="3"), "limit"),
        (lambda store: store.search("tea", limit=-1), "limit"),
        (lambda store: store.search("tea", unit="page"), "unit"),
        (lambda store: store.search("tea", prefix=3), "prefix"),
        (lambda store: store.search("tea", prefix=[]), "prefix"),
        (lambda store: store.search("tea", session=Path("s1")), "session"),
        (lambda store: store.search("tea", since="the day it rained"), "since"),
        (lambda store: store.sessions(since="the day it rained"), "since"),
        (lambda store: store.write("tea.md", 5), "text"),
    ],
)
def test_a_store_tells_a_wrong_argument_by_name(
    store: Store, call: Callable[[Store], object], name: str
) -> None:
    with pytest.raises(InvalidArgument) as caught:
        call(store)
    assert name in str(caught.value) or caught.value.__notes__ == [f"while processing '{name}'"]
