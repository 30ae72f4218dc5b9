"""Redaction of what tools, memory systems and transcripts are given."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import commonplace
from commonplace.cli import run
from commonplace.doors.mcp.methods import Methods
from commonplace.errors import Refused
from commonplace.memories import (
    FactsAndEpisodes,
    FourLayers,
    OverviewAndDetail,
    Profile,
    WorldAndAgents,
    find_system,
)
from commonplace.memories.four_layers.types import KnowledgeEntry, MemoryEntry
from commonplace.memories.registry import system_names
from commonplace.redaction import redact
from commonplace.tools import tools_for, tools_of

# of the right form; in parts, so that no scanner takes this file for a leak
TOKEN = "gh" + "p_" + "q7Rt2Lm9Xz4Vb6Nc8Kd1Wf3Hs5Jg0PaYeUiO"
PASSWORD = "q7Rt2" + "Lm9x"
TEXTS = {
    "token": (f"We deploy with {TOKEN} from now on.", TOKEN),
    "password": (f"I always use pnpm, and the database password is {PASSWORD}.", PASSWORD),
    "API key": (f"I always use pnpm, and my API key is {PASSWORD}Tz81Qp4N.", PASSWORD),
    "the token is": (f"I always use pnpm. The token is {PASSWORD}Tz81Qp4N.", PASSWORD),
    "Chinese": (f"我喜欢用 pnpm，数据库的密码是{PASSWORD}，请记住。", PASSWORD),
    "Chinese colon": (f"测试环境的密码：{PASSWORD}。", PASSWORD),
    "JSON": (json.dumps({"service": "db", "api_key": f"{PASSWORD}Tz81"}), PASSWORD),
    "URL": (f"postgres://app:{PASSWORD}@db.internal/orders", PASSWORD),
}


def overview(store: commonplace.Store) -> OverviewAndDetail:
    memory = OverviewAndDetail(store, "s1", cwd="/home/alex/app")
    memory.write_detail("auth", "JWT.")
    memory.branch("try", "Try it.")
    memory.branch("main")
    return memory


SYSTEMS: dict[str, Callable[[commonplace.Store], Any]] = {
    "facts_and_episodes": FactsAndEpisodes,
    "four_layers": FourLayers,
    "overview_and_detail": overview,
    "profile": Profile,
    "world_and_agents": lambda store: WorldAndAgents(store, "planner"),
}
CALLS: dict[tuple[str, str], Callable[[str], dict[str, Any]]] = {
    ("facts_and_episodes", "memory_write"): lambda text: {"path": "facts/a.md", "content": text},
    ("facts_and_episodes", "memory_append"): lambda text: {
        "path": "episodes/2026-02.md",
        "entry": text,
        "summary": text,
    },
    ("facts_and_episodes", "memory_patch"): lambda text: {
        "path": "facts/old.md",
        "patches": [{"oldText": "Tea.", "newText": text}],
    },
    ("four_layers", "append"): lambda text: {
        "type": "episodic",
        "entry": {"content": text, "metadata": {"said": [text], "password": PASSWORD}},
    },
    ("four_layers", "learn"): lambda text: {"knowledge": {"key": "deploy", "value": text}},
    ("overview_and_detail", "write_overview"): lambda text: {"content": f"# Working\n\n{text}\n"},
    ("overview_and_detail", "patch_overview"): lambda text: {
        "section": "Key Decisions",
        "content": text,
    },
    ("overview_and_detail", "write_detail"): lambda text: {
        "name": "deploy",
        "content": text,
        "keywords": [text],
    },
    ("overview_and_detail", "commit"): lambda text: {"message": text},
    ("overview_and_detail", "branch"): lambda text: {"name": "other", "purpose": text},
    ("overview_and_detail", "merge"): lambda text: {"name": "try", "message": text},
    ("profile", "remember"): lambda text: {"content": text},
    ("profile", "flush"): lambda text: {
        "messages": [{"role": "user", "content": f"From now on I prefer this: {text}"}]
    },
    ("world_and_agents", "remember"): lambda text: {"content": text},
    ("world_and_agents", "reflect"): lambda text: {"content": text},
    ("world_and_agents", "learn_fact"): lambda text: {"topic": "deploys", "content": text},
}
# they take no text that is written
WITHOUT_TEXT = {("four_layers", "compact"), ("four_layers", "clear")}


def assert_nowhere(root: Path, secret: str) -> None:
    """Assert that no file below a root, hidden ones too, holds a text."""
    for path in root.rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes(), path


def notes_of(root: Path) -> str:
    """Return the text of all notes below a root."""
    return "".join(path.read_text() for path in root.rglob("*.md") if path.is_file())


@pytest.fixture
def opened(root: Path) -> commonplace.Store:
    return commonplace.open(root, watch=False)


def test_every_tool_that_writes_is_tried() -> None:
    writing = {
        (name, tool)
        for name in system_names()
        if name in SYSTEMS
        for tool, effect in tools_of(find_system(name)).items()
        if effect != "reads" and tool != "forget"
    }
    assert writing == {*CALLS, *WITHOUT_TEXT}


@pytest.mark.parametrize(
    ("system", "tool", "name"),
    [
        ("facts_and_episodes", "memory_write", f"facts/{TOKEN}.md"),
        ("facts_and_episodes", "memory_append", f"episodes/{TOKEN}.md"),
        ("facts_and_episodes", "memory_patch", f"facts/{TOKEN}.md"),
        ("overview_and_detail", "write_detail", TOKEN),
        ("overview_and_detail", "branch", TOKEN),
    ],
)
def test_the_name_of_a_file_is_no_secret(
    opened: commonplace.Store, root: Path, system: str, tool: str, name: str
) -> None:
    given = CALLS[system, tool]("Tea.")
    parameter = "path" if "path" in given else "name"
    memory = SYSTEMS[system](opened)
    with pytest.raises(Refused, match=f"{parameter} holds a secret"):
        getattr(memory, tool)(**given | {parameter: name})
    assert_nowhere(root, TOKEN)
    assert not list(root.rglob(f"*{TOKEN}*"))


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(("system", "tool"), CALLS, ids=map(".".join, CALLS))
def test_no_tool_writes_a_secret(
    opened: commonplace.Store, root: Path, system: str, tool: str, text: str
) -> None:
    told, secret = TEXTS[text]
    opened.write("facts/old.md", "# Old\n\nTea.\n")
    memory = SYSTEMS[system](opened)
    answer = json.loads(tools_for(memory).call(tool, CALLS[system, tool](told)))
    if tool == "flush" and not answer["remembered"]:
        # no statement of it is kept
        opened.close()
        assert_nowhere(root, secret)
        return
    assert sum(answer["redacted"].values()) > 0
    assert "not stored, as secrets are kept out of the memory: 1 × " in str(answer["notes"]) or (
        sum(answer["redacted"].values()) > 1
    )
    assert secret not in json.dumps(answer, ensure_ascii=False)
    assert sum(opened.status().redactions.values()) == sum(answer["redacted"].values())
    opened.close()
    assert_nowhere(root, secret)


@pytest.mark.parametrize(("system", "tool"), CALLS, ids=map(".".join, CALLS))
def test_what_is_no_secret_is_written_as_it_is(
    opened: commonplace.Store, system: str, tool: str
) -> None:
    opened.write("facts/old.md", "# Old\n\nTea.\n")
    memory = SYSTEMS[system](opened)
    given = CALLS[system, tool]("The password is kept in the vault.")
    if "entry" in given and isinstance(given["entry"], dict):
        given["entry"].pop("metadata")
    answer = tools_for(memory).run(tool, given)
    assert "redacted" not in answer
    assert opened.status().redactions == {}


@pytest.mark.parametrize(("system", "tool"), CALLS, ids=map(".".join, CALLS))
def test_a_store_that_keeps_secrets(root: Path, system: str, tool: str) -> None:
    store = commonplace.open(root, watch=False, keep_secrets=True)
    store.write("facts/old.md", "# Old\n\nTea.\n")
    memory = SYSTEMS[system](store)
    told = TEXTS["password"][0]
    answer = tools_for(memory).run(tool, CALLS[system, tool](told))
    assert "redacted" not in answer
    assert PASSWORD in notes_of(root)


def test_the_value_of_a_name_that_tells_a_credential(opened: commonplace.Store) -> None:
    layers = FourLayers(opened)
    assert layers.learn(KnowledgeEntry("db password", PASSWORD))["redacted"] == {"password": 1}
    known = layers.recall("db password")
    assert known
    assert known.value == "[redacted: password]"
    given = MemoryEntry(
        content="Set up.", metadata={"env": [{"name": "PG_PWD", "value": PASSWORD}]}
    )
    layers.append("episodic", given)
    (kept,) = layers.get_episodic_memory()
    assert kept.metadata == {"env": [{"name": "PG_PWD", "value": "[redacted: password]"}]}
    # what the caller holds is theirs
    assert PASSWORD in str(given.metadata)
    world = WorldAndAgents(opened, "planner")
    assert world.learn_fact("wifi password", PASSWORD)["redacted"] == {"password": 1}
    assert Profile(opened).remember(PASSWORD, "password")["redacted"] == {"password": 1}


def test_a_secret_told_twice_is_known(opened: commonplace.Store) -> None:
    memory = Profile(opened)
    assert memory.remember(TEXTS["password"][0])["added"]
    again = memory.remember(TEXTS["password"][0])
    assert not again["added"]
    assert opened.status().redactions == {"password": 1}


def test_a_patch_may_look_for_a_secret(opened: commonplace.Store) -> None:
    memory = FactsAndEpisodes(opened)
    opened.write("facts/a.md", f"# A\n\n- The password is {PASSWORD}\n- Tea\n")
    memory.memory_append("facts/a.md", "- Coffee")
    # what a person wrote there stays
    assert PASSWORD in opened.read("facts/a.md")
    edits = [{"oldText": f"- The password is {PASSWORD}", "newText": "- It is in the vault"}]
    assert "redacted" not in memory.memory_patch("facts/a.md", edits)  # type: ignore[arg-type]
    assert PASSWORD not in opened.read("facts/a.md")
    # what stands before it in its line names it
    opened.write("facts/b.md", "# B\n\n- db_password: not set yet\n- Tea\n")
    edits = [{"oldText": "not set yet", "newText": PASSWORD}, {"oldText": "- Tea", "newText": "-"}]
    done = memory.memory_patch("facts/b.md", edits)  # type: ignore[arg-type]
    assert done["redacted"] == {"password": 1}
    assert "- db_password: [redacted: password]\n-\n" in opened.read("facts/b.md")


def test_what_a_program_writes_is_what_it_means(opened: commonplace.Store) -> None:
    told = TEXTS["password"][0]
    opened.write("a.md", told)
    opened.append("a.md", told)
    opened.update("a.md", lambda text: f"{text}Tea.\n{told}\n")
    opened.patch("a.md", [("Tea.", TOKEN)])
    assert opened.read("a.md").count(PASSWORD) == 3
    assert TOKEN in opened.read("a.md")


MESSAGES: dict[str, dict[str, Any]] = {
    "text": {"role": "user", "content": TEXTS["password"][0]},
    "Chinese": {"role": "user", "content": TEXTS["Chinese"][0]},
    "blocks": {"role": "user", "content": [{"type": "text", "text": TEXTS["password"][0]}]},
    "tool call": {
        "role": "assistant",
        "content": [
            {"type": "tool_use", "id": "1", "name": "login", "input": {"password": PASSWORD}}
        ],
    },
    "arguments": {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "1", "function": {"name": "f", "arguments": f'{{"password": "{PASSWORD}"}}'}}
        ],
    },
    "tool result": {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "1", "content": f"PGPASSWORD={PASSWORD}"}
        ],
    },
}


@pytest.mark.parametrize("kind", MESSAGES)
def test_no_transcript_is_given_a_secret(opened: commonplace.Store, root: Path, kind: str) -> None:
    log = opened.transcript("sessions/s1")
    assert log.append(MESSAGES[kind]) == 1
    log.extend([MESSAGES[kind], {"type": "note"}])
    OverviewAndDetail(opened, "s2", cwd="/app").append(MESSAGES[kind])
    assert opened.status().redactions == {"password": 3}
    record = json.loads(opened.read(log.path).splitlines()[0])
    assert {*MESSAGES[kind]} <= {*record}
    assert len(log.messages()) == 2
    opened.close()
    assert_nowhere(root, PASSWORD)


def test_a_transcript_of_a_store_that_keeps_secrets(root: Path, tmp_path: Path) -> None:
    store = commonplace.open(root, watch=False, keep_secrets=True)
    store.transcript("a").append(MESSAGES["text"])
    source = tmp_path / "chat.jsonl"
    source.write_text(json.dumps(MESSAGES["text"]) + "\n")
    store.transcript("b").load(source)
    store.import_sessions(source)
    assert all(PASSWORD in path.read_text() for path in root.rglob("messages.jsonl"))
    store.transcript("c").load(source, keep_secrets=False)
    assert PASSWORD not in store.read("c/messages.jsonl")


def test_a_summary_of_a_log_with_a_secret(opened: commonplace.Store) -> None:
    session = OverviewAndDetail(opened, "s", cwd="/app")
    line = json.dumps({"role": "user", "content": TEXTS["password"][0]})
    opened.append(session.messages.path, line)
    (name,) = session.compact(0)
    note = opened.read(f"{session.folder}/working-memory/{name}")
    assert "[redacted: password]" in note
    assert PASSWORD not in note


def test_flush_of_a_transcript_with_a_secret(opened: commonplace.Store, root: Path) -> None:
    line = json.dumps({"role": "user", "content": f"I prefer tabs. The password is {PASSWORD}."})
    opened.append("s/messages.jsonl", line)
    done = Profile(opened).flush("s")
    assert done["remembered"]
    assert done["redacted"] == {"password": 1}
    assert PASSWORD not in notes_of(root)


def test_import_json_of_four_layers(opened: commonplace.Store, tmp_path: Path) -> None:
    entry = {"id": "1", "timestamp": 1_767_225_600_000, "content": TEXTS["password"][0]}
    (tmp_path / "episodic.json").write_text(json.dumps([entry]))
    memory = FourLayers(opened)
    done = memory.import_json(tmp_path)
    assert done["redacted"] == {"password": 1}
    # known again, although it says something else here
    assert memory.import_json(tmp_path)["there"] == 1
    assert PASSWORD not in memory.get_episodic_memory()[0].content


def test_the_mcp_server(opened: commonplace.Store, root: Path) -> None:
    methods = Methods(lambda: opened)
    given = {"name": "remember", "arguments": {"content": TEXTS["password"][0]}}
    answer = methods.answer("tools/call", given)
    assert answer["structuredContent"]["redacted"] == {"password": 1}
    assert opened.status().redactions == {"password": 1}
    methods.close()
    assert_nowhere(root, PASSWORD)


def test_the_command_append(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def shell(*words: str) -> str:
        run(["--root", str(root), *words])
        return capsys.readouterr().out

    assert "redacted: 1 × password" in shell("append", "a.md", f"the password is {PASSWORD}")
    assert "redacted      1 × password" in shell("status")
    told = shell("append", "a.md", f"the password is {PASSWORD}", "--json")
    assert json.loads(told)["redacted"] == {"password": 1}
    assert PASSWORD not in (root / "a.md").read_text()
    assert "redacted" not in shell("append", "a.md", "the password is secret", "--json")
    shell("append", "b.md", f"the password is {PASSWORD}", "--keep-secrets")
    assert PASSWORD in (root / "b.md").read_text()


def test_the_commands_of_memory_systems(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def shell(*words: str) -> str:
        assert run(["--root", str(root), *words]) == 0
        return capsys.readouterr().out

    told = TEXTS["password"][0]
    assert "secrets are kept out of the memory: 1 × password" in shell("profile", "remember", told)
    assert "1 × password" in shell("four-layers", "learn", "db password", PASSWORD)
    assert PASSWORD not in notes_of(root)
    shell("profile", "remember", told, "--keep-secrets")
    assert PASSWORD in notes_of(root)


@dataclasses.dataclass(frozen=True)
class Note:
    title: str
    parts: tuple[str, ...]


def test_values_keep_their_types() -> None:
    note = Note("a", (TOKEN, "b"))
    changed, counts = redact(note)
    assert changed == Note("a", ("[redacted: GitHub token]", "b"))
    assert counts == {"GitHub token": 1}
    same = {"a": [1, 2.5, None, b"x"], "\ud800": "\udc00"}
    assert redact(same)[0] is same
    two, _ = redact({TOKEN: 1, TOKEN[:-1] + "x": 2, "n": 3})
    assert sorted(two.values()) == [1, 2, 3]
    assert TOKEN not in str(two)


def test_a_known_secret_stays() -> None:
    text = f"password={PASSWORD}\ntoken {TOKEN}\n"
    changed, counts = redact(text, known=f"It was {PASSWORD}.")
    assert changed == f"password={PASSWORD}\ntoken [redacted: GitHub token]\n"
    assert counts == {"GitHub token": 1}


@given(st.recursive(st.text(max_size=20), lambda inner: st.lists(inner, max_size=3), max_leaves=5))
def test_redaction_is_done_once(value: object) -> None:
    changed, _ = redact([value, TEXTS["token"][0]])
    assert redact(changed) == (changed, {})
