"""`refuse.py`: it refuses the named system calls, and a store works without them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.linux("seccomp")

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


def test_an_unknown_name_is_reported() -> None:
    command = [sys.executable, str(LAUNCHER), "nothing", "--", "true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "'nothing' is none of" in done.stderr


EDITS = """
import sys, commonplace
from pathlib import Path
root = Path(sys.argv[1])
(root / "a").mkdir()
note = root / "a/note.md"
note.write_text("# Note\\n\\nrobin\\n")
with commonplace.open(root) as store:
    assert store.search("robin")
    note.write_text("# Note\\n\\nheron\\n")
    (root / "new.md").write_text("# New\\n\\nheron\\n")
    assert {hit.path for hit in store.search("heron")} == {"a/note.md", "new.md"}
    assert not store.search("robin")
    assert store.grep("heron")
    print(store.status().watching)
"""
MOUNTED = """
import sys, commonplace
with commonplace.open(sys.argv[1]) as store:
    version = store.write("sub/a.md", "robin").version
    store.append("sub/a.md", "heron")
    for change in (
        lambda: store.write("sub/a.md", "new"),
        lambda: store.delete("sub/a.md"),
        lambda: store.move("sub/a.md", "a.md"),
    ):
        try:
            change()
        except commonplace.Refused as error:
            print(error.code)
    assert store.read("sub/a.md").splitlines() == ["robin", "heron"], store.read("sub/a.md")
    assert store.search("robin")
"""


def run_with_mounts(mounts: str, script: str, *arguments: str) -> str:
    """Run a script where a shell has mounted something that nobody else sees."""
    own = ["unshare", "--mount", *(["--map-root-user"] if os.geteuid() else [])]
    if subprocess.run([*own, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system lets us mount nothing")
    command = [*own, "sh", "-ec", f'{mounts}; exec "$0" -c "$@"', sys.executable, script]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_edits_are_seen_without_proc(tmp_path: Path) -> None:
    assert run_with_mounts("mount -t tmpfs none /proc", EDITS, str(tmp_path)) == "False"


def test_what_is_mounted_below_the_root_grows_and_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "root/sub").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    mount = 'mount --bind "$2/../other" "$2/sub"'
    refused = run_with_mounts(mount, MOUNTED, str(tmp_path / "root"))
    assert refused.split() == ["mount"] * 3
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["a.md"]
