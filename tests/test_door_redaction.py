"""Redaction at the doors: what frameworks and agents write through each of them holds no secret."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import commonplace
from commonplace.doors.hermes import HermesMemory
from commonplace.doors.hosts import find_host
from commonplace.doors.message_capture import add_message
from commonplace.doors.okf import import_bundle
from tests.test_redaction import PASSWORD, assert_nowhere

TOLD = f"The ferry database has the password: the password is {PASSWORD}."
CHINESE = f"渡轮数据库的密码是{PASSWORD}，不要告诉别人。"


def _anthropic(store: commonplace.Store, text: str) -> None:
    tool = importlib.import_module("commonplace.doors.anthropic").MemoryTool(store)
    tool.call({"command": "create", "path": "/memories/a.txt", "file_text": f"{text}\nTea.\n"})
    new = {"old_str": "Tea.", "new_str": text}
    tool.call({"command": "str_replace", "path": "/memories/a.txt", **new})
    more = {"insert_line": 1, "insert_text": text}
    tool.call({"command": "insert", "path": "/memories/a.txt", **more})


def _deepagents(store: commonplace.Store, text: str) -> None:
    backend = importlib.import_module("commonplace.doors.deepagents").NoteBackend(store)
    backend.write("/AGENTS.md", f"{text}\nTea.\n")
    backend.edit("/AGENTS.md", "Tea.", text)
    backend.upload_files([("/b.txt", text.encode())])


def _pydantic_ai(store: commonplace.Store, text: str) -> None:
    notes = importlib.import_module("commonplace.doors.pydantic_ai").NoteStore(store)
    asyncio.run(notes.write("a.md", text, expected_version=None))


def _langgraph(store: commonplace.Store, text: str) -> None:
    items = importlib.import_module("commonplace.doors.langgraph").CommonplaceStore(store)
    items.put(("facts",), "a", {"text": text, "login": {"password": PASSWORD}})
    value = items.get(("facts",), "a").value
    assert value["login"] == {"password": "[redacted: password]"}


def _claude_agent_sdk(store: commonplace.Store, text: str) -> None:
    sessions = importlib.import_module("commonplace.doors.claude_agent_sdk").SessionStore(store)
    key = {"project_key": "p", "session_id": "s"}
    entry = {"type": "user", "uuid": "1", "message": {"role": "user", "content": text}}
    for _ in range(2):
        asyncio.run(sessions.append(key, [entry]))
    assert len(asyncio.run(sessions.load(key))) == 1


def _openai_agents(store: commonplace.Store, text: str) -> None:
    session = importlib.import_module("commonplace.doors.openai_agents").TranscriptSession(
        store, "s"
    )
    call = {"type": "function_call", "name": "login", "arguments": f'{{"password":"{PASSWORD}"}}'}
    asyncio.run(session.add_items([{"role": "user", "content": text}, call]))
    assert len(asyncio.run(session.get_items())) == 2


def _google_adk(store: commonplace.Store, text: str) -> None:
    types = importlib.import_module("google.genai.types")
    entry = importlib.import_module("google.adk.memory.memory_entry").MemoryEntry
    door = importlib.import_module("commonplace.doors.google_adk")
    memory = door.TranscriptMemoryService(store)
    content = types.Content(role="user", parts=[types.Part(text=text)])
    asyncio.run(
        memory.add_memory(app_name="a", user_id="u", memories=[entry(content=content, id="1")])
    )


def _agent_framework(store: commonplace.Store, text: str) -> None:
    message = importlib.import_module("agent_framework").Message
    door = importlib.import_module("commonplace.doors.agent_framework")
    history = door.TranscriptHistory(store)
    said = [message("user", [text]), message("assistant", ["Noted."])]
    for _ in range(2):
        # the framework hands over all of it each time
        asyncio.run(history.save_messages("s", said))
    assert len(asyncio.run(history.get_messages("s"))) == 2


def _llama_index(store: commonplace.Store, text: str) -> None:
    message = importlib.import_module("llama_index.core.llms").ChatMessage
    door = importlib.import_module("commonplace.doors.llama_index")
    block = door.TranscriptMemoryBlock(store)
    asyncio.run(block.aput([message(text)], True, "s"))  # noqa: FBT003


def _hermes(store: commonplace.Store, text: str) -> None:
    memory = HermesMemory(str(store.root))
    memory.initialize("s")
    memory.sync_turn(text, f"Noted: {text}")
    memory.handle_tool_call("memory_remember", {"content": text})
    memory.shutdown()


def _okf(store: commonplace.Store, text: str) -> None:
    folder = store.root.parent / "bundle"
    folder.mkdir()
    (folder / "a.md").write_text(f"---\ntype: Note\n---\n{text}\n")
    assert import_bundle(store, folder).redacted == {"password": 1}
    assert import_bundle(store, folder).unchanged == ["a.md"]


def _hooks(store: commonplace.Store, text: str) -> None:
    cursor = find_host("cursor")
    of_all = {"conversation_id": "c1", "workspace_roots": ["/home/me/shop"]}
    for name, field in (("beforeSubmitPrompt", "prompt"), ("afterAgentResponse", "text")):
        event = cursor.event({"hook_event_name": name, field: text} | of_all)
        assert event
        add_message(store, cursor.name, event)


DOORS: dict[str, tuple[str, Callable[[commonplace.Store, str], None]]] = {
    "anthropic": ("anthropic", _anthropic),
    "deepagents": ("deepagents", _deepagents),
    "pydantic-ai": ("pydantic_ai_harness", _pydantic_ai),
    "langgraph": ("langgraph.graph", _langgraph),
    "claude-agent-sdk": ("claude_agent_sdk", _claude_agent_sdk),
    "openai-agents": ("agents", _openai_agents),
    "google-adk": ("google.adk.memory", _google_adk),
    "agent-framework": ("agent_framework", _agent_framework),
    "llama-index": ("llama_index.core", _llama_index),
    "hermes": ("json", _hermes),
    "okf": ("yaml", _okf),
    "hooks": ("json", _hooks),
}


@pytest.mark.parametrize("text", [TOLD, CHINESE], ids=["English", "Chinese"])
@pytest.mark.parametrize("door", DOORS)
def test_no_door_writes_a_secret(root: Path, door: str, text: str) -> None:
    needed, write = DOORS[door]
    pytest.importorskip(needed, reason=f"comes with the extra `{door}`")
    store = commonplace.open(root, watch=False)
    write(store, text)
    counts: dict[str, Any] = store.status().redactions
    assert {*counts} == {"password"}
    store.close()
    assert_nowhere(root, PASSWORD)


@pytest.mark.parametrize("door", ["anthropic", "langgraph", "openai-agents", "okf"])
def test_a_store_that_keeps_secrets(root: Path, door: str) -> None:
    needed, write = DOORS[door]
    pytest.importorskip(needed, reason=f"comes with the extra `{door}`")
    store = commonplace.open(root, watch=False, keep_secrets=True)
    try:
        write(store, TOLD)
    except AssertionError:
        # the door was asked what it had redacted
        assert door in {"langgraph", "okf"}
    files = [path.read_text("latin-1") for path in root.rglob("*") if path.is_file()]
    assert any(PASSWORD in text for text in files)
    assert store.status().redactions == {}


def test_an_edit_leaves_what_a_person_wrote(root: Path) -> None:
    pytest.importorskip("deepagents", reason="comes with the extra `deepagents`")
    store = commonplace.open(root, watch=False)
    backend: Any = importlib.import_module("commonplace.doors.deepagents").NoteBackend(store)
    backend.write("/a.md", "Tea.\n")
    path = next(one.path for one in store.list() if one.path.endswith("a.md"))
    store.write(path, f"Tea.\npassword: {PASSWORD}\n")
    backend.edit("/a.md", "Tea.", "Coffee.")
    assert store.read(path) == f"Coffee.\npassword: {PASSWORD}\n"
    # a value that only its place makes a secret
    store.write(path, "password: to be told\n")
    backend.edit("/a.md", "to be told", PASSWORD)
    assert store.read(path) == "password: [redacted: password]\n"
