"""Files of a host that an installation changes: hooks, MCP server, skill."""

from __future__ import annotations

import os
import shlex
from importlib import resources
from pathlib import Path

from commonplace.doors import jsonc
from commonplace.doors.hermes_plugin import hermes_files
from commonplace.doors.hook import memory_root
from commonplace.doors.hook_entries import add_hooks, drop_hooks, hook_command
from commonplace.doors.hosts.host import Host
from commonplace.doors.mcp_entries import add_server, drop_server, has_other_server, load_toml
from commonplace.doors.opencode_plugin import plugin_text
from commonplace.doors.settings_file import OwnFile, SettingsFile, read_settings
from commonplace.errors import FormatError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def skill_text(root: str | None = None) -> str:
    """Return the skill that tells an agent how to look something up.

    Args:
        root: The memory that its commands name; None: they take that of where they are run.
    """
    text = resources.files("commonplace.doors").joinpath("SKILL.md").read_text("utf-8")
    called = shlex.join(["commonplace", *(["--root", root] if root else [])])
    # each command is in a span of code
    return text.replace("`commonplace ", f"`{called} ")


def hooks_file(host: Host, command: list[str], project: Path | None) -> SettingsFile:
    """Return the file with the hooks of a host, or with the plugin that calls them.

    Args:
        host: The host.
        command: What is run for each of its events.
        project: The folder of the project; None for the settings of the user.
    """
    path = folder(host, project) / host.settings.hooks
    if path.suffix == ".js":
        return OwnFile(path, plugin_text(command), own_folders=1)
    return SettingsFile(
        path,
        lambda text: add_hooks(host, text, command),
        lambda text: drop_hooks(host, text),
    )


def installed_files(
    host: Host,
    program: str,
    root: str | None,
    project: Path | None,
    *,
    with_mcp: bool,
    min_confidence: float | None = None,
) -> list[SettingsFile]:
    """Return the files that connect a host.

    Args:
        host: The host.
        program: How `commonplace` is called: its path, or in a project, which others share, its
            name.
        root: A root in place of the default.
        project: The folder of the project, whose memory it is; None for those of the user.
        with_mcp: Name the MCP server too.
        min_confidence: The least confidence of a hit that is injected, in place of the default.

    Raises:
        ValueError: The host has no settings of a project.
    """
    own = folder(host, project)
    if root is None and not project:
        # by its name: a host starts these in a project, and with variables, which may name another
        root = str(memory_root(None))
    root = str(Path(root).absolute()) if root else None
    if host.is_provider:
        return hermes_files(own, root, min_confidence)
    skill = OwnFile(_skills(host, project) / "commonplace" / "SKILL.md", skill_text(root))
    mcp = _mcp_file(host, program, root, own, in_project=project is not None)
    if not host.events:
        return [mcp, skill] if with_mcp else [skill]
    command = hook_command(
        program, host, root, in_project=project is not None, min_confidence=min_confidence
    )
    hooks = hooks_file(host, command, project)
    if not with_mcp:
        return [hooks, skill]
    if mcp.path == hooks.path:
        return [
            SettingsFile(
                mcp.path,
                lambda text: mcp.add(hooks.add(text)),
                lambda text: mcp.drop(hooks.drop(text)),
            ),
            skill,
        ]
    return [hooks, mcp, skill]


def _mcp_file(
    host: Host, program: str, root: str | None, own: Path, *, in_project: bool
) -> SettingsFile:
    """Return the file with the MCP servers of a host; `root` is absolute."""
    server = [program, *(["--root", root] if root else []), "mcp"]
    server += ["--project"] if in_project and root is None else []
    key = host.settings.servers
    return SettingsFile(
        mcp_path(host, own, in_project=in_project),
        lambda text: add_server(text, server, key),
        lambda text: drop_server(text, key),
    )


def other_server(host: Host, project: Path | None) -> Path | None:
    """Return the file in which another MCP server has our name, which stays; None without one.

    Raises:
        ValueError: The file is broken.
        OSError: The system refused.
    """
    if not host.settings.mcp[0]:
        return None
    path = mcp_path(host, folder(host, project), in_project=project is not None)
    return path if has_other_server(read_settings(path) or "", host.settings.servers) else None


def hooks_off(host: Host, project: Path | None) -> str:
    """Say by which setting a host runs no hooks; "" where it runs them.

    Raises:
        FormatError: A file is broken.
        OSError: The system refused.
    """
    switch = host.settings.hook_switch
    if switch is None:
        return ""
    paths = [folder(host, None) / switch.file]
    if project:
        own = folder(host, project)
        paths[:0] = [own / name for name in (switch.local, switch.file) if name]
    for path in paths:
        settings = _settings(path)
        for key, off in switch.values.items():
            value = _member(settings, key)
            if value == off:
                told = f"{key} is {str(off).lower()} in {path}; set it to {str(not off).lower()}"
                return f"{host.title} runs no hooks: {told}"
            if value is not None:
                # the first file that says something counts
                return ""
    return ""


def _settings(path: Path) -> Any:
    text = read_settings(path) or ""
    try:
        return load_toml(text) if path.suffix == ".toml" else jsonc.parse(text).value
    except ValueError as error:
        raise FormatError(f"{path}: {error}") from None


def _member(settings: Any, key: str) -> Any:
    for name in key.split("."):
        settings = settings.get(name) if isinstance(settings, dict) else None
    return settings


def folder(host: Host, project: Path | None) -> Path:
    """Return the folder in which a host has its settings.

    Raises:
        ValueError: It has none in a project.
    """
    if project and host.is_provider:
        raise ValueError(f"{host.title} has no settings of a project; leave --project out")
    if project:
        return project / host.settings.project_folder
    named = _named_folder(host)
    return Path(named) if named else _in_home(host.settings.folder)


def _in_home(folder: str) -> Path:
    """Return a folder of a home; `$XDG_CONFIG_HOME` stands for its `.config`."""
    config = os.environ.get("XDG_CONFIG_HOME")
    if config and folder.startswith(".config/"):
        return Path(config) / folder.removeprefix(".config/")
    return Path.home() / folder


def _skills(host: Host, project: Path | None) -> Path:
    """Return the folder in which a host has its skills."""
    if not host.settings.skills:
        return folder(host, project) / "skills"
    in_home, in_project = host.settings.skills
    return project / in_project if project else Path.home() / in_home


def _named_folder(host: Host) -> str | None:
    return os.environ.get(host.settings.variable) if host.settings.variable else None


def mcp_path(host: Host, own: Path, *, in_project: bool) -> Path:
    """Return the file in which a host names MCP servers, `own` being its folder."""
    name = host.settings.mcp[in_project]
    # what lies beside the folder in a home is in it, where it has another place
    if not in_project and _named_folder(host):
        name = name.rpartition("/")[2]
    return own.parent / name.removeprefix("../") if name.startswith("../") else own / name
