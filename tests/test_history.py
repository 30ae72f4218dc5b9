"""History: old versions can be read, and `update` loses no concurrent change."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import commonplace
from commonplace import Store

TEXTS = ["one", "two\r\n", "", "名前 🙂\n"]


def test_history_is_newest_first_and_can_be_read(store: Store, root: Path) -> None:
    before = time.time()
    versions = [store.write("a/b.md", text).version for text in TEXTS]
    store.delete("a/b.md")
    kept = store.history("a/b.md")
    assert [past.version for past in kept] == versions[::-1]
    assert [store.read("a/b.md", past.version) for past in kept] == TEXTS[::-1]
    assert [(root / past.address).read_bytes().decode() for past in kept] == TEXTS[::-1]
    assert [past.size for past in kept] == [len(text.encode()) for text in TEXTS[::-1]]
    times = [past.time for past in kept]
    assert times == sorted(times, reverse=True)
    assert all(before - 1 < moment < time.time() + 1 for moment in times)


def test_history_of_nothing_is_empty(store: Store) -> None:
    assert store.history("a.md") == []
    store.write("a.md", "one")
    assert store.history("a.md") == []
    # the folder of another file's history, and a file in it, are nobody's history
    store.write("folder.md/b.md", "one")
    store.write("folder.md/b.md", "two")
    assert store.history("folder.md") == []
    name = store.history("folder.md/b.md")[0].address.rsplit("/", 1)[1]
    with pytest.raises(commonplace.Refused):
        store.history(f"folder.md/b.md/{name}")


def test_a_missing_version_is_told_with_those_there_are(store: Store) -> None:
    versions = [store.write("a.md", str(number)).version for number in range(12)]
    unknown = "0" * 32
    with pytest.raises(
        commonplace.NotFound, match=f"it is {versions[-1]}.*{versions[-2]}"
    ) as message:
        store.read("a.md", unknown)
    assert versions[0] not in str(message.value)
    assert "3 more" in str(message.value)
    store.delete("a.md")
    with pytest.raises(commonplace.NotFound, match=f"not there now.*{versions[-1]}"):
        store.read("a.md", unknown)
    with pytest.raises(commonplace.NotFound, match="nothing"):
        store.read("b.md", unknown)
    with pytest.raises(commonplace.Refused, match="hex digits"):
        store.read("a.md", "absent")


def test_the_history_stays_inside_the_root(store: Store, root: Path) -> None:
    version = store.write("a.md", "one").version
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / f"20260105T120000.123456789Z-{version}.md").write_text("one")
    (root / ".commonplace/history").mkdir()
    (root / ".commonplace/history/b.md").symlink_to(outside)
    for call in (store.history, lambda path: store.read(path, version)):
        with pytest.raises(commonplace.Refused):
            call("b.md")
        for path in ("../outside", ".commonplace/history/a.md", "/a.md", ""):
            with pytest.raises(commonplace.Refused):
                call(path)
    store.write("b.md", "one", expected_version="absent")
    with pytest.raises(commonplace.Refused):
        store.keep("b.md")
    assert len(list(outside.iterdir())) == 1


def test_a_text_that_was_tampered_with_is_not_passed_off(store: Store, root: Path) -> None:
    version = store.write("a.md", "one").version
    store.write("a.md", "two")
    (root / store.history("a.md")[0].address).write_text("eno")
    with pytest.raises(commonplace.NotFound):
        store.read("a.md", version)


def test_keep_puts_a_copy_once(store: Store, root: Path) -> None:
    written = store.write("a.md", "one")
    kept = store.keep("a.md")
    assert kept.version == written.version
    assert (root / kept.address).read_text() == "one"
    assert store.read("a.md") == "one"
    assert repr(store.keep("a.md")) == repr(kept)
    assert [past.address for past in store.history("a.md")] == [kept.address]
    (root / "a.md").write_text("by hand")
    assert store.keep("a.md").version == store.version("a.md")
    assert len(store.history("a.md")) == 2
    with pytest.raises(commonplace.NotFound):
        store.keep("b.md")


def test_keep_survives_what_a_dead_writer_left(store: Store, root: Path) -> None:
    version = store.write("a.md", "one").version
    kept = root / ".commonplace/history/a.md"
    kept.mkdir(parents=True)
    (kept / f".{version}.swap").write_text("on")
    assert (root / store.keep("a.md").address).read_text() == "one"
    assert [path.suffix for path in kept.iterdir()] == [".md"]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["write", "keep", "delete"]), st.text(max_size=20))))
def test_every_version_there_was_can_be_read(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[str, str]]
) -> None:
    with commonplace.open(tmp_path_factory.mktemp("memory")) as store:
        texts: dict[str, str] = {}
        for change, text in changes:
            if change == "write":
                texts[store.write("a.md", text).version] = text
            elif store.version("a.md"):
                store.keep("a.md") if change == "keep" else store.delete("a.md")
        assert {version: store.read("a.md", version) for version in texts} == texts


def test_update_makes_changes_and_leaves_alone(store: Store) -> None:
    made = store.update("a.md", lambda text: text + "one")
    assert (made.previous, store.read("a.md")) == (None, "one")
    changed = store.update("a.md", str.upper)
    assert (changed.previous, store.read("a.md")) == (made.version, "ONE")
    same = store.update("a.md", str.upper)
    assert (same.version, same.previous, same.history) == (changed.version, changed.version, None)
    assert [past.version for past in store.history("a.md")] == [made.version]


def test_update_sees_a_save_that_came_in_between(store: Store, root: Path) -> None:
    seen: list[str] = []

    def change(text: str) -> str:
        seen.append(text)
        if len(seen) == 1:
            (root / "a.md").write_text("by hand")
        return text + "!"

    store.update("a.md", change)
    assert seen == ["", "by hand"]
    assert store.read("a.md") == "by hand!"


def test_update_gives_up_on_a_file_that_never_rests(store: Store, root: Path) -> None:
    calls: list[int] = []

    def change(text: str) -> str:
        calls.append(1)
        (root / "a.md").write_text(str(len(calls)))
        return text + " and mine"

    with pytest.raises(commonplace.Conflict):
        store.update("a.md", change)
    assert len(calls) == 64
    assert store.read("a.md") == "64"


def test_update_passes_on_what_the_change_raises(store: Store, root: Path) -> None:
    store.write("a.md", "one")

    def fail(text: str) -> str:
        raise commonplace.Conflict(text)

    with pytest.raises(commonplace.Conflict, match="one"):
        store.update("a.md", fail)
    with pytest.raises(TypeError, match="str"):
        store.update("a.md", str.encode)  # type: ignore[arg-type]
    with pytest.raises(commonplace.Refused):
        store.update("../a.md", fail)
    (root / "latin.md").write_bytes(b"caf\xe9")
    with pytest.raises(commonplace.FormatError, match="UTF-8"):
        store.update("latin.md", str.upper)
    assert (root / "latin.md").read_bytes() == b"caf\xe9"
    assert store.read("a.md") == "one"


def test_update_finds_a_name_in_either_normal_form(store: Store) -> None:
    store.update("cafe\u0301.md", lambda text: text + "one")
    store.update("cafe\u0301.md", lambda text: text + " two")
    assert store.read("caf\u00e9.md") == "one two"


COUNT = "lambda text: str(int(text or 0) + 1)"


def test_updates_of_threads_and_processes_all_count(store: Store, root: Path) -> None:
    program = f"""
import commonplace, sys
store = commonplace.open(sys.argv[1])
for _ in range(10):
    store.update("n.md", {COUNT})
"""
    others = [subprocess.Popen([sys.executable, "-c", program, str(root)]) for _ in range(2)]

    def count() -> None:
        for _ in range(10):
            store.update("n.md", lambda text: str(int(text or 0) + 1))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [other.wait() for other in others] == [0, 0]
    assert store.read("n.md") == "60"
    assert len(store.history("n.md")) == 59
