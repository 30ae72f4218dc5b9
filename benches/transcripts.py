"""Benchmark of grep over gigabytes of transcript, of import, and of ranked search in 10⁶ messages.

Corpus: 96 MB of real Claude Code lines, repeated to 2.3 GB (with --quick to 0.2 GB), and two
lines of our own in each repeat that hold one Chinese word, plain and in ASCII escapes. Why it
exists: raw-byte scanners are the standard to beat, and decoded text is what they cannot see. Words
are chosen from the text by how often they occur, not by hand.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from statistics import median

from benches import scanners
from benches.commonplace_engine import Ours
from benches.corpora import SEED, Corpus, Query
from benches.ranked import Makers, Notes, build, query
from benches.ratios import OURS, Figures, Row, Table, rounds, seconds
from benches.resident import measure
from benches.scanners import Pattern
from benches.sections import Section

RARE = "rare word"
FREQUENT = "frequent word"
NO_INDEX = "commonplace, no gram index"
NO_REDACTION = "commonplace, without redaction"
LONG = 2.0  # seconds; longer runs are repeated three times only


@cache
def patterns(sample: Path) -> list[Pattern]:
    """Choose what to look for from the words of the sample."""
    document_frequency: Counter[str] = Counter()
    quoted: Counter[str] = Counter()
    messages = 0
    for text in scanners.said_texts(sample):
        messages += 1
        document_frequency.update(set(re.findall(r"\b[A-Za-z]{5,14}\b", text)))
        quoted.update(set(re.findall(r'"[A-Za-z]{3,12}"', text)))
    ordered = sorted(document_frequency, key=lambda word: (document_frequency[word], word))
    rare = next(word for word in ordered if document_frequency[word] >= 2 and len(word) >= 8)
    frequent = min(ordered, key=lambda word: (abs(document_frequency[word] - messages / 8), word))
    middle = [word for word in ordered if 3 <= document_frequency[word] <= 30]
    twenty = random.Random(SEED).sample(middle, 20)
    escaped = min(quoted, key=lambda word: (abs(quoted[word] - 5), word))
    either = "|".join(twenty)
    return [
        Pattern(f"{RARE} ({rare})", rare, rare),
        Pattern(f"{FREQUENT} ({frequent})", frequent, frequent),
        Pattern("absent word", "zzqxqzzword", "zzqxqzzword"),
        Pattern(f"case-insensitive ({rare.lower()})", rare.lower(), rare.lower(), ignore_case=True),
        Pattern(
            f"case-insensitive ({frequent.lower()})",
            frequent.lower(),
            frequent.lower(),
            ignore_case=True,
        ),
        Pattern("[A-Za-z]{30}", "[A-Za-z]{30}", "[A-Za-z]{30}", regex=True),
        Pattern(f"\\b{rare[:5]}\\w+", rf"\b{rare[:5]}\w+", rf"\b{rare[:5]}\w+", regex=True),
        Pattern("20 words, either", either, either, regex=True),
        Pattern("CJK word (记忆)", "记忆", "记忆"),
        Pattern(f"escaped in JSON ({escaped})", escaped, json.dumps(escaped)[1:-1]),
    ]


def ripgrep_min_ratio(pattern: Pattern) -> float:
    """Return what is asked of us against ripgrep's better run."""
    plain = not pattern.regex and pattern.text.isascii() and '"' not in pattern.text
    return 1.5 if plain else 1.0


def grep(
    table: Table,
    sample: Path,
    file: Path,
    times: int,
    store: Ours | None,
    count: int,
    *,
    check_targets: bool,
) -> None:
    """Count every pattern with everyone, five interleaved rounds or so each."""
    label = f"{file.stat().st_size / 1e9:.2f} GB transcript"
    for pattern in patterns(sample):
        time_pattern(
            table, pattern, sample, file, times, store, count, label, check_targets=check_targets
        )


def time_pattern(
    table: Table,
    pattern: Pattern,
    sample: Path,
    file: Path,
    times: int,
    store: Ours | None,
    count: int,
    label: str,
    *,
    check_targets: bool,
    with_gram_index: bool = False,
) -> None:
    """Time one pattern; the counts of the untimed first runs are checked."""
    runs: dict[str, Callable[[], int]] = {
        name: partial(scan, pattern)
        for name, scan in scanners.available(file).items()
        if name.startswith("rg") or not with_gram_index
    }
    expected = dict.fromkeys(runs, scanners.raw_count(sample, pattern) * times)
    if store is not None:
        runs[OURS] = partial(scanners.store_count, store.store, pattern)
        expected[OURS] = scanners.said_count(sample, pattern) * times
        if with_gram_index:
            runs[NO_INDEX] = partial(scanners.store_count_without_gram_index, store.store, pattern)
            expected[NO_INDEX] = expected[OURS]
    wrong, fewer = {}, {}
    for name, run in list(runs.items()):
        start = time.perf_counter()
        try:
            seen = run()
        except Exception as error:  # noqa: BLE001 - a contender that fails is a row, not a crash
            table.note(f"{pattern.label}: {name} failed: {error}")
            del runs[name]
            continue
        if time.perf_counter() - start > LONG:
            fewer[name] = 3
        if seen != expected[name]:
            wrong[name] = f"{name} counts {seen}, expected {expected[name]}"
    measured = rounds({name: partial(seconds, run) for name, run in runs.items()}, count, fewer)
    better = min(
        (name for name in measured if name.startswith("rg")),
        key=lambda name: median(figures["wall"] for figures in measured[name]),
        default="",
    )
    min_ratio = 10.0 if with_gram_index else ripgrep_min_ratio(pattern)
    # a word that is in most blocks has them all scanned
    check_targets = check_targets and not (with_gram_index and pattern.label.startswith(FREQUENT))
    min_ratios = {better: min_ratio} if check_targets and better else {}
    work = "grep count with gram index" if with_gram_index else "grep count"
    table.compare(
        f"{work}: {pattern.label}", label, measured, "wall", min_ratios=min_ratios, wrong=wrong
    )


def grep_with_gram_index(
    table: Table,
    sample: Path,
    file: Path,
    times: int,
    store: Ours,
    count: int,
    *,
    check_targets: bool,
) -> None:
    """Time scans of a transcript whose gram index an earlier scan has had written."""
    label = f"{file.stat().st_size / 1e9:.2f} GB transcript"
    spent, kept = scanners.build_gram_index(store.store)
    table.note(
        f"The gram index takes {kept / file.stat().st_size:.1%} of the transcript; "
        f"one thread of lowest priority writes it in {spent:.1f} s after the first grep."
    )
    for pattern in patterns(sample)[:3]:
        time_pattern(
            table,
            pattern,
            sample,
            file,
            times,
            store,
            count,
            label,
            check_targets=check_targets,
            with_gram_index=True,
        )


def listing(table: Table, sample: Path, file: Path, store: Ours | None, count: int) -> None:
    """Time the matches themselves, and the distance to a bare read of the file."""
    label = f"{file.stat().st_size / 1e9:.2f} GB transcript"
    chosen = patterns(sample)
    rare, frequent = chosen[0], chosen[1]
    runs: dict[str, Callable[[], object]] = {}
    if "rg --mmap" in scanners.available(file):
        output = file.parent.parent.parent / "rg-output"
        for memory in ("--mmap", "--no-mmap"):
            runs[f"rg {memory}"] = partial(scanners.ripgrep_list, frequent, file, memory, output)
    if store is not None:
        runs[OURS] = partial(scanners.store_list, store.store, frequent)
    measured = rounds({name: partial(seconds, run) for name, run in runs.items()}, count)
    table.compare(f"grep with snippets: {frequent.label}", label, measured, "wall")
    reads: dict[str, Callable[[], Figures]] = {
        "bare 2-thread read": partial(seconds, partial(scanners.bare_read, file))
    }
    if store is not None:
        reads[OURS] = partial(seconds, partial(scanners.store_count, store.store, rare))
    table.compare(
        f"grep count against a bare read: {rare.label}", label, rounds(reads, count), "wall"
    )
    # Python's own way is an order slower; one run on the sample tells enough
    loop: dict[str, Callable[[], Figures]] = {
        "Python line loop, orjson": partial(seconds, partial(scanners.decoded_count, sample, rare))
    }
    if store is not None:
        whole, part = file.stat().st_size, sample.stat().st_size
        loop[OURS] = lambda: {
            "wall": seconds(partial(scanners.store_count, store.store, rare))["wall"] * part / whole
        }
    once = f"{sample.stat().st_size / 1e9:.2f} GB sample, ours by share of the whole"
    table.compare(f"grep count: {rare.label}", once, rounds(loop, count), "wall")


def imports(table: Table, sample: Path, folder: Path, count: int, *, check_targets: bool) -> None:
    """Time an import of the sample with and without the redaction of secrets."""

    def run(*, keep_secrets: bool) -> Figures:
        root = folder / "imported"
        with Ours(root, watch=False).store as store:
            log = store.transcript("sessions/sample")
            spent = seconds(lambda: log.load(sample, keep_secrets=keep_secrets))
        shutil.rmtree(root)
        return spent

    runs = {OURS: partial(run, keep_secrets=False), NO_REDACTION: partial(run, keep_secrets=True)}
    label = f"{sample.stat().st_size / 1e9:.2f} GB sample"
    # redaction takes at most a quarter more
    min_ratios = {NO_REDACTION: 0.8} if check_targets else {}
    table.compare("import", label, rounds(runs, count), "wall", min_ratios=min_ratios)


def peaks(table: Table, sample: Path, file: Path, root: Path, *, with_ours: bool) -> None:
    """Compare the peak memory of a whole process that counts a rare and a frequent word."""
    label = f"{file.stat().st_size / 1e9:.2f} GB transcript"
    for pattern in patterns(sample)[:2]:
        ours = None
        if with_ours:
            ours = scanners.peak_megabytes(
                [sys.executable, "-c", scanners.OURS_ONCE, str(root), pattern.text]
            )
        commands = {
            "rg --mmap": scanners.ripgrep(pattern, file, "--mmap"),
            "rg --no-mmap": scanners.ripgrep(pattern, file, "--no-mmap"),
            "GNU grep": scanners.gnu_grep(pattern, file),
        }
        for name, command in commands.items():
            if name in scanners.available(file):
                theirs = scanners.peak_megabytes(command)
                ratio = theirs / ours if theirs and ours else None
                table.add(
                    Row(
                        f"peak memory: {pattern.label}",
                        label,
                        name,
                        ours,
                        theirs,
                        ratio,
                        "MB",
                        max_value=64,
                    )
                )
    lowest = scanners.peak_megabytes(["true"])
    table.note(
        f"Peak memory is not seen below {lowest or 0:.0f} MB, the process that starts the others."
    )
    if with_ours:
        bare = scanners.peak_megabytes([sys.executable, "-c", "import commonplace"])
        table.note(f"Ours includes the Python process, which alone peaks at {bare or 0:.0f} MB.")


def million(sample: Path, file: Path, count: int) -> tuple[list[Section], list[Query], int]:
    """Write `count` plain messages of the sample, over and over; return them as sections."""
    texts = list(scanners.said_texts(sample))
    path = f"sessions/{file.parent.name}/{file.name}"
    sections = []
    file.parent.mkdir(parents=True)
    with file.open("wb") as lines:
        for number in range(count):
            text = texts[number % len(texts)]
            role = "assistant" if number % 2 else "user"
            record = {"role": role, "content": text, "session": _session(number)}
            lines.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
            sections.append(Section(path, number + 1, "", "", "", text, 0, 0))
    draw = random.Random(SEED)
    queries = []
    for text in draw.sample(texts, min(300, len(texts))):
        words = re.findall(r"[A-Za-z]{3,}", text)
        if len(words) >= 4:
            at = draw.randrange(len(words) - 3)
            queries.append(Query(tuple(words[at : at + 4]), ()))
    return sections, queries, sum(len(section.body.encode()) for section in sections)


def _session(number: int) -> str:
    """Return the session of a message."""
    return f"s{number // 500}"


def in_one_session(table: Table, notes: Notes, ours: Ours, count: int) -> None:
    """Time each query within one session, another for each."""
    draw = random.Random(SEED)
    ours.store.search("first", session=_session(0))
    times = []
    for asked in notes.queries:
        session = _session(draw.randrange(count))
        began = time.perf_counter()
        ours.store.search(" ".join(asked.words), 10, unit="message", session=session)
        times.append(time.perf_counter() - began)
    work, label = "query in one session, p50", notes.corpus.label
    table.add(Row(work, label, "–", median(times), None, None, max_value=0.001))


def messages(
    table: Table,
    sample: Path,
    folder: Path,
    count: int,
    makers: Callable[[Path, Sequence[Section]], Makers],
) -> None:
    """Build, query and weigh many messages; tantivy-py gets them ready made."""
    root = folder / "messages"
    sections, queries, size = million(sample, root / "sessions" / "many" / "messages.jsonl", count)
    corpus = Corpus(root, f"{count:,} messages")
    notes = Notes(corpus, sections, queries, 0.0, size)
    built = build(table, notes, makers(root, sections), folder / "messages-index", 1, None)
    query(table, notes, built, ["snippet"], 5, None)
    if isinstance(ours := built.get(OURS), Ours):
        in_one_session(table, notes, ours, count)
    for contender in built.values():
        contender.close()
    if OURS in built and (
        growth := measure("ours-open", root, [list(entry.words) for entry in queries])
    ):
        table.add(
            Row("memory a message", corpus.label, "–", growth["resident"] / count, None, None, "B")
        )
        table.note(f"{corpus.label} hold {size / count:.0f} bytes of text each on average.")
