"""The archive beside a store: what is moved, found, changed and forgotten."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tantivy

import commonplace
from commonplace import QueryError, cli
from commonplace.adapters.embedders import CallableEmbedder
from commonplace.engines import archive_index
from commonplace.engines.archive import ArchiveEngine
from commonplace.engines.archive_index import ArchiveIndex
from commonplace.errors import CommonplaceError
from commonplace.recall import HybridSearch
from tests.archive.helpers import ARCHIVES, KILLED, NEW, OLD, found, line
from tests.test_refuse import run_with_mounts


def test_old_sessions_are_archived_and_found_as_before(memory: Path) -> None:
    with commonplace.open(memory) as store:
        before = [(hit.citation, hit.score, hit.snippet) for hit in store.search("kettle tea")]
        bytes_before = store.status().index_bytes
        plan = store.archive(older="2025-06-01", dry_run=True)
        assert (plan.sessions, plan.messages, plan.moved) == ([OLD], 3, False)
        assert store.status().archived == 0
        done = store.archive(older="2025-06-01")
        assert (done.sessions, done.moved) == ([OLD], True)
        after = store.search("kettle tea")
        assert [(hit.citation, hit.score, hit.snippet) for hit in after] == before
        assert {hit.path for hit in after if hit.archived} == {OLD}
        status = store.status()
        assert (status.archived, status.archived_messages, status.messages) == (1, 3, 3)
        assert (status.transcripts, status.skipped) == (2, [])
        assert status.index_bytes <= bytes_before
        # the file is there as ever
        assert [match.path for match in store.grep("old kettle")] == [OLD]
        assert "And the tea?" in store.read(OLD)
        assert store.verify().differences == []
        assert {one.path: one.messages for one in store.sessions()} == {OLD: 3, NEW: 3}
        assert store.archive(older="2025-06-01").sessions == []
    with commonplace.open(memory) as again:
        assert [
            (hit.citation, hit.score, hit.snippet) for hit in again.search("kettle tea")
        ] == before


def test_where_to_look(memory: Path) -> None:
    with commonplace.open(memory) as store:
        assert found(store, "kettle", archive="only") == []
        store.archive(sessions=["old"])
        assert {path.partition("#")[0] for path, _ in found(store, "kettle", archive="no")} == {NEW}
        assert {path.partition("#")[0] for path, _ in found(store, "kettle", archive="only")} == {
            OLD
        }
        both = found(store, "kettle")
        assert [archived for _, archived in both] == [path.startswith(OLD) for path, _ in both]
        assert [path for path, _ in found(store, '"new kettle"')] == [f"{NEW}#L1-L2"]
        assert [path for path, _ in found(store, '"old kettle"')] == [f"{OLD}#L1-L2"]
        assert len(found(store, '"kettle old"')) == 4
        assert found(store, "kettle", session="old")[0] == (f"{OLD}#L1-L2", True)
        assert found(store, "kettle", prefix="sessions/q") == []
        with pytest.raises(ValueError, match="archive is"):
            store.search("tea", archive="perhaps")  # type: ignore[call-overload]
        with pytest.raises(QueryError):
            store.archive(sessions=["nobody"])
        assert "scores" in store.explain("kettle", f"{NEW}#L2")
        with pytest.raises(QueryError, match="in the archive"):
            store.explain("kettle", f"{OLD}#L2")
        with pytest.raises(QueryError, match="commonplace archive --restore --session"):
            store.explain("kettle", f"{OLD}#L2")
        assert store.restore_archived([OLD], dry_run=True).sessions == [OLD]
        with pytest.raises(QueryError, match="no section or message"):
            store.explain("kettle", f"{NEW}#L9")


def test_where_to_look_by_meaning(memory: Path) -> None:
    # every text has the same vector, so that vectors find whatever they may
    embedder = CallableEmbedder(lambda texts: [[1.0, 0.0] for _ in texts], "same", 2)
    with commonplace.open(memory, embedder=embedder) as store:
        store.archive(sessions=["old"])
        search = HybridSearch(store, embedder, duplicates=1)
        assert {hit.path for hit in search.search("kettle", archive="only")} == {OLD}
        assert {hit.path for hit in search.search("kettle", archive="no")} == {NEW, "tea.md"}
        assert {hit.path for hit in search.search("kettle")} == {OLD, NEW, "tea.md"}
        assert {hit.path for hit in store.search("kettle", meaning=True, archive="only")} == {OLD}
        with pytest.raises(ValueError, match="archive is"):
            store.search("tea", meaning=True, archive="perhaps")  # type: ignore[call-overload]


def test_archived_words_are_highlighted_in_their_language(memory: Path) -> None:
    said = "Die Häuser der Stadt sind nicht groß."
    (memory / OLD).write_text(line(said, "old", "2025-01-01"))
    with commonplace.open(memory) as store:
        before = store.search("kleines Haus")[0].highlights
        assert [said[a:b] for a, b in before] == ["Häuser"]
        store.archive(older="2025-06-01")
        hit = store.search("kleines Haus")[0]
        assert (hit.archived, hit.highlights) == (True, before)


def test_the_oldest_are_archived_until_few_enough_bytes_are_left(memory: Path) -> None:
    with commonplace.open(memory) as store:
        assert store.archive(over=10_000, dry_run=True).sessions == []
        assert store.archive(over=400, dry_run=True).sessions == [OLD]
        assert store.archive(over=0, dry_run=True).sessions == [OLD, NEW]
        with pytest.raises(ValueError, match="bytes"):
            store.archive(over=-1)
        with pytest.raises(ValueError, match="'90d'"):
            store.archive(older=90)


def test_a_changed_file_is_indexed_in_memory_again(memory: Path) -> None:
    with commonplace.open(memory) as store:
        store.archive(sessions=["old"])
        with (memory / OLD).open("a") as file:
            file.write(line("A zebra drinks.", "old", "2025-01-02"))
        assert (f"{OLD}#L4", False) in found(store, "zebra")
        assert {archived for _, archived in found(store, "kettle")} == {False}
        assert len(found(store, "kettle")) == 4
        assert store.status().archived == 0
        store.archive(sessions=["old"])
        assert (f"{OLD}#L4", True) in found(store, "zebra")
        # as large as before, and changed behind our back
        text = (memory / OLD).read_text().replace("zebra", "horse")
        stamp = (memory / OLD).stat()
        (memory / OLD).write_text(text)
        os.utime(memory / OLD, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        assert found(store, "horse zebra", archive="only") == []
        (memory / OLD).unlink()
        assert {path.partition("#")[0] for path, _ in found(store, "kettle")} == {NEW}


def test_a_changed_file_is_counted_once(memory: Path, tmp_path: Path) -> None:
    with commonplace.open(memory) as store:
        store.archive(sessions=["old", "new"])
        for text in ("A zebra drinks.", "A horse drinks."):
            store.search("kettle")
            with (memory / OLD).open("a") as file:
                file.write(line(text, "old", "2025-01-02"))
            hits = [(hit.citation, hit.score) for hit in store.search("kettle drinks")]
            copy = tmp_path / f"without an archive, {text}"
            shutil.copytree(memory, copy, ignore=shutil.ignore_patterns(".commonplace"))
            with commonplace.open(copy) as alone:
                assert hits == [(hit.citation, hit.score) for hit in alone.search("kettle drinks")]
            store.archive(sessions=["old"])


def test_what_is_forgotten_leaves_the_archive(memory: Path) -> None:
    with commonplace.open(memory) as store:
        store.archive(sessions=["old", "new"])
        assert len(found(store, "kettle")) == 4
        plan = store.forget("old kettle", dry_run=True)
        store.forget("old kettle", token=plan.token)
        held = b"".join(
            file.read_bytes() for file in (memory / ".commonplace").rglob("*") if file.is_file()
        )
        assert b"old kettle" not in held
        hits = store.search("kettle river")
        assert not any("old kettle" in hit.text for hit in hits)
        assert (f"{NEW}#L1-L2", True) in [(hit.citation, hit.archived) for hit in hits]


def terms(memory: Path, beginning: str) -> list[tuple[str, int]]:
    """Return the words in the index of the archive; none where there is no index."""
    folder = memory / ".commonplace/archive/index"
    parts = [part.parent for part in sorted(folder.glob("*/meta.json"))]
    searchers = [tantivy.Index.open(str(part)).searcher() for part in parts]
    # as it is spelled, and that of a word which is its own stem
    return [
        one
        for searcher in searchers
        for letter in "we"
        for one in searcher.terms_with_prefix("t", letter + beginning)
    ]


@pytest.mark.parametrize("at", [0, 3, 5])
def test_no_word_of_what_is_forgotten_stays_in_the_archive(memory: Path, at: int) -> None:
    # the file leaves the archive before the text is forgotten, or a killed move never lists it
    with (memory / OLD).open("a") as file:
        file.write(line("A quagga drinks.", "old", "2025-01-02"))
    if at:
        subprocess.run([sys.executable, "-c", KILLED, memory, str(at)], check=False, timeout=60)
    with commonplace.open(memory) as store:
        if not at:
            store.archive(sessions=["old", "new"])
            assert terms(memory, "quagga")
            with (memory / OLD).open("a") as file:
                file.write(line("More.", "old", "2025-01-03"))
            assert store.status().archived == 1
            store.search("more")
        store.forget("quagga", token=store.forget("quagga", dry_run=True).token)
        assert terms(memory, "quagga") == []
        assert len(found(store, "kettle")) == 4


def test_what_was_archived_stays_so_in_the_next_process(memory: Path) -> None:
    searches = "import commonplace, sys\ncommonplace.open(sys.argv[1]).search('tea')"
    old = time.time() - 3600
    for path in (OLD, NEW):
        os.utime(memory / path, (old, old))
    # the snapshot takes files for read only when they have not changed for some time
    time.sleep(2.1)
    for code in (searches, searches):
        subprocess.run([sys.executable, "-c", code, memory], check=True, timeout=60)
    subprocess.run([sys.executable, "-c", ARCHIVES, memory, "old"], check=True, timeout=60)
    with commonplace.open(memory) as store:
        assert store.status().archived == 1
        assert {path.partition("#")[0] for path, _ in found(store, "kettle", archive="no")} == {NEW}
        assert {one[0].partition("#")[0] for one in found(store, "kettle") if one[1]} == {OLD}
        assert store.verify().differences == []


def test_opening_reads_nothing_of_archived_files(memory: Path) -> None:
    # what was read makes the snapshot be written again, once it takes files for read: see above
    time.sleep(2.1)
    subprocess.run([sys.executable, "-c", ARCHIVES, memory, "old"], check=True, timeout=60)
    searches = "import commonplace, sys\ncommonplace.open(sys.argv[1]).search('tea')"
    written = set()
    for _ in range(3):
        subprocess.run([sys.executable, "-c", searches, memory], check=True, timeout=60)
        written.add((memory / ".commonplace/index").stat().st_mtime_ns)
    assert len(written) == 1


def test_without_tantivy_the_error_says_what_to_install(
    memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with commonplace.open(memory) as store:
        store.archive(sessions=["old"])
    monkeypatch.setitem(sys.modules, "tantivy", None)
    with commonplace.open(memory) as store:
        with pytest.raises(CommonplaceError, match=r"commonplace\[archive\].*--archive no"):
            store.search("kettle")
        assert len(store.search("kettle", archive="no")) == 2


def test_the_command(memory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = ["--root", str(memory)]
    assert cli.run([*root, "archive"]) == 2
    assert cli.run([*root, "archive", "--older", "2025-06-01", "--dry-run"]) == 0
    assert "to archive: 1 transcript with 3 messages" in capsys.readouterr().out
    assert cli.run([*root, "archive", "--over", "0.3kb", "--session", "new", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["messages"] == 6
    assert cli.run([*root, "search", "kettle", "--archive", "only"]) == 0
    assert "(archived)" in capsys.readouterr().out
    assert cli.run([*root, "search", "kettle", "--archive", "no"]) == 1
    assert cli.run([*root, "archive", "--over", "much"]) == 2


def test_archived_sessions_come_back(memory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with commonplace.open(memory) as store:
        assert store.restore_archived().sessions == []
        assert store.rebuild_archive().moved is False
        assert not (memory / ".commonplace/archive/index").exists()
        before = [(hit.citation, hit.score) for hit in store.search("kettle tea")]
        store.archive(sessions=["old", "new"])
        assert store.rebuild_archive().sessions == [OLD, NEW]
        assert [(hit.citation, hit.score) for hit in store.search("kettle tea")] == before
        done = store.restore_archived(["old"])
        assert (done.sessions, done.messages, done.moved) == ([OLD], 3, True)
        assert {one.partition("#")[0] for one, archived in found(store, "kettle") if archived} == {
            NEW
        }
        assert store.status().archived == 1
        assert [(hit.citation, hit.score) for hit in store.search("kettle tea")] == before
    root = ["--root", str(memory), "archive"]
    assert cli.run([*root, "--rebuild"]) == 0
    assert "rebuilt: 1 transcript with 3 messages" in capsys.readouterr().out
    assert cli.run([*root, "--restore", "--older", "1d"]) == 2
    assert cli.run([*root, "--rebuild", "--session", "new"]) == 2
    assert cli.run([*root, "--rebuild", "--dry-run"]) == 2
    assert "--rebuild goes with no other option" in capsys.readouterr().err
    assert cli.run([*root, "--restore", "--dry-run"]) == 0
    assert "to restore: 1 transcript with 3 messages" in capsys.readouterr().out
    assert cli.run([*root, "--restore", "--session", "new"]) == 0
    assert "restored: 1 transcript with 3 messages" in capsys.readouterr().out
    assert cli.run([*root, "--restore"]) == 1
    assert "nothing to restore" in capsys.readouterr().out


def test_an_import_archives_by_a_rule(
    memory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(line("A zebra drinks.", "z", "2026-02-01"))
    command = ["--root", str(memory), "import", str(log)]
    assert cli.run(command) == 0
    assert "archive" not in capsys.readouterr().out
    assert cli.run([*command, "--archive-older", "2025-06-01", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["archived"]["sessions"] == [OLD]
    assert cli.run([*command, "--archive-over", "0kb"]) == 0
    assert "archived: 2 transcripts" in capsys.readouterr().out
    assert cli.run([*command, "--archive-over", "1GB", "--to", "one.jsonl"]) == 2


def test_an_import_is_told_though_nothing_can_be_archived(
    memory: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(line("A zebra drinks.", "z", "2026-02-01"))
    monkeypatch.setitem(sys.modules, "tantivy", None)
    command = ["--root", str(memory), "import", str(log), "--archive-over", "0kb", "--json"]
    assert cli.run(command) == 2
    told = capsys.readouterr()
    assert json.loads(told.out)["new"] == 1
    assert "commonplace[archive]" in told.err


@pytest.mark.linux("unshare")
def test_a_root_that_can_only_be_read_is_searched(memory: Path) -> None:
    with commonplace.open(memory) as store:
        store.archive(sessions=["old"])
        (memory / NEW).write_text("")
    script = """
import commonplace, sys
with commonplace.open(sys.argv[1]) as store:
    print([(hit.citation, hit.archived) for hit in store.search("kettle")])
"""
    read_only = f"mount --bind {memory} {memory} && mount -o remount,bind,ro {memory}"
    found = run_with_mounts(read_only, script, str(memory))
    assert found == str([(f"{OLD}#L1-L2", True), (f"{OLD}#L3", True)])


def test_sessions_that_do_not_fit_are_archived(tmp_path: Path) -> None:
    words = [f"{a}{b}{c}" for a in "bdfgklm" for b in "aeiou" for c in "dgklmnprst"]
    for number in range(10):
        at = tmp_path / f"sessions/p/2025-01-{number + 1:02}-s{number}/messages.jsonl"
        at.parent.mkdir(parents=True)
        day = f"2025-01-{number + 1:02}"
        at.write_text(
            "".join(
                line(f"{words[n % 350]}{n}x{number} {words[n * 7 % 350]}", f"s{number}", day)
                for n in range(4000)
            )
        )
    with commonplace.open(tmp_path, memory_limit=16 << 20) as store:
        assert any("archive old sessions" in note for note in store.search("bad").notes)
        assert store.status().messages < 10 * 4000
        done = store.archive(over=1 << 20)
        assert len(done.sessions) in (8, 9)
        assert done.messages == len(done.sessions) * 4000
    with commonplace.open(tmp_path, memory_limit=16 << 20) as store:
        assert store.status().skipped == []
        assert store.search("bad").freshness == "fresh"
        hits = store.search(f"{words[5]}5x0 {words[5]}5x9", limit=2)
        assert [hit.archived for hit in hits] in ([True, False], [False, True])


def test_an_index_that_fills_the_memory_is_left_and_opened_again(
    memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with commonplace.open(memory) as store:
        store.archive(sessions=["old"])
        before = found(store, "kettle tea")
        made: list[ArchiveIndex] = []
        make = ArchiveIndex.make

        def counted(index: ArchiveIndex) -> None:
            made.append(index)
            make(index)

        monkeypatch.setattr(ArchiveIndex, "make", counted)
        assert found(store, "kettle tea") == before
        assert made == []
        # less than nothing is allowed, so each search leaves it
        monkeypatch.setattr(archive_index, "MAX_MAPPED", -(1 << 40))
        assert found(store, "kettle tea") == before
        assert len(made) == 1
        store.archive(sessions=["new"])
        assert {archived for _, archived in found(store, "kettle")} == {True}
        assert len(made) > 1


def test_the_engine_is_small_to_look_at(memory: Path) -> None:
    with commonplace.open(memory) as store:
        store.archive(sessions=["old"])
        engine = ArchiveEngine(store)
        size = engine.stats()
        assert (size.files, size.documents) == (1, 3)
        assert size.bytes > 0
        assert engine.holds(OLD)
        assert "archive" in repr(engine)
        began = time.perf_counter()
        engine.refresh()
        assert time.perf_counter() - began < 5


def test_a_phrase_that_only_the_archive_holds_is_not_said_to_be_missed(memory: Path) -> None:
    with commonplace.open(memory) as store:
        store.archive(sessions=["old"])
        for archive in ("yes", "only"):
            hits = store.search('"the old kettle"', archive=archive)
            assert [hit.path for hit in hits] == [OLD]
            assert (hits.notes, hits.phrase_missed) == ([], False)
            missed = store.search('"kettle tea"', archive=archive)
            assert OLD in {hit.path for hit in missed}
            assert missed.phrase_missed
            assert len(missed.notes) == 1


def test_a_query_names_an_archived_session_by_its_id(memory: Path) -> None:
    at = memory / "sessions/p/unnamed/messages.jsonl"
    at.parent.mkdir()
    at.write_text('{"role": "user", "content": "A kettle without a session."}\n')
    with commonplace.open(memory) as store:
        queries = ("session:unnamed kettle", "session:old kettle", "session:nobody kettle")
        filters: list[dict[str, str]] = [{}, {"session": "old"}, {"prefix": "sessions/p"}]
        before = [found_of(store, query, fields) for query in queries for fields in filters]
        assert before[0][0] == ["sessions/p/unnamed/messages.jsonl#L1"]
        store.archive(sessions=["unnamed", "old"])
        assert before == [found_of(store, query, fields) for query in queries for fields in filters]


def found_of(
    store: commonplace.Store, query: str, fields: dict[str, str]
) -> tuple[list[str], list[str]]:
    """Return citations and notes."""
    hits = store.search(query, **fields)  # type: ignore[call-overload]
    return [hit.citation for hit in hits], hits.notes
