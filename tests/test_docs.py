"""What the README shows runs, what it names is there, and what can be typed or called is in it."""

from __future__ import annotations

import contextlib
import pkgutil
import re
from pathlib import Path

import pytest

import commonplace
from commonplace.cli import app
from commonplace.tools.toolset import SETS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
COMMANDS = sorted(
    command.name or command.callback.__name__
    for command in app.registered_commands
    if command.callback
)


def test_python_blocks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = list(re.finditer(r"```python\n(.*?)```", README, re.DOTALL))
    assert len(blocks) >= 3
    namespace: dict[str, object] = {}
    for block in blocks:
        # as many line ends as stand before the block, so that a failure names its line
        lines = README[: block.start()].count("\n") + 1
        exec(compile("\n" * lines + block[1], "README.md", "exec"), namespace)  # noqa: S102


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_in_the_readme(command: str) -> None:
    assert re.search(rf"`{command}[ `]", README)


def test_makefile_and_readme_agree() -> None:
    targets = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in [README, (ROOT / "CONTRIBUTING.md").read_text()]:
        assert set(re.findall(r"[$`] ?make ([a-z-]+)", page)) <= targets


# The table of features: design, feature, where it lives, its tests.
TABLE = README.partition("\n## The five designs")[2].partition("\n## ")[0]
FEATURES = [line.strip("| ").split(" | ") for line in TABLE.splitlines() if line.endswith("` |")]
NAMES = re.compile(r"`([\w.]+)`")
TESTS = {
    name
    for path in (ROOT / "tests").rglob("test_*.py")
    for name in re.findall(r"^(?:def )?([Tt]est\w+)(?:\(| =)", path.read_text(), re.MULTILINE)
}


@pytest.mark.parametrize("row", FEATURES, ids=lambda row: row[-3])
def test_each_feature_lives_where_the_table_says(row: list[str]) -> None:
    where, tests = NAMES.findall(row[-2]), NAMES.findall(row[-1])
    assert where
    assert tests
    for name in where:
        with contextlib.suppress(AttributeError, ImportError):
            pkgutil.resolve_name(f"commonplace.memories.{name}")
            continue
        pkgutil.resolve_name(f"commonplace.{name}")
    assert set(tests) <= TESTS


@pytest.mark.parametrize("system", SETS)
def test_every_tool_is_in_the_table(system: str) -> None:
    assert {f"{system}.{tool}" for tool in SETS[system]} <= set(NAMES.findall(TABLE))


def test_every_module_is_in_the_architecture() -> None:
    package = Path(commonplace.__file__).parent
    named = set(re.findall(r"`(\w+)/?`", (ROOT / "ARCHITECTURE.md").read_text()))
    for path in package.rglob("*.py"):
        unit, *inner = path.relative_to(package).with_suffix("").parts
        # of a system each module is named, of another folder only the folder
        wanted = set(inner) if unit == "memories" else {unit}
        assert wanted - {"__init__", "__main__"} <= named, path


def test_links_lead_somewhere() -> None:
    for page in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]:
        for link in re.findall(r"\]\(([^)#:]+)[^):]*\)", (ROOT / page).read_text()):
            assert (ROOT / link).exists(), f"{page}: {link}"
