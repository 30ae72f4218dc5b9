"""Errors of calls when the system refuses: the right class, and never a wrong answer."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import commonplace
from commonplace import StorageError, Store
from commonplace.memories import Profile


@contextmanager
def no_free_descriptor(but: int = 0) -> Iterator[None]:
    """Leave the process no file descriptor to open anything with, or so many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    taken = []
    try:
        with suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        for _ in range(but):
            os.close(taken.pop())
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


CALLS: dict[str, Callable[[Store], object]] = {
    "list": lambda store: store.list(),
    "history": lambda store: store.history("facts/a.md"),
    "documents": lambda store: store.documents("facts/a.md"),
    "read": lambda store: store.read("facts/a.md"),
    "version": lambda store: store.version("facts/a.md"),
    "write": lambda store: store.write("facts/a.md", "three"),
    "append": lambda store: store.append("facts/a.md", "three"),
    "patch": lambda store: store.patch("facts/a.md", [("two", "three")]),
    "move": lambda store: store.move("facts/a.md", "facts/b.md"),
    "delete": lambda store: store.delete("facts/a.md"),
    "keep": lambda store: store.keep("facts/a.md"),
    "transcript": lambda store: store.transcript("log").append({"role": "user", "content": "x"}),
}


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_too_many_open_files_is_a_storage_error(name: str, indexed: bool, tmp_path: Path) -> None:
    with commonplace.open(tmp_path, watch=False) as store:
        store.write("facts/a.md", "one")
        store.write("facts/a.md", "two")
        if indexed:
            assert len(store.list()) == 1
        with no_free_descriptor(), pytest.raises(StorageError) as raised:
            CALLS[name](store)
        assert raised.value.code == "nofile"
        assert store.read("facts/a.md") == "two"
        assert [entry.path for entry in store.list()] == ["facts/a.md"]


@pytest.mark.parametrize("indexed", [False, True])
def test_few_free_descriptors_shorten_no_list(indexed: bool, tmp_path: Path) -> None:
    for free in range(8):
        root = tmp_path / str(free)
        with commonplace.open(root, watch=False) as store:
            store.write("facts/a.md", "one")
            store.write("facts/a.md", "two")
            if indexed:
                store.list()
                store.write("facts/b.md", "three")
            with no_free_descriptor(but=free), suppress(StorageError):
                assert len(store.list()) == 1 + indexed
            with no_free_descriptor(but=free), suppress(StorageError):
                assert len(store.history("facts/a.md")) == 1


@pytest.mark.parametrize("watch", [False, True])
@pytest.mark.parametrize("indexed", [False, True])
def test_documents_are_all_or_an_error(indexed: bool, watch: bool, tmp_path: Path) -> None:
    for free in range(8):
        root = tmp_path / str(free)
        with commonplace.open(root, watch=watch) as store:
            store.write("facts/a.md", "one")
            if indexed:
                assert len(store.documents("facts/a.md")) == 1
            store.write("facts/b.md", "two")
            for path in ("facts/b.md", "facts/a.md"):
                with no_free_descriptor(but=free), suppress(StorageError):
                    assert len(store.documents(path)) == 1
                assert len(store.documents(path)) == 1


def test_files_that_cannot_be_read_are_listed(tmp_path: Path) -> None:
    for n in range(40):
        (tmp_path / f"{n:02}.md").write_text("text")
    with commonplace.open(tmp_path, watch=False) as store:
        assert len(store.list()) == 40
        (tmp_path / "00.md").write_text("changed")
        (tmp_path / "00.md").chmod(0)
        assert len(store.list()) == 40


def test_the_version_of_an_append_is_that_of_the_file(tmp_path: Path) -> None:
    with commonplace.open(tmp_path) as store:
        for path, size in [("a.md", 10), ("a.md", 10), ("big.md", 2 << 20), ("big.md", 1)]:
            written = store.append(path, "x" * size)
            assert written.version == store.version(path)
            store.append(path, "more", expected_version=written.version)
        # what is read later is what the file said then
        earlier = store.append("big.md", "earlier")
        store.append("big.md", "later")
        assert earlier.version != store.version("big.md")
        # and if it cannot be read any more, it is the version of nothing
        gone = store.append("big.md", "gone")
    assert gone.version == "unknown"
    with commonplace.open(tmp_path) as store, pytest.raises(commonplace.Refused):
        store.write("big.md", "x", expected_version=gone.version)


def test_nothing_appended_is_an_empty_line(tmp_path: Path) -> None:
    with commonplace.open(tmp_path) as store:
        store.append("a.md", "")
        store.append("a.md", "text")
        assert store.read("a.md") == "\ntext\n"


ASK_FOR_DOCUMENTS = """
import sys, commonplace
with commonplace.open(sys.argv[1]) as store:
    try:
        print(len(store.documents("facts/a.md")))
    except commonplace.StorageError as error:
        print(type(error).__name__)
"""


@pytest.mark.linux("strace")
def test_documents_of_a_file_that_cannot_be_read_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "root/facts/a.md"
    path.parent.mkdir(parents=True)
    path.write_text("# One\n\ntwo\n")
    command = ["strace", "-f", "-qq", "-o", os.devnull, "-P", os.fspath(path)]
    command += ["-e", "inject=read,pread64:error=EIO", sys.executable, "-c", ASK_FOR_DOCUMENTS]
    done = subprocess.run(
        [*command, os.fspath(tmp_path / "root")], capture_output=True, text=True, check=True
    )
    assert done.stdout == "StorageError\n"


def test_what_is_remembered_is_answered_though_its_line_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: object) -> None:
        raise StorageError("the disk is gone")

    with commonplace.open(tmp_path) as store:
        profile = Profile(store)
        monkeypatch.setattr(type(profile._pages), "all", fails)
        receipt = profile.remember("User prefers dark mode", "preference")
        assert receipt["added"]
        assert receipt["citation"] == "MEMORY.md"
        assert "its line could not be read: the disk is gone" in receipt["notes"][0]
        assert "dark mode" in store.read("MEMORY.md")
