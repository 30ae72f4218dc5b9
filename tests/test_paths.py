"""Paths: text or `pathlib` objects, relative to the root or absolute and in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

import commonplace
from commonplace import Conflict, Hits, Refused, SearchFilter, Store
from commonplace.recall import HybridSearch


@pytest.mark.parametrize("target", ["a.md", "./a.md"])
def test_a_move_to_its_own_name_is_refused_and_loses_nothing(
    store: Store, root: Path, target: str
) -> None:
    store.write("a.md", "walrus")
    with pytest.raises(Conflict, match="exists already"):
        store.move("a.md", target)
    store.write("b.md", "x")
    assert (root / "a.md").read_text(encoding="utf-8") == "walrus"
    with commonplace.open(root) as again:
        assert again.read("a.md") == "walrus"


@pytest.mark.parametrize("absolute", [False, True])
def test_a_path_object_is_taken_wherever_text_is(store: Store, root: Path, absolute: bool) -> None:
    def path(name: str) -> Path:
        return root / name if absolute else Path(name)

    note, moved = path("facts/a.md"), path("facts/b.md")
    store.write(note, "# Tea\n\ngreen tea\n")
    version = store.append(note, "black tea").version
    store.patch(note, [("black", "white")])
    store.update(note, lambda text: text + "- oolong tea\n")
    assert store.read(note, version).endswith("black tea\n")
    assert store.version(note) == store.keep(note).version
    assert len(store.history(note)) == 3
    assert store.stamp(note).size == len(store.read(note))
    assert store.sections(note)[0].heading == ("Tea",)
    assert store.lines_at(note, [0]) == [b"# Tea\n"]
    assert store.spelled(note) == "facts/a.md"
    assert store.documents(note)[0].path == "facts/a.md"
    assert store.move(note, moved).path == "facts/b.md"
    assert [entry.path for entry in store.list(path("facts"))] == ["facts/b.md"]
    assert len(store.list(root if absolute else Path())) == 1
    log = store.transcript(path("sessions/s1"))
    log.append({"role": "user", "content": "tea"})
    assert log.path == store.transcript(path(log.path)).path == "sessions/s1/messages.jsonl"
    for prefix in (path("sessions"), [path("sessions"), path("none")]):
        assert [hit.path for hit in store.search("tea", prefix=prefix)] == [log.path]
        assert [one.hit.path for one in HybridSearch(store).search("tea", prefix=prefix)] == [
            log.path
        ]
    assert store.grep("tea", prefix=path("facts")).count() == 4
    assert store.delete(moved).path == "facts/b.md"


def test_a_root_behind_a_link_has_two_names(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    store = commonplace.open(tmp_path / "link")
    store.write(tmp_path / "link/a.md", "one")
    assert store.read(tmp_path / "real/a.md") == store.read("a.md") == "one"


def test_a_path_outside_the_root_is_refused(store: Store, root: Path) -> None:
    for outside in (root.parent / "a.md", Path("/etc/passwd"), Path(f"{root}x/a.md")):
        with pytest.raises(Refused, match="not in the memory") as refused:
            store.read(outside)
        assert refused.value.code == "absolute"
        with pytest.raises(Refused):
            store.search("tea", prefix=[outside])
    for hostile in (Path("../a.md"), root / "../a.md", PurePosixPath("a/../../b.md")):
        with pytest.raises(Refused):
            store.write(hostile, "x")
    (root / "out").symlink_to(root.parent)
    with pytest.raises(Refused):
        store.read(root / "out/a.md")


CALLS: dict[str, Callable[[Store, Any], object]] = {
    "search": lambda store, path: store.search("tea", prefix=path),
    "search several": lambda store, path: store.search("tea", prefix=["none", path]),
    "search with a filter": lambda store, path: store.search(
        "tea", filter=SearchFilter(prefix=path)
    ),
    "exclude": lambda store, path: store.search("tea", exclude=[(path, 1, 9)]),
    "grep": lambda store, path: store.grep("tea", prefix=path).count(),
    "list": lambda store, path: store.list(path),
    "holds": lambda store, path: store.holds(path),
}


@pytest.mark.parametrize("name", CALLS)
def test_one_folder_has_one_meaning_however_it_is_written(
    store: Store, root: Path, name: str
) -> None:
    store.write("notes/a.md", "tea\n")
    store.write("notes.md", "tea\n")
    store.write("b/notes/a.md", "tea\n")
    call = CALLS[name]
    for plain in ("notes", "notes/a.md", ""):
        expected = shown(call(store, plain)) if plain or name != "exclude" else "[]"
        for given in (
            f"./{plain}",
            f"././{plain}",
            f"{plain}/" if plain else ".",
            str(root / plain),
            f"{root / plain}/",
            Path(plain),
            root / plain,
        ):
            assert shown(call(store, given)) == expected, given
    for outside in ("/etc", "/etc/passwd", Path("/etc"), f"{root}x", root.parent):
        with pytest.raises(Refused, match="is not in the memory at") as refused:
            call(store, outside)
        assert refused.value.code == "absolute"
    for upwards in ("..", "../notes", "notes/../../a.md", Path("../notes"), f"{root}/.."):
        with pytest.raises(Refused, match="it leads out of the memory"):
            call(store, upwards)
    with pytest.raises(Refused, match=r'leave out "\.\."'):
        call(store, "b/../notes")


def shown(answer: object) -> str:
    if isinstance(answer, Hits):
        return str([hit.citation for hit in answer])
    return str(answer)


def test_a_file_is_read_and_written_however_it_is_named(store: Store, root: Path) -> None:
    for given in ("./notes/a.md", str(root / "notes/a.md"), root / "notes/a.md", "././notes/a.md"):
        assert store.write(given, f"{given}\n").path == "notes/a.md"
        assert store.read(given) == store.read("notes/a.md") == f"{given}\n"
    for outside in ("/etc/a.md", f"{root}x/a.md", root.parent / "a.md"):
        for call in (store.read, store.version, lambda path: store.write(path, "x")):
            with pytest.raises(Refused, match="is not in the memory at"):
                call(outside)
    # no other repair: what is written so may be a mistake
    for hostile in (
        "notes/a.md/",
        "notes//a.md",
        "notes/./a.md",
        "notes/../a.md",
        "../a.md",
        f"{root}/../a.md",
    ):
        with pytest.raises(Refused):
            store.write(hostile, "x")


class Bytes:
    def __fspath__(self) -> bytes:
        return b"a.md"


@pytest.mark.parametrize("path", [b"a.md", 1, None, Bytes()])
def test_what_is_no_path_is_told(store: Store, path: Path) -> None:
    for call in (store.read, store.list, store.transcript, store.documents, store.delete):
        with pytest.raises(TypeError, match=r"os\.PathLike"):
            call(path)
