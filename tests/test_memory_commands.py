"""Commands of the memory systems: what they show, change and answer, for people and programs."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace.cli import load_commands
from commonplace.cli.memory_answers import print_answer
from commonplace.cli.memory_commands import LEFT_OUT, _is_nothing
from commonplace.cli.parser import CommandGroup
from commonplace.memories import find_system, system_names
from commonplace.tools import tools_of
from tests.test_cli import Shell, stdin

# What each system needs besides
OPTIONS = {
    "facts-and-episodes": (),
    "four-layers": (),
    "overview-and-detail": ("--session", "s1", "--cwd", "/w"),
    "profile": (),
    "world-and-agents": ("--agent", "planner"),
}


@pytest.fixture
def shell(root: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(root, capsys)


def inner(name: str) -> CommandGroup:
    group = load_commands()[name]
    assert isinstance(group, CommandGroup)
    return group


@pytest.mark.parametrize("system", system_names())
def test_every_tool_is_a_command(shell: Shell, system: str) -> None:
    name = system.replace("_", "-")
    commands = inner(name).load()
    tools = [tool for tool in tools_of(find_system(system)) if tool not in LEFT_OUT]
    assert len(commands) == len(tools) + 1
    listed = shell(name, "--help")
    for short, command in commands.items():
        assert f"    {short} " in listed
        out = shell(name, short, "--help")
        assert out.startswith(f"usage: commonplace {name} {short}")
        assert command.help[:30] in out
        assert "--json" in out
    for tool in tools:
        # what a model calls is no name on the command line
        assert tool in commands or f"`{tool}`" not in "".join(
            shell(name, short, "--help") for short in commands
        )


@pytest.mark.parametrize("name", OPTIONS)
def test_an_empty_memory_says_so(shell: Shell, name: str) -> None:
    assert shell(name, "show", *OPTIONS[name], code=1) == ""
    assert "nothing is remembered yet" in shell.err
    assert shell.json(name, "show", *OPTIONS[name], code=1) == []


def test_a_profile(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    light = ("profile", "remember", "User prefers light mode", "--category", "preference")
    assert shell(*light).startswith("wrote MEMORY.md#L8  [Preference]  version ")
    assert shell(*light).startswith("there already: MEMORY.md#L8  [Preference]")
    out = shell("profile", "remember", "User prefers dark mode", "--category", "preference")
    assert "\n  in place of: User prefers light mode  MEMORY.md#L8\n" in out
    assert "\nthe old text is in .commonplace/history/MEMORY.md/" in out
    assert out.rstrip().endswith(f" below {shell.root}")
    assert shell("profile", "show") == "Preference\n  User prefers dark mode  MEMORY.md#L8\n"
    before = "  User prefers light mode  MEMORY.md#L9, until "
    assert before in shell("profile", "show", "--past")
    assert "light mode" in shell("profile", "recall", "mode", "--at", "2020-01-01")
    assert "light mode" not in shell("profile", "recall", "dark mode")
    shell("profile", "recall", "mode", "--mode", "grep", "--at", "2020-01-01", code=2)
    (section,) = shell.json("profile", "show")
    passage = {"text": "User prefers dark mode", "citation": "MEMORY.md#L8"}
    assert section == {"title": "Preference", "passages": [passage]}
    assert "User prefers dark mode" in shell("profile", "recall", "dark", "mode")
    answer = shell.json("profile", "recall", "dark mode")
    assert answer["versions"].keys() == {"MEMORY.md"}
    assert "Nothing matches" in shell("profile", "recall", "zebra", code=1)
    assert shell("profile", "recall", "--mode", "full").startswith("---\n")
    stdin(monkeypatch, b'[{"role": "user", "content": "I prefer tea. This time use English."}]')
    out = shell("profile", "flush", "-")
    assert out.startswith("kept: I prefer tea.  MEMORY.md#L")
    assert "left out: This time use English.  ephemeral:this-time" in out
    stdin(monkeypatch, b'[{"role": "user", "content": "I prefer light mode."}]')
    assert "\n  in place of: User prefers dark mode  MEMORY.md#L8\n" in shell(
        "profile", "flush", "-"
    )
    stdin(monkeypatch, b'[{"role": "user", "content": "Forget that I prefer tea. Forget that."}]')
    out = shell("profile", "flush", "-")
    assert out.startswith("asked to forget: Forget that I prefer tea.\nwould erase: - I prefer tea")
    assert "to erase it, give forget 'I prefer tea' with --token " in out


def test_a_grep_that_finds_nothing_says_so_to_scripts(shell: Shell) -> None:
    shell("profile", "remember", "User owns the authentication service")
    assert "authentication" in shell("profile", "recall", "AUTHENTICAT", "--mode", "grep")
    assert "No line holds" in shell("profile", "recall", "zebra", "--mode", "grep", code=1)
    assert "No line holds" in shell("facts-and-episodes", "grep", "zebra", code=1)


def test_messages_name_commands_and_options(shell: Shell) -> None:
    shell("profile", "recall", code=2)
    assert "--mode full" in shell.err
    for number in range(3):
        shell("profile", "remember", f"User likes dish {number} of the menu {number}{number}")
    out = shell("profile", "recall", "dish", "--limit", "1")
    assert "[There is more: the same command with --limit 2.]" in out


def test_a_text_is_forgotten_in_one_command(
    shell: Shell, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell("profile", "remember", "The dog is called Rex")
    stdin(monkeypatch, b"")
    out = shell("profile", "forget", "rex")
    assert "would erase: - The dog is called Rex" in out
    assert "--token " in out
    out = shell("profile", "forget", "rex", "--yes")
    assert out.startswith("erased: - The dog is called Rex")
    assert "Rex" not in (root / "MEMORY.md").read_text()
    shell("profile", "forget", "rex", "--yes", code=1)


@pytest.mark.parametrize("typed", ["y\n", "n\n", "\n", ""])
def test_a_person_is_asked(shell: Shell, monkeypatch: pytest.MonkeyPatch, typed: str) -> None:
    shell("profile", "remember", "The dog is called Rex")
    terminal = io.StringIO(typed)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)
    out = shell("profile", "forget", "rex")
    assert "would erase: - The dog is called Rex" in out
    assert "Erase this for good?" in shell.err
    agrees = typed.startswith("y")
    assert ("erased: - The dog" in out) == agrees
    assert ("The dog is called Rex" in shell("profile", "show", code=int(agrees))) != agrees


def test_a_conversation_that_is_none_says_what_would_be_one(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin(monkeypatch, b"hello\nI prefer tea\n")
    shell("profile", "flush", code=2)
    assert '[{"role": "user", "content": "…"}]' in shell.err


def test_a_profile_of_one_of_many_users(shell: Shell) -> None:
    shell("profile", "--user", "ann", "remember", "likes tea")
    shell("profile", "remember", "--user=bo", "likes rain", "--folder", "here")
    assert "likes tea" in shell("profile", "show", "--user", "ann")
    assert "users/bo/MEMORY.md" in shell("profile", "--folder", "here", "--user", "bo", "show")
    shell("profile", "show", code=1)


def test_a_conversation_is_flushed_from_where_it_is(
    shell: Shell, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = json.dumps({"role": "user", "content": "I prefer tea.", "session": "0198c1d2-7aaa"})
    (root / "sessions/tea").mkdir(parents=True)
    (root / "sessions/tea/messages.jsonl").write_text(line + "\n")
    for number, given in enumerate(("sessions/tea", "0198c1d2")):
        done = shell.json("profile", "flush", given, "--user", f"u{number}")
        assert [one["text"] for one in done["remembered"]] == ["I prefer tea."]
    outside = tmp_path / "chat.json"
    outside.write_text(f"[{line}]")
    assert shell.json("profile", "flush", str(outside))["messages"] == 1
    shell("profile", "flush", "none.json", code=2)
    assert "there is no transcript 'none.json'" in shell.err
    stdin(monkeypatch, b"")
    shell("profile", "flush", code=2)
    assert "messages is empty" in shell.err


def test_a_flush_begins_a_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chat = tmp_path / "chat.json"
    chat.write_text(json.dumps([{"role": "user", "content": "I prefer tea."}]))
    new = Shell(tmp_path / "new", capsys)
    assert "kept: I prefer tea." in new("profile", "flush", str(chat))
    assert (tmp_path / "new/MEMORY.md").is_file()


def test_facts_and_episodes(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    name = ("facts-and-episodes", "--folder", "data/memory")
    stdin(monkeypatch, b"# User\n\n- Name: Zhang San\n")
    assert shell(*name, "write", "facts/user.md").startswith("wrote facts/user.md  version ")
    shell(*name, "append", "episodes/2026-02.md", "Fixed the logger.")
    shell(*name, "patch", "facts/user.md", "--old", "Zhang", "--new", "Li")
    assert "- Name: Li San" in shell(*name, "read", "facts/user.md")
    out = shell(*name, "show")
    assert "Episodes\n  " in out
    assert "\nFacts\n  name  facts/user.md  " in out
    listed = shell.json(*name, "list")
    assert [file["path"] for file in listed] == ["episodes/2026-02.md", "facts/user.md"]
    stale = ("--expected-version", listed[0]["version"])
    shell(*name, "write", "facts/user.md", "x", *stale, code=2)
    assert "facts/user.md" in shell.err
    assert "data/memory" not in shell.err
    assert "\n\npath: facts/user.md\n" in shell(*name, "list")
    shell(*name, "read", "facts/none.md", code=2)
    assert "`list` shows what does" in shell.err


def test_the_world_and_agents(shell: Shell) -> None:
    shell("world-and-agents", "show", code=2)
    assert "say whose memory it is: --agent ID" in shell.err
    agent = ("--agent", "planner")
    shell("world-and-agents", "learn-fact", "people", "- Mara runs the night shift.", *agent)
    shell("world-and-agents", "remember", "Met Mara.", *agent)
    shell("world-and-agents", "reflect", "Ask Mara first.", *agent)
    shell("world-and-agents", "reflect", " ", *agent, code=2)
    assert "content is empty" in shell.err
    out = shell("world-and-agents", "show", *agent)
    assert "World: people\n  - Mara runs the night shift.  world/people.md\n" in out
    assert "MEMORY.md\n  Ask Mara first.  agents/planner/MEMORY.md\n" in out
    assert "Met Mara." in out
    shell("world-and-agents", "learn-fact", "people", "Mara.\n\n---\n\n## Nobody\n", *agent)
    out = shell("world-and-agents", "show", *agent)
    assert "World: people\n  Mara.\n\n  ---\n\n  ## Nobody\n  world/people.md\n" in out
    assert "Mara" in shell("world-and-agents", "search", "Mara", "-n", "1", *agent)
    shell("world-and-agents", "recall", "--since", "nope", *agent, code=2)
    assert "`since`: a day is written like 2026-02-24" in shell.err
    shell("world-and-agents", "recall", code=2)
    assert "--agent ID; there are planner" in shell.err


def test_four_layers(shell: Shell) -> None:
    rule = ("four-layers", "append", "procedural", "Run the tests.")
    shell(*rule, "--metadata", '{"condition": "before a commit"}')
    assert "\nid: e1\n" in shell(
        "four-layers", "append", "episodic", "Fixed the logger.", "--id", "e1"
    )
    assert "key: format" in shell("four-layers", "learn", "format", "CSV")
    assert shell("four-layers", "show").split("\n\n")[:2] == [
        "Semantic\n  format: CSV  facts/format.md#L1",
        "Procedural\n  before a commit: Run the tests.  procedures/rules.md#L3",
    ]
    assert "value: CSV" in shell("four-layers", "recall", "format")
    assert shell("four-layers", "recall", "nothing", code=1) == ""
    assert shell.json("four-layers", "search", "episodic", "logger")[0]["id"] == "e1"
    assert shell.json("four-layers", "search", "episodic", "zebra", code=1) == []
    assert "episodic entry count: 1" in shell("four-layers", "stats")
    done = shell.json("four-layers", "compact", "episodic", "--keep-last", "0")
    assert (done["compacted"], done["summary"] is None) == (1, False)
    shell("four-layers", "append", "episodic", "more")
    options = ("--keep-last", "0", "--no-summarize-older")
    assert shell.json("four-layers", "compact", "episodic", *options)["summary"] is None
    assert shell.json("four-layers", "clear", "--type", "semantic")["cleared"] == {"semantic": 1}


@pytest.mark.parametrize(
    ("typed", "given", "left"),
    [
        ("n\n", (), ["Ann", "vim"]),
        ("", (), ["Ann", "vim"]),
        ("y\n", (), []),
        ("y\n", ("--type", "episodic"), ["vim"]),
        ("", ("--yes",), []),
    ],
)
def test_a_person_is_asked_before_layers_are_cleared(
    shell: Shell,
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    given: tuple[str, ...],
    left: list[str],
) -> None:
    shell("four-layers", "append", "episodic", "met Ann")
    shell("four-layers", "learn", "editor", "vim")
    terminal = io.StringIO(typed)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)
    shell("four-layers", "clear", *given)
    what = "episodic" if "episodic" in given else "everything"
    assert shell.err == ("" if "--yes" in given else f"Clear {what}? [y/N] ")
    shown = shell("four-layers", "show", code=0 if left else 1)
    assert [word for word in ("Ann", "vim") if word in shown] == left


@pytest.mark.parametrize(
    ("arguments", "error_text"),
    [
        (("clear", "episodic"), "too many: commonplace four-layers clear; --type takes it"),
        (("append", "diary", "x"), "argument TYPE: 'diary' is none of episodic, procedural"),
        (("append", "working", "x"), "'working' is none of episodic, procedural, semantic"),
        (("append",), "the argument TYPE is missing: commonplace four-layers append TYPE"),
        (("append", "episodic", "x", "--metadata", "[1]"), "'[1]' is no object of JSON"),
        (("append", "episodic", "x", "--metadata", "{"), "'{' is no object of JSON"),
        (("append", "episodic", "x", "y"), "'y' is an argument too many"),
        (("append", "episodic", "x", "--idd", "y"), "no option --idd; did you mean '--id'?"),
        (("compact", "episodic", "--keep-last", "-1"), "whole number of 0 or more"),
        (("search", "episodic", "x", "--scoring", "y"), "argument --scoring: 'y' is none of"),
        (("shwo",), "there is no command 'four-layers shwo'; did you mean 'show'?"),
        (("zzz",), "four-layers zzz'; commonplace four-layers --help lists them"),
        ((), "say what to do: commonplace four-layers show, append, search"),
        (("--folder", "x"), "say what to do"),
        (("--agent",), "say what to do"),
    ],
)
def test_a_wrong_command_is_told_what_is_right(
    shell: Shell, arguments: tuple[str, ...], error_text: str
) -> None:
    shell("four-layers", *arguments, code=2)
    assert error_text in shell.err
    assert len(shell.err.splitlines()) == 1


def test_a_session(shell: Shell) -> None:
    own = ("--session", "s1", "--cwd", "/w")
    note = ("overview-and-detail", "write-detail", "auth", "JWT, rotated.")
    out = shell(*note, "--keywords", "jwt", "--keywords", "token", *own)
    assert out.startswith("wrote detail/auth.md#L1  version ")
    assert "Citation: detail/auth.md#L" in shell("overview-and-detail", "recall", "token", *own)
    assert "Found 0 result" in shell("overview-and-detail", "recall", "zebra", *own, code=1)
    shell("overview-and-detail", "commit", "begun", *own)
    assert "begun" in shell("overview-and-detail", "context", "--level", "branch", *own)
    out = shell("overview-and-detail", "show", *own)
    assert out.startswith("Overview\n  # Working Memory\n")
    assert "Notes: detail/auth.md" in out
    shell("overview-and-detail", "show", "--cwd", "/w", code=2)
    assert "--session ID; there are s1" in shell.err


def test_what_is_forgotten_is_shown_first(capsys: pytest.CaptureFixture[str]) -> None:
    passage = {"citation": "MEMORY.md#L8", "text": "The dog is called Rex."}
    shown = {"success": True, "erased": False, "passages": [passage], "old_versions": 2}
    print_answer({**shown, "token": "1a2b"})
    assert capsys.readouterr().out.splitlines() == [
        "would erase: The dog is called Rex.  MEMORY.md#L8",
        "would erase: 2 old versions that hold it",
        "to erase it, give the same command with --token 1a2b",
    ]
    print_answer({**shown, "erased": True, "old_versions": 0})
    assert capsys.readouterr().out == "erased: The dog is called Rex.  MEMORY.md#L8\n"
    nothing = {"success": True, "erased": False, "passages": [], "similar": ["a.md#L1: a dog"]}
    print_answer(nothing)
    assert capsys.readouterr().out == "similar:\n  a.md#L1: a dog\n"


def test_of_what_is_forgotten_the_exit_code_tells_whether_there_was_any() -> None:
    nothing = {"success": True, "erased": False, "passages": []}
    assert _is_nothing(nothing)
    assert not _is_nothing({**nothing, "token": "1a2b"})
    assert not _is_nothing({**nothing, "erased": True})


def test_a_reading_command_makes_no_memory(shell: Shell, tmp_path: Path) -> None:
    shell.root = tmp_path / "none"
    shell("profile", "recall", "tea", code=2)
    assert not shell.root.exists()
    shell("profile", "remember", "likes tea")
    assert (shell.root / "MEMORY.md").exists()


def test_the_systems_are_imported_only_for_their_commands() -> None:
    program = (
        "import sys; from commonplace.cli import run; run(['--help']); run(['search', '--help']);"
        "print([name for name in sys.modules if 'memories' in name or name == 'msgspec'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("shell_name", ["bash", "zsh"])
def test_completion_knows_the_commands_of_a_memory(shell: Shell, shell_name: str) -> None:
    script = shell("--completion", shell_name)
    for word in ("profile", "remember", "flush", "learn-fact", "write-detail", "--keep-last"):
        assert word in script
