"""Command line: output of each command for people and for programs, and exit codes."""

from __future__ import annotations

import fcntl
import io
import json
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest

import commonplace
from commonplace.cli import load_commands, options, run
from commonplace.doors import hosts, plugins

USER = "# User\n\n> Summary: name, role\n\n- Name: Zhang San\n- Role: developer\n"
TALK = [
    {"role": "user", "content": "Where is the ferry?", "timestamp": "2026-02-01T08:00:00Z"},
    {"role": "assistant", "content": "The ferry is here.", "timestamp": "2026-02-02T08:00:00Z"},
    {"role": "user", "content": "Thanks.", "timestamp": "2026-02-03T08:00:00Z"},
]


class Shell:
    """Runs command lines on one root and keeps what they print."""

    def __init__(self, root: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.root, self.capture = root, capture
        self.err = ""

    def __call__(self, *arguments: str, code: int = 0) -> str:
        self.capture.readouterr()
        assert run(["--root", str(self.root), *arguments]) == code, self.capture.readouterr()
        out, self.err = self.capture.readouterr()
        return out

    def json(self, *arguments: str, code: int = 0) -> Any:
        return json.loads(self(*arguments, "--json", code=code))


@pytest.fixture
def shell(root: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    (root / "facts").mkdir()
    (root / "facts/user.md").write_text(USER)
    (root / "sessions/s1").mkdir(parents=True)
    lines = "".join(json.dumps(line) + "\n" for line in TALK)
    (root / "sessions/s1/messages.jsonl").write_text(lines)
    return Shell(root, capsys)


def stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_search_by_meaning(shell: Shell) -> None:
    found = shell.json("search", "--meaning", "how is the user called")
    assert found["hits"][0]["cosine"] > 0
    assert "facts/user.md#L" in shell("search", "--meaning", "how is the user called")
    assert "vectors: level" in shell("explain", "--meaning", "name", "facts/user.md#L3")
    assert shell.json("embed") == {"made": 0, "documents": shell.json("embed")["documents"]}


def test_search(shell: Shell) -> None:
    out = shell("search", "what", "is", "my", "name")
    assert " 1 facts/user.md#L" in out
    assert "User" in out
    assert "Zhang San" in out
    hits = shell.json("search", "name")
    assert hits["freshness"] == "fresh"
    assert hits["hits"][0]["path"] == "facts/user.md"
    assert hits["confidence"] > 0.3
    assert shell.json("search", "--meaning", "name")["confidence"] > 0.3
    assert "\x1b" not in out
    assert shell("search", "zebra", code=1) == ""
    nothing = shell.json("search", "zebra", code=1)
    assert (nothing["hits"], nothing["confidence"]) == ([], 0)


def test_search_filters(shell: Shell) -> None:
    messages = ("--source", "message", "--unit", "message")

    def lines(*options: str) -> list[int]:
        return [hit["line"] for hit in shell.json("search", "ferry", *messages, *options)["hits"]]

    assert sorted(lines())[:2] == [1, 2]
    assert lines("--role", "assistant") == [2]
    assert lines("--until", "2026-02-02") == [1]
    assert len(lines("-m", "1")) == 1
    assert shell("search", "ferry", "--prefix", "facts", code=1) == ""


def test_grep(shell: Shell) -> None:
    out = shell("grep", "FERRY", "-i")
    assert out.splitlines() == [
        "sessions/s1/messages.jsonl#L1 user: Where is the ferry?",
        "sessions/s1/messages.jsonl#L2 assistant: The ferry is here.",
    ]
    assert shell("grep", "FERRY", code=1) == ""
    assert shell("grep", "ferry", "-c") == "2\n"
    assert shell.json("grep", "ferry", "-c") == {"count": 2}
    assert shell("grep", "zebra", "-c", code=1) == "0\n"
    matches = [json.loads(line) for line in shell("grep", "ferry", "--json").splitlines()]
    assert [match["line"] for match in matches] == [1, 2]
    assert [
        match["line"]
        for match in map(
            json.loads, shell("grep", "ferry", "--json", "--newest-first").splitlines()
        )
    ] == [2, 1]
    assert shell("grep", "f.r", "-F", code=1) == ""
    assert "#L1 " in shell(
        "grep", "ferry", "--role", "user", "--since", "2026-02-01", "--until", "2026-02-02"
    )
    assert len(shell("grep", "ferry", "-m", "1").splitlines()) == 1
    assert shell("grep", "ferry", "facts", code=1) == ""
    assert len(shell("grep", "Name|ferry", "facts", "sessions", "-m", "2").splitlines()) == 2
    assert shell("grep", "ferry", "sessions", "sessions/s1", "-c") == "2\n"


def test_grep_keeps_only_when_asked(shell: Shell, root: Path) -> None:
    line = json.dumps({"role": "user", "content": "filler " * 100}) + "\n"
    log = root / "sessions" / "large" / "messages.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text(line * 24_000)
    kept = root / ".commonplace" / "gram_index"
    assert shell("grep", "filler", "sessions/large", "-c") == "24000\n"
    assert not kept.exists()
    for _ in range(2):
        assert shell("grep", "walrus", "-c", "--keep", code=1) == "0\n"
        assert [entry.suffix for entry in kept.iterdir()] == [""]
    with log.open("a") as more:
        more.write(line.replace("filler", "walrus"))
    assert shell("grep", "walrus", "-c") == "1\n"


def test_grep_shows_neighbours(shell: Shell) -> None:
    out = shell("grep", "is here", "-C", "1").splitlines()
    assert out == [
        "sessions/s1/messages.jsonl#L1 user- Where is the ferry?",
        "sessions/s1/messages.jsonl#L2 assistant: The ferry is here.",
        "sessions/s1/messages.jsonl#L3 user- Thanks.",
        "--",
    ]
    assert len(shell("grep", "is here", "-B", "1").splitlines()) == 3
    assert len(shell("grep", "is here", "-A", "1").splitlines()) == 3


def test_a_match_is_one_line(shell: Shell) -> None:
    (shell.root / "s.jsonl").write_text(
        '{"role": "user", "content": "zebra\\n\\nand\\r\\nzebra"}\n'
    )
    assert shell("grep", "zebra").splitlines() == ["s.jsonl#L1 user: zebra  and zebra"]


def test_list(shell: Shell) -> None:
    out = shell("list")
    assert "facts/user.md" in out
    assert "name, role" in out
    assert [entry["path"] for entry in shell.json("list", "facts")] == ["facts/user.md"]
    assert shell("list", "none", code=1) == ""


def test_read(shell: Shell) -> None:
    assert shell("read", "facts/user.md") == USER
    assert shell("read", "facts/user.md#L5") == "- Name: Zhang San\n"
    assert shell("read", "facts/user.md#L5-L6") == "- Name: Zhang San\n- Role: developer\n"
    assert (
        shell("read", "facts/user.md", "--lines", "5-6") == "- Name: Zhang San\n- Role: developer\n"
    )
    assert shell("read", "facts/user.md#L99", code=1) == ""
    assert shell.err == "commonplace: there is no text at facts/user.md, line 99\n"
    document = shell.json("read", "facts/user.md")
    assert document["text"] == USER
    assert document["version"]
    out = shell("read", "sessions/s1/messages.jsonl#L2")
    assert out.splitlines()[0].startswith("sessions/s1/messages.jsonl#L2  assistant")
    assert "The ferry is here." in out
    messages = shell.json("read", "sessions/s1/messages.jsonl#L1-L2")["messages"]
    assert [message["text"] for message in messages] == [line["content"] for line in TALK[:2]]
    shell("read", "none.md", code=2)
    assert shell.err.startswith("commonplace: ")
    assert len(shell.err.splitlines()) == 1


def test_write_append_patch_move_delete(shell: Shell) -> None:
    first = shell.json("write", "a.md", "one\n", "--expected-version", "absent")
    second = shell.json("append", "a.md", "two", "--expected-version", first["version"])
    assert shell("read", "a.md") == "one\ntwo\n"
    third = shell.json("patch", "a.md", "--old", "one", "--new", "1", "--old", "two", "--new", "2")
    assert (third["previous"], third["applied"]) == (second["version"], 2)
    shell(
        "patch", "a.md", "--old", "1", "--new", "x", "--expected-version", first["version"], code=2
    )
    assert shell.json("move", "a.md", "b/c.md")["path"] == "b/c.md"
    gone = shell.json("delete", "b/c.md", "--expected-version", third["version"])
    assert (shell.root / gone["history"]).read_text() == "1\n2\n"
    shell("delete", "b/c.md", code=2)
    out = shell("write", "facts/user.md", "new")
    assert out.startswith("wrote facts/user.md  version ")
    assert "the old text is in " in out


def test_text_comes_from_stdin_or_a_file(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stdin(monkeypatch, "名前\r\n".encode())
    shell("write", "a.md", "-")
    assert (shell.root / "a.md").read_bytes() == "名前\r\n".encode()
    stdin(monkeypatch, b"more")
    shell("append", "a.md")
    (tmp_path / "x").write_text("from a file")
    shell("write", "b.md", "--file", str(tmp_path / "x"))
    assert shell("read", "b.md") == "from a file\n"
    stdin(monkeypatch, b'[{"oldText": "from", "newText": "out of"}]')
    shell("patch", "b.md")
    assert (shell.root / "b.md").read_text() == "out of a file"
    stdin(monkeypatch, b"\xff")
    shell("write", "c.md", "-", code=2)
    assert "not UTF-8 at byte 0" in shell.err
    for bad in (b"x", b"[]", b'[{"old": "a"}]', b'{"oldText": "a", "newText": "b"}', b"[1]"):
        stdin(monkeypatch, bad)
        shell("patch", "b.md", code=2)
        assert "oldText" in shell.err


def test_import(shell: Shell, tmp_path: Path) -> None:
    source = tmp_path / "talk.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in TALK))
    assert "1 new" in shell("import", str(source))
    assert [*shell.root.glob("sessions/plain/*-talk-*/messages.jsonl")]
    assert "3 messages (plain)" in shell("import", str(source), "--to", "sessions/talk")
    report = shell.json("import", str(source), "--to", "sessions/other")
    assert [(item["path"], item["messages"]) for item in report] == [
        ("sessions/other/messages.jsonl", 3)
    ]
    [known] = shell.root.glob("sessions/plain/*-talk-*/messages.jsonl")
    assert f"its messages are in {known.relative_to(shell.root)} as well" in shell.err
    shell("import", str(source), str(source), "--to", "x", code=2)
    shell("import", str(tmp_path / "none.jsonl"), code=2)
    assert "none.jsonl" in shell.err


def test_import_of_secrets(shell: Shell, tmp_path: Path) -> None:
    source = tmp_path / "talk.jsonl"
    source.write_text(json.dumps({"role": "user", "content": "password=Tr0ub4dor3"}) + "\n")
    assert "redacted: 1 × password" in shell("import", str(source))
    [stored] = shell.root.glob("sessions/plain/*-talk-*/messages.jsonl")
    assert "password=[redacted: password]" in stored.read_text()
    assert "redacted      1 × password" in shell("status")
    assert shell.json("status")["redactions"] == {"password": 1}
    report = shell.json("import", "--keep-secrets", str(source), "--to", "sessions/kept")
    assert report[0]["redacted"] == {}
    assert "password=Tr0ub4dor3" in (shell.root / "sessions/kept/messages.jsonl").read_text()


def test_status_verify_explain(shell: Shell) -> None:
    assert "notes" in shell("status")
    assert shell.json("status")["messages"] == 3
    assert "all agree" in shell("verify")
    assert shell.json("verify")["differences"] == []
    citation = shell.json("search", "name")["hits"][0]["citation"]
    assert "name" in shell("explain", "name", citation)
    assert shell.json("explain", "name", citation)["citation"] == citation
    shell("explain", "name", "nonsense", code=2)


def test_verify_says_what_is_left_out_and_what_to_do(shell: Shell) -> None:
    wide = '{"role": "user", "content": "hello"}\n'
    for name in ("wide.md", "wide.jsonl"):
        (shell.root / name).write_bytes(wide.encode("utf-16"))
    for _ in range(2):
        # no damage of the index: told, and once
        out = shell("verify")
        assert "all agree" in out
        assert "repaired" not in out
        for name in ("wide.md", "wide.jsonl"):
            message = f"{name} is not indexed: it is in UTF-16; save it as UTF-8"
            assert message in shell.err
            assert (out + shell.err).count(name) == 1
    verified = shell.json("verify")
    assert (verified["differences"], verified["unread"]) == ([], [])
    assert len(verified["notes"]) == 2
    shell("status")
    assert "skipped wide.md: it is in UTF-16; save it as UTF-8" in shell.err
    assert "Exits with 1" in shell("verify", "--help")


def test_eval(shell: Shell, tmp_path: Path) -> None:
    group = {"documents": [{"id": 1, "text": "cat"}], "queries": [{"text": "cat", "relevant": [1]}]}
    file, out = tmp_path / "tiny.jsonl", tmp_path / "run.jsonl"
    file.write_text(json.dumps(group) + "\n")
    assert "tiny" in shell("eval", str(file), "--run", str(out))
    assert json.loads(out.read_text())["ranked"] == [1]
    assert shell.json("eval", str(file))[0]["ndcg_at_10"] == 1.0
    shell("eval", str(tmp_path / "none.jsonl"), code=2)
    assert "No such file" in shell.err


def test_demo(shell: Shell, tmp_path: Path) -> None:
    out = shell("demo", code=2)
    assert "not empty" in shell.err
    shell.root = tmp_path / "new"
    out = shell("demo")
    assert "episodes/2026-02.md#L" in out
    assert "Try this next" in out
    assert "Rollback drill" in out
    assert (shell.root / "MEMORY.md").exists()


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["serch", "x"], "'search'"),
        (["search", "x", "--limt", "3"], "--limit"),
        (["search", "x", "--root", "y"], "--root goes before the command"),
        (["search", "x", "--memory-limit", "64"], "--memory-limit MB"),
        (["--memory-limit", "15", "search", "x"], "16"),
        (["search", "-rf"], 'after "--"'),
        (["search"], "QUERY"),
        (["search", "  "], "at least one word"),
        (["search", "x", "--source", "tool"], "note"),
        (["search", "x", "--since", "yesterweek"], "2026-02-01"),
        (["search", "x", "-m", "0"], "1"),
        (["grep", "("], "("),
        (["grep", "x", "-i", "-s"], "exclude"),
        (["read", "a.md", "--lines", "9-3"], "10-20"),
        (["write", "../a.md", "x"], "../a.md"),
        (["write", "a.txt", "x"], ".md"),
        (["write", "a.md", "x", "--file", "y"], "--file"),
        (["write", "a.md", "--file", "none"], "none"),
        (["patch", "facts/user.md", "--old", "x"], "--new"),
        (["patch", "facts/user.md", "--old", "e", "--new", "x"], "facts/user.md"),
        (["write", "facts/user.md", "x", "--expected-version", "absent"], "facts/user.md"),
        (["append", "new/messages.jsonl", "{'role': 'user'}"], "new/messages.jsonl is a JSON"),
        (["append", "new/messages.jsonl", "[1]"], "JSON object"),
        (["explain", "name", "facts/user.md#L99"], "facts/user.md has 6 lines"),
        (["profile", "--usr", "x", "show"], "'--user'"),
    ],
)
def test_errors_say_what_to_do(shell: Shell, arguments: list[str], hint: str) -> None:
    assert shell(*arguments, code=2) == ""
    assert shell.err.startswith("commonplace: ")
    assert len(shell.err.splitlines()) == 1
    assert hint in shell.err


def test_a_root_that_is_not_there(shell: Shell, tmp_path: Path) -> None:
    shell.root = tmp_path / "none"
    shell("search", "x", code=2)
    assert "none" in shell.err
    assert "--root" in shell.err
    assert not shell.root.exists()
    shell("write", "a.md", "x")
    assert (shell.root / "a.md").exists()


@pytest.mark.parametrize("how", ["option", "environment"])
def test_the_memory_of_a_command_is_limited(
    shell: Shell, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shell.root / "large.md").write_text("word " * (2 << 20))
    if how == "environment":
        monkeypatch.setenv("COMMONPLACE_MEMORY_LIMIT", "16")
    option = ["--memory-limit", "16"] if how == "option" else []
    hits = shell.json(*option, "search", "name")
    assert hits["freshness"] == "partial"
    assert "the memory limit of 16 MB" in hits["notes"][0]
    shell(*option, "read", "large.md", code=2)
    assert "the limit is 16 MB" in shell.err


def test_text_cannot_command_the_terminal(shell: Shell) -> None:
    evil = "zebra \x1b]0;owned\x07\x1b[2J\x9b31m \u202egnp.exe\n"
    (shell.root / "evil\x1b[31m.md").write_text(evil)
    (shell.root / "evil.md").write_text(f"# {evil}\n> Summary: {evil}\n")
    for arguments in (["search", "zebra"], ["grep", "zebra"], ["read", "evil.md"], ["list"]):
        out = shell(*arguments)
        assert not set(out) & {"\x1b", "\x07", "\x9b", "\u202e"}
    assert (shell.root / "evil.md").read_text().startswith(f"# {evil}")


# C0 but tab and newline, DEL, C1, and the marks that reorder text
UNSHOWN = {
    *map(chr, [*range(9), *range(11, 32), *range(0x7F, 0xA0), 0x061C, 0x200E, 0x200F]),
    *map(chr, [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]),
}


def test_nothing_of_a_transcript_commands_the_terminal(shell: Shell) -> None:
    evil = "".join(sorted(UNSHOWN)) + "evil\n 1 forged line"
    shell("append", "plan.md", f"# walrus {evil}")
    log = shell.root / "sessions" / "p\u202e" / "2026-02-01-abcdef12" / "messages.jsonl"
    log.parent.mkdir(parents=True)
    record = {"type": "session", "host": evil, "id": "abcdef12", "title": evil, "cwd": evil}
    said = {"name": evil, "timestamp": evil, "session": "abcdef12"}
    tool = {"type": "tool_use", "name": "x", "input": {"command": evil}}
    lines = [
        record | {"model": evil, "git_branch": evil},
        said | {"role": "user", "content": f"walrus {evil}"},
        said | {"role": evil, "content": [{"type": "text", "text": f"walrus {evil}"}, tool]},
        f"walrus {evil}",
    ]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    path = str(log.relative_to(shell.root))
    calls: list[tuple[list[str], int]] = [
        (["search", "walrus"], 0),
        (["search", "walrus", "--unit", "message", "--tools"], 0),
        (["search", f"walrus {evil}:x"], 0),
        (["search", f"walrus session:x{evil}"], 1),
        (["grep", "walrus", "-C", "2"], 0),
        (["list"], 0),
        (["sessions"], 0),
        (["show", "abcdef12", "--tools"], 0),
        (["show", evil.replace("\0", "")], 2),
        (["read", f"{path}#L1-L9"], 0),
        (["read", evil], 2),
        (["explain", "walrus", f"{path}#L2-L3"], 0),
        (["status"], 0),
        (["verify"], 0),
        (["write", f"{evil}.md", "x"], 2),
        ([evil], 2),
        (["--root", evil.replace("\0", ""), "list"], 2),
    ]
    for arguments, code in calls:
        out = shell(*arguments, code=code)
        assert not set(out + shell.err) & UNSHOWN, arguments
        forged = [line for line in out.splitlines() if line.startswith(" 1 forged")]
        # only where a text is shown as it is
        assert not forged or arguments[0] in {"show", "read"}, arguments
    # programs get what is there
    hit = shell.json("search", "walrus", "--unit", "message", "--prefix", "sessions")["hits"][0]
    assert {"\u202e", "\x9b", "\x07"} <= set(hit["text"])
    raw = shell("search", "walrus", "--json")
    assert not set(raw) & set(map(chr, range(10))), "JSON escapes C0"


@pytest.mark.parametrize("name", load_commands())
def test_every_command_has_help_and_json(shell: Shell, name: str) -> None:
    out = shell(name, "--help")
    assert load_commands()[name].help.split(";")[0][:30] in out
    # what runs until it is ended answers elsewhere, and a hook has no other form than JSON
    assert "--json" in out or name in {"demo", "hook", "mcp", "web"}
    assert f"    {name} " in shell("--help")


def spawn(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "commonplace", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_colours_only_on_a_terminal(shell: Shell) -> None:
    plain = spawn("--root", str(shell.root), "search", "name")
    assert plain.returncode == 0
    assert "\x1b" not in plain.stdout
    forced = dict(os.environ, FORCE_COLOR="1", TERM="xterm")
    assert "\x1b[" in spawn("--root", str(shell.root), "search", "name", env=forced).stdout


def test_a_closed_pipe_is_quiet(shell: Shell) -> None:
    (shell.root / "long.md").write_text("walrus\n" * 20_000)
    command = f"{sys.executable} -m commonplace --root {shell.root} grep walrus | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)  # noqa: S602
    assert done.stdout == "long.md#L1: walrus\n"
    assert done.stderr == ""


def test_an_interrupt_exits_with_130(shell: Shell) -> None:
    command = [
        sys.executable,
        "-m",
        "commonplace",
        "--root",
        str(shell.root),
        "append",
        "a.md",
        "-",
    ]
    program = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # a shell starts what runs in its background deaf to Ctrl-C, and that is inherited
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    assert program.stdin
    program.stdin.write(b"some text")
    program.stdin.flush()
    # once the pipe is empty, it has the text and waits for more
    deadline = time.monotonic() + 60
    while any(fcntl.ioctl(program.stdin, termios.FIONREAD, bytes(4))):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    program.send_signal(signal.SIGINT)
    assert program.communicate(timeout=20) == (b"", b"")
    assert program.returncode == 130


def test_a_poor_encoding_shows_what_it_can(shell: Shell) -> None:
    (shell.root / "a.md").write_text("name 名前\n")
    poor = dict(os.environ, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    out = spawn("--root", str(shell.root), "read", "a.md", env=poor)
    assert (out.returncode, out.stdout) == (0, "name ??\n")


def test_an_argument_that_is_no_text(shell: Shell) -> None:
    out = spawn("--root", str(shell.root), "search", "\udcff")
    assert out.returncode == 2
    assert "not UTF-8; set a UTF-8 locale" in out.stderr


def test_programs_do_not_pay_for_the_printer(shell: Shell) -> None:
    program = (
        "import sys; from commonplace.cli import run; "
        f"run(['--root', {str(shell.root)!r}, 'search', 'name', '--json']); "
        "sys.exit('rich.console' in sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, check=False).returncode
        == 0
    )


def test_nothing_found_is_reported_on_stderr(shell: Shell) -> None:
    assert not shell("search", "zebra", code=1)
    assert shell.err == "commonplace: nothing found\n"
    assert not shell("list", "fcats", code=1)
    assert shell.err == f"commonplace: nothing found: no file is at or below {shell.root}/fcats\n"
    since = ["--since", "2026-02-01 10:30", "--until", "2026-03-01"]
    assert not shell("search", "ferry", "--prefix", "facts", *since, code=1)
    assert shell.err.startswith("commonplace: nothing found since 2026-0")
    assert shell.err.endswith("; what says no date is left out\n")
    assert shell.json("search", "ferry", "--prefix", "fcats", code=1)["hits"] == []
    assert "fcats" in shell.err


def test_version(shell: Shell) -> None:
    assert shell("--version") == f"commonplace {commonplace.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["grep", "walrus", "-c"], 1),
        (["grep", "filler", "-c"], 0),
        (["grep", "filler", "nowhere"], 2),
        (["list"], 0),
        (["list", "sessions"], 0),
        (["list", "nowhere"], 1),
    ],
)
def test_grep_and_list_build_no_index(shell: Shell, arguments: list[str], code: int) -> None:
    line = json.dumps({"role": "user", "content": "filler " * 100}) + "\n"
    log = shell.root / "sessions" / "large" / "messages.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text(line * 3000)
    index = shell.root / ".commonplace" / "index"
    out = shell(*arguments, code=code)
    assert not index.exists()
    assert ("name, role" in out) == (arguments == ["list"])
    shell("search", "filler")
    assert index.exists()
    assert shell(*arguments, code=code) == out


def test_completion_knows_what_commands_take() -> None:
    assert options.HOST.values == hosts.NAMES
    assert options.PLUGIN_FORM.values == plugins.FORMS


def test_a_query_without_words_is_told_once(shell: Shell) -> None:
    for query in (["--", "-ferry"], ["role:user"]):
        shell("search", *query, code=1)
        (told,) = shell.err.splitlines()
        assert "add a word to look for" in told


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_completion(shell: Shell, shell_name: str) -> None:
    script = shell("--completion", shell_name)
    assert all(word in script for word in ("search", "newest-first", "memory-limit"))
    shell("--completion", "dos", code=2)
    assert "bash" in shell.err


def test_arguments_and_options_in_any_order(shell: Shell) -> None:
    assert shell("search", "--json", "my", "-m", "1", "name").count('"citation"') == 1
    assert shell("grep", "-ci", "FERRY", "sessions") == "2\n"
    shell("append", "b.md", "--", "-m")
    assert (shell.root / "b.md").read_text() == "-m\n"
    shell("append", "b.md", "--", "-m", "--json", code=2)
    assert "'--json' is an argument too many" in shell.err
