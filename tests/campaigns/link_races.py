"""Fault campaign: names that become links, folders and FIFOs while they are used, or before.

Outside the root lie files that hold a canary. Nobody may be shown it, nothing outside may change,
and nothing may wait for a FIFO.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import stat
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from commonplace import CommonplaceError
from commonplace.memories import FourLayers
from tests.campaigns.children import Child, SharedLog
from tests.campaigns.guarantees import SPECIAL_FILES, SWAPPED_LINKS
from tests.campaigns.systems import CALLS, Program
from tests.campaigns.trial import Trial

INVARIANT = (
    "Whatever a name below the root is made to be, and whenever: nothing that lies outside is "
    "shown or changed, and no call waits for a FIFO or a device."
)
GUARANTEES = {
    SWAPPED_LINKS: "hard links, symbolic links and folders swapped in a loop beside every "
    "kind of call",
    SPECIAL_FILES: "FIFO, device, socket, folder and links in place of notes and of all in "
    "`.commonplace`",
}
CANARY = "CANARYWORD"
# Longest that a call may take on a machine that does other things as well, in seconds.
SOON = 5.0
NOTE, LOG = "facts/note.md", "log/messages.jsonl"

Ask = Callable[[Program, int], object]
ASKS: dict[str, Ask] = {
    "read": lambda p, _: p.store.read(NOTE),
    "grep": lambda p, _: [match.snippet for match in p.store.grep("CANARY|own")],
    "search": lambda p, _: [hit.text for hit in p.store.search(f"{CANARY} own")],
    "documents": lambda p, _: [hit.text for hit in p.store.documents(NOTE)],
    "list": lambda p, _: [(entry.path, entry.summary) for entry in p.store.list()],
    "sections": lambda p, _: [section.heading for section in p.store.sections(NOTE)],
    "messages": lambda p, _: [message.text for message in p.store.transcript("log")],
    "records": lambda p, _: [
        p.store.transcript("log").records(p.store.transcript("log").messages())
    ],
    "history": lambda p, _: [p.store.read(NOTE, past.version) for past in p.store.history(NOTE)],
    "append": lambda p, n: p.store.append(NOTE, f"- appended {n}"),
    "say": lambda p, n: p.store.transcript("log").append({"role": "user", "content": f"own {n}"}),
    "write": lambda p, n: p.store.write(NOTE, f"own {n}\n"),
    "patch": lambda p, _: p.store.patch(NOTE, [("own", "own own")]),
    "keep": lambda p, _: p.store.read(NOTE, p.store.keep(NOTE).version),
    "move": lambda p, n: p.store.move(NOTE, f"facts/moved-{n}.md"),
    "delete": lambda p, _: p.store.delete(NOTE),
    "memory_read": lambda p, _: p.facts.memory_read(NOTE),
    "memory_list": lambda p, _: p.facts.memory_list(),
    "facts": lambda p, _: p.facts.facts(),
    "index_message": lambda p, _: p.facts.index_message(1),
    "memory_append": lambda p, n: p.facts.memory_append(NOTE, f"- own {n}"),
    "recall_memory": lambda p, _: p.session.recall_memory(CANARY, all_sessions=True),
    "layers": lambda p, _: FourLayers(p.store).search("semantic", CANARY),
    "learn": lambda p, n: FourLayers(p.store).learn({"key": "note", "value": f"own {n}"}),
    "world": lambda p, _: p.agent.recall(),
    "profile": lambda p, _: p.profile.inject(CANARY).text,
}
# What answers may hold because the caller gave it.
GIVEN = {"recall_memory", "profile"}


def make_outside(trial: Trial) -> dict[str, str]:
    (trial.outside / "note.md").write_text(f"# Outside\n\n- {CANARY} outside\n")
    (trial.outside / "messages.jsonl").write_text(f'{{"role":"user","content":"{CANARY}"}}\n')
    (trial.outside / "shell.rc").write_text(f"echo {CANARY}\n")
    return look_outside(trial)


def look_outside(trial: Trial) -> dict[str, str]:
    return {
        str(path.relative_to(trial.outside)): path.read_text(errors="replace")
        for path in trial.outside.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def own(path: Path) -> None:
    """Put a file of the root in its place."""
    new = path.with_name(f".{path.name}.own")
    with contextlib.suppress(FileNotFoundError):
        new.unlink()
    new.write_text('{"role":"user","content":"own"}\n' if path.suffix == ".jsonl" else "own\n")
    with contextlib.suppress(IsADirectoryError, NotADirectoryError):
        new.replace(path)


def make(kind: str, path: Path, outside: Path) -> None:
    """Make a name be something that it should not be."""
    match kind:
        case "hard link":
            os.link(outside, path)
        case "symbolic link":
            path.symlink_to(outside)
        case "link to nothing":
            path.symlink_to(outside.with_name("new-outside.md"))
        case "link to a folder":
            path.symlink_to(outside.parent)
        case "FIFO":
            os.mkfifo(path)
        case "device":
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))
        case "socket":
            at = os.open(path.parent, os.O_RDONLY)
            # the path of a socket may have 108 bytes
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(f"/proc/self/fd/{at}/{path.name}")
            os.close(at)
        case _:
            path.mkdir()


def swap(kind: str, path: Path, outside: Path, _: SharedLog) -> None:
    """Let a name be in turn a file of the root and something else, as fast as can be."""
    other, new, aside = (path.with_name(f".{name}") for name in ("other", "new", "aside"))
    text = b'{"role":"user","content":"own"}\n' if path.suffix == ".jsonl" else b"own\n"

    def back() -> None:
        """Put a file of the root in its place; pathlib would take longer than all the rest."""
        file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.write(file, text)
        os.close(file)
        os.replace(new, path)  # noqa: PTH105 - see above

    while True:
        with contextlib.suppress(OSError):
            if kind == "folder":
                path.parent.rename(aside.parent.with_name(".aside"))
                path.parent.symlink_to(outside.parent)
                path.parent.unlink()
                aside.parent.with_name(".aside").rename(path.parent)
            elif kind == "hard link that comes and goes":
                os.link(outside, path)
                os.unlink(path)  # noqa: PTH108
            else:
                make(kind, other, outside)
                os.replace(other, path)  # noqa: PTH105
        with contextlib.suppress(OSError):
            if kind == "hard link that comes and goes":
                # what a caller has made there
                os.unlink(path)  # noqa: PTH108
            else:
                back()


def ask(root: Path, asks: list[str], seconds: float, number: int, shared: SharedLog) -> None:
    """Make calls, and say how many of each, how long the longest took, and what was shown."""
    running = Program(root, f"p{number}", watch=number % 2 == 0)
    until = time.monotonic() + seconds
    done = 0
    while time.monotonic() < until:
        what = asks[done % len(asks)]
        shared.append({"asked": what})
        begun = time.monotonic()
        try:
            answer = repr(ASKS[what](running, done))
        except (CommonplaceError, OSError) as error:
            answer = str(error)
        done += 1
        if CANARY in answer and not (what in GIVEN and f"{CANARY} outside" not in answer):
            shared.append({"shown": what, "answer": answer[:300]})
        if (took := time.monotonic() - begun) > SOON:
            shared.append({"slow": what, "took": took})
    shared.append({"checks": done})


def races(trial: Trial) -> None:
    """One name is swapped while two programs make every kind of call with it."""
    random = trial.random
    before = make_outside(trial)
    kinds = ["hard link", "hard link that comes and goes"] * 2 + ["symbolic link", "folder", "FIFO"]
    kind = random.choice(kinds)
    # half of the time one of those that open the file themselves
    direct = ["read", "append", "grep", "search", "messages", "say", "write", "records"]
    asks = [random.choice(direct)] if random.random() < 0.5 else list(ASKS)
    if len(asks) > 1:
        random.shuffle(asks)
    place = LOG if {"messages", "say", "records"} & set(asks[:1]) else NOTE
    outside = trial.outside / Path(place).name
    for path in (NOTE, LOG):
        (trial.root / path).parent.mkdir(exist_ok=True)
        own(trial.root / path)
    swapper = Child(partial(swap, kind, trial.root / place, outside))
    callers = [Child(partial(ask, trial.root, asks, 1.5, number)) for number in range(2)]
    where = f"{place} ↔ {kind}"
    for caller in callers:
        ended = caller.wait(1.5 + 2 * SOON)
        check_call(trial, SWAPPED_LINKS, where, caller, ended=ended)
    swapper.kill()
    trial.check(SWAPPED_LINKS, swapper.crash is None, f"the swapper ended: {swapper.crash}")
    changed(trial, SWAPPED_LINKS, f"{where}, {', '.join(asks)}", before)


def check_call(trial: Trial, guarantee: int, where: str, caller: Child, *, ended: bool) -> None:
    reported = caller.shared.records()
    asked = [record["asked"] for record in reported if "asked" in record]
    trial.count(guarantee, len(asked))
    for record in reported:
        if "shown" in record:
            trial.fail(guarantee, f"{where}: {record['shown']} shows {record['answer']!r}")
        if "slow" in record:
            trial.fail(guarantee, f"{where}: {record['slow']} took {record['took']:.1f} s")
    if not ended:
        trial.fail(guarantee, f"{where}: {asked[-1] if asked else 'opening'} hangs")
    if caller.crash:
        trial.fail(guarantee, f"{where}: {asked[-1] if asked else 'opening'}: {caller.crash}")


def changed(trial: Trial, guarantee: int, where: str, before: dict[str, str]) -> None:
    after = look_outside(trial)
    for path in sorted(before.keys() | after.keys()):
        same = after.get(path) == before.get(path)
        reported = (
            f"{where}: {path} outside now says {after.get(path, 'nothing: it is gone')[-200:]!r}"
        )
        trial.check(guarantee, same, reported)


def own_places(root: Path) -> list[Path]:
    """Return all that lies in `.commonplace`, and what might."""
    top = root / ".commonplace"
    there = [path for path in top.rglob("*") if len(path.relative_to(top).parts) < 4]
    return [
        top,
        *there,
        top / "index.new",
        top / "usage.jsonl",
        top / "vectors",
        top / "quarantine",
    ]


def fill(root: Path, _: SharedLog) -> None:
    """Make everything that there may be in `.commonplace`."""
    running = Program(root, "first")
    for number, call in enumerate(CALLS.values()):
        call.run(running, f"t{number}e")
    running.store.write(NOTE, "own\n")
    running.store.write(NOTE, "own own\n")
    running.facts.memory_read(NOTE)
    with contextlib.suppress(CommonplaceError):
        running.store.append(LOG, '{"role":"user","content":"own"}')
    running.store.close()


def specials(trial: Trial) -> Iterator[tuple[str, Path, Path]]:
    """Yield what is put where, and the file outside that it leads to; there again the next time."""
    base = trial.folder / "base"
    maker = Child(partial(fill, trial.root))
    maker.wait(30)
    if maker.crash:
        raise RuntimeError(maker.crash)
    trial.root.rename(base)
    kinds = ["hard link", "symbolic link", "link to nothing", "link to a folder", "FIFO", "device"]
    while trial.is_time():
        shutil.rmtree(trial.root, ignore_errors=True)
        shutil.copytree(base, trial.root)
        notes = [trial.root / NOTE, trial.root / LOG, trial.root / "facts"]
        places = own_places(trial.root) + notes * 3
        place = trial.random.choice(places)
        kind = trial.random.choice([*kinds, "socket", "folder"])
        outside = trial.outside / trial.random.choice(["note.md", "messages.jsonl", "shell.rc"])
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        place.unlink(missing_ok=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            make(kind, place, outside)
        except PermissionError as error:
            trial.skip(SPECIAL_FILES, f"{kind}: {error.strerror}; only root can make one")
            continue
        yield kind, place, outside


def standing(trial: Trial) -> None:
    """Something else lies there from the start."""
    before = make_outside(trial)
    for kind, place, outside in specials(trial):
        where = f"{place.relative_to(trial.root)} is a {kind} ({outside.name})"
        asks = trial.random.sample(list(ASKS), 8)
        caller = Child(partial(once, trial.root, asks))
        check_call(trial, SPECIAL_FILES, where, caller, ended=caller.wait(3 * SOON))
        changed(trial, SPECIAL_FILES, where, before)
        for path, text in before.items():
            (trial.outside / path).write_text(text)


def once(root: Path, asks: list[str], shared: SharedLog) -> None:
    """Make each call once."""
    try:
        running = Program(root, "p", watch=len(asks) % 2 == 0)
    except (CommonplaceError, OSError):
        return
    for number, what in enumerate(asks):
        shared.append({"asked": what})
        begun = time.monotonic()
        try:
            answer = repr(ASKS[what](running, number))
        except (CommonplaceError, OSError) as error:
            answer = str(error)
        if CANARY in answer and what not in GIVEN:
            shared.append({"shown": what, "answer": answer[:300]})
        if (took := time.monotonic() - begun) > SOON:
            shared.append({"slow": what, "took": took})
    with contextlib.suppress(CommonplaceError, OSError):
        running.store.close()


KINDS = (races, standing)
