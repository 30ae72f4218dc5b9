"""Side files below `.commonplace`: planted links, FIFOs and folders are refused at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

import commonplace
from commonplace import Store
from commonplace.errors import Conflict, NotFound, Refused, StorageError
from commonplace.memories.facts_and_episodes import FactsAndEpisodes
from commonplace.memories.four_layers import FourLayers
from commonplace.memories.world_and_agents import WorldAndAgents
from commonplace.recall import HybridSearch
from commonplace.recall.vectors import Vectors
from tests.doubles import letter_embedder

RC = b"# a shell reads this\n"
HOSTILE = "$(touch PWNED).md"
# the file that a rewrite of the vectors makes
NEW = f"records.{os.getpid()}.new"


def put_folder(place: Path, _: Path) -> None:
    place.mkdir()
    (place / "inner").write_text("mine")


PUT: dict[str, Callable[[Path, Path], object]] = {
    "symlink": lambda place, outside: place.symlink_to(outside),
    "dangling": lambda place, outside: place.symlink_to(outside.with_name("new")),
    "hardlink": lambda place, outside: place.hardlink_to(outside),
    "fifo": lambda place, _: os.mkfifo(place),
    "symlink to a fifo": lambda place, outside: place.symlink_to(outside.with_name("pipe")),
    "folder": put_folder,
}


@pytest.fixture
def rc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file outside that must stay as it is, in a folder to which nothing may be added."""
    rc = tmp_path_factory.mktemp("outside") / "rc"
    rc.write_bytes(RC)
    os.mkfifo(rc.with_name("pipe"))
    yield rc
    assert rc.read_bytes() == RC
    assert sorted(path.name for path in rc.parent.iterdir()) == ["pipe", "rc"]


@contextmanager
def soon() -> Iterator[None]:
    """End what waits for somebody to open the other end of a FIFO."""

    def late(*_: object) -> None:
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("how", PUT)
def test_reads_are_noted_in_a_file_of_our_own(store: Store, rc: Path, how: str) -> None:
    (store.root / HOSTILE).write_text("# Note\n\ntea\n")
    own = store.root / ".commonplace"
    own.mkdir(exist_ok=True)
    PUT[how](own / "usage.jsonl", rc)
    memory = FactsAndEpisodes(store)
    with soon():
        assert "tea" in memory.memory_read(HOSTILE)
        assert "tea" in memory.memory_read(HOSTILE)
        assert memory._usage.of(HOSTILE).reads == 2
        assert FactsAndEpisodes(store)._usage.of(HOSTILE).reads == 2
    # what was there is still there, under another name
    assert os.path.lexists(own / "usage.jsonl.aside")
    assert (own / "usage.jsonl").stat().st_mode & 0o777 == 0o600
    assert not list(store.root.rglob("PWNED"))


def test_a_log_of_reads_that_is_far_too_large_is_not_read(store: Store) -> None:
    store.write("a.md", "tea")
    log = store.root / ".commonplace/usage.jsonl"
    with log.open("wb") as file:
        file.truncate(1 << 40)
    memory = FactsAndEpisodes(store)
    assert "tea" in memory.memory_read("a.md")
    assert memory._usage.of("a.md").reads == 1
    assert FactsAndEpisodes(store)._usage.of("a.md").reads == 1
    assert log.stat().st_size < 100


@pytest.mark.parametrize("how", [*PUT, "file"])
def test_our_folder_is_no_way_out(store: Store, rc: Path, how: str) -> None:
    (store.root / "facts").mkdir()
    (store.root / "facts/a.md").write_text("# Tea\n\nbanana\n")
    (store.root / "m.jsonl").write_text('{"role": "user", "content": "banana"}\n')
    own = store.root / ".commonplace"
    if how == "symlink":
        own.symlink_to(rc.parent)
    elif how == "file":
        own.write_bytes(b"")
    else:
        PUT[how](own, rc)
    with soon():
        memory = FactsAndEpisodes(store)
        assert "banana" in memory.memory_read("facts/a.md")
        assert memory.memory_list()
        assert len(store.search("banana")) == 2
        made = Vectors(store, letter_embedder())
        assert len(made.nearest("banana", 9)) == 2
        assert store.transcript("m.jsonl").records(store.transcript("m.jsonl").messages())
        if how == "folder":
            # an ordinary folder, whatever else is in it
            assert made.notes == []
            return
        assert "not kept" in made.notes[0]
        with pytest.raises(Refused) as refused:
            store.write("b.md", "x")
        assert refused.value.code in {"symlink", "type"}
        store.close()
    assert not (store.root / "b.md").exists()


@pytest.mark.parametrize("how", PUT)
@pytest.mark.parametrize("name", ["records", "lock", NEW], ids=["records", "lock", "new"])
def test_vectors_are_made_again(
    store: Store, rc: Path, how: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("commonplace.recall.vector_maker.WASTE", 0)
    store.write("a.md", "banana")
    assert Vectors(store, letter_embedder()).refresh() == 1
    place = next((store.root / ".commonplace/vectors").iterdir()) / name
    place.unlink(missing_ok=True)
    PUT[how](place, rc)
    with soon():
        made = Vectors(store, letter_embedder())
        for text in ("aa", "aaa", "aaaa"):
            # the third makes the file anew
            store.write("a.md", text)
            made.refresh()
        assert made.notes == []
        assert Vectors(store, letter_embedder()).refresh() == 0
    assert place.exists() == (name != NEW)
    assert not place.is_symlink()


def test_vectors_end_where_there_is_nothing(store: Store) -> None:
    store.write("a.md", "banana")
    assert Vectors(store, letter_embedder()).refresh() == 1
    (records,) = (store.root / ".commonplace/vectors").glob("*/records")
    with records.open("r+b") as file:
        file.truncate(1 << 40)
    with soon():
        made = Vectors(store, letter_embedder())
        assert made.refresh() == 0
        store.write("b.md", "papaya")
        assert made.refresh() == 1
        assert Vectors(store, letter_embedder()).refresh() == 0
    assert records.stat().st_size < 1000


@pytest.mark.parametrize("how", PUT)
def test_the_folder_of_the_vectors(store: Store, rc: Path, how: str) -> None:
    store.write("a.md", "banana")
    if how == "symlink":
        (store.root / ".commonplace/vectors").symlink_to(rc.parent)
    else:
        PUT[how](store.root / ".commonplace/vectors", rc)
    with soon():
        made = Vectors(store, letter_embedder())
        assert made.refresh() == 1
    assert bool(made.notes) == (how != "folder")


@pytest.mark.parametrize("how", PUT)
@pytest.mark.parametrize(
    "name", ["index", "index.new", "lock", "history", "quarantine", "gram_index"]
)
def test_what_the_core_keeps(root: Path, rc: Path, how: str, name: str) -> None:
    (root / "a.md").write_text("banana\n")
    (root / "m.jsonl").write_text('{"role": "user", "content": "banana"}\n{"torn')
    (root / ".commonplace").mkdir()
    PUT[how](root / ".commonplace" / name, rc)
    if how == "symlink" and name in {"history", "quarantine", "gram_index"}:
        (root / ".commonplace" / name).unlink()
        (root / ".commonplace" / name).symlink_to(rc.parent)
    with soon(), commonplace.open(root) as store:
        assert len(store.search("banana")) == 2
        assert store.grep("banana").count() == 2
        calls: list[Callable[[], object]] = [
            lambda: store.write("a.md", "papaya"),
            lambda: store.append("m.jsonl", "{}"),
            lambda: store.history("a.md"),
            lambda: store.read("a.md", store.version("a.md")),
            store.verify,
        ]
        for call in calls:
            with suppress(Refused, StorageError):
                call()
        # what was refused was not done
        found = store.search("papaya" if "papaya" in store.read("a.md") else "banana")
        assert "a.md" in {hit.path for hit in found}


def test_side_files_stay_below_our_folder(store: Store) -> None:
    side = store.side_files()
    for name, code in [
        ("../a.md", "escape"),
        ("/a", "absolute"),
        ("a/../b", "dotdot"),
        ("", "empty"),
    ]:
        for mode in ("r", "a", "r+"):
            with pytest.raises(Refused) as refused:
                side.handle(name, mode)
            assert refused.value.code == code
        with pytest.raises(Refused):
            side.replace(name, [b"x"])
        with pytest.raises(Refused):
            side.move("here", name)
    with pytest.raises(NotFound):
        side.handle("none", "r")
    with pytest.raises(ValueError, match="mode"):
        side._core.open_side("none", "w")  # type: ignore[arg-type]
    side.replace("new/log", [b"one\n", b"two\n"])
    assert (store.root / ".commonplace/new/log").read_bytes() == b"one\ntwo\n"
    assert (store.root / ".commonplace/new").stat().st_mode & 0o777 == 0o700


def test_records_are_read_beneath_the_root(store: Store, rc: Path) -> None:
    log = store.transcript("s")
    log.append({"role": "user", "content": "hello"})
    message = log[1]
    rc.with_name("out.jsonl").write_bytes(b'{"role": "user", "content": "CANARY"}\n')
    try:
        for path in ("../outside", f"../{rc.parent.name}/out.jsonl", "s/../../x"):
            with pytest.raises(Refused) as refused:
                store.transcript(path)
            assert refused.value.code == "escape"
        other = store.transcript(".commonplace/x.jsonl")
        calls: list[Callable[[], object]] = [
            partial(other.records, [message]),
            other.messages,
            partial(other.__getitem__, 1),
            partial(other.append, {"role": "user", "content": "x"}),
        ]
        for call in calls:
            with soon(), pytest.raises(Refused) as refused:
                call()
            assert refused.value.code == "reserved"
        with pytest.raises(Refused) as refused:
            store.transcript(str(rc.with_name("out.jsonl")))
        assert refused.value.code == "absolute"
        file = store.root / "s/messages.jsonl"
        for how, code in [("symlink", "symlink"), ("hardlink", "hardlink"), ("fifo", "type")]:
            file.unlink()
            PUT[how](file, rc.with_name("out.jsonl"))
            with soon(), pytest.raises(Refused) as refused:
                log.records([message])
            assert refused.value.code == code
        file.unlink()
        with pytest.raises(NotFound):
            log.records([message])
        file.write_bytes(b"something else\n")
        with pytest.raises(Conflict):
            log.records([message])
    finally:
        rc.with_name("out.jsonl").unlink()


@pytest.mark.parametrize("how", ["symlink", "hardlink", "fifo", "folder", "none"])
def test_notes_that_turn_into_something_else(store: Store, rc: Path, how: str) -> None:
    memory = FourLayers(store)
    memory.append("episodic", {"content": "banana"})
    hit = store.search("banana")[0]
    note = store.root / hit.path
    note.unlink()
    if how == "none":
        assert memory._notes._line_after(hit) == ""
        with pytest.raises(NotFound):
            store.stamp(hit.path)
        return
    PUT[how](note, rc)
    with soon():
        calls: list[Callable[[], object]] = [
            lambda: memory._notes._line_after(hit),
            lambda: store.stamp(hit.path),
            lambda: store.lines_at(hit.path, [0]),
            lambda: store.stamp("../outside/rc"),
            lambda: store.lines_at("../outside/rc", [0]),
        ]
        for call in calls:
            with pytest.raises(Refused):
                call()
        assert HybridSearch(store, half_life=1)._moment(hit) is None


def test_a_diary_that_is_a_link(store: Store, rc: Path) -> None:
    diary = WorldAndAgents(store, "planner")
    page = store.root / diary.remember("first")["path"]
    page.unlink()
    page.symlink_to(rc)
    with pytest.raises(Refused):
        diary.remember("second")


@pytest.mark.parametrize(
    "name", ["lock", "index", "index.new", "history/a.md", "quarantine", "gram_index"]
)
def test_what_the_core_keeps_is_no_side_file(root: Path, name: str) -> None:
    with commonplace.open(root) as store:
        side = store.side_files()
        calls: list[Callable[[], object]] = [
            lambda: side.append(name, b"x"),
            lambda: side.replace(name, [b"x"]),
            lambda: side.move("usage.jsonl", name),
            lambda: side.move(name, "other"),
        ]
        for call in calls:
            with pytest.raises(commonplace.Refused) as caught:
                call()
            assert caught.value.code == "reserved"


class _LeavesError(Exception):
    """What makes a child leave a block that its parent entered."""


def test_a_lock_is_waited_for_and_belongs_to_who_took_it(root: Path) -> None:
    with commonplace.open(root) as store:
        side = store.side_files()
        try:
            with side.locked("a.lock"):
                child = os.fork()
                if child == 0:
                    raise _LeavesError  # noqa: TRY301 - it is to leave this block
                os.waitpid(child, 0)
                with pytest.raises(commonplace.Busy, match="lock"), side.locked("a.lock", 0.05):
                    pass
        except _LeavesError:
            os._exit(0)
        with side.locked("a.lock", 0.05):
            pass
