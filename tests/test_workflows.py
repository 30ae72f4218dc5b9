"""Workflow files of hosted CI: jobs call Makefile targets, and actions name a version tag."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
JOBS: dict[str, list[dict[str, Any]]] = {
    f"{path.stem} {name}": job["steps"]
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    for name, job in yaml.safe_load(path.read_text())["jobs"].items()
}


@pytest.mark.parametrize("job", JOBS)
def test_a_job_calls_make(job: str) -> None:
    commands = "\n".join(step.get("run", "") for step in JOBS[job])
    called = re.findall(
        r"\bmake((?: [a-z-]+\b(?!=))+)", commands.replace("add --no-cache make", "")
    )
    assert called
    assert {target for one in called for target in one.split()} <= TARGETS


@pytest.mark.parametrize("job", JOBS)
def test_an_action_has_a_version(job: str) -> None:
    used = [step["uses"] for step in JOBS[job] if "uses" in step]
    assert used
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@v\d+(\.\d+\.\d+)?", one) for one in used), used
