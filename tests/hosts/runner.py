"""Runner of a host in a scratch home: its prompts, and the requests that reach the model."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
PROGRAMS = REPOSITORY / "target" / "hosts" / "node_modules" / ".bin"
COMMONPLACE = Path(sys.executable).with_name("commonplace")


def program(name: str) -> str:
    """Return the path of a host's program; skip the test where it cannot run."""
    if not shutil.which("node"):
        pytest.skip("node is not here, and the program needs it")
    if not shutil.which("unshare"):
        pytest.skip("unshare is not here, which takes the network away")
    found = PROGRAMS / name
    if not found.exists():
        pytest.skip(f"{name} is not installed; `make test-hosts` does that")
    return str(found)


class Home:
    """A scratch home with a project in it, and one host that runs there.

    Args:
        folder: An empty folder.
        environment: What the host needs besides `HOME` and `PATH`; `{port}` is the model's.
    """

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.project = folder / "home", folder / "project"
        self.memory = self.folder / ".commonplace"
        self._requests = folder / "requests.jsonl"
        for made in (self.folder, self.project):
            made.mkdir()
        path = f"{COMMONPLACE.parent}{os.pathsep}{os.environ['PATH']}"
        base = {"HOME": str(self.folder), "PATH": path, "LANG": "C.UTF-8"}
        self.environment = base | environment

    def commonplace(self, *arguments: str) -> str:
        """Run a command of ours in the home and return what it prints."""
        return self.call(str(COMMONPLACE), *arguments)

    def call(self, *command: str) -> str:
        """Run a command that needs no model in the home and return what it prints."""
        done = subprocess.run(
            command, env=self.environment, cwd=self.project, capture_output=True, check=True
        )
        return done.stdout.decode()

    def start(
        self, *command: str, answer: str = "Noted.", mounts: str = "", **more: str
    ) -> subprocess.Popen[bytes]:
        """Start a host without a network.

        Args:
            command: The program and its arguments.
            answer: What the model says.
            mounts: A shell command that changes what is mounted where, for the host alone.
            more: Further variables.
        """
        inner = [sys.executable, "-m", "tests.hosts.isolated", answer, str(self._requests)]
        script = f'{mounts or ":"} && cd "$0" && exec "$@"'
        outer = ["unshare", "--map-root-user", "--net", "--mount", "sh", "-c", script]
        environment = self.environment | more | {"PYTHONPATH": str(REPOSITORY)}
        return subprocess.Popen(
            [*outer, str(self.project), *inner, *command],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *command: str, answer: str = "Noted.", mounts: str = "", **more: str) -> str:
        """Run a host to its end and return what it prints."""
        process = self.start(*command, answer=answer, mounts=mounts, **more)
        out, err = process.communicate(timeout=90)
        assert process.returncode == 0, (out + err).decode()
        return out.decode()

    def requests(self) -> list[dict[str, Any]]:
        """Return what the model was asked since the last call."""
        if not self._requests.exists():
            return []
        lines = self._requests.read_text().splitlines()
        self._requests.unlink()
        return [json.loads(line) for line in lines]

    def injected(self) -> list[dict[str, Any]]:
        """Return the log of injections, the oldest first."""
        found: list[dict[str, Any]] = json.loads(self.commonplace("log", "--json"))
        return found
