"""Claude Code itself, wired by `commonplace install`: what it captures and what it injects."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.hosts.runner import Home, program

pytestmark = [pytest.mark.hosts, pytest.mark.linux("network namespaces")]

FACT = "The staging server is called Zephyr-9 and listens on port 4711."
QUESTION = "Which port does the staging server listen on?"


class Claude(Home):
    """A home in which Claude Code is wired."""

    def __init__(self, folder: Path) -> None:
        self._program = program("claude")
        quiet = ["DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER"]
        quiet.append("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC")
        model = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:{port}", "ANTHROPIC_API_KEY": "none"}
        super().__init__(folder, model | dict.fromkeys(quiet, "1"))
        self.commonplace("install", "claude-code")

    def command(self, prompt: str) -> list[str]:
        return [self._program, "-p", prompt, "--output-format", "json"]

    def ask(self, prompt: str, **more: str) -> str:
        """Hold a session of one prompt and return all that the model was asked in it."""
        self.run(*self.command(prompt), **more)
        return json.dumps(self.requests(), ensure_ascii=False)


@pytest.fixture
def claude(tmp_path: Path) -> Claude:
    return Claude(tmp_path)


def test_what_one_session_was_told_reaches_the_next(claude: Claude) -> None:
    claude.ask(FACT)
    (session,) = json.loads(claude.commonplace("sessions", "--json"))
    asked = claude.ask(QUESTION)
    assert f"Asked: {FACT}" in asked
    assert f"({session['path']}#L" in asked
    prompts = [entry for entry in claude.injected() if entry["event"] == "prompt"]
    assert [len(entry["shown"]) for entry in prompts] == [0, 1]


def test_a_prompt_about_something_else_injects_nothing(claude: Claude) -> None:
    claude.ask(FACT)
    asked = claude.ask("Write a haiku about autumn rain.")
    assert "Asked: " not in asked
    assert claude.injected()[-1]["shown"] == []


def test_a_killed_host_loses_nothing(claude: Claude) -> None:
    line = {"type": "user", "message": {"role": "user", "content": FACT}}
    command = [claude._program, "-p", "--input-format", "stream-json", "--verbose"]
    process = claude.start(
        *command,
        "--output-format",
        "stream-json",
        answer="Kept in mind.",
        KILLED_AFTER="Kept in mind.",
        PROMPT_LINE=json.dumps(line),
    )
    process.communicate(timeout=90)
    claude.requests()
    assert f"Asked: {FACT}" in claude.ask(QUESTION)


def test_two_at_once_lose_nothing(claude: Claude) -> None:
    facts = [FACT, "The database of the shop is called Quince-3."]
    running = [claude.start(*claude.command(fact)) for fact in facts]
    for process in running:
        out, err = process.communicate(timeout=90)
        assert process.returncode == 0, (out + err).decode()
    sessions = json.loads(claude.commonplace("sessions", "--json"))
    assert {one["title"] for one in sessions} == {*facts}


def test_a_memory_that_cannot_be_written_is_still_read(claude: Claude) -> None:
    claude.ask(FACT)
    read_only = f"mount --bind {claude.memory} {claude.memory}"
    read_only += f" && mount -o remount,bind,ro {claude.memory}"
    assert f"Asked: {FACT}" in claude.ask(QUESTION, mounts=read_only)
    # what could not be taken in then is taken in by the next session
    claude.ask("Anything else?")
    assert QUESTION in claude.commonplace("sessions")
