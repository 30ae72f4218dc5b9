"""Check of wired hosts: run each hook command as its host would, and time the answer."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

from commonplace.doors.hook_entries import installed_commands
from commonplace.doors.hosts.host import Host
from commonplace.doors.install import hooks_file

PATIENCE = 10.0
"""Seconds after which a host would have given up."""


class Finding:
    """What was found of one host in one place: `problem` is empty when all is well."""

    def __init__(self, host: Host, place: Path, *, wired: bool, problem: str, detail: str) -> None:
        self.host, self.place, self.wired = host, place, wired
        self.problem, self.detail = problem, detail


def check(host: Host, project: Path | None) -> Finding:
    """Return what is to be known of a host in the user's settings, or in those of a project."""
    file = hooks_file(host, [], project)
    try:
        commands = installed_commands(host, file.text() or "")
    except (ValueError, OSError) as error:
        return Finding(host, file.path, wired=False, problem=str(error), detail="")
    if not commands:
        return Finding(host, file.path, wired=False, problem="", detail="not wired")
    if len(commands) > 1:
        problem = f"it is wired {len(commands)} times: uninstall it, and install it again"
        return Finding(host, file.path, wired=True, problem=problem, detail="")
    problem, milliseconds = _run(host, commands[0], project)
    detail = f"answers in {milliseconds} ms: {commands[0]}"
    return Finding(host, file.path, wired=True, problem=problem, detail=detail)


def _run(host: Host, command: str, project: Path | None) -> tuple[str, int]:
    """Run a hook for a session that starts; return what is wrong, and milliseconds."""
    starts = next(name for name, kind in host.events.items() if kind == "session start")
    payload = {
        "session_id": "commonplace-doctor",
        "cwd": str(project or Path.cwd()),
        "hook_event_name": starts,
        "source": "clear",
    }
    before = time.monotonic()
    try:
        done = subprocess.run(  # noqa: S602 - hosts run it by a shell, too
            command,
            shell=True,
            input=json.dumps(payload).encode(),
            capture_output=True,
            timeout=PATIENCE,
            check=False,
            # a host that a desktop has started knows little of the shell of its user
            env={name: os.environ[name] for name in _KNOWN if name in os.environ},
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {PATIENCE:g} s", int(PATIENCE * 1000)
    milliseconds = int((time.monotonic() - before) * 1000)
    said = done.stderr.decode(errors="replace").strip()
    if done.returncode or said:
        return f"exit code {done.returncode}: {said or 'it says nothing'}", milliseconds
    try:
        answer = json.loads(done.stdout or b"{}")
    except ValueError:
        return "the answer is no JSON", milliseconds
    return ("" if isinstance(answer, dict) else "the answer is no JSON object"), milliseconds


_KNOWN = ("HOME", "PATH", "LANG", "LC_ALL", "COMMONPLACE_ROOT", "XDG_DATA_HOME")
