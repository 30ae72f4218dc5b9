"""Agent programs themselves, connected to a memory: what reaches the model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import commonplace
from commonplace.doors.plugins import write_plugin
from tests.hosts.programs import Agent, Claude, Codex, Gemini, Opencode

pytestmark = [pytest.mark.hosts, pytest.mark.linux("network namespaces")]

FACT = "The staging server is called Zephyr-9 and listens on port 4711."
QUESTION = "Which port does the staging server listen on?"


@pytest.fixture(params=[Claude, Codex, Gemini, Opencode])
def unconnected(request: pytest.FixtureRequest, tmp_path: Path) -> Agent:
    made: Agent = request.param(tmp_path)
    return made


@pytest.fixture
def agent(unconnected: Agent) -> Agent:
    unconnected.connect()
    return unconnected


@pytest.fixture
def claude(tmp_path: Path) -> Claude:
    made = Claude(tmp_path)
    made.connect()
    return made


def prompts(agent: Agent) -> list[str]:
    """Return what people have said in the sessions of a memory."""
    with commonplace.open(agent.memory) as store:
        found = [one for each in store.sessions() for one in store.transcript(each.path)]
    return [one.text for one in found if one.role == "user" and one.text]


def test_what_one_session_was_told_reaches_the_next(agent: Agent) -> None:
    agent.ask(FACT)
    (session,) = json.loads(agent.commonplace("sessions", "--json"))
    asked = agent.ask(QUESTION)
    assert f"Asked: {FACT}" in asked
    assert f"({session['path']}#L" in asked
    shown = [len(entry["shown"]) for entry in agent.injected() if entry["event"] == "prompt"]
    assert shown == [0, 1]
    found = json.loads(agent.commonplace("doctor", "--json"))
    assert found["errors"] == []
    assert {one["problem"] for one in found["hosts"]} == {""}


@pytest.mark.parametrize("with_mcp", [False, True])
@pytest.mark.parametrize("unconnected", [Claude, Codex], indirect=True)
def test_a_plugin_does_as_much(unconnected: Agent, with_mcp: bool, tmp_path: Path) -> None:
    write_plugin(unconnected.name, tmp_path / "catalogue", with_mcp=with_mcp)
    unconnected.add_plugin(tmp_path / "catalogue")
    asked = unconnected.ask(FACT)
    assert "Looks up what was said and decided in earlier sessions" in asked
    assert f"Asked: {FACT}" in unconnected.ask(QUESTION)


def test_the_model_is_told_of_the_skill(agent: Agent) -> None:
    assert "Looks up what was said and decided in earlier sessions" in agent.ask("Hello.")


def test_the_model_calls_a_tool_of_the_server(agent: Agent) -> None:
    agent.ask(FACT)
    (session,) = json.loads(agent.commonplace("sessions", "--json"))
    asked = agent.call_tool("Look it up.", "search", query="staging server port")
    assert f"{session['path']}#L" in asked
    assert f"user: {FACT}" in asked
    # by the tool, and not by the hook
    assert agent.injected()[-1]["shown"] == []
    agent.call_tool("Keep that.", "remember", content="The release is on Friday.")
    assert "The release is on Friday." in agent.commonplace("grep", "Friday", "facts")


def test_a_prompt_about_something_else_injects_nothing(agent: Agent) -> None:
    agent.ask(FACT)
    asked = agent.ask("Write a haiku about autumn rain.")
    assert f"Asked: {FACT}" not in asked
    assert agent.injected()[-1]["shown"] == []


def test_what_was_injected_is_not_taken_for_what_was_said(agent: Agent) -> None:
    agent.ask(FACT)
    agent.ask(QUESTION)
    with commonplace.open(agent.memory) as store:
        said = [one.text for session in store.sessions() for one in store.transcript(session.path)]
    assert sorted(filter(None, said)) == sorted([FACT, QUESTION, "Noted.", "Noted."])


def test_after_uninstall_nothing_is_captured(agent: Agent) -> None:
    agent.commonplace("uninstall", agent.name)
    asked = agent.ask(FACT)
    assert not (agent.memory / "sessions").exists()
    assert "Looks up what was said and decided" not in asked
    assert "staging server port" not in agent.call_tool(
        "Look.", "search", query="staging server port"
    )


def test_two_at_once_lose_nothing(agent: Agent) -> None:
    # opencode makes a database of its own at its first start, and fails where two make it at once
    first = "Good morning."
    agent.ask(first)
    facts = [FACT, "The database of the shop is called Quince-3."]
    running = [agent.start(*agent.command(fact)) for fact in facts]
    for process in running:
        out, err = process.communicate(timeout=90)
        assert process.returncode == 0, (out + err).decode()
    assert sorted(prompts(agent)) == sorted([first, *facts])


def test_a_memory_that_cannot_be_written_is_still_read(agent: Agent) -> None:
    agent.ask(FACT)
    read_only = f"mount --bind {agent.memory} {agent.memory}"
    read_only += f" && mount -o remount,bind,ro {agent.memory}"
    assert f"Asked: {FACT}" in agent.ask(QUESTION, mounts=read_only)
    # what could not be taken in then is taken in by the next session
    agent.ask("Anything else?")
    assert QUESTION in prompts(agent)


def test_sessions_from_before_are_in_the_database_of_opencode(tmp_path: Path) -> None:
    unconnected = Opencode(tmp_path)
    unconnected.ask(FACT)
    unconnected.commonplace("import", "--opencode")
    (session,) = json.loads(unconnected.commonplace("sessions", "--json"))
    assert prompts(unconnected) == [FACT]
    assert session["messages"] == 2
    unconnected.ask(QUESTION)
    unconnected.commonplace("import", "--opencode")
    assert sorted(prompts(unconnected)) == sorted([FACT, QUESTION])
    unconnected.commonplace("import", "--opencode")
    assert len(prompts(unconnected)) == 2


# Codex asks a person whether to trust a project before it reads its settings
@pytest.mark.parametrize("unconnected", [Claude], indirect=True)
def test_a_project_has_a_memory_of_its_own(unconnected: Agent) -> None:
    unconnected.commonplace("install", unconnected.name, "--project")
    unconnected.ask(FACT)
    assert f"Asked: {FACT}" in unconnected.ask(QUESTION)
    assert (unconnected.project / "sessions").is_dir()
    assert not unconnected.memory.exists()


def test_a_killed_host_loses_nothing(claude: Claude) -> None:
    claude.start_and_kill(FACT, answer="Kept in mind.").communicate(timeout=90)
    claude.requests()
    assert f"Asked: {FACT}" in claude.ask(QUESTION)


def test_a_home_that_cannot_be_written_stops_no_session(claude: Claude) -> None:
    claude.ask(FACT)
    home = claude.folder
    read_only = f"mount --bind {home} {home} && mount -o remount,bind,ro {home}"
    assert f"Asked: {FACT}" in claude.ask(QUESTION, mounts=read_only)
