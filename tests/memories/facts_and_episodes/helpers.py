"""Samples and helpers for the tests of facts and episodes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st

import commonplace
from commonplace import Store
from commonplace.memories.facts_and_episodes import FactsAndEpisodes
from tests.doubles import Crash, CrashingStore

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


def listed(memory: FactsAndEpisodes) -> dict[str, str]:
    return {file["path"]: file["summary"] for file in memory.memory_list()}


lines = st.lists(
    st.sampled_from(
        ["# Title\n", "## Two\n", "Title\n===\n", "---\n", "key: v\n", "---\n", "> Summary: a\n",
         "> Summary: b, c\r\n", "> q\n", "- Summary: x\n", "- Key: v\n", "```\n", "~~~\n", "<!--\n",
         "-->\n", "text\n", "\n", "\r\n", "\ufeff", " ", "text", "\r", "\0", "中文：值\n"]
    )
).map("".join)  # fmt: skip


def episode(number: int, day: int | None, size: int = 0) -> str:
    dated = f"- Date: 2026-02-{day:02}\n" if day else ""
    return f"## Task {number}\n- Summary: s{number}\n{dated}- Note: {'x' * size}\n"


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
