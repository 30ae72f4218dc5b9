"""Counts of matching transcript lines: ripgrep, GNU grep, a Python loop, `Store.grep`; peak memory.

Why it exists: rg and grep search raw JSON, ours searches decoded text. So each side gets the
pattern that a careful user would type for it, and each side's count is checked against an
independent one: raw lines for rg and grep, decoded messages for ours.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import orjson

if TYPE_CHECKING:
    import commonplace

PREFIX = "sessions/"
CHUNK = 1 << 17


class Pattern(NamedTuple):
    """What to look for: in decoded text, and the same in the raw bytes of JSON."""

    label: str
    text: str
    raw: str
    regex: bool = False
    ignore_case: bool = False


def conversation_text(record: object) -> str:
    """Return the text of a person or a model in a Claude Code record, parts joined by line ends."""
    if not isinstance(record, dict) or record.get("type") not in ("user", "assistant"):
        return ""
    message = record.get("message")
    if record.get("isMeta") is True or not isinstance(message, dict):
        return ""
    content = message.get("content")
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(
        block["text"]
        for block in blocks
        if isinstance(block, dict)
        and block.get("type") == "text"
        and isinstance(block.get("text"), str)
    )


def texts(file: Path) -> Iterator[str]:
    """Yield the text of each message, empty ones left out: Python's own line loop."""
    with file.open("rb") as lines:
        for line in lines:
            if text := conversation_text(orjson.loads(line)):
                yield text


def finder(pattern: Pattern, pattern_text: str) -> Callable[[str], object]:
    """Return a test for one text by Python's `re`."""
    source = pattern_text if pattern.regex else re.escape(pattern_text)
    return re.compile(source, re.IGNORECASE if pattern.ignore_case else 0).search


def decoded_count(file: Path, pattern: Pattern) -> int:
    """Count the messages that match, by decoding every line."""
    matches = finder(pattern, pattern.text)
    return sum(1 for text in texts(file) if matches(text))


@cache
def said_texts(file: Path) -> tuple[str, ...]:
    """Return what our parser takes for said, empty texts left out; nothing that a host wrote."""
    import commonplace  # noqa: PLC0415 - the baselines can be measured without it

    with tempfile.TemporaryDirectory() as root:
        shutil.copyfile(file, Path(root) / "messages.jsonl")
        with commonplace.open(root) as store:
            log = store.transcript("messages.jsonl")
            return tuple(message.text for message in log if message.text)


def said_count(file: Path, pattern: Pattern) -> int:
    """Count the messages in which what was said matches, by Python's `re`."""
    matches = finder(pattern, pattern.text)
    return sum(1 for text in said_texts(file) if matches(text))


def raw_count(file: Path, pattern: Pattern) -> int:
    """Count the lines whose raw text matches."""
    matches = finder(pattern, pattern.raw)
    with file.open(encoding="utf-8", errors="replace", newline="\n") as lines:
        return sum(1 for line in lines if matches(line.rstrip("\n")))


def ripgrep(pattern: Pattern, file: Path, memory: str) -> list[str]:
    """Return the command that counts lines with rg; `memory` is --mmap or --no-mmap."""
    kind = "-e" if pattern.regex else "-F"
    case = "-i" if pattern.ignore_case else "-s"
    dash = [] if pattern.regex else ["--"]
    return ["rg", "--no-config", memory, "-a", "-c", case, kind, *dash, pattern.raw, str(file)]


def gnu_grep(pattern: Pattern, file: Path) -> list[str]:
    """Return the command that counts lines with grep; only -P knows the regex syntax of rg."""
    kind = "-P" if pattern.regex else "-F"
    case = ["-i"] if pattern.ignore_case else []
    # plain ASCII is fastest, and right, in the C locale
    locale = "C" if pattern.raw.isascii() and not pattern.regex else "C.UTF-8"
    return [
        "env",
        f"LC_ALL={locale}",
        "grep",
        "-a",
        "-c",
        *case,
        kind,
        "-e",
        pattern.raw,
        str(file),
    ]


def counted(command: list[str]) -> int:
    """Run a counting command; 1 means nothing found, anything above is a failure."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        raise RuntimeError(f"{command[0]}: {done.stderr.strip()}")
    return int(done.stdout.strip() or 0)


def available(file: Path) -> Mapping[str, Callable[[Pattern], int]]:
    """Return the scanners on this machine by name, each as a count of matching lines."""
    scanners: dict[str, Callable[[Pattern], int]] = {}
    if shutil.which("rg"):
        scanners["rg --mmap"] = lambda pattern: counted(ripgrep(pattern, file, "--mmap"))
        scanners["rg --no-mmap"] = lambda pattern: counted(ripgrep(pattern, file, "--no-mmap"))
    if shutil.which("grep"):
        scanners["GNU grep"] = lambda pattern: counted(gnu_grep(pattern, file))
    return scanners


def store_count(store: commonplace.Store, pattern: Pattern) -> int:
    """Count matching messages with ours, without having a gram index written."""
    return store.grep(
        pattern.text,
        prefix=PREFIX,
        fixed=not pattern.regex,
        ignore_case=pattern.ignore_case,
        keep=False,
    ).count()


def store_count_without_gram_index(store: commonplace.Store, pattern: Pattern) -> int:
    """Count matching messages with ours while the gram index is out of the way."""
    folder = store.root / ".commonplace" / "gram_index"
    hidden = folder.rename(folder.with_name("gram_index.hidden"))
    try:
        return store_count(store, pattern)
    finally:
        hidden.rename(folder)


def build_gram_index(store: commonplace.Store) -> tuple[float, int]:
    """Scan once and wait until the gram index is written; return seconds and bytes."""
    store.grep("first", prefix=PREFIX).count()
    start = time.perf_counter()
    store.wait_for_gram_indexes()
    spent = time.perf_counter() - start
    folder = store.root / ".commonplace" / "gram_index"
    return spent, sum(entry.stat().st_size for entry in folder.iterdir())


def store_list(store: commonplace.Store, pattern: Pattern) -> int:
    """Go through the matches with their snippets, as a user who reads them."""
    return sum(
        1
        for match in store.grep(
            pattern.text,
            prefix=PREFIX,
            fixed=not pattern.regex,
            ignore_case=pattern.ignore_case,
            keep=False,
        )
        if match.snippet
    )


def ripgrep_list(pattern: Pattern, file: Path, memory: str, output: Path) -> int:
    """Write the matching lines, cut at 300 columns, to a file; never to /dev/null, which cheats."""
    command = ripgrep(pattern, file, memory)
    command[command.index("-c") : command.index("-c") + 1] = [
        "-n",
        "-M",
        "300",
        "--max-columns-preview",
    ]
    with output.open("wb") as sink:
        subprocess.run(command, stdout=sink, check=True)
    return output.read_bytes().count(b"\n")


def bare_read(file: Path) -> int:
    """Read the whole file on two threads in 128 KB pieces and do nothing with it."""
    length = file.stat().st_size
    handle = os.open(file, os.O_RDONLY)

    def half(begin: int, end: int) -> int:
        piece = bytearray(CHUNK)
        at = begin
        while at < end:
            at += os.preadv(handle, [memoryview(piece)[: min(CHUNK, end - at)]], at)
        return at - begin

    try:
        with ThreadPoolExecutor(2) as pool:
            return sum(pool.map(half, (0, length // 2), (length // 2, length)))
    finally:
        os.close(handle)


OURS_ONCE = (
    "import sys, commonplace; "
    "store = commonplace.open(sys.argv[1]); "
    "given = dict(fixed=True, ignore_case=False, keep=False); "
    f"print(store.grep(sys.argv[2], prefix={PREFIX!r}, **given).count())"
)


def peak_megabytes(command: list[str]) -> float | None:
    """Return the peak resident memory of a command, by wait4, or None when it fails.

    A child begins with its parent's peak, so a small process in between has to start it.
    """
    watcher = (
        "import os, subprocess, sys; "
        "null = subprocess.DEVNULL; "
        "child = subprocess.Popen(sys.argv[1:], stdout=null, stderr=null); "
        "_, status, usage = os.wait4(child.pid, 0); "
        "print(usage.ru_maxrss, os.waitstatus_to_exitcode(status))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", watcher, *command],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return None
    peak, code = done.stdout.split()
    unit = 1 if sys.platform == "darwin" else 1024
    return int(peak) * unit / 1e6 if int(code) in (0, 1) else None
