"""Search by meaning through each door and memory system, switched on once for all of them.

The model knows one pair of words that have no letter in common. Whatever finds the one by the other
goes by vectors.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import commonplace
from commonplace.adapters import meaning
from commonplace.adapters.embedders import CallableEmbedder
from commonplace.cli import run
from commonplace.doors.hook import handle
from commonplace.doors.hook_log import HookLog
from commonplace.doors.hosts import find_host
from commonplace.doors.injection_candidates import recalled_text
from commonplace.doors.mcp.tools import MemoryTools
from commonplace.memories.four_layers import FourLayers
from commonplace.memories.overview_and_detail import OverviewAndDetail
from commonplace.memories.profile import Profile
from commonplace.memories.world_and_agents import WorldAndAgents
from commonplace.store import MEANING
from tests.web_client import Client

FACT = "Lentils suit him well."
QUESTION = "which pulses should one cook tonight"
CONCEPTS = ("lentils", "pulses"), ("ferry", "boat"), ("tea", "drink"), ("rain", "weather")
OTHERS = "The ferry is late.", "Green tea, no sugar.", "Rain until Friday."


def concepts(texts: list[str]) -> np.ndarray:
    def has(text: str, words: tuple[str, ...]) -> float:
        return float(any(word in text.lower() for word in words)) + 0.01

    return np.array([[has(text, words) for words in CONCEPTS] for text in texts], np.float32)


def model() -> CallableEmbedder:
    return CallableEmbedder(concepts, "concepts", len(CONCEPTS))


class SlowModel:
    """The model, which makes no vector of a document before it is free."""

    id, dims = "slow", len(CONCEPTS)

    def __init__(self) -> None:
        self.is_free = threading.Event()

    def embed_documents(self, texts: list[str], /) -> np.ndarray:
        self.is_free.wait(60)
        return concepts(texts)

    def embed_query(self, text: str, /) -> np.ndarray:
        return np.asarray(concepts([text])[0])


# Each door takes a store that it fills, and returns how to ask it: as text, with its notes.
Ask = Callable[[], str]


def python(store: commonplace.Store) -> Ask:
    # so many that it is known what chance brings
    texts = [FACT, *(f"{OTHERS[number % 3]} ({number})" for number in range(70))]
    store.write("facts.md", "".join(f"# {n}\n\n{one}\n" for n, one in enumerate(texts)))

    def ask() -> str:
        answer = store.search(QUESTION, meaning=None)
        return " ".join([*(hit.text for hit in answer), *answer.notes])

    return ask


def mcp(store: commonplace.Store) -> Ask:
    python(store)
    return lambda: str(MemoryTools(lambda: store).search(QUESTION))


def injection(store: commonplace.Store) -> Ask:
    # the text of Hermes, LlamaIndex and the Agent Framework, which says nothing of vectors
    python(store)
    return lambda: recalled_text(store, QUESTION, 2000) + _told(store)


def hook(store: commonplace.Store) -> Ask:
    """Ask by a process of its own for each prompt, which finds by what others have made."""
    python(store)

    def ask() -> str:
        store.search(QUESTION, meaning=None)
        payload = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": QUESTION}
        payload |= {"transcript_path": "", "cwd": str(store.root)}
        answer, problems = handle(find_host("claude-code"), payload, str(store.root), project=False)
        assert not problems
        said = answer["hookSpecificOutput"]["additionalContext"] if answer else ""
        covered = [one.get("vectors_cover") for one in HookLog(store).entries()][-1]
        return f"{said} vectors cover {covered}"

    return hook_once(ask)


def hook_once(ask: Ask) -> Ask:
    """Keep what was said: a hook says nothing twice."""
    said: list[str] = []

    def again() -> str:
        said.append(ask())
        return next((one for one in said if FACT in one), said[-1])

    return again


def command(store: commonplace.Store, capsys: pytest.CaptureFixture[str]) -> Ask:
    python(store)

    def ask() -> str:
        run(["--root", str(store.root), "search", QUESTION])
        return "".join(capsys.readouterr())

    return ask


def web(store: commonplace.Store) -> Ask:
    python(store)
    client = Client(store)
    return lambda: client.get(f"/?q={QUESTION}").text


def langgraph(store: commonplace.Store) -> Ask:
    from commonplace.doors.langgraph import CommonplaceStore  # noqa: PLC0415

    items = CommonplaceStore(store)
    for number, text in enumerate((FACT, *OTHERS)):
        items.put(("notes",), str(number), {"text": text})
    return lambda: str(items.search(("notes",), query=QUESTION)) + _told(store)


def google_adk(store: commonplace.Store) -> Ask:
    from google.adk.memory.memory_entry import MemoryEntry  # noqa: PLC0415
    from google.genai.types import Content, Part  # noqa: PLC0415

    from commonplace.doors.google_adk import TranscriptMemoryService  # noqa: PLC0415

    service = TranscriptMemoryService(store)
    me: dict[str, Any] = {"app_name": "app", "user_id": "me"}
    said = [Content(role="user", parts=[Part(text=text)]) for text in (FACT, *OTHERS, QUESTION)]
    memories = [MemoryEntry(content=one) for one in said[:-1]]
    asyncio.run(service.add_memory(**me, memories=memories))

    def ask() -> str:
        found = asyncio.run(service.search_memory(**me, query=QUESTION)).memories
        return str(found) + _told(store)

    return ask


def pydantic_ai(store: commonplace.Store) -> Ask:
    from commonplace.doors.pydantic_ai import NoteStore  # noqa: PLC0415

    notes = NoteStore(store)
    bounds = {"limit": 5, "max_files": 9, "max_chars": 999, "max_file_chars": 999}
    for number, text in enumerate((FACT, *OTHERS)):
        asyncio.run(notes.write(f"{number}.md", text, expected_version=None))

    def ask() -> str:
        return str(asyncio.run(notes.search("", QUESTION, **bounds))) + _told(store)

    return ask


def openai_agents(store: commonplace.Store) -> Ask:
    from agents.tool_context import ToolContext  # noqa: PLC0415

    from commonplace.doors.openai_agents import memory_tools  # noqa: PLC0415

    python(store)
    (search,) = [one for one in memory_tools(store) if one.name == "search"]
    given = f'{{"query": "{QUESTION}"}}'

    async def answer() -> str:
        context = ToolContext(None, tool_name="search", tool_call_id="1", tool_arguments=given)
        return str(await search.on_invoke_tool(context, given))

    return lambda: asyncio.run(answer())


def profile(store: commonplace.Store) -> Ask:
    memory = Profile(store)
    for text in (FACT, *OTHERS):
        memory.remember(text, "habit")
    return lambda: str(memory.recall(QUESTION))


def four_layers(store: commonplace.Store) -> Ask:
    memory = FourLayers(store)
    for text in (FACT, *OTHERS):
        memory.append("episodic", {"content": text})
    return lambda: f"{memory.search('episodic', QUESTION)} vectors cover {memory.covered}"


def world_and_agents(store: commonplace.Store) -> Ask:
    memory = WorldAndAgents(store, "helper")
    for number, text in enumerate((FACT, *OTHERS)):
        store.write(f"world/{number}.md", f"# {number}\n\n{text}\n")
    return lambda: memory.search_memory(QUESTION)


def overview_and_detail(store: commonplace.Store) -> Ask:
    memory = OverviewAndDetail(store, "s1")
    for number, text in enumerate((FACT, *OTHERS)):
        memory.write_detail(f"d{number}", f"# D{number}\n\n{text}", [])
    return lambda: memory.recall_memory(QUESTION)


def _told(store: commonplace.Store) -> str:
    return f" vectors cover {store.covered}"


DOORS = [python, mcp, injection, web, langgraph, google_adk, pydantic_ai, openai_agents]
SYSTEMS = [profile, four_layers, world_and_agents, overview_and_detail]
# these open their stores themselves
PROCESSES = [hook, command]
Door = Callable[..., Ask]


def opened_door(door: Door, store: commonplace.Store, capsys: pytest.CaptureFixture[str]) -> Ask:
    return door(store, capsys) if door is command else door(store)


def finds(ask: Ask) -> bool:
    """Ask until the vectors are made."""
    for _ in range(400):
        if FACT in ask():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("door", [*DOORS, *SYSTEMS])
def test_what_a_store_was_opened_with_counts_at_each_door(door: Door, tmp_path: Path) -> None:
    with commonplace.open(tmp_path, embedder=model()) as store:
        assert finds(door(store))


@pytest.mark.parametrize("door", [*DOORS, *SYSTEMS, *PROCESSES])
def test_one_variable_switches_each_door_on(
    door: Door,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(meaning, "bundled", model)
    monkeypatch.setenv(MEANING, "0")
    with commonplace.open(tmp_path) as store:
        ask = opened_door(door, store, capsys)
        # no word of the fact is in the question
        assert FACT not in ask()
    monkeypatch.setenv(MEANING, "1")
    (tmp_path / "2").mkdir()
    with commonplace.open(tmp_path / "2") as store:
        assert finds(opened_door(door, store, capsys))


@pytest.mark.parametrize("door", [*DOORS, *SYSTEMS])
def test_no_door_waits_for_vectors_and_each_tells_how_much_has_them(
    door: Door, tmp_path: Path
) -> None:
    slow = SlowModel()
    with commonplace.open(tmp_path, embedder=slow) as store:
        try:
            ask = door(store)
            said = ask().replace("&#39;", "'")
            assert FACT not in said
            assert "vectors cover 0" in said
        finally:
            slow.is_free.set()
        assert finds(ask)
