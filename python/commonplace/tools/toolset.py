"""Toolsets: the methods of a memory that a model may call, in the form of each vendor.

A tool is a method that `@tool(effect)` marks: its name, its docstring and its annotations are the
schema. `tools_for(memory)` gives the set of a memory; `Toolset.call()` runs one as a model asks for
it. Sets of several memories are added up, under prefixes where two tools share a name.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, TypeVar

import msgspec

from commonplace.arguments import at_least, check_fields, checks_arguments
from commonplace.errors import CommonplaceError, InvalidArgument, ToolError
from commonplace.records import FIELDS, record
from commonplace.tools.prefix import with_prefix
from commonplace.tools.schema import Signature, nearest, snake_case
from commonplace.tools.versioned_text import VersionedText, with_versions

Effect = Literal["reads", "adds", "replaces", "erases"]

Method = TypeVar("Method", bound=Callable[..., Any])

LONGEST = 20_000
_START = {
    "start": Annotated[
        int,
        msgspec.Meta(ge=0, description="Where in a long answer to begin; its end says it."),
    ]
}


@dataclass(frozen=True, slots=True)
class Tool:
    """One method that a model may call.

    `effect` says whether it reads, adds to what is there, replaces some of it, or erases all of
    a kind at once. `pages` says that its answer is given from `start` on; a function with a `start`
    of its own sees to it, in characters of its answer as well.
    """

    signature: Signature
    function: Callable[..., Any]
    effect: Effect
    pages: bool = False

    @classmethod
    def of(cls, function: Callable[..., Any], effect: Effect = "replaces") -> Self:
        """Make a tool of a function or method, as `Signature.of()` reads it.

        One that only reads takes `start` besides, for the rest of a long answer.
        """
        pages = effect == "reads" and "start" not in inspect.signature(function).parameters
        return cls(Signature.of(function, _START if pages else {}), function, effect, pages)

    def __repr__(self) -> str:
        return f"Tool({self.name!r}, {self.effect!r})"

    @property
    def name(self) -> str:
        """What a model calls it."""
        return self.signature.name

    @property
    def description(self) -> str:
        """What a model reads about it."""
        return self.signature.description

    @property
    def parameters(self) -> dict[str, Any]:
        """What it takes, as a JSON schema."""
        return self.signature.parameters

    @property
    def is_continued(self) -> bool:
        """Whether the rest of a long answer can be had with `start`."""
        shape = self.parameters["properties"].get("start", {})
        return self.read_only and shape.get("type") == "integer"

    @property
    def read_only(self) -> bool:
        """Whether it changes nothing."""
        return self.effect == "reads"


@dataclass(frozen=True, slots=True)
class Toolset:
    """The tools of a memory, in each vendor's form; `longest` bounds an answer, in characters."""

    tools: tuple[Tool, ...]
    longest: int = LONGEST

    def __post_init__(self) -> None:
        check_fields(self)
        at_least(1, longest=self.longest)
        counts = Counter(tool.name for tool in self.tools)
        if twice := [name for name, count in counts.items() if count > 1]:
            raise ToolError(
                f"there are two tools of the name {', '.join(f'`{name}`' for name in twice)}: give "
                "those of one memory a prefix, tools_for(memory, prefix=…), or leave some out with "
                "only=…"
            )

    def __add__(self, other: Toolset) -> Toolset:
        """Return the tools of both; an answer is as long as the shorter limit allows.

        Raises:
            ToolError: A name is in both.
        """
        return Toolset(self.tools + other.tools, min(self.longest, other.longest))

    def __repr__(self) -> str:
        return f"Toolset({', '.join(tool.name for tool in self.tools)})"

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.tools)

    def __getitem__(self, name: str) -> Tool:
        """Return the tool of this name.

        Raises:
            ToolError: There is none; the nearest is named.
        """
        known = {tool.name: tool for tool in self.tools}
        for spelled in (name, snake_case(name)):
            if spelled in known:
                return known[spelled]
        meant = nearest(name, known)
        maybe = f", perhaps `{meant}` is meant" if meant else ""
        raise ToolError(f"there is no tool `{name:.60}`{maybe}: there are {', '.join(known)}")

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
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in self.tools
        ]

    def callables(self) -> dict[str, Callable[..., Any]]:
        """Return the methods themselves by their names."""
        return {tool.name: tool.function for tool in self.tools}

    def run(self, name: str, arguments: Mapping[str, Any] | str | bytes) -> Any:
        """Call a tool and return its answer as a Python value, whole.

        Args:
            name: Of the tool.
            arguments: As the model gave them: an object, or JSON text of one.

        Raises:
            ToolError: The tool is unknown or the arguments are wrong.
            CommonplaceError: What the tool itself reports.
        """
        return self._answer(name, arguments)[0]

    def call(self, name: str, arguments: Mapping[str, Any] | str | bytes) -> str:
        """Call a tool and return its answer as text for a model: text as it is, else JSON.

        An answer that is longer than `longest` characters is cut, and says at its end how to get
        the rest. Behind it stand the versions of what was read (`VersionedText`), if a tool of the
        set takes them.

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
        """
        tool = self[name]
        answer, start, skipped = self._answer(name, arguments)
        text = answer if isinstance(answer, str) else _json(answer)
        if start > len(text):
            raise ToolError(f"{tool.name}: the answer has {len(text)} characters, none at {start}")
        end = start + self.longest
        page = text[start:end]
        if end < len(text):
            rest = f"for the rest call {tool.name} again with start={skipped + end}"
            place = f"characters {skipped + start} to {skipped + end} of {skipped + len(text)}"
            more = rest if tool.is_continued else "cut here"
            page = f"{page}\n[{place}; {more}]"
        if isinstance(answer, VersionedText) and self._takes_versions():
            return with_versions(page, answer.versions)
        return page

    def _takes_versions(self) -> bool:
        """Return whether a tool of the set asks for the version that an answer gave."""
        return any("expected_version" in tool.parameters["properties"] for tool in self.tools)

    def _answer(
        self, name: str, arguments: Mapping[str, Any] | str | bytes
    ) -> tuple[Any, int, int]:
        """Return what a tool answers, where to begin in it, and how much it skipped by itself."""
        tool = self[name]
        given = tool.signature.read(arguments)
        start = given.pop("start", 0) if tool.pages else 0
        skipped = given.get("start", 0) if tool.is_continued else 0
        try:
            return tool.function(**given), start, skipped
        except CommonplaceError:
            raise
        except (TypeError, ValueError, OverflowError) as error:
            raise ToolError(f"{tool.name}: {error}") from error


def tool(effect: Effect) -> Callable[[Method], Method]:
    """Mark a method as a tool.

    Args:
        effect: What it does to what is there: `"reads"`, `"adds"`, `"replaces"`, or `"erases"` for
            what a model is not given unless it is asked for by name (`tools_for(only=…)`).

    When it is called, also directly, its arguments are checked by their annotations; an
    `InvalidArgument` names the wrong one.

    >>> class Diary:
    ...     @tool("adds")
    ...     def note(self, text: str) -> str:
    ...         "Note something."
    ...         return text
    >>> tools_for(Diary()).call("note", {"text": "rain"})
    'rain'
    """

    def mark(method: Method) -> Method:
        checked = checks_arguments(method)
        setattr(checked, _MARK, effect)
        return checked

    return mark


_MARK = "_commonplace_tool"


def tools_of(memory_class: type) -> dict[str, Effect]:
    """Return the tools of a class by name with their effects, in the order of its source.

    Those of its base classes follow. A method that overrides a tool is one, marked or not.
    """
    effects: dict[str, Effect] = {}
    for base in memory_class.__mro__:
        for name, member in vars(base).items():
            effect: Effect | None = getattr(member, _MARK, None)
            if effect is not None:
                effects.setdefault(name, effect)
    return effects


def tools_for(
    memory: object,
    *,
    prefix: str = "",
    only: Iterable[str] | None = None,
    longest: int = LONGEST,
) -> Toolset:
    """Return the tools of a memory, but for those that erase.

    Args:
        memory: An object whose class has methods that `@tool` marks, as the five systems have.
        prefix: Put before the name of each, for a set that is added to another:
            `tools_for(one) + tools_for(other, prefix="team_")`. Where the description or an error
            of a tool names another one, that name has the prefix as well.
        only: The names of the tools to give, without the prefix; also of those that erase.
        longest: Most characters of an answer that `Toolset.call()` gives at once.

    Raises:
        TypeError: It has none.
        ToolError: It has no tool of a name in `only`; the nearest is named.
        InvalidArgument: The prefix cannot be in the name of a tool, or `only` is one text.

    >>> class Diary:
    ...     @tool("adds")
    ...     def note(self, text: str) -> str:
    ...         "Note something."
    ...         return text
    >>> tools_for(Diary()) + tools_for(Diary(), prefix="work_")
    Toolset(note, work_note)
    """
    effects = tools_of(type(memory))
    if not effects:
        kind = type(memory).__name__
        raise TypeError(f"{kind} has no tools; mark its methods with @commonplace.tools.tool")
    wanted = {name for name, effect in effects.items() if effect != "erases"}
    if isinstance(only, str) or not isinstance(only, Iterable | None):
        raise InvalidArgument(f"only is a list of names, not {only!r:.60}")
    if only is not None:
        known = Toolset(tuple(Tool.of(getattr(memory, name)) for name in effects))
        wanted = {known[name].name for name in only}
    tools = (
        Tool.of(with_prefix(getattr(memory, name), prefix, effects), effect)
        for name, effect in effects.items()
        if name in wanted
    )
    return Toolset(tuple(tools), longest)


def _json(answer: Any) -> str:
    """Return an answer as JSON; results of the native module as their public fields."""

    def plain(value: Any) -> Any:
        if type(value) in FIELDS:
            return record(value)
        if isinstance(value, Iterable):
            return list(value)
        raise TypeError(f"a tool cannot answer with this: {type(value).__name__}")

    return msgspec.json.encode(answer, enc_hook=plain).decode()
