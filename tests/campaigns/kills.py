"""Fault campaign: processes killed at random times and at their n-th system call.

One program after another is killed and replaced, beside an editor that saves. Then the
folder is opened again.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from datetime import date
from pathlib import Path

import commonplace
from commonplace import NotFound, Store
from commonplace.memories import FactsAndEpisodes, FourLayers
from tests.campaigns.children import Child, SharedLog, no_strace
from tests.campaigns.guarantees import (
    APPENDED_ONCE,
    ATOMIC_REPLACE,
    COMPACTION,
    FRESH_INDEX,
    NO_LOST_UPDATE,
    SAVES_KEPT,
)
from tests.campaigns.systems import CALLS, is_whole
from tests.campaigns.trial import Trial
from tests.campaigns.workload import EDITOR_NOTES, Workload

INVARIANT = (
    "Whoever is killed at whatever moment: what was acknowledged is there, once and whole; what a "
    "person saved is in the note, in a conflict copy or in the history under its version."
)
EXCHANGE = "layers.export_json, import_json"
GUARANTEES = {
    ATOMIC_REPLACE: "processes killed at random times and at their n-th system call, in every call",
    APPENDED_ONCE: "lines appended by several processes that are killed: each acknowledged "
    "one stands once",
    SAVES_KEPT: "a person saves in place, by rename and through an open handle beside "
    "killed programs",
    NO_LOST_UPDATE: "a counter raised by programs that are killed equals the acknowledgements",
    COMPACTION: "programs compact while being killed: each entry is live or in the archive, "
    "once there",
    FRESH_INDEX: "after the kills the search finds what stands in the files, and `verify` says so",
}
# All that can be told has happened before.
OLD = date(9000, 1, 1)
# What changes files, and what surrounds it.
KILLED_IN = (
    "openat2", "openat", "renameat2", "renameat", "linkat", "unlinkat", "mkdirat", "fsync",
    "fdatasync", "write", "pwrite64", "flock", "ftruncate", "fchmod", "close", "pread64", "read",
)  # fmt: skip


def at_random(workload: Workload) -> None:
    """Kill one of three at a random moment, and begin another, as long as there is time."""

    def replace(victim: Child) -> Child:
        victim.kill()
        return workload.begin()

    workload.disturb(1.2, 0.12, replace)


def at_a_call(workload: Workload) -> None:
    """Kill programs at the n-th of one of their system calls, beside one that is left alone."""
    random = workload.trial.random
    beside = workload.begin()
    for _ in range(5):
        call = random.choice(KILLED_IN)
        when = random.randrange(1, 60)
        inject = [f"{call}:signal=SIGKILL:when={when}"]
        if call != "renameat2" and random.random() < 0.3:
            # as on NFS and FUSE, where two names cannot be exchanged
            inject.append("renameat2:error=EINVAL")
        child = workload.begin(inject)
        child.wait(0.4)
    beside.kill()


def check(trial: Trial, workload: Workload) -> None:
    """Open the folder again and compare it with what was reported."""
    for child in [*workload.killed, workload.person]:
        if child.crash:
            trial.check(ATOMIC_REPLACE, False, f"a program failed: {child.crash}")
    with commonplace.open(trial.root) as store:
        live = {entry.path: store.read(entry.path) for entry in store.list()}
        everything = "\0".join(live.values()) + "\0" + kept(trial.root)
        check_acknowledged(trial, workload, live, everything)
        check_once(trial, workload, live)
        check_saves(trial, workload, store, live)
        check_compacted(trial, workload, store)
        check_imports(trial, workload, store)
        for path, text in live.items():
            if path.startswith(("own/", "moved/")):
                trial.check(ATOMIC_REPLACE, is_whole(text), f"{path} is torn: {text[:200]!r}")
        counted = len([1 for record in workload.records_of("done") if record["done"] == "update"])
        begun = len([1 for record in workload.records_of("begun") if record["begun"] == "update"])
        value = int(live.get("shared/counter.md", "0"))
        trial.check(NO_LOST_UPDATE, counted <= value <= begun, f"{value} of {counted} to {begun}")
        litter = [str(path) for path in trial.root.rglob("*.swap")]
        trial.check(ATOMIC_REPLACE, not litter, f"left lying after recovery: {litter[:3]}")
        check_search(trial, store, live)


def kept(root: Path) -> str:
    """Return all that lies in the history."""
    files = (root / ".commonplace" / "history").rglob("*")
    return "\0".join(path.read_text(errors="replace") for path in files if path.is_file())


def check_acknowledged(
    trial: Trial, workload: Workload, live: dict[str, str], everything: str
) -> None:
    last: dict[str, tuple[str, str]] = {}
    begun = {record["token"]: record["begun"] for record in workload.records_of("begun")}
    done = {record["token"] for record in workload.records_of("done")}
    unsure = [call for token, call in begun.items() if token not in done]
    for record in workload.records_of("done"):
        if record["key"]:
            last[record["key"]] = (record["token"], record["done"])
    visible = "\0".join(live.values())
    reported = {token for token, _ in last.values()}
    # another program's import gives a fact the value that it had at the export
    imported = {"layers.learn"} if EXCHANGE in begun.values() else set()
    for token, call in last.values():
        # a call of the same kind that was killed may have come after it
        where = everything if call in {*unsure, *imported} else visible
        trial.check(ATOMIC_REPLACE, token in where, f"acknowledged by {call}, and lost: {token}")
    textless = {
        "update",
        "facts.summarise_months",
        "layers.compact",
        EXCHANGE,
    }
    for record in workload.records_of("done"):
        if record["token"] not in reported and record["done"] not in textless:
            found = record["token"] in everything
            trial.check(
                ATOMIC_REPLACE,
                found,
                f"acknowledged by {record['done']}, and lost: {record['token']}",
            )


def check_once(trial: Trial, workload: Workload, live: dict[str, str]) -> None:
    visible = Counter(re.findall(r"\btp[0-9]+x[0-9]+e\b", "\0".join(
        text for path, text in live.items() if not path.startswith("hand/")
    )))  # fmt: skip
    for record in workload.records_of("begun"):
        if CALLS[record["begun"]].once:
            times = visible[record["token"]] // (2 if record["begun"] == "move" else 1)
            message = f"{record['begun']} left {record['token']} {times} times"
            trial.check(APPENDED_ONCE, times <= 1, message)
    log = live.get("shared/messages.jsonl", "")
    bad = [line for line in log.splitlines() if not is_json(line)]
    trial.check(APPENDED_ONCE, not bad, f"torn lines: {bad[:2]}")


def is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def check_saves(trial: Trial, workload: Workload, store: Store, live: dict[str, str]) -> None:
    last = {
        record["path"]: record for record in workload.person.shared.records() if "saved" in record
    }
    for path, record in last.items():
        stem = path.removesuffix(".md")
        shown = [
            text for name, text in live.items() if name.startswith((path, f"{stem}.conflict-"))
        ]
        for past in store.history(path):
            try:
                shown.append(store.read(path, past.version))
            except NotFound:
                where = trial.root / past.address
                what = f"{past.address} is not the version that it is named by"
                trial.check(
                    SAVES_KEPT,
                    record["saved"] not in where.read_text(errors="replace"),
                    what,
                )
        reached = any(f"{record['saved']}\n" in text for text in shown)
        message = f"a save {record['style']} into {path} is nowhere: {record['saved']}"
        trial.check(SAVES_KEPT, reached, message)


def check_compacted(trial: Trial, workload: Workload, store: Store) -> None:
    """Compact once more: each entry is in the archive once, or still live."""
    layers = FourLayers(store, "layers")
    layers.compact("episodic", {"keep_last": 3})
    FactsAndEpisodes(store).summarise_months(OLD)
    texts = {entry.path: store.read(entry.path) for entry in store.list()}
    for call, form in {
        "layers.append episodic": r"^(?:> )?Last (t\w+) told\.$",
        "facts.memory_append": r"^## Task (t\w+)$",
    }.items():
        live, archived = Counter[str](), Counter[str]()
        for path, text in texts.items():
            found = re.findall(form, text, re.MULTILINE)
            (archived if "archive/" in path else live).update(found)
        for token, times in archived.items():
            trial.check(COMPACTION, times == 1, f"{call}: {token} is {times} times in the archive")
        for record in workload.records_of("done"):
            if record["done"] == call:
                there = record["token"] in live or record["token"] in archived
                trial.check(
                    COMPACTION,
                    there,
                    f"{call}: {record['token']} is neither live nor archived",
                )


def check_imports(trial: Trial, workload: Workload, store: Store) -> None:
    for record in workload.records_of("begun"):
        source = trial.folder / f"source-{record['token']}.jsonl"
        # what was killed while it wrote the source is not about us
        if record["begun"] == "transcript.load" and source.exists():
            if not source.read_text().endswith(f'"{record["token"]}"}}'):
                continue
            log = store.transcript(f"loaded/{record['token']}")
            log.load(source)
            counts = Counter(message.text for message in log)
            whole = len(counts) == 21 and set(counts.values()) == {1}
            trial.check(
                APPENDED_ONCE,
                whole,
                f"an import that was repeated holds {sum(counts.values())} of 21",
            )


def check_search(trial: Trial, store: Store, live: dict[str, str]) -> None:
    live = {entry.path: store.read(entry.path) for entry in store.list()}
    tokens = sorted(set(re.findall(r"\b(?:tp[0-9]+x|person)[0-9]+e\b", "\0".join(live.values()))))
    for token in trial.random.sample(tokens, min(15, len(tokens))):
        # what stands only in a comment of ours is not indexed
        reported = {
            p for p, text in live.items() if re.search(rf"^[^<]*\b{token}\b", text, re.MULTILINE)
        }
        found = {hit.path for hit in store.search(token, 1000, tools=True)}
        where = {match.path for match in store.grep(rf"\b{token}\b", tools=True)}
        holding = {path for path, text in live.items() if token in path + text}
        trial.check(FRESH_INDEX, found <= holding, f"{token} is found in {found - holding}")
        trial.check(
            FRESH_INDEX,
            reported & where <= found,
            f"{token} is in {reported}, the search says {found}",
        )
    trial.check(
        FRESH_INDEX,
        not (differences := store.verify().differences),
        f"verify: {differences[:3]}",
    )


def killed_at_random_times(trial: Trial) -> None:
    workload = Workload(trial, list(CALLS), at_random)
    check(trial, workload)


def killed_at_system_calls(trial: Trial) -> None:
    if why := no_strace():
        return trial.skip(ATOMIC_REPLACE, f"kills by number of the system call: {why}")
    workload = Workload(trial, list(CALLS), at_a_call)
    return check(trial, workload)


def killed_while_compacting(trial: Trial) -> None:
    calls = ["layers.compact", "layers.append episodic", "facts.summarise_months"]
    workload = Workload(trial, [*calls, "facts.memory_append"], at_random)
    check(trial, workload)


def killed_in_one_call(trial: Trial) -> None:
    """One call of the table, by all programs at once."""
    workload = Workload(trial, [trial.random.choice(list(CALLS))], at_random)
    check(trial, workload)


def saved_after_one_shot_programs(trial: Trial) -> None:
    """A person has notes open; a program changes them and ends, or is killed; the person saves."""
    random, root = trial.random, trial.root
    notes = [root / f"hand/{number}.md" for number in range(EDITOR_NOTES)]
    notes[0].parent.mkdir()
    for note in notes:
        note.write_text(f"- {note.stem} by hand\n")
    open_notes = [note.open("r+") for note in notes]

    def change(shared: SharedLog) -> None:
        store = commonplace.open(root)
        for note in random.sample(notes, EDITOR_NOTES):
            path = f"hand/{note.name}"
            match random.randrange(4):
                case 0:
                    store.write(path, "- by a program\n")
                case 1:
                    store.patch(path, [("by hand", "by a program")])
                case 2:
                    store.move(path, f"moved-{note.name}")
                case _:
                    store.delete(path)
        shared.append({"changed": True})
        if random.random() < 0.5:
            store.close()
        os.kill(os.getpid(), 9)

    Child(change).wait(20)
    for number, handle in enumerate(open_notes):
        handle.write(f"- saved{number}e by hand\n" * random.randrange(1, 3))
        handle.close()

    def look_again(shared: SharedLog) -> None:
        with commonplace.open(root) as store:
            live = "".join(store.read(entry.path) for entry in store.list())
            shared.append({"live": live})

    again = Child(look_again)
    again.wait(20)
    reported = [record["live"] for record in again.shared.records() if "live" in record]
    trial.check(SAVES_KEPT, bool(reported), f"cannot be opened again: {again.crash}")
    for number in range(EDITOR_NOTES if reported else 0):
        found = f"saved{number}e" in reported[0]
        trial.check(
            SAVES_KEPT,
            found,
            f"what was saved into hand/{number}.md, changed by then, is nowhere",
        )


KINDS = (
    killed_at_random_times,
    saved_after_one_shot_programs,
    killed_at_system_calls,
    killed_in_one_call,
    killed_while_compacting,
)
