"""Methods that `Toolset.callables()` gives, taken by the SDKs themselves, on any Python."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import commonplace
from commonplace import memories
from commonplace.tools import Toolset, tools_for


@pytest.fixture
def toolset(root: Path) -> Toolset:
    memory = memories.FactsAndEpisodes(commonplace.open(root, watch=False))
    memory.memory_write("facts/user.md", "# User\n\n- Name: Zhang San\n")
    return tools_for(memory)


PATCH: dict[str, Any] = {
    "path": "facts/user.md",
    "patches": [{"oldText": "Zhang", "newText": "Li"}],
}


def test_langchain_takes_them(toolset: Toolset) -> None:
    tools = pytest.importorskip("langchain_core.tools", reason="comes with `deepagents`")
    made = {
        name: tools.StructuredTool.from_function(function)
        for name, function in toolset.callables().items()
    }
    assert made["memory_patch"].invoke(PATCH)["success"]
    assert "Li San" in made["memory_read"].invoke({"path": "facts/user.md"})


def test_the_openai_agents_sdk_takes_them(toolset: Toolset) -> None:
    agents = pytest.importorskip("agents", reason="comes with `openai-agents`")
    context = pytest.importorskip("agents.tool_context")
    made = {
        name: agents.function_tool(function, strict_mode=False)
        for name, function in toolset.callables().items()
    }
    given = json.dumps(PATCH)
    call = context.ToolContext(
        context=None, tool_name="memory_patch", tool_call_id="1", tool_arguments=given
    )
    answer = asyncio.run(made["memory_patch"].on_invoke_tool(call, given))
    assert answer["success"]


def test_mcp_takes_them(toolset: Toolset) -> None:
    server = pytest.importorskip("mcp.server.mcpserver", reason="comes with `mcp`")

    async def run() -> None:
        made = server.MCPServer("memory")
        for function in toolset.callables().values():
            made.tool()(function)
        assert {tool.name for tool in await made.list_tools()} == {*toolset.callables()}
        await made.call_tool("memory_patch", PATCH)

    asyncio.run(run())
    assert "Li San" in toolset.callables()["memory_read"]("facts/user.md")
