"""Tools of a memory system: their schemas, and one way to call them."""

from commonplace.tools.toolset import Effect, Tool, Toolset, tool, tools_for, tools_of

__all__ = ["Effect", "Tool", "Toolset", "tool", "tools_for", "tools_of"]
