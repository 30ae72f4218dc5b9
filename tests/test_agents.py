"""Agent configuration: memory tools and directive with a memory section, neither without."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace.errors import FormatError, NotFound, Refused, StorageError
from commonplace.memories.world_and_agents import WorldAndAgents
from commonplace.memories.world_and_agents.agent_file import (
    load_agent,
    memory_directive,
    with_memory_directive,
)
from commonplace.tools.toolset import tools_of

OF_THE_DESIGN = """\
# agent.yaml
spec:
  memory:
    backend: filesystem               # default: filesystem (future: pluggable)
    workspace: .agnx/memory           # default: .agnx/memory

  tools:
    - type: builtin
      name: bash
    # Memory tools are automatically enabled when memory section is present
"""


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "agent.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_the_configuration_of_the_design(tmp_path: Path) -> None:
    agent = load_agent(written(tmp_path, OF_THE_DESIGN))
    assert agent.backend == "filesystem"
    assert agent.workspace == tmp_path / ".agnx" / "memory"
    assert agent.tools == ({"type": "builtin", "name": "bash"},)
    memory = agent.open_memory("planner")
    assert isinstance(memory, WorldAndAgents)
    with memory.store:
        memory.learn_fact("people", "- Mara")
        assert (tmp_path / ".agnx/memory/world/people.md").read_text() == "- Mara"
    assert agent.system_prompt("Be brief.") == f"Be brief.\n\n{memory_directive()}"
    with pytest.raises(Refused):
        agent.open_memory("../planner")


def test_agents_of_one_workspace_share_the_world(tmp_path: Path) -> None:
    agent = load_agent(written(tmp_path, OF_THE_DESIGN))
    one, two = agent.open_memory("one"), agent.open_memory("two")
    assert isinstance(one, WorldAndAgents)
    assert isinstance(two, WorldAndAgents)
    with one.store, two.store:
        one.learn_fact("people", "- Mara")
        one.remember("my secret")
        assert "- Mara" in two.recall()
        assert "secret" not in two.recall()
        assert "secret" in one.recall()


@pytest.mark.parametrize("memory", ["memory:", "memory: {}", "memory: {backend: , workspace: ~}"])
def test_an_empty_section_means_the_defaults(tmp_path: Path, memory: str) -> None:
    agent = load_agent(written(tmp_path, f"spec:\n  {memory}\n"))
    assert (agent.backend, agent.workspace) == ("filesystem", tmp_path / ".agnx" / "memory")
    assert agent.tools == ()


@pytest.mark.parametrize(
    "text", ["", "spec:\n", "spec:\n  tools: [{type: builtin}]\n", "name: x\n"]
)
def test_without_a_section_there_is_no_memory(tmp_path: Path, text: str) -> None:
    agent = load_agent(written(tmp_path, text))
    assert agent.open_memory("planner") is None
    assert agent.system_prompt("Be brief.") == "Be brief."
    assert len(agent.tools) == ("tools" in text)
    assert [path.name for path in tmp_path.iterdir()] == ["agent.yaml"]


def test_a_workspace_is_relative_to_the_file_absolute_or_at_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "deep").mkdir()

    def workspace(text: str) -> Path | None:
        written(tmp_path / "deep", f"spec: {{memory: {{workspace: {text}}}}}")
        return load_agent("deep/agent.yaml").workspace

    assert workspace("notes") == tmp_path / "deep" / "notes"
    assert workspace("/srv/notes") == Path("/srv/notes")
    assert workspace("~/notes") == tmp_path / "home" / "notes"


def test_the_directive_names_only_tools_that_are_there() -> None:
    named = re.compile(r"`(\w+)`")
    there = set(tools_of(WorldAndAgents))
    assert set(named.findall(memory_directive())) == there | {"expected_version"}
    for tools in (["recall", "remember"], ["remember", "reflect"], ["recall", "learn_fact"]):
        assert set(named.findall(memory_directive(tools))) - {"expected_version"} == set(tools)
    prompt = with_memory_directive("Be brief.", ["recall"])
    assert prompt == with_memory_directive(prompt, ["recall"])


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("- a\n", 1, "the whole is a mapping"),
        ("\nspec: 5\n", 2, "`spec` is a mapping, not 5"),
        ("spec:\n  memory: false\n", 2, "`memory` is a mapping, not False"),
        ("spec:\n  memory:\n    backend: [a]\n", 3, r"`backend` is text, not \['a'\]"),
        ("spec:\n  memory:\n    workspace: 7\n", 3, "`workspace` is text, not 7"),
        ("spec:\n  memory:\n    workspace: ' '\n", 3, "`workspace` is text"),
        (
            "spec:\n  memory:\n    backend: sqlite\n",
            3,
            "no backend 'sqlite'; the only one is `filesystem`",
        ),
        ("spec:\n  memory:\n    path: x\n", 3, "'path' is not known; .*`backend`, `workspace`"),
        ("spec:\n  memory:\n    1: x\n", 3, "1 is not known"),
        ("spec:\n  tools: bash\n", 2, "`tools` is a list of mappings"),
        ("spec:\n  tools:\n    - bash\n", 2, "`tools` is a list of mappings"),
        ("spec:\n  memory:\n  memory:\n", 3, "'memory' stands here twice"),
        ("spec:\n  tools: [{a: 1, a: 2}]\n", 2, "'a' stands here twice"),
        ("spec:\n  memory: [\n", 3, "not YAML"),
        ("a: b: c\n", 1, "not YAML"),
        ("spec:\n  tools: !!python/object:os.system x\n", 2, "not YAML: could not determine"),
        ("a: 1\n---\nb: 2\n", 2, "not YAML"),
        ("a: *b\n", 1, "not YAML"),
        ("a: 1\nb: \0\n", 2, "not YAML"),
        (b"a: 1\nb: caf\xe9\n", 2, "not UTF-8"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    tmp_path: Path, text: str | bytes, line: int, why: str
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(FormatError, match=f"^{path}:{line}: .*{why}"):
        load_agent(path)


@pytest.mark.parametrize(
    "text",
    ["[" * 50_000, "a: 2026-99-99", "a: !!int x", "x" * 100_001, "a: &a [" + "*a, " * 20_000 + "]"],
)
def test_hostile_files_are_refused_in_time(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    if text.startswith("a: &a"):
        assert load_agent(path).backend is None
        return
    with pytest.raises(FormatError, match=r"agent\.yaml"):
        load_agent(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no file .*agent\.yaml"):
        load_agent(tmp_path / "agent.yaml")
    with pytest.raises(StorageError, match="cannot be read"):
        load_agent(tmp_path)


def test_the_directive_names_every_tool_and_stands_once() -> None:
    for tool in ("recall", "remember", "reflect", "learn_fact", "search_memory"):
        assert f"`{tool}`" in memory_directive()
        assert hasattr(WorldAndAgents, tool)
    prompt = with_memory_directive("You plan.")
    assert prompt.startswith("You plan.\n\n# Memory\n")
    assert with_memory_directive(prompt) == prompt
    assert with_memory_directive("") == memory_directive()


def test_yaml_is_loaded_when_a_file_is_read() -> None:
    module = "commonplace.memories.world_and_agents.agent_file"
    program = f"import sys, {module}; sys.exit('yaml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
