"""What commands print on a terminal: lines folded at spaces, nothing cut; in a pipe whole lines."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace.cli.folding import columns_of, folded, folded_text
from tests.test_sessions import filled, on_terminal

__all__ = ["filled"]
WIDTH = 60
COMMANDS = [
    ["status"],
    ["sessions"],
    ["list"],
    ["search", "which tea is green and where does it grow"],
    ["search", "tea", "--unit", "message"],
    ["grep", "Green|green"],
    ["read", "long.md"],
    ["verify"],
    ["explain", "tea", "long.md#L1"],
    ["profile", "remember", "User likes walks along the sea in the early morning, with tea"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command)[:24])
def test_lines_fold_at_spaces(filled: Path, command: list[str]) -> None:
    words = "green tea grows on the hills above the sea, where it rains in spring " * 3
    (filled / "long.md").write_text(f"# Tea\n\n- {words}\n")
    piped = subprocess.run(
        [sys.executable, "-m", "commonplace", "--root", str(filled), *command],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    shown = on_terminal(filled, *command, COLUMNS=str(WIDTH), PAGER="cat")
    shown = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    for line in shown.splitlines():
        # a word that is too long by itself is left to the terminal
        assert columns_of(line) <= WIDTH or " " not in line.strip(), line
    if command[0] in {"search", "grep", "read", "explain", "list", "verify"}:
        assert shown.split() == piped.split(), "the same words, none of them broken or cut"


def test_tables_and_code_have_one_blank_line_around(filled: Path) -> None:
    text = "Tea:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThen\n\n```sh\nls\n\n\npwd\n```\n\nDone."
    log = filled / "sessions/tea/table/messages.jsonl"
    log.parent.mkdir()
    log.write_text(json.dumps({"role": "assistant", "content": text}) + "\n")
    shown = on_terminal(filled, "show", "table", COLUMNS=str(WIDTH), PAGER="cat")
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()]
    told = [line.split() for line in lines[lines.index("Tea:") :]]
    assert told[:5] == [["Tea:"], [], ["a", "b"], ["─" * 4], ["1", "2"]]
    # the blank lines of the code are its own
    assert told[5:] == [[], ["Then"], [], ["ls"], [], [], ["pwd"], [], ["Done."]]


def test_folding_keeps_words_and_styles() -> None:
    assert folded("a  b" * 40, None) == "a  b" * 40
    assert folded("new  sessions/x/messages.jsonl  a title", 20).split("\n") == [
        "new",
        "     sessions/x/messages.jsonl",
        "     a title",
    ]
    # characters of two columns
    assert columns_of("\x1b[2m绿茶\x1b[0m e\u0301") == 6
    assert folded("绿茶 绿茶 绿茶", 10) == "绿茶 绿茶\n   绿茶"
    assert folded_text("  - one two\nx", 8) == "  - one\n  two\nx"
    # marks and joiners
    assert (columns_of("नमस्ते"), columns_of("👩\u200d👧")) == (4, 4)


def test_a_text_without_spaces_folds_between_its_characters() -> None:
    assert (
        folded("> tea 绿茶长在海边的山上，春天多雨", 16)
        == "> tea 绿茶长在海\n   边的山上，春\n   天多雨"
    )
    # no line begins with a comma, and a style stays with its text
    assert folded("绿茶绿茶，红茶", 8) == "绿茶绿\n   茶，\n   红茶"
    assert folded("\x1b[1m绿茶绿茶\x1b[0m", 6) == "\x1b[1m绿茶绿\n   茶\x1b[0m"
    path = "notes/绿茶长在海边的山上.md#L1"
    assert folded(f"a {path}", 16) == f"a\n   {path}", "a path can be copied"


def test_a_table_that_is_too_wide_is_not_cut(filled: Path, tmp_path: Path) -> None:
    labelled = tmp_path / "tea.jsonl"
    labelled.write_text(
        '{"documents": [{"id": "1", "text": "green tea"}, {"id": "2", "text": "milk"}],'
        ' "queries": [{"text": "tea", "relevant": ["1"]}]}\n'
    )
    for columns, cut_into in ((WIDTH, "any@1 100.0,"), (160, "any@1")):
        shown = on_terminal(filled, "eval", str(labelled), COLUMNS=str(columns))
        shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
        assert "…" not in shown
        assert " ".join(cut_into.split()) in " ".join(shown.split())
