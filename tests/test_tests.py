"""Rules of the test files: Cargo targets, length, shared doubles, files that others name."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from tests.campaigns.report import SUITES
from tests.mutants import load

TESTS = Path(__file__).parent
CARGO = tomllib.loads((TESTS.parent / "rust" / "core" / "Cargo.toml").read_text())
TARGETS = {target["name"]: target["path"] for target in CARGO["test"]}


def test_every_file_of_the_core_is_a_target() -> None:
    assert {
        path.stem: f"../../tests/rust/{path.name}" for path in (TESTS / "rust").glob("*.rs")
    } == TARGETS


def test_no_file_is_long() -> None:
    files = [*TESTS.rglob("*.py"), *(TESTS / "rust").rglob("*.rs")]
    lines = {str(path.relative_to(TESTS)): path.read_text().count("\n") for path in files}
    assert {name: count for name, count in lines.items() if count > 600} == {}


def test_clocks_and_models_are_doubles() -> None:
    for path in TESTS.rglob("test_*.py"):
        assert not re.search(r"^class Clock\b|^    def complete\(", path.read_text(), re.MULTILINE)


def test_mutants_and_campaigns_name_what_is_there() -> None:
    asked = {target.removeprefix("built ").split()[0] for m in load() for target in m.red}
    commands = " ".join(suite.command for suites in SUITES.values() for suite in suites)
    asked |= set(re.findall(r"(?<=--test )\w+|tests/\S+\.py", commands))
    python = {name for name in asked if name.startswith("tests/")}
    assert asked - python - {"lib"} <= set(TARGETS)
    assert all((TESTS.parent / name).is_file() for name in python)
