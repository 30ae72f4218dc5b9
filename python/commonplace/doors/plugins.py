"""Plugins: hooks, MCP server and skill in one folder, in the form of a host or as Agent Plugins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from commonplace._core import __version__
from commonplace.doors.hermes_plugin import ABOUT, NAME, plugin_texts
from commonplace.doors.hook_entries import add_hooks, hook_command
from commonplace.doors.hosts import find_host
from commonplace.doors.install import skill_text
from commonplace.errors import Refused

WITH_HOOKS = ("claude-code", "codex")
FORMS = (*WITH_HOOKS, "agent-plugins", "hermes")
# those that add what fits to a prompt
RECALLING = (*WITH_HOOKS, "hermes")
# the schemas that a reader of this form looks for
SCHEMAS = "https://agent-plugins.org/schemas/1.0.0"
PLUGIN = "plugin"
# this form has no hooks, so nothing is kept automatically
PORTABLE_ABOUT = "Memory of earlier sessions and notes: search it, read it, add to it."
README = f"""# {NAME}

{ABOUT} Sessions are plain files in `~/.commonplace`, or in the folder that
`$COMMONPLACE_ROOT` names, with keys and passwords replaced. Hooks import each session and add to a
prompt the passages that are relevant to it, as quotations with their source; for most prompts there
are none. With a skill and an MCP server the model can search further.

The program `commonplace` must be on the path: `pip install commonplace`. `commonplace log` shows
what was given to the model, and `commonplace doctor` checks that everything works.
"""


def plugin_files(
    form: str, *, with_mcp: bool, min_confidence: float | None = None
) -> dict[str, str]:
    """Return the files of a plugin by their paths; for a host with the catalogue that lists it.

    Args:
        form: One of `FORMS`.
        with_mcp: Name the MCP server; Hermes has the tools without it.
        min_confidence: The least confidence of a hit that hooks inject, in place of the default.

    >>> sorted(plugin_files("agent-plugins", with_mcp=True))
    ['mcp.json', 'plugin.json', 'skills/commonplace/SKILL.md']
    """
    if form == "hermes":
        return plugin_texts(min_confidence=min_confidence)
    # the memory of the hooks, and none that came with the project in which a host starts it
    server = {"command": NAME, "args": ["mcp", "--user"]}
    manifest: dict[str, Any] = {
        "name": NAME,
        "version": __version__,
        "description": ABOUT,
        "license": "MIT",
    }
    manifest |= {"author": {"name": NAME}, "keywords": ["memory", "search", "sessions"]}
    skill = {f"skills/{NAME}/SKILL.md": skill_text()}
    if form == "agent-plugins":
        manifest = {"$schema": f"{SCHEMAS}/plugin.schema.json"} | manifest
        files = {"plugin.json": _json(manifest | {"description": PORTABLE_ABOUT})}
        if with_mcp:
            servers = {NAME: {"type": "stdio"} | server}
            content = {"$schema": f"{SCHEMAS}/mcp.schema.json", "mcpServers": servers}
            files["mcp.json"] = _json(content)
        return files | skill
    host = find_host(form)
    command = hook_command(NAME, host, None, in_project=False, min_confidence=min_confidence)
    inner = {"hooks/hooks.json": add_hooks(host, "", command)} | skill
    if with_mcp:
        inner[".mcp.json"] = _json({"mcpServers": {NAME: server}})
    if form == "codex":
        # Codex looks for these where the manifest says
        manifest |= {"skills": "./skills/", "hooks": "./hooks/hooks.json"}
        manifest |= {"mcpServers": "./.mcp.json"} if with_mcp else {}
    folder, catalogue = _CATALOGUES[form]
    inner[f"{folder}/plugin.json"] = _json(manifest)
    inner["README.md"] = README
    return {f"{PLUGIN}/{path}": text for path, text in inner.items()} | catalogue()


def write_plugin(
    form: str, folder: Path, *, with_mcp: bool, min_confidence: float | None = None
) -> None:
    """Write a plugin to a new folder; see `plugin_files`.

    Raises:
        Refused: There is something in the folder.
        OSError: The system refused.
    """
    if folder.exists() and any(folder.iterdir()):
        raise Refused(f"{folder} is not empty; name a new folder")
    files = plugin_files(form, with_mcp=with_mcp, min_confidence=min_confidence)
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")


def _claude_catalogue() -> dict[str, str]:
    listed = {"name": NAME, "source": f"./{PLUGIN}", "description": ABOUT}
    content = {"name": NAME, "owner": {"name": NAME}, "plugins": [listed]}
    content["metadata"] = {"description": ABOUT}
    return {".claude-plugin/marketplace.json": _json(content)}


def _codex_catalogue() -> dict[str, str]:
    listed: dict[str, Any] = {"name": NAME, "category": "Productivity"}
    listed["source"] = {"source": "local", "path": f"./{PLUGIN}"}
    listed["policy"] = {"installation": "AVAILABLE", "authentication": "ON_INSTALL"}
    return {".agents/plugins/marketplace.json": _json({"name": NAME, "plugins": [listed]})}


_CATALOGUES = {
    "claude-code": (".claude-plugin", _claude_catalogue),
    "codex": (".codex-plugin", _codex_catalogue),
}


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2) + "\n"
