"""Imports of sessions as Python and the command line see them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

import commonplace
from commonplace import Store
from commonplace.cli import run

TITLE = "Where is\x1b[2J the \u202eferry?"


def message(session: str, text: str, number: int = 0) -> str:
    line = {
        "type": "user",
        "uuid": f"{session}-{number}-{crc32(text.encode())}",
        "sessionId": session,
        "cwd": "/home/me/../me/tea/",
        "timestamp": f"2226-01-22T05:17:{number:02}Z",
        "message": {"role": "user", "content": text},
    }
    return json.dumps(line) + "\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with one session of Claude Code."""
    folder = tmp_path / "home"
    project = folder / ".claude/projects/-home-me-tea"
    project.mkdir(parents=True)
    (project / "0198c1d2-1.jsonl").write_text(message("0198c1d2-1", TITLE))
    monkeypatch.setenv("HOME", str(folder))
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(variable, raising=False)
    return folder


@pytest.fixture
def cli(root: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[str, str]]:
    def call(*arguments: str, code: int = 0) -> tuple[str, str]:
        capsys.readouterr()
        assert run(["--root", str(root), "import", *arguments]) == code
        return capsys.readouterr()

    return call


def records(root: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the lines of each transcript."""
    return {
        str(path.relative_to(root)): [json.loads(line) for line in path.read_bytes().splitlines()]
        for path in sorted((root / "sessions").rglob("messages.jsonl"))
    }


PATH = "sessions/tea/2226-01-22-0198c1d2/messages.jsonl"


@pytest.mark.usefixtures("home")
def test_a_host_is_imported_and_again(store: Store, root: Path) -> None:
    told: list[tuple[int, int]] = []
    report = store.import_sessions(hosts=["claude-code"], progress=lambda *at: told.append(at))
    assert (report.new, report.messages) == (1, 1)
    assert told[-1][0] == told[-1][1] > 0
    source = report.sources[0]
    assert (source.outcome, source.why, source.paths) == ("new", None, [PATH])
    # a clock in the future, a working directory with `..` and a slash, a title with controls
    record = records(root)[PATH][0]
    assert record["type"] == "session"
    assert record["title"] == "Where is [2J the ferry?"
    assert store.search("ferry")[0].path == PATH
    assert store.status().messages == 1
    assert store.verify().notes == []
    assert (store.grep("ferry").count(), store.grep("session").bad_line_count) == (1, 0)
    again = store.import_sessions(hosts=["all"])
    assert (again.unchanged, again.sources, again.messages) == (1, [], 0)
    assert store.import_sessions(hosts="claude-code").unchanged == 1
    for nobody in ("nobody", ["nobody"]):
        with pytest.raises(commonplace.FormatError, match=r"nobody.*known are"):
            store.import_sessions(hosts=nobody)


def test_no_secret_of_a_header_reaches_the_disk(store: Store, root: Path, tmp_path: Path) -> None:
    # in parts, so that nobody takes it for a real one
    token = "ghp" + "_16C7e42F292c6912E7710c838347Ae178B4a"
    line = json.loads(message("0198c1d2-1", f"Use {token}."))
    lines = [
        line | {"cwd": f"/home/me/{token}/", "gitBranch": f"feat/{token}"},
        {"type": "custom-title", "customTitle": f"T {token}", "sessionId": "0198c1d2-1"},
        {"type": "summary", "summary": f"old {token}", "leafUuid": "nobody"},
    ]
    source = tmp_path / "one.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert store.import_sessions(source).messages == 1
    files = [path for path in root.rglob("*") if path.is_file()]
    assert any(path.parent.name == "imports" for path in files)
    assert not [path for path in files if token in str(path) or token.encode() in path.read_bytes()]
    ignored = (root / ".commonplace/.gitignore").read_text().splitlines()
    assert {"/archive/", "/imports/", "/redactions.jsonl"} <= {*ignored}


@pytest.mark.usefixtures("home")
def test_what_was_imported_by_command_is_indexed(home: Path, root: Path) -> None:
    """Else the next prompt of an agent would wait for it, and run out of its time."""
    assert run(["--root", str(root), "import", str(home)]) == 0
    with commonplace.open(root) as store:
        assert store.status().snapshot == "read"


def test_a_memory_does_not_import_itself(store: Store) -> None:
    store.import_sessions(hosts=["all"])
    for folder in (store.root, store.root / "sessions"):
        report = store.import_sessions(folder)
        assert (report.messages, report.new, report.skipped) == (0, 0, 1)


@pytest.mark.usefixtures("home")
def test_progress_can_stop_it(store: Store, root: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise RuntimeError(f"enough at {done} of {total}")

    with pytest.raises(RuntimeError, match="enough at"):
        store.import_sessions(hosts=["claude-code"], progress=stop)
    store.import_sessions(hosts=["claude-code"])
    assert len(records(root)[PATH]) == 2


@pytest.mark.parametrize("named", [["--all"], ["--opencode"], ["{missing}"], ["--json", "--all"]])
def test_an_import_of_nothing_leaves_no_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: list[str]
) -> None:
    for host in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(host, raising=False)
    monkeypatch.delenv("PI_CODING_AGENT_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    given = [one.format(missing=tmp_path / "missing.jsonl") for one in named]
    root = tmp_path / "memory"
    assert run(["--root", str(root), "import", *given]) == 2
    assert not root.exists()
    # one that was there stays, also an empty one
    root.mkdir()
    assert run(["--root", str(root), "import", *given]) == 2
    assert root.is_dir()


def test_a_machine_without_sessions_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for host in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(host, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path / "memory"))
    assert run(["import", "--all"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    for part in ("no sessions of agents found", "~/.claude", "~/.pi/agent", "exports of ChatGPT"):
        assert part in err
    # what it says then is not what was just done
    assert run(["search", "tea"]) == 2
    assert "`import FOLDER` or `write` begins one" in capsys.readouterr().err


def test_the_command(cli: Callable[..., tuple[str, str]], home: Path) -> None:
    out, err = cli("--claude-code")
    assert out.splitlines() == [
        f"new  {PATH}  Where is [2J the ferry?",
        "1 new, 0 grown, 0 unchanged, 0 skipped; 1 message",
    ]
    assert err == ""
    out, err = cli("--all")
    assert out == "0 new, 0 grown, 1 unchanged, 0 skipped; 0 messages\n"
    odd = home / "odd"
    odd.mkdir()
    _, err = cli(str(odd), code=2)
    assert "no file in it ends in .jsonl" in err
    (odd / "package.json").write_text('{"name": "tea"}\n')
    (odd / "good.jsonl").write_text(message("cccccccc", "good") + "}\n" + message("c", "cut")[:40])
    out, err = cli(str(odd), str(home / "none"))
    assert "1 new" in out
    assert "2 skipped" in out
    for part in ("package.json: it holds no message", "none: it does not exist", "line 2"):
        assert part in err
    assert "half-written" in err
    assert err.count("known formats: sessions of Claude Code") == 1
    _, err = cli("--codex", code=2)
    assert "CODEX_HOME" in err
    cli(code=2)
    report = json.loads(cli(str(odd), "--json")[0])
    assert report["removed"] == 0
    assert (report["unchanged"], report["skipped"], report["sources"]) == (1, 1, [])


def test_standard_input(root: Path) -> None:
    command = [sys.executable, "-m", "commonplace", "--root", str(root), "import", "-"]

    def imported(text: str) -> str:
        done = subprocess.run(command, input=text, text=True, capture_output=True, check=True)
        return done.stdout.splitlines()[-1]

    for wanted in ("1 new", "1 unchanged"):
        assert wanted in imported(message("0198c1d2-1", "hello"))
    assert [*records(root)] == [PATH]
    # without sessions and times: what comes is known by what it begins with
    first, *rest = [
        json.dumps({"role": role, "content": text}) + "\n"
        for role, text in [("user", "Hi"), ("assistant", "Yes?"), ("user", "Hi"), ("user", "Bye")]
    ]
    for text, wanted in [
        (first + rest[0], "1 new, 0 grown, 0 unchanged"),
        (first + rest[0], "0 new, 0 grown, 1 unchanged"),
        (first + rest[0] + rest[1], "0 new, 1 grown, 0 unchanged"),
        (first + rest[2], "1 new, 0 grown, 0 unchanged"),
        (first + rest[0] + rest[1] + rest[2], "0 new, 1 grown, 0 unchanged"),
    ]:
        assert wanted in imported(text)
    found = {path: lines for path, lines in records(root).items() if path != PATH}
    assert sorted(len(lines) for lines in found.values()) == [3, 5]
    # no time is the first of 1970
    assert all(path.split("/")[2] >= "2020" for path in found)


FULL_DISK = """
import resource, sys
import commonplace
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
with commonplace.open(sys.argv[1]) as store:
    try:
        store.import_sessions(sys.argv[2])
    except commonplace.StorageError as error:
        print(error)
"""


def test_a_full_disk_loses_nothing(root: Path, tmp_path: Path) -> None:
    texts = []
    (tmp_path / "logs").mkdir()
    for number in range(6):
        session = f"{number}" * 8
        # each second one is larger than the disk
        many = 40 if number % 2 else 2
        own = [f"{number} {at} {'x' * 5000}" for at in range(many)]
        lines = "".join(message(session, text, at) for at, text in enumerate(own))
        (tmp_path / f"logs/{session}.jsonl").write_text(lines)
        texts += own
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(root), str(tmp_path / "logs")],
        text=True,
        capture_output=True,
        check=True,
    )
    assert "cannot" in done.stdout
    with commonplace.open(root) as store:
        store.import_sessions(tmp_path / "logs")
        assert store.import_sessions(tmp_path / "logs").unchanged == 6
    found = []
    for path in (root / "sessions").rglob("messages.jsonl"):
        for line in path.read_bytes().splitlines():
            try:
                found.append(json.loads(line).get("content"))
            except json.JSONDecodeError:
                continue
    assert sorted(filter(None, found)) == sorted(texts)


def test_secrets_are_redacted_and_not_stored_twice(
    store: Store, root: Path, tmp_path: Path
) -> None:
    source = tmp_path / "a.jsonl"
    source.write_text(message("0198c1d2-1", "the password=Tr0ub4dor3 is it"))
    report = store.import_sessions(source)
    assert report.redacted == {"password": 1}
    assert "Tr0ub4dor3" not in (root / PATH).read_text()
    # the ledger is lost, and now they are kept
    (root / ".commonplace/imports/sources").unlink()
    assert store.import_sessions(source, keep_secrets=True).messages == 0


def test_special_files_are_passed_over(store: Store, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.jsonl")
    (tmp_path / "loop").symlink_to(tmp_path)
    report = store.import_sessions(tmp_path)
    assert report.new == 0
    assert store.import_sessions(tmp_path / "fifo.jsonl").sources[0].outcome == "skipped"


def test_a_title_is_shown_in_one_short_line(
    cli: Callable[..., tuple[str, str]], root: Path, tmp_path: Path
) -> None:
    title = {"type": "custom-title", "customTitle": "T\u2066\x07 " + "long " * 10_000}
    lines = message("0198c1d2-1", "hello") + json.dumps(title | {"sessionId": "0198c1d2-1"}) + "\n"
    (tmp_path / "one.jsonl").write_text(lines)
    out, _ = cli(str(tmp_path / "one.jsonl"))
    [stored] = [line["title"] for line in records(root)[PATH] if line.get("title")]
    assert stored.startswith("T  long long")
    assert (stored[-1], len(stored) <= 200) == ("…", True)
    assert len(out.splitlines()[0]) < 300


def test_a_file_without_times_is_dated_by_its_own(store: Store, root: Path, tmp_path: Path) -> None:
    source = tmp_path / "plain.jsonl"
    source.write_text('{"role": "user", "content": "hello"}\n')
    os.utime(source, (1_600_000_000, 1_600_000_000))
    store.import_sessions(source)
    [path] = records(root)
    assert path.startswith("sessions/plain/2020-09-13-")
    os.utime(source, (0, 0))
    source.rename(tmp_path / "other.jsonl")
    store.import_sessions(tmp_path / "other.jsonl")
    assert not [path for path in records(root) if "1970" in path]
