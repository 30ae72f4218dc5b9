"""Memory provider of Hermes Agent: its methods, and Hermes' own loader and manager with it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import commonplace
from commonplace.cli import run
from commonplace.doors.hermes import HermesMemory
from commonplace.doors.hermes_plugin import add_provider, drop_provider, provider_of
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
    wrong = {
        "memory_serch": "perhaps `memory_search`",
        "memory_read": "memory_read needs `path`",
        "memory_x": "there are memory_search, memory_read",
    }
    for name, told in wrong.items():
        assert told in json.loads(memory.handle_tool_call(name, {}))["error"]
    error = json.loads(memory.handle_tool_call("memory_read", {"path": "none.md"}))["error"]
    assert "`memory_search` finds" in error


def test_the_page_names_every_tool(memory: HermesMemory) -> None:
    page = (Path(__file__).parents[1] / "docs" / "how-to" / "doors" / "hermes.md").read_text()
    names = [one["name"] for one in memory.get_tool_schemas()]
    assert sorted({*re.findall(r"`(memory_\w+)`", page)}) == sorted(names)


def test_a_long_answer_is_whole_json(memory: HermesMemory, root: Path) -> None:
    with commonplace.open(root) as store:
        store.write("long.md", '"' * 50_000 + "\n")
    page = json.loads(memory.handle_tool_call("memory_read", {"path": "long.md"}))
    assert page["next"] == 1
    rest = {"path": "long.md", "start": 1, "skip": page["skip"]}
    assert json.loads(memory.handle_tool_call("memory_read", rest))["text"].startswith('"')


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


SETTINGS = [
    "",
    "memory:\n",
    "memory: # mine\nmodel: small\n",
    "memory: {}",
    "memory: {memory_enabled: true}\n",
    "# mine\nmemory:\n    # of characters\n    memory_char_limit: 9 # best\nmodel: small",
    'memory:\n  provider: ""\n',
    "memory:\n  provider:\n  memory_enabled: true\n",
    "# nothing yet\n",
    "model: small\r\nmemory:\r\n  memory_enabled: true\r\n",
]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("COMMONPLACE_ROOT", "HERMES_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("text", SETTINGS)
def test_the_provider_is_chosen_and_all_else_stays(text: str, home: Path) -> None:
    settings = home / ".hermes" / "config.yaml"
    settings.parent.mkdir()
    if text:
        settings.write_bytes(text.encode())
    assert run(["install", "hermes"]) == 0
    before = yaml.safe_load(text) or {}
    chosen = {**before, "memory": {**(before.get("memory") or {}), "provider": "commonplace"}}
    assert yaml.safe_load(settings.read_text()) == chosen
    assert set(re.findall("#.*", text)) == set(re.findall("#.*", settings.read_text()))
    installed = {path: path.read_bytes() for path in home.rglob("*.*") if path.is_file()}
    assert run(["install", "hermes"]) == 0
    assert installed == {path: path.read_bytes() for path in home.rglob("*.*") if path.is_file()}
    # Python leaves this beside a plugin that was loaded
    compiled = home / ".hermes/plugins/commonplace/__pycache__/__init__.cpython-311.pyc"
    compiled.parent.mkdir()
    compiled.touch()
    assert run(["uninstall", "hermes"]) == 0
    left = [*(home / ".hermes").rglob("*")]
    assert left == ([settings] if text else [])
    assert not text or settings.read_bytes() == text.encode()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("memory:\n  provider: mem0\n", "memory.provider is 'mem0'"),
        ("a: [1\n", "line 2, column 1: "),
        ("a: 1\nb: \t1\n- x", "line 2, column 4: "),
        ("[1]", "line 1, column 1: a mapping is expected"),
        ("memory: [1]", "line 1, column 1: a mapping is expected"),
        ('{"a": 1}', "memory.provider cannot be edited here"),
        ("a: \x01", "control characters|special characters"),
        ("[" * 5000, "deep|line 1"),
    ],
)
def test_settings_that_cannot_be_changed_are_refused(text: str, said: str, home: Path) -> None:
    with pytest.raises(ValueError, match=said):
        add_provider(text)
    settings = home / ".hermes" / "config.yaml"
    settings.parent.mkdir()
    settings.write_text(text)
    assert run(["install", "hermes"]) == 2
    assert [*settings.parent.iterdir()] == [settings]
    assert settings.read_text() == text


def test_what_others_write_since_stays_and_no_provider_is_chosen() -> None:
    text = add_provider("model: small\n") + "toolsets: [web] # mine\n"
    assert provider_of(text) == "commonplace"
    left = drop_provider(text)
    assert provider_of(left) == ""
    assert left.endswith("toolsets: [web] # mine\n")
    assert drop_provider(left) == left


def test_hermes_has_no_projects(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["install", "hermes", "--project"]) == 2
    assert "leave --project out" in capsys.readouterr().err
    assert not [*home.iterdir()]


def status(home: Path, said: str) -> None:
    """Let `hermes memory status` say something."""
    (home / "bin").mkdir(exist_ok=True)
    (home / "bin" / "hermes").write_text(f"#!{sys.executable}\nprint({said!r})\n")
    (home / "bin" / "hermes").chmod(0o755)


def test_doctor_asks_hermes(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def found(code: int) -> dict[str, Any]:
        capsys.readouterr()
        assert run(["doctor", "--json"]) == code
        hosts = json.loads(capsys.readouterr().out)["hosts"]
        return next(one for one in hosts if one["host"] == "hermes")

    monkeypatch.setenv("PATH", str(home / "bin"))
    assert not found(1)["connected"]
    assert run(["install", "hermes"]) == 0
    assert "it does not start" in found(2)["problem"]
    status(home, "Plugin:    NOT installed ✗")
    assert "pip install commonplace" in found(2)["problem"]
    status(home, "Status:    available ✓")
    assert "Hermes has it as its memory" in found(0)["detail"]


@pytest.mark.hosts
def test_hermes_itself_says_that_it_has_the_memory(home: Path) -> None:
    if not HERMES.is_dir():
        pytest.skip("no Hermes here: make test-hosts")
    assert run(["--root", str(home / "memory"), "install", "hermes"]) == 0
    done = subprocess.run(
        [sys.executable, "-c", "from hermes_cli.main import main; main()", "memory", "status"],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(HERMES)},
    )
    assert "available ✓" in done.stdout


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
