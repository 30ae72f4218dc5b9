"""Tools: what a model may call of a memory, declared once and given out in each vendor's form.

A tool is a method: its name, its docstring, a JSON schema of its parameters, and what it does to
what is there. `tools_for(memory)` gives the set of a memory; `Toolset.call()` runs one as a model
asks for it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import msgspec

from commonplace.errors import CommonplaceError, ToolError
from commonplace.records import FIELDS, record
from commonplace.tools.schema import Signature, nearest

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
        "read_citation": "reads",
        "read_overview": "reads",
        "write_overview": "replaces",
        "patch_overview": "replaces",
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

    `effect` says whether it reads, adds to what is there, or replaces some of it. `pages` says
    that its answer is given from `start` on; a function with a `start` of its own sees to it,
    in characters of its answer as well.
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
    def goes_on(self) -> bool:
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

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.tools)

    def __getitem__(self, name: str) -> Tool:
        """Return the tool of this name.

        Raises:
            ToolError: There is none; the nearest is named.
        """
        known = {tool.name: tool for tool in self.tools}
        if name in known:
            return known[name]
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
        the rest.

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
        answer, start, skipped = self._answer(name, arguments)
        text = answer if isinstance(answer, str) else _json(answer)
        if start > len(text):
            raise ToolError(f"{name}: the answer has {len(text)} characters, none at {start}")
        end = start + self.longest
        if end >= len(text):
            return text[start:]
        rest = f"for the rest call {name} again with start={skipped + end}"
        place = f"characters {skipped + start} to {skipped + end} of {skipped + len(text)}"
        more = rest if self[name].goes_on else "cut here"
        return f"{text[start:end]}\n[{place}; {more}]"

    def _answer(
        self, name: str, arguments: Mapping[str, Any] | str | bytes
    ) -> tuple[Any, int, int]:
        """Return what a tool answers, where to begin in it, and how much it skipped by itself."""
        tool = self[name]
        given = tool.signature.read(arguments)
        start = given.pop("start", 0) if tool.pages else 0
        skipped = given.get("start", 0) if tool.goes_on else 0
        try:
            return tool.function(**given), start, skipped
        except CommonplaceError:
            raise
        except (TypeError, ValueError, OverflowError) as error:
            raise ToolError(f"{name}: {error}") from error


def tools_for(memory: object, *, longest: int = LONGEST) -> Toolset:
    """Return the tools of a memory.

    Args:
        memory: One of the five systems, something derived from one, or another backend of
            agents (`memories.world_and_agents.agent_file.AgentMemory`).
        longest: Most characters of an answer that `Toolset.call()` gives at once.

    Raises:
        TypeError: It is none of them.
    """
    kinds = [kind.__name__ for kind in type(memory).__mro__]
    effects = next((SETS[kind] for kind in kinds if kind in SETS), None)
    if effects is None:
        # another backend of agents has the four tools of the design, and may search
        world = SETS["WorldAndAgents"]
        effects = {name: effect for name, effect in world.items() if hasattr(memory, name)}
        if world.keys() - effects.keys() - {"search_memory"}:
            raise TypeError(f"{kinds[0]} has no tools; these have: {', '.join(SETS)}")
    tools = (Tool.of(getattr(memory, name), effect) for name, effect in effects.items())
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
