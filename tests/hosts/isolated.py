"""Program that runs a host beside a model server, in a network namespace of its own.

It is started by `unshare`, so that there is no network but the loopback that it brings up. The
arguments are the answer of the model, the file for requests, and the command; `{port}` in the
command and in the environment is the port of the model. `$TOOL_CALL` is what the model asks for:
an MCP server, its tool, and the arguments, as JSON.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

from tests.hosts.model_server import ModelServer, ToolCall

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1
RUN_TIMEOUT = 60.0


def bring_loopback_up() -> None:
    """Do as `ip link set lo up` does."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sH14x", b"lo", 0)
        name, flags = struct.unpack("16sH14x", fcntl.ioctl(handle, SIOCGIFFLAGS, request))
        fcntl.ioctl(handle, SIOCSIFFLAGS, struct.pack("16sH14x", name, flags | IFF_UP))


def run(answer: str, requests: Path, command: list[str]) -> int:
    """Run the command until it ends, or, with `$KILLED_AFTER`, until a file has that text."""
    call = os.environ.pop("TOOL_CALL", None)
    server = ModelServer(answer, requests, ToolCall(*json.loads(call)) if call else None)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = str(server.server_port)
    environment = {name: value.replace("{port}", port) for name, value in os.environ.items()}
    kill_at = environment.pop("KILLED_AFTER", None)
    words = [word.replace("{port}", port) for word in command]
    # a pipe that stays open: a host that reads prompts from it waits for the next one
    process = subprocess.Popen(
        words, env=environment, stdin=subprocess.PIPE if kill_at else None, start_new_session=True
    )
    try:
        if kill_at:
            if process.stdin:
                process.stdin.write(environment["PROMPT_LINE"].encode() + b"\n")
                process.stdin.flush()
            wait_for_text(Path(environment["HOME"]), kill_at)
            os.killpg(process.pid, signal.SIGKILL)
        return process.wait(RUN_TIMEOUT)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def wait_for_text(home: Path, text: str) -> None:
    """Wait until a transcript of a host holds a text."""
    deadline = time.monotonic() + RUN_TIMEOUT
    while time.monotonic() < deadline:
        if any(text.encode() in path.read_bytes() for path in home.glob(".c*/**/*.jsonl")):
            return
        time.sleep(0.05)
    raise TimeoutError(f"no transcript in {home} has {text!r}")


if __name__ == "__main__":
    bring_loopback_up()
    sys.exit(run(sys.argv[1], Path(sys.argv[2]), sys.argv[3:]))
