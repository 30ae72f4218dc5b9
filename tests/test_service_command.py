"""Command `serve`: what it prints and refuses, its upkeep of the index, the lines of its log."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

import pytest

from commonplace.cli import run
from commonplace.service.json_log import JsonFormatter
from commonplace.service.process import Process
from tests.opensearch.cluster import free_ports
from tests.opensearch.double import Double
from tests.opensearch.served import Served
from tests.opensearch.tenants import Tenants, wait_until


def test_an_unknown_tenant_is_not_rebuilt(
    fake: Double, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--root", str(tmp_path), "serve", "rebuild", "--engine", fake.url]
    assert run([*options, "--tenant", "acne"]) == 2
    assert "there is no tenant 'acne'" in capsys.readouterr().err
    assert not list(tmp_path.glob("tenants/*"))
    assert not fake.indexes
    with Tenants(tmp_path, fake.url, "commonplace") as tenants:
        written = tenants.call("acme", "write", path="a.md", content="sencha\n")
        assert tenants.found("acme", "sencha", fresh=[written["fresh"]])
        folder = tmp_path / "tenants" / tenants.grant("acme").key
    assert run([*options, "--tenant", "acme"]) == 0
    # a tenant that leaves: its folder is removed, and then what the index has of it
    folder.rename(tmp_path / "left")
    assert run([*options, "--tenant", "acme"]) == 0
    with Tenants(tmp_path, fake.url, "commonplace") as tenants:
        assert not tenants.found("acme", "sencha")


def test_upkeep_prints_json_for_programs(
    fake: Double, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Tenants(tmp_path, fake.url, "commonplace") as tenants:
        tenants.call("acme", "write", path="a.md", content="sencha\n")
    for action in ("rebuild", "reindex"):
        options = ["--root", str(tmp_path), "serve", action, "--engine", fake.url]
        assert run([*options, "--json"]) == 0
        assert capsys.readouterr().out == '{"tenants":1}\n'
        assert run(options) == 0
        assert capsys.readouterr().err == "commonplace: indexed 1 tenant\n"


def test_an_empty_name_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["--tenant", "acme", "--agent", ""]
    assert run(["--root", str(tmp_path), "serve", "token", "new", *names]) == 2
    assert "the name of the agent has 1 to 1000 bytes" in capsys.readouterr().err


def test_each_line_of_the_log_is_json(tmp_path: Path) -> None:
    (nobody,) = free_ports(1)
    served = Served(tmp_path, [f"http://127.0.0.1:{nobody}"], "commonplace")
    try:
        wait_until(served.answers)
        token = Process(tmp_path).tokens.new("acme", "bot")[0]
        assert served.call(token, "write", path="a.md", content="sencha")[0] == 200
        log = tmp_path / "service.log"
        wait_until(lambda: "the index waits" in log.read_text())
    finally:
        served.end()
    lines = log.read_text().splitlines()
    told = [json.loads(one) for one in lines if not one.startswith("commonplace: serving at ")]
    assert len(told) == len(lines) - 1
    waits = next(one for one in told if "the index waits" in one.get("message", ""))
    assert (waits["level"], waits["logger"]) == ("warning", "commonplace.service.changes")
    assert any("StreamableHTTP" in one.get("message", "") for one in told)
    assert any(one.get("call") == "write" for one in told)


def test_an_error_is_a_line_of_the_log() -> None:
    try:
        int("half of a character: \ud800")
    except ValueError:
        told = (logging.ERROR, "x.py", 1, "%s failed\n", ("a call",), sys.exc_info())
    line = JsonFormatter().format(logging.LogRecord("commonplace", *told))
    assert "\n" not in line
    assert json.loads(line)["message"] == "a call failed\n"
    assert "ValueError: invalid literal" in json.loads(line)["error"]
