"""Prompts that hooks search for, and what of the answer fits them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import commonplace
from commonplace.doors.injection_candidates import confident
from tests.test_hooks import FACT, QUESTION, Agent, call


@pytest.fixture(params=["claude-code", "codex", "gemini"])
def agent(request: pytest.FixtureRequest, tmp_path: Path) -> Agent:
    return Agent(tmp_path, request.param)


def test_further_hits_are_held_against_the_same_threshold(opened: commonplace.Store) -> None:
    opened.write("a.md", "# Ferry\n\nThe ferry to the island needs two permits.\n")
    opened.write("b.md", "# Bus\n\nThe bus to the island needs none.\n")
    for number in range(9):
        opened.write(f"{number}.md", f"# Page {number}\n\nNothing of that is here.\n")
    hits = opened.search("ferry permits island")
    best, second = hits
    rest = best.score * (1 - hits.confidence) / hits.confidence
    at_second = second.score / (second.score + rest)
    assert confident(hits, 0.0) == [best, second]
    assert confident(hits, at_second - 1e-6) == [best, second]
    assert confident(hits, at_second + 1e-6) == [best]
    assert confident(hits, hits.confidence - 1e-6) == [best]
    assert confident(hits, hits.confidence + 1e-6) == []
    assert confident(opened.search("watercolour"), 0.0) == []


@pytest.mark.parametrize("prompt", ["staging server port", "登録番", "?", "go on"])
def test_a_prompt_of_few_words_is_not_searched(agent: Agent, prompt: str) -> None:
    with commonplace.open(agent.root) as store:
        store.write("ops.md", "# Staging server port\n\nIt is 4711, 登録番号 7, we go on.\n")
    assert agent.event("prompt", "one", prompt=prompt) == ""
    assert "4711" in agent.event("prompt", "one", prompt="the staging server port")
    assert "4711" in agent.event("prompt", "two", prompt="登録番号")


@pytest.mark.parametrize(
    "prompt",
    [
        "ok do it then please",
        "Yes, go ahead with that!",
        "thanks, looks good, next",
        "nice work, that's fine, just continue",
        "好的继续吧",
        "没问题，开始吧",
        "ok，谢谢，看起来不错，下一步",
    ],
)
def test_a_prompt_that_names_nothing_gets_nothing(agent: Agent, prompt: str) -> None:
    agent.transcript("one", (f"{prompt} now", f"{FACT} {'It is done. ' * 30}"))
    agent.event("session end", "one")
    assert agent.event("prompt", "two", prompt=prompt) == ""
    assert FACT in agent.event("prompt", "two", prompt=f"{prompt} {QUESTION}")


@pytest.mark.parametrize("prompt", ["what do I do for work?", "what do I like?"])
def test_a_short_question_is_no_filler(agent: Agent, prompt: str) -> None:
    agent.transcript("one", ("I like lighthouses, and work in one.", "You like your work there."))
    agent.event("session end", "one")
    assert "lighthouse" in agent.event("prompt", "two", prompt=prompt)


def test_the_threshold_is_one_option(agent: Agent) -> None:
    agent.transcript("one", (FACT, "Kept in mind."))
    agent.event("session end", "one")
    vague = "Is there a staging server, a database, a bucket or a printer?"
    name = next(name for name, kind in agent.host.events.items() if kind == "prompt")
    payload = {"hook_event_name": name, "session_id": "two", "cwd": "/", "prompt": vague}
    stdin = json.dumps(payload).encode()
    assert call(agent.root, stdin, agent.host.name).stdout == b""
    found = call(agent.root, stdin, agent.host.name, "--min-confidence", "0.05")
    assert FACT in found.stdout.decode()


@pytest.mark.parametrize(
    "prompt",
    [
        "Why does the go test -race fail in the session cache?",
        "-race fails in the go test of the session cache, why?",
        "Why does go test -race fail in the session cache for role:admin?",
        'Why does go test -race fail in the -"session cache"?',
        "Why does go test fail？-race in the session cache",
    ],
)
def test_options_in_a_prompt_exclude_nothing(agent: Agent, prompt: str) -> None:
    agent.transcript("one", ("Why does go test -race fail in the session cache?", "A shared map."))
    agent.event("session end", "one")
    assert "A shared map." in agent.event("prompt", "two", prompt=prompt)
