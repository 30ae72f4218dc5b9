"""`commonplace doctor`: every door that is connected is tried, and what is wrong is said."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from commonplace.cli import run
from commonplace.doors.doctor import Finding, check
from commonplace.doors.hook import handle, memory_root
from commonplace.doors.hosts import NAMES, find_host
from commonplace.doors.install import folder, hooks_off, installed_files, mcp_path
from commonplace.errors import FormatError

SERVER = """\
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        tools = [{"name": "search"}] if request["method"] == "tools/list" else []
        print(json.dumps({"id": request["id"], "result": {"tools": tools} if tools else {}}))
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("COMMONPLACE_ROOT", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def program(home: Path, body: str) -> str:
    """Write a program that is called as ours, and return its path."""
    path = home / "bin" / "commonplace"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!{sys.executable}\n{body}")
    path.chmod(0o755)
    return str(path)


def connected(name: str, called: str, *, with_mcp: bool = False) -> list[Finding]:
    host = find_host(name)
    for file in installed_files(host, called, None, None, with_mcp=with_mcp):
        file.install()
    return check(host, None)


@pytest.mark.parametrize("name", [name for name in NAMES if find_host(name).events])
def test_a_connected_host_answers(
    name: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["doctor"]) == 1
    assert run(["install", name]) == 0
    capsys.readouterr()
    assert run(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["hosts"]
    hooks, server = [one for one in found if one["connected"]]
    for own in (hooks, server):
        assert (own["host"], own["problem"]) == (name, "")
        assert own["settings"].startswith(str(home))
        assert "answers in " in own["detail"]
    assert "tools (search, " in server["detail"]


def test_the_memory_is_the_one_that_was_named_at_the_installation(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COMMONPLACE_ROOT", str(home / "other"))
    run(["install", "codex"])
    monkeypatch.delenv("COMMONPLACE_ROOT")
    assert f"the memory is in {home}/other\n" in capsys.readouterr().out
    assert f"--root {home}/other hook codex" in (home / ".codex" / "hooks.json").read_text()


def test_a_project_that_is_connected_is_tried(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "project").mkdir()
    monkeypatch.chdir(home / "project")
    program(home, SERVER)
    monkeypatch.setenv("PATH", f"{home}/bin:{os.environ['PATH']}")
    run(["install", "codex", "--project"])
    assert f"the memory is in {home}/project\n" in capsys.readouterr().out
    assert run(["doctor"]) == 0
    assert f"{home}/project/.codex/hooks.json  answers in " in capsys.readouterr().out
    (home / "project" / "sub").mkdir()
    assert memory_root(None, str(home / "project" / "sub")) == home / "project"


def test_a_project_has_its_memory_whatever_the_environment_says(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "project").mkdir()
    monkeypatch.chdir(home / "project")
    monkeypatch.setenv("COMMONPLACE_ROOT", str(home / "other"))
    run(["install", "codex", "--project"])
    assert f"the memory is in {home}/project\n" in capsys.readouterr().out
    assert memory_root(None, str(home / "project")) == home / "project"
    server = tomllib.loads((home / "project" / ".codex" / "config.toml").read_text())
    assert server["mcp_servers"]["commonplace"]["args"] == ["mcp", "--project"]
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "status"}}
    done = subprocess.run(
        [sys.executable, "-m", "commonplace", "mcp", "--project"],
        input=json.dumps(request).encode() + b"\n",
        capture_output=True,
        check=True,
    )
    answer = json.loads(done.stdout)["result"]["structuredContent"]
    assert answer["root"] == str(home / "project")
    assert not (home / "other").exists()


def test_a_home_is_no_project(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["install", "codex", "--project"]) == 2
    assert "leave --project out" in capsys.readouterr().err
    assert [*home.iterdir()] == []


def test_a_tilde_in_the_variable_is_the_home(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COMMONPLACE_ROOT", "~/notes")
    run(["install", "codex"])
    assert f"the memory is in {home}/notes\n" in capsys.readouterr().out
    assert f"--root {home}/notes hook codex" in (home / ".codex" / "hooks.json").read_text()


@pytest.mark.usefixtures("home")
def test_the_nearest_host_is_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("install", "uninstall"):
        assert run([command, "claud-code"]) == 2
        assert "did you mean 'claude-code'?" in capsys.readouterr().err
    assert run(["plugin", "agent-plugin", "folder"]) == 2
    assert "did you mean 'agent-plugins'?" in capsys.readouterr().err
    assert run(["install", "xyz"]) == 2
    assert capsys.readouterr().err.endswith("vscode, hermes\n")


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("name", ["codex", "vscode", "opencode"])
def test_another_server_of_our_name_is_told(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    host = find_host(name)
    path = mcp_path(host, folder(host, None), in_project=False)
    path.parent.mkdir(parents=True)
    key = host.settings.servers
    entry = '{"mcp": {"commonplace": {"command": "own"}}}'.replace("mcp", key)
    path.write_text(f'[{key}.commonplace]\ncommand = "own"\n' if name == "codex" else entry)
    before = path.read_text()
    assert run(["install", name]) == 0
    assert "another MCP server called commonplace" in capsys.readouterr().err
    assert path.read_text() == before
    run(["doctor"])
    assert f"{path}  another MCP server is called commonplace" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["vscode", "cursor"])
def test_a_least_confidence_is_for_hosts_that_recall(
    name: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["install", name, "--min-confidence", "0.5"]) == 2
    assert "takes nothing for a prompt" in capsys.readouterr().err
    assert [*home.iterdir()] == []


def test_events_without_a_hook_are_told(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["install", "codex"])
    path = home / ".codex" / "hooks.json"
    settings = json.loads(path.read_text())
    del settings["hooks"]["Stop"]
    path.write_text(json.dumps(settings))
    capsys.readouterr()
    assert run(["doctor"]) == 0
    assert "not called at Stop, which `commonplace install` adds" in capsys.readouterr().out
    run(["install", "codex"])
    run(["doctor"])
    assert "not called at" not in capsys.readouterr().out


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("name", "file", "text"),
    [
        ("claude-code", "settings.json", '{"disableAllHooks": true}'),
        ("codex", "config.toml", "[features]\nhooks = false\n"),
        ("codex", "config.toml", "features.codex_hooks = false\n"),
        ("gemini", "settings.json", '{"hooksConfig": {"enabled": false}}'),
    ],
)
def test_a_host_that_runs_no_hooks_is_told(
    name: str, file: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder(find_host(name), None) / file
    path.parent.mkdir()
    path.write_text(text)
    assert run(["install", name]) == 0
    told = f"{find_host(name).title} runs no hooks: "
    assert told in capsys.readouterr().err
    assert run(["doctor"]) == 2
    (line,) = [line for line in capsys.readouterr().out.splitlines() if told in line]
    assert f" in {path}; set it to " in line
    off, on = ("true", "false") if "true" in text else ("false", "true")
    path.write_text(path.read_text().replace(off, on, 1))
    assert run(["doctor"]) == 0
    assert told not in capsys.readouterr().out


def test_what_a_project_says_of_hooks_counts_first(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = home / "project"
    (project / ".claude").mkdir(parents=True)
    monkeypatch.chdir(project)
    host = find_host("claude-code")
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text('{"disableAllHooks": true}')
    assert f"{home}/.claude/settings.json" in hooks_off(host, project)
    (project / ".claude" / "settings.json").write_text('{"disableAllHooks": false}')
    assert hooks_off(host, project) == ""
    assert hooks_off(host, None)
    (project / ".claude" / "settings.local.json").write_text('{"disableAllHooks": true}')
    assert "settings.local.json" in hooks_off(host, project)
    (project / ".claude" / "settings.local.json").write_text("{,}")
    with pytest.raises(FormatError, match=r"settings\.local\.json: line 1, column 2"):
        hooks_off(host, project)


def test_hosts_are_told_of_where_the_memory_is_none(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["install", "codex"])
    shutil.rmtree(home / ".commonplace")
    (home / ".commonplace").write_text("a file")
    assert run(["doctor"]) == 2
    out = capsys.readouterr().out
    assert "codex        " in out
    assert "the memory: " in out.splitlines()[-1]


@pytest.mark.parametrize(
    "command",
    [
        "commonplace hook claude-code ; touch ran",
        "commonplace hook claude-code & touch ran",
        "commonplace --root $(touch ran) hook claude-code",
        "./commonplace hook claude-code",
    ],
)
def test_what_a_project_brings_along_is_not_run(
    command: str, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = home / "cloned"
    (project / ".claude").mkdir(parents=True)
    monkeypatch.chdir(project)
    group = {"hooks": [{"type": "command", "command": command}]}
    settings = json.dumps({"hooks": {"SessionStart": [group]}})
    (project / ".claude" / "settings.json").write_text(settings)
    server = {"command": "./commonplace", "args": ["mcp"]}
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"commonplace": server}}))
    own = project / "commonplace"
    own.write_text("#!/bin/sh\ntouch ran\n")
    own.chmod(0o755)
    assert run(["doctor"]) == 2
    assert capsys.readouterr().out.count("not run, for `install --project`") == 2
    assert not (project / "ran").exists()


def test_a_broken_file_is_refused_before_anything_is_made(home: Path) -> None:
    (home / ".codex").mkdir()
    (home / ".codex" / "hooks.json").write_text("{,}")
    assert run(["install", "codex"]) == 2
    assert [path.name for path in home.iterdir()] == [".codex"]


def test_hooks_and_server_have_the_same_memory_everywhere(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "cloned" / ".commonplace").mkdir(parents=True)
    monkeypatch.chdir(home / "cloned")
    run(["install", "codex"])
    server = tomllib.loads((home / ".codex" / "config.toml").read_text())["mcp_servers"]
    assert server["commonplace"]["args"] == ["--root", f"{home}/.commonplace", "mcp"]
    # whatever variables the host is started with
    hooks = (home / ".codex" / "hooks.json").read_text()
    assert hooks.count(f"--root {home}/.commonplace hook codex") == len(find_host("codex").events)
    skill = (home / ".codex" / "skills" / "commonplace" / "SKILL.md").read_text()
    commands = re.findall(r"`commonplace (--root \S+)? ?\w", skill)
    assert {*commands} == {f"--root {home}/.commonplace"}


def test_an_edited_skill_is_kept_and_told(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["install", "codex"])
    skill = home / ".codex" / "skills" / "commonplace" / "SKILL.md"
    for number, command in enumerate(("install", "uninstall")):
        with skill.open("a") as file:
            file.write(f"- Mine, {number}.\n")
        assert run([command, "codex"]) == 0
        assert (
            f"{skill} was edited; that text is kept in SKILL.md.edited-" in capsys.readouterr().err
        )
    kept = {path.read_text().splitlines()[-1] for path in skill.parent.iterdir()}
    assert kept == {"- Mine, 0.", "- Mine, 1."}


def test_what_the_skill_says_to_write_is_in_the_memory_of_the_hooks(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "cloned" / ".commonplace").mkdir(parents=True)
    monkeypatch.chdir(home / "cloned")
    run(["--root", str(home / "my notes"), "install", "claude-code"])
    skill = (home / ".claude" / "skills" / "commonplace" / "SKILL.md").read_text()
    (line,) = re.findall(r"`commonplace (.* append MEMORY.md .*)` \|", skill)
    assert run(shlex.split(line)) == 0
    starts = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(home)}
    root = str(home / "my notes")
    answer, _ = handle(find_host("claude-code"), starts, root, project=False)
    assert "Answer in German." in str(answer)


def test_the_skill_of_a_project_names_no_folder_of_one_machine(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "project").mkdir()
    monkeypatch.chdir(home / "project")
    run(["install", "codex", "--project"])
    skill = home / "project" / ".codex" / "skills" / "commonplace" / "SKILL.md"
    assert "--root" not in skill.read_text()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("import sys; sys.exit('no module')", "exit code 1: no module"),
        ("print('hello')", "no JSON object"),
        ("print('[]')", "no JSON object"),
        ("import sys; print('warning', file=sys.stderr)", "exit code 0: warning"),
    ],
)
def test_a_hook_that_fails_is_told(home: Path, body: str, said: str) -> None:
    (found,) = connected("codex", program(home, body))
    assert said in found.problem


def test_a_program_that_is_gone_is_told(home: Path) -> None:
    (found,) = connected("codex", str(home / "gone" / "commonplace"))
    assert "exit code 127" in found.problem


def test_settings_that_are_broken_are_told(home: Path) -> None:
    (home / ".codex").mkdir()
    (home / ".codex" / "hooks.json").write_text("{,}")
    (home / ".codex" / "config.toml").write_text("a = ")
    hooks, servers = check(find_host("codex"), None)
    assert "line 1, column 2" in hooks.problem
    assert "line 1, column 5" in servers.problem
    assert run(["doctor"]) == 2


@pytest.mark.parametrize("name", [name for name in NAMES if find_host(name).settings.mcp[0]])
def test_the_server_is_asked_for_its_tools(name: str, home: Path) -> None:
    *_, server = connected(name, program(home, SERVER), with_mcp=True)
    assert (server.problem, server.connected) == ("", True)
    assert server.detail.endswith("1 tools (search)")


def test_a_server_that_says_nothing_is_told(home: Path) -> None:
    _, server = connected("codex", program(home, "pass"), with_mcp=True)
    assert server.problem == "it does not list its tools"
    (home / "bin" / "commonplace").unlink()
    _, server = check(find_host("codex"), None)
    assert server.problem == "it does not start: No such file or directory"


def test_errors_of_hooks_are_shown(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["install", "claude-code"])
    (home / "one.jsonl").write_text("no transcript at all\n")
    payload = {"session_id": "s", "cwd": str(home), "transcript_path": str(home / "one.jsonl")}
    for name in ("UserPromptSubmit", "SessionEnd"):
        event = payload | {"hook_event_name": name}
        _, problems = handle(find_host("claude-code"), event, None, project=False)
    (problem,) = problems
    capsys.readouterr()
    assert run(["doctor"]) == 0
    assert problem in capsys.readouterr().out
