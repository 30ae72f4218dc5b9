"""Property tests of world and agents: any text, calls and hand edits in any order."""

from __future__ import annotations

import tempfile
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

import commonplace
from commonplace.entries.blocks import parse
from commonplace.memories.world_and_agents import WorldAndAgents, topics
from tests.doubles import NOON, Clock, StoreMachine

texts = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=80),
    st.lists(
        st.sampled_from(
            ["# T\n", "## 12:00:00\n", "```\n", "<!--", "-->", "---\n", "> q\n", "\r\n", "\n\n",
             '<!--\nMETA:\n- topic: "other"\n-->\n', "words ", "中文", "\0", "&amp;", "\u2028"]
        ),
        max_size=6,
    ).map("".join),
)  # fmt: skip
# what remember, reflect and learn_fact take
filled = texts.filter(str.strip)


@given(st.lists(filled, max_size=4), filled, texts, filled)
@settings(max_examples=40, deadline=None)
def test_any_text_comes_back_from_every_layer(
    diary: list[str], own: str, topic: str, fact: str
) -> None:
    with tempfile.TemporaryDirectory() as folder, commonplace.open(folder) as store:
        memory = WorldAndAgents(store, "a", clock=lambda: NOON)
        for text in diary:
            memory.remember(text)
        if diary:
            note = store.read("agents/a/daily/2026-02-24.md")
            assert [block.text for block in parse(note)] == diary
        memory.reflect(own)
        assert store.read("agents/a/MEMORY.md") == own
        name = " ".join(topic.split()) or "topic"
        path = memory.learn_fact(name, fact)["path"]
        known = topics.unmarked(topics.name_of("world", path), store.read(path))
        assert known == (name, fact)
        assert path.startswith("world/")
        assert memory.learn_fact(name, fact)["path"] == path
        assert fact.strip() in memory.recall(limit=10**6)


class Interleaved(StoreMachine):
    """Calls and hand edits in any order, beside a plain dictionary of what each should hold."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.memories = {
            name: WorldAndAgents(self.store, name, clock=self.clock) for name in ("a", "b")
        }
        self.world: dict[str, str] = {}
        self.own: dict[str, str] = {}
        self.diary: dict[tuple[str, str], list[str]] = {}

    @rule(topic=st.sampled_from(["a b", "a/b", "a+b", "con", "人物", "!"]), text=filled)
    def learn(self, topic: str, text: str) -> None:
        self.memories["a"].learn_fact(topic, text)
        self.world[topic] = text

    @rule(name=st.sampled_from("ab"), text=filled)
    def reflect(self, name: str, text: str) -> None:
        self.memories[name].reflect(text)
        self.own[name] = text

    @rule(name=st.sampled_from("ab"), text=filled)
    def remember(self, name: str, text: str) -> None:
        done = self.memories[name].remember(text)
        self.diary.setdefault((name, done["path"]), []).append(text)

    @rule(hours=st.integers(1, 30))
    def wait(self, hours: int) -> None:
        self.clock.now += timedelta(hours=hours)

    @rule(name=st.sampled_from("ab"), text=st.sampled_from(["by hand", "中文\n"]))
    def edit_memory_by_hand(self, name: str, text: str) -> None:
        if name in self.own:
            (self.store.root / f"agents/{name}/MEMORY.md").write_text(text, newline="")
            self.own[name] = text

    @rule(index=st.integers(0, 9))
    def add_to_a_page_by_hand(self, index: int) -> None:
        if self.diary:
            key = sorted(self.diary)[index % len(self.diary)]
            with (self.store.root / key[1]).open("a") as file:
                file.write("\n## later\n\nby hand")
            self.diary[key].append("by hand")

    @rule(index=st.integers(0, 9))
    def delete_a_topic_by_hand(self, index: int) -> None:
        notes = self.store.list("world")
        if notes:
            path = notes[index % len(notes)].path
            topic, _ = topics.unmarked(topics.name_of("world", path), self.store.read(path))
            (self.store.root / path).unlink()
            del self.world[topic]

    @invariant()
    def files_hold_what_was_written(self) -> None:
        world = dict(
            topics.unmarked(topics.name_of("world", entry.path), self.store.read(entry.path))
            for entry in self.store.list("world")
        )
        assert world == self.world
        assert len(self.store.list("world")) == len(self.world)
        for name, text in self.own.items():
            assert self.store.read(f"agents/{name}/MEMORY.md") == text
        for (_, path), entries in self.diary.items():
            note = self.store.read(path)
            assert [block.text for block in parse(note)] == entries
            assert note.startswith(f"# {path[-13:-3]}\n")

    def teardown(self) -> None:
        for name, memory in self.memories.items():
            text = memory.recall(10**4, limit=10**7)
            assert all(fact.strip() in text for fact in self.world.values())
            assert self.own.get(name, "").strip() in text
        super().teardown()


TestInterleaved = Interleaved.TestCase
TestInterleaved.settings = settings(max_examples=15, stateful_step_count=15, deadline=None)
