"""Definitions of tools as MCP lists them: schemas of input and output, and annotations."""

from __future__ import annotations

from typing import Any, get_type_hints

from commonplace.tools import Tool
from commonplace.tools.schema import schema_of

# kept in context by a host that else loads the definitions of tools late
ALWAYS_LOADED = {"anthropic/alwaysLoad": True}


def definition(tool: Tool, *, structured: bool) -> dict[str, Any]:
    """Return one tool as `tools/list` gives it.

    Args:
        tool: The tool.
        structured: Whether it answers with an object, whose schema is that of its return type.
    """
    found: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": _plain(tool.parameters),
        "annotations": {"readOnlyHint": tool.read_only, "openWorldHint": False},
    }
    if not tool.read_only:
        found["annotations"]["destructiveHint"] = tool.effect in {"replaces", "erases"}
    if structured:
        hints = get_type_hints(tool.function, include_extras=True)
        found["outputSchema"] = _without_descriptions(schema_of(hints["return"]))
    if tool.name == "search":
        found["_meta"] = ALWAYS_LOADED
    return found


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the arguments without null as an option, which is only the default.

    Other names are allowed: aliases are taken, and the answer to the rest tells the right one.
    """
    shapes = {name: _option(shape) for name, shape in schema["properties"].items()}
    required = {"required": schema["required"]} if schema["required"] else {}
    return {"type": "object", "properties": shapes, **required}


def _option(shape: dict[str, Any]) -> dict[str, Any]:
    # what tells a model nothing
    shape = {
        key: value
        for key, value in shape.items()
        if not (
            (key == "maximum" and value >= 2**31)
            or (key in {"minimum", "minLength"} and value <= 1)
            or (key == "default" and value in ("", 0))
        )
    }
    options = [part for part in shape.get("anyOf", ()) if part != {"type": "null"}]
    if len(options) != 1 or shape.get("default", "") is not None:
        return shape
    only: dict[str, Any] = options[0]
    return {key: value for key, value in shape.items() if key not in {"anyOf", "default"}} | only


def _without_descriptions(schema: Any) -> Any:
    """Return a schema as short as may be: the names say what it is."""
    if isinstance(schema, list):
        return [_without_descriptions(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kinds = [part.get("type") for part in schema.get("anyOf", ()) if len(part) == 1]
    if kinds and len(kinds) == len(schema["anyOf"]):
        return {"type": kinds}
    return {
        key: _without_descriptions(part) for key, part in schema.items() if key != "description"
    }
