"""Store: reading, writing, moving, deleting and searching files through it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

import commonplace
from commonplace import InvalidArgument, Store

USER = "# User\n\n> Summary: name, role\n\n- Name: Zhang San\n- Role: developer\n"


def citations(store: Store, query: str, **filters: str) -> list[str]:
    return [hit.path for hit in store.search(query, **filters)]  # type: ignore[call-overload]


def test_what_is_written_is_read_back(store: Store, root: Path) -> None:
    written = store.write("facts/user.md", USER)
    assert store.read("facts/user.md") == USER
    assert (root / "facts/user.md").read_text() == USER
    assert written.path == "facts/user.md"
    assert written.version == store.version("facts/user.md")
    assert written.previous is None


@pytest.mark.parametrize(
    "text", ["", "\n", "\r\n", "no end", "\ufeff# BOM\r\n", "名前 🙂\x1b[31m\n"]
)
def test_any_text_round_trips(store: Store, root: Path, text: str) -> None:
    store.write("a.md", text)
    assert store.read("a.md") == text
    assert (root / "a.md").read_bytes() == text.encode()


def test_missing_file(store: Store) -> None:
    assert store.version("a.md") is None
    with pytest.raises(commonplace.NotFound, match=r"a\.md"):
        store.read("a.md")
    with pytest.raises(FileNotFoundError):
        store.delete("a.md")


@pytest.mark.parametrize(
    "path",
    ["../a.md", "/etc/a.md", "a/../../b.md", "a\\b.md", "a.txt", ".commonplace/x.md", "a\n.md", ""],
)
def test_refused_paths_change_nothing(store: Store, root: Path, path: str) -> None:
    with pytest.raises(commonplace.Refused) as caught:
        store.write(path, "x")
    assert caught.value.code != "refused" or str(caught.value)
    assert not list(root.parent.rglob("*.md"))


def test_links_out_of_the_root_are_refused(store: Store, root: Path) -> None:
    (root.parent / "secret.md").write_text("canary")
    (root / "link.md").symlink_to(root.parent / "secret.md")
    with pytest.raises(commonplace.Refused):
        store.read("link.md")
    assert not store.search("canary")
    with pytest.raises(commonplace.Refused):
        store.write("link.md", "x")
    assert (root.parent / "secret.md").read_text() == "canary"


def test_append_adds_a_line_end(store: Store) -> None:
    store.append("episodes/2026-02.md", "## One")
    store.append("episodes/2026-02.md", "## Two\n")
    assert store.read("episodes/2026-02.md") == "## One\n## Two\n"


def test_patch_is_all_or_nothing(store: Store) -> None:
    store.write("facts/user.md", USER)
    written = store.patch("facts/user.md", [("Zhang San", "Li Si"), ("developer", "owner")])
    assert written.applied == 2
    assert "Li Si" in store.read("facts/user.md")
    before = store.read("facts/user.md")
    for edits in ([("Li Si", "x"), ("absent", "y")], [("e", "twice or more")], [("", "x")]):
        with pytest.raises(commonplace.PatchFailed):
            store.patch("facts/user.md", edits)
        assert store.read("facts/user.md") == before


def test_an_edit_is_a_pair(store: Store) -> None:
    store.write("a.md", "tea")
    for edits in ({"tea": "milk"}, ["te"], [("tea",)], [("tea", 1)]):
        with pytest.raises(InvalidArgument, match="pair"):
            store.patch("a.md", edits)  # type: ignore[arg-type]
    assert store.patch("a.md", [["tea", "milk"]]).applied == 1  # type: ignore[list-item]


def test_conflicts_are_told(store: Store, root: Path) -> None:
    first = store.write("a.md", "one", expected_version="absent").version
    with pytest.raises(commonplace.Conflict):
        store.write("a.md", "two", expected_version="absent")
    (root / "a.md").write_text("by hand")
    changes: list[Callable[[], object]] = [
        lambda: store.write("a.md", "two", expected_version=first),
        lambda: store.append("a.md", "two", expected_version=first),
        lambda: store.patch("a.md", [("hand", "two")], expected_version=first),
        lambda: store.delete("a.md", expected_version=first),
        lambda: store.move("a.md", "b.md", expected_version=first),
    ]
    for change in changes:
        with pytest.raises(commonplace.Conflict):
            change()
    assert store.read("a.md") == "by hand"


def test_old_text_goes_to_the_history(store: Store, root: Path) -> None:
    store.write("a.md", "first")
    second = store.write("a.md", "second")
    gone = store.delete("a.md")
    assert second.history
    assert gone.history
    assert (root / second.history).read_text() == "first"
    assert (root / gone.history).read_text() == "second"
    assert not (root / "a.md").exists()
    assert not store.search("second")


def test_move_keeps_the_text_and_never_replaces(store: Store) -> None:
    store.write("a.md", "walrus")
    store.write("b.md", "x")
    with pytest.raises(commonplace.CommonplaceError):
        store.move("a.md", "b.md")
    store.move("a.md", "world/c.md")
    assert store.version("a.md") is None
    assert citations(store, "walrus") == ["world/c.md"]


def test_list_is_sorted_and_knows_summaries(store: Store, root: Path) -> None:
    store.write("facts/user.md", USER)
    store.write("b.md", "x")
    store.transcript("sessions/s1").append({"role": "user", "content": "hi"})
    (root / "photo.jpg").write_bytes(b"\xff\xd8")
    entries = store.list()
    paths = [entry.path for entry in entries]
    assert paths == sorted(paths)
    assert {"b.md", "facts/user.md", "sessions/s1/messages.jsonl"} <= set(paths)
    assert [e.summary for e in entries if e.path == "facts/user.md"] == ["name, role"]
    assert [entry.path for entry in store.list("facts")] == ["facts/user.md"]
    assert not [path for path in paths if path.startswith(".commonplace")]


def test_sections_cover_the_file_once(store: Store) -> None:
    text = "preamble\n\n# One\n\n```\n# no heading\n```\n\n## Two 二\n\ntext\n\nThree\n=====\n"
    store.write("a.md", text)
    sections = store.sections("a.md")
    assert [section.heading for section in sections] == [
        (),
        ("One",),
        ("One", "Two 二"),
        ("Three",),
    ]
    assert sections[0].start == 0
    assert sections[-1].end == len(text.encode())
    for one, next_one in pairwise(sections):
        assert one.end == next_one.start


def test_a_hand_edit_is_seen_by_the_next_call(store: Store, root: Path) -> None:
    store.write("a.md", "walrus")
    for word in ("otter", "badger", "weasel", "marten"):
        (root / "a.md").write_text(word)
        assert citations(store, word) == ["a.md"]
    assert not store.search("walrus")
    (root / "b.md").write_text("walrus")
    assert citations(store, "walrus") == ["b.md"]
    (root / "b.md").unlink()
    assert not store.search("walrus")


def test_a_moved_folder_is_seen_by_the_next_call(store: Store, root: Path) -> None:
    store.write("old/deep/a.md", "walrus")
    assert store.search("walrus")
    (root / "old").rename(root / "new")
    assert citations(store, "walrus") == ["new/deep/a.md"]
    (root / "new/deep/b.md").write_text("otter")
    assert citations(store, "otter") == ["new/deep/b.md"]
    (root / "new").rename(root.parent / "outside")
    assert not store.search("walrus otter")


def test_two_stores_on_one_root(store: Store, root: Path) -> None:
    with commonplace.open(root) as other:
        store.write("a.md", "walrus")
        assert citations(other, "walrus") == ["a.md"]
        other.write("a.md", "otter")
        assert citations(store, "otter") == ["a.md"]
        assert not store.search("walrus")


def test_a_reopened_store_answers_the_same(root: Path) -> None:
    with commonplace.open(root) as store:
        for number in range(20):
            store.write(f"n{number}.md", f"# Note {number}\n\nwalrus {'otter ' * number}\n")
        before = [(hit.citation, hit.score) for hit in store.search("walrus otter", 20)]
    with commonplace.open(root) as store:
        after = [(hit.citation, hit.score) for hit in store.search("walrus otter", 20)]
        assert not store.verify().differences
    assert after == before


def test_a_broken_cache_is_rebuilt(root: Path) -> None:
    with commonplace.open(root) as store:
        store.write("a.md", "walrus")
    for file in (root / ".commonplace").rglob("*"):
        if file.is_file() and "history" not in file.parts:
            file.write_bytes(file.read_bytes()[:-3] + b"abc" if file.stat().st_size else b"")
    with commonplace.open(root) as store:
        assert citations(store, "walrus") == ["a.md"]


def test_search_ranks_highlights_and_cites(store: Store) -> None:
    store.write("facts/user.md", USER)
    store.write("b.md", "# Ferries\n\nThe harbour has three piers.\n")
    hit = store.search("Zhang San", 5)[0]
    assert hit.source == "note"
    assert hit.citation.startswith("facts/user.md#L")
    assert [hit.snippet[a:b] for a, b in hit.highlights] in (["Zhang", "San"], ["Zhang San"])
    assert "Zhang San" in hit.text
    assert hit.score > 0
    assert store.explain("Zhang San", hit.citation)


def test_search_in_chinese_and_mixed_text(store: Store) -> None:
    store.write("a.md", "# 时区\n\n服务日以 Asia/Shanghai 为准，与机器无关。\n")
    store.write("b.md", "# 团队\n\n小陈对花生过敏。\n")
    assert citations(store, "花生过敏")[0] == "b.md"
    assert citations(store, "服务日 shanghai")[0] == "a.md"
    assert store.search("时区")[0].highlights or store.search("时区")[0].heading == ("时区",)


def test_accents_and_case_fold(store: Store) -> None:
    store.write("a.md", "The Café at the Straße\n")
    for query in ("cafe", "CAFÉ", "cafe\u0301"):
        assert citations(store, query) == ["a.md"]


def test_query_syntax(store: Store) -> None:
    store.write("a.md", "red apple pie\n")
    store.write("b.md", "apple red car\n")
    assert citations(store, '"red apple"') == ["a.md"]
    assert citations(store, "apple -pie") == ["b.md"]
    assert citations(store, "appl*") == ["a.md", "b.md"] or len(store.search("appl*")) == 2
    assert len(store.search("aple~1")) == 2


@pytest.mark.parametrize(
    "query", ["C++", "-rf", "a/b", "NOT", '"unclosed', "🙂", "((", "field:", "*", "~1", "a" * 5000]
)
def test_an_odd_query_is_no_error(store: Store, query: str) -> None:
    store.write("a.md", 'C++ -rf a/b NOT "unclosed 🙂\n')
    list(store.search(query))


def test_an_empty_query_is_told(store: Store) -> None:
    with pytest.raises(commonplace.QueryError):
        store.search("  ")


def test_filters(store: Store) -> None:
    store.write("facts/a.md", "walrus\n")
    store.write("world/b.md", "walrus\n")
    log = store.transcript("sessions/s1")
    log.append({"role": "user", "content": "walrus", "timestamp": "2026-01-01T00:00:00Z"})
    log.append(
        {
            "role": "assistant",
            "content": "walrus",
            "timestamp": "2026-02-01T00:00:00Z",
            "session": "x",
        }
    )
    assert len(store.search("walrus")) == 4
    assert citations(store, "walrus", prefix="facts") == ["facts/a.md"]
    assert len(store.search("walrus", source="note")) == 2
    assert [hit.line for hit in store.search("walrus", role="assistant")] == [2]
    assert [hit.line for hit in store.search("walrus", source="message", until="2026-01-15")] == [1]
    assert [hit.line for hit in store.search("walrus", source="message", since="2026-01-15")] == [2]
    assert [hit.line for hit in store.search("walrus", session="x")] == [2]
    assert len(store.search("walrus", limit=2)) == 2


def test_a_misspelt_argument_is_named(store: Store) -> None:
    for call in (store.search, store.grep, store.forget):
        with pytest.raises(TypeError, match="no argument 'sinse'"):
            call("tea", sinse="3d")  # type: ignore[call-arg, call-overload]


def test_hits_are_a_sequence(store: Store) -> None:
    for name in "abc":
        store.write(f"{name}.md", "walrus")
    hits = store.search("walrus")
    assert hits.freshness == "fresh"
    assert len(hits) == 3
    assert hits[-1].path == "c.md"
    assert [hit.path for hit in hits[:2]] == ["a.md", "b.md"]
    with pytest.raises(IndexError):
        hits[3]


def test_grep_streams_matches_with_neighbours(store: Store) -> None:
    store.write("a.md", "one\nRate limit\nthree\nrate-limit\n")
    scan = store.grep("rate.?limit", before=1, after=1)
    matches = list(scan)
    assert [match.citation for match in matches] == ["a.md#L2", "a.md#L4"]
    assert [match.snippet[a:b] for match in matches for a, b in match.highlights] == [
        "Rate limit",
        "rate-limit",
    ]
    assert [(line, text) for line, _, text in matches[0].before] == [(1, "one")]
    assert [line for line, _, _ in matches[0].after] == [3]
    assert scan.matched == 2
    assert store.grep("rate.?limit").count() == 2
    assert store.grep("Rate").count() == 1
    assert store.grep("Rate", ignore_case=True).count() == 2
    assert store.grep(".", fixed=True).count() == 0
    assert len(list(store.grep("rate", limit=1))) == 1
    with pytest.raises(commonplace.QueryError):
        store.grep("(unclosed")


def test_threads_search_while_one_writes(store: Store) -> None:
    store.write("a.md", "walrus 0")
    failures: list[BaseException] = []
    stop = threading.Event()

    def look() -> None:
        try:
            while not stop.is_set():
                assert [hit.path for hit in store.search("walrus")] == ["a.md"]
        except BaseException as failure:  # noqa: BLE001 - reported by the main thread
            failures.append(failure)

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(50):
        store.write("a.md", f"walrus {number}")
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures


FIRST_IN_A_THREAD = """
import sys, threading

def look():
    import commonplace
    assert commonplace.Store(sys.argv[1]).search("developer")

for _ in range(5):
    threads = [threading.Thread(target=look)]
    if "commonplace" in sys.modules:
        threads += [threading.Thread(target=look) for _ in range(7)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
look()
"""


def test_the_thread_that_loads_the_core_may_end(store: Store, root: Path) -> None:
    # its place in memory, by which an allocator may know it, is taken by another
    store.write("facts/user.md", USER)
    program = [sys.executable, "-c", FIRST_IN_A_THREAD, str(root)]
    assert subprocess.run(program, check=False).returncode == 0


def test_status_counts(store: Store) -> None:
    store.write("facts/user.md", USER)
    store.transcript("s").append({"role": "user", "content": "hi"})
    status = store.status()
    assert (status.notes, status.transcripts, status.messages) == (1, 1, 1)
    assert status.sections >= 1
    assert Path(status.root) == store.root


def test_find_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COMMONPLACE_ROOT", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    deep = tmp_path / "work/a/b"
    deep.mkdir(parents=True)
    assert commonplace.find_root(deep) == tmp_path / "home/.commonplace"
    (tmp_path / "work/.commonplace").mkdir()
    assert commonplace.find_root(deep) == tmp_path / "work"
    monkeypatch.setenv("COMMONPLACE_ROOT", "~/elsewhere")
    assert commonplace.find_root(deep) == tmp_path / "home/elsewhere"


def test_opening_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(commonplace.NotFound):
        commonplace.open(tmp_path / "none", create=False)
    for folder in (Path("/"), Path.home()):
        with pytest.raises(commonplace.Refused):
            commonplace.open(folder)


def test_a_note_does_not_become_a_transcript(store: Store) -> None:
    store.write("n.md", "one\n")
    with pytest.raises(commonplace.Refused) as refused:
        store.move("n.md", "n.jsonl")
    assert refused.value.code == "type"
    assert store.read("n.md") == "one\n"


def test_moving_onto_a_file_says_that_it_exists(store: Store) -> None:
    store.write("a.md", "a\n")
    store.write("b.md", "b\n")
    with pytest.raises(commonplace.Conflict, match="exists already"):
        store.move("a.md", "b.md")


LONG = "\n\n".join(f"Paragraph {number} says this and that. " + "word " * 60 for number in range(9))


def test_documents_are_what_is_indexed_of_a_file(store: Store, root: Path) -> None:
    store.write("a.md", f"before\n\n# Tea\n\nGreen tea.\n\n## Long\n\n{LONG}\n")
    documents = store.documents("a.md")
    assert "".join(hit.text for hit in documents) == store.read("a.md")
    assert [hit.start for hit in documents] == sorted(hit.start for hit in documents)
    assert len([hit for hit in documents if hit.heading == ("Tea", "Long")]) > 1
    assert {(hit.source, hit.path, hit.score) for hit in documents} == {("note", "a.md", 0.0)}
    assert all(hit.highlights == [] for hit in documents)
    assert all(hit.text.lstrip().startswith(hit.snippet.split()[0]) for hit in documents)
    (root / "a.md").write_text("by hand")
    assert [hit.text for hit in store.documents("a.md")] == ["by hand"]


def test_documents_of_a_transcript_are_its_messages(store: Store) -> None:
    transcript = store.transcript("s1")
    for number in range(3):
        transcript.append({"role": "user", "content": f"message {number}"})
    documents = store.documents("s1/messages.jsonl")
    assert [(hit.text, hit.role, hit.line) for hit in documents] == [
        ("message 0", "user", 1),
        ("message 1", "user", 2),
        ("message 2", "user", 3),
    ]


def test_documents_of_what_is_no_note(store: Store, root: Path) -> None:
    (root / "photo.jpg").write_bytes(b"\xff\xd8")
    assert store.documents("photo.jpg") == []
    with pytest.raises(commonplace.NotFound):
        store.documents("b.md")
    for path in ("../a.md", ".commonplace/lock", ""):
        with pytest.raises(commonplace.Refused):
            store.documents(path)


def test_revision_changes_with_what_is_indexed(store: Store, root: Path) -> None:
    store.write("a.md", "# Tea\n\nGreen.\n\n# Coffee\n\nNone.\n")
    seen = [store.revision()]
    assert store.revision() == seen[0]
    store.search("tea")
    store.verify()
    (root / "b.jpg").write_bytes(b"x")
    assert store.revision() == seen[0]
    changes: list[Callable[[], object]] = [
        lambda: (root / "a.md").write_text("# Coffee\n\nNone.\n\n# Tea\n\nGreen.\n"),
        lambda: (root / "a.md").write_text("\n\n# Coffee\n\nNone.\n\n# Tea\n\nGreen.\n"),
        lambda: store.transcript("s1").append({"role": "user", "content": "hi"}),
        lambda: store.transcript("s1").append({"role": "user", "content": "hi"}),
        lambda: store.move("a.md", "c.md"),
        (root / "c.md").unlink,
    ]
    for change in changes:
        change()
        seen.append(store.revision())
        assert store.revision() == seen[-1]
    assert len(set(seen)) == len(seen)


def test_results_show_what_they_are(store: Store, root: Path) -> None:
    store.write("a.md", "# Tea\n\nGreen.\n")
    store.append("a.md", "More.")
    (root.parent / "chat.jsonl").write_text('{"role": "user", "content": "hi"}\n')
    imported = store.transcript("s1").load(root.parent / "chat.jsonl")
    shown = [
        *store.list(),
        *store.sections("a.md"),
        *store.transcript("s1").messages(),
        *store.search("tea"),
        store.keep("a.md"),
        store.search("tea"),
        store.write("a.md", "x"),
        store.status(),
        store.verify(),
        imported,
        commonplace.Weights(),
    ]
    assert not [text for text in map(repr, shown) if " object at 0x" in text]


ITEMS = """---
unit: item
---
# Memory

## Preference

- Prefers dark mode
- Likes tea,
  green if there is any

  - not black
- > # quoted
A remark.

## Habit

Of the morning:

* Runs at dawn
"""


def test_a_note_may_ask_to_be_found_item_by_item(store: commonplace.Store) -> None:
    store.write("MEMORY.md", ITEMS)
    assert [(hit.line, hit.text.strip()) for hit in store.documents("MEMORY.md")] == [
        (8, "- Prefers dark mode"),
        (9, "- Likes tea,\n  green if there is any\n\n  - not black"),
        (13, "- > # quoted"),
        (14, "A remark."),
        (18, "Of the morning:"),
        (20, "* Runs at dawn"),
    ]
    (hit,) = store.search("green tea")
    assert (hit.citation, hit.heading) == ("MEMORY.md#L9", ("Memory", "Preference"))
    store.patch("MEMORY.md", [("Likes tea", "Loathes tea")])
    assert store.search("loathes")[0].citation == "MEMORY.md#L9"
    assert not store.verify().differences


def test_a_search_may_look_in_several_places(store: commonplace.Store) -> None:
    for path in ("a/x.md", "b/x.md", "b.md", "c.md"):
        store.write(path, "walrus")

    def found(*prefixes: str) -> list[str]:
        return [hit.path for hit in store.search("walrus", prefix=prefixes)]

    assert found("a", "c.md") == ["a/x.md", "c.md"]
    assert found("b/", "b") == ["b/x.md"]
    assert found("a", "") == ["a/x.md", "b.md", "b/x.md", "c.md"]
    with pytest.raises(ValueError, match="names no folder"):
        found()
    with pytest.raises(ValueError, match="names no folder"):
        store.grep("walrus", prefix=[])


def test_a_snippet_shows_the_text_and_not_what_is_for_programs(store: commonplace.Store) -> None:
    note = "# Tea\n\n<!--\nMETA:\n- topic: green\n-->\n\nSencha is {}.\n"
    store.write("tea.md", note.format("green"))
    store.write("bare.md", "# Bare\n\n<!--\nMETA:\n- topic: mauve\n-->\n")
    (hit,) = store.search("green")
    assert (hit.snippet, hit.citation) == ("Sencha is green.", "tea.md#L8")
    assert store.search("tea")[0].citation == "tea.md#L8"
    assert "mauve" in store.search("mauve")[0].snippet


def test_a_comment_above_sections_is_found_with_them(store: commonplace.Store) -> None:
    head = '# Tea\n\n<!--\nMETA:\n- keywords: ["matcha"]\n-->\n\n'
    store.write("tea.md", head + "## How\n\nWhisk it.\n\n## When\n\nAt four.\n")
    assert [hit.heading for hit in store.documents("tea.md")] == [("Tea", "How"), ("Tea", "When")]
    assert [hit.line for hit in store.search("matcha")] == [8, 12]
    store.write("bare.md", head)
    assert store.search("matcha", prefix="bare.md")[0].citation == "bare.md#L5"
    assert not store.verify().differences


def test_a_statement_that_no_longer_holds_is_shown_so_behind_what_holds(store: Store) -> None:
    past = "- ~~User lives in Berlin~~ <!-- META: since=2026-02-24 until=2026-11-01 -->"
    now = "- User lives in Lisbon <!-- 2026-11-02 -->"
    store.write("MEMORY.md", f"---\nunit: item\n---\n# Memory\n\n{past}\n{now}\n")
    holds, ended = store.search("lives")
    assert (holds.snippet, holds.until, holds.ended) == ("- User lives in Lisbon", None, False)
    assert ended.snippet == "- User lives in Berlin (until 2026-11-01)"
    assert (ended.text.rstrip(), ended.until, ended.ended) == (past, "2026-11-01", True)
    assert [hit.ended for hit in store.search("user lives", 1)] == [False]
    assert [hit.ended for hit in store.search("lives Berlin", 1)] == [True]
    assert "× 0.7 = it no longer holds" in str(store.explain("lives", ended.citation))


def test_a_snippet_of_a_statement_that_no_longer_holds_keeps_its_length_and_line(
    store: Store,
) -> None:
    said = f"~~{'w' * 298}\nUser lives in Bonn {'for long ' * 40}~~"
    store.write("a.md", f"{said} <!-- META: until=2026-11-01 by=agent -->\n")
    (hit,) = store.search("Bonn")
    assert (hit.line, hit.ended, len(hit.snippet) <= 300) == (2, True, True)
    assert hit.snippet.endswith("… (until 2026-11-01, said by agent)")
