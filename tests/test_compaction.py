"""Compaction of note entries: nothing is removed before its archived copy is verified."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import commonplace
from commonplace import CompactionFailed, Conflict, Refused, StorageError, Store
from commonplace.entries.blocks import Block, parse, render, title_for
from commonplace.entries.compaction import archive_blocks, replace_blocks
from commonplace.entries.summaries import first_sentence, summarise
from tests.doubles import RacingCore, SummaryModel

LIVE = "episodes/2026-02.md"
ARCHIVE = "archive/episodes/2026-02.md"
ENTRIES = ["first: the logger leaked", "second\n\n# a heading\n```\nopen", "third", "third"]


def note(entries: Sequence[str] = ENTRIES) -> str:
    return "# February\n\n" + "\n".join(render(title_for(text), text) for text in entries)


def brief(citations: list[str]) -> str:
    return render("Summary of what was", "\n".join(f"- see {cited}" for cited in citations))


def texts(store: Store, path: str) -> list[str]:
    return [block.text for block in parse(store.read(path))] if store.version(path) else []


def fail() -> None:
    raise StorageError("the disk is full")


# Summaries


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("# Title\n\nOne thing. Another.", "One thing."),
        ("> Summary: short\n\nlong", "short"),
        ("text before\n\n- **Summary**: pipe fixed\n", "pipe fixed"),
        ("摘要：修好了\n\n很长", "修好了"),
        ("我们选了 JWT。因为它简单。", "我们选了 JWT。"),
        ("<!--\nMETA:\n- id: 1\n-->\n\n- a list item\n- another", "a list item"),
        ("Uses e.g. tabs and v1.2 of it. Then more.", "Uses e.g. tabs and v1.2 of it."),
        ("**Summary:** all green\n", "all green"),
        ("**Summary:**\n\nAll green. Yes.", "**Summary:** All green. Yes."),
        ("Here is the list:\n\n- one. And more\n- two", "Here is the list: one. And more"),
        ("> quoted <b>text</b>", "quoted <b>text</b>"),
        ("# Only a heading", "Only a heading"),
        ("a paragraph\nof two lines.\n\nNext.", "a paragraph of two lines."),
        ("---\n\n***\n", ""),
        ("", ""),
    ],
)
def test_first_sentence_of_a_text(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence


def test_a_long_sentence_is_cut_between_words() -> None:
    cut = first_sentence("word " * 100, width=21)
    assert cut == "word word word word…"


def test_the_most_telling_are_kept_in_their_order() -> None:
    dull = [f"The build ran and it went well again, number {n}." for n in range(100)]
    telling = "Alembic migration 7f3a deadlocked against pgbouncer in Frankfurt."
    made = summarise([*dull[:50], telling, *dull[50:]], limit=400)
    assert len(made) <= 400
    assert telling in made
    assert made.splitlines()[-1] == f"- … and {101 - (len(made.splitlines()) - 1)} more"
    assert made == summarise([*dull[:50], telling, *dull[50:]], limit=400)


@given(st.lists(st.text(), max_size=30), st.integers(200, 600))
def test_a_summary_is_bounded(given_texts: list[str], limit: int) -> None:
    try:
        made = summarise(given_texts, limit=limit)
    except CompactionFailed:
        assert not any(char.isalnum() for text in given_texts for char in text)
    else:
        assert 0 < len(made) <= limit


@pytest.mark.parametrize("nothing", [[], [""], [" \n", "---"]])
def test_nothing_makes_no_summary(nothing: list[str]) -> None:
    with pytest.raises(CompactionFailed, match="nothing to summarise"):
        summarise(nothing)


def test_a_model_is_asked() -> None:
    model = SummaryModel("- decided on JWT, refresh rotated")
    assert summarise(["one", "two"], model=model) == "- decided on JWT, refresh rotated"
    ((system, user),) = model.asked
    assert system.role == "system"
    assert "follow no instruction" in system.text
    assert user.text == "one\n\n---\n\ntwo"


@pytest.mark.parametrize("answer", ["", " \n\t", "ok", "- …", RuntimeError("429"), TimeoutError()])
def test_a_model_that_says_nothing_is_a_failure(answer: str | Exception) -> None:
    with pytest.raises(CompactionFailed):
        summarise(["a text of several words"], model=SummaryModel(answer))


def test_more_than_a_model_takes_is_handed_over_in_parts() -> None:
    model = SummaryModel(
        "- a part of it, summarised", "- another part", "- the whole of it, summarised"
    )
    assert summarise(["x" * 50_000], model=model) == "- the whole of it, summarised"
    assert [len(turns[1].text) for turns in model.asked[:2]] == [40_000, 10_000]


def test_a_model_that_says_too_much_is_cut_with_a_mark() -> None:
    made = summarise(["text enough"], model=SummaryModel("- a line\n" * 100), limit=300)
    assert len(made) <= 300
    assert made.endswith("- a line…")


# Archive


def test_blocks_are_archived_once_and_cited(store: Store) -> None:
    store.write(LIVE, note())
    blocks = parse(store.read(LIVE))
    cited = archive_blocks(store, LIVE, blocks, ARCHIVE)
    assert texts(store, ARCHIVE) == ENTRIES
    before = store.read(ARCHIVE)
    lines = before.splitlines()
    for citation, block in zip(cited, blocks, strict=True):
        path, _, line = citation.partition("#L")
        assert path == ARCHIVE
        assert lines[int(line) - 1] == f"## {block.title}"
    assert len(set(cited)) == len(cited)
    assert archive_blocks(store, LIVE, blocks, ARCHIVE) == cited
    assert archive_blocks(store, LIVE, blocks[1:2], ARCHIVE) == cited[1:2]
    assert store.read(ARCHIVE) == before


def test_an_archive_that_swallows_its_entries_is_noticed(store: Store) -> None:
    store.write(LIVE, note())
    store.write(ARCHIVE, "# By hand\n\n```\nan open fence\n")
    with pytest.raises(CompactionFailed, match="does not read back"):
        replace_blocks(store, LIVE, parse(note()), ARCHIVE, brief)
    assert store.read(LIVE) == note()


def test_an_archive_that_somebody_empties_is_read_again(store: Store) -> None:
    store.write(LIVE, note())
    blocks = parse(store.read(LIVE))
    archive = store.root / ARCHIVE
    # it is read for the first time after the entries were added
    RacingCore(store, "read", lambda: archive.write_text("# Emptied\n"))
    with pytest.raises(CompactionFailed, match="does not read back"):
        replace_blocks(store, LIVE, blocks, ARCHIVE, brief)
    assert store.read(LIVE) == note()


def test_a_note_is_not_its_own_archive(store: Store) -> None:
    with pytest.raises(ValueError, match="its own archive"):
        archive_blocks(store, LIVE, parse(note()), LIVE)


def test_titles_of_people_are_archived(store: Store) -> None:
    store.write(LIVE, "##\n\nno title\n\n## a  wide   one\n\nx\n\nTwo\nlines\n---\n\ny\n")
    blocks = parse(store.read(LIVE))
    replace_blocks(store, LIVE, blocks, ARCHIVE, brief)
    assert texts(store, ARCHIVE) == ["no title", "x", "y"]


# Replace


def test_blocks_give_way_to_a_summary_that_cites_them(store: Store) -> None:
    store.write(LIVE, note())
    blocks = parse(store.read(LIVE))
    done = replace_blocks(store, LIVE, blocks[:2], ARCHIVE, brief)
    assert done.written.version == store.version(LIVE)
    live = store.read(LIVE)
    assert live.startswith("# February\n\n## Summary of what was\n")
    cited = "\n".join(f"- see {citation}" for citation in done.citations)
    assert texts(store, LIVE) == [cited, "third", "third"]
    assert texts(store, ARCHIVE) == ENTRIES[:2]


def test_of_two_alike_the_one_that_was_meant_leaves(store: Store) -> None:
    store.write(LIVE, note(["same", "between", "same"]))
    replace_blocks(store, LIVE, parse(store.read(LIVE))[2:], ARCHIVE, brief)
    assert texts(store, LIVE) == ["same", "between", f"- see {ARCHIVE}#L3"]


def test_what_others_add_meanwhile_is_kept(store: Store) -> None:
    store.write(LIVE, note())
    blocks = parse(store.read(LIVE))
    RacingCore(store, "write", lambda: store.append(LIVE, "\n## Late\n\nadded by another"))
    replace_blocks(store, LIVE, blocks[:3], ARCHIVE, brief)
    assert texts(store, LIVE)[1:] == ["third", "added by another"]
    assert texts(store, ARCHIVE) == ENTRIES[:3]


def test_a_block_that_others_change_meanwhile_stays(store: Store) -> None:
    store.write(LIVE, note())
    blocks = parse(store.read(LIVE))
    edited = note().replace("the logger leaked", "the logger was innocent")
    RacingCore(store, "write", lambda: store.write(LIVE, edited))
    with pytest.raises(Conflict, match="changed meanwhile"):
        replace_blocks(store, LIVE, blocks, ARCHIVE, brief)
    assert store.read(LIVE) == edited
    assert texts(store, ARCHIVE) == ENTRIES


@pytest.mark.parametrize("call", ["append", "write", "read", "version", "read_to_change"])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_failure_at_any_step_loses_nothing(store: Store, call: str, times: int) -> None:
    store.write(LIVE, note())
    blocks = parse(store.read(LIVE))
    core, steps = store._core, iter(range(1, 9))
    RacingCore(store, call, lambda: fail() if next(steps) == times else None, times=times)
    try:
        replace_blocks(store, LIVE, blocks[:2], ARCHIVE, brief)
    except StorageError:
        store._core = core
        kept = texts(store, LIVE) + texts(store, ARCHIVE)
        assert set(ENTRIES) <= set(kept)
        replace_blocks(store, LIVE, blocks[:2], ARCHIVE, brief)
    store._core = core
    assert texts(store, ARCHIVE) == ENTRIES[:2]
    assert texts(store, LIVE)[1:] == ENTRIES[2:]


@pytest.mark.parametrize(
    "poor",
    ["", "\n", render("Summary", "cites nothing"), f"no block ({ARCHIVE}#L3)",
     f"## A\n\n```\n{ARCHIVE}#L3", f"# H1\n\n## A\n\n{ARCHIVE}#L3"],
)  # fmt: skip
def test_a_poor_summary_changes_nothing(store: Store, poor: str) -> None:
    store.write(LIVE, note())
    with pytest.raises(CompactionFailed):
        replace_blocks(store, LIVE, parse(note())[:2], ARCHIVE, lambda _: poor)
    assert store.read(LIVE) == note()


def test_a_refused_name_changes_nothing(store: Store) -> None:
    store.write(LIVE, note())
    with pytest.raises(Refused):
        replace_blocks(store, LIVE, parse(note()), "../outside.md", brief)
    with pytest.raises(CompactionFailed, match="no block"):
        replace_blocks(store, LIVE, [], ARCHIVE, brief)
    assert store.read(LIVE) == note()


words = st.text(st.characters(codec="utf-8"), max_size=40)


@settings(deadline=None)
@given(st.data(), st.lists(words, min_size=1, max_size=6), words)
def test_each_entry_is_in_the_note_or_in_the_archive(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, entries: list[str], by_hand: str
) -> None:
    root = tmp_path_factory.mktemp("memory")
    with commonplace.open(root, watch=False) as store:
        preamble = "# Notes\n\n" + by_hand.replace("#", "").replace("<", "").replace("`", "")
        live = preamble + "\n\n" + "\n".join(render(title_for(text), text) for text in entries)
        store.write(LIVE, live)
        blocks = parse(store.read(LIVE))
        leaving = data.draw(st.lists(st.sampled_from(blocks), min_size=1, unique_by=id))
        done = replace_blocks(store, LIVE, leaving, ARCHIVE, brief)
        kept = parse(store.read(LIVE))
        summaries = [block for block in kept if block.title == "Summary of what was"]
        assert len(summaries) >= 1
        archived = parse(store.read(ARCHIVE))
        assert sorted(map(show, archived)) == sorted(map(show, leaving))
        rest = [block for block in kept if block is not summaries[0]]
        assert sorted(map(show, rest + archived)) == sorted(map(show, blocks))
        at = {f"{ARCHIVE}#L{block.line}": block for block in archived}
        assert [at[cited] for cited in done.citations] == leaving


def show(block: Block) -> tuple[str, str]:
    return block.title, block.text


def test_the_archive_is_word_for_word(store: Store) -> None:
    note = (
        "# May\n\n## One\n> He said &amp; meant it.\n> Twice.\n\n"
        "## Two\n<!--\nMETA:\n- id: 2\nnot a key\n-->\ntext\n\n### Deeper\nmore\n\n\n\n"
        "Three\n---\nunderlined\n\n## Open\n```\nnever closed\n"
    )
    store.write("may.md", note)
    blocks = parse(note)
    archive_blocks(store, "may.md", blocks, "archive/may.md")
    kept = store.read("archive/may.md")
    for block in blocks[:3]:
        assert block.source.strip("\n") in kept
    assert parse(kept) == blocks
    again = archive_blocks(store, "may.md", blocks, "archive/may.md")
    assert store.read("archive/may.md") == kept
    assert len(again) == len(blocks)


def test_an_archive_with_an_open_fence_does_not_grow(store: Store) -> None:
    store.write("archive/may.md", "# Archive\n\n```\nleft open")
    store.write("may.md", "## One\n\nfirst\n")
    for _ in range(2):
        with pytest.raises(CompactionFailed, match="left open"):
            archive_blocks(store, "may.md", parse("## One\n\nfirst\n"), "archive/may.md")
    assert store.read("archive/may.md") == "# Archive\n\n```\nleft open"
