"""Tools of a memory system: their schemas, and one way to call them."""

from commonplace.tools.toolset import Tool, Toolset, tools_for

__all__ = ["Tool", "Toolset", "tools_for"]
