"""Acceptance tests of facts and episodes: memory across restarts, readable and editable files."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

import commonplace
from commonplace import Store
from commonplace.memories.facts_and_episodes import FactsAndEpisodes
from tests.memories.facts_and_episodes.helpers import FEBRUARY, LOGGER, SHORT, USER, listed


def test_what_the_reflector_is_given(memory: FactsAndEpisodes) -> None:
    memory.memory_write("facts/user.md", USER)
    memory.memory_append(FEBRUARY, LOGGER)
    assert memory.facts() == {"facts/user.md": USER}
    assert re.fullmatch(
        r"- episodes/2026-02\.md \(\d+B\): Logger stdout leak fix", memory.episode_index()
    )


# Acceptance criteria


def test_1_remembers_user_info_across_restarts(root: Path) -> None:
    with commonplace.open(root) as store:
        FactsAndEpisodes(store).memory_write("facts/user.md", "# User\n\n- Name: Zhang San\n")
    with commonplace.open(root) as store:
        memory = FactsAndEpisodes(store)
        index = memory.index_message(1)
        assert index
        assert "- facts/user.md (" in index
        assert "): name\n" in index
        assert "Zhang San" in memory.memory_read("facts/user.md")
        assert store.search("what's my name?")[0].path == "facts/user.md"


def test_2_remembers_past_work(memory: FactsAndEpisodes, store: Store) -> None:
    memory.memory_append(FEBRUARY, LOGGER)
    memory.memory_append(FEBRUARY, SHORT)
    (hit, *_) = store.search("what bug did we fix last time, the logger leak?")
    assert hit.heading[-1] == "Logger stdout leak fix"
    assert "Custom line-transport.js" in hit.text
    assert "Logger stdout leak fix" in (memory.index_message(1) or "")


def test_3_files_are_readable(memory: FactsAndEpisodes, root: Path) -> None:
    memory.memory_write("facts/user.md", "# User Facts\n\n- Name: Zhang San\n- Role: developer\n")
    assert (root / "data/memory/facts/user.md").read_text() == (
        "# User Facts\n\n> Summary: name, role\n\n- Name: Zhang San\n- Role: developer\n"
    )


def test_4_files_are_editable_by_hand(memory: FactsAndEpisodes, root: Path) -> None:
    memory.memory_write("facts/user.md", USER)
    file = root / "data/memory/facts/user.md"
    file.write_text(USER.replace("Zhang San", "Wang Wu").replace("user name", "full name"))
    assert "Wang Wu" in memory.memory_read("facts/user.md")
    assert listed(memory)["facts/user.md"] == "full name, language, role"
    file.unlink()
    with pytest.raises(commonplace.NotFound):
        memory.memory_read("facts/user.md")


def test_5_no_dependency_beyond_the_declared_ones() -> None:
    package = Path(commonplace.__file__).parent
    pyproject = Path(__file__).parents[3] / "pyproject.toml"
    declared = tomllib.loads(pyproject.read_text())["project"]["dependencies"]
    allowed = {re.split(r"[^\w-]", name)[0] for name in declared} | {"commonplace", "__future__"}
    for path in (package / "memories").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                top = name.split(".")[0]
                assert top in allowed | sys.stdlib_module_names, f"{path.name}: {name}"
