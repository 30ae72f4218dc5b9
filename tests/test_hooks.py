"""Hooks of agent programs: what they capture, what they inject, and that they fail nobody."""

from __future__ import annotations

import json
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import commonplace
from commonplace.doors import capture
from commonplace.doors.hook import START_BUDGET, handle, memory_root
from commonplace.doors.hook_log import LARGEST, HookLog
from commonplace.doors.hosts import find_host
from commonplace.errors import NotFound
from tests.hosts.runner import COMMONPLACE

FACT = "The staging server is called Zephyr-9 and listens on port 4711."
QUESTION = "Which port does the staging server listen on?"


class Agent:
    """A host that calls the hook, with a folder of transcripts as Claude Code writes them."""

    def __init__(self, folder: Path, name: str = "claude-code") -> None:
        self.host, self.root = find_host(name), folder / "memory"
        self.folder, self.problems = folder, list[str]()

    def transcript(self, session: str, *turns: tuple[str, str]) -> Path:
        """Write the transcript of a session, as far as it has come."""
        path = self.folder / f"{session}.jsonl"
        lines = []
        for number, (prompt, reply) in enumerate(turns):
            for role, text in (("user", prompt), ("assistant", reply)):
                record: dict[str, Any] = {"type": role, "sessionId": session}
                record |= {"message": {"role": role, "content": text}, "cwd": str(self.folder)}
                record |= {"uuid": f"{session}-{number}-{role}", "version": "2.1"}
                lines.append(json.dumps(record | {"timestamp": f"2026-02-0{number + 1}T10:00:00Z"}))
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    def event(self, kind: str, session: str, **more: object) -> str:
        """Call the hook with an event of this kind and return what the model is to see."""
        name = next(name for name, one in self.host.events.items() if one == kind)
        path = str(self.folder / f"{session}.jsonl")
        payload = {"hook_event_name": name, "session_id": session, "transcript_path": path}
        payload["cwd"] = str(self.folder)
        answer, self.problems = handle(self.host, payload | more, str(self.root), project=False)
        if answer is None:
            return ""
        assert answer.keys() == {"hookSpecificOutput"}
        said: dict[str, str] = answer["hookSpecificOutput"]
        assert said.keys() == {"hookEventName", "additionalContext"}
        assert said["hookEventName"] == name
        return said["additionalContext"]

    def log(self) -> HookLog:
        return HookLog(commonplace.open(self.root))


@pytest.fixture(params=["claude-code", "codex", "gemini"])
def agent(request: pytest.FixtureRequest, tmp_path: Path) -> Agent:
    return Agent(tmp_path, request.param)


@pytest.fixture
def told(agent: Agent) -> Agent:
    """An agent with one session, in which it was told a fact."""
    agent.transcript("one", (FACT, "Kept in mind."))
    agent.event("session end", "one")
    return agent


def test_what_one_session_was_told_reaches_the_next(told: Agent) -> None:
    context = told.event("prompt", "two", prompt=QUESTION)
    assert context.startswith("<memory>\nRecalled from memory.")
    assert f"- Asked: {FACT}\n  Answered: Kept in mind.\n" in context
    (session,) = commonplace.open(told.root).sessions()
    assert f"({session.path}#L2-L3 " in context
    assert told.event("prompt", "two", prompt="Write a haiku about autumn rain.") == ""
    assert not told.problems


def test_nothing_is_shown_twice_until_the_context_is_new(told: Agent) -> None:
    assert told.event("prompt", "two", prompt=QUESTION)
    assert told.event("prompt", "two", prompt=QUESTION) == ""
    assert told.event("prompt", "three", prompt=QUESTION)
    told.event("session start", "two", source="resume")
    assert told.event("prompt", "two", prompt=QUESTION) == ""
    assert "Earlier session" in told.event("session start", "two", source="compact")
    assert told.event("prompt", "two", prompt=QUESTION)


def test_two_hooks_at_once_show_a_passage_once(
    told: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = HookLog.shown

    def slow(log: HookLog, session: str) -> set[str]:
        found = shown(log, session)
        time.sleep(0.1)
        return found

    monkeypatch.setattr(HookLog, "shown", slow)
    with ThreadPoolExecutor() as pool:
        ask = partial(told.event, "prompt", "two", prompt=QUESTION)
        answers = [one.result() for one in [pool.submit(ask) for _ in range(3)]]
    assert sum(bool(answer) for answer in answers) == 1


def test_a_log_that_another_hook_holds_keeps_no_prompt_waiting(told: Agent) -> None:
    with told.log().locked():
        before = time.monotonic()
        assert told.event("prompt", "two", prompt=QUESTION)
    assert time.monotonic() - before < 2
    assert not told.problems


def test_what_was_injected_before_a_prompt_is_no_part_of_it(tmp_path: Path) -> None:
    gemini = Agent(tmp_path, "gemini")
    gemini.transcript("one", (FACT, "Kept in mind."))
    gemini.event("session end", "one")
    prompt = f"<hook_context>&lt;memory&gt;\n{FACT}</hook_context>\n\nWrite a haiku."
    assert gemini.event("prompt", "two", prompt=prompt) == ""


def test_a_session_is_not_told_what_it_said_itself(told: Agent) -> None:
    assert told.event("prompt", "one", prompt=QUESTION) == ""


def test_a_fork_is_not_told_what_it_began_with(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    path = agent.transcript("one", (FACT, "Kept in mind."))
    agent.event("session end", "one")
    # under the ids of the messages, with its own as the session's
    more = agent.transcript("fork", (FACT, ""), ("And the docs?", "Done.")).read_text()
    copies = path.read_text().replace('"sessionId": "one"', '"sessionId": "fork"')
    (tmp_path / "fork.jsonl").write_text(copies + "".join(more.splitlines(keepends=True)[2:]))
    agent.event("stop", "fork")
    assert agent.event("prompt", "fork", prompt=QUESTION) == ""
    assert agent.event("prompt", "two", prompt=QUESTION)


def test_an_announcement_comes_with_what_came_of_it(agent: Agent) -> None:
    path = agent.transcript("one", (FACT, "Let me see how the staging server is set up."))
    first, second = map(json.loads, path.read_text().splitlines())
    step, end = ({"content": text, "role": "assistant"} for text in ("Reading.", "Port is open."))
    more = [second | {"message": said, "uuid": f"u{len(said['content'])}"} for said in (step, end)]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in (first, second, *more)))
    agent.event("session end", "one")
    shown = agent.event("prompt", "two", prompt=QUESTION)
    answer = "Let me see how the staging server is set up.\n  […]\n  Port is open.\n"
    assert f"- Asked: {FACT}\n  Answered: {answer}" in shown


def test_what_has_no_room_for_its_answer_is_left_out(agent: Agent) -> None:
    most = "The staging server listens on its port. " * 43
    agent.transcript("one", (FACT, most), (f"{FACT} Really.", f"Yes, it {'still ' * 60}does."))
    agent.event("session end", "one")
    shown = agent.event("prompt", "two", prompt=QUESTION)
    assert shown.count("Asked: ") == shown.count("Answered: ") == 1
    with commonplace.open(agent.root) as store:
        assert len([*HookLog(store).entries()][-1]["shown"]) == 1


def test_a_question_without_an_answer_is_not_recalled(agent: Agent) -> None:
    path = agent.transcript("one", (QUESTION, ""))
    path.write_text(path.read_text().splitlines()[0] + "\n")
    agent.event("session end", "one")
    assert agent.event("prompt", "two", prompt=QUESTION) == ""


def test_notes_are_recalled_and_those_that_always_hold_come_first(agent: Agent) -> None:
    with commonplace.open(agent.root) as store:
        store.write("MEMORY.md", "# Rules\n\nAlways answer in German.\n")
        store.write("ops/staging.md", "# Staging\n\nThe staging server listens on port 4711.\n")
    first = agent.event("session start", "one", source="startup")
    assert "Always answer in German." in first
    assert "(MEMORY.md#L" in first
    assert "4711" in agent.event("prompt", "one", prompt=QUESTION)


def test_what_no_longer_holds_is_not_told_at_the_start(agent: Agent) -> None:
    past = "- ~~User lives in Berlin~~ <!-- META: until=2026-11-01 -->"
    with commonplace.open(agent.root) as store:
        store.write("MEMORY.md", f"---\nunit: item\n---\n# Memory\n\n{past}\n- Lives in Lisbon.\n")
    told = agent.event("session start", "one", source="startup")
    assert "Lisbon" in told
    assert "Berlin" not in told


def test_a_start_has_the_last_sessions_of_its_folder_only(told: Agent) -> None:
    assert f"Earlier session: {FACT}" in told.event("session start", "two", source="startup")
    assert told.event("session start", "three", source="startup", cwd="/elsewhere") == ""


def test_long_rules_leave_room_for_the_last_sessions(told: Agent) -> None:
    rules = "".join(f"- Never do {number} without a question first.\n" for number in range(200))
    with commonplace.open(told.root) as store:
        store.write("rules.md", f"# Rules\n\n{rules}")
    start = told.event("session start", "two", source="startup")
    assert f"Earlier session: {FACT}" in start
    assert "Never do 50 without" in start
    assert len(start) <= START_BUDGET


def test_a_start_has_the_last_sessions_of_its_repository(told: Agent) -> None:
    git = told.folder / ".git"
    worktree = told.folder.parent / f"{told.folder.name}-worktree"
    other = told.folder / "vendored" / ".git"
    link = told.folder.parent / f"{told.folder.name}-link"
    for folder in (git / "worktrees" / "w", git / "modules" / "m", worktree, other):
        folder.mkdir(parents=True)
    link.symlink_to(told.folder)
    (worktree / ".git").write_text(f"gitdir: {git}/worktrees/w\n")
    (told.folder / "module").mkdir()
    (told.folder / "module" / ".git").write_text("gitdir: ../.git/modules/m\n")
    inside = [f"{told.folder}/", f"{told.folder}/deleted/sub", str(worktree), f"{link}/a"]
    for number, cwd in enumerate(inside):
        start = told.event("session start", f"in-{number}", source="startup", cwd=cwd)
        assert f"Earlier session: {FACT}" in start, cwd
    outside = [f"{told.folder}/module", str(other.parent), str(told.folder.parent), "", "a\0b"]
    for number, cwd in enumerate(outside):
        assert told.event("session start", f"out-{number}", source="startup", cwd=cwd) == "", cwd
    assert not told.problems


def test_a_long_note_leaves_room_for_rules_and_preferences(agent: Agent) -> None:
    facts = "".join(
        f"- Fact {number} about the build and its many parts.\n" for number in range(200)
    )
    with commonplace.open(agent.root) as store:
        store.write("MEMORY.md", f"# Memory\n\n{facts}")
        store.write("overview.md", f"# Overview\n\n{facts.replace('Fact', 'Part')}")
        store.write("rules.md", "- Never push to main.\n")
        store.write("preferences.md", "- Answer in German.\n")
    start = agent.event("session start", "one", source="startup")
    assert "Never push to main." in start
    assert "Answer in German." in start
    # two long ones get the same
    parts, facts_told = start.count("- Part "), start.count("- Fact ")
    assert abs(parts - facts_told) <= 2
    assert START_BUDGET - 200 <= len(start) <= START_BUDGET


def test_a_session_that_goes_on_is_told_what_is_new_only(agent: Agent) -> None:
    items = "".join(f"- Likes tea of kind {number}.\n" for number in range(2000))
    with commonplace.open(agent.root) as store:
        store.write("preferences.md", f"---\nunit: item\n---\n{items}")
        start = agent.event("session start", "one", source="startup")
        assert "kind 0." in start
        assert agent.event("session start", "one", source="resume") == ""
        store.write("rules.md", "- Never push to main.\n")
    resumed = agent.event("session start", "one", source="resume")
    assert "Never push to main." in resumed
    assert "Likes tea" not in resumed
    again = agent.event("session start", "one", source="compact")
    assert "kind 0." in again
    assert "Never push to main." in again


def test_a_note_that_has_changed_is_told_again(agent: Agent) -> None:
    with commonplace.open(agent.root) as store:
        store.write("rules.md", "# Staging\n\nThe staging server listens on port 4711.\n")
        store.write("preferences.md", "---\nunit: item\n---\n- Likes green tea.\n")
        agent.event("session start", "one", source="startup")
        assert agent.event("prompt", "one", prompt=QUESTION) == ""
        store.patch("rules.md", [("4711", "4712")])
        assert "4712" in agent.event("prompt", "one", prompt=QUESTION)
        # its first line is the same, and so is what has only moved
        store.append("rules.md", "- Never push to main.\n")
        store.patch("preferences.md", [("- Likes green", "- Likes ferries.\n- Likes green")])
    resumed = agent.event("session start", "one", source="resume")
    assert "Never push to main." in resumed
    assert "Likes ferries." in resumed
    assert "green tea" not in resumed
    assert agent.event("session start", "one", source="resume") == ""


def test_what_a_killed_session_left_is_imported_by_the_next(agent: Agent) -> None:
    agent.transcript("one", (FACT, "Kept in mind."))
    agent.event("session start", "two", source="startup")
    assert FACT in agent.event("prompt", "two", prompt=QUESTION)


def test_all_that_killed_sessions_left_comes_in_by_and_by(agent: Agent) -> None:
    agent.transcript("grown", (FACT, "Kept in mind."))
    agent.event("stop", "grown")
    agent.transcript("grown", (FACT, "Kept in mind."), ("What is the time?", "Noon."))
    for number in range(5):
        path = agent.transcript(f"killed-{number}", (f"Fact {number}.", "Noted."))
        os.utime(path, (2e9 + number, 2e9 + number))

    def messages() -> int:
        with commonplace.open(agent.root) as store:
            return sum(session.messages for session in store.sessions())

    agent.event("session start", "next", source="startup")
    assert messages() == 2 + 3 * 2
    agent.event("session start", "after", source="startup")
    assert messages() == 4 + 5 * 2


def test_a_transcript_that_is_too_large_for_a_hook_is_told_once(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = agent.transcript("large", (FACT, "Kept in mind."))
    monkeypatch.setattr(capture, "LARGEST", path.stat().st_size - 1)
    agent.transcript("small", ("Hi.", "Hi."))
    for session in ("next", "after"):
        agent.event("session start", session, source="startup")
    (error,) = agent.log().errors()
    assert str(path) in error["error"]
    assert error["error"].endswith(f"run `commonplace --root {agent.root} import {path}`")
    with commonplace.open(agent.root) as store:
        assert [session.id for session in store.sessions()] == ["small"]
        store.import_sessions(path)
    # of what is imported only the rest counts
    agent.transcript("large", (FACT, "Kept in mind."), ("Hi.", "Hi."))
    agent.event("session start", "later", source="startup")
    with commonplace.open(agent.root) as store:
        assert store.session("large").messages == 4


def test_a_memory_of_a_project_gets_no_sessions_of_its_neighbours(tmp_path: Path) -> None:
    codex = Agent(tmp_path, "codex")
    for name in ("mine", "neighbour"):
        (tmp_path / name).mkdir()
        codex.folder = tmp_path / name
        # Codex keeps the sessions of a day in one folder
        codex.transcript(name, (f"A fact of {name}.", "Noted.")).rename(tmp_path / f"{name}.jsonl")
    payload = {"hook_event_name": "SessionStart", "session_id": "s", "source": "startup"}
    payload |= {"cwd": str(tmp_path / "mine"), "transcript_path": str(tmp_path / "s.jsonl")}
    for in_project, expected in ((True, {"A fact of mine."}), (False, None)):
        root = tmp_path / f"memory-{in_project}"
        handle(codex.host, payload, str(root), project=in_project)
        titles = {session.title for session in commonplace.open(root).sessions()}
        assert titles == (expected or {"A fact of mine.", "A fact of neighbour."})


def test_each_event_takes_in_what_has_come(agent: Agent) -> None:
    turns = [(FACT, "Kept in mind."), ("What is the time?", "Noon."), ("Thanks.", "Gladly.")]
    for number, kind in enumerate(("stop", "compaction", "session end"), 1):
        agent.transcript("one", *turns[:number])
        assert agent.event(kind, "one") == ""
        (session,) = commonplace.open(agent.root).sessions()
        assert session.messages == 2 * number
    assert not agent.problems


def test_a_session_without_a_transcript_is_no_problem(agent: Agent) -> None:
    agent.event("session end", "never-begun")
    agent.event("session end", "never-begun", transcript_path=None)
    assert not agent.problems


def test_a_subagent_is_not_answered(told: Agent) -> None:
    assert told.event("prompt", "two", prompt=QUESTION, agent_id="a1") == ""


def test_the_answer_is_never_longer_than_the_host_takes(agent: Agent) -> None:
    with commonplace.open(agent.root) as store:
        store.write("MEMORY.md", "".join(f"# Rule {n}\n\n{'Be brief. ' * 90}\n" for n in range(40)))
        store.write("a.md", f"# Staging server port\n\n{'The staging server listens. ' * 900}\n")
    for kind, more in (("session start", {"source": "startup"}), ("prompt", {"prompt": QUESTION})):
        assert 0 < len(agent.event(kind, "one", **more)) <= agent.host.limit


def test_prompts_of_any_text_are_answered(told: Agent) -> None:
    for prompt in ("", " ", "\0", "\ud83d", '"', "-only -not", "a" * 100_000, "session:x"):
        told.event("prompt", "two", prompt=prompt)
        assert not told.problems


def test_of_a_prompt_in_blocks_the_text_is_searched(told: Agent) -> None:
    image = {"type": "image", "source": {"type": "base64", "data": QUESTION}}
    assert told.event("prompt", "two", prompt=[image]) == ""
    assert told.event("prompt", "two", prompt={"text": QUESTION}) == ""
    assert FACT in told.event("prompt", "two", prompt=[image, {"type": "text", "text": QUESTION}])
    assert not told.problems


def test_a_memory_from_elsewhere_is_asked_for_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COMMONPLACE_ROOT", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    project = tmp_path / "cloned" / "sub"
    project.mkdir(parents=True)
    (tmp_path / "cloned" / ".commonplace").mkdir()
    assert memory_root(None) == tmp_path / ".commonplace"
    assert memory_root(None, str(project)) == tmp_path / "cloned"
    assert memory_root("/given", str(project)) == "/given"
    (tmp_path / "cloned" / ".commonplace").rmdir()
    with pytest.raises(NotFound, match=f"{project} and the folders above it hold no memory"):
        memory_root(None, str(project))


def test_the_log_has_when_why_and_what(told: Agent) -> None:
    told.event("prompt", "two", prompt=QUESTION)
    told.event("prompt", "two", prompt="Write a haiku about autumn rain.")
    shown, silent = told.log().entries()
    assert (shown["host"], shown["session"], shown["event"]) == (told.host.name, "two", "prompt")
    assert shown["shown"][0]["citation"].endswith("#L2-L3")
    assert shown["shown"][0]["score"] > 0
    assert (silent["shown"], silent["characters"]) == ([], 0)
    # what a person types may hold secrets
    assert "haiku" not in json.dumps([shown, silent])


def test_the_log_stays_small(told: Agent) -> None:
    log = told.log()
    for number in range(3):
        log.add(session=str(number), shown=[], filler="x" * LARGEST)
    assert [entry["session"] for entry in log.entries()] == ["2"]


# Hosts with payloads of their own


def of_cursor(name: str, **more: object) -> dict[str, Any]:
    payload: dict[str, Any] = {"hook_event_name": name, "conversation_id": "c0ffee-1"}
    return payload | {"workspace_roots": ["/home/me/shop"], "cursor_version": "3.7"} | more


def test_cursor_tells_what_is_said_and_takes_a_text_at_the_start(tmp_path: Path) -> None:
    root, cursor = tmp_path / "memory", find_host("cursor")

    def answer(name: str, **more: object) -> dict[str, Any] | None:
        found, problems = handle(cursor, of_cursor(name, **more), str(root), project=False)
        assert not problems
        return found

    assert answer("sessionStart") == {}
    assert answer("beforeSubmitPrompt", prompt=FACT) == {"continue": True}
    assert answer("afterAgentResponse", text="Kept in \ud83d mind.") == {}
    assert answer("afterAgentResponse", text=" ") == {}
    assert answer("stop") is None
    with commonplace.open(root) as store:
        (session,) = store.sessions()
        assert (session.host, session.id, session.cwd) == ("cursor", "c0ffee-1", "/home/me/shop")
        said = [(one.role, one.text) for one in store.transcript(session.path) if one.text]
    assert said == [("user", FACT), ("assistant", "Kept in ? mind.")]
    found = answer("sessionStart", conversation_id="another")
    assert found
    assert f"Earlier session: {FACT}" in found["additional_context"]
    # and what Cursor was told reaches the others
    claude = Agent(tmp_path)
    assert FACT in claude.event("prompt", "two", prompt=QUESTION)


def test_cursor_running_the_hooks_of_claude_code_is_not_answered(told: Agent) -> None:
    more = {"prompt": QUESTION, "cursor_version": "3.7"}
    shown = told.event("prompt", "two", **more)
    assert (shown == "") == (told.host.name == "claude-code")


# The command


def call(root: Path, stdin: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = [str(COMMONPLACE), "--root", str(root), "hook", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, check=False)


@pytest.mark.parametrize(
    ("stdin", "said"),
    [
        (b"", "Expecting value"),
        (b"nonsense", "Expecting value"),
        (b"[]", "a JSON object"),
        (b"\xff", "decode"),
        (b'{"hook_event_name": "Stop"}', "no text 'session_id'"),
        (b"{}", "no text 'hook_event_name'"),
    ],
)
def test_a_payload_that_is_none_fails_nobody(tmp_path: Path, stdin: bytes, said: str) -> None:
    done = call(tmp_path, stdin, "claude-code")
    assert (done.returncode, done.stdout) == (0, b"")
    assert said in done.stderr.decode()
    assert len(done.stderr.splitlines()) == 1


def test_a_host_that_is_none_is_told_before_its_payload(tmp_path: Path) -> None:
    for stdin in (b"", b"[]", b"{}"):
        done = call(tmp_path, stdin, "foo")
        assert (done.returncode, done.stdout) == (0, b"")
        assert "there is no host 'foo'" in done.stderr.decode()


def test_a_payload_that_is_none_is_in_the_log_for_doctor(tmp_path: Path) -> None:
    root = tmp_path / "memory"
    call(root, b"{}", "claude-code")
    assert not root.exists()
    root.mkdir()
    for stdin, host in ((b"nonsense", "claude-code"), (b"{}", "claude-code"), (b"{}", "nobody")):
        call(root, stdin, host)
    with commonplace.open(root) as store:
        errors = HookLog(store).errors()
    assert [error["host"] for error in errors] == ["claude-code", "claude-code", "nobody"]
    told = ("Expecting value", "no text 'hook_event_name'", "there is no host")
    assert all(text in error["error"] for text, error in zip(told, errors, strict=True))


def test_a_root_that_cannot_be_fails_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    payload = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": "/"}
    for root in (tmp_path / "file", Path("/proc/nowhere")):
        done = call(root, json.dumps(payload).encode(), "claude-code")
        assert (done.returncode, done.stdout) == (0, b"")
        assert done.stderr.startswith(b"commonplace: hook claude-code: ")
    assert call(tmp_path, b"{}", "nobody").returncode == 0


def test_an_error_is_in_the_log_for_doctor(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    (tmp_path / "one.jsonl").write_text("no transcript at all\n")
    # a session in which nobody has said anything yet
    for kind in ("session start", "stop", "session end"):
        agent.event(kind, "one")
        assert not agent.problems
    agent.event("prompt", "one", prompt=QUESTION)
    agent.event("session end", "one")
    assert agent.problems
    (error,) = agent.log().errors()
    assert (error["host"], error["event"]) == ("claude-code", "session end")
    assert error["error"] in agent.problems


@pytest.mark.parametrize("options", [["--min-confidence", "1.5"], ["--unknown"], ["one", "more"]])
def test_options_of_another_version_block_no_prompt(tmp_path: Path, options: list[str]) -> None:
    """Claude Code and Codex take exit code 2 for a prompt that is not to be sent."""
    done = call(tmp_path, b"{}", "claude-code", *options)
    assert (done.returncode, done.stdout) == (0, b"")
    assert len(done.stderr.splitlines()) == 1
