"""Fault campaign: caches damaged, replaced, out of date, of another root, or crafted.

All that lies in `.commonplace` may be lost, but for the history. So answers are compared with
those of a store that has built everything anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import commonplace
from commonplace import Hit, Store
from commonplace.memories import FactsAndEpisodes
from commonplace.recall import HybridSearch
from tests.campaigns.children import Child, SharedLog
from tests.campaigns.damage import crafted, damaged, replaced
from tests.campaigns.guarantees import DAMAGED_CACHE
from tests.campaigns.trial import Trial

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Otherwise each child would import it anew.
importlib.import_module("commonplace.recall.vectors")

INVARIANT = (
    "Whatever the caches hold, answers are those of a fresh build; of one that somebody made with "
    "right checksums comes no panic, no hang, and no hit that does not stand so in the file."
)
GUARANTEES = {
    DAMAGED_CACHE: "snapshot, gram index, vectors, use and lock: bits flipped, cut, zeroed, "
    "swapped, of "
    "another root, out of date, replaced by folders, FIFOs and links, crafted with right checksums",
}
WORDS = ("quokka", "fox", "river", "memory", "green", "tea", "蜂鸟", "deploy", "logger", "berlin")
QUERIES = (
    *WORDS, "quokka river", '"green tea"', "depl*", "loger~1", "heading:berlin", "fox -tea",
    "what is deployed in berlin", "蜂鸟 tea",
)  # fmt: skip
LARGE = 17 << 20


class Letters:
    """An embedder that needs no model: a vector of how often each letter stands in a text."""

    id = "letters"
    dims = 32

    def embed_documents(self, texts: list[str], /) -> NDArray[np.float32]:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str, /) -> NDArray[np.float32]:
        counts = np.bincount([ord(char) % 32 for char in text] or [0], minlength=32)
        return (counts / max(1.0, float(np.linalg.norm(counts)))).astype(np.float32)


def fill(root: Path, shift: int, _: SharedLog) -> None:
    """Write notes and a log by hand, and let a store make its caches."""
    for number in range(30):
        some = [WORDS[(number * step + shift) % len(WORDS)] for step in (1, 3, 7)]
        text = f"# About {some[0]} {number}\n\nThe {some[1]} and the green tea.\n\n## {some[2]}\n\n"
        path = root / f"notes/{number % 4}/{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + f"- {' '.join(some)}\n- {number} deployed\n")
    said = [{"role": "user", "content": f"{WORDS[n % len(WORDS)]} said {n}"} for n in range(400)]
    (root / "messages.jsonl").write_text("".join(json.dumps(one) + "\n" for one in said))
    store = commonplace.open(root)
    answers(store)
    memory = FactsAndEpisodes(store, "notes")
    memory.memory_read("0/0.md")
    store.close()


def answers(store: Store) -> list[Any]:
    """Return what a store answers to every kind of question."""
    found: list[Any] = []
    for query in QUERIES:
        hits = store.search(query, 20)
        found.append([(hit.citation, round(hit.score, 4), hit.text) for hit in hits])
        found.append(hits.freshness)
    found += [[match.citation for match in store.grep(word)] for word in WORDS[:4]]
    status = store.status()
    found += [status.notes, status.transcripts, status.sections, status.messages, status.terms]
    # kept until a quarter of the documents is another: it tells of the past, as it may
    with contextlib.suppress(OSError):
        for kept in (store.root / ".commonplace/vectors").glob("*/sensitivity"):
            kept.unlink()
    recall = HybridSearch(store, Letters())
    found.append([(one.hit.citation, round(one.score, 4)) for one in recall.search(WORDS[0])])
    memory = FactsAndEpisodes(store, "notes")
    found.append(memory.memory_list())
    # what is lost of the log of use costs the order, and no file
    found.append(sorted((memory.index_message(1, budget=None) or "").splitlines()))
    found.append(memory.memory_read("1/1.md"))
    return found


def ask(root: Path, shared: SharedLog) -> None:
    with commonplace.open(root) as store:
        # as JSON brings it back
        shared.append({"answers": json.loads(json.dumps(answers(store)))})


def made(work: Callable[[SharedLog], None]) -> Child:
    child = Child(work)
    child.wait(30)
    if child.crash:
        raise RuntimeError(child.crash)
    return child


class Caches:
    """A root with its caches, which are put back after each check."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.own = trial.root / ".commonplace"
        made(partial(fill, trial.root, 0))
        self.kept = trial.folder / "kept"
        shutil.copytree(self.own, self.kept)
        shutil.rmtree(self.own)
        self.expected = self.ask()["answers"]

    def ask(self) -> Any:
        child = made(partial(ask, self.trial.root))
        return child.shared.records()[0]

    def restore(self, kept: Path | None = None) -> None:
        shutil.rmtree(self.own, ignore_errors=True)
        shutil.copytree(kept or self.kept, self.own)

    def files(self) -> list[Path]:
        found = [path for path in sorted(self.own.rglob("*")) if path.is_file()]
        snapshots = [path for path in found if path.name == "index"]
        return found + 3 * snapshots

    def compare(self, what: str) -> None:
        """Ask, and compare with what a store without caches has answered."""
        child = Child(partial(ask, self.trial.root))
        ended = child.wait(20)
        reported = child.shared.records()
        if not ended or child.crash:
            self.trial.check(DAMAGED_CACHE, False, f"{what}: {child.crash or 'hung'}")
            return
        pairs = enumerate(zip(reported[0]["answers"], self.expected, strict=True))
        wrong = [
            f"answer {at}: {one!r:.150} for {two!r:.150}" for at, (one, two) in pairs if one != two
        ]
        self.trial.check(DAMAGED_CACHE, not wrong, f"{what}: {'; '.join(wrong[:2])}")


def damaged_caches(trial: Trial) -> None:
    caches = Caches(trial)
    while trial.is_time():
        caches.restore()
        path = trial.random.choice(caches.files())
        name = path.relative_to(caches.own)
        if trial.random.random() < 0.15:
            what = replaced(trial.random, path)
        else:
            what, data = damaged(trial.random, path.read_bytes())
            path.write_bytes(data)
        caches.compare(f"{name}: {what}")


def strange_caches(trial: Trial) -> None:
    """Caches of another root, and of this one as it was before edits by hand."""
    caches = Caches(trial)
    other = trial.folder / "other"
    other.mkdir()
    made(partial(fill, other, 3))
    notes = sorted(trial.root.rglob("*.md"))
    while trial.is_time():
        random = trial.random
        if random.random() < 0.4:
            caches.restore(other / ".commonplace")
            caches.compare("the caches of another root")
            continue
        caches.restore()
        for note in random.sample(notes, 3):
            text = note.read_text()
            if random.random() < 0.3:
                note.unlink()
                time.sleep(0.001)
            # of the same length: only the stamps tell
            note.write_text(
                text.replace("the", "teh", 1) if random.random() < 0.7 else f"{text}fox\n"
            )
        shutil.rmtree(caches.own)
        caches.expected = caches.ask()["answers"]
        caches.restore()
        caches.compare("caches from before an edit")
        made(partial(ask, trial.root))
        shutil.rmtree(caches.kept)
        shutil.copytree(caches.own, caches.kept)


def shown(hit: Hit) -> str:
    """Return what a hit says of its place and of what stands there."""
    said = [hit.path, hit.start, hit.end, hit.heading, hit.role, hit.session, hit.category]
    return json.dumps([*said, hit.text])


def documents(root: Path, shared: SharedLog) -> None:
    with commonplace.open(root) as store:
        paths = [entry.path for entry in store.list() if entry.kind != "other"]
        shared.append([shown(hit) for path in paths for hit in store.documents(path)])


def ask_crafted(root: Path, known: set[str], shared: SharedLog) -> None:
    """Ask a store whose snapshot cannot be believed, and say what it shows that is not there."""
    with commonplace.open(root) as store:
        for query in QUERIES:
            for hit in store.search(query, 20, unit="message"):
                if shown(hit) not in known:
                    shared.append({"wrong": f"{query}: {shown(hit):.300}"})
                store.explain(query, hit.citation)
        answers(store)
        store.verify()


def crafted_snapshots(trial: Trial) -> None:
    caches = Caches(trial)
    known = set(made(partial(documents, trial.root)).shared.records()[0])
    while trial.is_time():
        caches.restore()
        path = caches.own / "index"
        what, data = crafted(trial.random, path.read_bytes())
        path.write_bytes(data)
        child = Child(partial(ask_crafted, trial.root, known))
        ended = child.wait(20)
        reported = [one["wrong"] for one in child.shared.records() if "wrong" in one]
        why = "hung" if not ended else child.crash or (reported[0] if reported else None)
        trial.check(DAMAGED_CACHE, why is None, f"the snapshot, {what}: {why}")


def fill_large(root: Path, _: SharedLog) -> None:
    word, line = "", 0
    with (root / "messages.jsonl").open("w") as log:
        while log.tell() < LARGE:
            word = hashlib.sha256(str(line).encode()).hexdigest()
            said = f"{WORDS[line % len(WORDS)] if line % 997 == 0 else word} {word * 6}"
            log.write(json.dumps({"role": "user", "content": said}) + "\n")
            line += 1
    with commonplace.open(root) as store:
        list(store.grep("quokka"))
        store.wait_for_gram_indexes()


def ask_large(root: Path, shared: SharedLog) -> None:
    with commonplace.open(root) as store:
        found = {word: [one.citation for one in store.grep(word, keep=False)] for word in WORDS[:4]}
        shared.append({"answers": found, "counted": store.grep("00ff00", keep=False).count()})


def ask_crafted_gram_index(root: Path, shared: SharedLog) -> None:
    """The gram index is trusted for which blocks to skip; what is shown is read from the file."""
    with commonplace.open(root) as store:
        for word in WORDS[:4]:
            for match in store.grep(word, keep=False):
                if word not in match.snippet:
                    shared.append({"wrong": f"{match.citation}: {match.snippet:.200}"})


def gram_indexes(trial: Trial) -> None:
    made(partial(fill_large, trial.root))
    index_files = list((trial.root / ".commonplace" / "gram_index").iterdir())
    if not trial.check(
        DAMAGED_CACHE, len(index_files) == 1, f"one gram index is made, not {index_files}"
    ):
        return
    (index_file,) = index_files
    good = index_file.read_bytes()
    index_file.unlink()
    expected = made(partial(ask_large, trial.root)).shared.records()
    for number in checks(trial):
        shutil.rmtree(
            index_file
        ) if index_file.is_dir() and not index_file.is_symlink() else index_file.unlink(
            missing_ok=True
        )
        index_file.write_bytes(good)
        is_crafted = number % 2 == 1
        if is_crafted:
            what, data = crafted(trial.random, good)
            index_file.write_bytes(data)
        elif trial.random.random() < 0.1:
            what = replaced(trial.random, index_file)
        else:
            what, data = damaged(trial.random, good)
            index_file.write_bytes(data)
        child = Child(partial(ask_crafted_gram_index if is_crafted else ask_large, trial.root))
        ended = child.wait(20)
        reported = child.shared.records()
        right = ended and not child.crash and reported == ([] if is_crafted else expected)
        why = child.crash or (f"{reported!r:.200}" if ended else "hung")
        trial.check(DAMAGED_CACHE, right, f"the gram index, {what}: {why}")


def checks(trial: Trial) -> Iterator[int]:
    number = 0
    while trial.is_time():
        yield number
        number += 1


KINDS = (damaged_caches, crafted_snapshots, strange_caches, damaged_caches, gram_indexes)
