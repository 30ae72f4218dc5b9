"""Tools: schemas from signatures, and errors for wrong calls that say what is right."""

from __future__ import annotations

import contextlib
import inspect
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, get_type_hints

import msgspec
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import commonplace
from commonplace import memories
from commonplace.errors import CommonplaceError, NotFound, ToolError
from commonplace.protocols import ChatModel
from commonplace.tools import Tool, Toolset, tool, tools_for, tools_of
from commonplace.tools.schema import ALIASES, Signature


class Patch(TypedDict):
    """One edit."""

    oldText: str
    newText: str


@dataclass(frozen=True)
class Stats:
    entries: int


class FactsAndEpisodes:
    """A small double of the system of this name."""

    def __init__(self, store: commonplace.Store) -> None:
        self.store = store

    @tool("reads")
    def memory_read(self, path: str) -> str:
        """Read a memory file.

        It answers with all of it.

        >>> 1
        1

        Args:
            path: Which file,
                such as facts/user.md.

        Returns:
            Its text.
        """
        return self.store.read(path)

    @tool("replaces")
    def memory_write(
        self, path: str, content: str, *, expected_version: str | None = None
    ) -> dict[str, Any]:
        """Write a fact file."""
        written = self.store.write(path, content, expected_version=expected_version)
        return {"success": True, "version": written.version}

    @tool("replaces")
    def memory_patch(self, path: str, patches: list[Patch]) -> dict[str, Any]:
        """Patch a file.

        Args:
            path: Which file.
            patches: What to replace by what; each must be found once.
        """
        self.store.patch(path, [(patch["oldText"], patch["newText"]) for patch in patches])
        return {"success": True, "appliedCount": len(patches)}

    @tool("adds")
    def memory_append(
        self,
        path: str,
        entry: str,
        summary: str | None = None,
        *,
        model: ChatModel | None = None,
        keep: Callable[[], bool] | None = None,
    ) -> dict[str, Any]:
        """Append an entry."""
        assert model is None
        assert keep is None
        self.store.append(path, f"{entry} ({summary})")
        return {"success": True}

    @tool("reads")
    def memory_list(
        self,
        limit: int = 10,
        order: Literal["path", "size"] = "path",
        about: dict[str, Any] | None = None,
        ratio: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.5,
    ) -> list[Any]:
        """List the files.

        Args:
            limit: Most files.
            order: By what.
        """
        if about == {"fail": True}:
            raise ValueError("about what?")
        assert 0 <= ratio <= 1
        return [*self.store.list()[:limit], order, Stats(limit), about]


@pytest.fixture
def toolset(tmp_path: Path) -> Toolset:
    store = commonplace.open(tmp_path, watch=False)
    store.write("facts/user.md", "# User\n\n- Name: Zhang San\n")
    return tools_for(FactsAndEpisodes(store))


def test_a_schema_says_what_the_method_says(toolset: Toolset) -> None:
    read = toolset["memory_read"]
    assert read.description == "Read a memory file.\n\nIt answers with all of it."
    assert read.read_only
    path = {"type": "string", "description": "Which file, such as facts/user.md."}
    assert read.parameters["properties"]["path"] == path
    assert read.parameters["required"] == ["path"]
    assert not read.parameters["additionalProperties"]
    assert read.parameters["properties"]["start"]["minimum"] == 0

    patch = toolset["memory_patch"].parameters
    assert list(patch["properties"]) == ["path", "patches"]
    assert patch["properties"]["patches"]["items"] == {
        "type": "object",
        "description": "One edit.",
        "properties": {"newText": {"type": "string"}, "oldText": {"type": "string"}},
        "required": ["newText", "oldText"],
    }
    # what no JSON can give is not asked for; what every write takes is described
    assert list(toolset["memory_append"].parameters["properties"]) == ["path", "entry", "summary"]
    version = toolset["memory_write"].parameters["properties"]["expected_version"]
    assert "nothing is written" in version["description"]
    order = toolset["memory_list"].parameters["properties"]["order"]
    assert order == {"enum": ["path", "size"], "description": "By what.", "default": "path"}
    assert "$ref" not in json.dumps(toolset.schemas())


ARGUMENTS = {"overview_and_detail": ("s1",), "world_and_agents": ("a1",)}


@pytest.mark.parametrize("name", memories.system_names())
def test_every_tool_of_every_system_says_what_it_takes(name: str, tmp_path: Path) -> None:
    store = commonplace.open(tmp_path, watch=False)
    system = memories.find_system(name)
    toolset = tools_for(system(store, *ARGUMENTS.get(name, ())))
    # what erases is given only to those who ask for it by name
    given = [name for name, effect in tools_of(system).items() if effect != "erases"]
    assert [one.name for one in toolset] == given
    for one in toolset:
        assert one.description
        assert "Args:" not in one.description
        parameters = one.parameters["properties"].items()
        assert not [name for name, shape in parameters if "description" not in shape]
        assert set(one.parameters["required"]) <= one.parameters["properties"].keys()
        if one.parameters["required"]:
            with pytest.raises(ToolError, match=f"{one.name} needs"):
                toolset.call(one.name, {})


def test_one_declaration_is_given_out_in_every_form(toolset: Toolset) -> None:
    names = list(tools_of(FactsAndEpisodes))
    assert [one.name for one in toolset] == list(toolset.callables()) == names
    assert [one["function"]["name"] for one in toolset.openai()] == names
    assert {one["type"] for one in toolset.openai()} == {"function"}
    assert [one["name"] for one in toolset.anthropic()] == names
    for one, openai, anthropic in zip(toolset, toolset.openai(), toolset.anthropic(), strict=True):
        assert openai["function"]["parameters"] == anthropic["input_schema"] == one.parameters
        assert one.parameters["type"] == "object"
    assert toolset.callables()["memory_read"]("facts/user.md").startswith("# User")


@pytest.mark.parametrize("name", memories.system_names())
def test_frameworks_that_use_pydantic_take_the_callables(name: str, tmp_path: Path) -> None:
    system = memories.find_system(name)
    toolset = tools_for(system(commonplace.open(tmp_path, watch=False), *ARGUMENTS.get(name, ())))
    for one, function in toolset.callables().items():
        hints = get_type_hints(function)
        answer = hints.pop("return")
        # as LangChain and others do: a model of the arguments, and its schema
        fields = {
            name: (hints[name], ... if given.default is given.empty else given.default)
            for name, given in inspect.signature(function).parameters.items()
        }
        schema = pydantic.create_model(one, **fields).model_json_schema()  # type: ignore[call-overload]
        assert schema["properties"].keys() == fields.keys()
        # as MCP does for what comes back
        pydantic.TypeAdapter(answer).json_schema()
        pydantic.validate_call(function)


def test_pydantic_gives_a_patch_to_the_method(tmp_path: Path) -> None:
    memory = memories.FactsAndEpisodes(commonplace.open(tmp_path, watch=False))
    memory.memory_write("facts/user.md", "# User\n\n- Name: Zhang San\n")
    patch = pydantic.validate_call(tools_for(memory).callables()["memory_patch"])
    edit = {"oldText": "Zhang", "newText": "Li"}
    assert patch(path="facts/user.md", patches=[edit])["success"]
    assert "Li San" in memory.memory_read("facts/user.md")
    with pytest.raises(pydantic.ValidationError):
        patch(path="facts/user.md", patches=[{"oldText": "Li"}])


def test_answers(toolset: Toolset) -> None:
    assert toolset.call("memory_read", {"path": "facts/user.md"}).endswith("San\n")
    patches = [{"oldText": "Zhang", "newText": "Li"}]
    answer = toolset.call("memory_patch", {"path": "facts/user.md", "patches": patches})
    assert json.loads(answer) == {"success": True, "appliedCount": 1}
    listed = json.loads(toolset.call("memory_list", "{}"))
    assert listed[0]["path"] == "facts/user.md"
    assert listed[1:] == ["path", {"entries": 10}, None]
    # a user of Python has the values themselves
    assert toolset.run("memory_list", "")[2] == Stats(10)


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "facts/user.md", "patches": '[{"oldText": "Zhang", "newText": "Li"}]'},
        '{"path": "facts/user.md", "patches": [{"oldText": "Zhang", "newText": "Li"}]}',
        b'{"path":"facts/user.md","patches":"[{\\"oldText\\":\\"Zhang\\",\\"newText\\":\\"Li\\"}]"}',
    ],
)
def test_lists_may_come_as_text(toolset: Toolset, arguments: Any) -> None:
    assert toolset.run("memory_patch", arguments)["success"]
    assert "Li San" in toolset.call("memory_read", {"path": "facts/user.md"})


def test_what_models_mean(toolset: Toolset) -> None:
    def listed(**arguments: Any) -> Any:
        return toolset.run("memory_list", arguments)[1:]

    assert listed(limit="3")[1] == Stats(3)
    assert listed(limit=3.0)[1] == Stats(3)
    assert listed(limit=None, order=None)[:2] == ["path", Stats(10)]
    assert listed(about='{"a": 1}')[2] == {"a": 1}
    assert listed(about=None)[2] is None
    # text stays text, whatever it looks like
    toolset.call("memory_write", {"path": "a.md", "content": '{"a": 1}'})
    assert toolset.call("memory_read", {"path": "a.md"}) == '{"a": 1}'


@pytest.mark.parametrize(
    ("name", "arguments", "error_text"),
    [
        ("memory_reed", {}, "no tool `memory_reed`, perhaps `memory_read` is meant: there are"),
        ("read_memory", {}, "perhaps `memory_read` is meant"),
        ("bash", {}, "there is no tool `bash`: there are memory_read, memory_write"),
        ("memory_read", {"file": "a.md"}, "memory_read has no `file`: it is `path`"),
        ("memory_read", {"Path": "a.md"}, "memory_read has no `Path`: it is `path`"),
        ("memory_write", {"path": "a.md", "text": "x"}, "has no `text`: it is `content`"),
        ("memory_list", {"top_k": 3}, "has no `top_k`: it is `limit`"),
        ("memory_list", {"zzz": 3}, "has no `zzz`: it takes limit, order, about, ratio, start"),
        (
            "memory_patch",
            {"path": "a.md", "patches": [{"oldText": "a", "newText": "b"}, {"old_str": "a"}]},
            "memory_patch.patches[1] has no `old_str`: it is `oldText`",
        ),
        (
            "memory_patch",
            {"path": "a.md", "patches": '[{"newText": "a"}]'},
            "memory_patch.patches[0] needs `oldText`",
        ),
        ("memory_read", {}, "memory_read needs `path`: Which file, such as facts/user.md."),
        ("memory_read", {"path": 3}, "`path`: Expected `str`, got `int` (Which file"),
        ("memory_read", {"path": None}, "`path`: Expected `str`, got `null`"),
        ("memory_list", {"limit": "many"}, "`limit`: Expected `int`, got `str` (Most files.)"),
        ("memory_list", {"limit": True}, "`limit`: Expected `int`, got `bool`"),
        ("memory_list", {"ratio": -1}, "`ratio`: Expected `float` >= 0.0"),
        ("memory_list", {"ratio": math.nan}, "`ratio`: Expected `float` >= 0.0"),
        ("memory_list", {"about": {"x": [math.inf]}}, "`about`: a number is neither infinite"),
        ("memory_list", {"order": "date"}, "`order`: one of 'path', 'size' (By what.)"),
        ("memory_patch", {"path": "a.md", "patches": "x"}, "Expected `array`, got `str`"),
        (
            "memory_patch",
            {"path": "a.md", "patches": [{"oldText": 1, "newText": ""}]},
            "`patches[0].oldText`: Expected `str`, got `int`",
        ),
        ("memory_list", {"about": {"fail": True}}, "memory_list: about what?"),
        ("memory_read", [], "memory_read takes an object of: path, start"),
        ("memory_read", "[]", "memory_read takes an object of: path, start"),
        ("memory_read", '{"path": ', "the arguments are not JSON: Input data was truncated"),
        ("memory_read", b"\xff", "the arguments are not JSON"),
        ("memory_list", "[" * 100_000, "the arguments are not JSON"),
        ("memory_read", {"path": "\ud800"}, "the arguments are no JSON: 'utf-8' codec"),
        ("memory_list", {"about": {"x": {"\udfff": 1}}}, "the arguments are no JSON"),
        ("memory_list", {"about": {"x": object()}}, "the arguments are no JSON: Encoding"),
        ("memory_list", {"start": -1}, "`start`: Expected `int` >= 0"),
        ("memory_list", {"start": 10_000}, "characters, none at 10000"),
    ],
)
def test_a_wrong_call_is_told_what_is_right(
    toolset: Toolset, name: str, arguments: Any, error_text: str
) -> None:
    with pytest.raises(ToolError) as wrong:
        toolset.call(name, arguments)
    assert error_text in str(wrong.value)
    assert wrong.value.code == "tool"
    assert len(str(wrong.value)) < 500


def test_what_a_tool_reports_is_passed_on(toolset: Toolset) -> None:
    with pytest.raises(NotFound):
        toolset.call("memory_read", {"path": "facts/none.md"})


@pytest.mark.parametrize("alias", ALIASES)
def test_every_alias_is_led_to_its_name(alias: str) -> None:
    def tool(
        path: str = "",
        content: str = "",
        query: str = "",
        limit: int = 0,
        oldText: str = "",  # noqa: N803 - the design's own names
        newText: str = "",  # noqa: N803
        patches: str = "",
    ) -> None: ...

    with pytest.raises(ToolError, match=f"it is `{ALIASES[alias]}`"):
        Signature.of(tool).read({alias: "x"})


@pytest.mark.parametrize("number", [math.nan, -math.inf, "nan", "inf"])
def test_a_number_is_one_of_json(number: object) -> None:
    def tool(ratio: float) -> None: ...

    with pytest.raises(ToolError, match="`ratio`: a number is neither infinite nor NaN"):
        Signature.of(tool).read({"ratio": number})


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
names = st.sampled_from(["path", "content", "patches", "limit", "order", "about", "ratio", "start"])


@settings(deadline=None)
@given(
    name=st.sampled_from([*tools_of(FactsAndEpisodes), "bash"]),
    arguments=st.dictionaries(names | st.text(), values, max_size=4) | values | st.text(),
)
def test_bad_arguments_raise_nothing_else(name: str, arguments: Any) -> None:
    toolset = tools_for(Nowhere())
    with contextlib.suppress(CommonplaceError):
        assert isinstance(toolset.call(name, arguments), str)


class Nowhere(FactsAndEpisodes):
    """The same tools over nothing; what is derived from a system has its tools."""

    def __init__(self) -> None:
        self.store: Any = self

    def read(self, path: str) -> str:
        return path

    def write(self, path: str, content: str, **_: Any) -> Any:
        raise TypeError(f"no place for {path} {content}")

    def patch(self, path: str, patches: object) -> None: ...

    def append(self, path: str, content: str) -> None: ...

    def list(self) -> list[Any]:
        return []


@given(st.text(min_size=1), st.integers(1, 7))
def test_a_long_answer_is_given_in_pages(text: str, longest: int) -> None:
    toolset = tools_for(Nowhere(), longest=longest)
    parts, start = [], 0
    while True:
        answer = toolset.call("memory_read", {"path": text, "start": start})
        if len(answer) <= len(text[start:]) and answer == text[start:]:
            break
        part, note = answer[:longest], answer[longest:]
        start += longest
        message = f"for the rest call memory_read again with start={start}"
        assert note == f"\n[characters {start - longest} to {start} of {len(text)}; {message}]"
        parts.append(part)
    assert "".join([*parts, answer]) == text


def test_a_long_answer_of_a_write_says_that_it_is_cut() -> None:
    def note(words: Mapping[str, str]) -> str:
        return words["x"] * 30

    short = Toolset((Tool.of(note, "adds"),), longest=20)
    assert short.call("note", {"words": {"x": "ab"}}).endswith(
        "\n[characters 0 to 20 of 60; cut here]"
    )


def test_a_tool_may_page_by_itself() -> None:
    def recall(start: int = 0) -> str:
        return "abcdefghij"[start : start + 5]

    toolset = Toolset((Tool.of(recall, "reads"),), longest=7)
    assert toolset.call("recall", {"start": 6}) == "ghij"
    toolset = Toolset((Tool.of(recall, "reads"),), longest=3)
    answer = toolset.call("recall", {"start": 2})
    assert answer == ("cde\n[characters 2 to 5 of 7; for the rest call recall again with start=5]")
    assert toolset.call("recall", {"start": 8}) == "ij"


def test_what_cannot_be_a_tool_is_refused() -> None:
    def asks(model: ChatModel) -> None: ...

    def answers() -> object:
        return object()

    with pytest.raises(TypeError, match="ChatModel"):
        Tool.of(asks)
    with pytest.raises(TypeError, match="cannot answer with this: object"):
        Toolset((Tool.of(answers),)).call("answers", {})
    with pytest.raises(TypeError, match="int has no tools; mark its methods with"):
        tools_for(3)
