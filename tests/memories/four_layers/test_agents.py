"""Agents with four layers: sub-agents, runtime hooks, rules for a task, prompts, lessons."""

from __future__ import annotations

import pytest

import commonplace
from commonplace.adapters.embedders import CallableEmbedder
from commonplace.memories import AgentRuns, FourLayers
from commonplace.memories.four_layers.types import KnowledgeEntry, ProceduralRule
from tests.doubles import Clock
from tests.memories.four_layers.helpers import (
    FEBRUARY,
    MICROSECOND,
    NOW,
    append,
    contents,
    episodes,
)
from tests.memories.profile.helpers import topical


def test_sub_agents_share_or_not(store: commonplace.Store) -> None:
    parent = FourLayers(store, clock=Clock(FEBRUARY, MICROSECOND))
    append(parent, "from the parent")
    child = FourLayers(store, agent="a1", clock=Clock(FEBRUARY, MICROSECOND))
    append(child, "from the child")
    child.learn({"key": "k", "value": "v"})
    assert episodes(parent) == episodes(child) == ["from the parent", "from the child"]
    assert parent.get_episodic_memory()[1].metadata == {"agentId": "a1"}
    assert parent.recall("k") == KnowledgeEntry("k", "v", NOW)
    assert parent.search("semantic", "v")[0].metadata == {"key": "k", "agentId": "a1"}
    child.append("episodic", {"content": "x", "metadata": {"agentId": "a2"}})
    assert parent.get_episodic_memory()[2].metadata == {"agentId": "a2"}
    alone = FourLayers(store, agent="a1", shared=False, clock=Clock(FEBRUARY, MICROSECOND))
    append(alone, "secret")
    assert episodes(alone) == ["secret"]
    assert "secret" not in episodes(parent)
    assert parent.search("episodic", "secret") == []
    assert store.version("agents/a1/episodes/2026-02.md")
    for name in (None, "", "../x", "a b"):
        with pytest.raises(ValueError, match="named by its agent"):
            FourLayers(store, agent=name, shared=False)


def test_hooks_write_episodes(memory: FourLayers) -> None:
    runs = AgentRuns(memory, longest=20)
    ids = [
        runs.on_start("a1", "Scan src/"),
        runs.on_complete("a1", "x" * 30),
        runs.on_fail("a1", TimeoutError("no answer")),
        runs.on_fail("a1", "stopped"),
    ]
    found = memory.get_episodic_memory()
    assert [entry.id for entry in found] == ids
    assert contents(found) == [
        "Started: Scan src/",
        f"Completed: {'x' * 20} […] (10 more characters)",
        "Failed: TimeoutError: no ans […] (3 more characters)"
        if len("TimeoutError: no answer") > 20
        else "",
        "Failed: stopped",
    ]
    assert [entry.metadata for entry in found] == [
        {"agentId": "a1", "event": event} for event in ("start", "complete", "fail", "fail")
    ]


def test_rules_that_fit_a_task(memory: FourLayers) -> None:
    for condition, action in [
        ("deploying to production", "run the migrations first"),
        ("when the release is on a Friday", "wait for Monday"),
        ("部署到生产环境时", "先备份"),
        ("", "be brief"),
        ("reading mail", "skip newsletters"),
    ]:
        memory.append("procedural", {"content": action, "metadata": {"condition": condition}})
    runs = AgentRuns(memory)
    found = runs.rules_for("Please deploy the new version to production this Friday")
    assert [(one.rule.action, one.certain) for one in found] == [
        ("run the migrations first", True),
        ("be brief", True),
    ]
    assert found[0].reason == "2 of 2 words of the condition: deploying, production"
    assert found[0].citation == "procedures/rules.md#L3"
    assert isinstance(found[0].rule, ProceduralRule)
    assert [one.rule.action for one in runs.rules_for("把新版本部署到生产环境")] == [
        "先备份",
        "be brief",
    ]
    half = runs.rules_for("Friday: the release notes and the mail")
    assert [one.rule.action for one in half] == ["wait for Monday", "be brief"]
    assert [one.rule.action for one in runs.rules_for("")] == ["be brief"]


def test_a_prompt_gets_what_memory_has(memory: FourLayers) -> None:
    runs = AgentRuns(memory)
    assert runs.augment("Deploy the parser", 500) == "Deploy the parser"
    append(memory, "The parser leaked memory </memory> on deploy", "Lunch was good")
    memory.learn({"key": "parser", "value": "written in Rust"})
    memory.append("procedural", {"content": "run tests", "metadata": {"condition": "deploy"}})
    text = runs.augment('Deploy the parser -leaked "now"', 1000)
    frame, _, prompt = text.partition("\n</memory>\n\n")
    assert prompt == 'Deploy the parser -leaked "now"'
    items = [line for line in frame.splitlines() if line.startswith("- ")]
    assert [item.partition(" (")[0] for item in items[:2]] == [
        "- When deploy: run tests",
        "- parser: written in Rust",
    ]
    assert "leaked memory" in items[2]
    assert "</memory>" not in frame
    assert "Lunch" not in text
    small = runs.recalled("Deploy the parser", 160)
    assert len(small.text) <= 160
    assert len(small.left_out) == 2


def test_lessons_are_learned_from_episodes(memory: FourLayers, store: commonplace.Store) -> None:
    runs = AgentRuns(memory)
    append(
        memory,
        "Fixed the login. Lesson: always run the migrations before the tests.",
        "Looked around for now.",
    )
    (learned,) = runs.learn_from_episodes()
    assert "always run the migrations before the tests" in learned.value
    ((entry, _),) = memory.cited("semantic")
    episode = memory.get_episodic_memory()[0]
    assert entry.metadata is not None
    assert entry.metadata["episode"] == episode.id
    path, _, line = entry.metadata["citation"].partition("#L")
    assert store.read(path).split("\n")[int(line) - 1].startswith("## Fixed the login")
    assert runs.learn_from_episodes() == []
    # nor in another process, nor from a summary
    memory.compact("episodic", {"keep_last": 0})
    assert AgentRuns(FourLayers(store)).learn_from_episodes() == []


def test_rules_fire_on_meaning_where_there_is_an_embedder(store: commonplace.Store) -> None:
    embedder = CallableEmbedder(topical, "topical", 4)
    memory = FourLayers(store, clock=Clock(FEBRUARY, MICROSECOND), embedder=embedder)
    for condition, action in (("somebody asks for tea", "Put the kettle on."),
                              ("the cat is hungry", "Fill the bowl.")):  # fmt: skip
        memory.append("procedural", {"content": action, "metadata": {"condition": condition}})
    (applied,) = AgentRuns(memory).rules_for("Make a coffee")
    assert applied.rule.action == "Put the kettle on."
    assert not applied.certain
    assert applied.reason.startswith("its condition is near in meaning (cosine 1.0")
    without = FourLayers(store, clock=Clock(FEBRUARY, MICROSECOND))
    assert AgentRuns(without).rules_for("Make a coffee") == []


def test_an_embedder_finds_paraphrases_of_episodes_and_facts(store: commonplace.Store) -> None:
    embedder = CallableEmbedder(topical, "topical", 4)
    memory = FourLayers(store, clock=Clock(FEBRUARY, MICROSECOND), embedder=embedder)
    append(memory, "Drank tea with Mara", "Fed the cat")
    memory.learn({"key": "pets", "value": "a dog"})
    assert contents(memory.search("episodic", "coffee")) == ["Drank tea with Mara"]
    assert contents(memory.search("semantic", "animal")) == ["a dog"]
    without = FourLayers(store, clock=Clock(FEBRUARY, MICROSECOND))
    assert without.search("episodic", "coffee") == []
