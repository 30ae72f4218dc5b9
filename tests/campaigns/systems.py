"""Table of all calls of the store and of the five memory systems that change something.

Each is told a token, a word that nothing else holds, and puts it where the call keeps its texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import commonplace
from commonplace import Conflict, Store
from commonplace.memories import (
    FactsAndEpisodes,
    FourLayers,
    OverviewAndDetail,
    Profile,
    WorldAndAgents,
)

# What is long enough to be torn.
FILLER = "The quick brown fox jumps over the lazy dog. " * 40


def body(token: str) -> str:
    """Return a text of which a reader can tell whether it is whole."""
    return f"# Note\n\nFirst {token} said.\n\n{FILLER}\n\nLast {token} told.\n"


def is_whole(text: str) -> bool:
    """Return whether a text is exactly one that `body` made."""
    return text == body(text.partition("First ")[2].partition(" ")[0])


class Program:
    """What one process has: a store and the systems over it. `name` is its own."""

    def __init__(self, root: Path, name: str, *, watch: bool = True) -> None:
        self.name = name
        self.store: Store = commonplace.open(root, watch=watch)
        self.facts = FactsAndEpisodes(self.store, month_limit=4000)
        self.session = OverviewAndDetail(self.store, name, cwd="/srv/app")
        self.layers = FourLayers(self.store, "layers")
        self.cleared = FourLayers(self.store, "cleared")
        self.profile = Profile(self.store, user=name)
        self.agent = WorldAndAgents(self.store, name)
        self.turn = 0

    def slot(self) -> str:
        """Return one of a few names that only this process uses."""
        self.turn += 1
        return f"{self.name}-{self.turn % 3}"


class Call(NamedTuple):
    """One call. It returns the key under which its token now stands, empty for none.

    What was told last under a key is in a file that is listed; what stands under no key is there
    or in the history. `once`: the token stands in the file once, however the call ended.
    """

    run: Callable[[Program, str], str]
    once: bool = False


def write(program: Program, token: str) -> str:
    path = f"own/{program.slot()}.md"
    program.store.write(path, body(token))
    return path


def patch(program: Program, token: str) -> str:
    path = f"own/{program.slot()}.md"
    if not program.store.version(path):
        program.store.write(path, body(token))
    text = program.store.read(path)
    old = text.partition("First ")[2].partition(" ")[0]
    edits = [(f"First {old}", f"First {token}"), (f"Last {old}", f"Last {token}")]
    program.store.patch(path, edits)
    return path


def move(program: Program, token: str) -> str:
    source = f"own/moving-{token}.md"
    program.store.write(source, body(token))
    program.store.move(source, f"moved/{token}.md")
    return token


def delete(program: Program, token: str) -> str:
    path = f"own/gone-{program.name}.md"
    program.store.write(path, body(token))
    program.store.keep(path)
    program.store.delete(path)
    return ""


def append(program: Program, token: str) -> str:
    program.store.append("daily/2026-01-05.md", f"- {token}")
    return token


def say(program: Program, token: str) -> str:
    program.store.transcript("shared").append({"role": "user", "content": token})
    return token


def load(program: Program, token: str) -> str:
    source = program.store.root.parent / f"source-{token}.jsonl"
    lines = [json.dumps({"role": "user", "content": f"{token} {n}"}) for n in range(20)]
    source.write_text("\n".join([*lines, json.dumps({"role": "user", "content": token})]))
    program.store.transcript(f"loaded/{token}").load(source)
    return token


def count_up(program: Program, _token: str) -> str:
    program.store.update("shared/counter.md", lambda text: f"{int(text or 0) + 1}")
    return ""


def episode(program: Program, token: str) -> str:
    program.facts.memory_append(
        f"episodes/{datetime.now(UTC):%Y-%m}.md", f"## Task {token}\n\n{token} done."
    )
    return token


def write_fact(program: Program, token: str) -> str:
    slot = program.slot()
    program.facts.memory_write(f"facts/{slot}.md", f"# Facts\n\n- Token: {token}\n")
    return f"fact {slot}"


def patch_fact(program: Program, token: str) -> str:
    path = f"facts/patched-{program.name}.md"
    program.facts.memory_write(path, f"# Facts\n\n- Token: {token}x\n")
    program.facts.memory_patch(path, [{"oldText": f"{token}x\n", "newText": f"{token}\n"}])
    return path


def summarise_months(program: Program, _token: str) -> str:
    program.facts.summarise_months(date.today() + timedelta(days=60))  # noqa: DTZ011 - far enough
    return ""


def detail(program: Program, token: str) -> str:
    slot = program.slot()
    program.session.write_detail(slot, f"About {token}.")
    return f"detail {slot}"


def overview(program: Program, token: str) -> str:
    program.session.patch_overview("Current Task", token)
    return f"overview {program.name}"


def commit(program: Program, token: str) -> str:
    program.session.write_detail(f"committed-{program.name}", f"About {token}.")
    program.session.commit(f"Committed {token}.")
    program.session.branch(f"b-{token}", "to try")
    program.session.merge(f"b-{token}", "tried")
    return f"committed {program.name}"


def turn(program: Program, token: str) -> str:
    program.session.append({"role": "user", "content": token})
    program.session.compact(2)
    return token


def learn(program: Program, token: str) -> str:
    slot = program.slot()
    program.layers.learn({"key": slot, "value": token})
    return f"layer {slot}"


def happened(program: Program, token: str) -> str:
    program.layers.append("episodic", {"content": body(token)})
    return token


def rule(program: Program, token: str) -> str:
    program.layers.append("procedural", {"content": token, "metadata": {"condition": token}})
    return token


def compact(program: Program, _token: str) -> str:
    program.layers.compact("episodic", {"keep_last": 3})
    return ""


def clear(program: Program, token: str) -> str:
    program.cleared.append("episodic", {"content": token})
    program.cleared.clear("episodic")
    return ""


def exchange(program: Program, token: str) -> str:
    folder = program.store.root.parent / f"json-{token}"
    program.layers.export_json(folder)
    program.layers.import_json(folder)
    return ""


def fact_of_world(program: Program, token: str) -> str:
    slot = program.slot()
    program.agent.learn_fact(slot, f"About {token}.")
    return f"world {slot}"


def reflect(program: Program, token: str) -> str:
    program.agent.reflect(f"Learned {token}.")
    return f"agent {program.name}"


def remember(program: Program, token: str) -> str:
    program.agent.remember(f"Lived {token}.")
    return token


def like(program: Program, token: str) -> str:
    program.profile.remember(f"User prefers {token} in the morning", "preference")
    return ""


def flush(program: Program, token: str) -> str:
    program.profile.flush([{"role": "user", "content": f"I always want {token}."}])
    return ""


CALLS = {
    "write": Call(write),
    "patch": Call(patch),
    "move": Call(move, once=True),
    "delete": Call(delete),
    "append": Call(append, once=True),
    "transcript.append": Call(say, once=True),
    "transcript.load": Call(load),
    "update": Call(count_up),
    "facts.memory_append": Call(episode),
    "facts.memory_write": Call(write_fact),
    "facts.memory_patch": Call(patch_fact),
    "facts.summarise_months": Call(summarise_months),
    "session.write_detail": Call(detail),
    "session.patch_overview": Call(overview),
    "session.commit, branch, merge": Call(commit),
    "session.append, compact": Call(turn),
    "layers.learn": Call(learn),
    "layers.append episodic": Call(happened),
    "layers.append procedural": Call(rule),
    "layers.compact": Call(compact),
    "layers.clear": Call(clear),
    "layers.export_json, import_json": Call(exchange),
    "agent.learn_fact": Call(fact_of_world),
    "agent.reflect": Call(reflect),
    "agent.remember": Call(remember, once=True),
    "profile.remember": Call(like),
    "profile.flush": Call(flush),
}


def read_everything(program: Program, token: str) -> None:
    """Call everything that only reads, for its effects on caches and locks."""
    program.store.search(token)
    list(program.store.grep(token))
    program.store.list()
    program.facts.memory_list()
    program.facts.index_message(1)
    program.session.recall_memory(token)
    program.session.build_context("You are an agent.")
    program.layers.search("episodic", token)
    program.layers.get_stats()
    program.agent.recall()
    program.agent.search_memory(token)
    program.profile.memory_recall(token)
    program.profile.inject(token)


# Errors that concurrent processes may get; each means that nothing was changed.
EXPECTED_ERRORS = (
    Conflict,
    commonplace.Busy,
    commonplace.CompactionFailed,
    commonplace.PatchFailed,
)
