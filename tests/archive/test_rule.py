"""The rule of the settings by which sessions are archived: what it does, and what is refused."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

import commonplace
from commonplace import cli
from commonplace.errors import FormatError, QueryError
from commonplace.settings import LONGEST, ArchiveRule, byte_size, settings_of

OLD, NEW = "sessions/p/2025-01-01-old/messages.jsonl", "sessions/p/2099-01-01-new/messages.jsonl"


@pytest.fixture
def memory(root: Path) -> Path:
    """Return a root with an old session and one of the future, and a folder for its settings."""
    for path, day in ((OLD, "2025-01-01"), (NEW, "2099-01-01")):
        at = root / path
        at.parent.mkdir(parents=True)
        fields = {"role": "user", "content": "Tea?", "timestamp": f"{day}T08:00:00Z"}
        at.write_text(json.dumps(fields) + "\n")
    (root / ".commonplace").mkdir()
    return root


def rule(root: Path, text: str) -> Path:
    """Write the settings."""
    path = root / ".commonplace/settings.toml"
    path.write_text(text)
    return path


def said_by(capsys: pytest.CaptureFixture[str]) -> str:
    """Return what was printed, on both, as one line."""
    return " ".join(" ".join(capsys.readouterr()).split())


def test_without_a_rule_nothing_is_archived(memory: Path) -> None:
    with commonplace.open(memory) as store:
        assert not store.settings().archive
        assert store.archive_by_rule() is None
        assert store.archive().sessions == []
        for text in ("", "# nothing\n", "[archive]\n", '[archive]\n# older = "90d"\n'):
            rule(memory, text)
            assert store.archive_by_rule() is None
        assert store.status().archived == 0


def test_git_keeps_the_rule_and_not_what_it_made(memory: Path) -> None:
    (memory / ".commonplace").rmdir()
    with commonplace.open(memory) as store:
        store.archive(over=0)
    made = {path.name for path in (memory / ".commonplace").iterdir()} | {"settings.toml"}
    ignored = (memory / ".commonplace/.gitignore").read_text().splitlines()
    assert "archive" in made
    kept = {name for name in made if not {f"/{name}", f"/{name}/"} & {*ignored}}
    assert kept == {".gitignore", "settings.toml"}


def test_a_rule_says_what_is_archived(memory: Path) -> None:
    with commonplace.open(memory) as store:
        for text, sessions in (
            ('older = "90d"', [OLD]),
            ("older = 2026-02-01", [OLD]),
            ('over = "0MB"', [OLD, NEW]),
            ("over = 0", [OLD, NEW]),
            ('over = "1GB"', []),
            (f'sessions = ["{NEW}"]', [NEW]),
            (f'older = "2026-02-01T10:30"\nsessions = ["{NEW}"]', [OLD, NEW]),
        ):
            rule(memory, f"[archive]\n{text}\n")
            assert store.archive(dry_run=True).sessions == sessions, text
        # an option counts in place of the rule
        assert store.archive(over=1 << 30, dry_run=True).sessions == []
        assert store.status().archived == 0


def test_a_rule_is_applied_once_a_day(memory: Path) -> None:
    rule(memory, '[archive]\nolder = "90d"\n')
    noted = memory / ".commonplace/archive/rule"
    with commonplace.open(memory) as store:
        done = store.archive_by_rule()
        assert done is not None
        assert done.sessions == [OLD]
        store.restore_archived()
        assert store.archive_by_rule() is None
        for seconds in (-25 * 3600, 3 * 3600):  # a day ago; a clock that was put back
            moment = time.time() + seconds
            os.utime(noted, (moment, moment))
            done = store.archive_by_rule()
            assert done is not None
            assert done.sessions == [OLD]
            store.restore_archived()
        # another rule is due at once, and one that is asked for at any time
        rule(memory, '[archive]\nolder = "80d"\n')
        done = store.archive_by_rule()
        assert done is not None
        assert done.sessions == [OLD]
        store.restore_archived()
        assert store.archive().sessions == [OLD]


def test_an_import_applies_the_rule_when_it_ends(
    memory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule(memory, '[archive]\nolder = "90d"\n')
    chat = tmp_path / "chat.jsonl"
    chat.write_text('{"role": "user", "content": "Where is the ferry?"}\n')
    command = ["--root", str(memory), "import", str(chat)]
    assert cli.run(command) == 0
    assert "archived: 1 transcript with 1 message" in said_by(capsys)
    assert cli.run([*command, "--json"]) == 0
    assert "archived" not in json.loads(capsys.readouterr().out)


def test_an_import_ends_before_bad_settings_are_told(
    memory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule(memory, '[archive]\nodler = "90d"\n')
    chat = tmp_path / "chat.jsonl"
    chat.write_text('{"role": "user", "content": "Where is the ferry?"}\n')
    assert cli.run(["--root", str(memory), "import", str(chat)]) == 2
    said = said_by(capsys)
    assert "1 new" in said
    place = memory / ".commonplace/settings.toml"
    assert f"{place}, line 2: [archive] has no key 'odler'" in said


def test_the_command_line_applies_and_shows_the_rule(
    memory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["--root", str(memory)]
    assert cli.run([*command, "archive"]) == 2
    assert "say what to archive" in said_by(capsys)
    rule(memory, '[archive]\nolder = "90d"\nover = "2GB"\n')
    assert cli.run([*command, "archive", "--dry-run"]) == 0
    assert f"{OLD} to archive: 1 transcript" in said_by(capsys)
    assert cli.run([*command, "archive"]) == 0
    assert f"{OLD} archived: 1 transcript" in said_by(capsys)
    assert cli.run([*command, "status"]) == 0
    said = said_by(capsys)
    assert "transcripts 1 in memory with 1 message" in said
    assert "archived 1 transcript with 1 message" in said
    assert "archive rule older = 90d; over = 2,147,483,648 bytes" in said
    assert cli.run([*command, "status", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["archive_rule"] == "older = 90d; over = 2,147,483,648 bytes"


def test_status_names_what_is_wrong_with_the_settings(
    memory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule(memory, "[archive]\nover = true\n")
    assert cli.run(["--root", str(memory), "status"]) == 0
    said = said_by(capsys)
    assert "transcripts 2 with 2 messages" in said
    assert "line 2: over: True is no size" in said


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('\n\n[archive]\n# a\nodler = "90d"', r"line 5: \[archive\] has no key 'odler'; it has"),
        ('archive.older = "90d"\narchive.x = 1', r"line 2: \[archive\] has no key 'x'"),
        ('[archiv]\nolder = "90d"', r"line 1: there is no table 'archiv'; there is \[archive\]"),
        ('older = "90d"', "line 1: there is no table 'older'"),
        ("archive = 3", "line 1: archive is a table"),
        ("[[archive]]\nolder = 1", "line 1: archive is a table"),
        ('[archive]\nolder = "soon"', "line 2: older: 'soon' is no date or time; write"),
        ("[archive]\nolder = 90", "line 2: older: 90 is no time; write"),
        ('[archive]\nover = "2 of them"', "line 2: over: '2 of them' is no size such as"),
        ("[archive]\nover = -1", "line 2: over: '-1' is no size"),
        ("[archive]\nover = true", "line 2: over: True is no size"),
        ('[archive]\nsessions = "a"', "line 2: sessions: 'a' is no list of sessions"),
        ("[archive]\nsessions = [\n'a',\n3]", "line 4: sessions: .* is no list of sessions"),
        ("[archive]\nolder 90d", "Expected '=' after a key .*line 2"),
        ('[archive]\nolder = "90d"\nolder = "80d"', "Cannot overwrite a value .*line 3"),
        ("[archive]\nolder = [" * 2000, "longer than 16 KB"),
        ("x = " + "[" * 8000, ": maximum recursion"),
        ("[archive]\nover = " + "9" * 6000, ": Exceeds the limit"),
    ],
)
def test_what_cannot_be_read_is_told_with_file_line_and_key(text: str, told: str) -> None:
    with pytest.raises(FormatError, match=rf"^\.commonplace/settings\.toml.*{told}"):
        settings_of(text.encode())


def test_bytes_of_any_kind_are_read_or_refused() -> None:
    with pytest.raises(FormatError, match="line 2: it is not UTF-8"):
        settings_of(b"[archive]\nolder = '\xff'\n")
    with pytest.raises(FormatError):
        settings_of(b"\0" * 100)
    # as an editor of Windows writes it
    assert settings_of(b'\xef\xbb\xbf[archive]\r\nover = "1kb"\r\n').archive == ArchiveRule(
        over=1024
    )
    assert settings_of(b"#" * LONGEST).archive == ArchiveRule()


def test_a_session_of_the_rule_that_is_not_there_is_named(memory: Path) -> None:
    rule(memory, '[archive]\nsessions = ["nowhere"]\n')
    with commonplace.open(memory) as store:
        with pytest.raises(QueryError, match=r"settings\.toml, \[archive\] sessions: .*nowhere"):
            store.archive_by_rule()
        assert store.status().archived == 0


@pytest.mark.parametrize(
    ("text", "size"),
    [("2TB", 2 << 40), ("2gib", 2 << 30), ("1.5 G", 3 << 29), ("2k", 2048), ("2B", 2), ("0", 0)],
)
def test_sizes_are_read_as_people_write_them(text: str, size: int) -> None:
    assert byte_size(text) == size


@pytest.mark.parametrize("text", ["2PB", "-1", "", "GB", "nan", "1e3", "9999999999TB", "2 ib x"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no size such as"):
        byte_size(text)


def test_a_bare_small_number_is_no_size_on_the_command_line(
    memory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["--root", str(memory), "archive", "--dry-run"]
    assert cli.run([*command, "--over", "2"]) == 2
    assert "2 alone is 2 bytes; write 2GB, 2MB or 2B" in capsys.readouterr().err
    assert cli.run([*command, "--over", "2B"]) == 0
    assert cli.run([*command, "--over", "0"]) == 0
    capsys.readouterr()
    assert cli.run([*command, "--older", "1y"]) == 0
    assert f"{OLD} to archive: 1 transcript" in said_by(capsys)
