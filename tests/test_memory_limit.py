"""Memory limits: the work is done, or a typed error or a note says what was not.

Each child has little memory, by `setrlimit` or by `memory_limit=`, and is to end by itself.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import commonplace
from commonplace.errors import MemoryLimit

pytestmark = pytest.mark.linux("/proc/self/status")

MB = 1 << 20
LIMITS = [(kind, limit) for kind in ("memory_limit", "RLIMIT_DATA") for limit in (256, 512, 1024)]
LIMITS.append(("RLIMIT_AS", 256))
HEADINGS = 1_000_000
LINES = 800_000
WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprstvz" for b in "aeiou" for c in "dgklmnprst"]

CHILD = """
import json, resource, sys
kind, limit, root, work = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
if kind != "memory_limit":
    resource.setrlimit(getattr(resource, kind), (limit, limit))
import commonplace
from commonplace.errors import CommonplaceError
def peak():
    # ru_maxrss begins with that of the parent
    with open("/proc/self/status") as status:
        [line] = [line for line in status if line.startswith("VmHWM:")]
    return int(line.split()[1]) << 10
before = peak()
answer = {}
try:
    given = limit if kind == "memory_limit" else None
    with commonplace.open(root, memory_limit=given) as store:
        exec(work)
except CommonplaceError as error:
    answer = {"error": type(error).__name__, "code": error.code, "text": str(error)}
print(json.dumps(answer | {"before": before, "peak": peak()}))
"""


def child(kind: str, limit: int, root: Path, work: str) -> dict[str, Any]:
    """Run `work` on a store with so little memory, and return what it put into `answer`."""
    command = [sys.executable, "-c", CHILD, kind, str(limit), str(root), work]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (kind, limit, done.returncode, done.stderr[-2000:])
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


SEARCH = """
hits = store.search({word!r})
answer = {{
    "paths": [hit.path for hit in hits],
    "freshness": hits.freshness,
    "notes": hits.notes,
    "messages": store.status().messages,
}}
"""


CALLS = """
answer["calls"] = []
for call in (
    lambda: len(store.sections("headings.md")),
    lambda: store.patch("headings.md", [("findable", "found")]).applied,
    lambda: store.read("huge.md"),
):
    try:
        answer["calls"].append(call())
    except CommonplaceError as error:
        answer["calls"].append(error.code)
"""


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a root with a transcript of many short lines."""
    root = tmp_path_factory.mktemp("lines")
    count = len(WORDS)
    with (root / "messages.jsonl").open("w") as file:
        for n in range(LINES):
            said = f"{WORDS[n % count]} {WORDS[n * n % count]}{n % 20_000}"
            file.write(f'{{"role":"user","content":"{said}"}}\n')
        file.write('{"role":"user","content":"theverylast"}\n')
    return root


@pytest.mark.parametrize(("kind", "limit"), LIMITS)
def test_many_short_lines(lines: Path, kind: str, limit: int) -> None:
    shutil.rmtree(lines / ".commonplace", ignore_errors=True)
    answer = child(kind, limit * MB, lines, SEARCH.format(word="theverylast"))
    assert answer["peak"] < limit * MB
    if answer["freshness"] == "fresh":
        assert answer["paths"]
        assert answer["messages"] == LINES + 1
    else:
        assert answer["freshness"] == "partial"
        assert answer["paths"] == []
        assert 10_000 < answer["messages"] < LINES
        [note] = answer["notes"]
        assert f"indexed up to line {answer['messages']} " in note
        assert "memory_limit" in note
    if kind == "memory_limit":
        assert (answer["freshness"] == "fresh") == (limit > 256)


@pytest.mark.parametrize(("kind", "limit"), LIMITS)
def test_notes_that_are_too_large(tmp_path: Path, kind: str, limit: int) -> None:
    (tmp_path / "small.md").write_text("# Small\n\nfindable\n")
    with (tmp_path / "headings.md").open("w") as file:
        file.writelines(f"# h{n % 97}\n\n" for n in range(HEADINGS))
        file.write("findable at the end\n")
    with (tmp_path / "huge.md").open("wb") as file:
        file.truncate(300 * MB)
    answer = child(kind, limit * MB, tmp_path, SEARCH.format(word="findable") + CALLS)
    assert answer["peak"] < limit * MB
    assert answer["freshness"] == "partial"
    huge, headings = sorted(answer["notes"], key=lambda note: "headings.md" in note)
    assert huge.startswith("huge.md is not indexed: 300 MB")
    assert "small.md" in answer["paths"]
    if "100000 headings" in headings:
        assert "headings.md" in answer["paths"]
    else:
        assert headings.startswith("headings.md is not indexed (")
        assert "memory_limit" in headings
    sections, patched, read = answer["calls"]
    assert sections in ("memory", 100_001)
    assert patched in ("memory", 1)
    assert read in ("memory", "large")


def test_a_note_that_comes_later(tmp_path: Path) -> None:
    (tmp_path / "small.md").write_text("# Small\n\nfindable\n")
    work = """
store.search("findable")
import hashlib
words = (hashlib.sha256(b"%d" % n).hexdigest()[:10] for n in range(1_200_000))
with open(store.root / "words.md", "w") as file:
    file.writelines(word + "\\n" for word in words)
for turn in range(3):
    hits = store.search("findable")
    with open(store.root / "words.md", "a") as file:
        file.write("more")
answer = {"freshness": hits.freshness, "found": len(hits)}
"""
    answer = child("memory_limit", 256 * MB, tmp_path, work)
    assert answer["peak"] < 256 * MB
    assert (answer["freshness"], answer["found"]) == ("partial", 1)


@pytest.mark.parametrize("megabytes", [6, 13])
def test_one_line_of_different_words(tmp_path: Path, megabytes: int) -> None:
    """All of it is one document: what its words need is known before they are read."""
    (tmp_path / "small.md").write_text("# Small\n\nfindable\n")
    work = f"""
import random
line = random.Random(1).randbytes({megabytes} * 476_000).hex(" ", 5)
with open(store.root / "line.md", "w") as file:
    file.write(line)
store.search("findable")
store.update("line.md", lambda text: text + " findable\\n")
del line
hits = store.search("findable")
answer = {{"freshness": hits.freshness, "paths": sorted(hit.path for hit in hits)}}
store.verify()
"""
    answer = child("memory_limit", 256 * MB, tmp_path, work)
    assert answer["peak"] < 256 * MB
    whole = answer["freshness"] == "fresh"
    assert answer["paths"] == (["line.md", "small.md"] if whole else ["small.md"])
    assert whole == (megabytes < 10)


def test_what_is_left_out_for_memory_is_no_difference(tmp_path: Path) -> None:
    words = (f"{n:x}{n % 97}" for n in range(400_000))
    (tmp_path / "words.md").write_text("\n".join(words))
    with commonplace.open(tmp_path, memory_limit=32 * MB) as store:
        assert store.search("nothing").freshness == "partial"
        assert store.verify().differences == []


@pytest.mark.parametrize("limit", [0, 256, 16 * MB - 1])
def test_a_limit_with_which_nothing_works_is_refused(tmp_path: Path, limit: int) -> None:
    with pytest.raises(MemoryLimit, match=f"{limit} bytes needs 16 MB"):
        commonplace.open(tmp_path, memory_limit=limit)


@pytest.mark.parametrize(("kind", "limit"), [LIMITS[at] for at in (0, 4, 2, 6)])
def test_one_line_of_a_gigabyte(tmp_path: Path, kind: str, limit: int) -> None:
    (tmp_path / "root").mkdir()
    source = tmp_path / "source.jsonl"
    message = '{"role":"user","content":"short words"}\n'
    with source.open("wb") as file:
        file.write(message.encode() + b'{"role":"user","content":"')
        file.seek(1024 * MB)
        file.write(b'"}\n' + message.encode())
    work = f"""
taken = store.transcript("log.jsonl").load({str(source)!r})
answer = {{"messages": taken.messages, "bad": taken.bad_lines, "found": len(store.search("words"))}}
"""
    answer = child(kind, limit * MB, tmp_path / "root", work)
    assert answer["peak"] < limit * MB
    assert (answer["messages"], answer["bad"], answer["found"]) == (2, [2], 2)


def test_the_error_names_what_was_needed(tmp_path: Path) -> None:
    with commonplace.open(tmp_path, memory_limit=64 * MB) as store:
        (tmp_path / "large.md").write_text("word " * (4 * MB))
        with pytest.raises(MemoryLimit, match=r"60 MB.*limit is 64 MB") as refused:
            store.read("large.md")
        assert refused.value.code == "memory"
        assert isinstance(refused.value, MemoryError)
        with pytest.raises(MemoryLimit):
            store.patch("large.md", [("a", "b")])
        hits = store.search("word")
        assert hits.freshness == "partial"
        assert "large.md is not indexed" in hits.notes[0]
        (tmp_path / "large.md").write_text("a word\n")
        hits = store.search("word")
        assert [hit.path for hit in hits] == ["large.md"]
        assert (hits.freshness, hits.notes) == ("fresh", [])
