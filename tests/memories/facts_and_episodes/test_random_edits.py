"""Property test of facts and episodes: tool calls and hand edits in any order."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from commonplace.memories.facts_and_episodes import FactsAndEpisodes
from tests.doubles import Clock, StoreMachine
from tests.memories.facts_and_episodes.helpers import FEBRUARY, everything, lines


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
