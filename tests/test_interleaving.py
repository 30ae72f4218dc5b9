"""Property test of all memory systems at once over one folder, with hand edits between the calls.

What a system is told holds a word of its own (`t17e`) beside one of a few rare words. A plain
dictionary says under which key of which place each word must be readable: what is told under a key
takes the place of what was told before, and who edits a file takes away what was in it. Nothing
else may.
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
from typing import Any, NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

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
from commonplace.tools import tools_for, tools_of
from tests.doubles import SECOND, Clock

RARE = ("zyzzyva", "quokka", "蜂鸟")
TOKEN = re.compile(r"\bt[0-9]+e\b")
LOG = f"{session_folder('/srv/app', 's1')}/messages.jsonl"
ALL = 10**9

# What models write; `{}` is a rare word and a word of its own.
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
LIKINGS = ("I prefer {}.", "Always call me {}", "The user lives in {}.", "{}")
# What a person leaves at the end of a file, and the files that a person makes.
TAILS = (" {}", "\n\n## By hand\n- {}", "\n```\n{}", "\n<!-- {}\n", "\n\n{}\n")
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


def said(forms: tuple[str, ...] = FORMS) -> st.SearchStrategy[tuple[str, str]]:
    return st.tuples(st.sampled_from(forms), st.sampled_from(RARE))


where = st.integers(0, 1)
names = st.sampled_from(["user", "a b", "A-b"])
index = st.integers(0, 99)


class Call(NamedTuple):
    """What is told by a tool: of which system, with what (name, text, token), and its key."""

    system: str
    tool: str
    arguments: Callable[[str, str, str], dict[str, Any]]
    key: str = "{name}"


def entry(layer: str) -> Callable[[str, str, str], dict[str, Any]]:
    return lambda _, text, token: {
        "type": layer,
        "entry": {"content": text, "metadata": {"condition": token}},
    }


CALLS = {
    "detail": Call("session", "write_detail", lambda n, text, _: {"name": n, "content": text}),
    "overview": Call(
        "session", "patch_overview", lambda n, _, token: {"section": n, "content": token}
    ),
    "world": Call("planner", "learn_fact", lambda n, text, _: {"topic": n, "content": text}),
    "planner": Call("planner", "reflect", lambda _, text, __: {"content": text}, "own"),
    "coder": Call("coder", "remember", lambda _, text, __: {"content": text}, "{token}"),
    "working": Call("layers", "append", entry("working"), "{token}"),
    "episodic": Call("layers", "append", entry("episodic"), "{token}"),
    "procedural": Call("layers", "append", entry("procedural"), "{token}"),
    "semantic": Call(
        "layers", "learn", lambda n, text, _: {"knowledge": {"key": n, "value": text}}
    ),
}


class Program:
    """What one process has: the store, the systems over it, and their tools."""

    def __init__(self, root: Path, clock: Callable[[], datetime], *, watch: bool) -> None:
        self.store = store = commonplace.open(root, watch=watch)
        self.facts = FactsAndEpisodes(store, month_limit=500, clock=clock)
        self.session = OverviewAndDetail(store, "s1", cwd="/srv/app", clock=clock)
        systems = {
            "facts": self.facts,
            "session": self.session,
            "layers": FourLayers(store, clock=clock),
            "profile": Profile(store, clock=clock, limit=1000),
            "planner": WorldAndAgents(store, "planner", clock=clock),
            "coder": WorldAndAgents(store, "coder", clock=clock),
        }
        # also those that erase
        self.tools = {
            name: tools_for(system, only=tools_of(type(system)), longest=ALL)
            for name, system in systems.items()
        }

    def call(self, system: str, tool: str, **arguments: Any) -> Any:
        """Call a tool as a model does; return text as it is, and JSON as what it says."""
        text = self.tools[system].call(tool, json.dumps(arguments))
        return json.loads(text) if text.startswith(("{", "[{", "[]")) else text

    def read(self, place: str, keys: list[str]) -> str:
        """Return all that a system tells of a place."""
        match place:
            case "facts":
                paths = [one["path"] for one in self.call("facts", "memory_list")]
                paths += self.archived("episodes")
                given = [self.call("facts", "memory_read", path=path) for path in paths]
            case "detail" | "messages":
                form = "detail/{}.md#L1" if place == "detail" else "messages.jsonl#L{}"
                cited = map(form.format, keys)
                given = [self.call("session", "read_citation", citation=one) for one in cited]
            case "overview":
                given = [self.call("session", "read_overview")]
            case "profile":
                given = [self.call("profile", "memory_recall", mode="full")]
                while more := re.search(r"start=([0-9]+) goes on here\.\]\Z", given[-1]):
                    start = int(more[1])
                    given.append(self.call("profile", "memory_recall", mode="full", start=start))
            case "working":
                given = [self.call("layers", "get_working_memory")]
            case "episodic" | "semantic" | "procedural":
                found = {"type": place, "query": " ".join(RARE), "limit": 10_000}
                given = [self.call("layers", "search", **found)]
                if place == "episodic":
                    given.append(self.call("layers", "get_episodic_memory"))
                folder = {"episodic": "episodes", "procedural": "procedures"}.get(place, "none")
                given += [self.store.read(path) for path in self.archived(folder)]
            case _:
                agent = "planner" if place == "world" else place
                given = [self.call(agent, "recall", days=10_000, limit=ALL)]
        return "\n".join(map(str, given))

    def archived(self, folder: str) -> list[str]:
        return [file.path for file in self.store.list("archive") if f"/{folder}/" in file.path]


class Interleaving(RuleBasedStateMachine):
    """Two programs and a person at work on one folder."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        self.clock = Clock(datetime(2026, 2, 24, 10, tzinfo=UTC), SECOND)
        self.numbers = count()
        self.programs = [self.open(at) for at in (0, 1)]
        # (place, key) -> the words that must be readable there
        self.reported: dict[tuple[str, str], set[str]] = defaultdict(set)

    def open(self, at: int) -> Program:
        return Program(self.root, self.clock, watch=at == 0)

    def text(self, form: str, rare: str = RARE[0]) -> tuple[str, str]:
        """Return a new text of a form, and the word of its own that is in it."""
        token = f"t{next(self.numbers)}e"
        return form.format(*[f"{rare} {token}"] * form.count("{}")), token

    def files(self) -> dict[str, bytes]:
        """Return all that is in the folder, without asking the store."""
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and not {".commonplace", ".gitattributes"} & {*path.parts}
        }

    def held(self, path: str) -> set[str]:
        file = self.root / path
        return set(TOKEN.findall(file.read_text())) if file.exists() else set()

    def forget(self, tokens: set[str]) -> None:
        for known in self.reported.values():
            known.difference_update(tokens)

    # What models do

    @rule(
        at=where, place=st.sampled_from(list(CALLS)), name=names, many=st.lists(said(), max_size=4)
    )
    def tell(self, at: int, place: str, name: str, many: list[tuple[str, str]]) -> None:
        call = CALLS[place]
        for form, rare in many:
            text, token = self.text(form, rare)
            self.programs[at].call(call.system, call.tool, **call.arguments(name, text, token))
            kept = f"working {at}" if place == "working" else place
            # spellings of a topic are one
            key = name.casefold().replace(" ", "-") if place == "world" else name
            self.reported[kept, call.key.format(name=key, token=token)] = {token}

    @rule(at=where, name=names, one=said())
    def write_fact(self, at: int, name: str, one: tuple[str, str]) -> None:
        content, token = self.text(*one)
        # another spelling of a name that is there is refused, and the refusal says which to use
        there = {file.name.casefold(): file.name for file in (self.root / "facts").glob("*.md")}
        path = f"facts/{there.get(f'{name}.md'.casefold(), f'{name}.md')}"
        self.forget(self.held(path))
        self.programs[at].call("facts", "memory_write", path=path, content=content)
        self.reported["facts", token] = {token}

    @rule(
        at=where,
        name=st.sampled_from(["facts/user", "episodes/{:%Y-%m}"]),
        many=st.lists(said(), max_size=4),
    )
    def append_fact(self, at: int, name: str, many: list[tuple[str, str]]) -> None:
        path = f"{name.format(self.clock.now)}.md"
        for form, rare in many:
            text, token = self.text(form, rare)
            self.programs[at].call("facts", "memory_append", path=path, entry=text)
            self.reported["facts", token] = {token}

    @rule(at=where, picked=index)
    def patch_fact(self, at: int, picked: int) -> None:
        known = sorted(
            key for (place, key), reported in self.reported.items() if place == "facts" and reported
        )
        for old in known[picked % len(known) :][:1] if known else []:
            files = self.programs[at].call("facts", "memory_list")
            holding = [one["path"] for one in files if old in self.held(one["path"])]
            if holding and (self.root / holding[0]).read_text().count(old) == 1:
                token = self.text("")[1]
                patches = [{"oldText": old, "newText": token}]
                self.programs[at].call("facts", "memory_patch", path=holding[0], patches=patches)
                self.forget({old})
                self.reported["facts", token] = {token}

    @rule(at=where)
    def summarise_months(self, at: int) -> None:
        self.programs[at].facts.summarise_months(self.clock.now.date())

    @rule(at=where, one=said())
    def say(self, at: int, one: tuple[str, str]) -> None:
        content, token = self.text(*one)
        line = self.programs[at].session.append({"role": "user", "content": content})
        self.reported["messages", str(line)] = {token}

    @rule(at=where, keep=st.integers(0, 3))
    def compact_session(self, at: int, keep: int) -> None:
        self.programs[at].session.compact(keep)

    @rule(at=where)
    def commit(self, at: int) -> None:
        # refused where a person left a fence open in the log of commits
        with contextlib.suppress(FormatError):
            self.programs[at].call("session", "commit", message=self.text("{}")[0])

    @rule(at=where, layer=st.sampled_from(["episodic", "procedural"]), keep=st.integers(0, 2))
    def compact(self, at: int, layer: str, keep: int) -> None:
        opts = {"keep_last": keep}
        answer = self.programs[at].call("layers", "compact", type=layer, opts=opts)
        for cited in answer["archived"]:
            assert (self.root / cited.partition("#")[0]).exists()

    @rule(at=where, layer=st.sampled_from(["episodic", "semantic", "procedural"]))
    def clear(self, at: int, layer: str) -> None:
        self.programs[at].call("layers", "clear", type=layer)
        self.reported = defaultdict(
            set, {key: t for key, t in self.reported.items() if key[0] != layer}
        )

    @rule(at=where, one=said(LIKINGS), flush=st.booleans())
    def like(self, at: int, one: tuple[str, str], *, flush: bool) -> None:
        content = self.text(*one)[0]
        if flush:
            messages = [{"role": "user", "content": content}]
            done = self.programs[at].call("profile", "flush", messages=messages)["remembered"]
        else:
            answer = self.programs[at].call("profile", "remember", content=content)
            done = [{"text": content, **answer}]
        for kept in done:
            for old in kept["replaced"]:
                self.forget(set(TOKEN.findall(old["text"])))
            self.reported["profile", kept["text"]] = set(TOKEN.findall(kept["text"]))

    @rule(days=st.integers(1, 40))
    def wait(self, days: int) -> None:
        self.clock.now += timedelta(days=days)

    # What people and other programs do

    @rule(path=st.sampled_from(BY_HAND), one=said(), rename=st.booleans())
    def write_by_hand(self, path: str, one: tuple[str, str], *, rename: bool) -> None:
        file, before = self.root / path, self.held(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        beside = file.with_name(".new") if rename else file
        beside.write_bytes(self.text(*one)[0].encode())
        beside.replace(file)
        self.forget(before)

    @rule(picked=index, one=said(TAILS))
    def append_by_hand(self, picked: int, one: tuple[str, str]) -> None:
        for file in self.pick(picked):
            with file.open("a", newline="") as note:
                note.write(self.text(*one)[0])

    @rule(picked=index)
    def delete_by_hand(self, picked: int) -> None:
        for file in self.pick(picked):
            self.forget(self.held(str(file)))
            file.unlink()

    @rule(picked=index, to=st.sampled_from(BY_HAND))
    def move_by_hand(self, picked: int, to: str) -> None:
        for file in self.pick(picked):
            self.forget(self.held(str(file)) | self.held(to))
            (self.root / to).parent.mkdir(parents=True, exist_ok=True)
            file.replace(self.root / to)

    def pick(self, picked: int) -> list[Path]:
        notes = [self.root / path for path in self.files() if path.endswith(".md")]
        return [notes[picked % len(notes)]] if notes else []

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
        gone = f"working {at}"
        self.reported = defaultdict(
            set, {key: t for key, t in self.reported.items() if key[0] != gone}
        )

    @rule(name=st.sampled_from(["index", "usage.jsonl"]), how=st.sampled_from("dcxo"), at=index)
    def damage(self, name: str, how: str, at: int) -> None:
        """Delete, cut, spoil or overwrite what is kept beside the files."""
        file = self.root / ".commonplace" / name
        data = file.read_bytes() if file.is_file() else b""
        at = len(data) * at // 100
        spoilt = {"c": data[:at], "o": b"{}", "x": data[:at] + b"\xff" + data[at + 1 :]}
        if data and how == "d":
            file.unlink()
        elif data:
            file.write_bytes(spoilt[how])

    # What must hold

    @invariant()
    def store_and_files_agree(self) -> None:
        files = self.files()
        words = {path: set(WORD.findall(findable(path, data))) for path, data in files.items()}
        for program in self.programs:
            listed = {file.path: file.size for file in program.store.list()}
            assert listed == {path: len(data) for path, data in files.items()}
            for path, data in files.items():
                assert program.store.read(path) == data.decode()
            for rare in RARE:
                hits = program.store.search(rare, ALL)
                assert hits.freshness == "fresh"
                assert {hit.path for hit in hits} == {p for p in files if rare in words[p]}, rare

    @invariant()
    def systems_give_back_what_they_were_told(self) -> None:
        places: dict[str, list[str]] = defaultdict(list)
        for (place, key), known in self.reported.items():
            if known:
                places[place].append(key)
        for at, program in enumerate(self.programs):
            for place, keys in places.items():
                if place not in {"working 0", "working 1"} or place == f"working {at}":
                    given = set(TOKEN.findall(program.read(place.split()[0], keys)))
                    for key in keys:
                        assert self.reported[place, key] <= given, (place, key)

    def teardown(self) -> None:
        with self.folder, self.programs[0].store, self.programs[1].store:
            for program in self.programs:
                assert program.store.verify().differences == []


WORD = re.compile(r"[a-z0-9]+|[\u4e00-\u9fff]+")


def findable(path: str, data: bytes) -> str:
    """Return what of a file can be found: a note, or what is said in the whole lines of a log."""
    if path.endswith(".md"):
        return data.decode()
    found = []
    for line in data.splitlines():
        with contextlib.suppress(ValueError):
            found.append(str(json.loads(line)["content"]))
    return "\n".join(found)


TestInterleaving = Interleaving.TestCase
TestInterleaving.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)


def test_a_month_that_is_divided_keeps_what_another_system_wrote(root: Path) -> None:
    with commonplace.open(root) as store:
        layers = FourLayers(store, clock=lambda: datetime(2026, 2, 24, tzinfo=UTC))
        facts = FactsAndEpisodes(
            store, month_limit=300, clock=lambda: datetime(2026, 3, 1, tzinfo=UTC)
        )
        wanted = [f"layers {number}" for number in range(4)]
        for content in wanted:
            layers.append("episodic", {"content": content})
            facts.memory_append("episodes/2026-02.md", f"{content[::-1]}\n- Date: 2026-02-24")
        held = [found.content for found in layers.get_episodic_memory()]
        assert [content for content in held if content in wanted] == wanted
        assert store.version("episodes/2026-02-W4.md")
        assert len(facts.summarise_months(datetime(2026, 3, 1, tzinfo=UTC).date())) == 4
        assert [found.content for found in layers.get_episodic_memory()] == wanted
