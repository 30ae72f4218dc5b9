"""Fault campaign: limits of memory, disk, file size, descriptors and watches."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import resource
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import commonplace
from commonplace import CommonplaceError, InDoubt
from tests.campaigns.children import Child, SharedLog, no_strace
from tests.campaigns.guarantees import ERRORS_REPORTED, FRESH_INDEX, MEMORY_BOUNDED
from tests.campaigns.systems import CALLS, Program
from tests.campaigns.trial import Trial

INVARIANT = (
    "Where the machine has no more to give, a call does what was asked, or says that it did not "
    "and changes nothing, or says in its notes what it left out; no process ends by it."
)
GUARANTEES = {
    ERRORS_REPORTED: "every call on a full disk, at a limit of the size of files, and "
    "without descriptors",
    FRESH_INDEX: "edits by hand where the system gives no watches",
    MEMORY_BOUNDED: "large and strange files under RLIMIT_AS, in a cgroup and with "
    "`memory_limit` of 256 MB, "
    "512 MB and 1 GB: built, searched, scanned, changed, imported",
}
MB = 1 << 20
# of memory, in MB
LIMITS = (256, 512, 1024)
NEW_NAMESPACE, PRIVATE = 0x20000, 1 << 18 | 1 << 14


def tmpfs(folder: Path, options: str) -> str | None:
    """Mount a small file system for this process and its children; return why that cannot be."""
    libc = ctypes.CDLL(None, use_errno=True)
    done = (
        libc.unshare(NEW_NAMESPACE) == 0
        and libc.mount(b"none", b"/", None, PRIVATE, None) == 0
        and libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, options.encode()) == 0
    )
    return None if done else f"a small tmpfs: {os.strerror(ctypes.get_errno())}; it needs root"


def call_on(root: Path, seed: str, limit: Callable[[Random], None], shared: SharedLog) -> None:
    """Make calls until time is over, and say of each how it ended."""
    random = Random(seed)
    program = Program(root, f"p{os.getpid()}", watch=random.random() < 0.5)
    for name, call in CALLS.items():
        # what is imported late is imported now
        call.run(program, f"tfirst{name.replace('.', 'x').partition(' ')[0].rstrip(',')}e")
    until = time.monotonic() + 1.0
    for number in range(100_000):
        if time.monotonic() > until:
            break
        token, chosen = f"t{os.getpid()}x{number}e", random.choice(list(CALLS))
        limit(random)
        try:
            CALLS[chosen].run(program, token)
        except (CommonplaceError, OSError) as error:
            if not isinstance(error, InDoubt):
                shared.append(
                    {"refused": chosen, "token": token, "why": f"{type(error).__name__}: {error}"}
                )
        else:
            shared.append({"done": chosen, "token": token})
    shared.append({"end": True})


# Calls of one step: refused means that nothing of it is there.
ONE_STEP = {
    "append", "transcript.append", "agent.remember", "agent.reflect", "agent.learn_fact",
    "facts.memory_write", "session.write_detail", "layers.learn", "write",
}  # fmt: skip
# Calls whose token may be gone by what others of the table did since.
FLEETING = {
    "update", "facts.summarise_months", "layers.compact", "layers.export_json, import_json",
}  # fmt: skip


def check_call(trial: Trial, what: str, child: Child) -> None:
    """Compare what was said of each call with what is there."""
    ended = child.wait(60)
    if not trial.check(
        ERRORS_REPORTED, ended and not child.crash, f"{what}: {child.crash or 'hung'}"
    ):
        return
    texts = [path.read_text(errors="replace") for path in trial.root.rglob("*") if path.is_file()]
    everything = "\0".join(texts)
    for record in child.shared.records():
        chosen, token = record.get("done") or record.get("refused"), record.get("token")
        if "done" in record and chosen not in FLEETING:
            trial.check(
                ERRORS_REPORTED,
                token in everything,
                f"{what}: {chosen}: ok, and {token} is nowhere",
            )
        elif "refused" in record and chosen in ONE_STEP:
            message = f"{what}: {chosen}: {record['why']}, and {token} is there"
            trial.check(ERRORS_REPORTED, token not in everything, message)
        elif "refused" in record:
            trial.count(ERRORS_REPORTED, 1)


def afterwards(trial: Trial, what: str) -> None:
    """With room again, all is as it should be."""

    def work(shared: SharedLog) -> None:
        with commonplace.open(trial.root) as store:
            store.write("after.md", "zyzzyva\n")
            found = [hit.path for hit in store.search("zyzzyva")]
            shared.append({"differences": store.verify().differences, "found": found})

    child = Child(work)
    ended = child.wait(20)
    trial.check(
        ERRORS_REPORTED,
        ended and not child.crash,
        f"{what}, afterwards: {child.crash or 'hung'}",
    )
    for record in child.shared.records():
        if "found" in record:
            good = record["differences"] == [] and record["found"] == ["after.md"]
            trial.check(ERRORS_REPORTED, good, f"{what}, afterwards: {record}")
    litter = [path.name for path in trial.root.rglob("*.swap")]
    trial.check(ERRORS_REPORTED, not litter, f"{what}, left lying: {litter[:3]}")


def full_disk(trial: Trial) -> None:
    random = trial.random
    options = random.choice(["size=900k", "size=1500k", "size=3m,nr_inodes=220"])
    if why := tmpfs(trial.root, options):
        return trial.skip(ERRORS_REPORTED, why)
    ballast = trial.root / "ballast.bin"

    def limit(random: Random) -> None:
        """Fill the disk up, or make some room."""
        free = os.statvfs(trial.root).f_bavail * 4096
        if random.random() < 0.3:
            with contextlib.suppress(OSError), ballast.open("ab") as file:
                file.write(bytes(max(0, free - random.randrange(8) * 4096)))
        elif random.random() < 0.2:
            ballast.unlink(missing_ok=True)

    check_call(trial, options, Child(partial(call_on, trial.root, str(random.random()), limit)))
    ballast.unlink(missing_ok=True)
    if os.statvfs(trial.root).f_bavail > 60 and os.statvfs(trial.root).f_favail > 30:
        afterwards(trial, options)
    return None


def size_of_files(trial: Trial) -> None:
    def limit(random: Random) -> None:
        most = random.choice([100, 1000, 4096, 10_000, resource.RLIM_INFINITY])
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

    seed = str(trial.random.random())
    check_call(trial, "RLIMIT_FSIZE", Child(partial(call_on, trial.root, seed, limit)))
    afterwards(trial, "RLIMIT_FSIZE")


def limit_descriptors(most: int) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, 4096))


def highest_descriptor() -> int:
    """Return the highest descriptor in use; listing them takes one itself."""
    limit_descriptors(4096)
    return max(int(name) for name in os.listdir("/proc/self/fd"))  # noqa: PTH208


def descriptors(trial: Trial) -> None:
    def limit(random: Random) -> None:
        limit_descriptors(highest_descriptor() + random.randrange(-2, 10))

    seed = str(trial.random.random())
    check_call(trial, "RLIMIT_NOFILE", Child(partial(call_on, trial.root, seed, limit)))
    afterwards(trial, "RLIMIT_NOFILE")


def few_descriptors_to_read(trial: Trial) -> None:
    """What is read without descriptors is all, or an error, or a note."""
    for number in range(20):
        path = trial.root / f"deep/{number % 4}/{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("- quokka\n")

    def work(shared: SharedLog) -> None:
        store = commonplace.open(trial.root, watch=trial.random.random() < 0.5)
        used = highest_descriptor()
        asks: dict[str, Callable[[], tuple[int, bool]]] = {
            "list": lambda: (len(store.list()), True),
            "search": lambda: (len(hits := store.search("quokka", 50)), not hits.notes),
            "grep": lambda: (len(list(scan := store.grep("quokka"))), not scan.notes),
            "read": lambda: (20 * store.read("deep/0/0.md").count("quokka"), True),
        }
        for name, ask in asks.items():
            for more in range(-3, 12):
                limit_descriptors(used + more)
                try:
                    found, is_all = ask()
                except (CommonplaceError, OSError):
                    continue
                shared.append({"asked": name, "more": more, "found": found, "all": is_all})

    child = Child(work)
    ended = child.wait(30)
    trial.check(
        ERRORS_REPORTED,
        ended and not child.crash,
        f"few descriptors: {child.crash or 'hung'}",
    )
    for one in child.shared.records():
        if "asked" in one:
            good = one["found"] == 20 or not one["all"]
            trial.check(
                ERRORS_REPORTED,
                good,
                f"{one['asked']} with {one['more']} descriptors: {one}",
            )


def no_watches(trial: Trial) -> None:
    """The system refuses watches, from the first or the n-th on; edits are seen all the same."""
    if why := no_strace():
        return trial.skip(FRESH_INDEX, f"refusing inotify: {why}")
    for number in range(6):
        (trial.root / f"folder{number}").mkdir()
        (trial.root / f"folder{number}/note.md").write_text("- word0e\n")

    def work(shared: SharedLog) -> None:
        store = commonplace.open(trial.root)
        for number in range(1, 12):
            path = trial.root / f"folder{number % 6}/note.md"
            path.write_text(f"- word{number}e\n")
            hits = store.search(f"word{number}e")
            found = [hit.path for hit in hits] == [f"folder{number % 6}/note.md"]
            shared.append({"seen": found or hits.freshness != "fresh", "number": number})

    refused = trial.random.choice(
        [
            "inotify_init1:error=EMFILE",
            "inotify_init1:error=ENOSYS",
            "inotify_add_watch:error=ENOSPC",
        ]
    )
    inject = f"{refused}:when={trial.random.randrange(1, 6)}+" if "watch" in refused else refused
    child = Child(work, [inject])
    ended = child.wait(30)
    trial.check(FRESH_INDEX, ended and not child.crash, f"{inject}: {child.crash or 'hung'}")
    for record in child.shared.records():
        if "seen" in record:
            trial.check(
                FRESH_INDEX,
                record["seen"],
                f"{inject}: edit {record['number']} is not seen",
            )
    return None


def strange(random: Random, path: Path, size: int) -> str:
    """Write a file that takes much memory when it is read with no care."""
    shapes: dict[str, tuple[str, Callable[[], str]]] = {
        "short lines": ("a.md", lambda: "x\n" * 4096),
        "headings": ("a.md", lambda: "# h\n" * 2048),
        "one line": ("a.md", lambda: "word " * 2048),
        "different words": ("a.md", lambda: random.randbytes(2048).hex(" ", 5) + "\n"),
        "list items": ("a.md", lambda: "- i\n" * 2048),
        "one line of JSON": ("messages.jsonl", lambda: "word " * 2048),
        "messages": ("messages.jsonl", lambda: '{"role":"user","content":"x"}\n' * 512),
        "brackets": ("messages.jsonl", lambda: "[" * 8192),
    }  # fmt: skip
    shape = random.choice(list(shapes))
    name, piece = shapes[shape]
    with (path / name).open("w") as file:
        if shape == "one line of JSON":
            file.write('{"role":"user","content":"')
        while file.tell() < size:
            file.write(piece())
        file.write('"}\n' if shape == "one line of JSON" else "\n")
    return shape


def use(root: Path, limit: Callable[[], None], given: int | None, shared: SharedLog) -> None:
    """Use a store in every way under a limit of memory."""
    limit()
    before = kilobytes("VmRSS")
    store = commonplace.open(root, memory_limit=given)
    asks: dict[str, Callable[[], object]] = {
        "search": lambda: (len(store.search("zyzzyva quokka")), store.search("quokka").notes),
        "grep": lambda: sum(1 for _ in store.grep("quokka")),
        "list": lambda: len(store.list()),
        "import": lambda: store.transcript("loaded").load(root / "messages.jsonl").messages,
        "append": lambda: store.append("a.md", "- quokka").version,
        "update": lambda: store.update("a.md", lambda text: text + "quokka\n").version,
        "sections": lambda: len(store.sections("a.md")),
        "messages": lambda: len(store.transcript("").messages(1, 10)),
        "verify": lambda: store.verify().differences,
        "status": lambda: store.status().notes,
        "close": store.close,
    }
    for name, ask in asks.items():
        shared.append({"asked": name})
        try:
            shared.append({"answered": name, "answer": repr(ask())[:200]})
        except (CommonplaceError, OSError, MemoryError) as error:
            shared.append({"refused": name, "why": f"{type(error).__name__}: {error}"[:200]})
        if given:
            shared.append({"peak": (kilobytes("VmHWM") - before) << 10, "at": name})


def kilobytes(name: str) -> int:
    """Return a number that the system tells about this process."""
    status = Path("/proc/self/status").read_text()
    (found,) = re.findall(rf"{name}:\s+(\d+) kB", status)
    return int(found)


def address_space(extra: int) -> None:
    most = (kilobytes("VmSize") << 10) + extra
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def strange_root(trial: Trial, root: Path) -> tuple[int, str]:
    """Choose a limit, fill a root with something that is not small beside it, and say with what."""
    limit = trial.random.choice(LIMITS)
    # a larger one takes longer to write and to read
    size = int(trial.random.uniform(4, min(limit / 8, 4 + 4 * trial.seconds)))
    (root / "quokka.md").write_text("- quokka\n")
    return limit * MB, f"{size} MB of {strange(trial.random, root, size * MB)} and {limit} MB"


def little_memory(trial: Trial) -> None:
    limit, message = strange_root(trial, trial.root)
    child = Child(partial(use, trial.root, partial(address_space, limit), None))
    survived(trial, f"{message} of address space", child)


def own_limit(trial: Trial) -> None:
    """As above, with a limit that the store keeps by itself."""
    limit, message = strange_root(trial, trial.root)
    child = Child(partial(use, trial.root, lambda: None, limit))
    survived(trial, f"{message} as memory_limit", child)
    for one in child.shared.records():
        if "peak" in one:
            taken = f"{one['peak'] >> 20} MB after {one['at']}"
            trial.check(
                MEMORY_BOUNDED,
                one["peak"] <= limit,
                f"{message} as memory_limit: it took {taken}",
            )


def survived(trial: Trial, message: str, child: Child) -> None:
    ended = child.wait(300)
    records = child.shared.records()
    asked = [record["asked"] for record in records if "asked" in record]
    why = child.crash or (
        "hung" if not ended else f"died of {child.status}" if child.status else None
    )
    trial.count(MEMORY_BOUNDED, max(0, len(asked) - 1))
    trial.check(
        MEMORY_BOUNDED,
        why is None,
        f"{message}: {asked[-1] if asked else 'opening'}: {why}",
    )


def cgroup(trial: Trial) -> None:
    """As above, in a group of processes that is ended when it takes more than it may."""
    top = Path("/sys/fs/cgroup")
    is_old = (top / "memory").is_dir()
    group = (top / "memory" if is_old else top) / f"campaign-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        return trial.skip(MEMORY_BOUNDED, f"a cgroup: {error.strerror}: {group}")
    try:
        # on a disk: files in memory would count as memory of the group
        with tempfile.TemporaryDirectory() as folder:
            limit, message = strange_root(trial, Path(folder))
            (group / ("memory.limit_in_bytes" if is_old else "memory.max")).write_text(str(limit))

            def enter() -> None:
                (group / "cgroup.procs").write_text(str(os.getpid()))

            survived(
                trial, f"{message} for a cgroup", Child(partial(use, Path(folder), enter, None))
            )
    except OSError as error:
        trial.skip(MEMORY_BOUNDED, f"a cgroup: {error.strerror}: {group}")
    finally:
        group.rmdir()
    return None


KINDS = (
    full_disk,
    little_memory,
    descriptors,
    no_watches,
    few_descriptors_to_read,
    size_of_files,
    own_limit,
    cgroup,
)
