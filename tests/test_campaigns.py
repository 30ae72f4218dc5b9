"""Fault campaign runner: each campaign is run, and each failure is in the report."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.campaigns import __main__ as command
from tests.campaigns import report, stamps
from tests.campaigns.guarantees import ATOMIC_REPLACE, FRESH_INDEX
from tests.campaigns.report import Suite
from tests.campaigns.runner import Result
from tests.campaigns.trial import Campaign


def test_a_campaign_whose_module_is_missing_is_no_campaign_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert list(command.modules()) == list(command.CAMPAIGNS)
    monkeypatch.setitem(command.CAMPAIGNS, "no_such_campaign", 1)
    with pytest.raises(ModuleNotFoundError, match="no_such_campaign"):
        command.modules()


def test_a_suite_that_runs_no_test_loses_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = Suite("nothing", "tests/none.py", "python -c 'print(\"no tests ran\")'")
    monkeypatch.setattr(report, "REPORT", tmp_path / "docs" / "reliability.md")
    monkeypatch.setattr(report, "SUITES", {ATOMIC_REPLACE: [nothing]})
    result = Result(Campaign.of(stamps))
    result.checks[FRESH_INDEX] = 7
    output: list[str] = []
    assert "tests/none.py" in report.obstacle(60)
    report.REPORT.parent.mkdir()
    assert not report.write([result], 1, 60, tell=output.append)
    assert "nothing (no test ran) | 0 tests | 1 |" in report.REPORT.read_text()
    assert " | 7 | 0 | `--only stamps`" in report.REPORT.read_text()
    assert "**7 checks, 0 failed; 0 tests, 1 failed.**" in report.REPORT.read_text()
    assert any("ran no test" in line for line in output)

    def interrupted(*_: object) -> tuple[int, int]:
        raise KeyboardInterrupt

    report.REPORT.unlink()
    monkeypatch.setattr(report, "counted", interrupted)
    with pytest.raises(KeyboardInterrupt):
        report.write([result], 1, 60, tell=output.append)
    assert " | 7 | 0 | `--only stamps`" in report.REPORT.read_text()


def test_what_stands_in_the_way_of_a_report_is_told_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert report.obstacle(1e9) == ""
    monkeypatch.setattr(report, "REPORT", tmp_path / "reliability.md")
    report.REPORT.write_text("all campaigns over 3600 seconds")
    assert "3600 seconds; remove it" in report.obstacle(120)
    assert report.obstacle(3600) == ""
    monkeypatch.setattr(sys, "argv", ["campaigns", "--report", "--seconds", "120"])
    with pytest.raises(SystemExit):
        command.options()


def test_a_campaign_that_fails_by_itself_loses_no_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> Result:
        raise OSError("no space left")

    monkeypatch.setattr(command, "run", broken)
    monkeypatch.setattr(sys, "argv", ["campaigns", "--seconds", "0"])
    assert command.main() == 1
    output = capsys.readouterr().out
    assert all(f"FAILED {name}: it ended early" in output for name in command.CAMPAIGNS)
