"""Entries of an episode file: heading, summary, date, and the text that follows them."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from commonplace import Store
from commonplace.entries.blocks import parse
from commonplace.memories.facts_and_episodes import FactsAndEpisodes
from commonplace.memories.facts_and_episodes.entries import (
    added,
    difference,
    entries,
    removed,
    split,
)
from tests.doubles import Clock
from tests.memories.facts_and_episodes.helpers import FEBRUARY, LOGGER, SHORT, lines

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
        (
            # when it was is no summary of what it was
            "## Short ID\n- Date: 2026-02-03\n- Solution: base32\n",
            "## Short ID\n- Summary: Solution: base32\n- Date: 2026-02-03\n- Solution: base32\n",
        ),
        (
            "## Short ID\n- 日期：2026年2月3日\n",
            "## Short ID\n- Summary: Short ID\n- 日期：2026年2月3日\n",
        ),
        (
            "<!-- META: date=2026-02-03 -->\nWe moved to pnpm.",
            """## We moved to pnpm.
- Summary: We moved to pnpm.

<!-- META: date=2026-02-03 -->
We moved to pnpm.
""",
        ),
    ],
)
def test_an_entry_has_a_heading_a_summary_and_a_date(entry: str, made: str) -> None:
    assert entries(entry, date(2026, 2, 24)) == made


@pytest.mark.parametrize(
    "stamped",
    [
        "## Logger fix\n- Date: 2026-02-14\n",
        "## Logger fix\n- **Date**: 2026/2/14\n",
        "## Logger fix\n- Date: 2026-02-14T10:30:00Z\n",
        "## Logger fix\n- Date: February 14, 2026\n",
        "## Logger fix\n- Date: Saturday, 14 Feb. 2026\n",
        "## Logger fix\n<!-- META: date=2026-02-14 -->\n\nDone.\n",
        "## 2026-02-14 Logger fix\n",
        "## 修复日志\n- 日期：2026年2月14日\n- 做了\n",
        "## 2026年2月14日 修复日志\n做了\n",
        "[2026-02-14] dinner",
        "## [Sat, Feb 14] dinner\n",
        "14.02.2026 dinner",
        "2月14日吃饭",
        "Feb 14: dinner",
    ],
)
def test_an_entry_goes_to_the_month_of_its_stamp(opened: Store, stamped: str) -> None:
    memory = FactsAndEpisodes(opened, clock=Clock())
    receipt = memory.memory_append("episodes/2026-11.md", stamped)
    assert receipt["path"] == FEBRUARY
    assert receipt["note"] == f"filed by the date of the entry: {FEBRUARY}"


@pytest.mark.parametrize("written", ["2026-02-30", "02/03/2026", "soon", "20260214", "2026-02-141"])
def test_what_is_no_date_files_nothing_elsewhere(opened: Store, written: str) -> None:
    memory = FactsAndEpisodes(opened, clock=Clock())
    entry = f"## Logger fix\n- Date: {written}\n- done\n"
    assert memory.memory_append("episodes/2026-11.md", entry)["path"] == "episodes/2026-11.md"
    assert f"- Date: {written}\n" in memory.memory_read("episodes/2026-11.md")


@pytest.mark.parametrize(
    "said", ["The 2025-02-14 release is out", "Mar 3 of us met", "version 14.02.20"]
)
def test_a_date_in_a_sentence_is_no_stamp(opened: Store, said: str) -> None:
    memory = FactsAndEpisodes(opened, clock=Clock())
    assert memory.memory_append("episodes/2026-11.md", said)["path"] == "episodes/2026-11.md"


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
    assert difference(split(note), split(note)) == []
    assert removed(note, split(note)) == "# 2026-02 Episodes\n" + "\n" * bool(some)
