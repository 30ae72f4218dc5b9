"""Calls of `forget` killed at any moment: finished by the next opening, or nothing was erased.

`FORGET_RUNS` says how many there are, 3 without it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

import pytest

import commonplace
from tests.test_forget import NAME, holds

RUNS = int(os.environ.get("FORGET_RUNS", "3"))

PROGRAM = """
import os, sys
import commonplace
for line in sys.stdin:
    root, text = line.rstrip().split("\\t")
    # a child for each: the interpreter need not start again
    child = os.fork()
    if child == 0:
        with commonplace.open(root) as store:
            store.forget(text)
        os._exit(0)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""

READER = """
import os, sys
import commonplace.store
if os.geteuid() == 0:
    os.setuid(65534)
print(commonplace.open(sys.argv[1]).read("a.md"), end="")
"""


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A memory with a text in many files and old versions."""
    root = tmp_path / "made"
    with commonplace.open(root) as store:
        for number in range(6):
            for version in range(3):
                text = f"# Note {number}\n\n- kept {version}\n- the {NAME} of {version}\n"
                store.write(f"facts/{number}.md", text)
            log = store.transcript(f"sessions/{number}")
            log.append({"role": "user", "content": f"{NAME} {number}"})
            log.append({"role": "user", "content": "kept"})
        store.search(NAME)
    return root


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_killed_call_is_finished_or_did_nothing(made: Path, tmp_path: Path) -> None:
    random = Random(7)  # noqa: S311 - any moments will do
    before = [path for path in holds(made) if not path.startswith(".commonplace/index")]
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        lasts, finished = 0.2, 0
        for run in range(RUNS + 1):
            root = tmp_path / f"run{run}"
            shutil.copytree(made, root)
            process.stdin.write(f"{root}\t{NAME}\n")
            process.stdin.flush()
            begun = time.monotonic()
            child = int(process.stdout.readline())
            if run:
                time.sleep(random.uniform(0, lasts))
                # it may be done already
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, 9)
            process.stdout.readline()
            lasts = lasts if run else time.monotonic() - begun
            commonplace.open(root).close()
            left = [path for path in holds(root) if not path.startswith(".commonplace/index")]
            finished += left == []
            assert left in ([], before), f"run {run}: half of it is left"
            assert not (root / ".commonplace/forgetting").exists()
            with commonplace.open(root) as store:
                assert [len(store.transcript(f"sessions/{n}").messages()) for n in range(6)] == (
                    [1] * 6 if left == [] else [2] * 6
                )
                store.forget(NAME)
            assert holds(root) == []
            shutil.rmtree(root)
        process.stdin.close()
    assert finished >= 1


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="there are no rights of users here")
def test_who_may_not_write_can_read_what_a_killed_call_left() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        root = Path(folder, "root")
        commonplace.open(root).write("a.md", "- kept\n")
        journal = {"anywhere": [[NAME, False]], "own": [], "messages": [], "texts": []}
        journal |= {"files": [], "revisions": [], "dropped": []}
        (root / ".commonplace/forgetting").write_text(json.dumps(journal))
        for path in [*root.rglob("*"), root]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        reader = subprocess.run(
            [sys.executable, "-c", READER, str(root)], capture_output=True, text=True, check=False
        )
        for path in [root, *root.rglob("*")]:
            path.chmod(0o755)
        assert (reader.stdout, reader.stderr) == ("- kept\n", "")
        commonplace.open(root).close()
        assert not (root / ".commonplace/forgetting").exists()
