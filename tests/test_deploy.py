"""Manifests: what they start is what there is, they fit together, and linters find no fault."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from commonplace.cli import load_commands
from commonplace.cli.parser import parse_command
from commonplace.cli.serve_command import serve

DEPLOY = Path(__file__).parents[1] / "deploy"


def objects() -> dict[str, Any]:
    found = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())
    return {one["kind"]: one for one in found}


def test_pods_run_a_command_that_there_is() -> None:
    assert load_commands()["serve"].run is serve
    (container,) = objects()["Deployment"]["spec"]["template"]["spec"]["containers"]
    composed = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["service"]
    for name, *words in (container["args"], composed["command"]):
        _, fields = parse_command(name, words)
        assert fields
        assert fields["host"] == "0.0.0.0"  # noqa: S104 - inside a container
    assert [one["name"] for one in container["env"]] == [*composed["environment"]]


def test_selectors_and_volumes_fit_together() -> None:
    found = objects()
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert found["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert found["Service"]["spec"]["selector"] == labels
    assert found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    spec = found["Deployment"]["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    mounted = {one["name"] for one in container["volumeMounts"]}
    assert mounted == {one["name"] for one in spec["volumes"]}
    claimed = spec["volumes"][0]["persistentVolumeClaim"]["claimName"]
    assert claimed == found["PersistentVolumeClaim"]["metadata"]["name"]
    port = container["ports"][0]
    assert found["Service"]["spec"]["ports"][0]["targetPort"] == port["name"]


def test_compose_names_what_it_mounts_and_waits_for() -> None:
    told = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    mounted = {
        volume.partition(":")[0] for one in told["services"].values() for volume in one["volumes"]
    }
    assert mounted == {*told["volumes"]}
    assert {*told["services"]["service"]["depends_on"]} <= {*told["services"]}
    assert told["services"]["service"]["environment"]["COMMONPLACE_ENGINE"] == "http://engine:9200"


LINTERS = {
    # an image is made by root unless its Dockerfile says else, and the like
    "hadolint": ["Dockerfile"],
    "compose-lint": [
        *("check", "--quiet", "--fail-on", "medium", "--strict-config"),
        *("--config", "compose-lint.yaml", "compose.yaml"),
    ],
    # by the schemas of the newest Kubernetes, which are in the package
    "kubernetes-validate": ["--strict", "kubernetes.yaml"],
}


@pytest.mark.parametrize("linter", LINTERS)
def test_linters_find_no_fault(linter: str) -> None:
    found = shutil.which(linter, path=Path(sys.executable).parent) or shutil.which(linter)
    if not found:
        pytest.skip(f"{linter} is not here: make check-deploy installs it from PyPI")
    ran = subprocess.run(
        [found, *LINTERS[linter]], cwd=DEPLOY, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
