"""JSON schema of a function signature, and validation of the arguments that a model gave.

A model that guesses a name learns the right one from the error, so that its next attempt
succeeds; what it wrote in its own way, but meant rightly (a number or a list as text, null for
nothing; keepLast for keep_last), is understood.
"""

from __future__ import annotations

import difflib
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Self, get_type_hints

import msgspec

from commonplace.errors import ToolError

# Names that models guess, and what they mean by them.
ALIASES: dict[str, str] = {
    **dict.fromkeys(("file", "filename", "file_name", "file_path", "filepath"), "path"),
    **dict.fromkeys(("text", "body", "file_text", "value", "message"), "content"),
    **dict.fromkeys(("q", "search", "search_query", "question"), "query"),
    **dict.fromkeys(("k", "top_k", "topk", "max_results", "count", "n"), "limit"),
    **dict.fromkeys(("old_str", "old_string", "old", "find"), "oldText"),
    **dict.fromkeys(("new_str", "new_string", "new", "replace"), "newText"),
    **dict.fromkeys(("edits", "changes", "replacements"), "patches"),
}
# What is said of a parameter where its function does not say it.
COMMON = {
    "expected_version": "The version that an earlier answer gave: if the file has changed since, "
    "nothing is written.",
}
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_SECTION = re.compile(r"^(?:Args|Returns|Raises|Yields|Examples?):\s*$|^>>> ", re.MULTILINE)
_ENTRY = re.compile(r"^    \*{0,2}(\w+)(?: \([^)]*\))?:(.*(?:\n(?:     .*|(?=\n)))*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Signature:
    """The name of a function, what its docstring says, and what it takes.

    `parameters` is a JSON schema without references: not every model follows them.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    _struct: type[msgspec.Struct]

    @classmethod
    def of(cls, function: Callable[..., Any], more: Mapping[str, Any] = _NOTHING) -> Self:
        """Read the signature of a function or method, and its docstring in Google's style.

        Args:
            function: Annotated; what stands before `Args:` is its description, and what stands
                there describes the parameters. A parameter that no JSON can give (a model, a
                callable) is left out.
            more: Further parameters, each with its annotated type; all of them default to 0.

        Raises:
            TypeError: A parameter without a default has a type that no JSON can give.

        >>> def greet(name: str, times: int = 1) -> str:
        ...     '''Say hello.
        ...
        ...     Args:
        ...         name: Who is greeted.
        ...     '''
        ...     return f"Hello {name}! " * times
        >>> signature = Signature.of(greet)
        >>> signature.description, signature.parameters["required"]
        ('Say hello.', ['name'])
        >>> signature.read({"Name": "Bob"})
        Traceback (most recent call last):
        ...
        commonplace.errors.ToolError: greet has no `Name`: it is `name`
        """
        text = inspect.getdoc(function) or ""
        description, *sections = _SECTION.split(text, maxsplit=1)
        descriptions = COMMON | {
            name: " ".join(text.split()) for name, text in _ENTRY.findall("".join(sections))
        }
        types = get_type_hints(function, include_extras=True)
        fields: list[tuple[str, Any, Any]] = []
        for name, parameter in inspect.signature(function).parameters.items():
            kind: Any = types[name]
            if name in descriptions:
                kind = Annotated[kind, msgspec.Meta(description=descriptions[name])]
            if parameter.default is parameter.empty:
                fields.append((name, kind, msgspec.NODEFAULT))
            elif _is_json(kind):
                fields.append((name, kind, _default(parameter.default)))
        fields += [(name, kind, 0) for name, kind in more.items()]
        name = function.__name__
        struct = msgspec.defstruct(name, fields, kw_only=True)
        parameters = schema_of(struct) | {"additionalProperties": False}
        return cls(name, description.strip(), parameters, struct)

    def read(self, arguments: Mapping[str, Any] | str | bytes) -> dict[str, Any]:
        """Return what a model gave, as the function takes it.

        Args:
            arguments: An object, or JSON text of one.

        Raises:
            ToolError: A name, a type or a value is wrong, or something is missing: it says which,
                and what would be right.
        """
        shapes = self.parameters["properties"]
        wanted = f"{self.name} takes an object of: {', '.join(shapes) or 'nothing'}"
        if isinstance(arguments, str | bytes):
            arguments = _parsed(arguments, wanted) if arguments.strip() else {}
        if not isinstance(arguments, Mapping):
            raise ToolError(wanted)
        given = {
            name: _unquoted(value, shapes.get(name, {}))
            for name, value in _respelled(arguments, self.parameters).items()
            if value is not None or not self._has_default(name)
        }
        try:
            given = {name: _respelled(part, shapes.get(name, {})) for name, part in given.items()}
            _check_names(given, self.parameters, self.name)
            # what is no JSON a tool could take and never give back
            msgspec.json.encode(given)
            struct = msgspec.convert(given, self._struct, strict=False)
            endless = [name for name in given if not _is_finite(getattr(struct, name))]
        except msgspec.ValidationError as error:
            what, _, where = str(error).partition(" - at `$.")
            where = where.rstrip("`")
            shape = shapes.get(re.split(r"[.\[]", where, maxsplit=1)[0], {})
            if "date" in what:
                what = "a day is written like 2026-02-24"
            options = [
                one for part in (shape, *shape.get("anyOf", ())) for one in part.get("enum", ())
            ]
            if options:
                what = f"one of {', '.join(map(repr, options))}"
            about = f" ({shape['description']})" if "description" in shape else ""
            raise ToolError(f"{self.name}: `{where}`: {what}{about}") from None
        except (TypeError, UnicodeError, RecursionError) as error:
            raise ToolError(f"{self.name}: the arguments are no JSON: {error!s:.200}") from None
        if endless:
            raise ToolError(f"{self.name}: `{endless[0]}`: a number is neither infinite nor NaN")
        return {name: getattr(struct, name) for name in given}

    def _has_default(self, name: str) -> bool:
        """Return whether null can only mean the default of this parameter."""
        shape = self.parameters["properties"].get(name)
        return bool(shape) and name not in self.parameters["required"] and "anyOf" not in shape


def schema_of(kind: Any) -> dict[str, Any]:
    """Return the JSON schema of a type, without references.

    >>> schema_of(dict[str, int])
    {'type': 'object', 'additionalProperties': {'type': 'integer'}}
    """
    (schema,), shapes = msgspec.json.schema_components([kind], ref_template="{name}")
    inlined: dict[str, Any] = _inlined(schema, shapes)
    return inlined


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return which of the known names a model meant by a wrong one, or None.

    >>> nearest("old_str", ["oldText", "newText"]), nearest("read_memory", ["memory_read"])
    ('oldText', 'memory_read')
    """
    names = sorted(known)
    if ALIASES.get(name.lower()) in names:
        return ALIASES[name.lower()]
    scored = [(_similarity(name, other), other) for other in names]
    score, likely = max(scored, default=(0.0, ""))
    return likely if score > 0.6 else None


def snake_case(name: str) -> str:
    """Return a name in camel case as Python writes it.

    >>> snake_case("keepLast"), snake_case("keep_last"), snake_case("Path")
    ('keep_last', 'keep_last', 'Path')
    """
    spelled = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return name if spelled == name else spelled.lower()


def camel_case(name: str) -> str:
    """Return a name in snake case as JSON often writes it.

    >>> camel_case("old_text"), camel_case("oldText"), camel_case("path")
    ('oldText', 'oldText', 'path')
    """
    return re.sub(r"(?<=[a-z0-9])_([a-z0-9])", lambda found: found[1].upper(), name)


def _similarity(one: str, other: str) -> float:
    """Return how much alike two names are, 0 to 1, whatever the order of their words."""
    first, second = (
        "_".join(sorted(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name[:60]).lower().split("_")))
        for name in (one, other)
    )
    return difflib.SequenceMatcher(None, first, second).ratio()


def _is_json(kind: Any) -> bool:
    """Return whether values of a type can come from JSON."""
    try:
        msgspec.json.schema(kind)
    except TypeError:
        return False
    return True


def _default(value: object) -> Any:
    """Return a default as a struct takes it; only plain ones are shown in the schema."""
    for plain in (bool, int, float, str):
        if isinstance(value, plain):
            return plain(value)
    return None if value is None else msgspec.field(default_factory=lambda: value)


def _inlined(schema: Any, shapes: Mapping[str, Any]) -> Any:
    """Return a schema with what it refers to in place, and without titles."""
    if isinstance(schema, list):
        return [_inlined(part, shapes) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        schema = shapes[schema["$ref"]] | {k: v for k, v in schema.items() if k != "$ref"}
    if schema.get("type") == "object":
        schema = {key: part for key, part in schema.items() if key != "title"}
    return {key: _inlined(part, shapes) for key, part in schema.items()}


def _parsed(text: str | bytes, wanted: str) -> Any:
    """Return JSON text as a value."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ToolError(f"the arguments are not JSON: {error}; {wanted}") from None


def _is_finite(value: Any) -> bool:
    """Return whether every number in a value can be given in JSON."""
    if isinstance(value, Mapping):
        return all(map(_is_finite, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def _unquoted(value: Any, shape: Mapping[str, Any]) -> Any:
    """Return an object or a list that a model gave as text, read; anything else as it is."""
    kinds = {part.get("type") for part in (shape, *shape.get("anyOf", ()))}
    if not isinstance(value, str) or "string" in kinds or not kinds & {"array", "object"}:
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return value


def _respelled(value: Any, shape: Mapping[str, Any]) -> Any:
    """Return a value whose names are spelled as its shape has them: keep_last, or oldText."""
    items = shape.get("items", {})
    if isinstance(value, list) and items:
        return [_respelled(part, items) for part in value]
    shapes = [part for part in (shape, *shape.get("anyOf", ())) if "properties" in part]
    if not isinstance(value, Mapping) or not shapes:
        return value
    known = shapes[0]["properties"]
    names = {
        name: spelled
        for name in map(str, value)
        for spelled in (snake_case(name), camel_case(name))
        if name not in known and spelled in known and spelled not in value
    }
    return {
        names.get(str(name), name): _respelled(part, known.get(names.get(str(name), name), {}))
        for name, part in value.items()
    }


def _holder(name: str, known: Mapping[str, Any]) -> str | None:
    """Return the parameter whose object, or list of objects, has a field of this name."""
    for holder, shape in known.items():
        for part in (shape, shape.get("items", {}), *shape.get("anyOf", ())):
            fields = part.get("properties", {})
            if not fields.keys().isdisjoint({name, snake_case(name), camel_case(name)}):
                return holder
    return None


def _check_names(value: Any, shape: Mapping[str, Any], where: str) -> None:
    """Refuse names that a shape does not have and say which it has; ask for what is missing."""
    if isinstance(value, list):
        for number, part in enumerate(value):
            _check_names(part, shape.get("items", {}), f"{where}[{number}]")
    shapes = [part for part in (shape, *shape.get("anyOf", ())) if "properties" in part]
    if not isinstance(value, Mapping) or not shapes:
        return
    known = shapes[0]["properties"]
    for name in value:
        if name not in known:
            meant = nearest(str(name), known.keys() - value.keys())
            right = f"it takes {', '.join(known) or 'nothing'}"
            if meant or (inside := _holder(str(name), known)):
                right = f"it is `{meant}`" if meant else f"it goes into `{inside}`"
            raise ToolError(f"{where} has no `{name!s:.60}`: {right}")
    for name in shapes[0].get("required", ()):
        if name not in value:
            about = known[name].get("description")
            raise ToolError(f"{where} needs `{name}`" + (f": {about}" if about else ""))
    for name, part in value.items():
        _check_names(part, known[name], f"{where}.{name}")
