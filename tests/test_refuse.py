"""What `refuse.py` refuses is refused, and a memory answers as it does elsewhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LAUNCHER = Path(__file__).with_name("refuse.py")
PROBE = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
answered = libc.syscall(437, -100, b"/", (ctypes.c_uint64 * 3)(), 24)  # openat2
print(errno.errorcode[ctypes.get_errno()] if answered < 0 else "done")
"""
STORY = """
import sys, commonplace
with commonplace.open(sys.argv[1]) as store:
    store.write("a/note.md", "# Note\\n\\nrobin\\n")
    assert [hit.path for hit in store.search("robin")] == ["a/note.md"]
    written = store.write("a/note.md", "# Note\\n\\nheron\\n")
    assert store.search("heron") and not store.search("robin")
    assert "robin" in store.read("a/note.md", version=written.previous)
    print(store.status().watching)
"""


def run(refused: str, script: str, *arguments: str) -> str:
    command = [sys.executable, str(LAUNCHER), *refused.split(), "--", sys.executable, "-c", script]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("refused", "answer"), [("openat2", "ENOSYS"), ("openat2=EPERM", "EPERM"), ("all", "ENOSYS")]
)
def test_a_call_is_refused(refused: str, answer: str) -> None:
    assert run(refused, PROBE) == answer


@pytest.mark.parametrize("refused", ["inotify", "inotify=EPERM", "all", "all=EPERM"])
def test_a_memory_works_without_it(refused: str, tmp_path: Path) -> None:
    assert run(refused, STORY, str(tmp_path)) == "False"


def test_an_unknown_name_is_said() -> None:
    command = [sys.executable, str(LAUNCHER), "nothing", "--", "true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "'nothing' is none of" in done.stderr
