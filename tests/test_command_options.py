"""Options on a command line, as they are read without argparse, and what a command loads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace.cli import run
from tests.test_cli import Shell


@pytest.fixture
def shell(root: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    (root / "user.md").write_text("# User\n\n- My name: Mara\n\n# Other\n\nName a ferry, ferry\n")
    return Shell(root, capsys)


def test_values_of_options_joined_and_missing(shell: Shell) -> None:
    assert shell("search", "my name", "-m1", "--json").count('"citation"') == 1
    assert shell("search", "my name", "--limit=1", "--json").count('"citation"') == 1
    assert shell("grep", "-iFc", "FERRY", "-m=1", "user.md") == "1\n"
    for words, told in (
        (["-m"], "-m needs a value: -m N\n"),
        (["--unit", "--json"], "--unit needs a value: --unit turn|message; a value that begins"),
        (["--unit", "page"], "argument --unit: 'page' is none of turn, message"),
        (["--json=1"], "--json takes no value: '--json=1'"),
        (["-5"], "there is no option -5"),
        (["--porject", "x"], "there is no option --porject; did you mean '--project'?"),
        (["--host", "x"], 'there is no option --host; text that begins with "-" goes after'),
        (["-m", "-5"], "argument --limit/-n/-m: '-5' is no whole number of 1 or more"),
    ):
        shell("search", "name", *words, code=2)
        assert told in shell.err


def test_a_search_loads_little(shell: Shell) -> None:
    slow = {"argparse", "enum", "rich", "shtab", "signal", "threading", "typing", "warnings"}
    program = (
        "import sys; from commonplace.cli import run; "
        f"run(['--root', {str(shell.root)!r}, 'search', 'name']); print(*sys.modules)"
    )
    # a bare interpreter may load some of them for its environment
    shown = [
        subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
        for text in ("import sys; print(*sys.modules)", program)
    ]
    bare, ours = ({*one.stdout.splitlines()[-1].split()} for one in shown)
    assert not slow & (ours - bare)


def test_a_wrong_name_of_a_folder_or_set_is_told(shell: Shell, tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    shell("web", str(missing), code=2)
    assert "does not exist; create it" in shell.err
    assert not missing.exists()
    shell("eval", code=2)
    assert "name labelled sets" in shell.err


def test_the_first_command_says_how_a_memory_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path / "none"))
    assert run(["search", "tea"]) == 2
    assert f"there is no memory at {tmp_path / 'none'} yet; `commonplace import" in (
        " ".join(capsys.readouterr().err.split())
    )


def test_a_time_that_a_host_counts_from_1970_is_shown_as_a_date(shell: Shell) -> None:
    line = '{"role":"user","content":"the ferry at ten","timestamp":1769904000000}\n'
    (shell.root / "messages.jsonl").write_text(line)
    assert "2026-02-01" in shell("search", "ferry ten")
    assert "user · 2026-02-01T00:00:00Z" in shell("search", "ferry ten", "--unit", "message")


def test_an_append_says_whether_the_file_is_new(shell: Shell) -> None:
    assert shell("append", "tea.md", "Green.").startswith("created tea.md")
    assert shell("append", "tea.md", "Black.").startswith("added to tea.md")


def test_an_append_of_a_message_that_says_nothing_is_refused(shell: Shell) -> None:
    path = "sessions/s2/messages.jsonl"
    for line in ('{"role":"user"}', '{"role":"user","content":"","timestamp":1}'):
        shell("append", path, line, code=2)
        assert f'{line} says nothing: a message has "content"' in shell.err
    for line in (
        '{"type":"session","host":"x"}',
        '{"role":"tool","tool_call_id":"a","content":""}',
        '{"role":"model","parts":[{"text":"Yes."}]}',
    ):
        shell("append", path, line)


def test_a_wrong_pattern_is_told_in_a_line(shell: Shell) -> None:
    shell("grep", "(tea", code=2)
    assert "(tea" in shell.err
    assert "unclosed group" in shell.err
    assert "error:" not in shell.err


def test_a_session_is_cited_by_its_id(shell: Shell) -> None:
    path = "sessions/boats/2026-02-01-0198c1d2/messages.jsonl"
    said = {"role": "user", "content": "Where do kayaks lie?", "session": "0198c1d2-7aaa"}
    shell("append", path, json.dumps(said))
    assert f"{path}#L1" in shell("explain", "kayaks", "0198#L1")
    assert f"{path}#L1" in shell("forget", "--dry-run", "0198#L1")
