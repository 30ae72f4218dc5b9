"""Arguments of the command line for a tool of a memory, made of the schema of the tool."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from commonplace.cli import options
from commonplace.cli.parser import Argument, argument, count
from commonplace.tools import Tool

# Working memory is that of a process: a command would lose what it is given
PROCESS_LAYER = "working"
# Texts that are kept: the last argument, else on stdin or in a file
TEXTS = {"content", "entry", "message", "messages", "value"}


class Parameter(NamedTuple):
    """A parameter of a tool, or a field of one that is an object."""

    path: tuple[str, ...]
    shape: dict[str, Any]
    is_required: bool

    @property
    def name(self) -> str:
        """What it is called on the command line."""
        return self.path[-1]


def parameters_of(tool: Tool) -> list[Parameter]:
    """Return the parameters that the command line gives, texts that are kept at the end."""
    found: list[Parameter] = []
    required = tool.parameters["required"]
    for name, shape in tool.parameters["properties"].items():
        if name == "start" and tool.pages:
            # a person gets the whole answer
            continue
        fields = _object(shape)
        if not fields:
            found.append(Parameter((name,), shape, name in required))
            continue
        for inner, part in fields["properties"].items():
            # the version of an entry is given by a read only
            if inner != "version":
                needed = name in required and inner in fields.get("required", ())
                found.append(Parameter((name, inner), part, needed))
    return sorted(found, key=lambda one: one.is_required and one.name in TEXTS)


def arguments_of(tool: Tool, commands: dict[str, str]) -> list[Argument]:
    """Return the arguments of a tool.

    Args:
        tool: The tool.
        commands: What the tools of the memory are called on the command line.
    """
    found: list[Argument] = []
    for one in parameters_of(tool):
        # in help, % is a placeholder of argparse
        about = with_commands(one.shape.get("description", ""), commands).replace("%", "%%")
        if one.name == "patches":
            found += [options.OLD, options.NEW]
        elif one.is_required and one.name in TEXTS:
            what = "The conversation" if one.name == "messages" else "The text"
            told = f'{about} {what}; "-" or none: read it from stdin.'.strip()
            found += [argument(one.name, nargs="?", help=told), options.FILE]
        elif one.name == "query":
            found.append(argument("query", nargs="+" if one.is_required else "*", help=about))
        elif one.is_required:
            settings = _settings(one.shape)
            if "choices" in settings:
                about = f"{about} One of: {', '.join(settings['choices'])}."
            found.append(argument(one.name, help=about, **settings))
        else:
            found.append(_option(one, about))
    return found


def arguments_for(tool: Tool, fields: dict[str, Any]) -> dict[str, Any]:
    """Return what the command line has given as the tool takes it.

    Raises:
        UsageError: A text is given twice, or not at all.
    """
    arguments: dict[str, Any] = {}
    for one in parameters_of(tool):
        if one.name == "patches":
            edits = options.edits(fields["old"], fields["new"])
            value: Any = [{"oldText": old, "newText": new} for old, new in edits]
        elif one.is_required and one.name in TEXTS:
            value = options.content(fields[one.name], fields["file"])
        elif one.name == "query":
            value = " ".join(fields["query"]) or None
        else:
            value = fields[one.name]
        if value is None or value == one.shape.get("default"):
            continue
        inner = arguments
        for name in one.path[:-1]:
            inner = inner.setdefault(name, {})
        inner[one.name] = value
    return arguments


def _object(shape: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the object that a parameter is, empty when it is none."""
    parts = (shape, *shape.get("anyOf", ()))
    return next((part for part in parts if "properties" in part), {})


def _option(one: Parameter, about: str) -> Argument:
    flag = f"--{one.name.replace('_', '-')}"
    shape = one.shape
    if shape.get("type") == "boolean" and shape.get("default"):
        flag = flag.replace("--", "--no-", 1)
        return argument(flag, dest=one.name, action="store_false", help=f"Not: {about}")
    if shape.get("type") == "boolean":
        return argument(flag, action="store_true", help=about)
    names = (flag, "-n") if one.name == "limit" else (flag,)
    settings = {"default": shape.get("default"), **_settings(shape)}
    return argument(*names, dest=one.name, metavar=_metavar(one), help=about, **settings)


def _settings(shape: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of an argument for a value of this schema."""
    parts = [part for part in (shape, *shape.get("anyOf", ())) if part.get("type") != "null"]
    kinds = {part.get("type") for part in parts}
    if choices := _choices(shape):
        return {"type": one_of(choices), "choices": choices}
    if "integer" in kinds:
        return {"type": count(max(0, shape.get("minimum", 0)))}
    if "number" in kinds:
        return {"type": float}
    if "array" in kinds:
        return {"action": "append"}
    return {"type": json_object} if "object" in kinds else {}


def _choices(shape: dict[str, Any]) -> list[str]:
    """Return the words that a value of this schema is one of; empty where it may be any."""
    parts = (shape, *shape.get("anyOf", ()))
    words = [word for part in parts for word in part.get("enum", ())]
    return [word for word in words if word not in {None, PROCESS_LAYER}]


def _metavar(one: Parameter) -> str:
    parts = (one.shape, *one.shape.get("anyOf", ()))
    if values := _choices(one.shape):
        return "|".join(values)
    if any(part.get("type") in {"integer", "number"} for part in parts):
        return "N"
    if any(part.get("format") == "date" for part in parts):
        return "DAY"
    return "JSON" if any(part.get("type") == "object" for part in parts) else "TEXT"


def with_commands(text: str, commands: dict[str, str]) -> str:
    """Return a text with commands and options in the place of the tools and arguments it names.

    >>> with_commands("`memory_list` shows it", {"memory_list": "list"})
    '`list` shows it'
    >>> with_commands("read everything: mode='full'", {})
    'read everything: --mode full'
    """
    named = re.sub(r"`(\w+)`", lambda found: f"`{commands.get(found[1], found[1])}`", text)
    return re.sub(r"\b(\w+)='(\w+)'", r"--\1 \2", named)


def one_of(values: list[str]) -> Any:
    """Return the type of a word that is one of some."""

    def parse(text: str) -> str:
        if text not in values:
            raise ValueError(f"{text!r} is none of {', '.join(values)}")
        return text

    return parse


def json_object(text: str) -> dict[str, Any]:
    """Return an object that is given as JSON."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ValueError(f"{text!r} is no object of JSON")
    return value
