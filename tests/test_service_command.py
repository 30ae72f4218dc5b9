"""Command `serve`: what it prints and refuses, its upkeep of the index, the lines of its log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.cli import run
from tests.opensearch.double import Double, double
from tests.opensearch.tenants import Tenants


@pytest.fixture
def fake() -> Iterator[Double]:
    with double() as server:
        yield server


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
