"""Commits, branches and merges of a session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import commonplace
from commonplace import Conflict, EncodingError, NotFound, QueryError, Store
from commonplace.entries.blocks import parse, render
from commonplace.memories import OverviewAndDetail
from commonplace.memories.overview_and_detail.merging import merge_texts
from commonplace.memories.overview_and_detail.session import OVERVIEW
from tests.memories.overview_and_detail.helpers import (
    CWD,
    FOLDER,
    START,
    contents,
    log,
    remember,
    talk,
)


def test_a_commit_can_be_read_again(store: Store) -> None:
    memory = remember(store)
    memory.write_detail("auth", "JWT.")
    first = memory.commit("Decided on JWT\n\nNext: rotation.")
    assert first["success"]
    assert first["files"] == ["detail/auth.md"]
    memory.write_detail("auth", "PASETO.")
    memory.write_overview("# Working Memory\n")
    second = memory.commit("Changed our mind")
    shown = memory.context("commit", first["commit"])
    assert "Decided on JWT\n\nNext: rotation." in shown
    assert "- detail/auth.md" in shown
    assert memory.context("commit", f"{first['commit']}:detail/auth.md").endswith("JWT.\n")
    text = memory.context("branch")
    assert text.index("Changed our mind") < text.index("Decided on JWT")
    assert "… and 1 more commits: ask with limit=2" in memory.context("branch", limit=1)
    assert memory.branches.commits.find(second["commit"][:6]).parent == first["commit"]
    log_note = store.read(f"{FOLDER}/working-memory/commits.md")
    assert log_note.startswith("# Commits\n\n## Decided on JWT\n<!--\nMETA:\n- id: ")
    for wrong in ["", "zzz", f"{first['commit']}:overview.md"]:
        with pytest.raises(NotFound):
            memory.context("commit", wrong)
    with pytest.raises(ValueError, match="few words"):
        memory.commit(" ")


def test_a_message_that_is_not_utf_8_changes_nothing(store: Store) -> None:
    memory = remember(store)
    memory.branch("try")
    memory.patch_overview("Task", "Tried.")
    memory.branch("main")
    before = [(entry.path, store.version(entry.path)) for entry in store.list()]
    calls: list[Callable[[], object]] = [
        lambda: memory.commit("\ud83d"),
        lambda: memory.branch("other", "\ud83d"),
        lambda: memory.merge("try", "\ud83d"),
    ]
    for call in calls:
        with pytest.raises(EncodingError, match="not UTF-8"):
            call()
    assert [(entry.path, store.version(entry.path)) for entry in store.list()] == before


def test_commits_of_two_at_once_are_two_entries_of_one_log(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, other = (OverviewAndDetail(store, "s1", cwd=CWD, clock=lambda: START) for _ in range(2))
    append, ids = Store.append, []

    def late(*given: Any, **more: Any) -> Any:
        monkeypatch.undo()
        ids.append(other.commit("Halfway.")["commit"])
        return append(*given, **more)

    for _ in range(2):
        monkeypatch.setattr(Store, "append", late)
        ids.append(memory.commit("Halfway.")["commit"])
    assert store.read(f"{FOLDER}/working-memory/commits.md").count("# Commits\n") == 1
    assert [commit.id for commit in memory.branches.log("main")] == ids
    assert [commit.parent for commit in memory.branches.log("main")] == [None, *ids[:-1]]
    assert all("Halfway." in memory.context("commit", one) for one in ids)


def test_a_branch_is_apart_until_it_is_merged(store: Store) -> None:
    memory = remember(store)
    memory.write_overview(OVERVIEW)
    memory.write_detail("auth", "JWT is used.")
    memory.branch("try-oauth", "See whether OAuth is simpler")
    assert memory.branches.active == "try-oauth"
    memory.write_detail("oauth", "OAuth needs a provider.")
    memory.patch_overview("Current Task", "Trying OAuth.")
    assert "oauth.md" in memory.recall_memory("provider")
    memory.commit("OAuth works")
    # another process sees the same branch
    assert remember(store).branches.active == "try-oauth"
    memory.branch("main")
    assert "Found 0" in memory.recall_memory("provider")
    assert memory.read_overview() == OVERVIEW
    memory.patch_overview("Pending Issues", "Logout.")
    done = memory.merge("try-oauth", "OAuth it is")
    assert done["taken"] == ["detail/oauth.md", "overview.md"]
    assert done["conflicts"] == []
    assert "Trying OAuth." in memory.read_overview()
    assert "Logout." in memory.read_overview()
    assert "oauth.md" in memory.recall_memory("provider")
    status = memory.context()
    assert status.startswith("On branch main.\n* main: ")
    assert "- try-oauth: 2 entries" in status
    assert "  for: See whether OAuth is simpler" in status
    assert "Notes: detail/auth.md, detail/oauth.md, overview.md" in status
    assert memory.merge("try-oauth")["taken"] == []


def test_what_both_changed_is_kept_twice(store: Store) -> None:
    memory = remember(store)
    memory.write_detail("plan", "## Database\n\nOpen.\n\n## Cache\n\nOpen.")
    memory.branch("b")
    memory.write_detail("plan", "## Database\n\nSQLite.\n\n## Cache\n\nNone.")
    memory.branch("main")
    memory.write_detail("plan", "## Database\n\nPostgres.\n\n## Cache\n\nOpen.")
    done = memory.merge("b")
    assert done["conflicts"] == ["detail/plan.md: Database"]
    blocks = {block.title: block.text for block in parse(memory.read_detail("plan").content)}
    assert blocks == {
        "Database": "Postgres.", "Database (from branch b)": "SQLite.", "Cache": "None.",
    }  # fmt: skip
    text = memory.context("commit", done["commit"])
    assert "conflict, both kept: detail/plan.md: Database" in text
    before = store.read(f"{FOLDER}/working-memory/detail/plan.md")
    assert memory.merge("b")["conflicts"] == []
    assert store.read(f"{FOLDER}/working-memory/detail/plan.md") == before


def test_deletions_are_merged_and_never_lost(store: Store) -> None:
    memory = remember(store)
    for name in ("gone", "edited-here", "edited-there"):
        memory.write_detail(name, "as it was")
    memory.branch("b")
    inner = memory.branches.workspace()
    store.delete(f"{inner}/detail/gone.md")
    store.delete(f"{inner}/detail/edited-here.md")
    memory.write_detail("edited-there", "edited")
    memory.branch("main")
    memory.write_detail("edited-here", "edited")
    store.delete(f"{FOLDER}/working-memory/detail/edited-there.md")
    done = memory.merge("b")
    assert done["conflicts"] == [
        "detail/edited-here.md: deleted in b, changed in main: kept",
        "detail/edited-there.md: deleted in main, changed in b: taken",
    ]
    assert memory.branches.files("main") == ["detail/edited-here.md", "detail/edited-there.md"]
    assert store.history(f"{FOLDER}/working-memory/detail/gone.md")


def test_a_branch_of_a_branch_merges_into_its_origin(store: Store) -> None:
    memory = remember(store)
    memory.write_detail("a", "one")
    memory.branch("b")
    memory.branch("c")
    memory.write_detail("a", "two")
    assert memory.merge("c")["branch"] == "b"
    assert memory.branches.active == "b"
    assert memory.read_detail("a").content == "two"
    memory.merge("b")
    assert memory.branches.active == "main"
    assert memory.read_detail("a").content == "two"
    memory.branch("b")
    assert memory.merge("main")["branch"] == "b"


@pytest.mark.parametrize("name", ["", "a/b", "..", "Main", "x" * 65, "a b", "-a", "a."])
def test_a_branch_has_a_plain_name(store: Store, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be a branch"):
        remember(store).branch(name)
    with pytest.raises(NotFound):
        remember(store).merge(name)


def test_a_log_that_others_wrote_to_is_a_conflict(store: Store) -> None:
    memory = remember(store)
    first = memory.commit("one", expected_version="absent")
    second = remember(store).branch("b", expected_version=first["version"])
    for deed in (memory.commit, memory.branch, memory.merge):
        with pytest.raises(Conflict):
            deed("b", expected_version=first["version"])
    assert memory.merge("b", expected_version=second["version"])["branch"] == "main"


def test_main_is_not_merged_into_itself(store: Store) -> None:
    with pytest.raises(ValueError, match="into itself"):
        remember(store).merge("main")


def test_a_merge_that_fails_midway_is_repeated(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = remember(store)
    memory.write_detail("one", "## A\n\n1")
    memory.write_detail("two", "## A\n\n1")
    memory.branch("b")
    memory.write_detail("one", "## A\n\nb")
    memory.write_detail("two", "## A\n\nb")
    memory.branch("main")
    memory.write_detail("one", "## A\n\nm")
    update = Store.update

    def fails(store: Store, path: str, change: Any) -> Any:
        if path.endswith("two.md"):
            raise OSError("power cut")
        return update(store, path, change)

    monkeypatch.setattr(Store, "update", fails)
    with pytest.raises(OSError, match="power cut"):
        memory.merge("b")
    monkeypatch.undo()
    memory.merge("b")
    assert memory.read_detail("one").content == "## A\n\nm\n\n## A (from branch b)\n\nb"
    assert memory.read_detail("two").content == "## A\n\nb"


def test_a_branch_that_was_not_finished_begins_anew(store: Store) -> None:
    memory = remember(store)
    memory.write_detail("a", "one")
    store.write(f"{FOLDER}/working-memory/branches/b/detail/half.md", "half")
    memory.branch("b")
    assert memory.branches.files("b") == ["detail/a.md"]


@pytest.mark.parametrize("when", ["files", "_keep"])
def test_a_branch_that_another_opens_meanwhile_is_left_alone(
    store: Store, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    memory, other = remember(store), remember(store)
    memory.write_detail("plan", "The plan.")
    ask = getattr(other.branches, when)

    def late(name: str) -> Any:
        monkeypatch.undo()
        memory.branch("try")
        memory.write_detail("plan", "Another plan.")
        memory.write_detail("idea", "An idea.")
        return ask(name)

    monkeypatch.setattr(other.branches, when, late)
    with pytest.raises(Conflict):
        other.branch("try")
    assert memory.read_detail("plan").content == "Another plan."
    assert memory.read_detail("idea").content == "An idea."
    assert [commit.kind for commit in memory.branches.log("try")] == ["branch"]


def test_the_log_of_commits_may_be_edited(store: Store) -> None:
    memory = remember(store)
    memory.commit("one")
    path = f"{FOLDER}/working-memory/commits.md"
    store.append(path, "\n## A remark by hand\n\nlooks good")
    memory.commit("two")
    assert [commit.message for commit in memory.branches.commits.all()] == ["one", "two"]
    lines = store.read(path).split("\n")
    assert [lines[commit.line - 1] for commit in memory.branches.commits.all()] == [
        "## one",
        "## two",
    ]
    assert memory.branches.commits.all() == remember(store).branches.commits.all()
    store.delete(path)
    assert memory.branches.active == "main"
    assert memory.branches.commits.all() == []
    memory.commit("one")
    store.append(path, "\n```\nan open fence")
    with pytest.raises(commonplace.FormatError, match="fence"):
        memory.commit("three")


def test_the_context_is_looked_at_from_far_and_near(store: Store) -> None:
    memory = remember(store)
    log(store, talk(3))
    memory.write_detail("auth", "JWT.", ["jwt", "auth"])
    assert memory.context("log", limit=2) == (
        "user: seen 2 (messages.jsonl#L11)\n"
        "assistant: Step 2 is done. (messages.jsonl#L12)\n"
        '… earlier: the same call with name="10"'
    )
    assert "(messages.jsonl#L10)" in memory.context("log", "10", 1)
    assert memory.context("log", limit=99).startswith("user: Please do step 0. Carefully.")
    assert "detail/auth.md: " in memory.context("metadata")
    assert "created 2026-02-24T10:30:01Z, keywords: jwt, auth" in memory.context("metadata")
    for level, name in [("all", ""), ("log", "x")]:
        with pytest.raises(QueryError):
            memory.context(level, name)  # type: ignore[arg-type]
    with pytest.raises(QueryError, match="1 or more"):
        memory.context(limit=0)
    with pytest.raises(NotFound):
        memory.context("branch", "none")


sections = st.dictionaries(
    st.sampled_from(["A", "B", "C"]), st.text("xyz", min_size=1, max_size=3), max_size=3
)


@given(sections, sections, sections)
def test_a_merge_loses_nothing(
    base: dict[str, str], ours: dict[str, str], theirs: dict[str, str]
) -> None:
    def note(held: dict[str, str]) -> str:
        return "# N\n\n" + "\n".join(render(title, text) for title, text in held.items())

    merged, clashes = merge_texts(note(base), note(ours), note(theirs), "b")
    found = Counter(block.text for block in parse(merged))
    for side, other in ((ours, theirs), (theirs, ours)):
        for title, text in side.items():
            # what one side wrote is there, unless the other took out what was common
            if text != base.get(title):
                assert found[text], (title, text, merged)
            elif other.get(title) == text:
                assert found[text]
    titles = {title for title in "ABC" if ours.get(title) != theirs.get(title)}
    assert {c for c in clashes if c in "ABC"} <= titles
    # once more changes nothing
    assert merge_texts(note(base), merged, note(theirs), "b")[0] == merged or not clashes


@given(contents, contents, contents)
@example("", "```", "0\r# 0")
@example("## A\n\n1\n", "## A\n\n```\nours", "## A\n\n1\n\n## B\n\n2\n")
def test_a_merge_of_any_texts_keeps_both(base: str, ours: str, theirs: str) -> None:
    merged, _ = merge_texts(base, ours, theirs, "b")
    if ours != base and theirs not in {base, ours}:
        held = merged + "".join(block.text for block in parse(merged))
        for line in {*ours.split("\n"), *theirs.split("\n")} - set(base.split("\n")):
            assert line.strip("# >\r") in held


def test_notes_with_two_sections_of_one_name_are_kept_whole() -> None:
    base = "# N\n\n## A\n\n1\n\n## A\n\n2\n"
    theirs = base.replace("2", "two")
    merged, clashes = merge_texts(base, base.replace("1", "one"), theirs, "try")
    assert clashes == ["the whole note"]
    assert "\n## A\n\none\n" in merged
    assert "The note (from branch try)" in merged
    # once more changes nothing
    assert merge_texts(base, merged, theirs, "try") == (merged, ["the whole note"])
