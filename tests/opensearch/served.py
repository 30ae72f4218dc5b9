"""The service as a process of its own, which can be killed and started again."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from tests.opensearch.cluster import free_ports

OLDER = """
import commonplace.service.indexer as indexer, commonplace.service.opensearch as opensearch
indexer.MAPPING_VERSION = opensearch.MAPPING_VERSION = 0
opensearch.MAPPING["_meta"] = {"commonplace": 0}
"""
"""What makes a process index as a version before this one, with another number of the form."""


class Served:
    """The service as a process that can be killed and started again.

    Args:
        root: Its folder.
        urls: Nodes of the engine.
        index: Name of the index there.
        older: Be a version before this one.
        within: A command that runs another one.
    """

    def __init__(
        self,
        root: Path,
        urls: Sequence[str],
        index: str,
        *,
        older: bool = False,
        within: Sequence[str] = (),
    ) -> None:
        (self.port,) = free_ports(1)
        options = ["--engine", ",".join(urls), "--index", index, "--port", str(self.port)]
        options += ["--rate", "100000", "--search-timeout", "10"]
        run = "from commonplace.cli import main\nraise SystemExit(main())"
        run = OLDER + run if older else run
        command = [sys.executable, "-c", run, "--root", str(root), "serve", *options]
        self._command = [*within, *command]
        self._log = root / "service.log"
        self.start()

    def start(self) -> None:
        """Start it."""
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(self._command, stdout=log, stderr=log)

    def kill(self) -> None:
        """End it at once (SIGKILL)."""
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        """End it in order."""
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()

    def answers(self) -> bool:
        """Say whether it is there."""
        return self.call("", "status")[0] == 401

    def call(self, token: str, name: str, key: str = "", **body: Any) -> tuple[int, Any]:
        """Return status and answer of a call; 0 where there was none."""
        headers = {"Authorization": f"Bearer {token}"} | ({"Idempotency-Key": key} if key else {})
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("POST", f"/v1/{name}", json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, HTTPException, ValueError):
            return 0, None
        finally:
            connection.close()
