"""Index message of facts and episodes, and what it omits over its budget."""

from __future__ import annotations

import os
from datetime import UTC, datetime

import pytest

from commonplace import Store
from commonplace.memories.facts_and_episodes import FactsAndEpisodes
from tests.doubles import Clock
from tests.memories.facts_and_episodes.helpers import FEBRUARY, LOGGER, USER


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


def test_what_others_keep_in_the_same_folder_is_not_shown(opened: Store) -> None:
    memory = FactsAndEpisodes(opened, clock=Clock())
    memory.memory_write("facts/user.md", USER)
    memory.memory_write("projects/app.md", "# App\n\n- Stack: Rust\n")
    opened.write("users/mara/MEMORY.md", "# Memory\n\n## Identity\n\n- Is called Mara\n")
    opened.write("world/people.md", "- Mara runs the night shift.\n")
    message = memory.index_message(1)
    assert message is not None
    assert "facts/user.md" in message
    assert "projects/app.md" in message
    assert "users/" not in message
    assert "world/" not in message
    assert "night shift" not in memory.memory_grep("night")
