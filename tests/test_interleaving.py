"""All systems at once over one folder, with hand edits between: files, index and systems agree.

What a system was told holds a word of its own (`t17e`) beside one of a few rare words. A plain
dictionary says under which key of which place each of these words must be readable: what is told
under a key takes the place of what was told before, and a person who edits a file takes away what
was in it. Nothing else may.
"""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import commonplace
from commonplace import FormatError
from commonplace.memories import (
    FactsAndEpisodes,
    FourLayers,
    OverviewAndDetail,
    Profile,
    WorldAndAgents,
)
from commonplace.memories.overview_and_detail.folder import session_folder
from commonplace.tools import Toolset, tools_for

RARE = ("zyzzyva", "quokka", "蜂鸟")
TOKEN = re.compile(r"\bt[0-9]+e\b")
CWD = "/srv/app"
LOG = f"{session_folder(CWD, 's1')}/messages.jsonl"
EVERYTHING = 10**9

# `{}` is a rare word and a word of its own
FORMS = (
    "{}",
    "# {}",
    "{}\n\n## More\n\n{}\n",
    "- Key: {}\n- {}",
    "```\n{}",
    "<!-- {}",
    "> {}\r\n\r\nend",
    "Title\n---\n\n{}\n\n\n",
    "---\nsummary: {}\nunit: item\n---\n\n{}\n\n- one\n",
    '<!--\nMETA:\n- id: "x"\n-->\n\n{}',
)
forms = st.tuples(st.sampled_from(FORMS), st.sampled_from(RARE))
# what a person leaves at the end of a file
tails = st.sampled_from([" {}", "\n\n## By hand\n- {}", "\n```\n{}", "\n<!-- {}\n", "\n\n{}\n"])
likings = st.sampled_from(["I prefer {}.", "Always call me {}", "The user lives in {}.", "{}"])
agents = st.sampled_from(["planner", "coder"])
names = st.sampled_from(["user", "a-b", "plan"])
where = st.integers(0, 1)
index = st.integers(0, 99)
BY_HAND = (
    "facts/user.md",
    "facts/hand.md",
    "episodes/2026-02.md",
    "procedures/rules.md",
    "world/a-b.md",
    "agents/coder/MEMORY.md",
    "agents/coder/daily/2026-02-24.md",
    "MEMORY.md",
    "notes/deep/hand.md",
)


class Program:
    """What one process has: the store, and the tools of each system over it."""

    def __init__(self, root: str, clock: Callable[[], datetime], *, watch: bool) -> None:
        self.store = commonplace.open(root, watch=watch)
        facts = FactsAndEpisodes(self.store, month_limit=600, clock=clock)
        self.session = OverviewAndDetail(self.store, "s1", cwd=CWD, clock=clock)
        self.tools: dict[str, Toolset] = {
            "facts": tools_for(facts, longest=EVERYTHING),
            "session": tools_for(self.session, longest=EVERYTHING),
            "layers": tools_for(FourLayers(self.store, clock=clock), longest=EVERYTHING),
        }
        self.tools["profile"] = tools_for(Profile(self.store, clock=clock, limit=1000))
        for name in ("planner", "coder"):
            agent = WorldAndAgents(self.store, name, clock=clock)
            self.tools[name] = tools_for(agent, longest=EVERYTHING)

    def call(self, system: str, tool: str, **arguments: Any) -> Any:
        """Call a tool as a model does; give back what it reads, and objects as such."""
        text = self.tools[system].call(tool, json.dumps(arguments))
        return json.loads(text) if text.startswith(("{", "[{", "[]")) else text


class Interleaving(RuleBasedStateMachine):
    """Two programs and a person at work on one folder."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        self.now = datetime(2026, 2, 24, 10, tzinfo=UTC)
        self.numbers = count()
        self.programs = [self.open(at) for at in (0, 1)]
        # (place, key) -> the words that were told there
        self.told: dict[tuple[str, str], set[str]] = defaultdict(set)

    def open(self, at: int) -> Program:
        return Program(self.folder.name, self.clock, watch=at == 0)

    def clock(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    def text(self, said: tuple[str, str] | str, rare: str = "quokka") -> tuple[str, str]:
        """Return a new text of a form, and the word of its own that is in it."""
        form, rare = (said, rare) if isinstance(said, str) else said
        token = f"t{next(self.numbers)}e"
        return form.format(*[f"{rare} {token}"] * form.count("{}")), token

    def forget(self, tokens: set[str]) -> None:
        for known in self.told.values():
            known -= tokens

    def notes(self) -> dict[str, bytes]:
        """Return all that is in the folder, without asking the store."""
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and ".commonplace" not in path.parts
        }

    def held(self, path: str) -> set[str]:
        file = self.root / path
        return set(TOKEN.findall(file.read_text(errors="replace"))) if file.exists() else set()

    # What models do

    @rule(at=where, name=names, said=forms)
    def write_fact(self, at: int, name: str, said: tuple[str, str]) -> None:
        content, token = self.text(said)
        path = f"facts/{name}.md"
        self.forget(self.held(path))
        assert self.programs[at].call("facts", "memory_write", path=path, content=content)
        self.told["facts", token].add(token)

    @rule(at=where, name=st.sampled_from(["facts/user", "episodes/{:%Y-%m}"]), said=forms)
    def append_fact(self, at: int, name: str, said: tuple[str, str]) -> None:
        entry, token = self.text(said)
        path = f"{name.format(self.now)}.md"
        self.programs[at].call("facts", "memory_append", path=path, entry=entry)
        self.told["facts", token].add(token)

    @rule(at=where, picked=index)
    def patch_fact(self, at: int, picked: int) -> None:
        known = sorted(key for (place, key), told in self.told.items() if place == "facts" and told)
        if not known:
            return
        old, (new, token) = known[picked % len(known)], self.text("{}")
        listed = self.programs[at].call("facts", "memory_list")
        text = {one["path"]: (self.root / one["path"]).read_text() for one in listed}
        path = next(path for path in text if old in text[path])
        if text[path].count(old) == 1:
            patches = [{"oldText": old, "newText": token}]
            self.programs[at].call("facts", "memory_patch", path=path, patches=patches)
            self.forget({old})
            self.told["facts", token].add(token)

    @rule(at=where, name=names, said=forms)
    def write_detail(self, at: int, name: str, said: tuple[str, str]) -> None:
        content, token = self.text(said)
        self.programs[at].call("session", "write_detail", name=name, content=content, keywords=[])
        self.told["detail", name] = {token}

    @rule(at=where, section=names, said=forms)
    def patch_overview(self, at: int, section: str, said: tuple[str, str]) -> None:
        token = self.text(said)[1]
        self.programs[at].call("session", "patch_overview", section=section, content=f"- {token}")
        self.told["overview", section] = {token}

    @rule(at=where, said=forms)
    def say(self, at: int, said: tuple[str, str]) -> None:
        content, token = self.text(said)
        line = self.programs[at].session.append({"role": "user", "content": content})
        self.told["messages", str(line)] = {token}

    @rule(at=where, keep=st.integers(0, 3))
    def compact_session(self, at: int, keep: int) -> None:
        self.programs[at].session.compact(keep)

    @rule(at=where)
    def commit(self, at: int) -> None:
        with contextlib.suppress(FormatError):
            # a person left a fence open in the log of commits
            self.programs[at].call("session", "commit", message=self.text("{}")[0])

    @rule(at=where, agent=agents, topic=st.sampled_from(["a b", "a-b", "人物"]), said=forms)
    def learn_topic(self, at: int, agent: str, topic: str, said: tuple[str, str]) -> None:
        content, token = self.text(said)
        self.programs[at].call(agent, "learn_fact", topic=topic, content=content)
        self.told["world", topic] = {token}

    @rule(at=where, agent=agents, said=forms)
    def reflect(self, at: int, agent: str, said: tuple[str, str]) -> None:
        content, token = self.text(said)
        self.programs[at].call(agent, "reflect", content=content)
        self.told[agent, "MEMORY.md"] = {token}

    @rule(at=where, agent=agents, said=forms)
    def remember(self, at: int, agent: str, said: tuple[str, str]) -> None:
        content, token = self.text(said)
        self.programs[at].call(agent, "remember", content=content)
        self.told[agent, token].add(token)

    @rule(at=where, layer=st.sampled_from(["working", "episodic", "procedural"]), said=forms)
    def append(self, at: int, layer: str, said: tuple[str, str]) -> None:
        content, token = self.text(said)
        entry = {"content": content, "metadata": {"condition": token}}
        self.programs[at].call("layers", "append", type=layer, entry=entry)
        self.told[f"working {at}" if layer == "working" else layer, token].add(token)

    @rule(at=where, key=st.sampled_from(["user", "a b", "A-b"]), said=forms)
    def learn(self, at: int, key: str, said: tuple[str, str]) -> None:
        value, token = self.text(said)
        self.programs[at].call("layers", "learn", knowledge={"key": key, "value": value})
        self.told["semantic", key] = {token}

    @rule(at=where, layer=st.sampled_from(["episodic", "procedural"]), keep=st.integers(0, 2))
    def compact(self, at: int, layer: str, keep: int) -> None:
        opts = {"keep_last": keep}
        answer = self.programs[at].call("layers", "compact", type=layer, opts=opts)
        for cited in answer["archived"]:
            assert (self.root / cited.partition("#")[0]).exists()

    @rule(at=where, layer=st.sampled_from(["episodic", "semantic", "procedural"]))
    def clear(self, at: int, layer: str) -> None:
        self.programs[at].call("layers", "clear", type=layer)
        for (place, _), known in self.told.items():
            if place == layer:
                known.clear()

    @rule(at=where, form=likings, rare=st.sampled_from(RARE))
    def like(self, at: int, form: str, rare: str) -> None:
        content, token = self.text(form, rare)
        done = self.programs[at].call("profile", "remember", content=content, category="taste")
        for old in done["replaced"]:
            self.forget(set(TOKEN.findall(old["text"])))
        self.told["profile", token].add(token)

    @rule(at=where, form=likings, rare=st.sampled_from(RARE))
    def flush(self, at: int, form: str, rare: str) -> None:
        said = [{"role": "user", "content": self.text(form, rare)[0]}]
        done = self.programs[at].call("profile", "flush", messages=said)
        for kept in done["remembered"]:
            for old in kept["replaced"]:
                self.forget(set(TOKEN.findall(old["text"])))
            for token in TOKEN.findall(kept["text"]):
                self.told["profile", token].add(token)

    @rule(days=st.integers(1, 40))
    def wait(self, days: int) -> None:
        self.now += timedelta(days=days)

    # What people and other programs do

    def edited(self, path: str, data: bytes | None, *, rename: bool = False) -> None:
        """Put a file there, or take it away; what was in it and is no more is forgotten."""
        file, before = self.root / path, self.held(path)
        if data is None:
            file.unlink(missing_ok=True)
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            beside = file.with_name(".new") if rename else file
            beside.write_bytes(data)
            beside.replace(file)
        self.forget(before - self.held(path))

    @rule(path=st.sampled_from(BY_HAND), said=forms, rename=st.booleans())
    def write_by_hand(self, path: str, said: tuple[str, str], *, rename: bool) -> None:
        self.edited(path, self.text(said)[0].encode(), rename=rename)

    @rule(picked=index, tail=tails, rare=st.sampled_from(RARE))
    def append_by_hand(self, picked: int, tail: str, rare: str) -> None:
        if path := self.note(picked):
            with (self.root / path).open("a", newline="") as file:
                file.write(self.text(tail, rare)[0])

    @rule(picked=index)
    def delete_by_hand(self, picked: int) -> None:
        if path := self.note(picked):
            self.edited(path, None)

    @rule(picked=index, to=st.sampled_from(BY_HAND))
    def move_by_hand(self, picked: int, to: str) -> None:
        path = self.note(picked)
        if path and path != to:
            data = (self.root / path).read_bytes()
            self.forget(self.held(path) | self.held(to))
            (self.root / to).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).replace(self.root / to)
            assert (self.root / to).read_bytes() == data

    def note(self, picked: int) -> str | None:
        notes = [path for path in self.notes() if path.endswith(".md")]
        return notes[picked % len(notes)] if notes else None

    @rule(rare=st.sampled_from(RARE), whole=st.booleans())
    def write_into_the_log(self, rare: str, *, whole: bool) -> None:
        line = json.dumps({"role": "user", "content": self.text("{}", rare)[0]})
        (self.root / LOG).parent.mkdir(parents=True, exist_ok=True)
        with (self.root / LOG).open("a") as file:
            file.write(f"{line}\n" if whole else line[:-9])

    # What happens to programs

    @rule(at=where)
    def open_again(self, at: int) -> None:
        self.programs[at].store.close()
        self.programs[at] = self.open(at)
        self.told = defaultdict(set, {k: v for k, v in self.told.items() if k[0] != f"working {at}"})

    @rule(name=st.sampled_from(["index", "usage.jsonl"]), damage=st.sampled_from("dcxo"), at=index)
    def damage(self, name: str, damage: str, at: int) -> None:
        """Delete, cut, spoil or overwrite what the store keeps beside the files."""
        for file in [self.root / ".commonplace" / name]:
            if not file.is_file():
                continue
            data = file.read_bytes()
            middle = len(data) * at // 100
            match damage:
                case "d":
                    file.unlink()
                case "c":
                    file.write_bytes(data[:middle])
                case "x" if data:
                    file.write_bytes(data[:middle] + bytes([data[middle] ^ 64]) + data[middle + 1 :])
                case _:
                    file.write_bytes(b"{}")

    # What must hold

    @invariant()
    def store_and_files_agree(self) -> None:
        notes = self.notes()
        holding = {rare: {p for p, d in notes.items() if rare in words(told(p, d))} for rare in RARE}
        for program in self.programs:
            listed = {entry.path: entry.size for entry in program.store.list()}
            assert listed == {path: len(data) for path, data in notes.items()}
            for path, data in notes.items():
                assert program.store.read(path) == data.decode()
            for rare in RARE:
                hits = program.store.search(rare, 100_000)
                assert hits.freshness == "fresh"
                assert {hit.path for hit in hits} == holding[rare], rare

    @invariant()
    def systems_give_back_what_they_were_told(self) -> None:
        for at, program in enumerate(self.programs):
            for place in {place for (place, _), known in self.told.items() if known}:
                if place.startswith("working ") and place != f"working {at}":
                    continue
                given = set(TOKEN.findall(self.read(program, place)))
                for (other, key), known in self.told.items():
                    assert other != place or known <= given, (place, key, known - given)

    def read(self, program: Program, place: str) -> str:
        """Return all that a system tells of a place."""
        match place:
            case "facts":
                paths = [one["path"] for one in program.call("facts", "memory_list")]
                texts = [program.call("facts", "memory_read", path=path) for path in paths]
                return "\n".join(map(str, texts))
            case "detail":
                known = [key for (other, key), told in self.told.items() if other == place and told]
                cited = [f"detail/{name}.md#L1" for name in known]
                return "\n".join(program.call("session", "read_citation", citation=one) for one in cited)
            case "overview":
                return str(program.call("session", "read_overview"))
            case "messages":
                lines = [key for (other, key), told in self.told.items() if other == place and told]
                cited = [f"messages.jsonl#L{line}" for line in lines]
                return "\n".join(program.call("session", "read_citation", citation=one) for one in cited)
            case "world" | "planner" | "coder":
                agent = "planner" if place == "world" else place
                return str(program.call(agent, "recall", days=10_000, limit=EVERYTHING))
            case "profile":
                text = program.call("profile", "memory_recall", mode="full")
                while more := re.search(r"start=([0-9]+)", text[-200:]):
                    start = int(more[1])
                    text += program.call("profile", "memory_recall", mode="full", start=start)
                return str(text)
            case "episodic" | "procedural":
                archive = self.root.glob(f"archive/{PLACES[place]}/*.md")
                found = [file.read_text() for file in archive]
                if place == "episodic":
                    return str(program.call("layers", "get_episodic_memory")) + str(found)
            case "semantic":
                found = []
            case _:
                return str(program.call("layers", "get_working_memory"))
        query = " ".join(RARE)
        hits = program.call("layers", "search", type=place, query=query, limit=10_000)
        return str(hits) + str(found)

    def teardown(self) -> None:
        try:
            for program in self.programs:
                assert program.store.verify().differences == []
        finally:
            for program in self.programs:
                program.store.close()
            self.folder.cleanup()


PLACES = {"episodic": "episodes", "procedural": "procedures"}


def told(path: str, data: bytes) -> str:
    """Return what of a file can be found: a note, or what was said in the whole lines of a log."""
    if path.endswith(".md"):
        return data.decode()
    said = []
    for line in data.split(b"\n"):
        try:
            said.append(json.loads(line)["content"])
        except ValueError:
            continue
    return "\n".join(said)


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+|[\u4e00-\u9fff]+", text))


TestInterleaving = Interleaving.TestCase
TestInterleaving.settings = settings(max_examples=20, stateful_step_count=20, deadline=None)
