"""Plugins as `commonplace plugin` writes them; hosts themselves take them in `test_hosts`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import commonplace
from commonplace.cli import run
from commonplace.doors.hosts import find_host
from commonplace.doors.plugins import FORMS, plugin_files, write_plugin
from commonplace.errors import Refused


# that of Hermes is a module; test_door_hermes loads it
@pytest.mark.parametrize("form", [form for form in FORMS if form != "hermes"])
@pytest.mark.parametrize("with_mcp", [False, True])
def test_each_file_that_is_named_is_there(form: str, with_mcp: bool) -> None:
    files = plugin_files(form, with_mcp=with_mcp)
    for path, text in files.items():
        content = json.loads(text) if path.endswith(".json") else {}
        base = Path(path).parent if path == "plugin.json" else Path("plugin")
        for key in ("skills", "hooks", "mcpServers"):
            if isinstance(content.get(key), str):
                named = str(base / content[key])
                assert any(one.startswith(named) for one in files), named
    assert any(path.endswith("mcp.json") for path in files) == with_mcp
    assert sum(path.endswith("skills/commonplace/SKILL.md") for path in files) == 1
    # the directory of Claude Code takes none without, of at least 40 words
    assert form == "agent-plugins" or len(files["plugin/README.md"].split()) >= 40


@pytest.mark.parametrize("form", ["claude-code", "codex"])
def test_hooks_run_the_command_by_its_name(form: str) -> None:
    hooks = json.loads(plugin_files(form, with_mcp=False)["plugin/hooks/hooks.json"])["hooks"]
    assert {*hooks} == {*find_host(form).events}
    for groups in hooks.values():
        assert groups[0]["hooks"][0]["command"] == f"commonplace hook {form}"


@pytest.mark.parametrize("form", ["claude-code", "codex", "agent-plugins"])
def test_the_server_has_the_memory_of_the_hooks(form: str, tmp_path: Path) -> None:
    (name,) = (name for name in plugin_files(form, with_mcp=True) if name.endswith("mcp.json"))
    (server,) = json.loads(plugin_files(form, with_mcp=True)[name])["mcpServers"].values()
    cloned = tmp_path / "cloned"
    (cloned / ".commonplace").mkdir(parents=True)
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "status"}}
    environment = {key: value for key, value in os.environ.items() if key != "COMMONPLACE_ROOT"}
    done = subprocess.run(
        [sys.executable, "-m", "commonplace", *server["args"]],
        input=json.dumps(request).encode() + b"\n",
        capture_output=True,
        check=True,
        cwd=cloned,
        env=environment | {"HOME": str(tmp_path)},
    )
    answer = json.loads(done.stdout)["result"]["structuredContent"]
    assert answer["root"] == str(tmp_path / ".commonplace")


def test_the_portable_form_has_no_other_fields() -> None:
    files = plugin_files("agent-plugins", with_mcp=True)
    manifest, servers = json.loads(files["plugin.json"]), json.loads(files["mcp.json"])
    allowed = "$schema name version description author homepage repository license keywords"
    assert {*manifest} <= {*allowed.split(), "extensions"}
    assert manifest["version"] == commonplace.__version__
    assert {*servers} == {"$schema", "mcpServers"}
    assert servers["mcpServers"]["commonplace"]["type"] == "stdio"


def test_an_outside_reader_finds_nothing_wrong_with_the_portable_form(tmp_path: Path) -> None:
    """The reader of PyPI's `agent-plugins`, and the reference validator of Agent Skills."""
    reader = pytest.importorskip("agent_plugins", reason="it comes with the extra `doors`")
    skills = pytest.importorskip("skills_ref", reason="it comes with the extra `doors`")
    write_plugin("agent-plugins", tmp_path, with_mcp=True)
    plugin = reader.Plugin(tmp_path)
    assert (plugin.manifest.name, plugin.manifest.issues) == ("commonplace", ())
    assert (list(plugin.mcp.servers), plugin.mcp.issues) == (["commonplace"], ())
    assert [skill.name for skill in plugin.skills] == ["commonplace"]
    assert skills.validate(tmp_path / "skills" / "commonplace") == []
    # and it does look
    servers = tmp_path / "mcp.json"
    servers.write_text(servers.read_text().replace('"stdio"', '"other"'))
    assert reader.Plugin(tmp_path).mcp.issues


def test_a_folder_in_use_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "own").write_text("mine")
    with pytest.raises(Refused, match="is not empty"):
        write_plugin("codex", tmp_path, with_mcp=False)
    assert [path.name for path in tmp_path.iterdir()] == ["own"]


@pytest.mark.parametrize("form", ["claude-code", "codex"])
def test_the_hooks_of_a_plugin_take_a_least_confidence(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plugin", form, str(tmp_path / "p"), "--min-confidence", "0.5"]) == 0
    hooks = (tmp_path / "p" / "plugin" / "hooks" / "hooks.json").read_text()
    commands = re.findall(r'"command": "([^"]*)"', hooks)
    assert commands
    assert all(command.endswith(f"hook {form} --min-confidence 0.5") for command in commands)
    capsys.readouterr()
    assert run(["plugin", "hermes", str(tmp_path / "h"), "--min-confidence", "0.5"]) == 0
    assert "Provider(min_confidence=0.5)" in (tmp_path / "h" / "__init__.py").read_text()
    assert run(["plugin", "agent-plugins", str(tmp_path / "a"), "--min-confidence", "0.5"]) == 2
    assert "from agent-plugins it gets nothing" in capsys.readouterr().err
    assert not (tmp_path / "a").exists()
