"""Fault campaign: concurrent processes and threads on the same files, forks of an open store."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
from functools import partial
from pathlib import Path
from random import Random

import commonplace
from commonplace import Conflict, Store
from tests.campaigns.children import Child, SharedLog
from tests.campaigns.guarantees import (
    APPENDED_ONCE,
    CONSISTENT_READS,
    FRESH_INDEX,
    NO_LOST_UPDATE,
    SOUND_THREADS,
)
from tests.campaigns.systems import EXPECTED_ERRORS, body, is_whole
from tests.campaigns.trial import Trial

INVARIANT = (
    "Whoever works beside whom: each line once, each change counted, each read one version, each "
    "answer of the files as they are, in threads, processes and forks."
)
GUARANTEES = {
    APPENDED_ONCE: "processes and threads append to one log and one note",
    NO_LOST_UPDATE: "processes raise a counter by compare-and-swap, by `update` and by patch",
    CONSISTENT_READS: "processes read, search and grep what others replace: each text is "
    "one version",
    FRESH_INDEX: "parent and child search after a fork and an edit",
    SOUND_THREADS: "threads share a store; forks of it from threads, each used in parent and child",
}
WRITERS = 4


def append(root: Path, name: int, seconds: float, shared: SharedLog) -> None:
    store = commonplace.open(root)
    log, done = store.transcript("log"), 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        log.append({"role": "user", "content": f"{name}-{done}"})
        store.append("daily/2026-01-05.md", f"- {name}-{done}")
        done += 1
    shared.append({"done": done})


def many_writers(trial: Trial) -> None:
    writers = [Child(partial(append, trial.root, name, 0.8)) for name in range(WRITERS)]
    expected: set[str] = set()
    for name, writer in enumerate(writers):
        ended = writer.wait(20)
        trial.check(
            APPENDED_ONCE, ended and not writer.crash, f"a writer: {writer.crash or 'hung'}"
        )
        done = sum(record.get("done", 0) for record in writer.shared.records())
        expected |= {f"{name}-{number}" for number in range(done)}
    said = [json.loads(line)["content"] for line in (trial.root / "log/messages.jsonl").open()]
    noted = (trial.root / "daily/2026-01-05.md").read_text().replace("- ", "").split("\n")[:-1]
    for what, found in (("the log", said), ("the note", noted)):
        trial.count(APPENDED_ONCE, len(expected))
        if len(found) != len(expected) or set(found) != expected:
            trial.fail(
                APPENDED_ONCE,
                f"{what} holds {len(found)} of {len(expected)}, {len(set(found))} different",
            )


def count_up(root: Path, way: int, seconds: float, shared: SharedLog) -> None:
    store = commonplace.open(root)
    done, until = 0, time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if way == 0:
                store.update("counter.md", lambda text: f"{int(text) + 1}\n")
            elif way == 1:
                # the version first: a text that is newer than it is refused
                version = store.version("counter.md")
                text = f"{int(store.read('counter.md')) + 1}\n"
                store.write("counter.md", text, expected_version=version)
            else:
                text = store.read("counter.md")
                store.patch("counter.md", [(text, f"{int(text) + 1}\n")])
        except EXPECTED_ERRORS:
            continue
        done += 1
    shared.append({"done": done})


def counters(trial: Trial) -> None:
    (trial.root / "counter.md").write_text("0\n")
    ways = [trial.random.randrange(3) for _ in range(WRITERS)]
    children = [Child(partial(count_up, trial.root, way, 0.8)) for way in ways]
    done = 0
    for child in children:
        ended = child.wait(20)
        trial.check(
            NO_LOST_UPDATE, ended and not child.crash, f"a counter: {child.crash or 'hung'}"
        )
        done += sum(record.get("done", 0) for record in child.shared.records())
    value = int((trial.root / "counter.md").read_text())
    trial.count(NO_LOST_UPDATE, done)
    if value != done:
        trial.fail(
            NO_LOST_UPDATE,
            f"the counter says {value} after {done} acknowledged changes, ways {ways}",
        )


def replace(root: Path, seconds: float, shared: SharedLog) -> None:
    store, done, until = commonplace.open(root), 0, time.monotonic() + seconds
    while time.monotonic() < until:
        store.write("note.md", body(f"t{done}e"))
        done += 1
    shared.append({"done": done})


def read(root: Path, name: int, seconds: float, shared: SharedLog) -> None:
    store, done, until = commonplace.open(root, watch=name % 2 == 0), 0, time.monotonic() + seconds
    while time.monotonic() < until:
        begun = time.monotonic()
        if name == 0 and done % 4 == 0:
            hits = store.search("quick brown fox", 3)
            texts = [hit.text for hit in hits]
            good = all(text.strip() in whole(text) for text in texts)
        elif name == 1 and done % 4 == 0:
            texts = [match.snippet for match in store.grep("^(First|Last) t")]
            good = len(texts) == 2 and texts[0].split()[1] == texts[1].split()[1]
        else:
            texts = [store.read("note.md")]
            good = is_whole(texts[0])
        done += 1
        if not good:
            shared.append({"torn": repr(texts)[:300]})
        if (took := time.monotonic() - begun) > 10:
            shared.append({"torn": f"a read took {took:.1f} s"})
    shared.append({"done": done})


def whole(text: str) -> str:
    """Return the version that a piece of one is of."""
    named = re.search(r"(?:First|Last) (t\d+e)", text)
    return body(named[1] if named else "any")


def readers(trial: Trial) -> None:
    (trial.root / "note.md").write_text(body("t0e"))
    writer = Child(partial(replace, trial.root, 1.0))
    children = [Child(partial(read, trial.root, name, 1.0)) for name in range(3)]
    for child in [*children, writer]:
        ended = child.wait(20)
        trial.check(CONSISTENT_READS, ended and not child.crash, f"{child.crash or 'hung'}")
    reported = [record for child in children for record in child.shared.records()]
    trial.count(CONSISTENT_READS, sum(record.get("done", 0) for record in reported))
    for record in reported:
        if "torn" in record:
            trial.fail(CONSISTENT_READS, f"a reader saw {record['torn']}")


def see(store: Store, root: Path, word: str, old: str) -> str | None:
    """Return what is wrong with what a store says after an edit."""
    hits = store.search(word)
    if hits.freshness == "fresh" and [hit.path for hit in hits] != ["note.md"]:
        return f"the search for {word} finds {list(hits)}"
    if [hit.text for hit in store.search(old)]:
        return f"the search still finds {old}"
    if len(list(store.grep(word))) != 1:
        return f"grep does not find {word}"
    store.append("log.md", f"- {os.getpid()}")
    status = store.status()
    return None if status.notes >= 1 else f"status: {status!r} of {root}"


def forks(trial: Trial) -> None:
    """An open store is forked, perhaps from a thread, and both sides see an edit by hand."""
    random, note = trial.random, trial.root / "note.md"
    note.write_text("- word0e\n")
    store = commonplace.open(trial.root, watch=random.random() < 0.8)
    store.search("word0e")
    for number in range(1, 12):
        edit_first, threaded = random.random() < 0.5, random.random() < 0.4
        word, old = f"word{number}e", f"word{number - 1}e"
        reported: list[Child] = []
        edited, tell = os.pipe()

        def fork(
            word: str = word,
            old: str = old,
            reported: list[Child] = reported,
            edited: int = edited,
        ) -> None:
            def work(shared: SharedLog) -> None:
                os.read(edited, 1)
                shared.append({"wrong": see(store, trial.root, word, old)})

            reported.append(Child(work))

        if edit_first:
            note.write_text(f"- {word}\n")
        busy = threading.Thread(target=lambda: [store.search("busy words") for _ in range(20)])
        if threaded:
            busy.start()
            thread = threading.Thread(target=fork)
            thread.start()
            thread.join()
        else:
            fork()
        if not edit_first:
            note.write_text(f"- {word}\n")
        os.write(tell, b".")
        (child,) = reported
        # who asks first must not take the news from the other
        if random.random() < 0.5:
            ended = child.wait(60)
            wrong = see(store, trial.root, word, old)
        else:
            time.sleep(0.005)
            wrong = see(store, trial.root, word, old)
            ended = child.wait(60)
        os.close(edited)
        os.close(tell)
        if threaded:
            busy.join()
        where = f"fork{' from a thread' * threaded}, edit {'before' if edit_first else 'after'}"
        trial.check(FRESH_INDEX, wrong is None, f"{where}: the parent: {wrong}")
        trial.check(
            SOUND_THREADS,
            ended and not child.crash,
            f"{where}: the child: {child.crash or 'hung'}",
        )
        wrongs = [record["wrong"] for record in child.shared.records() if record.get("wrong")]
        trial.check(FRESH_INDEX, not wrongs, f"{where}: the child: {wrongs}")
    store.close()


def threads(trial: Trial) -> None:
    """Threads share one store, each with files of its own and a common log."""
    store = commonplace.open(trial.root, watch=trial.random.random() < 0.5)
    until, wrong, done = time.monotonic() + 1.0, list[str](), [0] * 5

    def work(name: int) -> None:
        random = Random(name)
        try:
            while time.monotonic() < until:
                token, path = f"t{name}x{done[name]}e", f"own/{name}.md"
                match random.randrange(5):
                    case 0 | 1:
                        store.write(path, body(token))
                        if token not in store.read(path):
                            wrong.append(f"{path} does not hold {token}")
                    case 2:
                        store.append("log.md", f"- {token}")
                    case 3:
                        texts = [hit.text for hit in store.search("fox dog", 5)]
                        if not all("fox" in text for text in texts):
                            wrong.append(f"a search for a fox found {texts!r:.200}")
                    case _:
                        store.list()
                        list(store.grep("quick"))
                        store.status()
                done[name] += 1
        except (Conflict, commonplace.Busy) as error:
            wrong.append(f"{type(error).__name__}: {error}")
        except Exception as error:  # noqa: BLE001 - whatever it is, the check has failed
            wrong.append(f"{type(error).__name__}: {error}")

    running = [threading.Thread(target=work, args=(name,), daemon=True) for name in range(5)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(max(0.0, until + 20 - time.monotonic()))
    trial.count(SOUND_THREADS, sum(done))
    hanging = [thread.ident for thread in running if thread.is_alive()]
    frames = sys._current_frames()
    places = [
        f"{frames[ident].f_code.co_name} line {frames[ident].f_lineno}"
        for ident in hanging
        if ident in frames
    ]
    if not trial.check(
        SOUND_THREADS, not hanging, f"threads hang for 20 seconds: {', '.join(places)}"
    ):
        return
    for text in wrong[:5]:
        trial.fail(SOUND_THREADS, f"threads: {text}")
    differences = store.verify().differences
    trial.check(FRESH_INDEX, not differences, f"verify after threads: {differences}")


KINDS = (many_writers, counters, readers, forks, threads)
