"""Memory provider of Hermes Agent: its methods, and Hermes' own loader and manager with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import commonplace
from commonplace.doors.hermes import HermesMemory
from commonplace.doors.plugins import write_plugin

FACT = "The staging server Zephyr-9 listens on port 4711."
QUESTION = "Which port has the staging server Zephyr-9?"
HERMES = Path(__file__).parents[1] / "target" / "hosts" / "hermes"


@pytest.fixture
def memory(root: Path) -> Iterator[HermesMemory]:
    made = HermesMemory(str(root))
    made.initialize("A", platform="cli", hermes_home="/nowhere")
    yield made
    made.shutdown()


def test_a_turn_is_recalled_in_another_session(memory: HermesMemory, root: Path) -> None:
    assert memory.name == "commonplace"
    assert memory.is_available()
    memory.sync_turn(FACT, "Noted.", messages=[{"role": "user", "content": FACT}])
    # it is in the context of this session
    assert not memory.prefetch(QUESTION)
    memory.on_session_switch("B", parent_session_id="A", reset=True)
    recalled = memory.prefetch(QUESTION)
    assert FACT in recalled
    assert memory.path("A") in recalled
    assert not memory.prefetch("Good morning.")
    assert FACT not in memory.prefetch(QUESTION, session_id="A")
    assert memory.backup_paths() == [str(root)]
    with commonplace.open(root) as store:
        assert [
            (hit.role, hit.text) for hit in store.search("port", unit="message", role="user")
        ] == [("user", FACT)]


@pytest.mark.parametrize("context", ["subagent", "cron", "flush"])
def test_only_a_person_is_remembered(memory: HermesMemory, context: str, root: Path) -> None:
    memory.initialize("C", agent_context=context)
    memory.sync_turn(FACT, "Noted.", session_id="C")
    with commonplace.open(root) as store:
        assert not store.status().transcripts


def test_tools_are_functions_and_errors_are_answers(memory: HermesMemory) -> None:
    names = [one["name"] for one in memory.get_tool_schemas()]
    assert all(name.startswith("memory_") and name in names for name in names)
    assert all(one["parameters"]["type"] == "object" for one in memory.get_tool_schemas())
    told = memory.system_prompt_block()
    assert {word.strip(",") for word in told.split() if word.startswith("memory_")} <= set(names)
    added = json.loads(memory.handle_tool_call("memory_remember", {"content": "Likes tea."}))
    assert added["added"] is True
    found = json.loads(memory.handle_tool_call("memory_search", {"query": "tea"}, task_id="t"))
    assert found["hits"][0]["text"] == "- Likes tea."
    for name, args in (("memory_read", {"path": "none.md"}), ("memory_x", {})):
        assert json.loads(memory.handle_tool_call(name, args))["error"]


PROGRAM = """
import sys
from agent.memory_manager import MemoryManager
from plugins.memory import load_memory_provider
session, said = sys.argv[1:]
manager = MemoryManager()
manager.add_provider(load_memory_provider("commonplace"))
manager.initialize_all(session, platform="cli", agent_context="primary")
assert "memory_search" in manager.build_system_prompt()
assert "memory_search" in manager.get_all_tool_names()
print(manager.prefetch_all(said, session_id=session))
manager.sync_all(said, "Noted.", session_id=session, messages=[])
assert manager.flush_pending(30)
print(manager.handle_tool_call("memory_status", {}))
manager.shutdown_all()
"""


@pytest.mark.hosts
def test_hermes_loads_the_plugin_and_recalls_in_another_process(tmp_path: Path) -> None:
    if not HERMES.is_dir():
        pytest.skip("no Hermes here: make test-hosts")
    write_plugin("hermes", tmp_path / "home" / "plugins" / "commonplace", with_mcp=True)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "HERMES_HOME": str(tmp_path / "home"),
        "PYTHONPATH": str(HERMES),
    }

    def run(session: str, said: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, session, said],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        return done.stdout

    assert FACT not in run("A", FACT)
    assert FACT in run("B", QUESTION)
