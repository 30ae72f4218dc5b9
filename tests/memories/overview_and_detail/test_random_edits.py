"""Property test of overview and detail: tools, hand edits and branches in any order."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from commonplace import NotFound
from commonplace.memories.overview_and_detail.detail import parse_detail
from commonplace.memories.overview_and_detail.session import OVERVIEW
from tests.doubles import StoreMachine
from tests.memories.overview_and_detail.helpers import contents, names, remember

said = contents.filter(bool)


class Sessions(StoreMachine):
    """Tools, edits by hand and branches in any order, beside a plain dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = remember(self.store)
        self.notes: dict[str, dict[str, str]] = {"main": {}}
        self.overview = {"main": OVERVIEW}
        self.said: list[str] = []

    @property
    def active(self) -> str:
        return self.memory.branches.active

    @rule(name=names, content=contents.filter(str.strip))
    def write(self, name: str, content: str) -> None:
        self.memory.write_detail(name, content)
        self.notes[self.active][name] = content

    @rule(name=names, content=contents)
    def edit_by_hand(self, name: str, content: str) -> None:
        path = Path(self.root, self.memory.branches.workspace(), "detail", f"{name}.md")
        path.parent.mkdir(parents=True, exist_ok=True)
        text = f"# By hand\n\n{content}"
        path.write_text(text, encoding="utf-8", newline="")
        self.notes[self.active][name] = parse_detail(name, text).content

    @rule(name=names)
    def delete_by_hand(self, name: str) -> None:
        path = Path(self.root, self.memory.branches.workspace(), "detail", f"{name}.md")
        path.unlink(missing_ok=True)
        self.notes[self.active].pop(name, None)

    @rule(content=contents)
    def write_overview(self, content: str) -> None:
        self.memory.write_overview(content)
        self.overview[self.active] = content

    @rule(text=said)
    def say(self, text: str) -> None:
        self.memory.append({"role": "user", "content": text})
        self.said.append(text)

    @rule(message=contents)
    def commit(self, message: str) -> None:
        if message.strip():
            done = self.memory.commit(message)
            assert self.memory.branches.commits.find(done["commit"]).message == message

    @rule(name=st.sampled_from(["main", "try", "other"]))
    def branch(self, name: str) -> None:
        before = self.active
        self.memory.branch(name)
        self.notes.setdefault(name, dict(self.notes[before]))
        self.overview.setdefault(name, self.overview[before])

    @invariant()
    def files_and_dictionary_agree(self) -> None:
        for name in ("auth", "key-decisions"):
            if name in self.notes[self.active]:
                held = self.notes[self.active][name]
                assert self.memory.read_detail(name).content == held
            else:
                with pytest.raises(NotFound):
                    self.memory.read_detail(name)
        assert self.memory.read_overview() == self.overview[self.active]
        given = self.memory.build_context("x", turns=1000)[2:]
        assert [message["content"] for message in given] == self.said


TestSessions = Sessions.TestCase
TestSessions.settings = settings(max_examples=15, stateful_step_count=15, deadline=None)
