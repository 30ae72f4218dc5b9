"""Sessions: listed, named by the beginning of an id, shown turn by turn, counted in the status."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import shlex
import shutil
import subprocess
import sys
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

import commonplace
from commonplace import Store
from commonplace.cli import run
from commonplace.cli.folding import folded
from commonplace.cli.session_view import numbered, session_rows
from commonplace.timestamps import seconds, seconds_of_words

TEA = "sessions/tea/2026-02-01-0198c1d2/messages.jsonl"
AGENT = "sessions/tea/2026-02-01-0198c1d2/subagents/agent-7/messages.jsonl"
WEB = "sessions/web/2026-02-02-0198c1d2/messages.jsonl"


def message(role: str, content: Any, hour: int, **more: Any) -> dict[str, Any]:
    return {
        "role": role,
        "content": content,
        "timestamp": f"2026-02-01T{hour:02}:00:00Z",
        "session": "0198c1d2-aaaa",
        **more,
    }


def record(**fields: Any) -> dict[str, Any]:
    return {"type": "session", "host": "codex", **fields}


FILES = {
    TEA: [
        record(id="0198c1d2-aaaa", cwd="/home/me/tea", title="Which tea\x1b[31m", model="m-1"),
        message("user", "Green or black?", 8),
        message(
            "assistant", [{"type": "tool_use", "name": "Bash", "input": {"command": "ls\n-l"}}], 9
        ),
        message("tool", "tea.txt\n" * 90, 9),
        message("assistant", "# Green\n\nIt is **fresh**.", 10),
        {"type": "copy", "of": f"{WEB}#L2", "count": 1},
        message("user", "And how long?", 11),
        message("assistant", "Three minutes.", 12),
    ],
    AGENT: [
        record(id="agent-7", parent="0198c1d2-aaaa", title="Look it up"),
        message("user", "Green leaves", 9),
    ],
    WEB: [
        record(id="0198c1d2-bbbb", title="网站：把旧的页面都迁移到新的格式"),
        message("user", "Make a page about green", 20, session="0198c1d2-bbbb"),
    ],
}


@pytest.fixture
def filled(root: Path) -> Path:
    for path, lines in FILES.items():
        (root / path).parent.mkdir(parents=True)
        (root / path).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return root


@pytest.fixture
def shell(filled: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*arguments: str, code: int = 0) -> tuple[str, str]:
        capsys.readouterr()
        assert run(["--root", str(filled), *arguments]) == code
        out, err = capsys.readouterr()
        return out, err

    return call


def test_sessions_of_a_store(filled: Path) -> None:
    with commonplace.open(filled) as store:
        web, tea, agent = store.sessions()
        assert (tea.path, tea.title, tea.project) == (TEA, "Which tea [31m", "tea")
        assert (tea.messages, tea.tool_messages, tea.copies) == (4, 2, 1)
        assert (tea.started, tea.ended) == (
            seconds("2026-02-01T08:00"),
            seconds("2026-02-01T12:00"),
        )
        assert (agent.parent, agent.short_id) == (tea.id, "agent-7")
        assert [web.short_id, tea.short_id] == ["0198c1d2-b", "0198c1d2-a"]
        assert store.sessions(project="web", since="2026-02-01T15:00") == [web]
        assert store.sessions(until="2026-02-01T08:30") == [tea]
        assert store.sessions(since="1h") == []
        found = store.find_session("0198c1d2-a")
        assert found == tea
        assert store.find_session("nobody") is None
        with pytest.raises(commonplace.QueryError, match=f"2 sessions are called .*{WEB}"):
            store.find_session("0198")
        with pytest.raises(ValueError, match="yesterweek"):
            store.sessions(since="yesterweek")
    assert "0198c1d2-a" in repr(tea)


def test_the_list(shell: Any) -> None:
    out, _ = shell("sessions")
    lines = out.splitlines()
    assert [line.split()[2] for line in lines] == ["0198c1d2-b", "0198c1d2-a", "agent-7"]
    assert lines[2].endswith("└ Look it up")
    assert "\x1b" not in out
    found = json.loads(shell("sessions", "--project", "tea", "--json")[0])
    assert [one["path"] for one in found] == [TEA, AGENT]
    assert len(shell("sessions", "-n", "1")[0].splitlines()) == 1
    out, err = shell("sessions", "--project", "Tea", code=1)
    assert (out, "projects are tea, web" in err) == ("", True)
    assert json.loads(shell("sessions", "--since", "1d", "--json", code=1)[0]) == []
    assert shell("sessions", "--since", "1d", code=1)[1] == "commonplace: no session found\n"


def test_the_list_tells_hosts_with_one_id_apart(shell: Any, filled: Path) -> None:
    twin = filled / "sessions/tea/2026-02-03-0198c1d2/messages.jsonl"
    twin.parent.mkdir()
    lines = [record(id="0198c1d2-aaaa", title="Cups") | {"host": "pi"}, message("user", "Cup?", 8)]
    twin.write_text("".join(json.dumps(line) + "\n" for line in lines))
    titles = [line.rsplit("  ", 1)[1] for line in shell("sessions")[0].splitlines()]
    assert titles[1:] == ["codex · Which tea [31m", "└ Look it up", "pi · Cups"]
    assert "codex" not in titles[0]


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_the_list_fits_the_terminal(filled: Path, width: int) -> None:
    with commonplace.open(filled) as store:
        found = store.sessions()
    rows = [*session_rows(found, width)]
    lines = ["".join(part if isinstance(part, str) else part[0] for part in row) for row in rows]
    assert lines[0].split()[:1] == ["last"]
    shown = "\n".join(folded(line, width) for line in lines)
    assert max(map(cell_len, shown.split("\n"))) <= width
    # nothing is cut
    titles = " ".join(one.title or "" for one in found).split()
    assert {"2026-02-01", "0198c1d2-a", "tea", "Which", *titles} <= {*shown.split()}


def test_short_ids_in_a_search_and_a_grep(shell: Any) -> None:
    def paths(*arguments: str) -> set[str]:
        out = shell(*arguments, "--json")[0]
        found = [json.loads(line) for line in out.splitlines()]
        hits = found[0].get("hits", found)
        return {hit["path"] for hit in hits}

    assert paths("search", "green") == {TEA, AGENT, WEB}
    assert paths("search", "green", "--session", "0198c1d2-b") == {WEB}
    assert paths("grep", "(?i)green", "--session", "0198c1d2-b") == {WEB}
    assert paths(
        "grep", "Green", "--session", "2026-02-01-0198c1d2", "--prefix", "sessions/tea"
    ) == {TEA}
    # a subagent has messages of the session that started it, however that is named
    for session in ("0198c1d2-aaaa", "0198c1d2-a"):
        for command in ("search", "grep"):
            assert paths(command, "(?i)green", "--session", session) == {TEA, AGENT}
    assert "2 sessions" in shell("search", "green", "--session", "0198", code=2)[1]
    options = ["--session", "0198c1d2-b", "--prefix", "sessions/tea"]
    assert "not below" in shell("search", "green", *options, code=2)[1]
    assert shell("read", "0198c1d2-b#L2")[0].endswith("Make a page about green\n")


def test_nothing_found_names_the_tool_traffic_that_was_left_out(shell: Any) -> None:
    for command in ("search", "grep"):
        assert "; --tools looks into" in shell(command, "zebra", code=1)[1]
        assert shell(command, "zebra", "--tools", code=1)[1] == "commonplace: nothing found\n"


def test_a_search_of_one_project(shell: Any) -> None:
    for command, code, told in (("search", 1, "no file is at or below"), ("grep", 2, "not exist")):
        out = shell(command, "green", "--project", "tea", "--json")[0]
        assert TEA in out
        assert WEB not in out
        assert told in shell(command, "green", "--project", "te", code=code)[1]
        options = ["--project", "tea", "--prefix", "sessions/tea"]
        assert "exclude each other" in shell(command, "green", *options, code=2)[1]


def test_a_role_that_no_message_has_is_told(shell: Any) -> None:
    told = 'no message has the role "usr"; there are user, assistant\n'
    assert shell("search", "green", "--role", "usr", code=1)[1] == f"commonplace: {told}"
    assert shell("search", "green role:usr", code=1)[1] == f"commonplace: {told}"
    assert "; --tools looks into" in shell("search", "tea.txt", "--role", "tool", code=1)[1]
    # a grep makes no index, which alone knows all roles
    told = "commonplace: nothing found; 'usr' is none of the usual roles: user, assistant, "
    assert shell("grep", "green", "--role", "usr", code=1)[1].startswith(told)
    assert "usual roles" not in shell("grep", "zebra", "--role", "user", code=1)[1]


def test_an_exclusion_of_no_file_is_told(shell: Any) -> None:
    gone = "sessions/none/messages.jsonl"
    for arguments in (["search", "green"], ["search", "green", "--json"]):
        told = f"commonplace: nothing is left out: no file is at or below {gone}\n"
        assert shell(*arguments, "--exclude", f"{gone}#L1")[1] == told
        assert shell(*arguments, "--exclude", f"{TEA}#L1", "--exclude", "sessions/web")[1] == ""


def test_show(shell: Any) -> None:
    out, _ = shell("show", "0198c1d2-a")
    assert out.startswith("Which tea [31m\n0198c1d2-aaaa · codex · tea · m-1 · ")
    assert [line.split("  ")[0] for line in out.splitlines() if line.startswith("turn")] == [
        "turn 1",
        "turn 2",
    ]
    assert "# Green\n\nIt is **fresh**." in out
    tools = [line for line in out.splitlines() if "[tools]" in line]
    assert len(tools) == 2
    assert max(map(len, tools)) < 130
    unfolded = shell("show", "0198c1d2-a", "--tools")[0]
    assert unfolded.count("tea.txt") == 90
    second = shell("show", TEA, "--turn", "2")[0]
    assert "Three minutes." in second
    assert "Green" not in second
    found = json.loads(shell("show", "0198c1d2-a", "--json")[0])
    assert [one["turn"] for one in found["messages"]] == [1, 1, 1, 1, 2, 2]
    assert found["session"]["path"] == TEA
    for turn in ("0", "9"):
        told = f"there is no turn {turn}: the session has 2 turns, counted from 1"
        assert told in shell("show", TEA, "--turn", turn, code=1)[1]
    for cited in (f"{TEA}#L7-L8", "0198c1d2-a#L7"):
        found = json.loads(shell("show", cited, "--json")[0])
        assert [one["turn"] for one in found["messages"]] == [2, 2]
    assert "there is no line 99 in" in shell("show", f"{TEA}#L99", code=1)[1]
    told = 'commonplace: no session "nobody"; `commonplace sessions` lists their ids\n'
    assert shell("show", "nobody", code=2)[1] == told
    assert "did you mean 0198c1d2-a (Which tea [31m)" in shell("show", "0189c1d2-a", code=2)[1]


def test_show_says_where_the_beginning_of_a_resumed_session_stands(shell: Any) -> None:
    out, _ = shell("show", "0198c1d2-a", "--turn", "2")
    head = out.partition("\n\n")[0].splitlines()
    assert head[2] == "also 1 message of another session:"
    command = shlex.split(head[3])
    assert command == ["commonplace", "show", f"{WEB}#L2"]
    assert "Make a page about green" in shell(*command[1:])[0]
    assert json.loads(shell("show", "0198c1d2-a", "--json")[0])["copies"] == [f"{WEB}#L2"]
    assert "commonplace show" not in shell("show", WEB)[0]


def test_what_a_model_thought_is_no_tool(shell: Any, filled: Path) -> None:
    think, call = {"type": "thinking", "thinking": "Of kiwi"}, {"type": "tool_use", "name": "x"}
    lines = [
        message("user", "Which fruit?", 8),
        message("assistant", [think], 9),
        message("assistant", [think, {"type": "text", "text": "Kiwi."}, call], 10),
        message("assistant", [call], 11),
        # as a host writes it
        {"type": "response_item", "payload": {"type": "reasoning", "summary": [{"text": "Hm"}]}},
    ]
    path = "sessions/fruit/messages.jsonl"
    (filled / path).parent.mkdir()
    (filled / path).write_text("".join(json.dumps(line) + "\n" for line in lines))
    kinds = ["[thinking]", "[thinking, tools]", "[tools]", "[thinking]"]
    for arguments in (["show", path], ["show", path, "--tools"], ["read", f"{path}#L1-L9"]):
        out, _ = shell(*arguments)
        assert [
            line.split("] ")[0].strip() + "]" for line in out.splitlines() if "] " in line
        ] == kinds


def test_a_session_that_is_none_is_told_instead_of_nothing(shell: Any) -> None:
    near = "did you mean 0198c1d2-b (网站：把旧的页面都迁移到新的格式)"
    for line in (
        ["search", "green", "--session", "0189c1d2-b"],
        ["search", "green session:0189c1d2-b"],
        ["grep", "green", "--session", "0189c1d2-b"],
        ["forget", "--session", "0189c1d2-b", "--dry-run"],
    ):
        out, err = shell(*line, code=1)
        assert (out, err.count("\n")) == ("", 1)
        assert err.startswith('commonplace: no session "0189c1d2-b"; ')
        assert near in err
    known = shell("search", "green", "--json", "--exclude", "0198c1d2-b")[0]
    assert WEB not in {hit["path"] for hit in json.loads(known)["hits"]}
    told = shell("search", "green", "--exclude", "0198", code=2)[1]
    assert told.startswith('commonplace: 2 sessions are called "0198"; give more of the id')


def test_a_session_is_named_by_the_end_of_its_path_in_any_capitals(shell: Any) -> None:
    for name in (WEB, WEB.removeprefix("sessions/"), WEB.upper().removesuffix("/MESSAGES.JSONL")):
        found = json.loads(shell("show", name, "--json")[0])["session"]["path"]
        hits = json.loads(shell("search", "green", "--session", name, "--json")[0])["hits"]
        assert {found, *(hit["path"] for hit in hits)} == {WEB}
        assert WEB in shell("forget", "--session", name, "--dry-run")[0]


KINDS: list[dict[str, Any]] = [
    {"role": "user", "content": "Green?"},
    {"role": "assistant", "content": "Yes."},
    {"role": "user", "content": " \n"},
    {"role": "tool", "content": "42"},
    {"role": "assistant", "content": [{"type": "tool_use", "name": "x", "input": {}}]},
    {
        "role": "user",
        "content": [{"type": "tool_result", "content": "42"}, {"type": "text", "text": "read"}],
    },
    {"role": "user", "content": [{"type": "tool_result", "content": "42"}]},
    {"role": "system", "content": "Be kind."},
    {"type": "session", "host": "codex", "title": "Tea"},
    {"type": "copy", "of": "a.jsonl#L1", "count": 1},
]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from("ab")), min_size=1, max_size=12))
def test_show_has_the_turns_of_a_search(lines: list[tuple[dict[str, Any], str]]) -> None:
    with tempfile.TemporaryDirectory() as root:
        file = Path(root, "s", "messages.jsonl")
        file.parent.mkdir()
        rows = [{**line, "session": session} for line, session in lines]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        with commonplace.open(root) as store:
            log = store.transcript("s")
            shown: dict[int, list[int]] = {}
            worded = set()
            for turn, message in numbered(log, log.turns()):
                if message.text:
                    shown.setdefault(turn, []).append(message.line)
                if message.text.strip():
                    worded.add(turn)
            hits = store.search("green yes read kind", limit=99)
            found = {(hit.first_line, hit.end_line) for hit in hits}
        spans = {turn: (lines[0], lines[-1]) for turn, lines in shown.items()}
        # a turn of blanks alone may be found by the words around it
        assert {spans[turn] for turn in worded} <= found <= {*spans.values()}
        assert [*shown] == [*range(1, len(shown) + 1)]


def test_status_explains_the_counts(shell: Any) -> None:
    status = json.loads(shell("status", "--json")[0])
    assert [status[name] for name in ("messages", "tool_messages", "copies")] == [6, 2, 1]
    # three session records and a copy
    assert status["other_records"] == 4
    lines = sum(len(lines) for lines in FILES.values())
    assert lines == status["messages"] + status["tool_messages"] + status["other_records"]
    out, _ = shell("status")
    assert "of tools only: 2 more" in out


def on_terminal(root: Path, *arguments: str, **environment: str) -> str:
    """Run a command on a terminal of 24 lines and return what it shows."""
    controller, terminal = pty.openpty()
    program = subprocess.Popen(
        [sys.executable, "-m", "commonplace", "--root", str(root), *arguments],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "80", "LINES": "24"} | environment,
    )
    os.close(terminal)
    shown = b""
    while True:
        try:
            read = os.read(controller, 4096)
        except OSError:
            break
        shown += read
    os.close(controller)
    assert program.wait() == 0
    return shown.decode()


def test_show_goes_through_the_pager(filled: Path) -> None:
    paged = on_terminal(filled, "show", "0198c1d2-a", PAGER="sed s/^/|/")
    assert "|" in paged
    # on a terminal Markdown is rendered
    assert "**fresh**" not in paged
    assert "fresh" in paged
    assert "\x1b[31m" not in paged
    for pager in ("cat", "", "no-such-pager", "head -n 1"):
        assert "Which tea" in on_terminal(filled, "show", "0198c1d2-a", PAGER=pager)
    # a pager that ends before anything is read; what `show` answers does not depend on it
    on_terminal(filled, "show", "0198c1d2-a", PAGER="true")
    assert "last message" in on_terminal(filled, "sessions", PAGER="cat", COLUMNS="100")


def test_completion_in_bash(filled: Path, tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if not bash:
        pytest.fail("bash is needed to try the completion script; install it")
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    program = bin_folder / "commonplace"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m commonplace "$@"\n')
    program.chmod(0o755)
    script = """
source <(commonplace --completion bash)
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _shtab_commonplace; echo "${COMPREPLY[@]}"; }
try commonplace sess
try commonplace search tea --sess
try commonplace --root "$ROOT" show 0198c1d2-b
try commonplace --root = "$ROOT" show 0198c1d2-b
try commonplace "--root=$ROOT" show 0198c1d2-b
try commonplace --root "'$ROOT'" search tea --session 0198c1d2-b
try commonplace --root "~" show 0198c1d2-b
try commonplace --root = "~/memory" read b
try commonplace --root = "~/memory" read sessions/w
try commonplace --root "$ROOT" grep tea --prefix b
try commonplace --root /nowhere show 0198
try commonplace --root "$ROOT" show 'x$'
try commonplace --root "$ROOT" search tea --exclude 0198c1d2-b
try commonplace --root "$ROOT" sessions --project t
try commonplace --root "$ROOT" search tea --project ""
try commonplace install c
try commonplace export o
"""
    # what a file is called is no command
    (filled / "b $(touch ran).md").write_text("tea\n")
    hostile = {**record(id="x$(touch ran)"), "title": "tea"}
    (filled / "x.jsonl").write_text(json.dumps(hostile) + "\n")
    (filled / ".home").mkdir()
    (filled / ".home" / "memory").symlink_to(filled)
    environment = {
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "ROOT": str(filled),
        "HOME": str(filled / ".home"),
    }
    done = subprocess.run(
        [bash, "--norc", "-c", script],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert done.stdout.splitlines() == [
        "sessions",
        "--session",
        *["0198c1d2-b"] * 4,
        "",
        "b $(touch ran).md",
        WEB,
        "b $(touch ran).md",
        "",
        "x\\$\\(touch",
        "0198c1d2-b",
        "tea",
        "web tea",
        "claude-code codex cursor",
        "okf",
    ]
    assert not (tmp_path / "ran").exists()


NOON = datetime(2026, 2, 4, 12, 30).timestamp()  # noqa: DTZ001 - a Wednesday, as this machine counts


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("now", (2026, 2, 4, 12, 30)),
        ("today", (2026, 2, 4)),
        (" Yesterday ", (2026, 2, 3)),
        ("this week", (2026, 2, 2)),
        ("last  week", (2026, 1, 26)),
        ("this month", (2026, 2, 1)),
        ("last month", (2026, 1, 1)),
        ("this year", (2026, 1, 1)),
        ("last year", (2025, 1, 1)),
        ("30min", (2026, 2, 4, 12, 0)),
        ("12h", (2026, 2, 4, 0, 30)),
        ("3d", (2026, 2, 1, 12, 30)),
        ("1 day ago", (2026, 2, 3, 12, 30)),
        ("2 weeks", (2026, 1, 21, 12, 30)),
    ],
)
def test_times_in_words(text: str, wanted: tuple[int, ...]) -> None:
    year, month, day, hour, minute = (*wanted, 0, 0)[:5]
    moment = datetime(year, month, day, hour, minute)  # noqa: DTZ001
    assert seconds_of_words(text, NOON) == moment.timestamp()


@pytest.mark.parametrize("text", ["", "d", "3", "3 d d", "last tuesday", "-3d", "3m", "in 3d"])
def test_times_that_are_none(text: str) -> None:
    assert seconds_of_words(text, NOON) is None
    with pytest.raises(ValueError, match=r"no date or time; write 2026-02-01.*yesterday.*3d"):
        seconds(text)


@given(st.text(max_size=20))
def test_any_text_is_a_time_or_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert isinstance(seconds(text), float)


@pytest.mark.linux("/proc/self/io")
def test_a_listing_of_many_sessions_reads_no_transcript(tmp_path: Path) -> None:
    for number in range(300):
        folder = tmp_path / f"sessions/p{number % 3}/2026-02-01-{number:08x}"
        folder.mkdir(parents=True)
        line = json.dumps(message("user", f"word{number}", 8, session=f"{number:08x}-x"))
        (folder / "messages.jsonl").write_text(line + "\n")
    with commonplace.open(tmp_path) as store:
        assert len(store.sessions(project="p1")) == 100
        read = bytes_read()
        assert len(store.sessions()) == 300
        assert bytes_read() - read < 20_000


def bytes_read() -> int:
    return int(Path("/proc/self/io").read_text().split("rchar: ")[1].split()[0])


def test_import_and_sessions_count_alike(store: Store, tmp_path: Path) -> None:
    source = tmp_path / "log.jsonl"
    lines = [line for line in FILES[TEA] if "role" in line]
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    imported = store.transcript("sessions/log").load(source)
    status = store.status()
    assert imported.messages == status.messages + status.tool_messages
