"""Summary line of a note: given by the caller or generated from the text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import commonplace
from commonplace import Store
from commonplace.memories.facts_and_episodes import FactsAndEpisodes
from commonplace.memories.facts_and_episodes.summary_line import make, put, read
from commonplace.memories.facts_and_episodes.usage import FileUsage, Usage
from tests.doubles import Clock
from tests.memories.facts_and_episodes.helpers import FEBRUARY, LOGGER, SHORT, USER, lines, listed


@pytest.mark.parametrize(
    ("content", "summary"),
    [
        ("- Name: Zhang San\n- Role: dev\n- Updated: 2026-02-24\n", "name, role"),
        ("# T\n\n- **Name**: A\n* API key: none\n- 城市：北京\n", "name, API key, 城市"),
        ("# T\n\n- lives in Bonn, happily.\n- Cats: two\n", "lives in Bonn happily, cats"),
        ("# Editor\n\n## Theme\n- Colour: dark\n\n## Font\n", "Theme, Font"),
        ("## Fix of the logger\n\n## Short ID for a task\n", "Fix logger, Short ID task"),
        ("# T\n\nThe deploy runs at night. Nobody watches it.\n", "The deploy runs at night."),
        ("# T\n\n```\n- not: a key\n```\n- Key: x\n", "key"),
        ("- see https://example.com\n", "see https://example.com"),
        ("", "empty"),
        ("# Only a title\n", "empty"),
        (
            "".join(f"- Key{n}: x\n" for n in range(20)),
            "key0, key1, key2, key3, key4, key5, key6, key7, key8…",
        ),
    ],
)
def test_a_summary_is_made_of_what_is_in_the_file(
    opened: Store, content: str, summary: str
) -> None:
    memory = FactsAndEpisodes(opened)
    memory.memory_write("facts/a.md", content)
    assert listed(memory) == {"facts/a.md": summary}
    assert read(memory.memory_read("facts/a.md")) == summary


@given(st.text(st.characters(codec="utf-8")), st.booleans())
def test_a_made_summary_is_concise(text: str, newest_first: bool) -> None:
    made = make(text, newest_first=newest_first)
    assert len(made.split()) < 10
    assert len(made) <= 120
    assert made


def test_a_made_summary_follows_the_file(opened: Store, root: Path) -> None:
    memory = FactsAndEpisodes(opened, clock=Clock())
    memory.memory_write("facts/user.md", "# User\n\n- Name: A\n- Role: dev\n")
    memory.memory_append("facts/user.md", "- City: Beijing")
    assert listed(memory)["facts/user.md"] == "name, role, city"
    memory.memory_patch("facts/user.md", [{"oldText": "- Role: dev\n", "newText": ""}])
    assert listed(memory)["facts/user.md"] == "name, city"
    # a person adds a fact and leaves the line as it is: the next change mends it
    file = root / "facts/user.md"
    file.write_text(file.read_text() + "- Cat: Mimi\n")
    memory.memory_append("facts/user.md", "- Dog: Rex")
    assert listed(memory)["facts/user.md"] == "name, city, cat, dog"
    # a model hands back the file as it has read it, line and all
    text = memory.memory_read("facts/user.md").replace("- Name: A\n", "")
    memory.memory_write("facts/user.md", text)
    assert listed(memory)["facts/user.md"] == "city, cat, dog"
    assert text.replace("name, ", "") == memory.memory_read("facts/user.md")


def test_a_given_summary_is_kept_while_it_stands(opened: Store, root: Path) -> None:
    memory = FactsAndEpisodes(opened, clock=Clock())
    memory.memory_write("facts/user.md", USER)
    memory.memory_append("facts/user.md", "- City: Beijing")
    memory.memory_patch("facts/user.md", [{"oldText": "Zhang San", "newText": "Li Si"}])
    # what comes later is named behind it, so that it stays true: items as well as entries
    assert listed(memory)["facts/user.md"] == "user name, language, role; latest: city"
    memory.memory_append("facts/user.md", "- likes tea, no sugar\n- Language: German")
    line = listed(memory)["facts/user.md"]
    assert line == "user name, language, role; latest: likes tea no sugar, city"
    memory.memory_patch("facts/user.md", [{"oldText": "- City: Beijing\n", "newText": ""}])
    assert listed(memory)["facts/user.md"].endswith("; latest: likes tea no sugar")
    memory.memory_append(FEBRUARY, LOGGER, summary="logger fix")
    memory.memory_append(FEBRUARY, SHORT)
    assert listed(memory)[FEBRUARY] == "logger fix; latest: Short ID implementation"
    memory.memory_append(FEBRUARY, "## Config refactor\nDone.")
    assert listed(memory)[FEBRUARY] == (
        "logger fix; latest: Config refactor, Short ID implementation"
    )
    # taken away, it is made again
    file = root / FEBRUARY
    file.write_text(re.sub(r"> Summary.*\n\n", "", file.read_text()))
    memory.memory_append(FEBRUARY, "## Tests\nMore.")
    assert listed(memory)[FEBRUARY].startswith("Tests, Config refactor, Short ID implementation")


def test_a_given_summary_names_all_that_it_would_hide(opened: Store) -> None:
    memory = FactsAndEpisodes(opened, clock=Clock())
    memory.memory_write("facts/user.md", USER)
    for added, latest in (
        ("He moved to Lisbon in March.\nIt rains there.", "He moved to Lisbon in March"),
        ("| Boat | Colour |\n|---|---|\n| Rosa | blue |", "Rosa, He moved to Lisbon in March"),
        ("### Pets\n\nTwo cats.", "Pets, Rosa, He moved to Lisbon in March"),
        ("他三月搬到了里斯本。", "他三月搬到了里斯本, Pets, Rosa, He moved to Lisbon in March"),
        (
            "```\na block of code\n```",
            "他三月搬到了里斯本, Pets, Rosa, He moved to Lisbon in March",
        ),
    ):
        memory.memory_append("facts/user.md", added)
        line = listed(memory)["facts/user.md"]
        assert line == f"user name, language, role; latest: {latest}"


def test_without_our_own_file_a_made_line_is_still_known(opened: Store, root: Path) -> None:
    memory = FactsAndEpisodes(opened)
    memory.memory_write("facts/user.md", "- Name: A\n")
    for damage in ("", "{", "[1]\n", '["facts/user.md", 1e999, "x", 3]\n', "3\n[[], 0, 0, null]\n"):
        (root / ".commonplace/usage.jsonl").write_text(damage)
        memory.memory_append("facts/user.md", "- City: B")
        memory.memory_write("facts/user.md", memory.memory_read("facts/user.md")[:-10])
    assert listed(memory)["facts/user.md"] == "name"


def test_uses_are_noted_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / ".commonplace/usage.jsonl"
    files = commonplace.open(tmp_path).side_files()
    one, other = Usage(files), Usage(files)
    for number in range(1000):
        (one if number % 3 else other).note_read(f"{number % 7}.md", number)
        one.note_line(f"{number % 7}.md", f"line {number // 100}")
    for usage in (one, other, Usage(files)):
        assert usage.of("3.md") == FileUsage(reads=143, last=997, line="line 9")
        assert sum(use.reads for use in usage.all().values()) == 1000
    # what is out of date is thrown away now and then
    assert path.read_bytes().count(b"\n") < 300
    with path.open("ab") as log:
        log.write(b'["half')
    assert one.of("3.md").reads == 143
    path.unlink()
    assert one.all() == other.all() == {}


@given(lines | st.text(st.characters(codec="utf-8")), st.sampled_from(["x", "a, b", "名前"]))
def test_nothing_but_the_summary_line_is_changed(note: str, words: str) -> None:
    new = put(note, words)
    assert read(new) == words
    assert put(new, words) == new
    old = read(note)
    if old is not None:
        # one line is another
        pairs = zip(note.split("\n"), new.split("\n"), strict=True)
        assert sum(one != other for one, other in pairs) <= 1
    else:
        at = next(at for at in range(len(new) + 1) if new[at:].startswith(f"> Summary: {words}"))
        rest = new[at:].partition("\n")[2]
        assert note.startswith(new[:at].rstrip("\r\n"))
        assert note.endswith(rest.lstrip("\r\n"))
        assert sorted(note.replace("\n", "").replace("\r", "")) == sorted(
            (new[:at] + rest).replace("\n", "").replace("\r", "")
        )


@pytest.mark.parametrize(
    "note",
    [
        "---\n" + "-a: x\n" * 60 + "no front matter\n",
        "---\r\n" + "key: x\r\n" * 60 + "no front matter\r\n",
        "word " * 100_000,
        "word " * 100_000 + "\nmore\n",
        " " * 500_000,
    ],
    ids=["dashes", "crlf", "one line", "long line", "blank"],
)
def test_no_note_takes_long_to_look_at(note: str) -> None:
    # each took minutes or years
    assert read(note) is None
    assert read(put(note, make(note))) == make(note)


def test_an_empty_summary_line_is_filled(opened: Store) -> None:
    memory = FactsAndEpisodes(opened)
    memory.memory_write("facts/user.md", "# User Facts\n\n> Summary:\n\n- Name: Li Si\n")
    assert read(memory.memory_read("facts/user.md")) == "name"


def test_memory_list_reads_files_of_a_person_too(opened: Store, root: Path) -> None:
    memory = FactsAndEpisodes(opened)
    (root / "facts").mkdir()
    (root / "facts/cat.md").write_text("- Cat: Mimi\n- Food: fish\n")
    assert listed(memory) == {"facts/cat.md": "cat, food"}
    assert (root / "facts/cat.md").read_text() == "- Cat: Mimi\n- Food: fish\n"
