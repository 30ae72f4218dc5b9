"""Conformance suite of MCP (npm `@modelcontextprotocol/conformance`) against our server.

`make conformance` installs it and runs this. Over HTTP it meets `--http`; over a bridge of twenty
lines that hands each body on, it meets the loop of stdio, which it cannot start itself. Scenarios
that call tools made for the suite, such as `test_simple_text`, do not apply.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import commonplace
from commonplace.doors.mcp.methods import Methods
from commonplace.doors.mcp.stdio import reply_to
from tests.test_mcp import http_server

SCENARIOS = {
    "2025-11-25": [
        "server-initialize",
        "ping",
        "tools-list",
        "resources-list",
        "prompts-list",
    ],
    "2026-07-28": [
        "tools-list",
        "resources-list",
        "sep-2164-resource-not-found",
        "prompts-list",
        "caching",
        "input-required-result-unsupported-methods",
        "input-required-result-ignore-extra-params",
    ],
}
ONLY_HTTP = {
    "2025-11-25": ["dns-rebinding-protection"],
    "2026-07-28": ["dns-rebinding-protection", "http-header-validation"],
}


@contextmanager
def stdio_bridge(root: Path) -> Iterator[str]:
    """Serve over HTTP what the loop of stdio replies to each message."""
    methods = Methods(lambda: commonplace.open(root))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            reply = reply_to(methods, body)
            text = json.dumps(reply).encode() if reply else b""
            self.send_response(200 if reply else 202)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/mcp"
    server.shutdown()
    methods.close()


def failed(modules: Path, address: str, revision: str, scenario: str) -> bool:
    """Run one scenario and return whether it failed; what it said is printed then."""
    program = modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    done = subprocess.run(
        [
            modules / ".bin" / "node",
            program,
            "server",
            "--url",
            address,
            "--scenario",
            scenario,
            "--spec-version",
            revision,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    print(f"{revision} {scenario}: {'failed' if done.returncode else 'passed'}")
    if done.returncode:
        print(done.stdout, done.stderr)
    return bool(done.returncode)


def main(modules: Path) -> int:
    """Run what applies, against both; return how many scenarios failed."""
    failures = 0
    for name, served, more in (("HTTP", http_server, ONLY_HTTP), ("stdio", stdio_bridge, {})):
        with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as address:
            (Path(folder) / "note.md").write_text("Tea.\n")
            print(f"{name}:")
            failures += sum(
                failed(modules, address, revision, scenario)
                for revision, scenarios in SCENARIOS.items()
                for scenario in scenarios + more.get(revision, [])
            )
    return failures


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
