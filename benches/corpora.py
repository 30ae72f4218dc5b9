"""Corpora of all benchmarks (real text, or synthetic where that is absent), and queries from them.

Real text comes from `../shared/data/speed` beside the repository (or `$COMMONPLACE_BENCH_DATA`)
and is unpacked once into `$COMMONPLACE_BENCH_CACHE`, by default in the system's temporary folder.
Where that data is absent a seeded synthetic corpus of the same shape takes its place, and every
table says so. Nothing is ever written inside the repository.
"""

from __future__ import annotations

import json
import lzma
import os
import random
import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from benches.sections import CJK, Section

SEED = 20261121
NAMES = ("win32-docs", "lctt-zh", "rust-book")
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+|[^\W_\u3040-\u30ff\u3400-\u9fff]+")
MOST_WORDS, MOST_PLACES, SUBSTRING_LENGTH = 12, 3, 4
CHINESE = (
    "记忆搜索文件系统消息索引更新查询时间内存速度标题段落数据程序语言网络用户命令安装配置运行测试"
)


class Corpus(NamedTuple):
    """A folder of Markdown, and how to name it in a table."""

    root: Path
    label: str


class Query(NamedTuple):
    """The words of one heading, and the sections it heads when these are few enough to expect."""

    words: tuple[str, ...]
    citations: tuple[str, ...]


def cache() -> Path:
    """Return the folder for unpacked and generated corpora, made if needed."""
    named = os.environ.get("COMMONPLACE_BENCH_CACHE")
    folder = Path(named) if named else Path(tempfile.gettempdir()) / "commonplace-bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def data() -> Path:
    """Return the folder where the packed real data would lie."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data" / "speed"
    return Path(os.environ.get("COMMONPLACE_BENCH_DATA") or beside)


def markdown(name: str) -> Corpus:
    """Return the unpacked corpus `name`, or a synthetic one where its archive is absent."""
    packed, ready = data() / f"{name}.tar.xz", cache() / name
    if not packed.is_file():
        return synthetic(name)
    if not ready.is_dir():
        with tempfile.TemporaryDirectory(dir=cache()) as made, tarfile.open(packed) as archive:
            archive.extractall(made, filter="data")
            # the archive holds one folder of its own name; renaming marks it as complete
            inside = Path(made) / name
            (inside if inside.is_dir() else Path(made)).rename(ready)
    return Corpus(ready, name)


def synthetic(name: str, files: int | None = None) -> Corpus:
    """Make a corpus of seeded words: Zipf-like, ten sections a file, Chinese where `name` says."""
    count = files or {"win32-docs": 10_000, "lctt-zh": 2_000}.get(name, 400)
    ready = cache() / f"synthetic-{name}-{count}"
    if not ready.is_dir():
        draw = random.Random(f"{SEED} {name}")
        words = chinese_words(draw) if name.endswith("zh") else english_words(draw)
        with tempfile.TemporaryDirectory(dir=cache()) as made:
            for number in range(count):
                note = Path(made) / "corpus" / f"{number % 100:02}" / f"{number:05}.md"
                note.parent.mkdir(parents=True, exist_ok=True)
                note.write_text("\n".join(note_lines(draw, words)), encoding="utf-8")
            (Path(made) / "corpus").rename(ready)
    return Corpus(ready, f"synthetic {name}")


def english_words(draw: random.Random) -> list[str]:
    """Return 30,000 pronounceable words."""
    syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    return sorted({"".join(draw.choices(syllables, k=draw.randint(2, 4))) for _ in range(30_000)})


def chinese_words(draw: random.Random) -> list[str]:
    """Return words of two to four characters."""
    return sorted({"".join(draw.choices(CHINESE, k=draw.randint(2, 4))) for _ in range(8_000)})


def some(draw: random.Random, words: Sequence[str], count: int) -> str:
    """Return `count` words, early ones far more often than late ones."""
    return " ".join(words[int(len(words) * draw.random() ** 4)] for _ in range(count))


def note_lines(draw: random.Random, words: Sequence[str]) -> Iterable[str]:
    """Yield the lines of one synthetic note."""
    yield f"# {some(draw, words, 4)}\n"
    for _ in range(9):
        yield f"## {some(draw, words, draw.randint(1, 5))}\n"
        yield some(draw, words, draw.randint(20, 150)) + ".\n"
        if draw.random() < 0.2:
            yield f"```\n# {some(draw, words, 3)}\n```\n"


def copies(corpus: Corpus, target: Path, times: float) -> Corpus:
    """Copy `corpus` into `target` so often; of the last, partial copy a seeded sample of files."""
    files = sorted(file for file in corpus.root.rglob("*.md") if file.is_file())
    whole = int(times)
    part = random.Random(SEED).sample(files, int(len(files) * (times - whole)))
    for number, chosen in enumerate([files] * whole + ([sorted(part)] if part else [])):
        base = target / f"copy{number}" if times > 1 else target
        for file in chosen:
            copied = base / file.relative_to(corpus.root)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copied)
    return Corpus(target, corpus.label if times == 1 else f"{corpus.label} ×{times:g}")


def heading_queries(sections: Sequence[Section], count: int) -> list[Query]:
    """Return the words of `count` different headings, a seeded sample; all words are kept."""
    places: dict[str, list[str]] = {}
    for section in sections:
        if WORD.search(section.heading):
            places.setdefault(section.heading, []).append(section.citation)
    # one entry a heading, else “Requirements” and “See also” would be a tenth of all queries
    chosen = random.Random(SEED).sample(sorted(places), min(count, len(places)))
    return [
        Query(tuple(WORD.findall(heading)[:MOST_WORDS]), few(places[heading])) for heading in chosen
    ]


def substring_queries(sections: Sequence[Section], count: int) -> list[Query]:
    """Return four characters out of Chinese headings, as asked by who forgot the exact words."""
    draw = random.Random(SEED)
    places: dict[str, list[str]] = {}
    for section in sections:
        runs = [run for run in CJK.findall(section.heading) if len(run) > SUBSTRING_LENGTH]
        if runs:
            start = draw.randrange(len(runs[0]) - SUBSTRING_LENGTH)
            places.setdefault(runs[0][start : start + SUBSTRING_LENGTH], []).append(
                section.citation
            )
    chosen = draw.sample(sorted(places), min(count, len(places)))
    return [Query((piece,), few(places[piece])) for piece in chosen]


def few(citations: Sequence[str]) -> tuple[str, ...]:
    """Return the citations when one of them can be expected among the best ten, else none."""
    return tuple(citations) if len(citations) <= MOST_PLACES else ()


def sample_transcript() -> tuple[Path, str]:
    """Return a file of real transcript lines (or synthetic ones) and its name for the table."""
    packed = data() / "claude-code-sessions.jsonl.xz"
    name = "claude-code-sessions" if packed.is_file() else "synthetic-sessions"
    ready = cache() / f"{name}-with-cjk.jsonl"
    if not ready.is_file():
        making = ready.with_suffix(".part")
        with making.open("wb") as file:
            if packed.is_file():
                with lzma.open(packed) as lines:
                    shutil.copyfileobj(lines, file, 1 << 20)
            else:
                file.writelines(synthetic_messages(20_000))
            file.writelines(cjk_messages())
        making.rename(ready)
    return ready, name


def cjk_messages() -> list[bytes]:
    """Return two messages with a Chinese word, once plain and once escaped: both must be found."""
    record = {"type": "user", "message": {"role": "user", "content": "请把这条记忆写进笔记"}}
    return [
        json.dumps(record, ensure_ascii=ascii_only).encode() + b"\n" for ascii_only in (False, True)
    ]


def synthetic_messages(count: int) -> Iterable[bytes]:
    """Yield seeded lines of the shape of Claude Code: half of them talk, half are noise."""
    draw = random.Random(f"{SEED} messages")
    words = english_words(draw)
    for number in range(count):
        text = some(draw, words, draw.randint(5, 300))
        if number % 7 == 0:
            text += f'\nHe said "{some(draw, words, 1)}" and left.'
        role = "assistant" if number % 2 else "user"
        talks = number % 4 < 2
        block = (
            {"type": "text", "text": text} if talks else {"type": "tool_result", "content": text}
        )
        record = {
            "type": role,
            "sessionId": f"s{number // 200}",
            "timestamp": f"2026-01-{number // 1000 % 28 + 1:02}T00:{number % 60:02}:00Z",
            "message": {"role": role, "content": [block]},
        }
        yield json.dumps(record).encode() + b"\n"


def repeated(sample: Path, target: Path, times: int) -> Path:
    """Write `sample` so often into `target`."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as file:
        for _ in range(times):
            with sample.open("rb") as lines:
                shutil.copyfileobj(lines, file, 1 << 20)
    return target
