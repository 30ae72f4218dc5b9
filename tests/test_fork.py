"""Forks: a child opens a store of its own, sees every change and never hangs."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import pickle
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import commonplace
from commonplace.entries.compaction import compaction_lock
from commonplace.memories import FactsAndEpisodes

# A child that takes longer hangs.
CHILD_TIMEOUT = 20.0


class Child:
    """A forked child that runs `work`, and whose answer the parent waits for."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._answer, write = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(write)
            return
        try:
            answer: tuple[bool, object] = (True, work())
        except BaseException as error:  # noqa: BLE001 - the parent is told
            answer = (False, repr(error))
        with os.fdopen(write, "wb") as out:
            out.write(pickle.dumps(answer))
        os._exit(0)

    def answer(self) -> Any:
        deadline = time.monotonic() + CHILD_TIMEOUT
        got = b""
        with os.fdopen(self._answer, "rb", buffering=0) as pipe:
            while select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
                if not (more := pipe.read(1 << 16)):
                    break
                got += more
            else:
                os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        assert got, "the child hung or died"
        done, value = pickle.loads(got)  # noqa: S301 - our own child wrote it
        assert done, value
        return value


def found(store: commonplace.Store, query: str) -> tuple[list[str], str]:
    hits = store.search(query)
    return [hit.path for hit in hits], hits.freshness


@contextmanager
def busy(*works: Callable[[int], object]) -> Iterator[None]:
    """Run each of `works` again and again in a thread of its own."""
    over = threading.Event()

    def run(work: Callable[[int], object]) -> None:
        turn = 0
        while not over.is_set():
            work(turn)
            turn += 1

    with ThreadPoolExecutor(len(works)) as pool:
        running = [pool.submit(run, work) for work in works]
        try:
            yield
        finally:
            over.set()
        for thread in running:
            thread.result()


def fill(root: Path, count: int = 40) -> None:
    for number in range(count):
        folder = root / f"notes/{number % 10}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"n{number}.md").write_text(f"# Note {number}\n\nA zebra, number {number}.\n")
    lines = (f'{{"role": "user", "content": "giraffe {n}"}}\n' for n in range(200))
    (root / "messages.jsonl").write_text("".join(lines))


def edited(store: commonplace.Store, turn: int, ready: int) -> object:
    os.read(ready, 1)
    return found(store, f"word{turn}a"), found(store, f"word{turn}b")


def test_parent_and_child_both_see_what_is_edited_after_the_fork(store: commonplace.Store) -> None:
    note = store.root / "a.md"
    for turn in range(50):
        note.write_text(f"# A\n\nword{turn}a\n")
        assert found(store, f"word{turn}a") == (["a.md"], "fresh")
        ready, go = os.pipe()

        child = Child(partial(edited, store, turn, ready))
        note.write_text(f"# A\n\nword{turn}b\n")
        os.write(go, b".")
        assert child.answer() == (([], "fresh"), (["a.md"], "fresh"))
        assert found(store, f"word{turn}b") == (["a.md"], "fresh")
        assert found(store, f"word{turn}a") == ([], "fresh")
        os.close(ready)
        os.close(go)


def everything(store: commonplace.Store, name: str) -> list[str]:
    store.write(f"children/{name}.md", f"# Child\n\nokapi {name}\n")
    store.append("children/log.md", name)
    store.transcript("children").append({"role": "user", "content": f"tapir {name}"})
    assert store.status().notes >= 40
    assert sum(1 for _ in store.grep("giraffe", limit=20)) == 20
    assert len(store.search("zeb*", limit=5)) == 5
    return found(store, f"okapi +{name}")[0][:1]


def test_children_of_a_busy_process_finish(root: Path) -> None:
    fill(root)
    with commonplace.open(root) as store:
        works = [
            lambda turn: store.search(f"zebra {turn}"),
            lambda turn: store.write(f"busy/{turn % 7}.md", f"# Busy {turn}\n"),
            lambda turn: store.append("busy/log.md", f"{turn}"),
            lambda _: sum(1 for _ in store.grep("giraffe")),
            lambda _: store.status(),
        ]
        with busy(*works):
            children = []
            for number in range(40):
                name = f"kid{number}"
                children.append((name, Child(partial(everything, store, name))))
                if number % 8 == 7:
                    for kid, child in children:
                        assert child.answer() == [f"children/{kid}.md"]
                    children.clear()
        assert len(store.list("children")) == 42
        assert sorted(store.read("children/log.md").split()) == sorted(f"kid{n}" for n in range(40))


_OPENED: list[commonplace.Store] = []


def _pooled(number: int) -> tuple[list[str], str]:
    store = _OPENED[0]
    store.write(f"pool/{number}.md", f"# Pool\n\nquokka{number}\n")
    return found(store, f"quokka{number}")


def test_a_pool_of_forked_workers(root: Path) -> None:
    fill(root)
    with commonplace.open(root) as store:
        assert found(store, "zebra")[1] == "fresh"
        _OPENED.append(store)
        try:
            with multiprocessing.get_context("fork").Pool(3) as pool:
                answers = pool.map_async(_pooled, range(24)).get(CHILD_TIMEOUT)
        finally:
            _OPENED.clear()
        assert answers == [([f"pool/{n}.md"], "fresh") for n in range(24)]
        assert all(found(store, f"quokka{n}")[0] == [f"pool/{n}.md"] for n in range(24))


def test_a_server_that_opens_the_store_and_then_forks_its_workers(root: Path) -> None:
    fill(root)
    rounds = range(5)
    with commonplace.open(root) as store:
        assert found(store, "zebra")[1] == "fresh"
        pipes = [(os.pipe(), os.pipe()) for _ in range(4)]

        def serve(number: int) -> list[object]:
            (request, _), (_, done) = pipes[number]
            answers: list[object] = []
            for turn in rounds:
                os.read(request, 1)
                answers.append(found(store, f"edition{turn}"))
                store.append("log.md", f"worker {number} turn {turn}")
                os.write(done, b".")
            return answers

        workers = [Child(partial(serve, number)) for number in range(4)]
        for turn in rounds:
            (root / "page.md").write_text(f"# Page\n\nedition{turn}\n")
            for (_, request), _ in pipes:
                os.write(request, b".")
            assert found(store, f"edition{turn}") == (["page.md"], "fresh")
            for _, (done, _) in pipes:
                os.read(done, 1)
        for worker in workers:
            assert worker.answer() == [(["page.md"], "fresh")] * len(rounds)
        lines = store.read("log.md").split("\n")[:-1]
        assert sorted(lines) == sorted(f"worker {n} turn {t}" for n in range(4) for t in rounds)
        for pair in pipes:
            for end in (*pair[0], *pair[1]):
                os.close(end)


def test_threads_that_fork(root: Path) -> None:
    fill(root)
    with commonplace.open(root) as store:

        def work(thread: int) -> list[object]:
            answers = []
            for turn in range(4):
                name = f"t{thread}x{turn}"
                store.write(f"threads/{name}.md", f"# T\n\n{name}\n")
                answers.append(Child(partial(found, store, name)).answer()[0])
            return answers

        with ThreadPoolExecutor(4) as pool:
            for thread, answers in enumerate(pool.map(work, range(4))):
                assert answers == [[f"threads/t{thread}x{turn}.md"] for turn in range(4)]


def test_a_child_of_a_child(root: Path) -> None:
    fill(root)
    with commonplace.open(root) as store:
        assert found(store, "zebra")[1] == "fresh"

        def child() -> object:
            (root / "c.md").write_text("capybara\n")
            own = found(store, "capybara")

            def grandchild() -> object:
                (root / "c.md").write_text("axolotl\n")
                return found(store, "axolotl")

            return own, Child(grandchild).answer(), found(store, "axolotl")

        fresh = (["c.md"], "fresh")
        assert Child(child).answer() == (fresh, fresh, fresh)
        assert found(store, "axolotl") == fresh


def test_a_child_goes_on_where_a_thread_of_its_parent_held_the_locks(root: Path) -> None:
    """A thread of the parent is in the middle of `update` and of a memory's call."""
    with commonplace.open(root) as store:
        memory = FactsAndEpisodes(store)
        memory.memory_write("facts/user.md", "# User\n\n- Name: Li Si\n")
        changing, inside, leave = (threading.Event() for _ in range(3))

        def slowly(text: str) -> str:
            changing.set()
            leave.wait(CHILD_TIMEOUT)
            return text + "slow\n"

        def take_turn() -> None:
            with memory._turn:
                inside.set()
                leave.wait(CHILD_TIMEOUT)

        with ThreadPoolExecutor(2) as pool:
            slow = pool.submit(store.update, "u.md", slowly)
            turn = pool.submit(take_turn)
            assert changing.wait(CHILD_TIMEOUT)
            assert inside.wait(CHILD_TIMEOUT)

            def work() -> object:
                store.update("v.md", lambda _: "quick\n")
                memory.memory_write("facts/user.md", "# User\n\n- Name: Wang Wu\n")
                memory.memory_append("episodes/2026-02.md", "Forked: the child wrote this.")
                return memory.memory_read("facts/user.md")

            try:
                assert "Wang Wu" in Child(work).answer()
            finally:
                leave.set()
            slow.result()
            turn.result()
        assert (store.read("u.md"), store.read("v.md")) == ("slow\n", "quick\n")
        assert "Wang Wu" in memory.memory_read("facts/user.md")


def test_a_fork_within_a_change(root: Path) -> None:
    """What the forking thread itself holds stays its own, in both processes."""
    with commonplace.open(root) as store:
        children: list[Child] = []

        def change(text: str) -> str:
            if not children:
                children.append(Child(lambda: store.update("b.md", lambda _: "child\n").path))
            return text + "parent\n"

        store.update("a.md", change)
        assert children[0].answer() == "b.md"
        assert (store.read("a.md"), store.read("b.md")) == ("parent\n", "child\n")


def test_a_scan_belongs_to_the_process_that_began_it(root: Path) -> None:
    fill(root)
    with commonplace.open(root) as store:
        scan = store.grep("zebra")
        next(scan)

        def work() -> object:
            with pytest.raises(ValueError, match="begin it again"):
                next(scan)
            with pytest.raises(ValueError, match="begin it again"):
                _ = scan.matched
            return sum(1 for _ in store.grep("zebra"))

        assert Child(work).answer() == 40
        assert sum(1 for _ in scan) == 39


def test_a_closed_store_is_closed_in_a_child_too_and_a_child_may_close_its_own(root: Path) -> None:
    fill(root)
    store = commonplace.open(root)
    assert found(store, "zebra")[1] == "fresh"

    def close() -> object:
        store.close()
        with pytest.raises(ValueError, match="closed"):
            store.search("zebra")
        return True

    assert Child(close).answer()
    assert found(store, "zebra")[1] == "fresh"
    store.close()

    def ask() -> object:
        with pytest.raises(ValueError, match="closed"):
            store.search("zebra")
        return True

    assert Child(ask).answer()


@pytest.mark.linux("/proc")
def test_a_child_does_not_keep_the_queue_of_its_parent(root: Path) -> None:
    fill(root)
    with commonplace.open(root) as store:
        assert found(store, "zebra")[1] == "fresh"

        def work() -> object:
            store.search("zebra")
            # the handle of the listing itself is gone by the time it is read
            return sum("inotify" in os.path.realpath(fd) for fd in Path("/proc/self/fd").iterdir())

        # its own, where the system gives one at all (`tests/refuse.py`)
        assert Child(work).answer() == int(store.status().watching)


def test_a_side_file_is_let_go_though_a_child_has_its_handle(root: Path) -> None:
    with commonplace.open(root) as store:
        side = store.side_files("demo")
        wait, go = os.pipe()
        with side.locked("lock"):
            child = Child(lambda: os.read(wait, 1))
        with side.handle("lock", "r+") as again:
            try:
                fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
            finally:
                os.write(go, b"x")
                child.answer()
                os.close(wait)
                os.close(go)


def test_vectors_in_a_child(root: Path) -> None:
    pytest.importorskip("numpy")
    from commonplace.adapters.embedders import CallableEmbedder  # noqa: PLC0415
    from commonplace.recall.vectors import Vectors  # noqa: PLC0415

    inside, leave = threading.Event(), threading.Event()
    parent = os.getpid()

    def embed(texts: list[str]) -> list[list[float]]:
        if any("slow" in text for text in texts) and os.getpid() == parent:
            inside.set()
            leave.wait(CHILD_TIMEOUT)
        return [[1.0 + text.count(letter) for letter in "abcdefgh"] for text in texts]

    with commonplace.open(root) as store:
        vectors = Vectors(store, CallableEmbedder(embed, "letters", 8))
        (root / "a.md").write_text("abab\n")
        assert vectors.nearest("aabb", 1)[0][0].path == "a.md"
        (root / "b.md").write_text("slow hgh hgh hgh\n")
        with ThreadPoolExecutor(1) as pool:
            slow = pool.submit(vectors.nearest, "aabb", 1)
            assert inside.wait(CHILD_TIMEOUT)

            def work() -> object:
                (root / "c.md").write_text("gggggg\n")
                return [vectors.nearest(text, 1)[0][0].path for text in ("aabb", "hhgg", "gg")]

            try:
                answer = Child(work).answer()
            finally:
                leave.set()
            assert slow.result()[0][0].path == "a.md"
        assert answer == ["a.md", "b.md", "c.md"]
        assert vectors.nearest("gg", 1)[0][0].path == "c.md"


def without_handles(work: Callable[[], bool]) -> bool:
    """Run `work` in a child that closes all that it inherited, as one does to become a daemon."""
    child = os.fork()
    if not child:
        done = False
        try:
            os.closerange(3, 512)
            done = work()
        finally:
            os._exit(0 if done else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_child_that_closed_all_stays_in_its_root(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.md").write_text("CANARY")
    with commonplace.open(root) as store:
        store.write("a.md", "robin")
        store.search("robin")

        def work() -> bool:
            own = [os.open(outside, os.O_RDONLY) for _ in range(16)]
            read = store.read("a.md").strip()
            store.write("b.md", "heron")
            paths = found(store, "heron")[0]
            return read == "robin" and paths == ["b.md"] and all(map(os.fstat, own))

        assert without_handles(work)
        assert [path.name for path in outside.iterdir()] == ["a.md"]
        assert store.read("b.md").strip() == "heron"


def test_a_child_that_closed_all_takes_no_other_root(root: Path) -> None:
    with commonplace.open(root) as store:
        store.write("a.md", "robin")
        root.rename(root.with_name("moved"))
        root.mkdir()

        def work() -> bool:
            with pytest.raises(commonplace.Refused) as refused:
                store.read("a.md")
            return refused.value.code == "config"

        assert without_handles(work)
        assert not list(root.iterdir())


def test_one_compaction_of_all_threads_runs_at_a_time_with_those_within_it(root: Path) -> None:
    stores = [commonplace.open(root), commonplace.open(root)]
    inside: list[int] = []
    most = 0

    def work(thread: int) -> None:
        nonlocal most
        for _ in range(5):
            with compaction_lock(stores[thread % 2]):
                inside.append(thread)
                # of the other store of the same folder, too
                with compaction_lock(stores[0]), compaction_lock(stores[1]):
                    most = max(most, len(inside))
                # the outer one still has it when the inner ones are left
                time.sleep(0.002)
                most = max(most, len(inside))
                inside.pop()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert (most, inside) == (1, [])
    with pytest.raises(ZeroDivisionError), compaction_lock(stores[0]):
        raise ZeroDivisionError
    with compaction_lock(stores[0]):
        pass


def test_a_child_waits_for_the_compaction_that_its_parent_is_in(root: Path) -> None:
    store = commonplace.open(root)
    read_end, write_end = os.pipe()

    def work() -> bool:
        with compaction_lock(store):
            # whether the parent had left by then
            return bool(select.select([read_end], [], [], 0)[0])

    with compaction_lock(store):
        child = Child(work)
        time.sleep(0.3)
        os.write(write_end, b"left")
    assert child.answer()


def test_a_child_does_not_keep_the_lock_of_a_parent_that_died(root: Path) -> None:
    """One that was forked in the middle of a compaction, which then ended without a word."""
    store = commonplace.open(root)
    read_end, write_end = os.pipe()

    def outlive() -> None:
        # also for itself it is free once the parent has died
        with store.side_files().locked("compaction.lock", timeout=CHILD_TIMEOUT):
            os.write(write_end, f"{os.getpid()}".encode())
        time.sleep(CHILD_TIMEOUT)

    if (parent := os.fork()) == 0:
        with compaction_lock(store):
            if os.fork() == 0:
                outlive()
            # the `with` is never left
            os._exit(0)
    os.waitpid(parent, 0)
    assert select.select([read_end], [], [], CHILD_TIMEOUT / 4)[0], "the child waits for itself"
    try:
        with store.side_files().locked("compaction.lock", timeout=2.0):
            pass
    finally:
        os.kill(int(os.read(read_end, 20)), signal.SIGKILL)
