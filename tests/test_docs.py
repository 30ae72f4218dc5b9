"""What the README shows runs, and what can be typed is in the README."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from commonplace.cli import app

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
    targets = set(re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"[$`] ?make ([a-z]+)", README)) <= targets
