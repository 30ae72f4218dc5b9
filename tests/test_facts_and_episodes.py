"""What the facts-and-episodes design promises, section by section."""

from __future__ import annotations

import ast
import os
import re
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

import commonplace
from commonplace import Store, Written
from commonplace.entries.blocks import parse
from commonplace.memories.facts_and_episodes import FactsAndEpisodes
from commonplace.memories.facts_and_episodes.entries import added, entries, minus, removed, split
from commonplace.memories.facts_and_episodes.notes import Notes
from commonplace.memories.facts_and_episodes.summary_line import make, put, read
from commonplace.memories.facts_and_episodes.usage import Usage, Use
from commonplace.protocols import Reply
from tests.doubles import Clock, Crash, CrashingStore, RacingStore, StoreMachine, SummaryModel

USER = """# User Facts

> Summary: user name, language, role

- Name: Zhang San
- Language: prefers Chinese discussion, English code
- Role: Full-stack developer
- Updated: 2026-02-24
"""
LOGGER = """## Logger stdout leak fix
- Summary: pino pipeline stdout leak → custom JS transport
- Date: 2026-02-24
- Problem: pino-pretty in pipeline mode leaks to stdout
- Solution: Custom line-transport.js, removed pipeline entirely
- Lesson: pino worker threads cannot load .ts files in Bun
"""
SHORT = """## Short ID implementation
- Summary: UUID → 16-char hex short ID
- Date: 2026-02-24
- Task: Replace full UUID with shorter IDs
"""
FEBRUARY = "episodes/2026-02.md"


@pytest.fixture
def memory(store: Store) -> FactsAndEpisodes:
    return FactsAndEpisodes(store, "data/memory", clock=Clock())


def listed(memory: FactsAndEpisodes) -> dict[str, str]:
    return {file["path"]: file["summary"] for file in memory.memory_list()}


# §6 The tools


def test_write_read_patch(memory: FactsAndEpisodes, root: Path) -> None:
    answer = memory.memory_write("facts/user.md", USER)
    assert answer["success"] is True
    assert answer["path"] == "facts/user.md"
    assert memory.memory_read("facts/user.md") == USER
    assert (root / "data/memory/facts/user.md").read_text() == USER
    answer = memory.memory_patch(
        "facts/user.md",
        [
            {"oldText": "Zhang San", "newText": "Li Si"},
            {"oldText": "Full-stack", "newText": "Backend"},
        ],
        expected_version=str(answer["version"]),
    )
    assert (answer["success"], answer["appliedCount"]) == (True, 2)
    assert "applied" not in answer
    assert "Li Si" in memory.memory_read("facts/user.md")


@pytest.mark.parametrize(
    "patches",
    [
        [{"oldText": "Name", "newText": "x"}, {"oldText": "nowhere", "newText": "y"}],
        [{"oldText": "e", "newText": "x"}],
        [],
    ],
)
def test_a_patch_is_all_or_nothing(memory: FactsAndEpisodes, patches: list[Any]) -> None:
    memory.memory_write("facts/user.md", USER)
    with pytest.raises(commonplace.PatchFailed):
        memory.memory_patch("facts/user.md", patches)
    assert memory.memory_read("facts/user.md") == USER


def test_every_write_answers_with_the_version_and_takes_the_expected_one(
    memory: FactsAndEpisodes, store: Store
) -> None:
    written = memory.memory_write("facts/user.md", "- Name: A\n", expected_version="absent")
    seen = str(written["version"])
    assert seen == store.version("data/memory/facts/user.md")
    patches: Any = [{"oldText": "Name", "newText": "Call"}]
    patched = memory.memory_patch("facts/user.md", patches, expected_version=seen)
    assert patched["version"] == store.version("data/memory/facts/user.md")
    assert memory.memory_read("facts/user.md") == "> Summary: call\n\n- Call: A\n"
    stale: list[Callable[[], object]] = [
        lambda: memory.memory_write("facts/user.md", "x", expected_version=seen),
        lambda: memory.memory_patch("facts/user.md", patches, expected_version=seen),
        lambda: memory.memory_append("facts/user.md", "x", expected_version=seen),
        lambda: memory.memory_append("facts/user.md", "x", expected_version="absent"),
        lambda: memory.memory_append(FEBRUARY, "x", expected_version=seen),
    ]
    for write in stale:
        with pytest.raises(commonplace.Conflict):
            write()
    now = str(patched["version"])
    assert memory.memory_append("facts/user.md", "- Age: 3", expected_version=now)["success"]
    assert memory.memory_append(FEBRUARY, "x", expected_version="absent")["success"]


def test_append_makes_the_files_of_the_design(memory: FactsAndEpisodes) -> None:
    memory.memory_append(FEBRUARY, LOGGER)
    memory.memory_append(FEBRUARY, SHORT)
    assert memory.memory_read(FEBRUARY) == (
        "# 2026-02 Episodes\n\n> Summary: Short ID implementation, Logger stdout leak fix\n\n"
        f"{LOGGER}\n{SHORT}"
    )
    memory.memory_append(FEBRUARY, "## Config refactor", summary="logger fix, short ID, config")
    assert listed(memory)[FEBRUARY] == "logger fix, short ID, config"


def test_list_has_path_summary_and_size(memory: FactsAndEpisodes, store: Store) -> None:
    assert memory.memory_list() == []
    memory.memory_write("facts/user.md", USER)
    store.write("elsewhere.md", "not ours")
    assert memory.memory_list() == [
        {
            "path": "facts/user.md",
            "summary": "user name, language, role",
            "size": len(USER.encode()),
        }
    ]


@pytest.mark.parametrize(
    "path",
    ["../x.md", "/etc/x.md", "facts/../../x.md", "", ".commonplace/x.md", "a\\b.md", "facts/x.txt"],
)
@pytest.mark.parametrize("folder", ["", "data/memory"])
def test_paths_stay_in_the_memory(opened: Store, folder: str, path: str) -> None:
    memory = FactsAndEpisodes(opened, folder)
    opened.write("x.md", "above")
    before = [entry.path for entry in opened.list()]
    patches: Any = [{"oldText": "above", "newText": "y"}]
    for call in (
        lambda: memory.memory_write(path, "x"),
        lambda: memory.memory_append(path, "x"),
        lambda: memory.memory_patch(path, patches),
        lambda: memory.memory_read(path),
    ):
        with pytest.raises((commonplace.Refused, commonplace.NotFound)):
            call()
    assert [entry.path for entry in opened.list()] == before
    assert opened.read("x.md") == "above"


def test_a_transcript_is_no_memory_file(opened: Store) -> None:
    memory = FactsAndEpisodes(opened)
    opened.transcript("s").append({"role": "user", "content": "hi"})
    for call in (memory.memory_write, memory.memory_append):
        with pytest.raises(commonplace.Refused, match="transcript"):
            call("s/messages.jsonl", "x")
    assert memory.memory_list() == []


def test_bad_text_changes_nothing(opened: Store) -> None:
    memory = FactsAndEpisodes(opened)
    for entry in ("", " \n "):
        with pytest.raises(ValueError, match="empty"):
            memory.memory_append(FEBRUARY, entry)
    for call in (memory.memory_write, memory.memory_append):
        with pytest.raises(commonplace.EncodingError):
            call(FEBRUARY, "\ud800")
    with pytest.raises(commonplace.EncodingError):
        memory.memory_append(FEBRUARY, "x", summary="\ud800")
    assert opened.list() == []


# §3 The file-level summary


@pytest.mark.parametrize(
    ("content", "summary"),
    [
        ("- Name: Zhang San\n- Role: dev\n- Updated: 2026-02-24\n", "name, role"),
        ("# T\n\n- **Name**: A\n* API key: none\n- 城市：北京\n", "name, API key, 城市"),
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
    assert listed(memory)["facts/user.md"] == "user name, language, role"
    # entries that come later are named behind it, so that it stays true
    memory.memory_append(FEBRUARY, LOGGER, summary="logger fix")
    memory.memory_append(FEBRUARY, SHORT)
    assert listed(memory)[FEBRUARY] == "logger fix; latest: Short ID implementation"
    memory.memory_append(FEBRUARY, "## Config refactor\nDone.")
    assert listed(memory)[FEBRUARY] == "logger fix; latest: Config refactor"
    # taken away, it is made again
    file = root / FEBRUARY
    file.write_text(re.sub(r"> Summary.*\n\n", "", file.read_text()))
    memory.memory_append(FEBRUARY, "## Tests\nMore.")
    assert listed(memory)[FEBRUARY].startswith("Tests, Config refactor, Short ID implementation")


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
        assert usage.of("3.md") == Use(reads=143, last=997, line="line 9")
        assert sum(use.reads for use in usage.all().values()) == 1000
    # what is out of date is thrown away now and then
    assert path.read_bytes().count(b"\n") < 300
    with path.open("ab") as log:
        log.write(b'["half')
    assert one.of("3.md").reads == 143
    path.unlink()
    assert one.all() == other.all() == {}


lines = st.lists(
    st.sampled_from(
        ["# Title\n", "## Two\n", "Title\n===\n", "---\n", "key: v\n", "---\n", "> Summary: a\n",
         "> Summary: b, c\r\n", "> q\n", "- Summary: x\n", "- Key: v\n", "```\n", "~~~\n", "<!--\n",
         "-->\n", "text\n", "\n", "\r\n", "\ufeff", " ", "text", "\r", "\0", "中文：值\n"]
    )
).map("".join)  # fmt: skip


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


# §3 Entries


TWO = "## One\n- Summary: a\n- Date: 2026-02-01\n\n## Two\n- Summary: b\n- Date: 2026-02-02\n"
MADE = """## Logger fix
- Summary: The logger wrote to stdout.
- Date: 2026-02-24

The logger wrote to stdout. It broke.
"""
CHINESE = "日志泄漏已修复。换了传输。"


@pytest.mark.parametrize(
    ("entry", "made"),
    [
        (LOGGER, LOGGER),
        (TWO, TWO),
        (
            "### Logger fix\nThe logger wrote to stdout. It broke.",
            MADE,
        ),
        (
            "## Logger fix\n- Problem: leak\n",
            "## Logger fix\n- Summary: Problem: leak\n- Date: 2026-02-24\n- Problem: leak\n",
        ),
        (
            "- Summary: leak fixed\n- Date: 2026-02-03",
            "## leak fixed\n- Summary: leak fixed\n- Date: 2026-02-03\n",
        ),
        (
            CHINESE,
            f"## {CHINESE}\n- Summary: 日志泄漏已修复。\n- Date: 2026-02-24\n\n{CHINESE}\n",
        ),
    ],
)
def test_an_entry_has_a_heading_a_summary_and_a_date(entry: str, made: str) -> None:
    assert entries(entry, date(2026, 2, 24)) == made


def test_a_past_month_gets_no_date_that_nobody_knows(opened: Store) -> None:
    memory = FactsAndEpisodes(opened, clock=Clock())
    memory.memory_append("episodes/2025-11.md", "We moved to pnpm.")
    assert "Date" not in memory.memory_read("episodes/2025-11.md")


@pytest.mark.parametrize(
    "entry",
    [
        "## A\n```sh\nopen",
        "# Title\n\ntext",
        "<!-- open",
        "## A\n\n# B\n\n## C",
        "```\nopen",
        "A\n===",
    ],
)
def test_an_entry_leaves_what_follows_alone(opened: Store, entry: str) -> None:
    memory = FactsAndEpisodes(opened, clock=Clock())
    memory.memory_append(FEBRUARY, SHORT)
    memory.memory_append(FEBRUARY, entry)
    memory.memory_append(FEBRUARY, LOGGER)
    titles = [block.title for block in parse(memory.memory_read(FEBRUARY))]
    assert titles[0] == "Short ID implementation"
    assert titles[-1] == "Logger stdout leak fix"
    assert len(titles) == 3
    # and as a fact
    memory.memory_append("facts/a.md", entry)
    memory.memory_append("facts/a.md", "## Last\nx")
    assert parse(memory.memory_read("facts/a.md"))[-1].title == "Last"


@pytest.mark.parametrize(
    "left_open", ["```\ncode", "~~~\ncode", "`````\n```\ncode", "<!-- note", "text"]
)
def test_what_a_person_left_open_does_not_swallow_an_entry(
    opened: Store, root: Path, left_open: str
) -> None:
    memory = FactsAndEpisodes(opened, clock=Clock())
    (root / "episodes").mkdir()
    (root / FEBRUARY).write_text(f"# Mine\n\n{left_open}")
    memory.memory_append(FEBRUARY, LOGGER)
    text = memory.memory_read(FEBRUARY)
    assert f"\n{left_open}\n" in text
    assert parse(text)[-1].title == "Logger stdout leak fix"


def quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


@settings(max_examples=50)
@given(st.lists(lines | st.text(st.characters(codec="utf-8")), max_size=4))
@example(["## Two\n## Two\n> Summary: a\n> Summary: a\n"])
def test_any_entry_comes_back(some: list[str]) -> None:
    some = [text for text in some if text.strip()]
    note = "# 2026-02 Episodes\n"
    for text in some:
        before = len(parse(note))
        made = entries(text, date(2026, 2, 24))
        note = added(note, made)
        assert len(parse(note)) > before
        assert note.endswith(made)
        body = text.strip("\n")
        heading = re.match(r"\s*#{1,6}[ \t]+\S[^\n]*(?:\n|\Z)", text)
        core = text[heading.end() :].strip("\n") if heading else body
        # as it stands, or as a quotation that reads as it was
        back = [made, *(block.text for block in parse(made))]
        given = [block.text for block in parse(text)]
        assert any(core in one for one in back) or all(
            any(one in other or quoted(one) in other for other in back) for one in given
        )
    assert minus(split(note), split(note)) == []
    assert removed(note, split(note)) == "# 2026-02 Episodes\n" + "\n" * bool(some)


# §5 The index message


def test_the_index_message_is_that_of_the_design(memory: FactsAndEpisodes) -> None:
    assert memory.index_message(1) is None
    memory.memory_write("facts/user.md", USER)
    stack = "# Project\n\n> Summary: tech stack, conventions\n\n"
    memory.memory_write("facts/project.md", stack + "x" * (210 - len(stack)))
    memory.memory_append(FEBRUARY, LOGGER + "x" * 1000, summary="logger fix, short ID")
    assert memory.index_message(1) == (
        "Available memory:\n"
        "- facts/project.md (210B): tech stack, conventions\n"
        f"- facts/user.md ({len(USER)}B): user name, language, role\n"
        "- episodes/2026-02.md (1.3KB): logger fix, short ID\n"
        "\n"
        "Use memory_read to load relevant files before responding."
    )
    # once, at the first iteration
    assert memory.index_message(2) is None


def test_over_budget_what_was_used_of_late_and_often_comes_first(opened: Store) -> None:
    clock = Clock(datetime.now(UTC))
    memory = FactsAndEpisodes(opened, clock=clock)
    for number in range(30):
        memory.memory_write(f"facts/n{number:02}.md", f"- Key{number}: x\n")
    for _ in range(3):
        memory.memory_read("facts/n17.md")
    memory.memory_read("facts/n25.md")
    whole = memory.index_message(1, budget=None)
    assert whole
    assert whole.count("\n- ") == 30
    assert memory.index_message(1, budget=len(whole)) == whole
    # another process has the same counts
    again = FactsAndEpisodes(opened, clock=clock)
    short = again.index_message(1, budget=250)
    assert short
    assert len(short) <= 250
    first, second, *_ = short.splitlines()[1:]
    assert first.startswith("- facts/n17.md")
    assert second.startswith("- facts/n25.md")
    shown = short.count("- facts/")
    assert f"\n- … and {30 - shown} more: memory_list shows all\n\nUse memory_read" in short
    # a budget in tokens, by whoever counts them
    words = memory.index_message(1, budget=40, measure=lambda text: len(text.split()))
    assert words
    assert len(words.split()) <= 40
    # a measure that does not grow with the text is held to as well
    odd = memory.index_message(1, budget=9, measure=lambda text: text.count("- facts/") % 7 * 3)
    assert odd
    assert odd.count("- facts/") % 7 * 3 <= 9
    with pytest.raises(ValueError, match="less than an empty list"):
        memory.index_message(1, budget=10)


def test_one_long_line_does_not_cost_the_others_their_place(opened: Store) -> None:
    memory = FactsAndEpisodes(opened)
    memory.memory_append(FEBRUARY, "## First\nx", summary="mine")
    memory.memory_append(FEBRUARY, f"## {'word ' * 500}\nx")
    assert len(memory.memory_list()[0]["summary"]) < 150
    memory.memory_append(FEBRUARY, "## Third\nx", summary="word " * 500)
    memory.memory_write("facts/user.md", "# User\n\n- Name: Li Si\n")
    shown = memory.index_message(1, budget=400)
    assert shown is not None
    assert "facts/user.md" in shown
    assert FEBRUARY in shown
    assert len(shown) <= 400


def test_a_change_counts_as_use(opened: Store) -> None:
    now = datetime.now(UTC)
    memory = FactsAndEpisodes(opened, clock=Clock(now))
    old = now.timestamp() - 40 * 86_400
    for name in ("a", "b", "c", "d", "zebra"):
        memory.memory_write(f"facts/{name}.md", "- Key: x\n")
        if name != "zebra":
            os.utime(opened.root / f"facts/{name}.md", (old, old))
    short = memory.index_message(1, budget=150)
    assert short
    assert short.splitlines()[1].startswith("- facts/zebra.md")
    assert "- … and 4 more: memory_list shows all" in short


# §12 Splitting


def episode(number: int, day: int | None, size: int = 0) -> str:
    dated = f"- Date: 2026-02-{day:02}\n" if day else ""
    return f"## Task {number}\n- Summary: s{number}\n{dated}- Note: {'x' * size}\n"


def test_a_large_month_goes_on_as_weeks(opened: Store, root: Path) -> None:
    memory = FactsAndEpisodes(opened, month_limit=1000, clock=Clock())
    for number, day in enumerate([1, 5, 9, 16, 24]):
        memory.memory_append(FEBRUARY, episode(number, day, 100))
    assert [*listed(memory)] == [FEBRUARY]
    file = root / FEBRUARY
    file.write_text(file.read_text().replace("\n\n##", "\n\nA word of mine.\n\n##", 1))
    answer = memory.memory_append(FEBRUARY, episode(5, 23, 500))
    assert answer["path"] == "episodes/2026-02-W4.md"
    assert listed(memory) == {
        FEBRUARY: "2026-02-W1, 2026-02-W2, 2026-02-W3, 2026-02-W4",
        "episodes/2026-02-W1.md": "Task 1, Task 0",
        "episodes/2026-02-W2.md": "Task 2",
        "episodes/2026-02-W3.md": "Task 3",
        "episodes/2026-02-W4.md": "Task 5, Task 4",
    }
    assert memory.memory_read(FEBRUARY) == (
        "# 2026-02 Episodes\n\n> Summary: 2026-02-W1, 2026-02-W2, 2026-02-W3, 2026-02-W4\n\n"
        "A word of mine.\n\n"
        "- [2026-02-W1](2026-02-W1.md)\n- [2026-02-W2](2026-02-W2.md)\n"
        "- [2026-02-W3](2026-02-W3.md)\n- [2026-02-W4](2026-02-W4.md)\n"
    )
    text = "".join(memory.memory_read(path) for path in listed(memory))
    for number, (day, size) in enumerate(
        [(1, 100), (5, 100), (9, 100), (16, 100), (24, 100), (23, 500)]
    ):
        assert text.count(episode(number, day, size)) == 1
    # a week that grows large goes on in parts; a late entry finds its week
    assert memory.memory_append(FEBRUARY, episode(6, 24, 600))["path"] == (
        "episodes/2026-02-W4-2.md"
    )
    assert memory.memory_append("episodes/2026-02-W4.md", episode(7, 24))["path"] == (
        "episodes/2026-02-W4-2.md"
    )
    assert memory.memory_append(FEBRUARY, episode(8, 2))["path"] == "episodes/2026-02-W1.md"
    assert "- [2026-02-W4-2](2026-02-W4-2.md)\n" in memory.memory_read(FEBRUARY)
    # an entry that a person writes on the page of the month moves to its week, too
    file.write_text(file.read_text() + "\n" + episode(9, 10))
    memory.memory_append(FEBRUARY, episode(10, 24))
    assert "Task 9" in memory.memory_read("episodes/2026-02-W2.md")
    assert "Task 9" not in memory.memory_read(FEBRUARY)
    assert "A word of mine." in memory.memory_read(FEBRUARY)


def test_entries_without_a_date_stay_beside_their_neighbours(opened: Store) -> None:
    memory = FactsAndEpisodes(
        opened, month_limit=300, clock=Clock(datetime(2026, 5, 1, tzinfo=UTC))
    )
    for number, day in enumerate([None, 9, None, 30, 16]):
        memory.memory_append(FEBRUARY, episode(number, day, 20))
    memory.memory_append(FEBRUARY, episode(9, None, 200))
    texts = {path: memory.memory_read(path) for path in listed(memory)}
    assert "Task 0" in texts["episodes/2026-02-W2.md"]
    assert "Task 2" in texts["episodes/2026-02-W2.md"]
    assert sum(text.count("## Task") for text in texts.values()) == 6


def test_what_cannot_be_moved_stays_and_what_is_new_is_added(opened: Store) -> None:
    memory = FactsAndEpisodes(opened, month_limit=600, clock=Clock())
    opened.write("episodes/2026-02-W1.md", "# Mine\n\n<script>\nleft open")
    opened.write(FEBRUARY, f"# 2026-02\n\n{episode(0, 2)}\n{episode(1, 9)}")
    for number in (2, 3):
        memory.memory_append(FEBRUARY, episode(number, 9))
        text = everything(opened)
        for other in range(number + 1):
            assert text.count(f"## Task {other}\n") >= 1
        assert text.count("## Task 0\n") == 1
    assert "Task 0" in memory.memory_read(FEBRUARY)
    # closed by hand, it moves
    memory.memory_patch(
        "episodes/2026-02-W1.md", [{"oldText": "left open", "newText": "closed</script>"}]
    )
    memory.memory_append(FEBRUARY, episode(4, 9))
    text = everything(opened)
    assert all(text.count(f"## Task {other}\n") == 1 for other in range(5))
    assert "Task 0" in memory.memory_read("episodes/2026-02-W1.md")


def test_a_week_goes_by_the_version_of_the_file_that_was_named(opened: Store) -> None:
    memory = FactsAndEpisodes(opened, month_limit=300, clock=Clock())
    for number in range(3):
        memory.memory_append(FEBRUARY, episode(number, 9, 60))
    for path in (FEBRUARY, "episodes/2026-02-W2.md"):
        with pytest.raises(commonplace.Conflict, match=re.escape(path)):
            memory.memory_append(path, episode(8, 9), expected_version="absent")
        seen = opened.version(path)
        answer = memory.memory_append(path, episode(8, 9), expected_version=seen)
        assert str(answer["path"]).startswith("episodes/2026-02-W2")


def test_threads_and_processes_lose_no_entry(opened: Store) -> None:
    # two memories over one store know as little of each other as two processes
    memories = [FactsAndEpisodes(opened, month_limit=900, clock=Clock()) for _ in range(2)]

    def append(number: int) -> object:
        return memories[number % 2].memory_append(FEBRUARY, episode(number, number + 1, 40))

    with ThreadPoolExecutor(4) as pool:
        assert len(list(pool.map(append, range(24)))) == 24
    text = everything(opened)
    assert all(f"## Task {number}\n" in text for number in range(24))


@pytest.mark.parametrize("at", range(5))
def test_two_processes_that_divide_a_month_move_each_entry_once(opened: Store, at: int) -> None:
    whole = FactsAndEpisodes(opened, clock=Clock())
    for number in range(10):
        whole.memory_append(FEBRUARY, episode(number, number * 2 + 1, 40))
    other = FactsAndEpisodes(opened, month_limit=900, clock=Clock())
    busy = RacingStore(opened, at, lambda: other.memory_append(FEBRUARY, episode(98, 3, 40)))
    one = FactsAndEpisodes(busy, month_limit=900, clock=Clock())  # type: ignore[arg-type]
    one.memory_append(FEBRUARY, episode(99, 5, 40))
    text = everything(opened)
    assert [text.count(f"## Task {number}\n") for number in (*range(10), 98, 99)] == [1] * 12


def everything(store: Store) -> str:
    return "\n".join(store.read(entry.path) for entry in store.list())


def crashes(
    fill: Callable[[Any], None], act: Callable[[Any], object]
) -> Iterator[tuple[Store, bool]]:
    """Yield a store after each number of changes that `act` got to, and whether it was done."""
    for after in range(50):
        with tempfile.TemporaryDirectory() as folder, commonplace.open(folder) as store:
            fill(store)
            done = True
            try:
                act(CrashingStore(store, after))
            except Crash:
                done = False
            yield store, done
        if done:
            return
    raise AssertionError("it never ends")


def test_a_crash_while_a_month_is_divided_loses_no_entry() -> None:
    def large(store: Any) -> FactsAndEpisodes:
        return FactsAndEpisodes(store, month_limit=600, clock=Clock())

    def fill(store: Store) -> None:
        store.write(
            FEBRUARY, "# 2026-02\n\n" + "\n".join(episode(n, 3 * n + 1, 50) for n in range(6))
        )

    steps = 0
    last = episode(9, 24)
    for store, done in crashes(fill, lambda store: large(store).memory_append(FEBRUARY, last)):
        steps += 1
        held = everything(store)
        for number in range(6):
            assert episode(number, 3 * number + 1, 50).strip() in held
        assert not done or last in held
        # whoever goes on finishes it, and no entry is there twice
        if not done:
            large(store).memory_append(FEBRUARY, last)
        held = everything(store)
        for number in (0, 1, 2, 3, 4, 5, 9):
            assert held.count(f"## Task {number}\n") == 1 or (number == 9 and not done)
        assert split(store.read(FEBRUARY)) == []
    assert steps > 5


# §12 Summarization


def test_old_months_become_the_page_of_a_year(opened: Store) -> None:
    clock = Clock()
    memory = FactsAndEpisodes(opened, "data/memory", clock=clock)
    memory.memory_append(FEBRUARY, LOGGER)
    memory.memory_append(FEBRUARY, SHORT)
    memory.memory_append("episodes/2026-03.md", "## March task\nDone.")
    assert memory.summarise_months() == []
    cited = memory.summarise_months(date(2026, 3, 1))
    assert cited == [
        "data/memory/archive/episodes/2026-02.md#L3",
        "data/memory/archive/episodes/2026-02.md#L10",
    ]
    assert [*listed(memory)] == ["episodes/2026-03.md", "episodes/2026.md"]
    page = memory.memory_read("episodes/2026.md")
    assert "## 2026-02\n" in page
    assert "- Originals: [2026-02](../archive/episodes/2026-02.md)\n" in page
    assert "pino pipeline stdout leak → custom JS transport" in page
    assert listed(memory)["episodes/2026.md"] == "Short ID implementation, Logger stdout leak fix"
    archived = memory.memory_read("archive/episodes/2026-02.md")
    for line in (LOGGER + SHORT).splitlines():
        assert line in archived
    # a late entry joins the summary of its month
    memory.memory_append(FEBRUARY, "## Late\n- Summary: a late word\n")
    clock.now = datetime(2027, 3, 2, tzinfo=UTC)
    assert len(memory.summarise_months()) == 1
    page = memory.memory_read("episodes/2026.md")
    assert page.count("## 2026-02\n") == 1
    assert "a late word" in page
    assert "pino pipeline" in page
    assert "episodes/2026-03.md" in listed(memory)


def test_what_a_person_wrote_beside_the_entries_stays(opened: Store) -> None:
    memory = FactsAndEpisodes(opened, clock=Clock())
    opened.write(FEBRUARY, f"# February\n\nMy own words.\n\n{LOGGER}")
    memory.summarise_months(date(2026, 3, 1))
    left = memory.memory_read(FEBRUARY)
    assert "# February\n" in left
    assert "My own words." in left
    assert "pino" not in left


def test_weeks_are_summarised_with_their_month(opened: Store) -> None:
    memory = FactsAndEpisodes(opened, month_limit=300, clock=Clock())
    for number in range(6):
        memory.memory_append(FEBRUARY, episode(number, 1 + 4 * number, 60))
    assert len(memory.summarise_months(date(2026, 3, 1))) == 6
    assert [*listed(memory)] == ["episodes/2026.md"]
    assert "[2026-02-W1](../archive/episodes/2026-02-W1.md)" in memory.memory_read(
        "episodes/2026.md"
    )


def test_a_model_may_write_the_summary_and_cannot_break_the_page(opened: Store) -> None:
    memory = FactsAndEpisodes(opened, clock=Clock())
    memory.memory_append("episodes/2025-01.md", LOGGER)
    memory.memory_append("episodes/2025-02.md", SHORT)
    model = SummaryModel("# All is well\n\n## Everything was fixed\n```\nopen", repeat_last=True)
    memory.summarise_months(date(2026, 1, 1), model=model)
    assert "pino" in "".join(turn.text for turns in model.asked for turn in turns)
    page = memory.memory_read("episodes/2025.md")
    assert [block.title for block in parse(page)] == ["2025-01", "2025-02"]
    assert "Everything was fixed" in page


def test_an_empty_summary_aborts(opened: Store) -> None:
    memory = FactsAndEpisodes(opened, clock=Clock())
    memory.memory_append("episodes/2025-01.md", LOGGER)
    before = memory.memory_read("episodes/2025-01.md")
    with pytest.raises(commonplace.CompactionFailed):
        memory.summarise_months(date(2026, 1, 1), model=SummaryModel(" "))
    assert memory.memory_read("episodes/2025-01.md") == before
    assert "episodes/2025.md" not in listed(memory)


def test_a_month_that_another_takes_away_meanwhile_is_done(opened: Store) -> None:
    memory = FactsAndEpisodes(opened, clock=Clock())
    memory.memory_append("episodes/2025-01.md", LOGGER)

    class Late(SummaryModel):
        def complete(self, *args: Any, **named: Any) -> Reply:
            opened.delete("episodes/2025-01.md")
            return super().complete(*args, **named)

    cited = memory.summarise_months(date(2026, 1, 1), model=Late("Everything was fixed."))
    assert cited == ["archive/episodes/2025-01.md#L3"]
    assert [*listed(memory)] == ["episodes/2025.md"]


def test_what_is_added_while_a_month_is_taken_away_stays(
    opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, other = (FactsAndEpisodes(opened, clock=Clock()) for _ in range(2))
    memory.memory_append("episodes/2025-01.md", LOGGER)
    delete = Notes.delete

    def late(notes: Notes, path: str, *, expected: str) -> Written:
        monkeypatch.undo()
        other.memory_append("episodes/2025-01.md", SHORT)
        return delete(notes, path, expected=expected)

    monkeypatch.setattr(Notes, "delete", late)
    memory.summarise_months(date(2026, 1, 1))
    left = memory.memory_read("episodes/2025-01.md")
    assert SHORT.splitlines()[0] in left
    assert LOGGER.splitlines()[0] not in left


def test_a_crash_while_a_month_is_summarised_loses_no_entry() -> None:
    def fill(store: Store) -> None:
        store.write(FEBRUARY, "# 2026-02\n\n- [2026-02-W1](2026-02-W1.md)\n\n" + episode(0, 8, 20))
        store.write("episodes/2026-02-W1.md", "# W1\n\n" + episode(1, 1, 20) + "\n" + episode(2, 2))

    def act(store: Any) -> list[str]:
        return FactsAndEpisodes(store, clock=Clock()).summarise_months(date(2026, 3, 1))

    steps = 0
    for store, done in crashes(fill, act):
        steps += 1
        assert all(f"## Task {n}\n" in everything(store) for n in range(3))
        if not done:
            act(store)
        held = everything(store)
        assert all(held.count(f"## Task {n}\n") == 1 for n in range(3))
        assert [entry.path for entry in store.list("episodes")] == ["episodes/2026.md"]
        assert held.count("## 2026-02\n") == 1
    assert steps > 4


# §7 What the reflector is given


def test_what_the_reflector_is_given(memory: FactsAndEpisodes) -> None:
    memory.memory_write("facts/user.md", USER)
    memory.memory_append(FEBRUARY, LOGGER)
    assert memory.facts() == {"facts/user.md": USER}
    assert re.fullmatch(
        r"- episodes/2026-02\.md \(\d+B\): Logger stdout leak fix", memory.episode_index()
    )


# §10 Acceptance criteria


def test_1_remembers_user_info_across_restarts(root: Path) -> None:
    with commonplace.open(root) as store:
        FactsAndEpisodes(store).memory_write("facts/user.md", "# User\n\n- Name: Zhang San\n")
    with commonplace.open(root) as store:
        memory = FactsAndEpisodes(store)
        index = memory.index_message(1)
        assert index
        assert "- facts/user.md (" in index
        assert "): name\n" in index
        assert "Zhang San" in memory.memory_read("facts/user.md")
        assert store.search("what's my name?")[0].path == "facts/user.md"


def test_2_remembers_past_work(memory: FactsAndEpisodes, store: Store) -> None:
    memory.memory_append(FEBRUARY, LOGGER)
    memory.memory_append(FEBRUARY, SHORT)
    (hit, *_) = store.search("what bug did we fix last time, the logger leak?")
    assert hit.heading[-1] == "Logger stdout leak fix"
    assert "Custom line-transport.js" in hit.text
    assert "Logger stdout leak fix" in (memory.index_message(1) or "")


def test_3_files_are_readable(memory: FactsAndEpisodes, root: Path) -> None:
    memory.memory_write("facts/user.md", "# User Facts\n\n- Name: Zhang San\n- Role: developer\n")
    assert (root / "data/memory/facts/user.md").read_text() == (
        "# User Facts\n\n> Summary: name, role\n\n- Name: Zhang San\n- Role: developer\n"
    )


def test_4_files_are_editable_by_hand(memory: FactsAndEpisodes, root: Path) -> None:
    memory.memory_write("facts/user.md", USER)
    file = root / "data/memory/facts/user.md"
    file.write_text(USER.replace("Zhang San", "Wang Wu").replace("user name", "full name"))
    assert "Wang Wu" in memory.memory_read("facts/user.md")
    assert listed(memory)["facts/user.md"] == "full name, language, role"
    file.unlink()
    with pytest.raises(commonplace.NotFound):
        memory.memory_read("facts/user.md")


def test_5_no_dependency_beyond_the_declared_ones() -> None:
    package = Path(commonplace.__file__).parent
    pyproject = Path(__file__).parents[1] / "pyproject.toml"
    declared = tomllib.loads(pyproject.read_text())["project"]["dependencies"]
    allowed = {re.split(r"[^\w-]", name)[0] for name in declared} | {"commonplace", "__future__"}
    for path in (package / "memories").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                top = name.split(".")[0]
                assert top in allowed | sys.stdlib_module_names, f"{path.name}: {name}"


# Any interleaving of tools and hand edits


class Interleaving(StoreMachine):
    """What the tools and a person's editor do, and a plain dictionary of what must be there."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = FactsAndEpisodes(self.store, month_limit=1500, clock=Clock())
        self.marks: list[str] = []

    @rule(text=lines | st.text(st.characters(codec="utf-8"), max_size=50), day=st.integers(1, 28))
    def append(self, text: str, day: int) -> None:
        mark = f"mark{len(self.marks)}x"
        self.memory.memory_append(FEBRUARY, f"## {mark}\n- Date: 2026-02-{day:02}\n{text}")
        self.marks.append(mark)

    @rule(text=lines)
    def edit(self, text: str) -> None:
        mark = f"mark{len(self.marks)}x"
        file = self.root / FEBRUARY
        file.parent.mkdir(exist_ok=True)
        before = file.read_bytes() if file.exists() else b"# Mine\n"
        file.write_bytes(before + f"\n\n{text}\n{mark}\n".encode())
        self.marks.append(mark)

    @rule()
    def new_file(self) -> None:
        self.memory.memory_write("facts/a.md", "- Key: x\n")

    @invariant()
    def nothing_is_lost(self) -> None:
        held = everything(self.store)
        for mark in self.marks:
            assert mark in held
        sizes = [entry.size for entry in self.store.list("episodes")]
        assert len(sizes) <= 40
        for file in self.memory.memory_list():
            assert file["summary"]


TestInterleaving = Interleaving.TestCase
TestInterleaving.settings = settings(max_examples=15, stateful_step_count=12, deadline=None)
