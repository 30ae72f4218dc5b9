"""Tools: what a model may call of a memory, declared once and given out in each vendor's form.

A tool is a method: its name, its docstring up to `Args:`, a JSON schema of its parameters, and
whether it only reads. `tools_for(memory)` gives the set of a memory; `Toolset.call()` runs one as
a model asks for it, and meets the habits of models: what is wrong is named together with what is
right, so that the next attempt succeeds.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self, get_type_hints

import msgspec

from commonplace.errors import CommonplaceError, ToolError
from commonplace.records import FIELDS, record

Effect = Literal["reads", "adds", "replaces"]

# Every tool of every memory, by the name of its class: what it does to what is there.
SETS: dict[str, dict[str, Effect]] = {
    "FactsAndEpisodes": {
        "memory_read": "reads",
        "memory_write": "replaces",
        "memory_patch": "replaces",
        "memory_append": "adds",
        "memory_list": "reads",
    },
    "OverviewAndDetail": {
        "recall_memory": "reads",
        "read_overview": "reads",
        "write_overview": "replaces",
        "write_detail": "replaces",
        "commit": "adds",
        "branch": "adds",
        "merge": "replaces",
        "context": "reads",
    },
    "WorldAndAgents": {
        "recall": "reads",
        "remember": "adds",
        "reflect": "replaces",
        "learn_fact": "replaces",
        "search_memory": "reads",
    },
    "FourLayers": {
        "append": "adds",
        "search": "reads",
        "learn": "replaces",
        "recall": "reads",
        "compact": "replaces",
        "get_stats": "reads",
        "clear": "replaces",
        "get_working_memory": "reads",
        "get_episodic_memory": "reads",
    },
    "Profile": {
        "remember": "replaces",
        "memory_recall": "reads",
        "flush": "adds",
    },
}

# Names that models guess, as they are known from logs of other memories.
ALIASES: dict[str, str] = {
    **dict.fromkeys(("file", "filename", "file_name", "file_path", "filepath"), "path"),
    **dict.fromkeys(("text", "body", "file_text", "value", "message"), "content"),
    **dict.fromkeys(("q", "search", "search_query", "question"), "query"),
    **dict.fromkeys(("k", "top_k", "topk", "max_results", "count", "n"), "limit"),
    **dict.fromkeys(("old_text", "old_str", "old_string", "old", "find"), "oldText"),
    **dict.fromkeys(("new_text", "new_str", "new_string", "new", "replace"), "newText"),
    **dict.fromkeys(("edits", "changes", "replacements"), "patches"),
}
# What is said of a parameter where its tool does not say it.
COMMON = {
    "expected_version": "The version that an earlier answer gave: if it has changed since, nothing "
    "is written.",
}
LONGEST = 20_000
_START = "Where in a long answer to begin, in characters; the answer before says it."
_SECTION = re.compile(r"^(Args|Arguments|Returns|Raises|Yields|Examples?):\s*$|^>>> ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Tool:
    """One method that a model may call.

    `parameters` is a JSON schema; `effect` says whether the tool reads, adds to what is there, or
    replaces some of it. One that `pages` takes `start`, for the rest of a long answer.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    function: Callable[..., Any]
    effect: Effect
    pages: bool
    arguments: type[msgspec.Struct] = field(repr=False)

    @property
    def read_only(self) -> bool:
        """Whether it changes nothing."""
        return self.effect == "reads"

    @classmethod
    def of(cls, function: Callable[..., Any], effect: Effect = "replaces") -> Self:
        """Make a tool of a function or method, from its signature and its docstring.

        Args:
            function: Annotated, with a docstring whose `Args:` describe the parameters. One that
                no JSON can give (a model, a callable) is left out.
            effect: What it does to what is there.

        Raises:
            TypeError: A parameter without a default has a type that no JSON can give.

        >>> def greet(name: str, times: int = 1) -> str:
        ...     '''Say hello.
        ...
        ...     Args:
        ...         name: Who is greeted.
        ...     '''
        ...     return f"Hello {name}! " * times
        >>> tool = Tool.of(greet, "adds")
        >>> tool.description, tool.parameters["required"]
        ('Say hello.', ['name'])
        >>> tool.parameters["properties"]["name"]
        {'type': 'string', 'description': 'Who is greeted.'}
        """
        text = inspect.getdoc(function) or ""
        told = COMMON | _described(text)
        types = get_type_hints(function, include_extras=True)
        fields: list[tuple[str, Any, Any]] = []
        for name, parameter in inspect.signature(function).parameters.items():
            kind = Annotated[types[name], msgspec.Meta(description=told.get(name))]
            if parameter.default is parameter.empty:
                fields.append((name, kind, msgspec.NODEFAULT))
            elif _is_json(kind):
                fields.append((name, kind, _default(parameter.default)))
        pages = effect == "reads" and "start" not in types
        if pages:
            kind = Annotated[int, msgspec.Meta(ge=0, description=_START)]
            fields.append(("start", kind, 0))
        name = function.__name__
        arguments = msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True)
        (schema,), shapes = msgspec.json.schema_components([arguments], ref_template="{name}")
        parameters = _inlined(schema, shapes)
        del parameters["title"]
        description = _SECTION.split(text, maxsplit=1)[0].strip()
        return cls(name, description, parameters, function, effect, pages, arguments)

    def given(self, arguments: Mapping[str, Any] | str | bytes) -> dict[str, Any]:
        """Return what a model gave as this tool's arguments, converted and checked.

        Numbers and objects that are written as text are read; null for a parameter that has a
        default, and cannot be null, is that default.

        Raises:
            ToolError: A name, a type or a value is wrong, or something is missing; it says which,
                and what would be right.
        """
        if isinstance(arguments, str | bytes):
            arguments = _parsed(arguments) if arguments.strip() else {}
        if not isinstance(arguments, Mapping):
            raise ToolError(f"the arguments of {self.name} are an object: {self._usage()}")
        given = {
            name: _unquoted(value, self.parameters["properties"].get(name, {}))
            for name, value in arguments.items()
            if value is not None or not self._has_default(name)
        }
        _check_names(given, self.parameters, self.name)
        try:
            converted = msgspec.convert(given, self.arguments, strict=False)
        except msgspec.ValidationError as error:
            what, _, where = str(error).partition(" - at `$.")
            name = re.split(r"[.\[`]", where, maxsplit=1)[0]
            shape = self.parameters["properties"].get(name, {})
            if "enum" in shape:
                what = f"it is one of {', '.join(map(repr, shape['enum']))}"
            about = f" ({shape['description']})" if "description" in shape else ""
            raise ToolError(f"{self.name}: `{where.rstrip('`')}`: {what}{about}") from None
        except RecursionError:
            raise ToolError(f"{self.name}: the arguments are nested too deep") from None
        return {name: getattr(converted, name) for name in given}

    def _has_default(self, name: str) -> bool:
        """Return whether null can stand for the default of a parameter."""
        shape = self.parameters["properties"].get(name)
        return bool(shape) and name not in self.parameters["required"] and "anyOf" not in shape

    def _usage(self) -> str:
        return f"{{{', '.join(self.parameters['properties'])}}}"


@dataclass(frozen=True, slots=True)
class Toolset:
    """The tools of a memory, in each vendor's form; `longest` bounds an answer, in characters."""

    tools: tuple[Tool, ...]
    longest: int = LONGEST

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.tools)

    def __getitem__(self, name: str) -> Tool:
        """Return the tool of this name.

        Raises:
            ToolError: There is none; the nearest is named.
        """
        names = [tool.name for tool in self.tools]
        if name in names:
            return self.tools[names.index(name)]
        likely = max(names, key=lambda other: _alike(name, other), default="")
        meant = f"; `{likely}` may be meant" if likely and _alike(name, likely) > 0.6 else ""  # noqa: PLR2004
        raise ToolError(f"there is no tool `{name:.60}`{meant}: there are {', '.join(names)}")

    def schemas(self) -> list[dict[str, Any]]:
        """Return name, description and parameters of each, as a `ChatModel` takes them."""
        return [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in self.tools
        ]

    def openai(self) -> list[dict[str, Any]]:
        """Return the tools as OpenAI functions: `tools=` of a chat completion."""
        return [{"type": "function", "function": schema} for schema in self.schemas()]

    def anthropic(self) -> list[dict[str, Any]]:
        """Return the tools as Anthropic takes them: `tools=` of a message."""
        return [
            {
                "name": tool.name,
                "description": tool.description,
                "input_schema": tool.parameters,
            }
            for tool in self.tools
        ]

    def callables(self) -> dict[str, Callable[..., Any]]:
        """Return the methods themselves by their names."""
        return {tool.name: tool.function for tool in self.tools}

    def run(self, name: str, arguments: Mapping[str, Any] | str | bytes) -> Any:
        """Call a tool and return its answer as a Python value.

        Args:
            name: Of the tool.
            arguments: As the model gave them: an object, or JSON text of one.

        Raises:
            ToolError: The tool is unknown or the arguments are wrong.
            CommonplaceError: What the tool itself reports.
        """
        tool = self[name]
        given = tool.given(arguments)
        if tool.pages:
            given.pop("start", None)
        try:
            return tool.function(**given)
        except CommonplaceError:
            raise
        except (TypeError, ValueError, OverflowError) as error:
            raise ToolError(f"{name}: {error}") from error

    def call(self, name: str, arguments: Mapping[str, Any] | str | bytes) -> str:
        """Call a tool and return its answer as text for a model: text as it is, else JSON.

        One that is longer than `longest` characters is cut, and says at its end how to get the
        rest.

        Args:
            name: Of the tool.
            arguments: As the model gave them: an object, or JSON text of one.

        Raises:
            ToolError: The tool is unknown or the arguments are wrong.
            CommonplaceError: What the tool itself reports.

        >>> def memory_read(path: str) -> str:
        ...     return "# User"
        >>> toolset = Toolset((Tool.of(memory_read, "reads"),))
        >>> toolset.call("memory_read", '{"path": "facts/user.md"}')
        '# User'
        >>> toolset.call("memory_read", {"file": "facts/user.md"})
        Traceback (most recent call last):
        ...
        commonplace.errors.ToolError: memory_read has no `file`: it is `path`
        """
        tool = self[name]
        start = tool.given(arguments).get("start", 0) if tool.pages else 0
        answer = self.run(name, arguments)
        text = answer if isinstance(answer, str) else _json(answer)
        if start > len(text):
            raise ToolError(f"{name}: the answer has {len(text)} characters, none at {start}")
        end = start + self.longest
        if end >= len(text):
            return text[start:]
        rest = f"for the rest call {name} again with start={end}" if tool.pages else "it is cut"
        return f"{text[start:end]}\n[characters {start} to {end} of {len(text)}; {rest}]"


def tools_for(memory: object, *, longest: int = LONGEST) -> Toolset:
    """Return the tools of a memory.

    Args:
        memory: One of the five systems, or something derived from one.
        longest: Most characters of an answer that `Toolset.call()` gives at once.

    Raises:
        TypeError: This is none of them.
    """
    for kind in type(memory).__mro__:
        if kind.__name__ in SETS:
            effects = SETS[kind.__name__].items()
            return Toolset(
                tuple(Tool.of(getattr(memory, name), effect) for name, effect in effects), longest
            )
    raise TypeError(f"{type(memory).__name__} has no tools: known are {', '.join(SETS)}")


def _described(docstring: str) -> dict[str, str]:
    """Return what the section `Args:` of a docstring says of each parameter."""
    found = re.search(r"^Args:\s*\n((?:[ \t]+.*\n?|\n)*)", docstring, re.MULTILINE)
    entries = re.findall(
        r"^    \*{0,2}(\w+)(?: \([^)]*\))?:[ ]*((?:.*)(?:\n(?:     +.*|(?=\n)))*)",
        found[1] if found else "",
        re.MULTILINE,
    )
    return {name: " ".join(text.split()) for name, text in entries}


def _is_json(kind: Any) -> bool:
    """Return whether values of a type can come from JSON."""
    try:
        msgspec.json.schema(kind)
    except TypeError:
        return False
    return True


def _default(value: object) -> Any:
    """Return a default as a struct takes it; only plain ones are shown in the schema."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return msgspec.field(default_factory=lambda: value)


def _inlined(schema: Any, shapes: Mapping[str, Any]) -> Any:
    """Return a schema with what it refers to in place: not every model follows a reference."""
    if isinstance(schema, list):
        return [_inlined(part, shapes) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        shape = {key: part for key, part in shapes[schema["$ref"]].items() if key != "title"}
        schema = shape | {key: part for key, part in schema.items() if key != "$ref"}
    return {key: _inlined(part, shapes) for key, part in schema.items()}


def _parsed(text: str | bytes) -> Any:
    """Return JSON text as a value."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ToolError(f"the arguments are not JSON: {error}") from None


def _unquoted(value: Any, shape: Mapping[str, Any]) -> Any:
    """Return an object or array that a model gave as text, read; anything else as it is."""
    shapes = [shape, *shape.get("anyOf", ())]
    kinds = {part.get("type") for part in shapes}
    if isinstance(value, str) and kinds & {"array", "object"} and "string" not in kinds:
        try:
            return msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return value
    return value


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
            meant = _meant(str(name), set(known) - set(value))
            right = f"it is `{meant}`" if meant else f"known are {', '.join(known)}"
            raise ToolError(f"{where} has no `{name!s:.60}`: {right}")
    for name in shapes[0].get("required", ()):
        if name not in value:
            about = known[name].get("description")
            raise ToolError(f"{where} needs `{name}`" + (f": {about}" if about else ""))
    for name, part in value.items():
        _check_names(part, known[name], f"{where}.{name}")


def _meant(name: str, known: set[str]) -> str | None:
    """Return which of the known names a model meant by a wrong one."""
    if ALIASES.get(name.lower()) in known:
        return ALIASES[name.lower()]
    likely = max(sorted(known), key=lambda other: _alike(name, other), default="")
    return likely if likely and _alike(name, likely) > 0.6 else None


def _alike(one: str, other: str) -> float:
    """Return how much alike two names are, 0 to 1, whatever the order of their words."""
    words = [
        "_".join(sorted(re.sub(r"([a-z])([A-Z])", r"\1_\2", name[:60]).lower().split("_")))
        for name in (one, other)
    ]
    return difflib.SequenceMatcher(None, *words).ratio()


def _json(answer: Any) -> str:
    """Return an answer as JSON; what the native module gives as its public fields."""

    def plain(value: Any) -> Any:
        if type(value) in FIELDS:
            return record(value)
        if isinstance(value, Iterable):
            return list(value)
        raise TypeError(f"{type(value).__name__} is no answer that a tool can give")

    return msgspec.json.encode(answer, enc_hook=plain).decode()
