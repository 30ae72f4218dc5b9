"""Property tests of a profile: any text and category, hand edits and calls in any order."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from datetime import date

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

import commonplace
from commonplace.conflict import compare
from commonplace.conflict.entry_comparison import compare_entry
from commonplace.errors import EncodingError, FormatError, Refused
from commonplace.memories.profile import Profile
from commonplace.memories.profile.categories import heading, key_of
from commonplace.memories.profile.entries import added, begun, parse, removed, render, replaced
from commonplace.memories.profile.marks import Mark
from tests.doubles import NOON, StoreMachine

PIECES = st.sampled_from(
    re.split(
        "[|]",
        "a|- |* |1. |  |\n|\n\n|```|~~~|> |#|# |---|===|\t|<!--|-->|<div>|\r|\0|&#13;|&amp;|[x]: y"
        "|    |好|\\|<!-- 2026-02-24 -->|<!-- META: by=agent -->|~~"
        "|Summary: x|\ufeff|\u2028|`|\x85",
    )
)
MARKS = st.builds(
    Mark,
    since=st.none() | st.dates(),
    seen=st.none() | st.dates(),
    until=st.none() | st.dates(),
    by=st.sampled_from(["owner", "agent", "document"]),
)
ANY = st.lists(PIECES, min_size=1, max_size=7).map("".join) | st.text(min_size=1, max_size=30)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(ANY, ANY, MARKS, st.booleans()), max_size=4))
def test_any_text_comes_back_from_its_note(pairs: list[tuple[str, str, Mark, bool]]) -> None:
    note, wanted = begun(""), []
    for category, text, mark, past in pairs:
        try:
            title, source = heading(category), render(text, mark, past=past)
        except (Refused, EncodingError):
            continue
        note = added(note, title, [source])
        wanted.append((key_of(title), text, mark))
    found = parse(note)
    assert Counter(entry.identity for entry in found) == Counter(wanted)
    assert all(note[entry.start : entry.end] == entry.source for entry in found)
    for entry in found:
        assert Counter(one.identity for one in parse(removed(note, [entry]))) == Counter(
            one.identity for one in found if one is not entry
        )


@settings(max_examples=100, deadline=None)
@given(st.lists(ANY, min_size=1, max_size=6))
def test_an_entry_is_what_the_index_takes_for_one(contents: list[str]) -> None:
    note = begun("")
    for text in contents:
        try:
            note = added(note, "Notes", [render(text)])
        except (Refused, EncodingError):
            continue
    with tempfile.TemporaryDirectory() as folder, commonplace.open(folder, watch=False) as store:
        (store.root / "m.md").write_bytes(note.encode())
        lines = {entry.line for entry in parse(note)}
        found = {hit.first_line: hit.text for hit in store.documents("m.md")}
        assert lines <= found.keys()
        # besides there is but the front matter and the title
        rest = [text for line, text in found.items() if line not in lines]
        assert all(text.startswith(("---", "#")) for text in rest)


HAND_PIECES = st.sampled_from(
    [
        *("a", "- ", "\n", "\n\n", "\n- ", "\n- x\n", "\n\n## P\n", "\n# T\n", "```", "~~~", "> "),
        *(
            "---",
            "===",
            "\t",
            "<!--",
            "-->",
            "<div>",
            "\r",
            "\r\n",
            "[x]: y",
            "    ",
            "\ufeff",
            "1. ",
        ),
        *("---\na: b\n---\n", "unit: item\n", "\n### s\n", "Summary: x", "`", "#", "\ufeff"),
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(HAND_PIECES, max_size=25).map("".join), st.sampled_from(["P", "New"]))
@example("---\n### s\n---\r", "P")
@example("---\n### s\n\n### s\n---", "P")
@example("---\na list: [\n]\n\ntwo words: x\n...\n- one\n", "P")
@example("---\n\na: b\n---\n- one\n", "P")
@example("---\r---", "P")
def test_whatever_a_person_wrote_stays(note: str, title: str) -> None:
    found = parse(note)
    assert all(note[entry.start : entry.end] == entry.source for entry in found)
    marked = begun(note)
    assert begun(marked) == marked
    keys = Counter(entry.key for entry in found)
    if note.strip("\ufeff\r\n\t "):
        assert Counter(entry.key for entry in parse(marked)) == keys
    try:
        more = Counter(entry.key for entry in parse(added(note, title, ["- added\n"])))
    except FormatError:
        return
    assert more[title.casefold(), "added"] == keys[title.casefold(), "added"] + 1
    assert more.total() == keys.total() + 1


def test_the_day_of_an_entry_is_not_its_text() -> None:
    day = date(2026, 2, 24)
    note = (
        "## x\n\n"
        + render("tea", Mark(since=day))
        + render("# odd\r", Mark(since=day))
        + render("a <!-- 2026-02-24 -->")
    )
    assert [(entry.text, entry.since) for entry in parse(note)] == [
        ("tea", day),
        ("# odd\r", day),
        ("a <!-- 2026-02-24 -->", None),
    ]
    assert "- tea <!-- 2026-02-24 -->\n" in note


def test_replaced_refuses_what_does_not_read_back() -> None:
    note = "## x\n\n- a\n- b\n"
    with pytest.raises(FormatError):
        replaced(note, parse(note)[0], "```\nopen\n")


def test_entries_of_a_list() -> None:
    lines = ["-   wide\n", "    more\n", "- \n", "  later\n", "para\n", "2. no item\n", "-x\n"]
    assert [(entry.source, entry.text) for entry in parse("".join(lines))] == [
        ("".join(lines[:2]), "wide\nmore"),
        ("".join(lines[2:5]), "\nlater\npara"),
        ("".join(lines[5:]), "no item\n-x"),
    ]
    assert [entry.source for entry in parse("* * *\n- a\n\n\tb\n***\nc\n2. d\n")] == [
        "- a\n\n\tb\n",
        "c\n2. d\n",
    ]


class Interleaving(StoreMachine):
    """Calls and hand edits in any order, beside a plain list."""

    watch = False

    def __init__(self) -> None:
        super().__init__()
        self.memory = Profile(self.store, limit=600, clock=lambda: NOON)
        self.model: list[tuple[str, str]] = []
        self.count = 0

    @rule(category=st.sampled_from(["style", "fun facts", "con", "top 2"]), text=ANY)
    def remember(self, category: str, text: str) -> None:
        self.count += 1
        # no two say the same
        text = f"{self.count} {text}"
        # nor makes another untrue, as `[x]: b` does of `a;[x]: y`: then a part of an entry ends
        held = (compare_entry(old, text, compare) for _, old in self.model)
        if any(one.left or one.rest for one in held):
            return
        try:
            receipt = self.memory.remember(text, category)
        except (Refused, EncodingError):
            return
        assert receipt["notes"] == []
        for old in receipt["replaced"]:
            self.model.remove((key_of(old["category"]), old["text"]))
        self.model.append((key_of(category), text))

    @rule(number=st.integers(0, 100))
    def delete_by_hand(self, number: int) -> None:
        path = self.store.root / "MEMORY.md"
        note = path.read_bytes().decode() if path.exists() else ""
        if found := [one for one in parse(note) if not one.until]:
            chosen = found[number % len(found)]
            path.write_bytes(removed(note, [chosen]).encode())
            self.model.remove(chosen.key)

    @rule(word=st.sampled_from(["zebra", "yak", "xerus"]))
    def add_by_hand(self, word: str) -> None:
        self.count += 1
        with (self.store.root / "MEMORY.md").open("a") as file:
            file.write(f"\n## Animals\n* a {word} {self.count}\n")
        self.model.append(("animals", f"a {word} {self.count}"))

    @rule()
    def search(self) -> None:
        for one in self.memory.recall("zebra", 3).found:
            assert (key_of(one.category), one.text) in self.model

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        found = self.memory.entries(limit=1000)
        assert Counter((key_of(one.category), one.text) for one in found) == Counter(self.model)


TestInterleaving = Interleaving.TestCase
TestInterleaving.settings = settings(max_examples=15, stateful_step_count=20, deadline=None)
