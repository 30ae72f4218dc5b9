"""Plugin of Hermes Agent, and the setting that chooses it as the memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from commonplace._core import __version__
from commonplace.doors.settings_file import OwnFile, SettingsFile

NAME = "commonplace"
ABOUT = "Memory of earlier sessions and notes: kept automatically, recalled when relevant."
SETTINGS = "config.yaml"
FOLDER = "plugins/commonplace"
# Hermes loads this in its own environment, by the folder in which it lies
_PLUGIN = '''"""Memory provider of commonplace for Hermes Agent."""

from agent.memory_provider import MemoryProvider
from commonplace.doors.hermes import HermesMemory


class Provider(HermesMemory, MemoryProvider):
    """The memory of commonplace."""


def register(ctx):
    ctx.register_memory_provider(Provider({arguments}))
'''


def plugin_texts(root: str | None = None, min_confidence: float | None = None) -> dict[str, str]:
    """Return the files of the plugin by their names.

    Args:
        root: Of the memory, in place of the default.
        min_confidence: The least confidence of a hit that is injected, in place of the default.
    """
    described = f"name: {NAME}\ndescription: {json.dumps(ABOUT)}\nversion: {__version__}\n"
    # `hermes memory setup` installs it in the environment of Hermes
    described += f"pip_dependencies: [{NAME}]\n"
    arguments = [repr(root)] if root else []
    arguments += [] if min_confidence is None else [f"min_confidence={min_confidence!r}"]
    return {
        "plugin.yaml": described,
        "__init__.py": _PLUGIN.format(arguments=", ".join(arguments)),
    }


def hermes_files(
    folder: Path, root: str | None, min_confidence: float | None = None
) -> list[SettingsFile]:
    """Return the files that connect Hermes.

    Args:
        folder: Its home.
        root: As for `plugin_texts`.
        min_confidence: As for `plugin_texts`.
    """
    texts = plugin_texts(root, min_confidence)
    plugin = [OwnFile(folder / FOLDER / name, text) for name, text in texts.items()]
    return [SettingsFile(folder / SETTINGS, add_provider, drop_provider), *plugin]


def provider_of(text: str) -> str:
    """Return the name of the memory provider that a settings text chooses, "" for none.

    Raises:
        ValueError: The text is broken.
    """
    settings = _Settings(text)
    return str(_chosen(settings.value) or "")


def add_provider(text: str) -> str:
    """Return a settings text that chooses our provider.

    Raises:
        ValueError: The text is broken, or chooses another one: Hermes has one at a time.
    """
    settings = _Settings(text)
    chosen = _chosen(settings.value)
    if chosen == NAME:
        return text
    if chosen:
        raise ValueError(
            f"memory.provider is {chosen!r:.60}, and Hermes has one at a time; "
            '`hermes config set memory.provider ""` turns it off'
        )
    return settings.with_provider(NAME)


def drop_provider(text: str) -> str:
    """Return a settings text that does not choose our provider.

    Raises:
        ValueError: The text is broken.
    """
    settings = _Settings(text)
    return settings.with_provider("") if _chosen(settings.value) == NAME else text


class _Settings:
    """A text of YAML, of which one value is changed and nothing else."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._node = yaml.compose(text, yaml.SafeLoader)
            self.value = yaml.safe_load(text)
        except yaml.MarkedYAMLError as error:
            where = error.problem_mark or error.context_mark
            at = f"line {where.line + 1}, column {where.column + 1}: " if where else ""
            raise ValueError(f"{at}{error.problem or error.context}") from None
        except yaml.YAMLError as error:
            raise ValueError(str(error)) from None
        except RecursionError:
            raise ValueError("line 1: nested too deeply") from None
        memory = self.value.get("memory") if isinstance(self.value, dict) else self.value
        if not isinstance(memory, dict | None):
            raise ValueError("line 1, column 1: a mapping is expected, with one below 'memory'")

    def with_provider(self, name: str) -> str:
        """Return the text with `memory.provider`, the rest as it is.

        Raises:
            ValueError: It is written in a way that cannot be edited.
        """
        expected = self.value if isinstance(self.value, dict) else {}
        expected = {**expected, "memory": {**(expected.get("memory") or {}), "provider": name}}
        value = name or '""'
        start, end, put = self._edit(f"provider: {value}", value)
        new = f"{self.text[:start]}{put}{self.text[end:]}"
        try:
            found = yaml.safe_load(new)
        except yaml.YAMLError:
            found = None
        if found != expected:
            raise ValueError(
                f"memory.provider cannot be edited here; `hermes config set memory.provider "
                f'"{name}"` does it'
            )
        return new

    def _edit(self, line: str, value: str) -> tuple[int, int, str]:
        """Return what is to be replaced, from where to where, and what by."""
        newline = "\r\n" if "\r\n" in self.text else "\n"
        memory = _member(self._node, "memory")
        if memory is None:
            end = len(self.text)
            gap = "" if not self.text or self.text.endswith("\n") else newline
            return end, end, f"{gap}memory:{newline}  {line}{newline}"
        start, end = memory.start_mark.index, memory.end_mark.index
        if not isinstance(memory, yaml.MappingNode):
            return start, end, f"{newline}  {line}"
        provider = _member(memory, "provider")
        if provider is not None:
            start, end = provider.start_mark.index, provider.end_mark.index
            return start, end, value if end > start else f" {value}"
        if memory.flow_style:
            return start + 1, start + 1, f"{line}, " if memory.value else line
        first = memory.value[0][0].start_mark
        return first.index, first.index, f"{line}{newline}{' ' * first.column}"


def _chosen(settings: Any) -> Any:
    memory = settings.get("memory") if isinstance(settings, dict) else None
    return memory.get("provider") if isinstance(memory, dict) else None


def _member(node: Any, name: str) -> Any:
    """Return the node of a value in a mapping; None where there is none."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    return next((value for key, value in pairs if key.value == name), None)
